"""What both clients tell httpx, and what its errors mean."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import httpx

from firstcome import _requests as ask
from firstcome._core import CONNECT, SILENCE, Ask, Broken

AGENT = f"firstcome-python/{version('firstcome')}"
# trust_env is off: the key goes to nobody but the server, whatever the environment says about proxies.
OPTIONS: dict[str, Any] = {
    "trust_env": False,
    "limits": httpx.Limits(max_connections=64, max_keepalive_connections=64, keepalive_expiry=30),
}


@dataclass(frozen=True)
class Settings:
    """What a client does with each call."""

    server: str
    key: str | None = field(repr=False)
    deadline: float
    attempt: float
    min_position: str | None = None

    def __post_init__(self) -> None:
        ask.seconds("the deadline", self.deadline, 0.001, 86_400)
        ask.seconds("the time of an attempt", self.attempt, 0.001, 86_400)
        if self.min_position is not None:
            ask.position(self.min_position)

    def request(self, asked: Ask[Any]) -> dict[str, Any]:
        """Arguments of a request of httpx."""
        path = asked.path
        if self.min_position is not None:
            path += f"{'&' if '?' in path else '?'}min_position={ask.segment(self.min_position)}"
        headers = {"user-agent": AGENT, **asked.headers}
        if self.key is not None:
            headers["authorization"] = f"Bearer {self.key}"
        content = None
        if asked.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(asked.body).encode()
        return {"method": asked.method, "url": self.server + path, "headers": headers, "content": content}


class Timeouts(dict[str, float]):
    """Time-outs of httpx that end at one moment: it looks them up before each of its waits."""

    def __init__(self, seconds: float) -> None:
        super().__init__(connect=min(seconds, CONNECT), read=seconds, write=seconds, pool=seconds)
        self._end: float | None = time.monotonic() + seconds

    def get(self, key: str, default: Any = None) -> Any:
        if self._end is None:
            return SILENCE
        left = max(self._end - time.monotonic(), 0.001)
        return min(left, CONNECT) if key == "connect" else left

    def over(self) -> bool:
        return self._end is not None and time.monotonic() > self._end

    def follow(self) -> None:
        """From now on a stream is read, which has no end."""
        self._end = None


def broken(error: Exception) -> Broken:
    """Says what an error means. What the other side sent is not repeated: a proxy may send back the key."""
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)):
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        return Broken(f"no connection: {str(error) or type(error).__name__}", sent=False, final=cause is not None)
    if isinstance(error, (httpx.TimeoutException, asyncio.TimeoutError)):
        return Broken("no answer in time", sent=True)
    return Broken(f"the connection broke after the request was sent ({type(error).__name__})", sent=True)
