"""The documents of the HTTP interface, as frozen dataclasses. Written by generate.py from OpenAPI.

Times are aware datetimes in UTC, with microseconds. Fields that a newer server adds are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, final

from firstcome._reading import Passive

__all__ = [
    "Campaign", "Cancelled", "CodeStep", "Confirmed", "Extended", "Held", "LeftWaitlist", "Limits", "Place", "Pool",
    "Released", "Result", "ResultsPage", "Unit", "Waitlisted", "Won",
]  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of a hold. Places of an area, and units of a counted pool, are one item with a `quantity`.

    ``area``: The area.
    ``currency``: Three capital letters.
    ``grade``: Its price category.
    ``pool``: The pool.
    ``price_minor``: The price of one unit, in the smallest unit of its currency.
    ``quantity``: The number of units, if they have no names.
    ``rank``: Its rank in its pool, if it is confirmed.
    ``state``: Its state: `held`, `confirmed`, `expired`, `released` or `refund_due`.
    ``unit``: The seat.
    """

    pool: str
    area: str | None = None
    currency: str | None = None
    grade: str | None = None
    price_minor: int | None = None
    quantity: int | None = None
    rank: int | None = None
    state: str | None = None
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Won:
    """A won unit.

    ``at``: When it was won.
    ``campaign``: The campaign.
    ``code``: The code of a coded pool.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``pool``: The pool.
    ``position``: The position to which this answer belongs.
    ``rank``: The rank in the pool, from 1, without gaps.
    ``subject``: Its owner.
    """

    at: datetime
    campaign: str
    decided: str
    pool: str
    position: str
    rank: int
    subject: str
    code: str | None = field(default=None, repr=False)


@final
@dataclass(frozen=True, kw_only=True)
class Cancelled:
    """A cancelled claim.

    ``at``: When it was cancelled the first time.
    ``by``: `subject` or `operator`: who cancelled it the first time.
    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``kept_out``: Whether the subject is now excluded from the campaign by a bar.
    ``pool``: The pool.
    ``position``: The position to which this answer belongs.
    ``rank``: Its rank, which is never used again.
    ``subject``: The owner of the claim.
    """

    at: datetime
    by: str
    campaign: str
    decided: str
    pool: str
    position: str
    rank: int
    subject: str
    kept_out: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Held:
    """Reserved units.

    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``expires_at``: When the units are free again; later if the store is down meanwhile.
    ``hold``: The id of the hold.
    ``offer``: `true` if it is an offer from the waitlist: it is confirmed or released as it is.
    ``outcome``: `held`, or `already_held` if they were held before; `offered` if the waitlist holds them for a
    claim that waits.
    ``position``: The position to which this answer belongs.
    ``subject``: The owner of the hold.
    ``units``: All units of the hold.
    """

    campaign: str
    decided: str
    expires_at: datetime
    hold: str
    outcome: str
    position: str
    subject: str
    units: tuple[Unit, ...]
    offer: bool | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Confirmed(Passive):
    """Confirmed or released units.

    ``at``: When the last of them was confirmed.
    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``hold``: The id of the hold.
    ``left``: How many units the hold still has.
    ``position``: The position to which this answer belongs.
    ``retaken``: Whether the hold had expired and its units were taken again.
    ``subject``: The owner of the hold.
    ``units``: The units of the request; with their ranks if they are confirmed.
    """

    campaign: str
    decided: str
    hold: str
    left: int
    position: str
    subject: str
    units: tuple[Unit, ...]
    at: datetime | None = None
    retaken: bool | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Released:
    """Confirmed or released units.

    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``hold``: The id of the hold.
    ``left``: How many units the hold still has.
    ``position``: The position to which this answer belongs.
    ``subject``: The owner of the hold.
    ``units``: The units of the request; with their ranks if they are confirmed.
    """

    campaign: str
    decided: str
    hold: str
    left: int
    position: str
    subject: str
    units: tuple[Unit, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Extended:
    """An extended hold.

    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``expires_at``: When its units are free again; later if the store is down meanwhile.
    ``hold``: The id of the hold.
    ``position``: The position to which this answer belongs.
    ``subject``: The owner of the hold.
    """

    campaign: str
    decided: str
    expires_at: datetime
    hold: str
    position: str
    subject: str


@final
@dataclass(frozen=True, kw_only=True)
class Waitlisted:
    """A place on a waitlist, as the answer to a claim that waits.

    ``ahead``: How many wait in front, whatever they wait for.
    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``offers_not_taken``: How many offers the subject did not take. With the third one it is off the list.
    ``passed_over``: Whether something of what the subject wants was free since it joined, but too little or not
    together: others could have it, and the subject kept its place.
    ``pool``: The pool.
    ``position``: The position to which this answer belongs.
    ``quantity``: How many units the subject waits for. A repeated request does not change it.
    ``subject``: Who waits.
    """

    ahead: int
    campaign: str
    decided: str
    offers_not_taken: int
    passed_over: bool
    pool: str
    position: str
    quantity: int
    subject: str


@final
@dataclass(frozen=True, kw_only=True)
class LeftWaitlist:
    """The end of a wait that the subject asked for.

    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``position``: The position to which this answer belongs.
    ``subject``: The subject.
    ``was_on``: Whether it was on the list, or had an offer, which is over now.
    """

    campaign: str
    decided: str
    position: str
    subject: str
    was_on: bool


@final
@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a subject stands with the waitlist of a pool.

    ``adjacent``: Whether it waits for seats next to each other; only while it waits.
    ``ahead``: How many wait in front, whatever they wait for; only while the subject waits.
    ``area``: The area it waits for.
    ``campaign``: The campaign.
    ``channel``: The channel it waits through.
    ``durable``: Whether this data is known to be durable; `false` if it was not within 1 s.
    ``expires_at``: When the offer is over; later if the store is down meanwhile.
    ``grade``: The price category it waits for.
    ``hold``: The id of the hold, if it is offered: confirm or release it as any hold.
    ``offers_not_taken``: How many offers it did not take. With the third one it is off the list.
    ``passed_over``: Whether something of what it wants was free since it joined, but too little or not together;
    only while it waits.
    ``pool``: The pool.
    ``position``: The position to which this answer belongs.
    ``quantity``: How many units the subject waits for, or has in the offer.
    ``since``: Since when it has this place; for an offer, since when it is made.
    ``stale``: Whether this node's state may be out of date.
    ``state``: `waits`, or `offered` if units are held for the subject until a deadline.
    ``subject``: The subject.
    ``units``: The offered units.
    """

    campaign: str
    durable: bool
    offers_not_taken: int
    pool: str
    position: str
    quantity: int
    since: datetime
    stale: bool
    state: str
    subject: str
    adjacent: bool | None = None
    ahead: int | None = None
    area: str | None = None
    channel: str | None = None
    expires_at: datetime | None = None
    grade: str | None = None
    hold: str | None = None
    passed_over: bool | None = None
    units: tuple[Unit, ...] | None = None


@final
@dataclass(frozen=True, kw_only=True)
class CodeStep:
    """A step on a code. No answer to a step has the code.

    ``at``: For `redeemed` and `rolled_back`, when it was the first time.
    ``campaign``: The campaign.
    ``decided``: `journal`, or `replica` if the state of this server was enough.
    ``expired``: For `rolled_back`, whether the code had expired meanwhile: then its use did not come back.
    ``expires_at``: For `reserved` and `already_reserved`, when the reservation ends.
    ``outcome``: `reserved`, `already_reserved`, `redeemed`, `rolled_back` or `reservation_ended`.
    ``pool``: The pool of the code.
    ``position``: The position to which this answer belongs.
    ``rank``: The rank of the code's claim.
    ``reference``: The reference.
    """

    campaign: str
    decided: str
    outcome: str
    pool: str
    position: str
    rank: int
    reference: str
    at: datetime | None = None
    expired: bool | None = None
    expires_at: datetime | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Pool:
    """The current state of a pool. `held`, `blocked`, `last_rank`, `cancelled` and `offered` are only in answers to
    keys, not to subject tokens.

    ``blocked``: Units that are blocked.
    ``cancelled``: Claims that were cancelled.
    ``capacity``: All its units; of a seated pool, those that were added.
    ``held``: Units that are reserved until a deadline.
    ``kind``: `counted`, `seated` or `coded`.
    ``last_rank``: The last rank given.
    ``left``: Units that are free and for sale.
    ``limit``: How many units of it one subject may have.
    ``name``: Its name.
    ``offered``: How many have an offer of its units.
    ``taken``: Units that are not free.
    ``waiting``: How many wait for its units.
    ``waitlist``: How many may wait for its units at most.
    """

    capacity: int
    kind: str
    left: int
    name: str
    taken: int
    blocked: int | None = None
    cancelled: int | None = None
    held: int | None = None
    last_rank: int | None = None
    limit: int | None = None
    offered: int | None = None
    waiting: int | None = None
    waitlist: int | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one subject.

    ``campaign``: Units over all pools, held and claimed together.
    ``grades``: By price category, if there are such limits.
    """

    campaign: int | None = None
    grades: Any | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Campaign:
    """The current state of a campaign, for a page. `live_holds` and `unsettled` are only in answers to keys, not to
    subject tokens.

    ``allow_orphans``: Whether a hold may leave a single free seat between taken ones.
    ``ask_again_ms``: A page should ask again after this time, in milliseconds.
    ``campaign``: Its name.
    ``claim_again``: Whether a subject that cancelled may claim again.
    ``closed_at``: When it was closed.
    ``closes_at``: When it closes; null for never.
    ``closes_in_ms``: Milliseconds until it closes: 0 after that, null if it never closes.
    ``created_at``: When it was created.
    ``durable``: Whether this data is known to be durable; `false` if it was not within 1 s.
    ``hold_max_ms``: The longest time of a hold with extensions, from its start.
    ``hold_ttl_ms``: How long a hold lasts.
    ``holds``: How many live holds one subject may have: `one` or `many`.
    ``holds_per_hour``: How many holds one subject may start in an hour.
    ``left``: Units that are free in all pools.
    ``limits``: The limits of one subject.
    ``live_holds``: The number of live holds.
    ``now``: The server's time.
    ``offer_ms``: How long an offer to somebody on a waitlist lasts.
    ``opens_at``: When it opens; null for a draft.
    ``opens_in_ms``: Milliseconds until it opens: 0 after that, null for a draft.
    ``pools``: Its pools.
    ``position``: The position to which this answer belongs.
    ``public``: Whether everybody may read it, its map and its events, without a key.
    ``stale``: Whether this node's state may be out of date.
    ``state``: `draft`, `scheduled`, `open`, `paused` or `closed`.
    ``title``: The title for people.
    ``units_return``: Whether a cancelled unit goes back to its pool.
    ``unsettled``: Results of this campaign that the ledger does not have yet.
    ``version``: Increases with every change; send it in `If-Match`.
    """

    allow_orphans: bool
    ask_again_ms: int
    campaign: str
    claim_again: bool
    created_at: datetime
    durable: bool
    hold_max_ms: int
    hold_ttl_ms: int
    holds: str
    holds_per_hour: int
    left: int
    limits: Limits
    now: datetime
    pools: tuple[Pool, ...]
    position: str
    stale: bool
    state: str
    title: str
    units_return: bool
    version: int
    closed_at: datetime | None = None
    closes_at: datetime | None = None
    closes_in_ms: int | None = None
    live_holds: int | None = None
    offer_ms: int | None = None
    opens_at: datetime | None = None
    opens_in_ms: int | None = None
    public: bool | None = None
    unsettled: int | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Result:
    """One result.

    ``at``: When it happened.
    ``by``: Who cancelled a claim: `subject` or `operator`.
    ``campaign``: The campaign.
    ``hold``: The id of its hold, if it was confirmed from one.
    ``import_``: For `code_marked` of a whole import, its id.
    ``issue``: For `code_marked` of one code, its issue number from then on.
    ``kind``: `claim`, `cancel`, `refund_due`, `moved`, `redeemed`, `rolled_back`, `code_marked` or `unserved`.
    ``moved_from``: The old unit of a move.
    ``number``: 1, 2, 3 over all campaigns of the space; those of one campaign have gaps.
    ``pool``: The pool.
    ``quantity``: For `unserved`, how many units the subject waited for.
    ``rank``: The rank; 0 if there is no claim.
    ``reason``: Why a claim was undone, a seat moved or a code marked; for `unserved` `ended`, `not_taken` or
    `limit_reached`.
    ``reference``: For `redeemed` and `rolled_back`, the reference: an order or a payment.
    ``subject``: The subject of the result.
    ``unit``: The unit of a seated pool; the new one for a move.
    ``used_by``: Who used the code, if that is not its holder.
    ``verdict``: For `code_marked`, `revoke`, `suspend`, `restore` or `reissue`; for `rolled_back` `expired` if the
    use did not come back.
    """

    at: datetime
    campaign: str
    kind: str
    number: int
    pool: str
    rank: int
    subject: str
    by: str | None = None
    hold: str | None = None
    import_: str | None = None
    issue: int | None = None
    moved_from: str | None = None
    quantity: int | None = None
    reason: str | None = None
    reference: str | None = None
    unit: str | None = None
    used_by: str | None = None
    verdict: str | None = None


@final
@dataclass(frozen=True, kw_only=True)
class ResultsPage:
    """A page of results.

    ``durable``: Whether this data is known to be durable; in the other formats the header `firstcome-durable:
    false` says that it is not.
    ``last``: The number of the last result of the space.
    ``next``: The `after` of the next page; null if this is the last one so far.
    ``position``: The position to which this answer belongs.
    ``results``: The results, by number.
    """

    durable: bool
    last: int
    position: str
    results: tuple[Result, ...]
    next: int | None = None
