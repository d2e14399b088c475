#!/usr/bin/env python3
"""Writes documents.py from the OpenAPI document of the server, and the client that blocks from the one for asyncio.

    python3 generate.py [--check]

With --check it writes nothing, and ends with 1 if a file is not what it would write.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OPENAPI = HERE.parent.parent / "docs/reference/openapi.json"
PACKAGE = HERE / "src/firstcome"

# Class: schema, base classes, fields that are left out (the class says it already).
CLASSES: dict[str, tuple[str, str, set[str]]] = {
    "Unit": ("UnitView", "", set()),
    "Won": ("Won", "", {"outcome"}),
    "Cancelled": ("Cancelled", "", {"outcome"}),
    "Held": ("HeldView", "", set()),
    "Confirmed": ("EndedView", "Passive", {"outcome"}),
    "Released": ("EndedView", "", {"outcome", "at", "retaken"}),
    "Extended": ("ExtendedView", "", {"outcome"}),
    "Waitlisted": ("WaitlistedView", "", {"outcome"}),
    "LeftWaitlist": ("LeftWaitlistView", "", {"outcome"}),
    "Place": ("PlaceView", "", set()),
    "CodeStep": ("CodeStep", "", set()),
    "Pool": ("PoolView", "", {"codes"}),
    "Limits": ("LimitsView", "", set()),
    "Campaign": ("CampaignView", "", set()),
    "Result": ("ResultView", "", set()),
    "ResultsPage": ("ResultsView", "", set()),
}
FINAL = set(CLASSES) - {"Won", "Held"}
NAMES = {schema: name for name, (schema, _, _) in CLASSES.items()}
TIMES = {"at", "since", "now"}

HEAD = '''"""The documents of the HTTP interface, as frozen dataclasses. Written by generate.py from OpenAPI.

Times are aware datetimes in UTC, with microseconds. Fields that a newer server adds are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, final

from firstcome._reading import Passive
'''


def type_of(name: str, schema: dict[str, Any]) -> tuple[str, bool]:
    """The type of a field, and whether it can be null."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    null = "null" in kinds
    if "$ref" in schema:
        found = schema["$ref"].rsplit("/", 1)[1]
        return NAMES.get(found, "str"), null
    kind = next((kind for kind in kinds if kind != "null"), "object")
    if kind == "array":
        return f"tuple[{type_of('', schema['items'])[0]}, ...]", null
    if kind == "string":
        return ("datetime" if name in TIMES or name.endswith("_at") else "str"), null
    return {"integer": "int", "boolean": "bool"}.get(kind, "Any"), null


def paragraph(text: str, indent: str, width: int = 116) -> str:
    return textwrap.fill(" ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent)


def written(name: str, schemas: dict[str, Any]) -> str:
    schema_name, base, without = CLASSES[name]
    schema = schemas[schema_name]
    required, optional, words = [], [], []
    for key, each in schema["properties"].items():
        if key in without:
            continue
        kind, null = type_of(key, each)
        own = key + "_" if key == "import" else key
        words.append(paragraph(f"``{own}``: {each.get('description', '')}".replace("`null`", "None"), "    "))
        if key in schema.get("required", []) and not null:
            required.append(f"    {own}: {kind}")
        else:
            # A code is a secret, like a bank note.
            default = "field(default=None, repr=False)" if key == "code" else "None"
            optional.append(f"    {own}: {kind} | None = {default}")
    summary = paragraph(schema["description"], '    """').replace('        """', '    """', 1)
    summary = summary.replace('\n    """', "\n    ")
    head = "@final\n" if name in FINAL else ""
    bases = f"({base})" if base else ""
    doc = summary + "\n\n" + "\n".join(words) + '\n    """'
    lines = [f"{head}@dataclass(frozen=True, kw_only=True)\nclass {name}{bases}:", doc, "", *required, *optional]
    return "\n".join(lines) + "\n"


# What the client for asyncio says, and the one that blocks.
WORDS = [
    (r"async def ", "def "),
    (r"async (for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"asyncio\.sleep", "time.sleep"),
    (r", asyncio\.TimeoutError", ""),
    (r"import asyncio\n", ""),
    (r"AsyncGenerator, Generator", "Generator"),
    (r"AsyncGenerator(.*), None\]", r"Generator\1, None, None]"),
    (r"AsyncHold", "LiveHold"),
    (r"AsyncClient", "Client"),
    (r"`async with`", "`with`"),
    (r"`await` it\n", "take it\n"),
    (r" *for event in (.*):\n *yield event", r"                    yield from \1"),
    (r"for result in (.*):\n *yield result", r"yield from \1"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\baiter_bytes\b", "iter_bytes"),
]


def blocking(text: str) -> str:
    """The client that blocks. Parts between [async], [sync] and [end] are for one of the two only."""
    lines, part = [], "both"
    for line in text.splitlines()[1:]:
        mark = re.fullmatch(r" *# \[(async|sync|end)\]", line)
        if mark:
            part = "both" if mark[1] == "end" else mark[1]
        elif part == "sync":
            lines.append(re.sub(r"^( *)# ?", r"\1", line).rstrip())
        elif part == "both":
            lines.append(line)
    text = "\n".join(lines) + "\n"
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return '"""The client that blocks. Written from aio.py by generate.py: change that."""\n' + text


def main() -> int:
    schemas = json.loads(OPENAPI.read_text())["components"]["schemas"]
    names = textwrap.indent(textwrap.fill(", ".join(f'"{name}"' for name in sorted(CLASSES)), 112), "    ")
    documents = f"{HEAD}\n__all__ = [\n{names},\n]  # fmt: skip\n"
    documents += "".join("\n\n" + written(name, schemas) for name in CLASSES)
    good = True
    for name, text in [("documents.py", documents), ("client.py", blocking((PACKAGE / "aio.py").read_text()))]:
        target = PACKAGE / name
        if "--check" not in sys.argv[1:]:
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            print(f"{name} is not what generate.py writes: run it", file=sys.stderr)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
