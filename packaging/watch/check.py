#!/usr/bin/env python3
"""Checks the rules and dashboards of this folder: FIRSTCOME=/path/to/firstcome ./check.py [--without-disk]

It needs prometheus, promtool, prometheus-node-exporter and redis-server in PATH, installs nothing, and needs root for one small
file system in memory that it fills (--without-disk leaves that out, and says which alerts were not caused then). It ends with 0 if
everything holds, else with 1. It takes about two minutes.

1. Files: every rule has a runbook heading and a row there, and tests; the documents name the metrics that a server has.
2. promtool checks the rules and runs rules_test.yaml.
3. Two servers on a Redis under load, read by a real Prometheus: every query of a panel has data, every metric and label of a rule
   is there, and no rule fires.
4. Every alert is caused: the rules as they are, but with `for: 1s`. NOT_CAUSED says which cannot be, and why.
"""

import concurrent.futures
import http.client
import http.server
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIRSTCOME = os.environ.get("FIRSTCOME", "firstcome")
KEY = "a-key-for-this-check-only"

# Alerts that promtool alone tests.
NOT_CAUSED = {
    "FirstcomeCodesToSuspend": "the queue must be full in the very second after a fork of a campaign with imported codes",
    "FirstcomeClockOff": "the clock of the machine would have to be set",
    "FirstcomeClockUnsynced": "the time service of the machine would have to be stopped for minutes",
}
# Alerts that need a disk that can be filled.
OF_DISK = ["FirstcomeDiskAlmostFull", "FirstcomeJournalLogLong", "FirstcomeJournalLogStuck"]

failures = []
printing = threading.Lock()


def say(ok, text):
    """Prints one result; counts it if it is a failure."""
    with printing:
        print(("✔ " if ok else "✘ ") + text, flush=True)
        if not ok:
            failures.append(text)
    return ok


def wait(what, seconds, ask):
    """Asks until the answer is true; returns it, or raises after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ---- Files -------------------------------------------------------------------------------------------------------------------


def heading_anchors(page):
    """Returns the rows below each heading of a page, by the anchor of the heading: the words in the first column."""
    sections, rows = {}, set()
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            rows = sections.setdefault(anchor, set())
        elif line.startswith("| "):
            rows.update(re.findall(r"`([^`]+)`", line.split("|")[1]))
    return sections


def check_files(rules):
    tested = (HERE / "rules_test.yaml").read_text()
    for rule in rules:
        name, notes = rule["name"], rule["annotations"]
        wrong = []
        path, _, anchor = notes.get("runbook_url", "").partition("#")
        sections = heading_anchors(ROOT / path) if path and (ROOT / path).is_file() else {}
        if anchor not in sections:
            wrong.append(f"{notes.get('runbook_url')} leads nowhere")
        elif "log_event" in notes and notes["log_event"] not in sections[anchor]:
            wrong.append(f"no row `{notes['log_event']}` in {path}#{anchor}")
        if rule["labels"].get("severity") not in ("critical", "warning"):
            wrong.append("no severity")
        if name != "FirstcomeNoServer" and not notes["summary"].startswith("{{ $labels.instance }}"):
            wrong.append("its summary does not begin with the server")
        fires = re.findall(rf"alertname: {name}\n +exp_alerts:", tested)
        quiet = re.findall(rf"eval_time: \w+, alertname: {name}\}}", tested)
        if not fires or not quiet:
            wrong.append("rules_test.yaml has not both, a time at which it fires and one at which it does not")
        say(not wrong, f"{name}: runbook and tests" + "".join(f"; {why}" for why in wrong))
    unknown = set(NOT_CAUSED) - {rule["name"] for rule in rules}
    say(not unknown, f"what is not caused are rules: {unknown or len(NOT_CAUSED)}")


def families(server):
    """Returns the metrics of a server as the document names them, and as queries may name them."""
    documented, queried = set(), {"up"}
    suffixes = {"counter": ["_total"], "info": ["_info"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", server.metrics(), re.M):
        documented.add(name + {"counter": "_total", "info": "_info"}.get(kind, ""))
        queried.update(name + suffix for suffix in suffixes[kind])
    return documented, queried


def check_names(server):
    documented, queried = families(server)
    page = (ROOT / "docs/reference/metrics.md").read_text()
    lines = set(re.findall(r"^- `([a-z_]+)` ", page, re.M))
    say(lines == documented, f"metrics.md has the {len(documented)} metrics of a server"
        + "".join(f"; {name} is not in the document" for name in sorted(documented - lines))
        + "".join(f"; {name} is not in the server" for name in sorted(lines - documented)))
    texts = [ROOT / "docs/reference/metrics.md", ROOT / "docs/reference/logs.md", HERE / "README.md", HERE / "rules.yaml", HERE / "rules_test.yaml", *dashboards()]
    for file in texts:
        # `_…` stands for several names.
        named = set(re.findall(r"\b(?:firstcome|process)_[a-z_]*[a-z]\b(?![…{])", file.read_text()))
        known = queried | documented
        unknown = named - known
        say(named and not unknown or file.name == "README.md" and not unknown, f"{file.relative_to(ROOT)}: {len(named)} names of metrics" + "".join(f"; no {name}" for name in sorted(unknown)))


def dashboards():
    return sorted((HERE / "grafana").glob("*.json"))


# ---- Programs ----------------------------------------------------------------------------------------------------------------


class Program:
    """A process of this check, with its output in a file. It is ended with this check."""

    started = []

    def __init__(self, name, command, folder, env=None):
        self.name, self.log = name, pathlib.Path(folder) / f"{name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=folder)
        Program.started.append(self)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number=signal.SIGINT):
        """Sends a signal and waits for the end; after 20 s it kills."""
        self.signal(signal.SIGCONT)
        self.signal(number)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])


class Redis:
    """A Redis of its own; its data outlives `die` as far as `save` had it, or its append-only file."""

    def __init__(self, folder, name, *options):
        self.folder, self.name, self.port = folder / name, name, free_port()
        self.folder.mkdir()
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "", *options]
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.program = Program(self.name, self.command, self.folder)
        wait(f"{self.name} starts", 20, lambda: self.is_up())

    def is_up(self):
        try:
            return self.ask("PING") == "+PONG"
        except OSError:
            return False

    def ask(self, *words):
        """Sends one command; returns the first line of its answer, or the value of a bulk string."""
        words = [str(word).encode() for word in words]
        text = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        with socket.create_connection(("127.0.0.1", self.port), 10) as link, link.makefile("rb") as answers:
            link.sendall(text)
            line = answers.readline().rstrip().decode()
            if line.startswith("-"):
                raise RuntimeError(f"{self.name}: {line}")
            return answers.read(int(line[1:])).decode() if line.startswith("$") else line

    def die_and_return(self):
        """Kills it and starts it from its last dump."""
        self.program.end(signal.SIGKILL)
        self.start()


class Server:
    """A Firstcome server, which Prometheus knows by its name."""

    def __init__(self, prometheus, folder, name, settings=None, entries=""):
        self.prometheus, self.folder, self.name = prometheus, pathlib.Path(folder), name
        self.port, self.ops = free_port(), free_port()
        file = self.folder / f"{name}.toml"
        file.write_text(entries)
        given = {"CONFIG": file, "LISTEN": f"127.0.0.1:{self.port}", "OPS_LISTEN": f"127.0.0.1:{self.ops}", "ADMIN_KEY": KEY, "LEAVE_MS": "0"}
        if "STORE" not in (settings or {}):
            given["DATA"] = self.folder / name
        given |= settings or {}
        self.env = {f"FIRSTCOME_{key}": str(value) for key, value in given.items()}
        self.start()
        prometheus.add("firstcome", name, self.ops)

    def start(self):
        self.program = Program(self.name, [FIRSTCOME, "serve"], self.folder, self.env | {"PATH": os.environ["PATH"]})
        try:
            wait(f"{self.name} is ready", 60, lambda: self.is_ready() or self.program.process.poll() is not None)
            if self.program.process.poll() is not None:
                raise RuntimeError("it ended")
        except Exception as why:
            raise RuntimeError(f"{self.name}: {why}\n{self.program.tail()}") from why

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ops}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ops}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.metrics(), re.M)
        return float(found[1])

    def ask(self, method, path, body=None, key=KEY, timeout=30):
        """Sends one request; returns the status and the document."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = None if body is None else json.dumps(body)
            link.request(method, f"/v1/{path}", data, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
            answer = link.getresponse()
            return answer.status, json.loads(answer.read() or "{}")
        finally:
            link.close()

    def open_campaign(self, name, places):
        status, answer = self.ask("PUT", f"campaigns/{name}", {"opens_at": "now", "pools": [{"name": "main", "capacity": places}]})
        if status != 201:
            raise RuntimeError(f"{self.name}: {status} {answer}")

    def claim(self, campaign, subject, timeout=30):
        """Claims; returns the outcome."""
        return self.ask("POST", f"campaigns/{campaign}/claims", {"subject": subject}, timeout=timeout)[1].get("outcome")

    def claim_many(self, campaign, subjects):
        """Claims for each of them; returns how many won. What does not win is nothing that this check rests on."""
        won = 0
        for subject in subjects:
            try:
                won += self.claim(campaign, subject) == "won"
            except OSError:
                pass
        return won

    def end(self, number=signal.SIGINT):
        self.program.end(number)

    def leave(self):
        """Ends, and Prometheus forgets it."""
        self.prometheus.remove(self.name)
        self.end()


class Prometheus:
    """A real Prometheus with the rules, which looks each second."""

    def __init__(self, folder):
        self.folder, self.targets, self.port = folder, {}, free_port()
        self.fired, self.firing, self.lock = {}, set(), threading.Lock()
        rules = re.sub(r"(?m)^( +for: ).*$", r"\g<1>1s", (HERE / "rules.yaml").read_text())
        (folder / "rules.yaml").write_text(rules)
        self.write_targets()
        jobs = "".join(f"""
  - job_name: {job}
    file_sd_configs: [{{files: [{folder}/{job}.json], refresh_interval: 1s}}]""" for job in ("firstcome", "firstcome-machine"))
        (folder / "prometheus.yaml").write_text(f"global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yaml]\nscrape_configs:{jobs}\n")
        self.program = Program("prometheus", ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
                               f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"], folder)
        wait("Prometheus starts", 30, self.is_up)
        threading.Thread(target=self.watch, daemon=True).start()

    def is_up(self):
        try:
            return self.get("query", query="vector(1)")
        except (OSError, RuntimeError):
            return False

    def get(self, what, **arguments):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(arguments)}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as why:
            raise RuntimeError(json.load(why).get("error")) from why

    def query(self, text):
        """Returns the series of a query: labels and a number each."""
        found = self.get("query", query=text)["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]

    def rules(self):
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def write_targets(self):
        for job in ("firstcome", "firstcome-machine"):
            of_job = [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": name}} for name, (of, port) in self.targets.items() if of == job]
            new = self.folder / f"{job}.new"
            new.write_text(json.dumps(of_job))
            new.rename(self.folder / f"{job}.json")

    def add(self, job, name, port):
        with self.lock:
            self.targets[name] = (job, port)
            self.write_targets()

    def remove(self, name):
        with self.lock:
            self.targets.pop(name, None)
            self.write_targets()

    def watch(self):
        """Notes what fires, until the process ends."""
        while self.program.process.poll() is None:
            try:
                alerts = self.get("alerts")["alerts"]
            except (OSError, RuntimeError):
                alerts = []
            now = [alert for alert in alerts if alert["state"] == "firing"]
            with self.lock:
                self.firing = {(alert["labels"]["alertname"], alert["labels"].get("instance", "")) for alert in now}
                for alert in now:
                    key = (alert["labels"]["alertname"], alert["labels"].get("instance", ""))
                    self.fired.setdefault(key, alert["annotations"]["summary"])
            time.sleep(0.3)

    def knows(self, server):
        """Waits until a server was read some times: what it counts from then on is an increase."""
        wait(f"Prometheus reads {server.name}", 40, lambda: self.query(f'count_over_time(firstcome_ready{{instance="{server.name}"}}[1m]) > 2'))

    def fires(self, alert, server, within=45):
        """Waits until an alert fires for a server."""
        try:
            summary = wait(f"{alert} fires for {server}", within, lambda: self.fired.get((alert, server)))
            right = "<error" not in summary and "<no value>" not in summary and summary.startswith(server)
            say(right, f"{alert} fired: {summary}")
        except TimeoutError as why:
            say(False, str(why))

    def clears(self, alert, server, within=45):
        """Waits until it does not fire any more."""
        try:
            wait(f"{alert} ends for {server}", within, lambda: (alert, server) not in self.firing)
            say(True, f"{alert} ended for {server}")
        except TimeoutError as why:
            say(False, str(why))


# ---- Under load --------------------------------------------------------------------------------------------------------------

SELECTOR = re.compile(r'\b((?:firstcome|process|node)_\w+|up\b)(\{(?:[^"}]|"[^"]*")*\})?')


def selectors(query):
    return {name + labels for name, labels in SELECTOR.findall(query)}


def filled_in(query, campaign):
    return query.replace("$__rate_interval", "10s").replace("$instance", ".*").replace("$campaign", campaign)


def check_panels(prometheus):
    for file in dashboards():
        board = json.loads(file.read_text())
        campaign, bad, count = "", [], 0
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
                values = {labels[label] for labels, _ in prometheus.query(f"group by ({label}) ({metric})")}
                if not values:
                    bad.append(f"variable {variable['name']} has no value")
                if variable["name"] == "campaign":
                    campaign = next(iter(values), "")
        for panel in board["panels"]:
            for target in panel["targets"]:
                count += 1
                query = filled_in(target["expr"], campaign)
                try:
                    series = prometheus.query(query)
                    # Only alerts may be absent in good times.
                    good = any(not math.isnan(value) for _, value in series) or query.startswith("ALERTS")
                    if not good:
                        bad.append(f"{panel['title']}: no data for {query}")
                    for name in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                        if any(name not in labels for labels, _ in series):
                            bad.append(f"{panel['title']}: its legend names {name}, which {query} does not have")
                except RuntimeError as why:
                    bad.append(f"{panel['title']}: {why} in {query}")
        titles = [panel["title"] for panel in board["panels"]]
        if len(set(titles)) != len(titles):
            bad.append("two panels have one title")
        say(not bad, f"{file.name}: {len(titles)} panels, {count} queries with data" + "".join(f"\n    {why}" for why in bad))


def check_rules(prometheus, rules):
    bad = []
    for rule in rules:
        try:
            prometheus.query(rule["query"])
            bad += [f"{rule['name']}: nothing for {selector}" for selector in selectors(rule["query"]) if not prometheus.query(selector)]
        except RuntimeError as why:
            bad.append(f"{rule['name']}: {why}")
    say(not bad, f"every metric and label of {len(rules)} rules is there" + "".join(f"\n    {why}" for why in bad))
    # What the machine of this check has is its own business.
    firing = [labels for labels, _ in prometheus.query('ALERTS{alertstate="firing", job!="firstcome-machine"}')]
    say(not firing, f"no alert fires under load: {firing}")


def healthy(prometheus, folder):
    """Two servers under load; returns nothing, and Prometheus has forgotten them."""

    class Yes(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"eligible": true}')

        def log_message(self, *_):
            pass

    prometheus.fires("FirstcomeNoServer", "")
    redis = Redis(folder, "redis-healthy")
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Yes)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    entries = f'[[eligibility]]\ncampaign = "checked"\nurl = "http://127.0.0.1:{service.server_port}/"\nwhen_down = "refuse"\n'
    settings = {"STORE": redis.url, "LEDGER": f"sqlite:{folder}/healthy.db"}
    one, two = (Server(prometheus, folder, name, settings, entries) for name in ("one", "two"))
    exporter = free_port()
    Program("node-exporter", ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}"], folder)
    prometheus.add("firstcome-machine", "machine", exporter)
    one.open_campaign("checked", 5)
    rush = Program("rush", [FIRSTCOME, "rush", "--create", "2000", "--requests", "9000", "--subjects", "4000", "--rate", "300", "--connections", "20",
                            "--url", f"http://127.0.0.1:{one.port}", "--url", f"http://127.0.0.1:{two.port}"], folder, {"FIRSTCOME_KEY": KEY, "PATH": os.environ["PATH"]})
    wait("Prometheus sees both servers", 30, lambda: len(prometheus.query('up{job="firstcome"} == 1')) == 2)
    for subject in range(40):
        (one if subject % 2 else two).claim("checked", f"s{subject}")
        time.sleep(0.3)
    say(rush.process.poll() is None, "the load goes on while queries are asked")
    check_names(one)
    check_panels(prometheus)
    check_rules(prometheus, prometheus.rules())
    prometheus.clears("FirstcomeNoServer", "")
    try:
        code = rush.process.wait(60)
    except subprocess.TimeoutExpired:
        code = None
    say(code == 0, f"rush ended with {code}" + ("" if code == 0 else f"\n{rush.tail()}"))
    for server in (one, two):
        server.leave()
    service.shutdown()
    redis.program.end()


# ---- Causing alerts ----------------------------------------------------------------------------------------------------------


def store_stops(prometheus, folder):
    """The store is stopped while people claim, and goes on when all has been seen."""
    redis = Redis(folder, "redis-stops")
    server = Server(prometheus, folder, "silent", {"STORE": redis.url, "QUEUE": 8, "COMMAND_WAIT_MS": 20000})
    server.open_campaign("drop", 1000)
    prometheus.knows(server)
    redis.program.signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(40) as people:
        for n in range(40):
            people.submit(server.claim_many, "drop", [f"s{n}"])
        for alert in ("QueueHalfFull", "Busy", "StoreSilent", "NotReady", "LockStoreSilent", "NoLeader", "ElectionUnhealthy"):
            prometheus.fires(f"Firstcome{alert}", server.name, 70)
        redis.program.signal(signal.SIGCONT)
    for alert in ("QueueHalfFull", "StoreSilent", "NotReady", "LockStoreSilent", "NoLeader", "ElectionUnhealthy"):
        prometheus.clears(f"Firstcome{alert}", server.name)
    server.leave()
    redis.program.end()


def store_is_set_down(prometheus, folder):
    """The store answers slowly, then syncs no more, then has no memory left."""
    redis = Redis(folder, "redis-set-down", "--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no")
    server = Server(prometheus, folder, "unsafe", {"STORE": redis.url, "DURABILITY": "fsync"})
    server.open_campaign("drop", 100000)
    prometheus.knows(server)
    with concurrent.futures.ThreadPoolExecutor(1) as people:
        claims = people.submit(server.claim_many, "drop", [f"s{n}" for n in range(12)])
        for _ in range(8):
            redis.program.signal(signal.SIGSTOP)
            time.sleep(0.8)
            redis.program.signal(signal.SIGCONT)
            time.sleep(0.2)
        say(claims.result() > 5, f"{claims.result()} claims won on a slow store")
    prometheus.fires("FirstcomeStoreSlow", server.name)
    redis.ask("CONFIG", "SET", "appendfsync", "no")
    prometheus.fires("FirstcomeDurabilityFallen", server.name)
    redis.ask("CONFIG", "SET", "appendfsync", "always")
    prometheus.clears("FirstcomeDurabilityFallen", server.name)
    memory = re.search(r"used_memory:(\d+)", redis.ask("INFO", "memory"))[1]
    redis.ask("CONFIG", "SET", "maxmemory", memory)
    server.claim_many("drop", [f"t{n}" for n in range(5)])
    prometheus.fires("FirstcomeStoreFull", server.name)
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    wait("the store takes claims again", 30, lambda: server.claim("drop", "ann") in ("won", "already_won"))
    server.leave()
    redis.program.end()


def store_forgets(prometheus, folder):
    """Servers are killed, differ, and are paused; the store comes back with an older state, and empty."""
    redis = Redis(folder, "redis-forgets")
    settings = {"STORE": redis.url, "ON_EMPTIED": "reseed", "LEADER_LEASE_MS": 500}
    first, second = (Server(prometheus, folder, name, settings) for name in ("first", "second"))
    first.open_campaign("drop", 100000)
    prometheus.knows(first)
    prometheus.knows(second)
    second.end(signal.SIGKILL)
    prometheus.fires("FirstcomeServerDown", second.name)
    prometheus.fires("FirstcomeServerGone", first.name)
    second.start()
    prometheus.clears("FirstcomeServerDown", second.name)
    prometheus.clears("FirstcomeServerGone", first.name)
    second.leave()

    other = Server(prometheus, folder, "other", settings | {"TOKEN_SECRET": "a-secret-that-no-other-server-of-this-space-has"})
    prometheus.fires("FirstcomeSettingsDiffer", first.name)
    other.leave()
    prometheus.clears("FirstcomeSettingsDiffer", first.name)

    redis.ask("SAVE")
    say(first.claim_many("drop", [f"s{n}" for n in range(20)]) == 20, "20 claims won that the store will forget")
    redis.die_and_return()
    prometheus.fires("FirstcomeStoreLostEntries", first.name)

    wait("the first server is ready", 30, first.is_ready)
    redis.ask("SAVE")
    say(first.claim_many("drop", [f"t{n}" for n in range(20)]) == 20, "20 claims won of which another history knows nothing")
    first.program.signal(signal.SIGSTOP)
    redis.die_and_return()
    third = Server(prometheus, folder, "third", settings)
    say(third.claim_many("drop", [f"u{n}" for n in range(20)]) == 20, "20 claims won in that history")
    first.program.signal(signal.SIGCONT)
    prometheus.fires("FirstcomeFork", first.name)
    third.leave()

    wait("the first server is ready", 30, first.is_ready)
    redis.ask("FLUSHALL")
    prometheus.fires("FirstcomeReseeded", first.name)
    wait("the first server is ready", 30, first.is_ready)
    for _ in range(4):
        wait("the first server leads", 30, lambda: first.metric("firstcome_is_leader") == 1)
        first.program.signal(signal.SIGSTOP)
        time.sleep(2)
        first.program.signal(signal.SIGCONT)
        time.sleep(1)
    prometheus.fires("FirstcomeTermsLost", first.name)
    first.leave()
    redis.program.end()


def ledger_is_locked(prometheus, folder):
    """Another program locks the ledger's file for more than a minute."""
    server = Server(prometheus, folder, "ledger", {"OUTBOX_MAX": 200, "SETTLE_DELAY_RESULTS": 100})
    server.open_campaign("drop", 1000)
    prometheus.knows(server)
    lock = sqlite3.connect(folder / "ledger" / "ledger.sqlite", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    say(server.claim_many("drop", [f"s{n}" for n in range(150)]) == 150, "150 claims won without a ledger")
    for alert in ("OutboxHalfFull", "LedgerStuck", "LedgerBehind"):
        prometheus.fires(f"Firstcome{alert}", server.name, 90)
    lock.execute("ROLLBACK")
    lock.close()
    for alert in ("OutboxHalfFull", "LedgerStuck", "LedgerBehind"):
        prometheus.clears(f"Firstcome{alert}", server.name)
    server.leave()


def too_many_callers(prometheus, folder):
    """Connections, open files, guesses, and a service that does not answer."""
    entries = '[[eligibility]]\ncampaign = "checked"\nurl = "http://127.0.0.1:9/"\nwhen_down = "refuse"\nfailures = 1\nprobe_every = "1h"\n'
    server = Server(prometheus, folder, "callers", {"CONNECTIONS": 40, "TRUSTED_PROXIES": "127.0.0.0/8"}, entries)
    server.open_campaign("checked", 5)
    prometheus.knows(server)
    say(server.claim("checked", "ann") == "eligibility_unknown", "the service is asked, and does not answer")
    prometheus.fires("FirstcomeEligibilityDown", server.name)
    statuses = [server.ask("GET", "key", key=f"a-key-that-nobody-has-{n}")[0] for n in range(350)]
    say(statuses.count(429) > 100, f"of 350 wrong keys {statuses.count(429)} are turned away")
    prometheus.fires("FirstcomeGuessing", server.name)

    links = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(36)]
    prometheus.fires("FirstcomeConnectionsNearLimit", server.name)
    more = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    prometheus.fires("FirstcomeConnectionsRefused", server.name)
    for link in more:
        link.close()

    process = server.program.process.pid
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (int(server.metric("process_open_fds")) + 8, limits[1]))
    prometheus.fires("FirstcomeFilesNearLimit", server.name)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (int(server.metric("process_open_fds")) - 5, limits[1]))
    links.append(socket.create_connection(("127.0.0.1", server.port)))
    prometheus.fires("FirstcomeAcceptFails", server.name)
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    for link in links:
        link.close()
    prometheus.clears("FirstcomeConnectionsNearLimit", server.name)
    prometheus.clears("FirstcomeFilesNearLimit", server.name)
    server.leave()


def server_crashes(prometheus, folder):
    """A server is killed three times."""
    server = Server(prometheus, folder, "crashes")
    for crashes in range(4):
        prometheus.knows(server)
        if crashes == 3:
            break
        server.end(signal.SIGKILL)
        server.start()
        wait("Prometheus reads it again", 30, lambda: prometheus.query(f'changes(process_start_time_seconds{{instance="{server.name}"}}[15m]) == {crashes + 1}'))
    prometheus.fires("FirstcomeRestartsOften", server.name)
    server.leave()


def disk_fills(prometheus, folder):
    """A program reads the journal for long while it is written; then the disk is full."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500m", "tmpfs", disk], check=True)
    exporter = free_port()
    Program("node-exporter-of-disk", ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}"], folder)
    prometheus.add("firstcome-machine", "full", exporter)
    server = Server(prometheus, folder, "disk", {"DATA": disk / "data", "LEDGER": f"sqlite:{folder}/disk-ledger.db"})
    seats = [{"name": f"A{n}", "row": "A", "price_minor": 1, "currency": "EUR"} for n in range(2000)]
    status, answer = server.ask("PUT", "campaigns/hall", {"pools": [{"name": "main", "kind": "seated"}]})
    say(status == 201, f"a hall: {status} {answer if status != 201 else ''}")
    status, answer = server.ask("POST", "campaigns/hall/pools/main/seats", seats)
    say(status < 300, f"2,000 seats: {status} {answer if status >= 300 else ''}")

    def change(n):
        """Changes the price category of all seats: an entry of some hundred kilobytes."""
        changes = [{"name": seat["name"], "grade": f"{n:064}", "price_minor": n, "currency": "EUR"} for seat in seats]
        return server.ask("PATCH", "campaigns/hall/pools/main/seats", changes)

    prometheus.knows(server)
    reader = sqlite3.connect(disk / "data" / "journal.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
    for n in range(2000):
        if server.metric("firstcome_journal_log_bytes") > 140 << 20:
            break
        change(n)
    prometheus.fires("FirstcomeJournalLogLong", server.name)
    reader.execute("ROLLBACK")
    reader.close()
    change(2001)
    prometheus.clears("FirstcomeJournalLogLong", server.name)

    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    with filler.open("wb") as file:
        file.write(b"x" * (free - (4 << 20)))
    prometheus.fires("FirstcomeDiskAlmostFull", "full")
    outcomes = set()
    for n in range(3000, 3400):
        outcomes.add(change(n)[1].get("outcome"))
        if server.metric("firstcome_journal_log_stuck") == 1:
            break
    say(True, f"outcomes on the full disk: {outcomes}")
    prometheus.fires("FirstcomeJournalLogStuck", server.name)
    filler.unlink()
    change(5000)
    prometheus.clears("FirstcomeJournalLogStuck", server.name)
    prometheus.clears("FirstcomeDiskAlmostFull", "full")
    server.leave()


# ---- All of it ---------------------------------------------------------------------------------------------------------------


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=HERE, capture_output=True, text=True)
    say(done.returncode == 0, f"promtool {' '.join(arguments)}" + ("" if done.returncode == 0 else f"\n{done.stdout}{done.stderr}"))


def run(folder, with_disk):
    promtool("check", "rules", "rules.yaml")
    promtool("test", "rules", "rules_test.yaml")
    prometheus = Prometheus(folder)
    rules = prometheus.rules()
    check_files(rules)
    healthy(prometheus, folder)
    causes = [store_forgets, store_stops, ledger_is_locked, store_is_set_down, too_many_callers, server_crashes] + [disk_fills] * with_disk
    with concurrent.futures.ThreadPoolExecutor(len(causes)) as all_at_once:
        ends = {cause: all_at_once.submit(cause, prometheus, folder) for cause in causes}
    for cause, end in ends.items():
        why = end.exception()
        if why is not None:
            say(False, f"{cause.__name__}: {why}")
    table = prometheus.query('last_over_time(ALERTS{alertname=~"Firstcome.*", alertstate="firing"}[1h])')
    say(bool(table), f"the panel of alerts had {len(table)} rows")
    caused = {alert for alert, _ in prometheus.fired}
    left_out = NOT_CAUSED if with_disk else NOT_CAUSED | dict.fromkeys(OF_DISK, "--without-disk")
    missing = {rule["name"] for rule in rules} - caused - set(left_out)
    say(not missing, f"of {len(rules)} alerts {len(caused)} were caused" + "".join(f"; not {name}" for name in sorted(missing)))
    for name in sorted(set(left_out) - caused):
        print(f"  only promtool tests {name}: {left_out[name]}")


def main():
    with_disk = sys.argv[1:] != ["--without-disk"]
    if with_disk and sys.argv[1:]:
        sys.exit(__doc__)
    missing = [name for name in ("prometheus", "promtool", "prometheus-node-exporter", "redis-server", FIRSTCOME) if not shutil.which(name)]
    if missing:
        sys.exit(f"not in PATH: {', '.join(missing)}. Debian: apt install prometheus prometheus-node-exporter redis-server; FIRSTCOME=/path/to/firstcome")
    if with_disk and os.geteuid() != 0:
        sys.exit("root is needed to mount a small file system; --without-disk leaves out the alerts of a full disk")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firstcome-watch-"))
    try:
        run(folder, with_disk)
    except Exception as why:
        say(False, f"{type(why).__name__}: {why}")
    finally:
        for program in reversed(Program.started):
            program.end(signal.SIGKILL)
        if os.path.ismount(folder / "disk"):
            subprocess.run(["umount", folder / "disk"], check=False)
    if failures:
        print(f"{len(failures)} failures; logs in {folder}:")
        print("\n".join(f"✘ {text}" for text in failures))
        sys.exit(1)
    shutil.rmtree(folder)
    print("everything holds")


if __name__ == "__main__":
    main()
