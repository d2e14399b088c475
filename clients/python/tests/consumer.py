"""A program that uses the package as it was installed: the blocks of README.md run against the real program.

    FIRSTCOME=/path/to/firstcome python consumer.py
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import httpx
from conformance import KEYS, program

import firstcome

README = (Path(__file__).parent.parent / "README.md").read_text()


def block(heading: str) -> str:
    """The first block of Python behind a heading."""
    found = re.search(r"```python\n(.*?)```", README[README.index(heading) :], re.DOTALL)
    assert found, heading
    return found[1]


def run(code: str) -> tuple[dict[str, Any], str]:
    names: dict[str, Any] = {"__name__": "recipe"}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    return names, said.getvalue()


def make(server: str, campaign: str, places: int) -> None:
    body = {"opens_at": "now", "pools": [{"name": "main", "kind": "counted", "capacity": places}]}
    headers = {"authorization": f"Bearer {KEYS['admin']}"}
    made = httpx.put(f"{server}/v1/campaigns/{campaign}", json=body, headers=headers, trust_env=False)
    assert made.status_code == 201, made.text


def first_example() -> None:
    code = block("# firstcome")
    assert run(code)[1] == "ann has rank 1\n"
    assert run(code.replace('"ann"', '"bob"'))[1] == "ann has rank 2\n"
    assert run(code)[1] == "ann has rank 1\n"
    assert run(code.replace('"ann"', '"cyd"'))[1] == "no: sold_out\n"


def holds(server: str) -> None:
    names, _ = run(block("## Holds"))
    paid: list[str] = []
    with firstcome.Client(server, KEYS["backend"]) as client:

        def left() -> int:
            campaign = client.campaign("hall")
            assert isinstance(campaign, firstcome.Campaign)
            return campaign.left

        names["take_payment"] = paid.append
        assert names["sell"](client, "order-1") is True
        assert names["sell"](client, "order-1") is True, "the same order again"
        assert (paid, left()) == (["order-1"], 8)

        def fail(order: str) -> None:
            raise RuntimeError("no money")

        names["take_payment"] = fail
        with contextlib.suppress(RuntimeError):
            names["sell"](client, "order-2")
            raise AssertionError("the exception of the payment is hidden")
        assert left() == 8, "the units of the second order are free again"


def fastapi() -> None:
    from fastapi.testclient import TestClient

    names, _ = run(block("## FastAPI"))
    with TestClient(names["app"]) as browser:
        first, again, other = (browser.post(f"/places/fast/{who}") for who in ("ann", "ann", "bob"))
        assert (first.status_code, first.json()) == (200, {"rank": 1})
        assert again.json() == {"rank": 1}
        assert (other.status_code, other.json()) == (409, {"detail": "sold_out"})


def django(server: str) -> None:
    from django.conf import settings
    from django.test import RequestFactory

    settings.configure(FIRSTCOME_URL=server, FIRSTCOME_KEY=KEYS["backend"], ALLOWED_HOSTS=["*"])
    names, _ = run(block("## Django"))
    request = RequestFactory().post("/places/django")
    won, sold_out = b'{"rank": 1}', b'{"reason": "sold_out"}'
    for number, status, body in ((7, 200, won), (7, 200, won), (8, 409, sold_out)):
        request.user = type("User", (), {"pk": number})()
        answer = names["take_place"](request, "django")
        assert (answer.status_code, answer.content) == (status, body)
    names["firstcome"]().close()


def main() -> None:
    place = Path(firstcome.__file__).resolve()
    assert "site-packages" in place.parts, f"{place} is not the installed package"
    assert (place.parent / "py.typed").exists(), "the package has no types"
    needs = importlib.metadata.requires("firstcome") or []
    assert [re.split(r"[<>=\[; ]", need)[0] for need in needs] == ["httpx"], needs
    with tempfile.TemporaryDirectory() as folder, program(folder) as server:
        os.environ["FIRSTCOME_URL"], os.environ["FIRSTCOME_KEY"] = server, KEYS["backend"]
        for campaign, places in (("spring", 2), ("hall", 10), ("fast", 1), ("django", 1)):
            make(server, campaign, places)
        first_example()
        holds(server)
        fastapi()
        django(server)
    print(f"the installed firstcome {importlib.metadata.version('firstcome')} runs the examples of README.md")


if __name__ == "__main__":
    main()
