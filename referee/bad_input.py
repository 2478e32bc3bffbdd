"""The one exception for input that a person can mend: it names the thing, what was expected and what came."""

from __future__ import annotations


class BadInput(ValueError):
    """Something that a person gave can't be used; the message is one line and needs no traceback.

    The command line prints it and ends with status 2; a page answers 400 with it.
    """

    @classmethod
    def of(cls, name: str, expected: object, got: object) -> BadInput:
        """Say which input it was, what was expected and what came: ``table.corners: expected 4 points, got 3``."""
        return cls(f"{name}: expected {expected}, got {got}")
