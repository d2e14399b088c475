"""The client for asyncio. client.py is written from this file by generate.py."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import random
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, TypeVar

import httpx

from firstcome import _requests as ask
from firstcome import documents as doc
from firstcome._core import LARGEST_ANSWER, Ask, Broken, Call, Reply, Stream
from firstcome._http import OPTIONS, Settings, Timeouts, broken
from firstcome.answers import Event, Refused, Unknown
from firstcome.errors import Rejected

T = TypeVar("T")
Settled = TypeVar("Settled", bound=doc.Confirmed | doc.Released | Refused | Unknown)


class AsyncHold(doc.Held):
    """A hold that this client took. As a block it gives back at its end what was not confirmed.

    After a confirm that was not decided (`Unknown`, an error, cancelled) it releases nothing: it may be paid. Confirm
    again. A release at the end that fails is not reported: the hold ends by itself at ``expires_at``.
    """

    _client: AsyncClient
    _open: bool

    async def extend(self, seconds: float | None = None) -> doc.Extended | Refused | Unknown:
        """As :meth:`AsyncClient.extend`."""
        return await self._client.extend(self.campaign, self.hold, self.subject, seconds)

    async def confirm(
        self, *, units: Sequence[str] | None = None, pool: str | None = None, retake: bool = False
    ) -> doc.Confirmed | Refused | Unknown:
        """As :meth:`AsyncClient.confirm`."""
        asked = ask.confirm(self.campaign, self.hold, self.subject, units, pool, retake)
        object.__setattr__(self, "_open", False)  # Until it is decided nothing is released.
        answer = await self._client._run(asked)
        return self._settle(answer)

    async def release(
        self, *, units: Sequence[str] | None = None, pool: str | None = None
    ) -> doc.Released | Refused | Unknown:
        """As :meth:`AsyncClient.release`."""
        answer = await self._client._run(ask.release(self.campaign, self.hold, self.subject, units, pool))
        return self._settle(answer)

    def _settle(self, answer: Settled) -> Settled:
        left = isinstance(answer, Refused) or (not isinstance(answer, Unknown) and answer.left > 0)
        object.__setattr__(self, "_open", left)
        return answer

    async def __aenter__(self) -> AsyncHold:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._open:
            # [async]
            # Whoever cancels the block does not cancel this.
            await asyncio.shield(asyncio.ensure_future(self._give_back()))
            # [sync]
            # self._give_back()
            # [end]

    async def _give_back(self) -> None:
        with contextlib.suppress(Exception):
            await self.release()


# [async]
class Holding:
    """A hold that is asked for: ``await`` it for the answer, or ``async with`` it for a block that ends with it."""

    def __init__(self, client: AsyncClient, asked: Ask[doc.Held | doc.Confirmed]) -> None:
        self._client, self._asked = client, asked
        self._answer: AsyncHold | doc.Confirmed | Refused | Unknown | None = None

    def __await__(self) -> Generator[Any, None, AsyncHold | doc.Confirmed | Refused | Unknown]:
        return self._client._hold(self._asked).__await__()

    async def __aenter__(self) -> AsyncHold | doc.Confirmed | Refused | Unknown:
        self._answer = await self
        return self._answer

    async def __aexit__(self, *_: object) -> None:
        if isinstance(self._answer, AsyncHold):
            await self._answer.__aexit__()


# [end]
class AsyncClient:
    """A client for one server, or for the address before several of one space. Close it, or use it as a block.

    ``server``: `http://HOST[:PORT]` or `https://HOST[:PORT]`.
    ``key``: The key, at least 16 visible ASCII characters. It travels in a header of each request.
    ``deadline``: Seconds for a whole call, with all attempts and pauses; 0.001 to 86,400.
    ``attempt``: Seconds for one attempt. A server answers `unavailable` or `unknown` after 5 s: allow for more.
    ``http``: A client of httpx to use, with your own TLS settings, for example. You close it.

    **Answers.** What the rules decide is returned: a document such as :class:`firstcome.Won`, or
    :class:`firstcome.Refused`. :class:`firstcome.Unknown` is returned where no answer came before the deadline and the
    call may have happened; the same call again tells. Every method may raise :class:`firstcome.InvalidArgument`
    (nothing was sent), :class:`firstcome.Rejected` and :class:`firstcome.Unavailable` (nothing changed).

    **Retries.** A request is sent again, with the same identity, until the deadline: where no connection was made,
    where its answer was lost, and where the server could not answer now. So nothing happens twice. A refusal is not
    sent again.

    **Cancelling** a call leaves open whether it happened, as a lost answer does. Make it again to learn.
    """

    def __init__(
        self, server: str, key: str | None = None, *,
        deadline: float = 15.0, attempt: float = 6.0, http: httpx.AsyncClient | None = None,
    ) -> None:  # fmt: skip
        self._settings = Settings(ask.server(server), ask.key(key), deadline, attempt)
        self._own = http is None
        self._http = httpx.AsyncClient(**OPTIONS) if http is None else http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.server!r})"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. Those of an ``http`` that was given stay."""
        if self._own:
            await self._http.aclose()

    def using(self, *, deadline: float | None = None, min_position: str | None = None) -> AsyncClient:
        """Returns the same client with another deadline, or whose calls are answered at or past a position.

        Give the ``position`` of an earlier answer: its effect is seen on every server. With that of an epoch that is
        over, :class:`firstcome.Rejected` is `stale_position`. The connections are those of this client.
        """
        new, given = copy.copy(self), {"deadline": deadline, "min_position": min_position}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        new._settings, new._own = dataclasses.replace(self._settings, **changes), False
        return new

    async def claim(self, campaign: str, subject: str, *, pool: str | None = None) -> doc.Won | Refused | Unknown:
        """Claims a unit for a subject: 1 to 255 bytes of UTF-8 without control characters, compared byte by byte.

        ``pool`` may be left out if the campaign has one. Who has the unit already gets :class:`firstcome.AlreadyWon`.
        """
        return await self._run(ask.claim(campaign, subject, pool))

    async def cancel(
        self, campaign: str, subject: str, rank: int, *, pool: str | None = None
    ) -> doc.Cancelled | Refused | Unknown:
        """Cancels the claim with this rank in the name of the subject."""
        return await self._run(ask.cancel(campaign, subject, rank, pool))

    # [async]
    def hold(
        self, campaign: str, subject: str, *picks: ask.Pick, id: str | None = None, wait: float = 0.0
    ) -> Holding:
    # [sync]
    # def hold(
    #     self, campaign: str, subject: str, *picks: ask.Pick, id: str | None = None, wait: float = 0.0
    # ) -> LiveHold | doc.Confirmed | Refused | Unknown:
    # [end]
        """Sets units aside for a subject until a deadline: all of them or none.

        `async with` it for a block that releases at its end what was not confirmed (:class:`AsyncHold`); `await` it
        for the answer alone. A hold that was confirmed before is :class:`firstcome.Confirmed`. ``id``: 1 to 64 bytes;
        the same hold when it is asked for again. Drawn for each call if left out: store one with the order to find the
        answer after your process ended. ``wait``: seconds to wait for taken seats, at most the server's `hold_wait_ms`.
        """
        asked = ask.hold(campaign, subject, picks, id, wait)
        # [async]
        return Holding(self, asked)
        # [sync]
        # return self._hold(asked)
        # [end]

    async def extend(
        self, campaign: str, hold: str, subject: str, seconds: float | None = None
    ) -> doc.Extended | Refused | Unknown:
        """Moves the deadline of a hold to so many seconds from now, 0.001 to 86,400; the campaign's time if left out.

        Never to an earlier time, and not beyond the campaign's `hold_max_ms`: look at ``expires_at``. Extend before you
        charge the customer, and charge only after :class:`firstcome.Extended`.
        """
        return await self._run(ask.extend(campaign, hold, subject, seconds))

    async def confirm(
        self, campaign: str, hold: str, subject: str, *,
        units: Sequence[str] | None = None, pool: str | None = None, retake: bool = False,
    ) -> doc.Confirmed | Refused | Unknown:  # fmt: skip
        """Gives units of a hold to its subject for good: those named, or all.

        ``retake``: if the hold expired, the same units are taken again if all are free; otherwise the answer is the
        refusal `refund_due`, which is stored: give the money back.
        """
        return await self._run(ask.confirm(campaign, hold, subject, units, pool, retake))

    async def release(
        self, campaign: str, hold: str, subject: str, *, units: Sequence[str] | None = None, pool: str | None = None
    ) -> doc.Released | Refused | Unknown:
        """Gives units of a hold back: those named, or all."""
        return await self._run(ask.release(campaign, hold, subject, units, pool))

    async def join(
        self, campaign: str, subject: str, *, pool: str | None = None, quantity: int | None = None,
        grade: str | None = None, channel: str | None = None, area: str | None = None, adjacent: bool | None = None,
    ) -> doc.Won | doc.Waitlisted | doc.Held | Refused | Unknown:  # fmt: skip
        """Claims units, 1 to 10, and joins the waitlist of the pool if they are not free.

        :class:`firstcome.Held` is an offer: confirm or release it. In a coded pool, join again to take it.
        """
        wish = {"quantity": quantity, "grade": grade, "channel": channel, "area": area, "adjacent": adjacent}
        return await self._run(ask.join(campaign, subject, pool, wish))

    async def place(self, campaign: str, subject: str, *, pool: str | None = None) -> doc.Place | Refused:
        """Reads where a subject stands with the waitlist of a pool."""
        return await self._look(ask.place(campaign, subject, pool))

    async def leave(
        self, campaign: str, subject: str, *, pool: str | None = None
    ) -> doc.LeftWaitlist | Refused | Unknown:
        """Takes a subject off the waitlist of a pool. An offer that it has ends."""
        return await self._run(ask.leave(campaign, subject, pool))

    async def reserve_code(
        self, campaign: str, code: str, reference: str, *, seconds: float | None = None,
        subject: str | None = None, customer: str | None = None, pool: str | None = None,
    ) -> doc.CodeStep | Refused | Unknown:  # fmt: skip
        """Sets a use of a code aside for 1 to 86,400 seconds, 15 minutes if left out.

        ``reference``: 1 to 64 bytes, such as the id of an order: with the code it is the identity of all steps.
        ``subject``: needed for codes that only their holder may use. ``customer``: who types the code, so that wrong
        codes are counted for them and not for all.
        """
        return await self._run(ask.code_step(campaign, "reserve", code, reference, pool, customer, subject, seconds))

    async def redeem_code(
        self, campaign: str, code: str, reference: str, *,
        subject: str | None = None, customer: str | None = None, pool: str | None = None,
    ) -> doc.CodeStep | Refused | Unknown:  # fmt: skip
        """Uses a code, reserved before or not. Arguments are those of :meth:`reserve_code`."""
        return await self._run(ask.code_step(campaign, "redeem", code, reference, pool, customer, subject))

    async def roll_back_code(
        self, campaign: str, code: str, reference: str, *, customer: str | None = None, pool: str | None = None
    ) -> doc.CodeStep | Refused | Unknown:
        """Undoes a redemption. The use comes back, unless ``expired`` of the answer is True."""
        return await self._run(ask.code_step(campaign, "roll-back", code, reference, pool, customer))

    async def release_code(
        self, campaign: str, code: str, reference: str, *, customer: str | None = None, pool: str | None = None
    ) -> doc.CodeStep | Refused | Unknown:
        """Gives a reservation back."""
        return await self._run(ask.code_step(campaign, "release", code, reference, pool, customer))

    async def campaign(self, campaign: str) -> doc.Campaign | Refused:
        """Reads the state and the counts of a campaign. Ask again after its ``ask_again_ms``."""
        return await self._look(ask.campaign(campaign))

    async def results(
        self, campaign: str, *, after: int = 0, page_size: int = 1000
    ) -> AsyncGenerator[doc.Result, None]:
        """Reads the results of a campaign in order, those with a greater number than ``after``, to the end so far.

        ``page_size`` is 1 to 10,000. A campaign that is not there is :class:`firstcome.Rejected`. After an error go on
        with ``after`` set to the last number you got.
        """
        while True:
            page = await self._whole(ask.results(campaign, after, page_size))
            for result in page.results:
                yield result
            if page.next is None:
                return
            after = page.next

    async def events(self, campaign: str, *, after: str | None = None) -> AsyncGenerator[Event, None]:
        """Follows the changes of a campaign behind the position ``after``, or from now on.

        A stream that breaks, or that the server ends after ten minutes, is opened again behind the last event; where
        that does not succeed within the deadline, it is :class:`firstcome.Unavailable`. After the event `reset` read
        what you show anew, and go on. After `end` there is nothing more.
        """
        path, stream = ask.events(campaign), Stream(None if after is None else ask.position(after))
        while True:
            opened: list[httpx.Response] = []
            await self._whole(stream.ask(path), opened)
            try:
                async for chunk in opened[0].aiter_bytes():
                    for event in stream.feed(chunk):
                        yield event
                    if stream.ended:
                        return
            except (httpx.RequestError, ValueError):
                pass  # It is opened again.
            finally:
                await opened[0].aclose()
            await asyncio.sleep(stream.broke(random.random()))

    async def _hold(self, asked: Ask[doc.Held | doc.Confirmed]) -> AsyncHold | doc.Confirmed | Refused | Unknown:
        answer = await self._run(asked)
        if not isinstance(answer, doc.Held):
            return answer
        hold = AsyncHold(**vars(answer))
        object.__setattr__(hold, "_client", self)
        object.__setattr__(hold, "_open", True)
        return hold

    async def _run(self, asked: Ask[T], opened: list[httpx.Response] | None = None) -> T | Refused | Unknown:
        call = Call(asked, self._settings.deadline, self._settings.attempt, time.monotonic())
        while True:
            outcome = await self._exchange(asked, call.attempt_time(time.monotonic()), opened)
            pause = call.settle(outcome, time.monotonic(), random.random())
            if pause is None:
                return call.result()
            await asyncio.sleep(pause)

    async def _look(self, asked: Ask[T], opened: list[httpx.Response] | None = None) -> T | Refused:
        answer = await self._run(asked, opened)
        assert not isinstance(answer, Unknown), "what only reads cannot have happened"
        return answer

    async def _whole(self, asked: Ask[T], opened: list[httpx.Response] | None = None) -> T:
        """Reads a part of something longer, of which a no is an error."""
        answer = await self._look(asked, opened)
        if isinstance(answer, Refused):
            raise Rejected(answer.reason, answer.document.get("status", 0), answer.detail, answer.document)
        return answer

    async def _exchange(
        self, asked: Ask[Any], seconds: float, opened: list[httpx.Response] | None
    ) -> Reply | Broken:
        """Sends a request once. The response of a stream is put into ``opened``, and stays open."""
        timeouts = Timeouts(seconds)
        request = self._http.build_request(**self._settings.request(asked), extensions={"timeout": timeouts})
        try:
            # [async]
            # httpx itself says in time whether there was a connection.
            return await asyncio.wait_for(self._send(request, timeouts, opened), seconds + 0.05)
            # [sync]
            # return self._send(request, timeouts, opened)
            # [end]
        except (httpx.RequestError, httpx.StreamError, asyncio.TimeoutError) as error:
            return broken(error)

    async def _send(
        self, request: httpx.Request, timeouts: Timeouts, opened: list[httpx.Response] | None
    ) -> Reply | Broken:
        response = await self._http.send(request, stream=True, follow_redirects=False)
        if opened is not None and response.is_success:
            timeouts.follow()
            opened.append(response)
            return Reply(response.status_code, None, b"null")
        try:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if timeouts.over() or len(body) > LARGEST_ANSWER:
                    return Broken("no whole answer in time, or a larger one than is read", sent=True)
            return Reply(response.status_code, response.headers.get("retry-after"), bytes(body))
        finally:
            await response.aclose()
