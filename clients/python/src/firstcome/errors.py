"""What is broken. A no of the rules is no error: see :class:`firstcome.Refused`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FirstcomeError(Exception):
    """The base of all errors of this package."""


class InvalidArgument(FirstcomeError, ValueError):
    """An argument cannot be sent. Nothing was sent; the text says what is wrong and what is taken."""


class Unavailable(FirstcomeError):
    """No answer before the deadline, and certainly nothing changed: try again later.

    No request left, or each was turned away undecided, or the call only reads. ``attempts`` says how often it was
    tried; ``outcome`` is what the server said last (``busy``, for example), None if it said nothing.
    """

    def __init__(self, reason: str, attempts: int, outcome: str | None) -> None:
        super().__init__(f"no answer, and nothing changed: {reason} (attempt {attempts})")
        self.reason, self.attempts, self.outcome = reason, attempts, outcome


class Rejected(FirstcomeError):
    """The server turned the request down, and would again: the key, the form, a limit, or a position that is over.

    Nothing changed. ``outcome`` is the stable name (``unauthorized``, for example), ``status`` the HTTP status, and
    ``document`` the whole problem document.
    """

    def __init__(self, outcome: str, status: int, detail: str, document: Mapping[str, Any]) -> None:
        super().__init__(f"{outcome}: {detail}" if detail else outcome)
        self.outcome, self.status, self.detail, self.document = outcome, status, detail, document
