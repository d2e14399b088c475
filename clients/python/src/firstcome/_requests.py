"""The requests of each operation, with their arguments checked before anything is sent."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from firstcome import documents as doc
from firstcome._core import Ask
from firstcome._reading import read
from firstcome.answers import AlreadyWon
from firstcome.errors import InvalidArgument

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_POSITION = re.compile(r"([0-9]{1,20}:)?[0-9]{1,20}\.[0-9]{1,20}")
_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Pick:
    """Some units of one pool: one of ``units``, ``quantity`` and ``best``.

    ``units``: Names of seats, of groups (all their seats), or of areas (one place each); at most 500.
    ``quantity``: 1 to 500 places of the ``area``, or units of a counted pool.
    ``best``: 1 to 100 of the best seats, of this ``grade``, or of this ``price_minor`` and ``currency`` only, next to
    each other unless ``adjacent`` is False, and ``accessible`` ones if that is True.
    ``pool``: May be left out if the campaign has one. ``channel``: Whose allocation of seats it is.
    """

    units: Sequence[str] | None = None
    quantity: int | None = None
    area: str | None = None
    best: int | None = None
    grade: str | None = None
    price_minor: int | None = None
    currency: str | None = None
    adjacent: bool | None = None
    accessible: bool | None = None
    pool: str | None = None
    channel: str | None = None


def text(what: str, value: str, most: int) -> str:
    """Checks a text of 1 to so many bytes of UTF-8 without control characters."""
    if not isinstance(value, str):
        raise InvalidArgument(f"the {what} is a str, not a {type(value).__name__}")
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(f"the {what} has a character that UTF-8 cannot write (half of a pair)") from None
    if not 1 <= length <= most:
        raise InvalidArgument(f"the {what} has {length} bytes, but 1 to {most} are taken")
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise InvalidArgument(f"the {what} has a control character: remove it, or another person is meant")
    return value


def number(what: str, value: int, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise InvalidArgument(f"{what} is a number from {least} to {most}, not {value!r}")
    return value


def seconds(what: str, value: float, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise InvalidArgument(f"{what} is {least:g} to {most:g} seconds, not {value!r}")
    return float(value)


def name(what: str, value: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidArgument(f"{value!r} is no name of a {what}: a-z, 0-9, _ and -, at most 64, not _ or - first")
    return value


def server(url: str) -> str:
    """Checks the address of a server, which may have a password in it that must not be printed."""
    wrong = InvalidArgument("the address of the server is http://HOST[:PORT] or https://HOST[:PORT], and nothing more")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, AttributeError, TypeError):
        raise wrong from None
    extra = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    if not good or extra or not url.isascii() or any(c.isspace() or ord(c) < 32 for c in url):
        raise wrong
    return f"{parts.scheme}://{parts.netloc}"


def key(value: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) < 16 or not all("!" <= c <= "~" for c in value):
        raise InvalidArgument("the key is at least 16 visible ASCII characters: look for a line break at its end")
    return value


def position(value: str) -> str:
    if not isinstance(value, str) or not _POSITION.fullmatch(value):
        raise InvalidArgument(f"{value!r} is no position: take that of an answer, such as 0.42")
    return value


def segment(value: str) -> str:
    """Writes a text so that it is one segment of a path, or one value of a query."""
    encoded = quote(value, safe="")
    # A segment of dots alone means another folder to everything between here and the server.
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def _path(campaign: str, *parts: str, **query: object) -> str:
    path = "/".join(["/v1/campaigns", name("campaign", campaign), *map(segment, parts)])
    pairs = "&".join(f"{key}={segment(str(value))}" for key, value in query.items() if value is not None)
    return f"{path}?{pairs}" if pairs else path


def _without_none(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _pool(value: str | None) -> str | None:
    return None if value is None else name("pool", value)


def _subject(value: str) -> str:
    return text("subject", value, 255)


def _units(value: Sequence[str] | None) -> Sequence[str] | None:
    if isinstance(value, str):
        raise InvalidArgument(f"units is a list of names, not one str: units=[{value!r}]")
    return value


def _one_of(**kinds: type[T]) -> Callable[[Any], T]:
    """Reads a document by its outcome."""

    def by_outcome(document: Any) -> T:
        outcome = document.get("outcome") if isinstance(document, dict) else None
        if not isinstance(outcome, str) or outcome not in kinds:
            raise ValueError(f"the outcome {outcome!r} does not belong here")
        return read(kinds[outcome], document)

    return by_outcome


def claim(campaign: str, subject: str, pool: str | None) -> Ask[doc.Won]:
    body = _without_none(subject=_subject(subject), pool=_pool(pool))
    return Ask("POST", _path(campaign, "claims"), _one_of(won=doc.Won, already_won=AlreadyWon), body)


def join(
    campaign: str, subject: str, pool: str | None, wish: Mapping[str, Any]
) -> Ask[doc.Won | doc.Waitlisted | doc.Held]:
    if wish["quantity"] is not None:
        number("quantity", wish["quantity"], 1, 10)
    reading: Callable[[Any], doc.Won | doc.Waitlisted | doc.Held] = _one_of(
        won=doc.Won, already_won=AlreadyWon, waitlisted=doc.Waitlisted, offered=doc.Held
    )
    body = _without_none(subject=_subject(subject), pool=_pool(pool), wait=True, **wish)
    return Ask("POST", _path(campaign, "claims"), reading, body)


def cancel(campaign: str, subject: str, rank: int, pool: str | None) -> Ask[doc.Cancelled]:
    query = {"rank": number("rank", rank, 1, 2**32 - 1), "pool": _pool(pool), "by": "subject"}
    return Ask("DELETE", _path(campaign, "claims", _subject(subject), **query), _one_of(cancelled=doc.Cancelled))


def place(campaign: str, subject: str, pool: str | None) -> Ask[doc.Place]:
    path = _path(campaign, "waitlist", _subject(subject), pool=_pool(pool))
    return Ask("GET", path, lambda document: read(doc.Place, document))


def leave(campaign: str, subject: str, pool: str | None) -> Ask[doc.LeftWaitlist]:
    path = _path(campaign, "waitlist", _subject(subject), pool=_pool(pool))
    return Ask("DELETE", path, _one_of(left_waitlist=doc.LeftWaitlist))


def hold(
    campaign: str, subject: str, picks: Sequence[Pick], id: str | None, wait: float
) -> Ask[doc.Held | doc.Confirmed]:
    if not 1 <= len(picks) <= 64:
        raise InvalidArgument(f"a hold has 1 to 64 picks, not {len(picks)}")
    for pick in picks:
        if [pick.units, pick.quantity, pick.best].count(None) != 2:
            raise InvalidArgument("a pick has one of units, quantity and best")
        _units(pick.units)
    # Nobody may guess it: who uses an id first has it.
    id = f"hold-{secrets.token_hex(16)}" if id is None else text("id of a hold", id, 64)
    wait_ms = round(seconds("wait", wait, 0, 600) * 1000) or None
    written = [_without_none(**asdict(pick)) for pick in picks]
    body = _without_none(id=id, subject=_subject(subject), picks=written, wait_ms=wait_ms)
    reading: Callable[[Any], Any] = _one_of(held=doc.Held, already_held=doc.Held, confirmed=doc.Confirmed)
    return Ask("POST", _path(campaign, "holds"), reading, body, waits=wait, hold=id)


def _step(campaign: str, hold: str, step: str, reading: Callable[[Any], T], **body: Any) -> Ask[T]:
    path = _path(campaign, "holds", text("id of a hold", hold, 64), step)
    # A time from now is from another moment when it is sent again; what names units, or all, is the same.
    headers = {"idempotency-key": f"step-{secrets.token_hex(16)}"} if step == "extend" else {}
    return Ask("POST", path, reading, _without_none(**body), headers)


def extend(campaign: str, hold: str, subject: str, time: float | None) -> Ask[doc.Extended]:
    ttl_ms = None if time is None else round(seconds("the time of a hold", time, 0.001, _DAY) * 1000)
    return _step(campaign, hold, "extend", _one_of(extended=doc.Extended), subject=_subject(subject), ttl_ms=ttl_ms)


def confirm(
    campaign: str, hold: str, subject: str, units: Sequence[str] | None, pool: str | None, retake: bool
) -> Ask[doc.Confirmed]:
    late = "retake" if retake else "refuse"
    body = {"subject": _subject(subject), "units": _units(units), "pool": _pool(pool), "late": late}
    return _step(campaign, hold, "confirm", _one_of(confirmed=doc.Confirmed), **body)


def release(campaign: str, hold: str, subject: str, units: Sequence[str] | None, pool: str | None) -> Ask[doc.Released]:
    body = {"subject": _subject(subject), "units": _units(units), "pool": _pool(pool)}
    return _step(campaign, hold, "release", _one_of(released=doc.Released), **body)


_CODE_STEPS = {
    "reserve": ("reserved", "already_reserved"),
    "redeem": ("redeemed",),
    "roll-back": ("rolled_back",),
    "release": ("reservation_ended",),
}


def code_step(
    campaign: str, step: str, code: str, reference: str,
    pool: str | None, customer: str | None, subject: str | None = None, time: float | None = None,
) -> Ask[doc.CodeStep]:  # fmt: skip
    body = {"code": text("code", code, 1024), "reference": text("reference", reference, 64), "pool": _pool(pool)}
    body["for"] = None if customer is None else text("customer", customer, 255)
    body["subject"] = None if subject is None else _subject(subject)
    ttl_ms = None if time is None else round(seconds("the time of a reservation", time, 1, _DAY) * 1000)
    reading = _one_of(**dict.fromkeys(_CODE_STEPS[step], doc.CodeStep))
    return Ask("POST", _path(campaign, "codes", step), reading, _without_none(**body, ttl_ms=ttl_ms))


def campaign(campaign: str) -> Ask[doc.Campaign]:
    return Ask("GET", _path(campaign), lambda document: read(doc.Campaign, document))


def results(campaign: str, after: int, page_size: int) -> Ask[doc.ResultsPage]:
    query = {"after": number("after", after, 0, 2**64 - 1), "limit": number("page_size", page_size, 1, 10_000)}
    headers = {"accept": "application/json"}
    return Ask("GET", _path(campaign, "results", **query), lambda found: read(doc.ResultsPage, found), headers=headers)


def events(campaign: str) -> str:
    return _path(campaign, "events")
