"""The page of the evidence: all of a slap on it, nothing loaded from elsewhere, names only text; from disk or live."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from referee.bad_input import BadInput
from referee.cards import Pile
from referee.events import Event, Finish, Slap
from referee.instant import Instant
from vision.hands.evidence import HandEvidence, Heard, Shown
from vision.hands.layers import Overlap
from vision.hands.order import Offset, joined
from vision.narrator import Raced
from vision.table import PileSpot, SeatSpot, Table
from web.live import LiveMatch, Picture, Unkept
from web.pages import Door, create_app
from web.report import Watched, report_page, show_report, write_report
from web.words import words

MS = 1_000_000
SPOT = Pile("spot")
PLAYERS = ("Ana", "<b>Ben</b>")
JPEG = b"\xff\xd8\xff\xd9"
SEEN = {0: Instant(1_000 * MS, 3 * MS), 1: Instant(1_024 * MS, 4 * MS)}
HEARD = (Instant(1_032 * MS, MS // 5), Instant(1_055 * MS, MS // 5))


class Kept:
    """Stands for a witness who keeps one hand's evidence and has lost the other's."""

    has_sound, fps, shutter = True, 59.94, None
    table = Table(
        ((0.0, 0.0), (640.0, 0.0), (640.0, 480.0), (0.0, 480.0)), (640.0, 480.0), (640, 480),
        (SeatSpot(0, (320.0, 480.0)), SeatSpot(1, (320.0, 0.0))), (PileSpot(SPOT, (320.0, 200.0), 60.0),),
    )  # fmt: skip

    def of(self, slap: Slap) -> HandEvidence | None:
        if slap.seat != 0:
            return None
        stamps = np.arange(800, 1200, 16, dtype=np.int64) * MS
        return HandEvidence(
            seat=0, pile=SPOT, at=SEEN[0], trusted=False, reason="it came to rest smoothly",
            strip=np.full((len(stamps), 320, 3), 120, np.uint8), strip_ns=stamps, lane_mm=(-260.0, 60.0),
            frames=tuple(Shown((984 + 16 * k) * MS, JPEG, (20, 20)) for k in range(3)),
            track_ns=stamps, track_mm=np.zeros((len(stamps), 4)), fitted=True, speed_mps=2.5,
            heard=Heard(900 * MS, np.linspace(0.0, 1.0, 400), HEARD),
        )  # fmt: skip

    def overlaps(self, pile: Pile, from_ns: int, to_ns: int) -> tuple[Overlap, ...]:
        told = Overlap(
            below=4, above=7, below_seat=0, above_seat=1, pile=SPOT, at_ns=1_100 * MS, log_odds=math.log(9.0),
        )  # fmt: skip
        return (told,) if from_ns <= told.at_ns <= to_ns else ()


@pytest.fixture
def page() -> str:
    both = joined(SEEN, HEARD, Offset(31 * MS, 5 * MS), hears=0.97)
    watched = Watched(Kept(), [Raced(SPOT, SEEN, HEARD, both)], ("The pile was found by itself.",))  # type: ignore[arg-type]
    course = [Slap(at=at, seat=seat, pile=SPOT) for seat, at in SEEN.items()]
    course.append(Finish(at=SEEN[1], pile=SPOT, orders=both.orders))  # type: ignore[arg-type]
    return report_page("clip <1>.mp4", watched.judged(course, 2, 0.99), watched, PLAYERS, words())


class Links(HTMLParser):
    """What a page would load or follow, and how deep its tags are open."""

    def __init__(self) -> None:
        super().__init__()
        self.to: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.to += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "poster")]


def test_nothing_on_the_page_is_loaded_from_elsewhere_and_nothing_runs(page: str) -> None:
    links = Links()
    links.feed(page)
    assert links.to
    assert all(link.startswith(("data:", "#")) for link in links.to)
    assert not {"script", "iframe", "object", "embed", "form"} & set(links.tags)
    assert "@import" not in page
    assert "url(" not in page


def test_names_are_text(page: str) -> None:
    assert "<b>Ben</b>" not in page
    assert "&lt;b&gt;Ben&lt;/b&gt;" in page
    assert "clip &lt;1&gt;.mp4" in page


def test_the_page_tells_instants_order_margin_sound_grade_and_what_was_assumed(page: str) -> None:
    text = re.sub(r"<[^>]+>", " ", page)
    for told in (
        "Ana first by 23 ±", "sound aligned ±", "Grade A", "± 3.0 ms", "only roughly: it came to rest smoothly",
        "its pictures are no longer kept", "First to second: 23", "Ana → &lt;b&gt;Ben&lt;/b&gt;", "Drawn +31",
        "Ana below &lt;b&gt;Ben&lt;/b&gt; (P 0.90)", "The pile was found by itself.", "1.00 pixels a millimetre", "read-out is not known", "-16.0 ms", "+16.0 ms",
    ):  # fmt: skip
        assert told in text, told


def test_the_two_pictures_that_a_contact_lies_between_are_framed(page: str) -> None:
    framed = re.findall(r'<figure class="nearest">.*?<b>([^<]*)</b>', page)
    assert framed == ["-16.0 ms", "+0.0 ms"]


def test_onsets_lie_on_the_axis_of_the_pictures(page: str) -> None:
    """The first onset is drawn where the first hand landed, though it was heard 31 ms later."""
    line = float(re.search(r'<i class="at" style="left:([\d.]+)%', page).group(1))  # type: ignore[union-attr]
    struck = [float(x) for x in re.findall(r'<i class="onset" style="left:([\d.]+)%', page)]
    assert len(struck) == 2
    assert struck[0] == pytest.approx(line, abs=1.5)


def test_a_video_without_a_slap_says_so() -> None:
    watched = Watched(Kept(), [])  # type: ignore[arg-type]
    assert "No slap was seen." in report_page("x.mp4", [], watched, PLAYERS, words())


def test_a_folder_that_cannot_be_made_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"file.*folder that can be written"):
        write_report(tmp_path / "file" / "in", "a.mp4", "page")


def test_clips_of_one_name_each_have_their_own_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    videos = [Path("a/clip.mp4"), Path("b/clip.mp4"), Path("b/other.mp4")]
    args = argparse.Namespace(videos=videos, report=tmp_path, open=False)
    for video in videos:
        show_report(args, video, [], Watched(Kept(), []), PLAYERS)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-clip.html", "2-clip.html", "other.html"]
    assert capsys.readouterr().err.count("evidence: ") == 3


# --- from the live page ----------------------------------------------------------------------------------


@pytest.fixture
def live(snap, race) -> LiveMatch:
    match = LiveMatch(snap, Unkept(), seeing=True)
    for event in race:
        match.tell(event)
    match.evidence = Watched(Kept(), [])  # type: ignore[arg-type]
    return match


@pytest.fixture
def client(live: LiveMatch) -> FlaskClient:
    return create_app(live, Picture(), Door("token", 80)).test_client()


def slaps(live: LiveMatch) -> Iterator[Event]:
    with live.looking() as match:
        yield from [event for event in match.course if isinstance(event, Slap)]


def test_a_ruling_that_rests_on_a_slap_leads_to_its_evidence(client: FlaskClient, live: LiveMatch) -> None:
    rulings = client.get("/api/state").get_json()["rulings"]
    rests_on = [event["id"] for ruling in rulings for event in ruling["because"] if event["slap"]]
    assert set(rests_on) <= {slap.id for slap in slaps(live)}
    response = client.get(f"/evidence/{rests_on[0]}")
    page = response.get_data(as_text=True)
    assert response.status_code == 200
    assert "Ben first by 80 ±" in page
    assert 'href="/"' in page
    assert "script" not in response.headers["Content-Security-Policy"]
    assert "data-evidence" in client.get("/").get_data(as_text=True)


def test_what_is_no_slap_has_no_evidence(client: FlaskClient, live: LiveMatch) -> None:
    assert client.get("/evidence/1").status_code == 404
    live.evidence = None
    assert client.get(f"/evidence/{next(slaps(live)).id}").status_code == 404
