"""A second opinion on Snap, written from the numbered clauses as a plain walk over everything that happened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from referee.cards import Card, Deck, Seat
from referee.events import Answer, Dealt, Ended, Event, Finish, Moved, Shout, Shown, Slap, Turned
from vision.benches.oracle import Opinion, PlainEffect, Sitting

_WINDOW_NS = 250_000_000
_WINDOW_SD = 4
_SPOT = "spot"
_POT = "pot"
_SNAP, _SNAP_POT = "snap", "snap pot"
#: Nodes and weights of Gauss and Legendre's five points on [-1, 1].
_GAUSS = (
    (0.0, 0.5688888888888889),
    (-0.5384693101056831, 0.47862867049936647),
    (0.5384693101056831, 0.47862867049936647),
    (-0.9061798459386640, 0.23692688505618908),
    (0.9061798459386640, 0.23692688505618908),
)


@dataclass(slots=True)
class _Card:
    """A card lying face up: what it was read as, and how surely (0: not at all)."""

    card: Card | None
    sure: float


@dataclass(slots=True)
class _Play:
    """One card turned: who turned it when, what it matches, and what has come of it."""

    seat: Seat
    id: int
    at_ns: int
    sd_ns: int
    piles: list[Seat] = field(default_factory=list)
    pot: bool = False
    match_sure: float = 1.0
    pot_sure: float = 1.0
    own_sure: float = 1.0
    no_pile_sure: float = 1.0
    no_pot_sure: float = 1.0
    open: bool = False
    decided: bool = False
    called: bool = False
    paid: set[Seat] = field(default_factory=set)


@dataclass(slots=True)
class _Claim:
    """One hand on the spot, or one call."""

    seat: Seat
    id: int
    at_ns: int
    sd_ns: int
    sure: float
    phrase: str
    waits: bool
    play: _Play | None
    early: bool = False
    """Whether it was told before the card that it is counted for, and may have come before it."""
    other: _Play | None = None
    """The card before that one, if there was any."""

    @property
    def due_ns(self) -> int:
        return self.at_ns + _WINDOW_NS + _WINDOW_SD * self.sd_ns


class SnapOracle:
    """Judges Snap."""

    def judge(self, sitting: Sitting, course: Sequence[Event]) -> list[list[Opinion]]:
        """The opinions that each event leads to."""
        table = _Table(sitting)
        return [table.hear(event) for event in course]


ORACLE = SnapOracle()


class _Table:
    def __init__(self, sitting: Sitting) -> None:
        self.players = sitting.players
        self.deck: Deck = sitting.deck
        self.threshold = float(sitting.options["confidence"])
        self.scope = str(sitting.options["match_scope"])
        self.by_voice = sitting.options["snap_by"] == "voice"
        self.watched = sitting.options["moves"] == "watched"
        self.answers: dict[str, str] = {}
        self.out: list[Opinion] = []
        self.deal(sitting.dealer)

    # --- the table -------------------------------------------------------------------------------------

    def deal(self, dealer: Seat) -> None:
        each, more = divmod(self.deck.size, self.players)
        self.dealer = dealer
        self.down = [each] * self.players
        for i in range(more):
            self.down[(dealer + 1 + i) % self.players] += 1
        self.up: list[list[_Card]] = [[] for _ in range(self.players)]
        self.pot: list[_Card] = []
        self.after = dealer
        self.plays: list[_Play] = []
        self.claims: list[_Claim] = []
        self.awards: list[tuple[str, Seat | None]] = []
        self.debts: list[tuple[Seat, Seat]] = []
        self.asked_for: set[str] = set()
        self.back: Seat | None = None
        self.tied: list[Seat] = []
        self.over = False

    def holds(self, seat: Seat) -> int:
        return self.down[seat] + len(self.up[seat])

    def turn(self) -> Seat | None:
        for step in range(1, self.players + 1):
            seat = (self.after + step) % self.players
            if self.holds(seat):
                return seat
        return None

    def play(self) -> _Play | None:
        return self.plays[-1] if self.plays else None

    # --- saying ----------------------------------------------------------------------------------------

    def say(self, clause: str, verdict: str, seat: Seat | None = None, *effects: PlainEffect) -> None:
        self.out.append(Opinion(clause, verdict, seat, effects))

    def fault(self, key: str, sure: float, clause: str, seat: Seat | None, *effects: PlainEffect) -> bool:
        """Raise a fault, or ask for it; True where it stands."""
        said = self.answers.get(key)
        if said == "void":
            self.say(clause, "note", seat)
            return False
        if said is None and sure < self.threshold:
            self.say(clause, "ask", seat)
            return False
        self.say(clause, "fault", seat, *effects)
        return True

    # --- hearing ---------------------------------------------------------------------------------------

    def hear(self, event: Event) -> list[Opinion]:
        self.out = []
        if isinstance(event, Answer):
            self.answers[event.question] = event.says
            return []
        if isinstance(event, Dealt):
            self.deal(self.dealer if event.seat is None else event.seat)
            return []
        if self.over:
            return []
        was_open = (list(self.awards), list(self.debts))
        spot_told = isinstance(event, Finish) and str(event.pile) == _SPOT
        self.judge_claims(event.at.at_ns, everything=isinstance(event, Ended) or spot_told, finish=event)
        if not self.over:
            if isinstance(event, Shown):
                self.shown(event, was_open)
            elif isinstance(event, Slap | Shout):
                self.claimed(event)
            elif isinstance(event, Moved):
                self.moved(event)
            elif isinstance(event, Turned):
                self.turned(event)
            elif isinstance(event, Ended):
                self.ended()
        return self.out

    def ended(self) -> None:
        most = max(self.holds(seat) for seat in range(self.players))
        for seat in range(self.players):
            if self.holds(seat) == most:
                self.say("S20", "won", seat)
        self.over = True

    def look_for_end(self) -> None:
        holders = [seat for seat in range(self.players) if self.holds(seat)]
        if len(holders) == 1:
            self.say("S10", "won", holders[0])
            self.over = True
        elif not holders:
            for seat in self.tied:
                self.say("S20", "won", seat)
            self.over = True

    # --- a card is turned -------------------------------------------------------------------------------

    def shown(self, event: Shown, was_open: tuple[list[tuple[str, Seat | None]], list[tuple[Seat, Seat]]]) -> None:
        owner = event.pile.seat
        if event.pile.kind != "up" or owner is None or owner >= self.players:
            return
        seat = owner if event.seat is None else event.seat
        if seat != owner:
            self.fault(f"fault:{event.id}:another_players_card", event.confidence, "S4", seat, _take_back(seat, event))
            return
        carried = self.card_closes(event)
        if self.over:
            return
        if self.watched:
            self.not_carried_out(event, *was_open)
        if not self.holds(seat):
            self.fault(f"fault:{event.id}:no_cards", event.confidence, "S11", seat, _take_back(seat, event))
            self.claims = carried
            return
        face = _Card(event.card, event.confidence if event.card is not None else 0.0)
        answered = self.answers.get(f"card:{event.id}")
        if answered is not None:
            face = _Card(Card.parse(answered), 1.0)
        elif event.card is None:
            self.say("S4", "ask", seat)
        in_turn = self.turn() == seat
        self.back = None
        if not in_turn:
            last = self.play()
            twice = last is not None and last.seat == seat
            what, clause = ("two_cards", "S4") if twice else ("out_of_turn", "S3")
            effect = ("take_back", seat, None if face.card is None else str(face.card))
            key = f"fault:{event.id}:{what}"
            if self.fault(key, event.confidence, clause, seat, effect):
                self.back = seat
            # Without a fault it was that player's turn.
            in_turn = self.answers.get(key) == "void"
        if not self.down[seat]:
            self.say("S11", "note", seat)
            self.turn_over(seat)
        self.down[seat] -= 1
        self.up[seat].append(face)
        if in_turn:
            self.after = seat
        self.open_race(_Play(seat, event.id, event.at.at_ns, event.at.sd_ns), face)
        for claim in carried:
            claim.play = self.play()
        self.claims = carried

    def turn_over(self, seat: Seat) -> None:
        self.down[seat] += len(self.up[seat])
        self.up[seat] = []

    def open_race(self, play: _Play, face: _Card) -> None:
        play.match_sure = play.pot_sure = face.sure
        play.own_sure = face.sure
        for seat in range(self.players):
            if seat != play.seat and self.up[seat]:
                top = self.up[seat][-1]
                play.no_pile_sure *= top.sure
                if self.alike(face, top):
                    play.piles.append(seat)
                    play.match_sure *= top.sure
        if self.pot:
            top = self.pot[-1]
            play.no_pot_sure *= top.sure
            if self.alike(face, top):
                play.pot = True
                play.pot_sure *= top.sure
        # What a race asked about was for may lie elsewhere by now, or in a Pot that nobody has told of.
        if self.asked_for:
            play.no_pile_sure *= 0.5
            play.no_pot_sure *= 0.5
        if any(f"up:{seat}" in self.asked_for for seat in play.piles) or (play.pot and _POT in self.asked_for):
            play.match_sure *= 0.5
            play.pot_sure *= 0.5
        play.open = bool(play.piles) or play.pot
        self.plays.append(play)

    def alike(self, one: _Card, other: _Card) -> bool:
        a, b = one.card, other.card
        if a is None or b is None:
            return False
        if a.rank is None or b.rank is None:
            return a == b
        if self.scope == "suit":
            return a.suit == b.suit
        red = "dh"
        if self.scope == "rank_and_color" and (str(a.suit) in red) != (str(b.suit) in red):
            return False
        return a.rank == b.rank

    def not_carried_out(
        self, event: Shown, awards: list[tuple[str, Seat | None]], debts: list[tuple[Seat, Seat]]
    ) -> None:
        for pile, winner in awards:
            if (pile, winner) not in self.awards:
                continue
            self.awards.remove((pile, winner))
            key = f"fault:{event.id}:not_taken:{pile}"
            if winner is None:
                self.fault(key, 1.0, "S6", None, ("put_together", (pile,), _POT))
            else:
                self.fault(key, 1.0, "S7" if pile == _POT else "S5", winner, ("win_piles", winner, (pile,)))
        for giver, receiver in debts:
            if (giver, receiver) in self.debts:
                self.debts.remove((giver, receiver))
                self.fault(f"fault:{event.id}:not_given:{giver}", 1.0, "S9", giver, ("give", giver, receiver, 1))

    def card_closes(self, event: Shown) -> list[_Claim]:
        """Judge what waits against the card that is now covered (S13); what may be meant for the new one goes on."""
        before = self.play()
        card = (event.at.at_ns, event.at.sd_ns)
        unsure = [claim for claim in self.claims if _before((claim.at_ns, claim.sd_ns), card) < self.threshold]
        self.claims = [claim for claim in self.claims if claim not in unsure]
        self.judge_claims(event.at.at_ns, everything=True, finish=event)
        if self.over:
            return []
        if before is None:
            for claim in unsure:
                claim.early = True
            return unsure
        asked = [claim for claim in unsure if before.open and not before.decided and self.fits(claim, before)]
        if asked and self.in_time(before, asked):
            unsure = [claim for claim in unsure if claim not in asked]
        for claim in unsure:
            claim.early, claim.other = True, before
        return [] if self.over else unsure

    def in_time(self, play: _Play, claims: list[_Claim]) -> bool:
        """The card's only claims may have come after the next one: a person says (S13); True where they did not."""
        play.decided = play.called = True
        key = f"race:{play.id}" + (":pot" if all(claim.phrase == "snap pot" for claim in claims) else "")
        said = self.answers.get(key)
        if said is None:
            self.ask_who("S13", play)
            return False
        self.part(play, claims, key, play.piles, play.pot, True, 1.0)
        return said != "nobody"

    # --- claims ------------------------------------------------------------------------------------------

    def claimed(self, event: Slap | Shout) -> None:
        if isinstance(event, Slap):
            if self.by_voice or str(event.pile) != _SPOT:
                return
            phrase = _SNAP
        else:
            if not self.by_voice or event.phrase not in (_SNAP, _SNAP_POT):
                return
            phrase = event.phrase
        seat, sure = event.seat, event.confidence
        if seat is None:
            said = self.answers.get(f"who:{event.id}")
            if said is None:
                self.say("S8", "ask")
                return
            if said == "nobody":
                return
            seat = int(said)
        if not self.holds(seat):
            self.fault(f"fault:{event.id}:no_cards", sure, "S20", seat)
            return
        if any(claim.seat == seat and claim.phrase == phrase for claim in self.claims):
            return
        at = event.at
        self.claims.append(_Claim(seat, event.id, at.at_ns, at.sd_ns, sure, phrase, event.provisional, self.play()))
        holders = {seat for seat in range(self.players) if self.holds(seat)}
        play = self.play()
        racing = play is not None and play.open and not play.decided
        if not self.by_voice and racing and holders <= {claim.seat for claim in self.claims}:
            self.judge_claims(event.at.at_ns, everything=True, finish=event)

    def judge_claims(self, now_ns: int, *, everything: bool, finish: Event) -> None:
        """Judge the claims whose time has come."""
        play = self.play()
        if not self.claims:
            return
        if play is None:
            self.claims = [] if everything else [claim for claim in self.claims if claim.due_ns > now_ns]
            return
        racing = [claim for claim in self.claims if play.open and not play.decided and self.fits(claim, play)]
        # While a race is open all the claims of its card are judged together, after the earliest.
        if racing and min(self.claims, key=lambda claim: claim.at_ns).due_ns <= now_ns:
            everything = True
        if racing and everything:
            self.claims = [claim for claim in self.claims if claim not in racing]
            self.decide(play, racing)
            if self.over:
                return
        for claim in list(self.claims):
            if claim in racing or not (everything or claim.due_ns <= now_ns):
                continue
            self.claims.remove(claim)
            if play.open and self.fits(claim, play):
                continue
            self.wrong(claim, play)
            if self.over:
                return

    def fits(self, claim: _Claim, play: _Play) -> bool:
        """Whether something of what the claim claims matched."""
        if not self.by_voice:
            return play.open
        return bool(play.piles) if claim.phrase == _SNAP else play.pot

    def wrong(self, claim: _Claim, play: _Play) -> None:
        other = claim.other
        if claim.seat in play.paid:
            return
        sure = claim.sure * self.none_sure(claim, play)
        if claim.early:
            if other is None or (other.open and self.fits(claim, other)):
                return
            sure *= self.none_sure(claim, other)
        # A call of the wrong kind while the card has a match of the other is that, and not a late one.
        late = not play.open and len(self.plays) > 1 and self.plays[-2].open and not self.plays[-2].called
        clause = "S13" if late else "S9"
        receiver = self.receiver(claim.seat, play)
        key = f"snap:{claim.id}"
        if claim.early and other is not None and self.receiver(claim.seat, other) != receiver:
            sure = 0.0
            clause = "S9"
        effects: tuple[PlainEffect, ...] = ()
        if receiver is not None:
            effects = (("give", claim.seat, receiver, 1),)
        if self.fault(key, sure, clause, claim.seat, *effects):
            play.paid.add(claim.seat)
            if receiver is not None:
                self.give(claim.seat, receiver)
                self.look_for_end()

    def none_sure(self, claim: _Claim, play: _Play) -> float:
        """How surely nothing of what was claimed matched: as all the readings that bear on it."""
        if not self.by_voice:
            return play.own_sure * play.no_pile_sure * play.no_pot_sure
        return play.own_sure * (play.no_pile_sure if claim.phrase == _SNAP else play.no_pot_sure)

    def receiver(self, offender: Seat, play: _Play) -> Seat | None:
        """Who has just played; the offender's own turn: the nearest on the right still in (S9)."""
        if play.seat != offender:
            return play.seat
        right = ((offender - step) % self.players for step in range(1, self.players))
        return next((seat for seat in right if self.holds(seat)), None)

    def give(self, giver: Seat, receiver: Seat) -> None:
        if self.down[giver]:
            self.down[giver] -= 1
        elif self.up[giver]:
            self.up[giver].pop()
        else:
            return
        self.down[receiver] += 1
        self.debts.append((giver, receiver))

    # --- races ---------------------------------------------------------------------------------------------

    def decide(self, play: _Play, claims: list[_Claim]) -> None:
        play.decided = play.called = True
        if not self.by_voice:
            sure = play.match_sure
            if play.pot:
                sure = play.pot_sure if not play.piles else play.match_sure * play.pot_sure / max(play.pot_sure, 1e-9)
            self.part(play, claims, f"race:{play.id}", play.piles, play.pot, True, sure)
            return
        snaps = [claim for claim in claims if claim.phrase == _SNAP]
        pots = [claim for claim in claims if claim.phrase == _SNAP_POT]
        pot_first = False
        if snaps and pots:
            pot_first = min(claim.at_ns for claim in pots) < min(claim.at_ns for claim in snaps)
        if snaps:
            self.part(play, snaps, f"race:{play.id}", play.piles, False, not pot_first, play.match_sure)
        if pots and not self.over:
            self.part(play, pots, f"race:{play.id}:pot", [], True, pot_first or not snaps, play.pot_sure)

    def part(
        self, play: _Play, claims: list[_Claim], key: str, seats: list[Seat], pot: bool, own: bool, sure: float
    ) -> None:
        """Decide who wins these piles, the Pot among them or not, the turner's own or not."""
        piles = [f"up:{seat}" for seat in seats] + ([_POT] if pot else []) + ([f"up:{play.seat}"] if own else [])
        clause = "S5" if seats else "S7"
        first = _first({claim.id: (claim.at_ns, claim.sd_ns) for claim in claims})
        best = max(claims, key=lambda claim: first[claim.id])
        said = self.answers.get(key)
        if said == "nobody":
            self.say("S16", "note")
            return
        if said == "tie":
            self.tie(self.tie_clause(pot), "tie", piles, [claim.seat for claim in claims])
            return
        if said is not None:
            self.win(clause, int(said), piles)
            return
        if sure < self.threshold:
            self.ask_who(clause, play)
            return
        if first[best.id] < self.threshold:
            # Who tied rests on each hand that may have been first having been one.
            if any(claim.sure < self.threshold for claim in claims if first[claim.id] > 1 - self.threshold):
                self.ask_who(clause, play)
                return
            earliest = min(claim.at_ns for claim in claims)
            level = [claim for claim in claims if claim.at_ns == earliest and claim.sd_ns == 0]
            if len(level) > 1 and sum(first[claim.id] for claim in level) >= self.threshold:
                self.tie(self.tie_clause(pot), "tie", piles, [claim.seat for claim in level])
            else:
                self.tie("S14", "too close", piles, [claim.seat for claim in claims if first[claim.id] > 0.0])
            return
        if first[best.id] * best.sure * sure < self.threshold:
            self.ask_who(clause, play)
            return
        self.win(clause, best.seat, piles)

    def ask_who(self, clause: str, play: _Play) -> None:
        self.say(clause, "ask")
        self.asked_for |= {f"up:{seat}" for seat in (*play.piles, play.seat)} | ({_POT} if play.pot else set())

    def tie_clause(self, pot: bool) -> str:
        return "S7" if pot else "S18" if self.pot else "S6"

    def award(self, pile: str, seat: Seat | None) -> None:
        self.awards = [(name, owner) for name, owner in self.awards if name != pile]
        self.awards.append((pile, seat))

    def pick_up(self, pile: str) -> list[_Card]:
        lying = self.pot if pile == _POT else self.up[int(pile.split(":")[1])]
        cards = list(lying)
        lying.clear()
        return cards

    def win(self, clause: str, seat: Seat, piles: list[str]) -> None:
        self.say(clause, "won", seat, ("win_piles", seat, tuple(piles)))
        for pile in piles:
            self.down[seat] += len(self.pick_up(pile))
            self.award(pile, seat)
        self.look_for_end()

    def tie(self, clause: str, verdict: str, piles: list[str], seats: list[Seat]) -> None:
        moving = [pile for pile in piles if pile != _POT]
        self.say(clause, verdict, None, ("put_together", tuple(moving), _POT))
        self.tied = seats
        for pile in moving:
            self.pot.extend(self.pick_up(pile))
            self.award(pile, None)
        self.look_for_end()

    # --- piles that are moved ---------------------------------------------------------------------------------

    def turned(self, event: Turned) -> None:
        seat = event.source.seat if event.seat is None else event.seat
        if seat is None:
            return
        if str(event.source) != f"up:{seat}" or str(event.target) != f"down:{seat}":
            self.fault(f"fault:{event.id}:wrong_pile_turned", event.confidence, "S11", seat)
            return
        if not self.up[seat]:
            return
        if self.down[seat]:
            self.fault(f"fault:{event.id}:turned_over_early", event.confidence, "S11", seat)
        else:
            self.say("S11", "note", seat)
        self.turn_over(seat)

    def moved(self, event: Moved) -> None:
        source, target = event.source, event.target
        pile = str(source)
        unwon = self.back == source.seat and (pile, source.seat) not in self.awards
        single = event.count == 1 or (event.count is None and unwon)
        if source.kind == "up" and target.kind == "down" and source.seat == target.seat and single:
            self.taken_back(event)
        elif source.kind == "down" and target.kind == "down":
            assert source.seat is not None
            assert target.seat is not None
            if (source.seat, target.seat) in self.debts:
                self.debts.remove((source.seat, target.seat))
            else:
                self.fault(f"fault:{event.id}:not_owed", event.confidence, "S9", source.seat)
        elif source.kind in ("up", _POT):
            winner: Seat | None = target.seat if target.kind == "down" else None
            if (pile, winner) in self.awards:
                self.awards.remove((pile, winner))
                return
            if pile in self.asked_for and event.count is None:
                # The table settled among itself what the referee asks about: the cards lie there now.
                self.asked_for.discard(pile)
                cards = self.pot if pile == _POT else self.up[source.seat or 0]
                if winner is None:
                    moved, cards[:] = list(cards), []
                    self.pot.extend(moved)
                else:
                    self.down[winner] += len(cards)
                    cards.clear()
                return
            taker = winner if winner is not None else event.seat
            clause = "S7" if pile == _POT else "S5"
            owners = [owner for name, owner in self.awards if name == pile]
            if owners and owners[0] is not None:
                effect: PlainEffect = ("win_piles", owners[0], (pile,))
                self.fault(f"fault:{event.id}:taken_by_another", event.confidence, clause, taker, effect)
            else:
                self.fault(f"fault:{event.id}:taken_unwon", event.confidence, clause, taker)

    def taken_back(self, event: Moved) -> None:
        seat = event.source.seat
        assert seat is not None
        play = self.play()
        if not self.up[seat]:
            return  # Won by somebody, or turned without holding cards: nothing of theirs lies there.
        if self.back != seat:
            self.fault(f"fault:{event.id}:taken_back", event.confidence, "S4", seat)
        self.back = None
        self.up[seat].pop()
        self.down[seat] += 1
        if play is not None and play.seat == seat:
            # Its race has ended: what was claimed for it is neither won nor wrong.
            self.claims = [claim for claim in self.claims if not self.fits(claim, play)]
            play.open, play.piles, play.pot = False, [], False


# --- who was first ---------------------------------------------------------------------------------------------


def _take_back(seat: Seat, event: Shown) -> PlainEffect:
    return ("take_back", seat, None if event.card is None else str(event.card))


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _before(one: tuple[int, int], other: tuple[int, int]) -> float:
    """How surely `one` (instant and standard deviation, ns) came before `other`."""
    spread = math.hypot(one[1], other[1])
    gap = other[0] - one[0]
    if spread == 0:
        return 0.5 if gap == 0 else 1.0 if gap > 0 else 0.0
    return _cdf(gap / spread)


def _first(instants: Mapping[int, tuple[int, int]]) -> dict[int, float]:
    """The probability of each to be the very first: its density times everybody else's chance to come later."""
    shares = {}
    for who, (at, sd) in instants.items():
        others = [instant for other, instant in instants.items() if other != who]
        if sd == 0:
            level = sum(1 for other in others if other == (at, 0))
            later = math.prod(_later(other, at) for other in others if other != (at, 0))
            shares[who] = later / (level + 1)
            continue
        marks = {at + k * sd / 2 for k in range(-16, 17)}
        for mean, spread in others:
            marks |= {mean + k * spread / 2 for k in range(-16, 17)}
        edges = sorted(mark for mark in marks if at - 8 * sd <= mark <= at + 8 * sd)
        total = 0.0
        for left, right in pairwise(edges):
            half, middle = (right - left) / 2, (right + left) / 2
            for node, weight in _GAUSS:
                x = middle + half * node
                density = math.exp(-0.5 * ((x - at) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
                total += half * weight * density * math.prod(_later(other, x) for other in others)
        shares[who] = total
    return shares


def _later(instant: tuple[int, int], x: float) -> float:
    mean, sd = instant
    if sd == 0:
        return 1.0 if mean > x else 0.0
    return _cdf((mean - x) / sd)
