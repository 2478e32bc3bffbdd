"""Rendered training pictures: what is labelled is what is drawn, and a seed draws the same picture again."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.training.artwork import HEIGHT, RANKS, SUITS, WIDTH, Deck
from vision.training.boxes import Sample, oriented, window
from vision.training.cards_art import BACK, CARDS, CLASSES, NOTHING, Shelf, drawn_back
from vision.training.compose import compose, compose_scenes, in_frame, index_quads, scene_lines, yolo_line
from vision.training.crops import CROP_HEIGHT, CROP_WIDTH, lay, rendered_crop
from vision.training.surfaces import Textures


@pytest.fixture(scope="module")
def artwork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cache of artwork: two plain decks whose cards say what they are, one of them held out."""
    cache = tmp_path_factory.mktemp("artwork")
    for name in ("plain", "unseen"):
        folder = cache / "decks" / name
        folder.mkdir(parents=True)
        for suit in SUITS:
            for rank in RANKS:
                face = np.full((HEIGHT, WIDTH, 4), 255, np.uint8)
                cv2.putText(face, rank, (10, 60), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0, 255), 4)
                cv2.imwrite(str(folder / f"{rank}{suit}.png"), face)
        cv2.imwrite(str(folder / "back.png"), np.full((HEIGHT, WIDTH, 4), (90, 20, 20, 255), np.uint8))
        cv2.imwrite(str(folder / "joker.png"), np.full((HEIGHT, WIDTH, 4), 255, np.uint8))
    rows = (
        '[{"name": "plain", "indices": true, "held_out": false}, {"name": "unseen", "indices": true, "held_out": true}]'
    )
    (cache / "decks.json").write_text(rows, encoding="utf-8")
    return cache


def test_a_seed_composes_the_same_table_again(artwork: Path) -> None:
    scenes = [compose(Shelf.open(artwork), Textures([]), np.random.default_rng(11), 192) for _ in range(2)]
    assert np.array_equal(scenes[0].image, scenes[1].image)
    assert scene_lines(scenes[0]) == scene_lines(scenes[1])
    assert scenes[0].cards


def test_the_card_on_top_is_all_visible_and_one_wholly_covered_is_not_labelled(artwork: Path) -> None:
    rng = np.random.default_rng(5)
    shelf = Shelf.open(artwork)
    seen = [card for _ in range(6) for card in compose(shelf, Textures([]), rng, 192).cards]
    shares = np.array([card.visible for card in seen])
    assert ((shares >= 0) & (shares < 1.06)).all()
    assert (shares > 0.9).any()
    assert (shares < 0.9).any()


def test_held_out_decks_are_never_on_the_shelf_that_trains(artwork: Path) -> None:
    assert [deck.name for deck in Shelf.open(artwork).decks] == ["plain"]
    assert [deck.name for deck in Shelf.open(artwork, held_out=True).decks] == ["unseen"]


def test_crops_are_of_the_readers_size_and_of_its_classes(artwork: Path) -> None:
    rng = np.random.default_rng(2)
    shelf = Shelf.open(artwork)
    made = [rendered_crop(shelf, Textures([]), rng) for _ in range(40)]
    assert all(crop.shape == (CROP_HEIGHT, CROP_WIDTH, 3) for crop, _ in made)
    classes = {number for _, number in made}
    assert classes <= set(range(len(CLASSES)))
    assert len(classes) > 10


def test_classes_are_written_in_the_projects_notation() -> None:
    assert CARDS[0] == "Ac"
    assert CARDS[9] == "10c"
    assert CARDS[51] == "Ks"
    assert (CLASSES[BACK], CLASSES[NOTHING], len(CLASSES)) == ("back", "nothing", 55)


def test_a_card_is_laid_where_its_quad_says() -> None:
    table = np.zeros((200, 200, 3), np.uint8)
    card = np.full((HEIGHT, WIDTH, 4), 255, np.uint8)
    quad = np.array([[60, 40], [120, 40], [120, 130], [60, 130]], np.float64)
    alpha = lay(table, card, quad, shadow=0.0)
    rows, columns = np.nonzero(alpha > 0.5)
    assert abs(rows.min() - 40) <= 1
    assert abs(rows.max() - 129) <= 1
    assert abs(columns.min() - 60) <= 1
    assert abs(columns.max() - 119) <= 1
    assert (table[alpha > 0.99] > 250).all()
    assert (table[alpha < 0.01] == 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_back_is_the_same_both_ways_up_or_nearly(seed: int) -> None:
    back = drawn_back(np.random.default_rng(seed))
    assert back.shape == (HEIGHT, WIDTH, 4)
    assert np.abs(back[..., 3].astype(int) - back[::-1, ::-1, 3]).mean() < 3


def test_indices_lie_in_opposite_corners_and_in_all_four_where_printed_so() -> None:
    quad = np.array([[0, 0], [63, 0], [63, 88], [0, 88]], np.float64)
    two, four = index_quads(quad, four=False), index_quads(quad, four=True)
    assert (len(two), len(four)) == (2, 4)
    middles = sorted((round(float(m[0])), round(float(m[1]))) for m in (index.mean(axis=0) for index in four))
    assert len(set(middles)) == 4
    assert np.allclose(two[0].mean(axis=0) + two[1].mean(axis=0), [63, 88], atol=1e-3)


@pytest.mark.parametrize(
    ("story", "quad", "kept"),
    [
        ("whole inside", [[10, 10], [40, 10], [40, 60], [10, 60]], 1.0),
        ("half outside", [[-20, 10], [20, 10], [20, 60], [-20, 60]], 0.5),
        ("a quarter inside is left out", [[-30, 10], [10, 10], [10, 60], [-30, 60]], None),
        ("outside", [[200, 200], [240, 200], [240, 260], [200, 260]], None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_cards_are_cut_at_the_frame(story: str, quad: list[list[float]], kept: float | None) -> None:
    polygon = in_frame(np.array(quad, np.float64), 100, 100)
    if kept is None:
        assert polygon is None, story
    else:
        assert polygon is not None
        whole = cv2.contourArea(np.array(quad, np.float32))
        assert cv2.contourArea(polygon) == pytest.approx(kept * whole, rel=0.01), story


def test_label_files_read_back_as_written(artwork: Path, tmp_path: Path) -> None:
    compose_scenes(artwork, tmp_path, count=2, seed=3, side=192)
    pictures = sorted((tmp_path / "images").glob("*.jpg"))
    samples = [Sample.read(picture) for picture in pictures]
    assert len(samples) == 2
    assert all(sample.corners_labelled for sample in samples)
    assert all(len(sample.quads) == len(sample.classes) for sample in samples)
    middles = np.concatenate([sample.quads.mean(axis=1) for sample in samples])
    assert len(middles)
    assert ((middles > 0) & (middles < 192)).all()


@pytest.mark.parametrize("degrees", [0, 17, 45, 90, 133, 179, 260])
def test_oriented_boxes_keep_a_cards_size_and_turn(degrees: float) -> None:
    box = cv2.boxPoints(((50.0, 60.0), (30.0, 42.0), degrees))
    x, y, w, h, angle = oriented(box)
    assert (x, y) == pytest.approx((50, 60), abs=0.1)
    assert (w, h) == pytest.approx((42, 30), abs=0.1)
    assert np.sin(2 * (angle - np.deg2rad(degrees + 90))) == pytest.approx(0, abs=1e-3)


def test_views_carry_their_labels_along() -> None:
    """The view is turned, mirrored and scaled; its labels still lie on the white card."""
    rng = np.random.default_rng(7)
    picture = np.zeros((300, 300, 3), np.uint8)
    quad = np.array([[100, 90], [163, 90], [163, 178], [100, 178]], np.float32)
    cv2.fillConvexPoly(picture, quad.astype(np.int32), (255, 255, 255))
    for _ in range(12):
        view, boxes, classes = window(picture, quad[None], np.array([0]), 192, 90.0, rng)
        if not len(boxes):
            continue
        assert classes.tolist() == [0]
        x, y, w, h, angle = boxes[0].tolist()
        mask = np.zeros((192, 192), np.uint8)
        corners = cv2.boxPoints(((x, y), (w, h), float(np.rad2deg(angle))))
        cv2.fillConvexPoly(mask, np.round(corners).astype(np.int32), 255)
        white = view.min(axis=2) > 128
        assert (white & (mask > 0)).sum() > 0.9 * max(1, white.sum())


def test_yolo_lines_are_relative_and_inside_the_picture() -> None:
    line = yolo_line(1, np.array([[-3, 0], [50, 0], [50, 100], [0, 100]], np.float32), 100, 100)
    assert line.split()[0] == "1"
    values = [float(word) for word in line.split()[1:]]
    assert values == [0, 0, 0.5, 0, 0.5, 1, 0, 1]


def test_a_deck_knows_its_pictures(artwork: Path) -> None:
    deck = Deck("plain", artwork / "decks" / "plain", indices=True, held_out=False)
    assert len(deck.names("faces")) == 52
    assert deck.names("backs") == ("back",)
    with pytest.raises(ValueError, match="expected a picture"):
        deck.picture("11x")
