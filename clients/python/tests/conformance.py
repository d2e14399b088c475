"""Runs the list of behaviours (../../conformance.json) with both clients. ../../README.md describes the list.

    FIRSTCOME=/path/to/firstcome python tests/conformance.py [NAME …]
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

import firstcome
from firstcome import AsyncClient, AsyncHold, Client, LiveHold, Pick

CLIENTS = Path(os.environ.get("FIRSTCOME_CLIENTS") or Path(__file__).parent.parent.parent)
LIST: dict[str, Any] = json.loads((CLIENTS / "conformance.json").read_text())
KEYS: dict[str, str] = LIST["keys"]

OUTCOMES = {
    firstcome.Cancelled: "cancelled",
    firstcome.Extended: "extended",
    firstcome.Confirmed: "confirmed",
    firstcome.Released: "released",
    firstcome.Waitlisted: "waitlisted",
    firstcome.LeftWaitlist: "left_waitlist",
    firstcome.Place: "place",
    firstcome.Campaign: "campaign",
    firstcome.Won: "won",
    firstcome.AlreadyWon: "already_won",
    firstcome.Unknown: "unknown",
    firstcome.Refused: "refused",
}


class Thrown(Exception):
    """The exception of a block that throws."""


class Different(AssertionError):
    """Something is not as the list says."""


@contextmanager
def program(folder: str) -> Iterator[str]:
    """The real server, on a folder of its own; gives its address."""
    command = [os.environ["FIRSTCOME"], "serve", "--config", str(CLIENTS / "conformance/server.toml")]
    command += ["--data", folder, "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "FIRSTCOME_ADMIN_KEY": KEYS["admin"]}
    with child(command, environment) as line:
        found = re.search(r"http://[0-9.:]+", line)
        if not found:
            raise Different(f"the first line of the server has no address: {line!r}")
        for _ in range(300):
            if httpx.get(f"{found[0]}/readyz", trust_env=False).status_code == 200:
                break
            time.sleep(0.1)
        else:
            raise Different("the server is not ready after 30 s")
        yield found[0]


@contextmanager
def child(command: list[str], environment: dict[str, str] | None = None) -> Iterator[str]:
    """A process that ends with the block; gives the first line of its output."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


@contextmanager
def proxy(upstream: str) -> Iterator[str]:
    command = [sys.executable, str(CLIENTS / "conformance/proxy.py"), "--upstream", upstream, "--stop-with-stdin"]
    with child(command) as line:
        yield line.strip()


def fill(part: Any, names: dict[str, Any]) -> Any:
    """Puts saved values into a part of a behaviour."""
    if isinstance(part, dict):
        return {key: fill(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [fill(value, names) for value in part]
    if not isinstance(part, str):
        return part
    whole = re.fullmatch(r"\{(\w+)\}", part)
    if whole and whole[1] in names:
        return names[whole[1]]
    return re.sub(r"\{(\w+)\}", lambda found: str(names.get(found[1], found[0])), part)


def compare(expected: Any, actual: Any, where: str) -> None:
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            raise Different(f"{where}: expected an object, got {actual!r}")
        for key, value in expected.items():
            if key not in actual:
                raise Different(f"{where}.{key} is missing in {actual!r}")
            compare(value, actual[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            raise Different(f"{where}: expected {expected!r}, got {actual!r}")
        for index, value in enumerate(expected):
            compare(value, actual[index], f"{where}[{index}]")
    elif expected != actual or type(expected) is not type(actual):
        raise Different(f"{where}: expected {expected!r}, got {actual!r}")


def within(bounds: Any, value: float, where: str) -> None:
    if isinstance(bounds, int):
        bounds = {"min": bounds, "max": bounds}
    known(bounds, {"min", "max"}, where)
    if not bounds.get("min", 0) <= value <= bounds.get("max", float("inf")):
        raise Different(f"{where}: expected {bounds}, got {value}")


def known(part: dict[str, Any], names: set[str], where: str) -> None:
    """What this runner does not understand is a failure."""
    strange = set(part) - names
    if strange:
        raise Different(f"{where}: this runner does not understand {sorted(strange)}")


@dataclasses.dataclass
class Came:
    """What came of a call."""

    kind: str
    fields: dict[str, Any]
    text: str
    took_ms: float = 0


def plain(value: Any) -> Any:
    """An answer as the HTTP interface writes it."""
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def came(answer: Any) -> Came:
    text = f"{answer!r} {answer}"
    if isinstance(answer, list):
        events = bool(answer) and isinstance(answer[0], firstcome.Event)
        name = "events" if events else "items"
        return Came(name, {name: plain(answer)}, text)
    if isinstance(answer, (firstcome.Held, firstcome.CodeStep)):
        return Came(answer.outcome, plain(answer), text)
    return Came(OUTCOMES[type(answer)], plain(answer), text)


def came_as_error(error: Exception) -> Came:
    text = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    if isinstance(error, firstcome.Unavailable):
        return Came("unavailable", {"outcome": error.outcome}, text)
    if isinstance(error, firstcome.Rejected):
        return Came("rejected", {"outcome": error.outcome, "status": error.status}, text)
    if isinstance(error, firstcome.InvalidArgument):
        return Came("invalid_argument", {}, text)
    raise error


def picks_of(call: dict[str, Any]) -> list[Pick]:
    return [Pick(**pick) for pick in call.pop("picks")]


def arguments(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method of the client for a call of the list, and its arguments."""
    op = call.pop("op")
    if op in ("reserve_code", "extend") and "ttl_ms" in call:
        call["seconds"] = call.pop("ttl_ms") / 1000
    if op == "confirm" and "late" in call:
        call["retake"] = call.pop("late") == "retake"
    plain_ops = {
        "claim", "cancel", "extend", "confirm", "release", "join", "place", "leave", "reserve_code", "redeem_code",
        "roll_back_code", "release_code", "campaign", "results", "events", "hold", "hold_block",
    }  # fmt: skip
    if op not in plain_ops:
        raise Different(f"this runner does not know the operation {op!r}")
    return op, call


def inside_kind(kind: str, answer: Any) -> None:
    if came(answer).kind != kind:
        raise Different(f"in the block: expected {kind}, got {answer!r}")


class Blocking:
    """Makes calls with the client that blocks."""

    def __init__(self, url: str, key: str, deadline: float, attempt: float) -> None:
        self.client = Client(url, key, deadline=deadline, attempt=attempt)

    async def close(self) -> None:
        self.client.close()

    async def call(self, campaign: str, call: dict[str, Any]) -> Any:
        position = call.pop("min_position", None)
        client = self.client if position is None else self.client.using(min_position=position)
        op, given = arguments(call)
        return await asyncio.to_thread(self.make, client, op, campaign, given)

    def make(self, client: Client, op: str, campaign: str, given: dict[str, Any]) -> Any:
        if op == "results":
            return list(client.results(campaign, **given))
        if op == "events":
            take, found = given.pop("take"), []
            events = client.events(campaign, **given)
            for event in events:
                found.append(event)
                if len(found) == take:
                    break
            events.close()
            return found
        if op == "hold":
            return client.hold(campaign, given.pop("subject"), *picks_of(given), **given)
        if op == "hold_block":
            return self.block(client, campaign, given)
        return getattr(client, op)(campaign, **given)

    def block(self, client: Client, campaign: str, given: dict[str, Any]) -> Any:
        inside, throws = given.pop("inside", []), given.pop("throws", False)
        kind, taken = given.pop("inside_kind", "confirmed"), None
        try:
            with client.hold(campaign, given.pop("subject"), *picks_of(given), **given) as taken:
                for step in inside:
                    assert isinstance(taken, LiveHold)
                    inside_kind(kind, {"confirm": taken.confirm}[step]())
                if throws:
                    raise Thrown
        except Thrown:
            return Came("thrown", came(taken).fields, "")
        return taken


class Waiting:
    """Makes calls with the client for asyncio."""

    def __init__(self, url: str, key: str, deadline: float, attempt: float) -> None:
        self.client = AsyncClient(url, key, deadline=deadline, attempt=attempt)

    async def close(self) -> None:
        await self.client.aclose()

    async def call(self, campaign: str, call: dict[str, Any]) -> Any:
        position = call.pop("min_position", None)
        client = self.client if position is None else self.client.using(min_position=position)
        op, given = arguments(call)
        if op == "results":
            return [result async for result in client.results(campaign, **given)]
        if op == "events":
            take, found = given.pop("take"), []
            events = client.events(campaign, **given)
            async for event in events:
                found.append(event)
                if len(found) == take:
                    break
            await events.aclose()
            return found
        if op == "hold":
            return await client.hold(campaign, given.pop("subject"), *picks_of(given), **given)
        if op == "hold_block":
            return await self.block(client, campaign, given)
        return await getattr(client, op)(campaign, **given)

    async def block(self, client: AsyncClient, campaign: str, given: dict[str, Any]) -> Any:
        inside, throws = given.pop("inside", []), given.pop("throws", False)
        kind, taken = given.pop("inside_kind", "confirmed"), None
        try:
            async with client.hold(campaign, given.pop("subject"), *picks_of(given), **given) as taken:
                for step in inside:
                    assert isinstance(taken, AsyncHold)
                    inside_kind(kind, await {"confirm": taken.confirm}[step]())
                if throws:
                    raise Thrown
        except Thrown:
            return Came("thrown", came(taken).fields, "")
        return taken


class Run:
    """One behaviour with one client."""

    def __init__(self, behaviour: dict[str, Any], server: str, control: str, http: httpx.AsyncClient) -> None:
        self.behaviour, self.server, self.control, self.http = behaviour, server, control, http
        self.settings = {**LIST["defaults"]["client"], **behaviour.get("client", {})}
        known(self.settings, {"deadline_ms", "attempt_ms", "key"}, "client")
        self.key = KEYS[self.settings["key"]]
        self.names: dict[str, Any] = {"campaign": f"c-{secrets.token_hex(6)}", "key": self.key}
        self.seen: list[dict[str, Any]] = []

    async def steps(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            known(step, {"method", "path", "body", "status", "save"}, "a step")
            step = fill(step, self.names)
            reads = step["method"] == "GET"
            reply = await self.http.request(
                step["method"],
                self.server + step["path"],
                json=None if reads else step.get("body"),
                headers={"authorization": f"Bearer {KEYS['admin']}"},
            )
            where = f"{step['method']} {step['path']}"
            wanted = step.get("status")
            if reply.status_code != wanted if wanted else not reply.is_success:
                raise Different(f"{where}: {reply.status_code} {reply.text}")
            if reads and "body" in step:
                compare(step["body"], reply.json(), where)
            for name, field in step.get("save", {}).items():
                self.names[name] = reply.json()[field]

    async def run(self, client_of: type[Blocking] | type[Waiting]) -> None:
        parts = {"name", "why", "setup", "client", "proxy", "calls", "requests", "after"}
        known(self.behaviour, parts, "the behaviour")
        await self.steps(self.behaviour["setup"])
        made = await self.http.post(
            f"{self.control}/-conformance/sessions", json=fill(self.behaviour.get("proxy", {}), self.names)
        )
        if made.status_code != 201:
            raise Different(f"the proxy takes no such faults: {made.text}")
        session = f"{self.control}/-conformance/sessions/{made.json()['session']}"
        times = self.settings["deadline_ms"] / 1000, self.settings["attempt_ms"] / 1000
        client = client_of(made.json()["url"], self.key, *times)
        last = None
        try:
            for call in self.behaviour["calls"]:
                last = await self.call(client, call)
        finally:
            await client.close()
            self.seen = (await self.http.delete(session)).json()["requests"]
        wanted = self.behaviour.get("requests", [])
        for each in wanted if isinstance(wanted, list) else [wanted]:
            self.requests(each, last)
        await self.steps(self.behaviour.get("after", []))

    async def call(self, client: Blocking | Waiting, call: dict[str, Any]) -> Came:
        given = fill({name: value for name, value in call.items() if name not in ("expect", "save")}, self.names)
        began = time.monotonic()
        try:
            answer = await client.call(self.names["campaign"], given)
            result = answer if isinstance(answer, Came) else came(answer)
        except firstcome.FirstcomeError as error:
            result = came_as_error(error)
        result.took_ms = (time.monotonic() - began) * 1000
        expect = fill(call["expect"], self.names)
        known(expect, {"kind", "fields", "has", "took_ms"}, "expect")
        kinds = expect["kind"] if isinstance(expect["kind"], list) else [expect["kind"]]
        if result.kind not in kinds:
            raise Different(f"{call['op']}: expected {kinds}, got {result.kind} {result.text}")
        compare(expect.get("fields", {}), result.fields, call["op"])
        for field in expect.get("has", []):
            if result.fields.get(field) in (None, "", []):
                raise Different(f"{call['op']}: {field} is missing")
        within(expect.get("took_ms", {}), result.took_ms, f"{call['op']} took")
        if self.key in result.text or self.key in f"{client.client!r} {client.client}":
            raise Different("the key is shown")
        for name, field in call.get("save", {}).items():
            self.names[name] = result.fields[field]
        return result

    def requests(self, wanted: dict[str, Any], last: Came | None) -> None:
        parts = {"match", "count", "same", "same_and_there", "gaps_ms", "headers", "last_event_id"}
        known(wanted, parts, "requests")
        match = wanted.get("match", {})
        known(match, {"method", "path_ends", "path_contains"}, "match")
        seen = [each for each in self.seen if matches(match, each)]
        within(wanted.get("count", {}), len(seen), "requests")
        for part in wanted.get("same", []) + wanted.get("same_and_there", []):
            values = [part_of(each, part) for each in seen]
            if any(value != values[0] for value in values):
                raise Different(f"{part} differs: {values}")
        for part in wanted.get("same_and_there", []):
            if any(part_of(each, part) is None for each in seen):
                raise Different(f"{part} is missing")
        gaps = [after["at_ms"] - before["at_ms"] for before, after in itertools.pairwise(seen)]
        for index, bounds in enumerate(wanted.get("gaps_ms", [])):
            within(bounds, gaps[index], f"the pause after request {index + 1}")
        for name, rule in wanted.get("headers", {}).items():
            known(rule, {"begins"}, "headers")
            if not all(str(each["headers"].get(name, "")).startswith(rule["begins"]) for each in seen):
                raise Different(f"the header {name} is not as expected")
        if wanted.get("last_event_id"):
            assert last is not None
            first = next(event["id"] for event in last.fields["events"] if event["id"] is not None)
            if not all(each["headers"].get("last-event-id") == first for each in seen[1:]):
                raise Different(f"last-event-id is not {first!r}")


def matches(match: dict[str, str], request: dict[str, Any]) -> bool:
    return (
        match.get("method", request["method"]) == request["method"]
        and request["path"].split("?")[0].endswith(match.get("path_ends", ""))
        and match.get("path_contains", "") in request["path"]
    )


def part_of(request: dict[str, Any], part: str) -> Any:
    name, _, rest = part.partition(".")
    value = request[name]
    return value.get(rest) if rest and isinstance(value, dict) else value


async def run_all(only: list[str]) -> int:
    behaviours = [each for each in LIST["behaviours"] if not only or each["name"] in only]
    if LIST["format"] != 1 or not behaviours:
        raise Different("the list has another format, or no such behaviour")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, program(folder) as server, proxy(server) as control:
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            for client in (Blocking, Waiting):
                for behaviour in behaviours:
                    run = Run(behaviour, server, control, http)
                    try:
                        await run.run(client)
                    except Exception as error:
                        failed += 1
                        print(f"✘ {client.__name__} {behaviour['name']}: {type(error).__name__} {error}")
                        if not isinstance(error, Different):
                            traceback.print_exc()
                        for each in run.seen:
                            print("   ", json.dumps(each, ensure_ascii=False))
                print(f"{client.__name__}: {len(behaviours)} behaviours run, {failed} failures so far")
    return failed


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(run_all(sys.argv[1:])) else 0)
