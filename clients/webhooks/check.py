#!/usr/bin/env python3
"""Has the real program tell the two receivers of this folder: FIRSTCOME=/path/to/firstcome ./check.py

Signatures are checked by the libraries of Standard Webhooks for Python and Node, which are installed into a temporary folder.
The server is killed in the middle. The exit code is 0 if each receiver did each result once, in order; otherwise 1.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ.get("FIRSTCOME") or sys.exit("check.py: set FIRSTCOME to the path of the program")
CLAIMS = 200


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def serve(folder: Path, url: str) -> subprocess.Popen:
    address = url.removeprefix("http://")
    settings = {"FIRSTCOME_WEBHOOK_ALLOW": "127.0.0.0/8", "FIRSTCOME_LEAVE_MS": "0", "PATH": os.environ["PATH"]}
    server = subprocess.Popen(
        [PROGRAM, "serve", "--data", folder / "data", "--listen", address],
        env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    for line in server.stdout:
        if line.startswith("durability "):
            return server
    sys.exit("check.py: the server did not start")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="firstcome-webhooks-"))
    running: list[subprocess.Popen] = []
    try:
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "standardwebhooks"], check=True)
        (folder / "node").mkdir()
        shutil.copy(HERE / "receive.mjs", folder / "node")
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "standardwebhooks"], cwd=folder / "node", check=True)

        url = f"http://127.0.0.1:{free_port()}"
        server = serve(folder, url)
        running.append(server)

        def firstcome(*words: str) -> str:
            words = [PROGRAM, *words, "--url", url, "--data", str(folder / "data")]
            return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout

        receivers = {}
        for name, command in (("python", [python, HERE / "receive.py"]), ("node", ["node", "receive.mjs"])):
            port, said = free_port(), folder / f"{name}.txt"
            added = json.loads(firstcome("webhooks", "add", f"http://127.0.0.1:{port}/hook", "--json"))
            running.append(subprocess.Popen(
                [*command, str(port)], cwd=folder / "node", stdout=said.open("w"), env={**os.environ, "SECRET": added["secret"]},
            ))
            receivers[name] = (added["id"], said)
        for webhook, _ in receivers.values():
            end = time.monotonic() + 30
            while subprocess.run([PROGRAM, "webhooks", "test", webhook, "--url", url, "--data", folder / "data"]).returncode:
                assert time.monotonic() < end, "the receiver does not take a test"
                time.sleep(0.2)

        firstcome("campaign", "create", "drop", "--places", str(CLAIMS), "--opens", "now")
        for number in range(1, CLAIMS + 1):
            firstcome("claim", "drop", f"s{number}")
            if number == CLAIMS // 2:
                server.send_signal(signal.SIGKILL)
                server.wait()
                server = serve(folder, url)
                running.append(server)
        wanted = [f"{number} claim.won drop s{number}" for number in range(1, CLAIMS + 1)]
        for name, (webhook, said) in receivers.items():
            end = time.monotonic() + 60
            while (lines := said.read_text().splitlines()) != wanted and time.monotonic() < end:
                time.sleep(0.1)
            assert lines == wanted, f"{name}: {len(lines)} of {len(wanted)} lines, the last are {lines[-3:]}"
            print(f"{name}: {len(lines)} results, each once, in order")
            rotated = firstcome("webhooks", "rotate", webhook)
            assert "whsec_" in rotated
    finally:
        for it in running:
            it.kill()
            it.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
