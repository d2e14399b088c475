"""Both clients where the list does not look: cancelling, trickling answers, a client of httpx that is given."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from firstcome import AsyncClient, AsyncHold, Client, FirstcomeError, LiveHold, Pick, Refused, Unknown, Won

KEY = "a-long-enough-secret-key"
DECIDED = {"campaign": "hall", "subject": "ann", "position": "0.7", "decided": "journal"}
WON = {**DECIDED, "outcome": "won", "pool": "main", "rank": 1, "at": "2027-03-01T01:00:00.000000Z"}
HELD = {**DECIDED, "outcome": "held", "hold": "h1", "units": [], "expires_at": "2027-03-01T01:08:00.000000Z"}
RELEASED = {**DECIDED, "outcome": "released", "hold": "h1", "units": [], "left": 0}


def says(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path.endswith("/claims"):
        return httpx.Response(201, json=WON)
    if path.endswith("/holds"):
        return httpx.Response(201, json=HELD)
    assert path.endswith("/release"), path
    return httpx.Response(200, json=RELEASED)


class Trickle:
    """A server that sends the head of an answer at once, and its body byte by byte."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        body = json.dumps(WON).encode()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 201 Created\r\ncontent-length: %d\r\n\r\n" % len(body))
            for byte in body:
                time.sleep(0.1)
                try:
                    peer.sendall(bytes([byte]))
                except OSError:
                    return


@pytest.fixture
def trickle() -> Iterator[str]:
    server = Trickle()
    yield server.url
    server.listener.close()


def test_an_answer_that_trickles_is_cut_at_the_deadline(trickle: str) -> None:
    with Client(trickle, KEY, deadline=0.6) as client:
        began = time.monotonic()
        assert isinstance(client.claim("hall", "ann"), Unknown)
        assert 0.4 < time.monotonic() - began < 2


def test_an_answer_that_trickles_is_cut_at_the_deadline_with_asyncio(trickle: str) -> None:
    async def run() -> None:
        async with AsyncClient(trickle, KEY, deadline=0.6) as client:
            began = time.monotonic()
            assert isinstance(await client.claim("hall", "ann"), Unknown)
            assert 0.4 < time.monotonic() - began < 2

    asyncio.run(run())


def test_a_block_that_is_cancelled_gives_its_hold_back() -> None:
    asked: list[str] = []

    async def slowly(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path.rsplit("/", 1)[1])
        await asyncio.sleep(0.05)
        return says(request)

    async def hold(client: AsyncClient, inside: asyncio.Event) -> None:
        async with client.hold("hall", "ann", Pick(quantity=1)) as held:
            assert isinstance(held, AsyncHold)
            inside.set()
            await asyncio.sleep(60)

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(slowly)) as http:
            inside = asyncio.Event()
            task = asyncio.create_task(hold(AsyncClient("http://host", KEY, http=http), inside))
            await inside.wait()
            task.cancel()
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.2)

    asyncio.run(run())
    assert asked == ["holds", "release"]


def test_a_hold_can_be_awaited_without_a_block() -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(says)) as http:
            held = await AsyncClient("http://host", KEY, http=http).hold("hall", "ann", Pick(quantity=1))
            assert isinstance(held, AsyncHold)
            assert held.hold == "h1"

    asyncio.run(run())


def test_a_client_of_httpx_that_is_given_stays_open_and_follows_no_redirect() -> None:
    asked: list[httpx.URL] = []

    def redirects(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        if len(asked) == 1:
            return httpx.Response(307, headers={"location": "http://elsewhere/"})
        return says(request)

    http = httpx.Client(transport=httpx.MockTransport(redirects), follow_redirects=True)
    with Client("http://host", KEY, http=http) as client, pytest.raises(Exception, match="status 307"):
        client.claim("hall", "ann")
    assert not http.is_closed
    assert [str(url) for url in asked] == ["http://host/v1/campaigns/hall/claims"]
    client = Client("http://host", KEY, http=http).using(deadline=1, min_position="0.7")
    assert isinstance(client.claim("hall", "ann"), Won)
    assert asked[-1].query == b"min_position=0.7"


def test_a_client_that_was_made_from_another_does_not_close_it() -> None:
    client = Client("http://127.0.0.1:9", KEY)
    with client.using(deadline=3):
        pass
    assert not client._http.is_closed
    client.close()
    assert client._http.is_closed


def test_the_key_is_in_no_text_of_a_client() -> None:
    with Client("http://host", KEY) as client:
        assert KEY not in f"{client!r} {client} {client._settings!r} {client.using(deadline=1)!r}"


def test_the_rest_of_a_hold_is_given_back_after_a_part_was_confirmed() -> None:
    asked: list[str] = []

    def partly(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path.rsplit("/", 1)[1])
        if asked[-1] == "confirm":
            return httpx.Response(200, json={**RELEASED, "outcome": "confirmed", "left": 1})
        return says(request)

    with httpx.Client(transport=httpx.MockTransport(partly)) as http:
        client = Client("http://host", KEY, http=http)
        with client.hold("hall", "ann", Pick(units=["A1", "A2"])) as hold:
            assert isinstance(hold, LiveHold)
            hold.confirm(units=["A1"])
        assert asked == ["holds", "confirm", "release"]


@pytest.mark.parametrize(
    ("status", "outcome", "released"),
    [(503, "unavailable", False), (401, "unauthorized", False), (403, "not_yours", True)],
)
def test_a_hold_whose_confirm_was_not_decided_is_left_alone(status: int, outcome: str, released: bool) -> None:
    asked: list[str] = []
    no = {"outcome": outcome, "changed": "no", "retry": False, "status": status, "detail": "no"}

    def never(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path.rsplit("/", 1)[1])
        return httpx.Response(status, json=no) if asked[-1] == "confirm" else says(request)

    with httpx.Client(transport=httpx.MockTransport(never)) as http:
        client = Client("http://host", KEY, http=http)
        with contextlib.suppress(FirstcomeError), client.hold("hall", "ann", Pick(quantity=1)) as hold:
            assert isinstance(hold, LiveHold)
            hold.confirm()
    assert asked == ["holds", "confirm", *(["release"] if released else [])]


@pytest.mark.parametrize("reads", ["results", "events"])
def test_a_list_that_is_not_there_is_an_error(reads: str) -> None:
    no = {"outcome": "not_found", "changed": "no", "retry": False, "status": 404, "detail": "no such campaign"}
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(404, json=no))) as http:
        client: Any = Client("http://host", KEY, http=http)
        with pytest.raises(Exception, match="not_found: no such campaign"):
            next(getattr(client, reads)("hall"))
        answer = client.campaign("hall")
        assert isinstance(answer, Refused)
        assert answer.reason == "not_found"
