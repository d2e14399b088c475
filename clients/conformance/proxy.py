#!/usr/bin/env python3
"""A faulty HTTP proxy in front of a real Firstcome server, for tests of clients.

    python3 proxy.py --upstream http://127.0.0.1:8080 [--stop-with-stdin]

The first line on stdout is the address of the control interface. A test makes a session there; a session is a port of
its own with faults and a record of the requests that it saw. ../README.md describes all of it. Python 3.9 or newer,
standard library only. It listens on 127.0.0.1 only.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import http.server
import json
import os
import select
import socket
import sys
import threading
import time
from typing import Any, ClassVar
from urllib.parse import urlsplit

CONTROL = "/-conformance/sessions"
HOP_BY_HOP = {
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
MOST_HEAD = 64 * 1024
MOST_BODY = 4 * 1024 * 1024
MOST_REQUESTS = 10_000
UPSTREAM_TIMEOUT = 30.0
LONGEST_DELAY_MS = 60_000
# How long a stream is open before something happens.
DURING = 0.3

ACTIONS = {"pass", "answer", "close", "cut", "hang"}
FAULT_KEYS = {
    "do", "requests", "match", "forward", "delay_ms", "before", "during", "status", "headers", "body", "then",
    "after_events",
}  # fmt: skip


class Broken(Exception):
    """The peer sent something that is not HTTP, or went away."""


class Wrong(Exception):
    """A request to the control interface cannot be done; the text says why."""


def check_fault(fault: Any) -> None:
    if not isinstance(fault, dict):
        raise Wrong("a fault is an object")
    if fault.get("do") not in ACTIONS:
        raise Wrong(f"do is one of {sorted(ACTIONS)}, not {fault.get('do')!r}")
    strange = set(fault) - FAULT_KEYS
    if strange:
        raise Wrong(f"unknown fields of a fault: {sorted(strange)}")
    requests = fault.get("requests", "all")
    if requests != "all" and not (isinstance(requests, list) and all(isinstance(n, int) for n in requests)):
        raise Wrong('requests is "all" or a list of numbers from 1')
    if fault["do"] == "answer" and not isinstance(fault.get("status"), int):
        raise Wrong("answer needs a status")
    if not 0 <= fault.get("delay_ms", 0) <= LONGEST_DELAY_MS:
        raise Wrong(f"delay_ms is 0 to {LONGEST_DELAY_MS}")


class Request:
    """One request as it was read."""

    def __init__(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def document(self) -> Any:
        """The body as JSON; the text if it is none; null if there is no body."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return self.body.decode("utf-8", "replace")


class Session:
    """A port with faults, and what was seen there."""

    def __init__(self, number: int, upstream: str, settings: dict[str, Any]) -> None:
        strange = set(settings) - {"faults", "opens_after_ms"}
        if strange:
            raise Wrong(f"unknown fields of a session: {sorted(strange)}")
        self.number = number
        self.upstream = urlsplit(upstream)
        self.faults: list[dict[str, Any]] = settings.get("faults", [])
        for fault in self.faults:
            check_fault(fault)
        self.matched = [0] * len(self.faults)
        self.began = time.monotonic()
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        # Bound and not listening, a port refuses connections, and nobody else can take it.
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        opens_after_ms = settings.get("opens_after_ms", 0)
        if opens_after_ms == 0:
            self.listener.listen(64)
        if opens_after_ms is not None:
            threading.Thread(target=self.accept, args=(opens_after_ms,), daemon=True).start()

    def accept(self, opens_after_ms: int) -> None:
        if opens_after_ms and self.ended.wait(opens_after_ms / 1000):
            return
        try:
            self.listener.listen(64)
            while not self.ended.is_set():
                ready, _, _ = select.select([self.listener], [], [], 0.2)
                if ready:
                    peer, _ = self.listener.accept()
                    threading.Thread(target=self.serve, args=(peer,), daemon=True).start()
        except (OSError, ValueError):
            pass  # The session ended.

    def end(self) -> None:
        self.ended.set()
        self.listener.close()

    def seen(self) -> list[dict[str, Any]]:
        with self.lock:
            return [dict(request) for request in self.requests]

    def serve(self, peer: socket.socket) -> None:
        """Serves one connection until it ends."""
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting = b""
        try:
            while not self.ended.is_set():
                request, waiting = read_request(peer, waiting)
                if request is None or not self.handle(peer, request):
                    return
        except (OSError, Broken, http.client.HTTPException):
            pass
        finally:
            peer.close()

    def record(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Writes a request down and chooses its fault."""
        with self.lock:
            if len(self.requests) >= MOST_REQUESTS:
                raise Broken
            chosen: dict[str, Any] = {"do": "pass"}
            found = False
            for index, fault in enumerate(self.faults):
                if not matches(fault.get("match", {}), request):
                    continue
                self.matched[index] += 1
                wanted = fault.get("requests", "all")
                if not found and (wanted == "all" or self.matched[index] in wanted):
                    chosen, found = fault, True
            entry = {
                "at_ms": round((time.monotonic() - self.began) * 1000),
                "method": request.method,
                "path": request.path,
                "headers": {name.lower(): value for name, value in request.headers},
                "body": request.document(),
                "did": chosen["do"],
                "forwarded": False,
                "status": None,
            }
            self.requests.append(entry)
            return entry, chosen

    def handle(self, peer: socket.socket, request: Request) -> bool:
        """Answers a request; whether the connection can be used further."""
        entry, fault = self.record(request)
        action = fault["do"]
        for command in fault.get("before", []):
            self.command(command, request.header("authorization"))
        forward = fault.get("forward", action in ("pass", "cut"))
        status, headers, body = 0, [], b""
        if forward:
            response, upstream = self.forward(request)
            entry["forwarded"], entry["status"] = True, response.status
            try:
                streams = (response.getheader("content-type") or "").startswith("text/event-stream")
                if streams and action in ("pass", "cut"):
                    self.stream(peer, response, fault, upstream, request.header("authorization"))
                    return False
                status, headers, body = response.status, response.getheaders(), response.read()
            finally:
                response.close()
                upstream.close()
        if fault.get("delay_ms") and self.ended.wait(fault["delay_ms"] / 1000):
            return False
        if action == "close":
            return False
        if action == "hang":
            self.hang(peer)
            return False
        if action == "answer":
            status = fault["status"]
            answer = fault.get("body", "")
            headers = [("content-type", "application/problem+json" if status >= 400 else "application/json")]
            own = [(name.lower(), str(value)) for name, value in fault.get("headers", {}).items()]
            headers = [pair for pair in headers if pair[0] not in dict(own)] + own
            body = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        head = written_head(status, headers, len(body))
        if action == "cut":
            peer.sendall(head + body[: len(body) // 2])
            if fault.get("then", "close") == "hang":
                self.hang(peer)
            return False
        peer.sendall(head + body)
        return True

    def forward(self, request: Request) -> tuple[http.client.HTTPResponse, socket.socket]:
        connection = http.client.HTTPConnection(
            self.upstream.hostname or "127.0.0.1", self.upstream.port or 80, timeout=UPSTREAM_TIMEOUT
        )
        connection.putrequest(request.method, request.path, skip_accept_encoding=True)
        for name, value in request.headers:
            if name.lower() not in HOP_BY_HOP:
                connection.putheader(name, value)
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            connection.putheader("content-length", str(len(request.body)))
        connection.endheaders(request.body or None)
        upstream = connection.sock
        return connection.getresponse(), upstream

    def command(self, command: dict[str, Any], authorization: str | None) -> None:
        """Sends a request of its own to the server, before the client's request is handled."""
        headers = [("content-type", "application/json")]
        if authorization:
            headers.append(("authorization", authorization))
        body = b"" if command.get("body") is None else json.dumps(command["body"]).encode()
        response, upstream = self.forward(Request(command["method"], command["path"], headers, body))
        text = response.read()
        response.close()
        upstream.close()
        if response.status >= 400:
            note = {"before": command, "status": response.status, "body": text.decode("utf-8", "replace")}
            print(json.dumps(note), file=sys.stderr, flush=True)

    def stream(
        self,
        peer: socket.socket,
        response: http.client.HTTPResponse,
        fault: dict[str, Any],
        upstream: socket.socket,
        authorization: str | None,
    ) -> None:
        """Passes server-sent events on; with `cut` only so many of them."""
        peer.sendall(written_head(response.status, response.getheaders(), None))
        left = fault.get("after_events", 1) if fault["do"] == "cut" else None
        event: list[bytes] = []
        finished = threading.Event()
        threading.Thread(target=self.watch, args=(peer, upstream, finished), daemon=True).start()
        threading.Thread(target=self.meanwhile, args=(fault, authorization, finished), daemon=True).start()
        try:
            while left != 0:
                line = response.readline(MOST_HEAD)
                if not line:
                    return
                event.append(line)
                if line.strip():
                    continue
                # A comment, or the line with the pause, is no event.
                if left is not None and any(part.startswith((b"data:", b"event:", b"id:")) for part in event):
                    left -= 1
                peer.sendall(b"".join(event))
                event = []
            if fault.get("then", "close") == "hang":
                self.hang(peer)
        finally:
            finished.set()

    def meanwhile(self, fault: dict[str, Any], authorization: str | None, finished: threading.Event) -> None:
        """Changes something while a stream is open."""
        for command in fault.get("during", []):
            if finished.wait(DURING):
                return
            self.command(command, authorization)

    def watch(self, peer: socket.socket, upstream: socket.socket, finished: threading.Event) -> None:
        """Ends a stream of the server when its reader is gone or the session ends."""
        while not finished.wait(0.1):
            if self.ended.is_set() or gone(peer):
                with contextlib.suppress(OSError):
                    upstream.shutdown(socket.SHUT_RDWR)
                return

    def hang(self, peer: socket.socket) -> None:
        """Answers nothing until the peer goes away or the session ends."""
        while not self.ended.is_set() and not gone(peer):
            self.ended.wait(0.05)


def matches(match: dict[str, Any], request: Request) -> bool:
    path = urlsplit(request.path).path
    return (
        match.get("method", request.method) == request.method
        and path.endswith(match.get("path_ends", ""))
        and match.get("path_contains", "") in request.path
    )


def gone(peer: socket.socket) -> bool:
    """Whether the peer closed its connection."""
    ready, _, _ = select.select([peer], [], [], 0)
    if not ready:
        return False
    try:
        return peer.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def read_request(peer: socket.socket, waiting: bytes) -> tuple[Request | None, bytes]:
    """Reads a request, and what came behind it; none at the end of the connection."""
    peer.settimeout(120)
    while b"\r\n\r\n" not in waiting:
        more = peer.recv(65536)
        if not more:
            return None, b""
        waiting += more
        if len(waiting) > MOST_HEAD + MOST_BODY:
            raise Broken
    head, waiting = waiting.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    try:
        method, path, _ = lines[0].split(" ")
    except ValueError:
        raise Broken from None
    headers = []
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers.append((name.strip(), value.strip()))
    lower = {name.lower(): value for name, value in headers}
    if lower.get("expect", "").lower() == "100-continue":
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in lower.get("transfer-encoding", "").lower():
        body, waiting = read_chunks(peer, waiting)
    else:
        body, waiting = read_exactly(peer, waiting, int(lower.get("content-length", "0")))
    return Request(method, path, headers, body), waiting


def read_exactly(peer: socket.socket, waiting: bytes, length: int) -> tuple[bytes, bytes]:
    if length > MOST_BODY:
        raise Broken
    while len(waiting) < length:
        more = peer.recv(65536)
        if not more:
            raise Broken
        waiting += more
    return waiting[:length], waiting[length:]


def read_chunks(peer: socket.socket, waiting: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        while b"\r\n" not in waiting:
            more = peer.recv(65536)
            if not more:
                raise Broken
            waiting += more
        line, waiting = waiting.split(b"\r\n", 1)
        length = int(line.split(b";")[0], 16)
        chunk, waiting = read_exactly(peer, waiting, length + 2)
        if length == 0:
            return body, waiting
        body += chunk[:length]
        if len(body) > MOST_BODY:
            raise Broken


def written_head(status: int, headers: list[tuple[str, str]], length: int | None) -> bytes:
    """The head of an answer; without a length the connection ends it."""
    reason = http.client.responses.get(status, "Unknown")
    lines = [f"HTTP/1.1 {status} {reason}"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in HOP_BY_HOP]
    lines.append("connection: close" if length is None else f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Control(http.server.BaseHTTPRequestHandler):
    """The control interface."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    sessions: ClassVar[dict[int, Session]] = {}
    lock = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def session(self) -> Session:
        number = self.path[len(CONTROL) + 1 :]
        with self.lock:
            session = self.sessions.get(int(number)) if number.isdigit() else None
        if session is None:
            raise Wrong(f"there is no session {number!r}")
        return session

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            if self.path != CONTROL:
                raise Wrong(f"POST takes {CONTROL}")
            settings = json.loads(body or b"{}")
            with self.lock:
                number = len(self.sessions) + 1
                session = self.sessions[number] = Session(number, self.upstream, settings)
        except (Wrong, ValueError) as why:
            return self.answer(400, {"error": str(why)})
        return self.answer(201, {"session": number, "url": session.url})

    def do_GET(self) -> None:
        try:
            self.answer(200, {"requests": self.session().seen()})
        except Wrong as why:
            self.answer(404, {"error": str(why)})

    def do_DELETE(self) -> None:
        try:
            session = self.session()
        except Wrong as why:
            return self.answer(404, {"error": str(why)})
        session.end()
        return self.answer(200, {"requests": session.seen()})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--upstream", required=True, metavar="URL", help="the real server, http://HOST:PORT")
    parser.add_argument("--stop-with-stdin", action="store_true", help="end when standard input ends")
    arguments = parser.parse_args()
    if urlsplit(arguments.upstream).scheme != "http":
        parser.error("--upstream is an address like http://127.0.0.1:8080")
    Control.upstream = arguments.upstream
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    if arguments.stop_with_stdin:

        def watch() -> None:
            while os.read(0, 4096):
                pass
            os._exit(0)

        threading.Thread(target=watch, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
