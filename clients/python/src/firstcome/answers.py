"""Answers that are more than a document: a win, a no, a call without an end, an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from firstcome._reading import Passive
from firstcome.documents import Won


@final
@dataclass(frozen=True, kw_only=True)
class AlreadyWon(Won):
    """The subject had the place before, with the same rank and time.

    It is a :class:`Won`, too: where an answer was lost, the first win of a call comes as this. Where the difference
    matters, look for :class:`AlreadyWon` before :class:`Won`.
    """


@final
@dataclass(frozen=True, kw_only=True)
class Refused(Passive):
    """The rules said no; asking again would not help. The HTTP reference lists the reasons of each operation.

    ``reason``: The stable name, such as `sold_out`. A newer server may have names that are not documented yet.
    ``detail``: A sentence for people.
    ``changed``: `no`, except `yes` with `refund_due`.
    ``retry``: Whether time alone may change the answer; after ``retry_after`` seconds, if the server says so.
    ``after_lost_attempt``: Whether an earlier attempt of this call was sent and its answer is lost. That attempt is
    almost always over; if it is still on its way, it may be decided after this answer.
    ``document``: The whole problem document, with `opens_at` or `units`, for example.
    """

    reason: str
    detail: str
    changed: str
    retry: bool
    retry_after: float | None
    after_lost_attempt: bool
    document: Mapping[str, Any] = field(repr=False)


@final
@dataclass(frozen=True, kw_only=True)
class Unknown(Passive):
    """No answer to rely on before the deadline, and **it may have happened**. The same call again tells.

    ``reason``: What happened at the last attempt; an earlier one may be the one that happened.
    ``attempts``: How often it was tried.
    ``outcome``: What the server said last, None if it said nothing.
    ``hold``: The id of the hold that was asked for. Ask for it again with this id: it is the same hold then.
    """

    reason: str
    attempts: int
    outcome: str | None
    hold: str | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Event:
    """A server-sent event.

    ``event``: Its name: `standing`, `campaign`, `reset` and others.
    ``id``: The position of the campaign after it; None if it has none.
    ``data``: Its JSON.
    """

    event: str
    id: str | None
    data: Any
