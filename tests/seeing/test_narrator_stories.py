"""The narrator: what is seen of piles and hands becomes events, in their order, each once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from referee.cards import Card, Pile, shipped_deck
from referee.events import Event, Finish, Lifted, Moved, Shown, Slap, Turned
from referee.games.snap import GAME
from referee.instant import Instant
from vision.hands.news import Contact, Gone, HandSeen, Reached
from vision.narrator import CHECKED, Narrator, Telling, places_of
from vision.observation import Lies, Observation, PileChanged, Top
from vision.table import Table

MS = 1_000_000
SPOT = Pile("spot")
LAYOUT = GAME.layout(3)
TABLE = Table.laid_out(LAYOUT, [(0, 0), (900, 0), (900, 600), (0, 600)], (900, 600), (900, 600))
QUAD = np.array([[0, 0], [63, 0], [63, 88], [0, 88]], float)


def up(seat: int) -> Pile:
    return Pile("up", seat)


def down(seat: int) -> Pile:
    return Pile("down", seat)


def face(card: str, aside_mm: float = 0.0) -> Top:
    return Top(Lies.FACE, Card.parse(card), 0.999, quad_mm=QUAD + aside_mm)


NOTHING, BACK = Top(Lies.NOTHING), Top(Lies.BACK)


def change(
    at_ms: int, pile: Pile, before: Top, after: Top, by: Sequence[int] = (), settled_ms: int | None = None
) -> PileChanged:
    return PileChanged(
        pile=pile,
        at=Instant(at_ms * MS, 20 * MS),
        began_ns=(at_ms - 300) * MS,
        settled_ns=(settled_ms or at_ms + 200) * MS,
        before=before,
        after=after,
        visitors=tuple(by),
        at_hand=tuple(by),
    )


def hand(number: int, seat: int, at_ms: int, *, past_mm: float = 30.0, to: Pile = SPOT) -> HandSeen:
    """An arm from its seat that ends so far past the middle of a pile."""
    x, y = TABLE.seat(seat).at_mm
    goal = np.array(TABLE.pile(to).at_mm)
    way = (goal - (x, y)) / np.hypot(*(goal - (x, y)))
    tip = goal + past_mm * way
    return HandSeen(
        hand=number, seat=seat, at=Instant(at_ms * MS), tip_mm=(float(tip[0]), float(tip[1])), entry_mm=(x, y),
        speed_mps=0.0, over=(to,), at_pile=to, outline_px=(0, 0, 1, 1),
    )  # fmt: skip


def reached(number: int, seat: int, at_ms: int, pile: Pile = SPOT) -> Reached:
    return Reached(hand=number, seat=seat, pile=pile, at=Instant(at_ms * MS))


def contact(
    number: int,
    seat: int,
    at_ms: int,
    pile: Pile = SPOT,
    *,
    gentle: float = 0.0,
    trusted: bool = True,
    rest_ms: int | None = None,
    instead_of_ms: int | None = None,
) -> Contact:
    return Contact(
        hand=number, seat=seat, pile=pile, at=Instant(at_ms * MS, 3 * MS), speed_mps=2.0, gentle=gentle,
        trusted=trusted, reason="", rest_ns=(rest_ms or at_ms + 60) * MS,
        instead_of=None if instead_of_ms is None else instead_of_ms * MS,
    )  # fmt: skip


def withdraws(number: int, seat: int, at_ms: int) -> list[HandSeen]:
    """The hand lies on the spot up to then, and is drawn back."""
    return [hand(number, seat, at_ms), hand(number, seat, at_ms + 80, past_mm=-90)]


def gone(number: int, seat: int, at_ms: int) -> Gone:
    return Gone(hand=number, seat=seat, at=Instant(at_ms * MS))


def heard_ms(seen: Observation | HandSeen) -> int:
    """When a watcher can have said it."""
    match seen:
        case PileChanged(settled_ns=ns):
            return ns // MS
        case Contact(rest_ns=ns):
            return ns // MS
        case _:
            return seen.at.at_ns // MS


def told(story: Sequence[Observation | HandSeen], until_ms: int = 20_000) -> tuple[list[Event], list[Telling]]:
    """What stands at the end, in the order told, and every telling on the way."""
    counts = shipped_deck("standard52").counts
    narrator = Narrator(places_of(LAYOUT, frozenset({SPOT}), counts), TABLE)
    queue = sorted(story, key=heard_ms)
    tellings: list[Telling] = []
    for now_ms in range(0, until_ms, 20):
        hands: list[HandSeen] = []
        while queue and heard_ms(queue[0]) <= now_ms:
            seen = queue.pop(0)
            if isinstance(seen, HandSeen):
                hands.append(seen)
                tellings += narrator.tell(now_ms * MS, hands=tuple(hands))
            else:
                narrator.hear(seen)
        tellings += narrator.tell(now_ms * MS)
    tellings += narrator.finish()
    events: dict[int, Event | None] = {}
    for telling in tellings:
        events[telling.key] = telling.event
    return [event for event in events.values() if event is not None], tellings


def in_words(event: Event) -> str:
    match event:
        case Shown():
            return f"{event.seat} shows {event.card} on {event.pile}"
        case Slap():
            return f"{event.seat} slaps {event.at.at_ns // MS}{' perhaps' if event.provisional else ''}"
        case Lifted():
            return f"{event.seat} lifts"
        case Moved(count=1):
            return f"{event.seat} gives {event.source} to {event.target}"
        case Moved():
            return f"{event.seat} moves {event.source} to {event.target}"
        case Finish(orders=orders):
            return " before ".join(map(str, orders[0][0]))
        case Turned():
            return f"{event.seat} turns {event.source} over"
        case _:
            return type(event).__name__


TURN = [change(1000, up(1), NOTHING, face("7h"), [1])]

STORIES: dict[str, tuple[list[Observation | HandSeen], list[str]]] = {
    "a card is laid": (TURN, ["1 shows 7h on up:1"]),
    "who is beside the owner at the pile did not lay the card": (
        [change(1000, up(1), NOTHING, face("7h"), [0, 1])],
        ["1 shows 7h on up:1"],
    ),
    "another player lays a card on somebody's pile": (
        [change(1000, up(1), NOTHING, face("7h"), [0])],
        ["0 shows 7h on up:1"],
    ),
    "a card nudged, or looked at again, is shown once": (
        [*TURN, change(3000, up(1), face("7h"), face("7h", 6.0), [1])],
        ["1 shows 7h on up:1"],
    ),
    "a card laid on another is told though the pile was face up before": (
        [*TURN, change(3000, up(1), face("7h"), face("7d"), [1])],
        ["1 shows 7h on up:1", "1 shows 7d on up:1"],
    ),
    "two hands on the spot, told in order of contact though seen the other way round": (
        [
            *TURN,
            reached(5, 2, 1400),
            reached(4, 0, 1420),
            hand(5, 2, 1430),
            hand(4, 0, 1430),
            contact(4, 0, 1460, rest_ms=1500),
            contact(5, 2, 1440, rest_ms=1620),
            *withdraws(4, 0, 2100),
            *withdraws(5, 2, 2000),
        ],
        ["1 shows 7h on up:1", "2 slaps 1440", "0 slaps 1460", "2 before 0", "2 lifts", "0 lifts"],
    ),
    "a card that settles late comes before the slap that it provoked": (
        [
            change(1000, up(1), NOTHING, face("7h"), [1], settled_ms=1650),
            reached(4, 0, 1400),
            hand(4, 0, 1400),
            contact(4, 0, 1450),
            *withdraws(4, 0, 2100),
        ],
        ["1 shows 7h on up:1", "0 slaps 1450", "0 lifts"],
    ),
    "a hand held ready over the spot, then brought down, slaps when it comes down": (
        [
            reached(4, 0, 900),
            hand(4, 0, 950),
            contact(4, 0, 980),
            *TURN,
            contact(4, 0, 1500),
            *withdraws(4, 0, 2300),
        ],
        ["1 shows 7h on up:1", "0 slaps 1500", "0 lifts"],
    ),
    "a hand that only stirs has slapped once": (
        [
            reached(4, 0, 900),
            hand(4, 0, 950),
            contact(4, 0, 980),
            contact(4, 0, 1500, trusted=False),
            *withdraws(4, 0, 2300),
        ],
        ["0 slaps 980", "0 lifts"],
    ),
    "a contact that the watcher takes back was none, however little is known of the next": (
        [
            reached(4, 0, 900),
            hand(4, 0, 950),
            contact(4, 0, 980, rest_ms=1040),
            contact(4, 0, 1140, gentle=0.5, trusted=False, rest_ms=1200, instead_of_ms=1040),
            *withdraws(4, 0, 2300),
        ],
        ["0 slaps 1140", "0 lifts"],
    ),
    "one that is taken back for a rest in the air may be either": (
        [
            reached(4, 0, 900),
            hand(4, 0, 950),
            contact(4, 0, 980, rest_ms=1040),
            contact(4, 0, 1180, gentle=0.9, trusted=False, rest_ms=1240, instead_of_ms=1040),
            *withdraws(4, 0, 2300),
        ],
        ["0 slaps 1080", "0 lifts"],
    ),
    "a double tap is the first tap": (
        [reached(4, 0, 900), hand(4, 0, 950), contact(4, 0, 980), contact(4, 0, 1150), *withdraws(4, 0, 2300)],
        ["0 slaps 980", "0 lifts"],
    ),
    "a feint that stops short of the card is no slap": (
        [reached(4, 0, 900), hand(4, 0, 950, past_mm=-75), contact(4, 0, 980), *withdraws(4, 0, 1300)],
        [],
    ),
    "a hand held softly over the spot and taken away is no slap": (
        [reached(4, 0, 900), hand(4, 0, 950), contact(4, 0, 980, gentle=0.9), *withdraws(4, 0, 1100)],
        [],
    ),
    "fingertips far beyond the spot, on the Pot's place, are a slap on the spot": (
        [
            reached(4, 0, 900),
            HandSeen(
                hand=4,
                seat=0,
                at=Instant(950 * MS),
                tip_mm=(450, 215),
                entry_mm=(450, 600),
                speed_mps=0.0,
                over=(SPOT, Pile("pot")),
                at_pile=Pile("pot"),
                outline_px=(0, 0, 1, 1),
            ),
            contact(4, 0, 980, Pile("pot")),
            gone(4, 0, 1900),
        ],
        ["0 slaps 980", "0 lifts"],
    ),
    "an instant before the hand came is not believed": (
        [reached(4, 0, 1400), hand(4, 0, 1400), contact(4, 0, 1100, rest_ms=1500), *withdraws(4, 0, 2100)],
        ["0 slaps 1450", "0 lifts"],
    ),
    "the winner takes another's pile under their own": (
        [
            *TURN,
            change(3000, up(1), face("7h"), NOTHING, [0]),
            reached(9, 0, 3350, down(0)),
            gone(9, 0, 3700),
        ],
        ["1 shows 7h on up:1", "0 moves up:1 to down:0"],
    ),
    "piles tied go face up to the Pot": (
        [
            *TURN,
            change(3000, up(1), face("7h"), NOTHING, [1]),
            change(3400, Pile("pot"), NOTHING, face("7h"), [1]),
        ],
        ["1 shows 7h on up:1", "1 moves up:1 to pot"],
    ),
    "a used-up pile is turned over": (
        [
            *TURN,
            change(2000, down(1), BACK, NOTHING, [1]),
            change(3000, up(1), face("7h"), NOTHING, [1]),
            change(3400, down(1), NOTHING, BACK, [1]),
        ],
        ["1 shows 7h on up:1", "1 turns up:1 over"],
    ),
    "a card owed goes unseen to another's pile": (
        [
            *TURN,
            reached(4, 0, 1400),
            hand(4, 0, 1400),
            contact(4, 0, 1450),
            *withdraws(4, 0, 2000),
            gone(4, 0, 2200),
            reached(6, 0, 2600, down(0)),
            contact(6, 0, 2650, down(0)),
            reached(6, 0, 3100, down(1)),
            contact(6, 0, 3150, down(1)),
            gone(6, 0, 3600),
        ],
        ["1 shows 7h on up:1", "0 slaps 1450", "0 lifts", "0 gives down:0 to down:1"],
    ),
    "a hand that passes another's pile gives nothing": (
        [*TURN, reached(6, 0, 2600, down(0)), contact(6, 0, 2650, down(0)), reached(6, 0, 3100, down(1))],
        ["1 shows 7h on up:1"],
    ),
    "a card lifted from the top shows the one below, which is not shown anew": (
        [
            *TURN,
            change(3000, up(1), face("7h"), face("9c"), [1]),
            change(5000, up(1), face("9c"), face("7h"), [1]),
            reached(7, 1, 5300, down(1)),
        ],
        ["1 shows 7h on up:1", "1 shows 9c on up:1", "1 moves up:1 to down:1"],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_is_seen_is_told(name: str) -> None:
    story, expected = STORIES[name]
    events, _ = told(story)
    assert [in_words(event) for event in events] == expected


def test_a_slap_is_provisional_at_contact_and_confirmed_when_it_stays() -> None:
    story = [reached(4, 0, 900), hand(4, 0, 950), contact(4, 0, 980, rest_ms=1000), *withdraws(4, 0, 2000)]
    events, _ = told(story)
    assert [event.provisional for event in events] == [False, False]
    assert events[0].confidence == CHECKED


def test_nothing_is_told_before_what_may_still_come_before_it() -> None:
    """While a card is being laid, a slap waits for it."""
    narrator = Narrator(places_of(LAYOUT, frozenset({SPOT})))
    narrator.hear(contact(4, 0, 1450))
    assert list(narrator.tell(2200 * MS, undecided_since_ns=1000 * MS)) == []
    narrator.hear(change(1100, up(1), NOTHING, face("7h"), [1], settled_ms=2300))
    told_now = [in_words(t.event) for t in narrator.tell(2400 * MS) if t.event is not None]
    assert told_now == ["1 shows 7h on up:1", "0 slaps 1450"]


def test_what_comes_too_late_says_where_it_belongs() -> None:
    """A card hidden by a resting arm for three seconds: told late, right after what came before it."""
    narrator = Narrator(places_of(LAYOUT, frozenset({SPOT})))
    narrator.hear(change(500, up(0), NOTHING, face("2c"), [0]))
    first = list(narrator.tell(1000 * MS))
    narrator.hear(contact(4, 0, 1450))
    slap = list(narrator.tell(4500 * MS, undecided_since_ns=1000 * MS))
    narrator.hear(change(1100, up(1), NOTHING, face("7h"), [1], settled_ms=4600))
    late = list(narrator.tell(5000 * MS))
    assert [t.late for t in first + slap] == [False] * len(first + slap)
    assert [(t.late, t.after) for t in late] == [(True, first[0].key)]
