"""What a call does after each attempt. There is no I/O here, no clock and no randomness: all of that is an argument."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from firstcome.answers import Event, Refused, Unknown
from firstcome.errors import FirstcomeError, Rejected, Unavailable

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE, CONNECT = 0.05, 2.0, 2.0
# An attempt is made again only if it can have so long: one that is sent and cut makes a call unknown.
LEAST = 0.05
LARGEST_ANSWER = 64 * 1024 * 1024
# The server sends a comment every 15 s, so that a stream that says nothing for longer is broken.
SILENCE = 45.0

# Outcomes that are no refusals of the rules: the request was not of the form or had not the right that is needed, or
# something outside of the rules failed.
NOT_OF_THE_RULES = frozenset(
    "busy outbox_full store_full unavailable unknown stale_position nothing_lost level_not_read beyond_results "
    "tag_required invalid_request invalid_subject invalid_settings too_big_for_memory unsupported_media_type "
    "not_acceptable too_large timeout unauthorized eligibility_unknown token_expired forbidden origin_not_allowed "
    "no_such_route method_not_allowed too_many_connections too_many_requests too_many_streams no_ledger "
    "no_such_webhook too_many_webhooks".split()
)


@dataclass(frozen=True)
class Ask(Generic[T]):
    """One request, the same at each attempt, and how its success is read."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # How much longer than usual an attempt may take.
    waits: float = 0.0
    hold: str | None = None

    @property
    def only_reads(self) -> bool:
        return self.method == "GET"


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    retry_after: str | None
    body: bytes


@dataclass(frozen=True)
class Broken:
    """No whole answer. ``sent``: the server may have the request. ``final``: the next attempt would end the same."""

    reason: str
    sent: bool
    final: bool = False


@dataclass(frozen=True)
class _Setback:
    reason: str
    lost: bool
    again: bool = True
    wait: float | None = None
    outcome: str | None = None


def pause_after(failures: int, random: float) -> float:
    """Seconds before the next attempt after so many failures; ``random`` is 0 to 1."""
    doubled = FIRST_PAUSE * 2.0 ** min(failures - 1, 30)
    return min(doubled, LONGEST_PAUSE) * (1 - random / 2)


class Call(Generic[T]):
    """A call as far as it has gone: a request that is sent again until it is answered or its deadline passes.

    Send an attempt that takes at most ``attempt_time``, and ``settle`` it: that gives the pause before the next
    attempt, or None at the end. Then ``result`` gives the answer, or raises.
    """

    def __init__(self, ask: Ask[T], deadline: float, attempt: float, now: float) -> None:
        self._ask, self._attempt, self._end = ask, attempt + ask.waits, now + deadline
        self._attempts, self._lost = 0, False
        self._answer: T | Refused | Unknown | FirstcomeError | None = None

    def attempt_time(self, now: float) -> float:
        return max(min(self._attempt, self._end - now), 0.001)

    def settle(self, outcome: Reply | Broken, now: float, random: float) -> float | None:
        self._attempts += 1
        found = self._sort(outcome)
        if isinstance(found, Rejected) and self._lost:
            # This attempt was turned down, but an earlier one may have been taken.
            found = _Setback(str(found), lost=False, again=False, outcome=found.outcome)
        if not isinstance(found, _Setback):
            self._answer = found
            return None
        self._lost = self._lost or found.lost
        pause = self._pause(found, now, random)
        if pause is None:
            self._give_up(found)
        return pause

    def result(self) -> T | Refused | Unknown:
        if isinstance(self._answer, FirstcomeError):
            raise self._answer
        return cast("T | Refused | Unknown", self._answer)

    def _pause(self, setback: _Setback, now: float, random: float) -> float | None:
        left = self._end - now
        if not setback.again or left < 2 * LEAST:
            return None
        pause = pause_after(self._attempts, random)
        if setback.wait is None:
            # A last attempt is made a little before the deadline, so that it can be answered.
            return min(pause, left / 2)
        # What the server asks for is not cut short; beyond the deadline there is nothing to wait for.
        return None if setback.wait >= left else min(max(setback.wait, pause), left)

    def _give_up(self, last: _Setback) -> None:
        if self._lost:
            self._answer = Unknown(
                reason=last.reason, attempts=self._attempts, outcome=last.outcome, hold=self._ask.hold
            )
        else:
            self._answer = Unavailable(last.reason, self._attempts, last.outcome)

    def _sort(self, outcome: Reply | Broken) -> T | Refused | Rejected | _Setback:
        changes = not self._ask.only_reads
        if isinstance(outcome, Broken):
            return _Setback(outcome.reason, outcome.sent and changes, again=not outcome.final)
        try:
            document = json.loads(outcome.body)
        except (ValueError, RecursionError):
            document = None
        if 200 <= outcome.status < 300:
            try:
                return self._ask.read(document)
            except ValueError as why:
                return _Setback(f"the answer cannot be read: {why}", changes)
        if not isinstance(document, dict) or not isinstance(document.get("outcome"), str):
            # A gateway in between may have passed the request on before it gave up.
            gateway = outcome.status >= 500
            return _Setback(f"not an answer of Firstcome (status {outcome.status})", gateway and changes, again=gateway)
        return self._sort_problem(outcome, document, changes)

    def _sort_problem(self, reply: Reply, document: dict[str, Any], changes: bool) -> Refused | Rejected | _Setback:
        name, changed = document["outcome"], document.get("changed")
        detail = str(document.get("detail") or document.get("title") or "")
        wait, retry = _wait(reply, document), document.get("retry") is True
        passing = reply.status >= 500 or reply.status in (408, 429)
        known = name not in NOT_OF_THE_RULES and (not passing or name in RULES_BUT_PASSING)
        if known:
            return Refused(
                reason=name, detail=detail, changed=str(changed), retry=retry, retry_after=wait,
                after_lost_attempt=self._lost, document=document,
            )  # fmt: skip
        lost = changes and (changed == "unknown" or (passing and changed != "no"))
        if not lost and not passing:
            return Rejected(name, reply.status, detail, document)
        return _Setback(f"{name}: {detail}", lost, again=retry or lost, wait=wait, outcome=name)


# Refusals of the rules with a status of those that pass.
RULES_BUT_PASSING = frozenset({"too_many_holds", "too_many_wrong_codes"})


def _wait(reply: Reply, document: dict[str, Any]) -> float | None:
    """How many seconds the server wants to be left alone."""
    exact = document.get("retry_after_ms")
    if type(exact) is int and exact >= 0:
        return exact / 1000
    try:
        seconds = float(reply.retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


class Stream:
    """A stream of server-sent events over several connections: where it is, and how long to pause between them."""

    def __init__(self, after: str | None) -> None:
        self._after, self._failures = after, 0
        self._waiting, self._lines = b"", list[str]()
        self.ended = False

    def ask(self, path: str) -> Ask[None]:
        headers = {"accept": "text/event-stream"}
        if self._after is not None:
            headers["last-event-id"] = self._after
        return Ask("GET", path, lambda _: None, headers=headers)

    def broke(self, random: float) -> float:
        """The connection ended: the pause before the next one."""
        self._waiting, self._lines = b"", []
        self._failures += 1
        return pause_after(self._failures, random)

    def feed(self, chunk: bytes) -> list[Event]:
        """Reads bytes as events; an event that is not whole waits for more."""
        *lines, self._waiting = (self._waiting + chunk).replace(b"\r\n", b"\n").split(b"\n")
        if len(self._waiting) > LARGEST_ANSWER:
            raise ValueError("an event is too long")
        events = []
        for line in lines:
            if line:
                self._lines.append(line.decode("utf-8", "replace"))
            elif (event := self._event()) is not None:
                events.append(event)
        return events

    def _event(self) -> Event | None:
        parts = dict[str, str]()
        for line in self._lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            parts[name] = f"{parts[name]}\n{value}" if name == "data" and name in parts else value
        self._lines = []
        if "data" not in parts:
            return None
        event = Event(event=parts.get("event", "message"), id=parts.get("id"), data=json.loads(parts["data"]))
        self._after = event.id or self._after
        self._failures = 0
        self.ended = event.event == "end"
        return event
