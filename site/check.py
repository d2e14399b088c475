#!/usr/bin/env python3
"""Builds the site and checks it: site/check.py

Prints what is wrong and ends with 1, or with 0 if nothing is. Needs chromium.
"""

import filecmp
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent
VENV = ROOT / "target/site-check-venv"
OUT = ROOT / "target/site"
NEEDS = SITE / "requirements-check.txt"

# Pages of the repository that are not on the site, and why. Each line fits at least one page.
NOT_ON_THE_SITE = {
    r"CHANGELOG\.md|crates/[^/]+/CHANGELOG\.md": "is for those who have the package",
    r"crates/firstcome-(api|store|lock-macros)/README\.md": "only says on a registry what the crate belongs to",
    r"crates/firstcome-core/tests/golden/README\.md": "explains files of tests",
    r"site/README\.md": "explains how the site is built",
}
# Pages of the site to which no navigation leads, and why.
NOT_IN_THE_NAVIGATION = {"404.html": "shown in the place of a page that is not there"}

# A word, and a page that the search must find by it. The last word is nowhere.
SEARCHES = [("저장소", "ko/"), ("원장", "ko/start/"), ("rehearse", "docs/how-to/rehearse/"), ("qqzxv", None)]

# The theme's colours for each setting of a reader's system.
COLOURS = {"dark": "slate", "light": "default"}

SAMPLE = re.compile(r'^--8<-- "([^":]+)(?::([\w-]+))?"$', re.MULTILINE)
COUNTED = ["h1", "h2", "h3", "h4", "li", "tr", "th", "td", "pre", "em", "strong", "blockquote", "img", "hr"]


def ensure_tools():
    """Starts this program again with the tools of requirements-check.txt, which are installed if they are not there."""
    if Path(sys.prefix) == VENV:
        return
    copy = VENV / NEEDS.name
    if not copy.exists() or copy.read_bytes() != NEEDS.read_bytes():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "--quiet", "--no-deps", "--requirement", NEEDS], check=True)
        copy.write_bytes(NEEDS.read_bytes())
    os.execv(VENV / "bin/python", [str(VENV / "bin/python"), __file__, *sys.argv[1:]])


ensure_tools()
from bs4 import BeautifulSoup  # noqa: E402
from markdown_it import MarkdownIt  # noqa: E402
from playwright.sync_api import TimeoutError, sync_playwright  # noqa: E402


def build(folder):
    """Builds the site into a folder."""
    subprocess.run([SITE / "build.sh", folder], check=True, stdout=subprocess.DEVNULL)


def differences(one, other):
    """Returns the files that two folders do not have in common, or with other bytes."""
    names = [{str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} for folder in (one, other)]
    _, changed, broken = filecmp.cmpfiles(one, other, names[0] & names[1], shallow=False)
    return sorted(names[0] ^ names[1]) + sorted(changed + broken)


class Built:
    """The files of a built site."""

    def __init__(self, folder):
        self.folder = folder
        self.files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        self.pages = {name: BeautifulSoup((folder / name).read_text(), "html.parser") for name in self.files if name.endswith(".html")}

    def file_at(self, path):
        """Returns the name of the file that a server sends for a path, if there is one."""
        name = unquote(path).lstrip("/")
        name += "index.html" if name == "" or name.endswith("/") else ""
        return name if name in self.files else None


def address(name):
    """Returns the path of a page as a browser asks for it."""
    return "/" + name.removesuffix("index.html")


def target(name, link):
    """Returns the path and the anchor of a link on a page, or None if it leads to another host."""
    parts = urlsplit(urljoin(f"http://site{address(name)}", link))
    if parts.scheme not in ("http", "https") or parts.netloc != "site":
        return None
    return parts.path, unquote(parts.fragment)


def broken_links(site):
    """Finds links that lead to no page, no file or no anchor of the site."""
    anchors = {name: {tag["id"] for tag in page.find_all(id=True)} for name, page in site.pages.items()}
    for name, page in site.pages.items():
        for link in {tag["href"] for tag in page.find_all("a", href=True)}:
            found = target(name, link)
            if found is None:
                continue
            there = site.file_at(found[0])
            if there is None:
                yield f"{name}: the link {link} leads to no file"
            elif found[1] and there in anchors and found[1] not in anchors[there]:
                yield f"{name}: the link {link} leads to no heading"


def loads_of(page):
    """Returns what a browser loads for a page, as it is written there."""
    for tag in page.find_all(True):
        for key in ("src", "srcset", "poster", "data", "action", "background", "style"):
            value = tag.get(key)
            if not value:
                continue
            elif key == "srcset":
                yield from (part.split()[0] for part in value.split(",") if part.split())
            elif key == "style":
                yield from css_loads(value)
            else:
                yield value
        if tag.name == "link" and not {"canonical", "prev", "next", "alternate"} & set(tag.get("rel", [])):
            yield tag.get("href", "")
        if tag.name == "use":
            yield tag.get("href") or tag.get("xlink:href") or ""
        if tag.name == "style":
            yield from css_loads(tag.string or "")


def css_loads(text):
    """Returns the addresses that a style sheet loads."""
    for match in re.finditer(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"']*))\s*\)|@import\s+["']([^"']+)""", text):
        yield next(part for part in match.groups() if part is not None)


def foreign_loads(site):
    """Finds what would be loaded from another host, or is not there."""
    loads = [(name, load) for name, page in site.pages.items() for load in loads_of(page)]
    for name in (name for name in site.files if name.endswith((".css", ".svg"))):
        loads += [(name, load) for load in css_loads((site.folder / name).read_text())]
    for name, load in sorted(set(loads)):
        if load.startswith(("data:", "#")):
            continue
        found = target(name, load)
        if found is None:
            yield f"{name}: {load} is loaded from another host"
        elif site.file_at(found[0]) is None:
            yield f"{name}: {load} is not there"


def headings(site):
    """Finds pages that have not one heading of the first level."""
    for name, page in site.pages.items():
        count = len(page.find_all("h1"))
        if count != 1:
            yield f"{name}: {count} headings of the first level"


def unreachable(site):
    """Finds pages to which the navigation of the first page does not lead, and pages of the repository that are nowhere."""
    links = site.pages["index.html"].select("nav.md-nav--primary a[href]")
    reached = {site.file_at(found[0]) for found in (target("index.html", tag["href"]) for tag in links) if found}
    for name in sorted(set(site.pages) - reached - set(NOT_IN_THE_NAVIGATION)):
        yield f"{name}: no navigation leads to it"
    for name in sorted(set(NOT_IN_THE_NAVIGATION) - set(site.pages)):
        yield f"{name}: is an exception, and not on the site"


def left_out(stage):
    """Finds pages of the repository that are neither on the site nor an exception."""
    _, pages = stage.navigation()
    rest = [name for name in stage.known_files() if name.endswith(".md") and name not in pages]
    for name in rest:
        if not any(re.fullmatch(pattern, name) for pattern in NOT_ON_THE_SITE):
            yield f"{name}: neither in site/nav.yml nor an exception of site/check.py"
    for pattern in NOT_ON_THE_SITE:
        if not any(re.fullmatch(pattern, name) for name in rest):
            yield f"{pattern}: is an exception, and fits no page"


def sample(match):
    """Returns the lines of a source file that a page includes: all, or those between its marks."""
    text = (ROOT / match[1]).read_text()
    if match[2]:
        inner = re.search(rf"--8<-- \[start:{match[2]}\][^\n]*\n(.*?)\n[^\n]*--8<-- \[end:{match[2]}\]", text, re.DOTALL)
        text = inner[1]
    return text.rstrip("\n")


def shape(article):
    """Returns the text without white space, and how often it has each kind of part."""
    counts = Counter({tag: len(article.find_all(tag)) for tag in COUNTED})
    counts["code"] = sum(1 for tag in article.find_all("code") if not tag.find_parent("pre"))
    return re.sub(r"\s+", "", article.get_text()), counts


def changed_pages(site, stage):
    """Finds pages whose text or parts are not those that the page has in the repository."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for page in stage.navigation()[1]:
        staged = stage.name_on_site(page)
        name = re.sub(r"(^|/)README/index.html$", r"\1index.html", staged.removesuffix(".md") + "/index.html")
        text = SAMPLE.sub(sample, (ROOT / page).read_text())
        wanted = shape(BeautifulSoup(reader.render(text), "html.parser"))
        article = BeautifulSoup(str(site.pages[name].select_one("article")), "html.parser")
        for extra in article.select("a.headerlink, .md-content__button, .md-source-file"):
            extra.decompose()
        found = shape(article)
        if found[0] != wanted[0]:
            at = next((n for n, pair in enumerate(zip(*(one[0] for one in (found, wanted)))) if pair[0] != pair[1]), None)
            at = min(len(found[0]), len(wanted[0])) if at is None else at
            yield f"{page}: the site says {found[0][max(at - 30, 0):at + 50]!r}, the page {wanted[0][max(at - 30, 0):at + 50]!r}"
        elif found[1] != wanted[1]:
            parts = {tag: f"{found[1][tag]} for {wanted[1][tag]}" for tag in wanted[1] if found[1][tag] != wanted[1][tag]}
            yield f"{page}: parts on the site, for those of the page: {parts}"


def search_index(site):
    """Finds pages that the search does not know."""
    index = json.loads((site.folder / "search/search_index.json").read_text())
    if index["config"]["lang"] != ["en", "ko"]:
        yield f"the search is for {index['config']['lang']}"
    known = {site.file_at(entry["location"].split("#")[0]) for entry in index["docs"]}
    for name in sorted(set(site.pages) - known - set(NOT_IN_THE_NAVIGATION)):
        yield f"{name}: the search does not know it"


def static_problems(site):
    """Finds what is wrong with the files of a site."""
    return [problem for check in (broken_links, foreign_loads, headings) for problem in check(site)]


# A page that is wrong in every way that is checked, and what is to be said of it.
WRONG = """<body><article><h1>One</h1><h1>Two</h1></article>
<a href="gone/">no page</a>
<a href="#gone">no heading</a>
<img src="https://example.org/a.png">
<script src="//example.org/a.js"></script>
<link rel="stylesheet" href="https://example.org/a.css">
<style>@font-face { src: url(https://example.org/a.woff2) }</style>
<p style="background: url('https://example.org/b.png'); color: #999; width: 600px">pale and wide</p>
<script>console.error("a complaint"); fetch("https://example.org/c.json").catch(() => 0); gone()</script>
"""
SAID = ["2 headings", "gone/ leads to no file", "#gone leads to no heading", "its heading is not seen", "pixels wide on a phone"]
SAID += [f"example.org/{name} is loaded" for name in ("a.png", "a.js", "a.css", "a.woff2", "b.png")]
SAID += ["asks for https://example.org/c.json", "error: a complaint", "gone is not defined", "(pale and wide)"]
SAID += ["a dark system gets the colours None"]


def blind_spots():
    """Finds mistakes that the checks do not see, by showing them a page full of them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "index.html").write_text(WRONG)
        Path(folder, "404.html").write_text("")
        site = Built(Path(folder))
        del site.pages["404.html"]
        found = "\n".join(static_problems(site) + browser_problems(site, []))
    return [f"the check does not see a mistake: {sign}" for sign in SAID if sign not in found]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Sends the files of the site, and the page 404.html for all others, as a server for such sites does."""

    def log_message(self, *_):
        pass

    def send_error(self, code, message=None, explain=None):
        body = Path(self.directory, "404.html").read_bytes() if code == 404 else b""
        self.send_response(code, message)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# Returns the texts that are hard to read: less contrast than 4.5 to 1, or 3 to 1 where letters are large (WCAG 2.1, 1.4.3).
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(n => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const light = color => color.slice(0, 3)
    .map(part => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = tag => {
    const layers = [];
    for (let one = tag; one; one = one.parentElement) layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const worst = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const tag = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !tag.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (tag.closest("script, style, noscript, .headerlink, .md-search, [hidden]") || !tag.getClientRects().length) continue;
    const style = getComputedStyle(tag), back = behind(tag), front = over(rgba(style.color), back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const key = `${tag.tagName}.${tag.className}`;
    if (ratio < least && !worst.has(key)) worst.set(key, `${key}: ${ratio.toFixed(2)} (${walker.currentNode.data.trim().slice(0, 30)})`);
  }
  return [...worst.values()];
}"""


class Browser:
    """A browser that reaches nothing but the site."""

    def __init__(self, playwright, port):
        self.home = f"http://127.0.0.1:{port}"
        switches = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        self.chromium = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=switches)
        self.page = self.chromium.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        self.problems = []
        self.page.on("console", self.heard)
        self.page.on("pageerror", lambda error: self.problems.append(f"{self.page.url}: {error}"))
        self.page.on("request", self.asked)

    def heard(self, message):
        """Notes an error or a warning of a page."""
        if message.type in ("error", "warning"):
            self.problems.append(f"{self.page.url}: {message.type}: {message.text}")

    def asked(self, request):
        """Notes a request to another host."""
        if not request.url.startswith((f"{self.home}/", "data:", f"blob:{self.home}/")):
            self.problems.append(f"{self.page.url}: asks for {request.url}")

    def open(self, name):
        """Opens a page, in the dark and in the light, at a desk and on a phone."""
        where = f"{self.home}{address(name)}"
        self.page.goto(where, wait_until="load")
        title = self.page.locator("article h1")
        if title.count() != 1 or not title.is_visible():
            self.problems.append(f"{name}: its heading is not seen")
        for colours in COLOURS.values():
            self.page.evaluate("colours => document.body.dataset.mdColorScheme = colours", colours)
            self.problems += [f"{name}: {colours}: hard to read: {text}" for text in self.page.evaluate(CONTRAST)]
        self.page.set_viewport_size({"width": 390, "height": 844})
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > 390:
            self.problems.append(f"{name}: {wide} pixels wide on a phone of 390")
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def colours(self):
        """Checks that the first page has the colours that a reader's system asks for."""
        for scheme, colours in COLOURS.items():
            page = self.chromium.new_page(color_scheme=scheme)
            page.goto(f"{self.home}/", wait_until="load")
            found = page.locator("body").get_attribute("data-md-color-scheme")
            if found != colours:
                self.problems.append(f"a {scheme} system gets the colours {found}")
            page.close()

    def search(self, word, name):
        """Searches a word; `name` is an address that must be among the results, or None for none."""
        self.page.goto(f"{self.home}/docs/GLOSSARY/", wait_until="load")
        hits = self.page.locator(".md-search-result__link")
        count = self.page.locator(".md-search-result__meta")
        try:
            self.page.click("input[name=query]")
            count.get_by_text("Type to start searching").wait_for(timeout=20_000)
            self.page.keyboard.insert_text(word)
            # The page searches when a key is let go.
            self.page.keyboard.press("End")
            if name is None:
                count.get_by_text("No matching documents").wait_for(timeout=20_000)
                return
            hits.first.wait_for(timeout=20_000)
        except TimeoutError:
            self.problems.append(f"search for {word}: {count.inner_text()}")
            return
        found = {urlsplit(link.get_attribute("href")).path.lstrip("/") for link in hits.all()}
        if name not in found:
            self.problems.append(f"search for {word}: {name} is not among {sorted(found)}")


def browser_problems(site, searches):
    """Finds what is wrong with the pages in a browser, and with the searches."""
    handler = functools.partial(Quiet, directory=str(site.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        # A page that is left does not wait for its files; what is really missing, the page complains of.
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(playwright, server.server_port)
        for name in site.pages:
            browser.open(name)
        browser.colours()
        for word, name in searches:
            browser.search(word, name)
        browser.chromium.close()
        server.shutdown()
    return browser.problems


def main():
    """Builds, checks, and returns the exit code."""
    build(OUT)
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        problems = [f"{name}: another build has other bytes" for name in differences(OUT, Path(folder))]
    sys.path.insert(0, str(SITE))
    sys.dont_write_bytecode = True
    import stage

    site = Built(OUT)
    problems += blind_spots() + static_problems(site)
    for check in (unreachable(site), left_out(stage), changed_pages(site, stage), search_index(site)):
        problems += check
    problems += browser_problems(site, SEARCHES)
    print("\n".join(problems) or f"{len(site.pages)} pages, {len(site.files)} files, nothing wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
