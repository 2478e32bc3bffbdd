"""A vote over frames on what card lies at rest, that grows surer only as far as the frames are independent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vision.cards.seen import NO_CARD, WORTH_NAMING, SeenCard

#: Frames of a card at rest repeat each other's mistakes (the same glare, the same angle): of each further
#: frame's evidence only this share is new. A card seen for ten frames counts as if seen 2.8 times.
NEW_IN_EACH_FRAME = 0.2

#: What a frame gives, at least, to a card that it does not list: one frame can't rule a card out for good.
FLOOR = 1e-3


@dataclass(frozen=True, slots=True)
class Vote:
    """What the frames so far say of one place; a value: ``vote = vote.with_frame(seen)``.

    logs: for each card that some frame listed, the sum of the logarithms of its probabilities.
    """

    frames: int = 0
    down: int = 0
    logs: tuple[tuple[str, float], ...] = ()
    last: SeenCard | None = None

    def with_frame(self, seen: SeenCard) -> Vote:
        """The vote after one more frame of the same card."""
        if seen.face == "down":
            return replace(self, frames=self.frames + 1, down=self.down + 1, last=seen)
        told = dict(seen.alternatives)
        floor = float(np.log(FLOOR))
        ups = self.frames - self.down
        before = dict(self.logs)
        logs = tuple(
            (card, before.get(card, floor * ups) + float(np.log(max(told.get(card, 0.0), FLOOR))))
            for card in {**before, **told}
        )
        return replace(self, frames=self.frames + 1, logs=logs, last=seen)

    def verdict(self, min_confidence: float) -> SeenCard | None:
        """What lies there by all the frames together, at the last frame's place; None before the first."""
        if self.last is None:
            return None
        ups = self.frames - self.down
        if self.down > ups:
            return replace(self.last, card=None, face="down", confidence=self.down / self.frames, alternatives=())
        if not self.logs:
            return replace(self.last, card=None, face="up", alternatives=())
        counts_as = 1 + NEW_IN_EACH_FRAME * (ups - 1)
        means = np.array([total / ups for _, total in self.logs]) * counts_as
        powers = np.exp(means - means.max())
        probabilities = powers / powers.sum()
        order = np.argsort(-probabilities, kind="stable")
        ranked = tuple(
            (self.logs[i][0], float(probabilities[i]))
            for k, i in enumerate(order)
            if k == 0 or probabilities[i] >= WORTH_NAMING
        )
        best, confidence = ranked[0]
        if ups == 1:
            # One frame's own statement stands: what it left unlisted is not spread over the listed cards.
            ranked = tuple((card, dict(self.last.alternatives).get(card, p)) for card, p in ranked)
            best, confidence = ranked[0]
        named = best if confidence >= min_confidence and best != NO_CARD else None
        return replace(self.last, card=named, face="up", confidence=confidence, alternatives=ranked)
