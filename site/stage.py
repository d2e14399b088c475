#!/usr/bin/env python3
"""Lays out the pages of the site: stage.py FOLDER

Copies the pages that nav.yml names from the repository into FOLDER/pages, with links that work there, and writes
FOLDER/mkdocs.yml: the settings of mkdocs.yml with the navigation. The text of the pages stays as it is.

A link to a page leads to that page. A link to another file of the repository leads to the address in REPOSITORY, for
example https://example.org/firstcome/blob/main; without one, it becomes plain text.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import yaml

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent
# Files that are on the site beside the pages, each with its name there: a browser shows the example as text.
FILES = {"docs/reference/openapi.json": "docs/reference/openapi.json", "docs/how-to/live-map.html": "docs/how-to/live-map.html.txt"}
# A link to a folder leads to the page with the list of what is in it.
LISTS = {"docs/decisions": "docs/decisions/README.md"}

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
SOURCE = re.compile(r'(?P<before><img[^>]*\ssrc=")(?P<target>[^"]+)')
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
FENCE = re.compile(r"^(\s*)(```+)(.*)$")
# What the site's tool reads in another way than the repository's readers: a word with # is no heading, a list may begin
# right behind a paragraph, and a list in a list may stand two or three columns further to the right.
NO_HEADING = re.compile(r"^(\s*(?:[-*] |\d+\. )?)(#+)(?=[^#\s])")
LIST = re.compile(r"^[-*] ")
INNER_LIST = re.compile(r"^ {2,3}(?=(?:[-*]|\d+\.) )")
PARAGRAPH = re.compile(r"^(?![-*>#|] |\s|$)")


def known_files():
    """Returns the paths of all files that git knows, from the root of the repository."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in names.split("\0") if name and (ROOT / name).is_file())


def name_on_site(page):
    """Returns where a page of the repository is on the site: what ends in .ko.md is in the folder ko."""
    name = page.removeprefix("site/pages/")
    return f"ko/{name.removesuffix('.ko.md')}.md" if name.endswith(".ko.md") else name


def expand(entries, files):
    """Returns the entries of a navigation, with the pages that stand behind each star."""
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [{title: expand(below, files)} for title, below in entry.items()]
        elif "*" in entry:
            found += fnmatch.filter(files, entry)
        elif entry in files:
            found.append(entry)
        else:
            sys.exit(f"nav.yml names {entry}, which git does not know")
    return found


def pages_of(entries):
    """Returns the pages of a navigation in their order."""
    below = (list(entry.values())[0] if isinstance(entry, dict) else None for entry in entries)
    return [page for entry, inner in zip(entries, below) for page in (pages_of(inner) if inner is not None else [entry])]


def navigation():
    """Returns the navigation with the paths of the repository, and its pages."""
    entries = expand(yaml.safe_load((SITE / "nav.yml").read_text()), known_files())
    pages = pages_of(entries)
    twice = {page for page in pages if pages.count(page) > 1}
    if twice:
        sys.exit(f"nav.yml names more than once: {', '.join(sorted(twice))}")
    return entries, pages


class Links:
    """Where the links of one page lead on the site."""

    def __init__(self, page, names):
        self.page, self.names = page, names
        self.folder = PurePosixPath(name_on_site(page)).parent
        # A page that is no README has a folder of its own: what HTML names is seen from there.
        stem = PurePosixPath(name_on_site(page)).stem
        self.seen_from = self.folder if stem == "README" else self.folder / stem

    def resolve(self, target):
        """Returns the path in the repository and what stands behind `#`, or None for an address or a place on this page."""
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return None
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(self.page), path))
        if not (ROOT / path).exists():
            sys.exit(f"{self.page} links to {target}, which is not there")
        return path, f"#{anchor}" if anchor else ""

    def link(self, match):
        """Returns a link as it is on the site."""
        found = self.resolve(match["target"])
        if found is None:
            return match[0]
        path, anchor = found
        path = LISTS.get(path, path)
        if path in self.names:
            target = os.path.relpath(self.names[path], self.folder) + anchor
        elif os.environ.get("REPOSITORY"):
            target = f"{os.environ['REPOSITORY'].rstrip('/')}/{path}{anchor}"
        else:
            return match["text"]
        return f"{match['image']}[{match['text']}]({target})"

    def source(self, match):
        """Returns the beginning of an HTML image as it is on the site."""
        path, _ = self.resolve(match["target"])
        return match["before"] + os.path.relpath(self.names[path], self.seen_from)


def outside_code(text, change):
    """Returns a line of Markdown with `change` made to what is no code."""
    spans = []

    def hide(match):
        spans.append(match[0])
        return f"\ue000{len(spans) - 1}\ue001"

    changed = change(CODE.sub(hide, text))
    return re.sub("\ue000(\\d+)\ue001", lambda match: spans[int(match[1])], changed)


def for_site(text, links):
    """Returns the text of a page as the site's tool wants it: links, lists, and one word behind a fence."""
    lines, fence = [], None
    for line in text.split("\n"):
        found = FENCE.match(line)
        if found and fence is None:
            fence = found[2]
            line = found[1] + fence + re.split(r"[ ,]", found[3])[0]
        elif found and found[2] == fence and not found[3].strip():
            fence = None
        elif fence is None:
            if LIST.match(line) and lines and PARAGRAPH.match(lines[-1]):
                lines.append("")
            line = INNER_LIST.sub("    ", NO_HEADING.sub(r"\1\\\2", line))
            line = outside_code(line, lambda part: SOURCE.sub(links.source, LINK.sub(links.link, part)))
        lines.append(line)
    return "\n".join(lines)


def title(page):
    """Returns the first heading of a page."""
    return next(line[2:] for line in (ROOT / page).read_text().split("\n") if line.startswith("# "))


def stage(folder):
    """Writes the pages, the files that they need, and the settings of the tool into an empty folder."""
    entries, pages = navigation()
    pictures = [name for name in known_files() if name.startswith("docs/pictures/")]
    names = {page: name_on_site(page) for page in pages} | FILES | {name: name for name in pictures}
    names |= {name: name for name in LISTS.values()}
    for page in pages:
        text = for_site((ROOT / page).read_text(), Links(page, names))
        if page.endswith(".ko.md"):
            text = f"---\nlanguage: ko\n---\n{text}"
        write(folder / "pages" / names[page], text)
    for name, there in names.items():
        if name in FILES or name in pictures:
            write(folder / "pages" / there, (ROOT / name).read_bytes())
    for listed, page in LISTS.items():
        rows = [f"- [{title(name)}]({PurePosixPath(name).name})\n" for name in pages if name.startswith(f"{listed}/")]
        write(folder / "pages" / page, f"# {PurePosixPath(listed).name.capitalize()}\n\n{''.join(rows)}")
    write(folder / "pages/site.css", (SITE / "site.css").read_bytes())
    write(folder / "mkdocs.yml", settings(entries, names, folder))


def settings(entries, names, folder):
    """Returns the settings of the tool: those of mkdocs.yml, the navigation, and the folders."""

    def on_site(entry):
        if isinstance(entry, str):
            return names[entry]
        return {title: listed(below) + [on_site(one) for one in below] for title, below in entry.items()}

    def listed(below):
        return [page for page in LISTS.values() if {str(PurePosixPath(page).parent)} == {os.path.dirname(str(one)) for one in below}]

    text = (SITE / "mkdocs.yml").read_text()
    text = text.replace("custom_dir: theme", f"custom_dir: {SITE / 'theme'}")
    text = text.replace("check_paths: true", f"check_paths: true\n      base_path: [{ROOT}]")
    assert str(SITE) in text and f"[{ROOT}]" in text, "mkdocs.yml has other words"
    own = {"docs_dir": str(folder / "pages"), "nav": [on_site(entry) for entry in entries]}
    return f"{text}\n{yaml.safe_dump(own, allow_unicode=True, sort_keys=False)}"


def write(path, content):
    """Writes a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1]).resolve()
    shutil.rmtree(target, ignore_errors=True)
    stage(target)
