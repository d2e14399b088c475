#!/usr/bin/env python3
"""Writes the files of Java and Kotlin that stand whole in a README into a folder: python3 samples.py README.md FOLDER."""

import pathlib
import re
import sys

text, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
found = 0
for language, block in re.findall(r"^```(java|kotlin)\n(.*?)^```", text, re.M | re.S):
    package = re.search(r"^package ([\w.]+)", block, re.M)
    name = re.search(r"^(?:public )?(?:final )?(?:class|record|interface) (\w+)", block, re.M)
    if package and name:
        path = folder.joinpath(*package[1].split("."), f"{name[1]}.{language.replace('kotlin', 'kt')}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
        found += 1
if not found:
    sys.exit(f"{sys.argv[1]} has no whole file")
