"""The hands on the pile as the second opinion on Hit the Deck judges them: H15 to H18, H24, H25, H28 to H31."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from referee.cards import Seat
from referee.events import Event, Shout, Slap
from vision.benches.oracle import PlainEffect
from vision.benches.oracle.hit_the_deck_table import Landing, Loose, Race, Table, When

_CALL = "hit the deck with a hand"
_DECREES = ("hit number", "hit colour")
_LAST_DRAWS, _FALSE_DRAWS = 4, 2
#: What the sums below may be off by.
_ROUNDING = 1e-9


class Slaps(Table):
    """A table with hands on its pile."""

    # --- hands on the pile -----------------------------------------------------------------------------------

    def open_races(self) -> list[Race]:
        """The races not decided yet."""
        return [race for race in self.races if not race.done]

    def slap(self, event: Slap) -> bool:
        """A hand comes down; False where it stayed and so did not land (H29)."""
        at = (event.at.at_ns, event.at.sd_ns)
        races = [race for race in self.open_races() if not race.card_lies]
        seat = event.seat
        if races and seat is None:
            seat = self.who(event, "H15")
            if seat is None:
                return True
        if races and seat is not None:
            race = races[-1]
            if seat == race.seat and seat not in race.hands and seat in self.laid and self.lifts_told:
                self.say("H29", "note", seat)
                return False
            self.laid.discard(seat)
            if seat in race.members and seat not in race.hands:
                race.hands[seat] = Landing(event.id, at, event.confidence, event.layer, event.provisional)
            return True
        if seat is not None:
            self.laid.discard(seat)
        if self.phase != "play" or self.free or seat in self.punished:
            return True
        if not self.decree_slap_costs and self.last_card is not None and self.word(self.last_card) in _DECREES:
            return True
        if self.freedom_ended is not None and _before(self.freedom_ended, at) < self.threshold:
            return True
        slap = Loose(event.id, seat, at, event.confidence, event.layer, event.provisional)
        if seat is not None:
            self.punished.add(seat)
        if at[1] == 0 and not slap.waits:
            self.false_slap(slap)
        else:
            self.loose.append(slap)
        return True

    def settle_loose(self, event: Event) -> None:
        """Judge the slaps that surely came before this event (H18)."""
        now = (event.at.at_ns, event.at.sd_ns)
        for slap in list(self.loose) if self.phase == "play" else []:
            if slap.waits or _before(slap.at, now) < self.threshold:
                continue
            self.loose.remove(slap)
            self.false_slap(slap)

    def false_slap(self, slap: Loose) -> None:
        """A slap at the wrong time costs two (H18)."""
        seat = slap.seat
        if seat is None:
            said = self.answers.get(f"seat:{slap.id}")
            if said is None:
                self.say("H18", "ask")
                return
            seat = int(said)
        effect: PlainEffect = ("draw", seat, _FALSE_DRAWS)
        if self.fault(f"{slap.id}:false_slap", "H18", seat, effect, sure=slap.sure) == "fault":
            self.owe("H18", seat, _FALSE_DRAWS, slap.id)

    def shout(self, event: Shout) -> None:
        """Somebody calls (H28)."""
        if " ".join(event.phrase.lower().replace("!", " ").split()) != _CALL:
            return
        at = (event.at.at_ns, event.at.sd_ns)
        races = [race for race in self.open_races() if not race.card_lies]
        for race in races:
            if race.call is None and (event.seat is None or event.seat == race.seat):
                race.call, race.call_sure = at, event.confidence
        if not races and not self.free:
            self.early_calls.append((event.seat, at))

    def look_at_races(self, event: Event) -> None:
        """Every race is looked at with every event."""
        for race in self.open_races():
            self.look(race, event)

    def look_for_calls(self, event: Event) -> None:
        """A call forgotten by now is not made up for by what happens now."""
        now = (event.at.at_ns, event.at.sd_ns)
        for race in self.open_races():
            if self.call_state(race, now) == "bad":
                self.look(race, event)

    def look(self, race: Race, event: Event) -> None:
        """What can be said of one race by now."""
        now = (event.at.at_ns, event.at.sd_ns)
        if any(hand.waits for hand in race.hands.values()):
            return
        missing = [seat for seat in race.members if seat not in race.hands]
        call = self.call_state(race, now)
        said = self.answers.get(f"call:{race.id}")
        only_discarder = missing == [race.seat]
        if call == "bad" and said != "in time":
            self.say("H16", "fault", race.seat, ("draw", race.seat, _LAST_DRAWS))
            self.race_over(race, event, "H16", [race.seat])
            return
        if call == "doubt":
            if said is None:
                if not race.asked_call:
                    race.asked_call = True
                    self.say("H28", "ask", race.seat)
            elif said == "forgotten":
                self.say("H16", "fault", race.seat, ("draw", race.seat, _LAST_DRAWS))
                self.race_over(race, event, "H16", [race.seat])
                return
            else:
                call = "good"
        if call == "bad":
            call = "good"
        if call != "good" and not only_discarder:
            return
        self.who_was_last(race, event, missing)

    def call_state(self, race: Race, now: When) -> str:
        """Whether the call counted (H16, H28): ``good``, ``bad``, ``doubt``, or ``open``."""
        if self.trusts_call or race.called_before:
            return "good"
        own = race.hands.get(race.seat)
        others = [hand.at for seat, hand in race.hands.items() if seat != race.seat]
        grace = (race.at[0] + self.grace_ns, race.at[1])
        if race.call is not None:
            p_own = _before(race.call, own.at) if own is not None else 1.0
            p_grace = _before(race.call, grace)
            p_first = math.prod(_before(race.call, at) for at in others)
            sure = p_own * max(p_grace, p_first) * race.call_sure
            if sure >= self.threshold:
                return "good"
            return "bad" if sure <= 1 - self.threshold else "doubt"
        if own is not None and self.landed(own.at, now):
            return "bad" if own.sure >= self.threshold else "doubt"
        touched = race.card_lies or any(self.landed(at, now) for at in others)
        if touched and _before(grace, now) >= self.threshold:
            return "bad"
        return "open"

    def landed(self, at: When, now: When) -> bool:
        """Whether a call told from now on, as doubtful as either of the two, would surely come after that."""
        return _before(at, (now[0] + 1, max(at[1], now[1]))) >= self.threshold

    def who_was_last(self, race: Race, event: Event, missing: list[Seat]) -> None:
        """Who was last, if that is sure by now (H15, H24, H25)."""
        now = (event.at.at_ns, event.at.sd_ns)
        said = self.answers.get(f"last:{race.id}")
        hands = race.hands
        if not missing:
            self.all_landed(race, event, said)
            return
        first = min((hand.at for hand in hands.values()), default=None)
        over = first is not None and _before((first[0] + self.window_ns, first[1]), now) >= self.threshold
        ended = race.card_lies or over
        if len(missing) == 1:
            doubt = max((hand.at[1] for hand in hands.values()), default=0)
            sure = 1.0
            if doubt:
                instants = {seat: hand.at for seat, hand in hands.items()}
                instants[missing[0]] = (now[0], doubt)
                sure = _last(instants)[missing[0]]
            sure *= math.prod(hand.sure for hand in hands.values())
            if sure + _ROUNDING >= self.threshold:
                self.lost(race, event, "H24", missing[0], said)
                return
        if ended:
            if said is None:
                if not race.asked_last:
                    race.asked_last = True
                    self.say("H24", "ask", race.seat)
                return
            self.lost(race, event, "H24", missing[0], said)

    def all_landed(self, race: Race, event: Event, said: str | None) -> None:
        """Everybody has landed (H15, H25)."""
        hands = race.hands
        if self.last_by_top and all(hand.layer is not None for hand in hands.values()):
            top = max(hands, key=lambda seat: hands[seat].layer or 0)
            shares = {seat: float(seat == top) for seat in hands}
        elif race.orders and all(set(order) >= set(hands) for order, _ in race.orders):
            shares = dict.fromkeys(hands, 0.0)
            for order, share in race.orders:
                shares[[seat for seat in order if seat in hands][-1]] += share
        else:
            shares = _last({seat: hand.at for seat, hand in hands.items()})
        shares = {seat: min(1.0, share + _ROUNDING) for seat, share in shares.items()}
        best = max(hands, key=lambda seat: shares[seat])
        if said is not None:
            self.lost(race, event, "H15", best, said)
            return
        if shares[best] * hands[best].sure >= self.threshold:
            self.lost(race, event, "H15", best, None)
            return
        close = sorted(
            (one for one in hands if shares[one] > 1 - self.threshold), key=lambda one: -shares[one] * hands[one].sure
        )
        if self.close_call == "ask" or shares[best] >= self.threshold:
            if not race.asked_last:
                race.asked_last = True
                self.say("H25", "ask", race.seat)
            return
        drawers = close if self.close_call == "both" else []
        self.say("H25", "too close", None, *(("draw", seat, _LAST_DRAWS) for seat in drawers))
        self.race_over(race, event, "H15", drawers)

    def lost(self, race: Race, event: Event, clause: str, seat: Seat, said: str | None) -> None:
        """A race is lost, or a person has said how it ended."""
        if said == "none":
            self.say(clause, "note")
            self.race_over(race, event, "H15", [])
            return
        if said == "both":
            landed = sorted(race.hands, key=lambda one: (race.hands[one].at[0], race.hands[one].id))[-2:]
            if not landed:
                self.say(clause, "note")
            else:
                self.say(
                    clause,
                    "lost",
                    None if len(landed) > 1 else landed[0],
                    *(("draw", one, _LAST_DRAWS) for one in landed),
                )
            self.race_over(race, event, "H15", landed)
            return
        if said is not None:
            seat = int(said)
        self.say(clause, "lost", seat, ("draw", seat, _LAST_DRAWS))
        self.race_over(race, event, "H15", [seat])

    def race_over(self, race: Race, event: Event, clause: str, drawers: list[Seat]) -> None:
        """The race is decided (H23 where its card was the last one)."""
        race.done = True
        since = max([race.id, *(hand.id for hand in race.hands.values())])
        for seat in drawers:
            self.owe(clause, seat, _LAST_DRAWS, since)
        if race.final:
            if race.seat in drawers:
                self.say("H23", "note", race.seat)
            elif not any(debt.seat == race.seat for debt in self.debts):
                self.goes_out(event, race.seat)


# --- who was last ----------------------------------------------------------------------------------------------


def _before(one: When, other: When) -> float:
    """How surely `one` came before `other`."""
    spread = math.hypot(one[1], other[1])
    gap = other[0] - one[0]
    if spread == 0:
        return 0.5 if gap == 0 else 1.0 if gap > 0 else 0.0
    return _cdf(gap / spread)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _last(instants: Mapping[Seat, When]) -> dict[Seat, float]:
    """The probability of each to be the very last: its density times everybody else's chance to be earlier."""
    shares = {}
    for who, (at, sd) in instants.items():
        others = [instant for other, instant in instants.items() if other != who]
        if sd == 0:
            level = sum(1 for other in others if other == (at, 0))
            shares[who] = math.prod(_earlier(o, at) for o in others if o != (at, 0)) / (level + 1)
            continue
        shares[who] = _simpson(at, sd, others)
    return shares


def _simpson(at: int, sd: int, others: Iterable[When]) -> float:
    others = list(others)
    steps = 400
    width = 16 * sd / steps
    total = 0.0
    for step in range(steps + 1):
        x = at - 8 * sd + step * width
        weight = 1 if step in (0, steps) else 4 if step % 2 else 2
        density = math.exp(-0.5 * ((x - at) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
        total += weight * density * math.prod(_earlier(other, x) for other in others)
    return total * width / 3


def _earlier(instant: When, x: float) -> float:
    mean, sd = instant
    if sd == 0:
        return 1.0 if mean < x else 0.0 if mean > x else 0.5
    return _cdf((x - mean) / sd)
