#!/usr/bin/env python3
"""Checks the rules and dashboards of this folder: FIRSTCOME=/path/to/firstcome ./check.py [--without-disk]

It needs prometheus, promtool, prometheus-node-exporter and redis-server in PATH, installs nothing, and needs root for one small
file system in memory that it fills (--without-disk leaves that out, and says which alerts were not caused then). It ends with 0 if
everything holds, else with 1. It takes two to four minutes.

1. Files: every rule has a runbook heading and a row there, and tests; the documents name the metrics that a server has.
2. promtool checks the rules and runs rules_test.yaml.
3. Two servers on a Redis under load, read by a real Prometheus: every query of a panel has data, every metric and label of a rule
   is there, and no rule fires.
4. Every alert is caused: the rules as they are, but with `for: 1s`. NOT_CAUSED says which cannot be, and why.
"""

import concurrent.futures
import contextlib
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
    "FirstcomeTlsUnusable": "this Prometheus comes without TLS; a test of the program breaks the files",
    "FirstcomeWebhookParked": "the tries of one result take more than a day",
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
        named = set(re.findall(r"\b(?:firstcome|process)_[a-z_]*[a-z]\b(?!…)", file.read_text()))
        unknown = named - queried - documented
        say(named and not unknown, f"{file.relative_to(ROOT)}: {len(named)} names of metrics" + "".join(f"; no {name}" for name in sorted(unknown)))


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

    def send(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number=signal.SIGINT):
        """Sends a signal and waits for the end; after 20 s it kills."""
        self.send(signal.SIGCONT)
        self.send(number)
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

    def __init__(self, prometheus, folder, name, settings=None, entries="", space=None):
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
        prometheus.add("firstcome", name, self.ops, space)

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

    def add_webhook(self, url, **settings):
        status, answer = self.ask("POST", "webhooks", {"url": url} | settings)
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
        self.fired, self.firing, self.caused, self.lock = {}, set(), set(), threading.Lock()
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
            of_job = [{"targets": [f"127.0.0.1:{port}"], "labels": labels} for of, port, labels in self.targets.values() if of == job]
            new = self.folder / f"{job}.new"
            new.write_text(json.dumps(of_job))
            new.rename(self.folder / f"{job}.json")

    def add(self, job, name, port, space=None):
        """Reads a target from now on, as the instance of that name, and with that label if there is a space."""
        with self.lock:
            self.targets[name] = (job, port, {"instance": name} | ({"space": space} if space else {}))
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

    @contextlib.contextmanager
    def causes(self, server, *alerts, within=45):
        """Has alerts fire for a server, by what is done inside: none of them has fired before, and all do within so many seconds."""
        alerts = ["Firstcome" + alert for alert in alerts]
        early = [alert for alert in alerts if (alert, server) in self.fired]
        if early:
            say(False, f"{early} fired for {server} before its cause")
        yield
        for alert in alerts:
            try:
                summary = wait(f"{alert} fires for {server}", within, lambda: self.fired.get((alert, server)))
                whole = "<error" not in summary and "<no value>" not in summary and summary.startswith(server)
                say(whole, f"{alert} fired: {summary}")
                self.caused.add(alert)
            except TimeoutError as why:
                say(False, str(why))

    def clear(self, server, *alerts, within=45):
        """Waits until alerts do not fire any more for a server."""
        for alert in alerts:
            try:
                wait(f"Firstcome{alert} ends for {server}", within, lambda: ("Firstcome" + alert, server) not in self.firing)
                say(True, f"Firstcome{alert} ended for {server}")
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
                values = {labels[label] for labels, _ in prometheus.query(f"group by ({label}) ({metric})") if label in labels}
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

    with prometheus.causes("", "NoServer"):
        pass
    redis = Redis(folder, "redis-healthy")
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Yes)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    entries = f'[[eligibility]]\ncampaign = "checked"\nurl = "http://127.0.0.1:{service.server_port}/"\nwhen_down = "refuse"\n'
    settings = {"STORE": redis.url, "LEDGER": f"sqlite:{folder}/healthy.db", "WEBHOOK_ALLOW": "127.0.0.0/8"}
    one, two = (Server(prometheus, folder, name, settings, entries) for name in ("one", "two"))
    exporter = free_port()
    Program("node-exporter", ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}"], folder)
    prometheus.add("firstcome-machine", "machine", exporter)
    one.open_campaign("checked", 5)
    one.add_webhook(f"http://127.0.0.1:{service.server_port}/")
    rush = Program("rush", [FIRSTCOME, "rush", "--create", "2000", "--requests", "12000", "--subjects", "4000", "--rate", "300", "--connections", "20",
                            "--url", f"http://127.0.0.1:{one.port}", "--url", f"http://127.0.0.1:{two.port}"], folder, {"FIRSTCOME_KEY": KEY, "PATH": os.environ["PATH"]})
    wait("Prometheus sees both servers", 30, lambda: len(prometheus.query('up{job="firstcome"} == 1')) == 2)
    for subject in range(40):
        (one if subject % 2 else two).claim("checked", f"s{subject}")
        time.sleep(0.3)
    prometheus.clear("", "NoServer")
    check_names(one)
    check_panels(prometheus)
    check_rules(prometheus, prometheus.rules())
    say(rush.process.poll() is None, "the load went on meanwhile")
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
    """The store is stopped while people claim."""
    redis = Redis(folder, "redis-stops")
    server = Server(prometheus, folder, "silent", {"STORE": redis.url, "QUEUE": 8, "COMMAND_WAIT_MS": 20000}, space="stops")
    server.open_campaign("drop", 1000)
    prometheus.knows(server)
    last = ("QueueHalfFull", "StoreSilent", "NotReady", "LockStoreSilent", "ElectionUnhealthy")
    with concurrent.futures.ThreadPoolExecutor(40) as people:
        with prometheus.causes("silent", "Busy", *last, within=70):
            redis.program.send(signal.SIGSTOP)
            for n in range(40):
                people.submit(server.claim_many, "drop", [f"s{n}"])
        redis.program.send(signal.SIGCONT)
    prometheus.clear("silent", *last)
    server.leave()
    redis.program.end()


def rights_are_taken(prometheus, folder):
    """The store's user may not use the leader's lock any more; the journal works. Its space alone has no label."""
    redis = Redis(folder, "redis-rights")
    server = Server(prometheus, folder, "led", {"STORE": redis.url})
    server.open_campaign("drop", 10)
    prometheus.knows(server)
    with prometheus.causes("led", "NoLeader"):
        redis.ask("ACL", "SETUSER", "default", "resetkeys", *[f"~fc:{{main}}:{key}" for key in ("journal", "head", "manifests", "piece*", "nodes", "forks", "skips")])
    outcome = server.claim("drop", "ann")
    say(outcome == "won", f"a claim without a leader: {outcome}")
    redis.ask("ACL", "SETUSER", "default", "allkeys")
    prometheus.clear("led", "NoLeader")
    server.leave()
    redis.program.end()


def store_is_set_down(prometheus, folder):
    """The store answers slowly, then it does not sync any more, then it has no memory left."""
    redis = Redis(folder, "redis-set-down", "--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no")
    server = Server(prometheus, folder, "unsafe", {"STORE": redis.url, "DURABILITY": "fsync"}, space="unsafe")
    server.open_campaign("drop", 1000)
    prometheus.knows(server)
    with prometheus.causes("unsafe", "StoreSlow"), concurrent.futures.ThreadPoolExecutor(1) as people:
        won = people.submit(server.claim_many, "drop", [f"s{n}" for n in range(12)])
        for _ in range(10):
            redis.program.send(signal.SIGSTOP)
            time.sleep(0.8)
            redis.program.send(signal.SIGCONT)
            time.sleep(0.2)
        say(won.result() == 12, f"{won.result()} of 12 claims won on a slow store")
    with prometheus.causes("unsafe", "DurabilityFallen"):
        redis.ask("CONFIG", "SET", "appendfsync", "no")
    redis.ask("CONFIG", "SET", "appendfsync", "always")
    prometheus.clear("unsafe", "DurabilityFallen")
    wait("the server is ready", 30, server.is_ready)
    with prometheus.causes("unsafe", "StoreFull"):
        redis.ask("CONFIG", "SET", "maxmemory", re.search(r"used_memory:(\d+)", redis.ask("INFO", "memory"))[1])
        server.claim_many("drop", [f"t{n}" for n in range(5)])
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    wait("the store takes claims again", 30, lambda: server.claim("drop", "ann") in ("won", "already_won"))
    server.leave()
    redis.program.end()


def store_forgets(prometheus, folder):
    """Servers are killed, paused and differ; the store comes back with an older state, and empty."""
    redis = Redis(folder, "redis-forgets")
    settings = {"STORE": redis.url, "ON_EMPTIED": "reseed", "LEADER_LEASE_MS": 1000}
    first, second = (Server(prometheus, folder, name, settings, space="forgets") for name in ("first", "second"))
    first.open_campaign("drop", 1000)
    prometheus.knows(first)
    prometheus.knows(second)
    with prometheus.causes("second", "ServerDown"), prometheus.causes("first", "ServerGone"):
        second.end(signal.SIGKILL)
    second.start()
    prometheus.clear("second", "ServerDown")
    prometheus.clear("first", "ServerGone")
    second.leave()

    with prometheus.causes("first", "TermsLost"):
        for _ in range(4):
            wait("the first server leads", 30, lambda: first.metric("firstcome_is_leader") == 1)
            first.program.send(signal.SIGSTOP)
            time.sleep(3)
            first.program.send(signal.SIGCONT)
            time.sleep(1)
    with prometheus.causes("first", "SettingsDiffer"):
        other = Server(prometheus, folder, "other", settings | {"TOKEN_SECRET": "a-secret-that-no-other-server-of-this-space-has"}, space="forgets")
    other.leave()
    prometheus.clear("first", "SettingsDiffer")

    redis.ask("SAVE")
    say(first.claim_many("drop", [f"s{n}" for n in range(20)]) == 20, "20 claims won that the store will forget")
    with prometheus.causes("first", "StoreLostEntries"):
        redis.die_and_return()
    wait("the first server is ready", 30, first.is_ready)
    redis.ask("SAVE")
    say(first.claim_many("drop", [f"t{n}" for n in range(20)]) == 20, "20 claims won of which another history knows nothing")
    with prometheus.causes("first", "Fork"):
        first.program.send(signal.SIGSTOP)
        redis.die_and_return()
        third = Server(prometheus, folder, "third", settings, space="forgets")
        say(third.claim_many("drop", [f"u{n}" for n in range(20)]) == 20, "20 claims won in that history")
        first.program.send(signal.SIGCONT)
    third.leave()
    wait("the first server is ready", 30, first.is_ready)
    with prometheus.causes("first", "Reseeded"):
        redis.ask("FLUSHALL")
    wait("the first server is ready", 30, first.is_ready)
    first.leave()
    redis.program.end()


def ledger_is_locked(prometheus, folder):
    """Another program locks the ledger's file for more than a minute."""
    server = Server(prometheus, folder, "ledger", {"OUTBOX_MAX": 200, "SETTLE_DELAY_RESULTS": 100}, space="ledger")
    server.open_campaign("drop", 1000)
    prometheus.knows(server)
    lock = sqlite3.connect(folder / "ledger" / "ledger.sqlite", isolation_level=None)
    with prometheus.causes("ledger", "OutboxHalfFull", "LedgerStuck", "LedgerBehind", within=90):
        lock.execute("BEGIN IMMEDIATE")
        say(server.claim_many("drop", [f"s{n}" for n in range(150)]) == 150, "150 claims won without a ledger")
    lock.execute("ROLLBACK")
    lock.close()
    prometheus.clear("ledger", "OutboxHalfFull", "LedgerStuck", "LedgerBehind")
    server.leave()


def files_and_endpoints_break(prometheus, folder):
    """A webhook whose receiver is not there; a line of the configuration file that means nothing."""
    server = Server(prometheus, folder, "broken", {"WEBHOOK_ALLOW": "127.0.0.0/8"}, space="broken")
    server.open_campaign("drop", 10)
    prometheus.knows(server)
    server.claim_many("drop", [f"s{n}" for n in range(5)])
    with prometheus.causes("broken", "WebhookBehind"):
        server.add_webhook("http://127.0.0.1:9/", after=0)
    file = folder / "broken.toml"
    with prometheus.causes("broken", "ConfigurationUnusable"):
        file.write_text('log_level = "loud"\n')
    file.write_text('log_level = "warn"\n')
    prometheus.clear("broken", "ConfigurationUnusable")
    server.leave()


def too_many_callers(prometheus, folder):
    """A service that does not answer, guesses, connections, open files."""
    entries = '[[eligibility]]\ncampaign = "checked"\nurl = "http://127.0.0.1:9/"\nwhen_down = "refuse"\nfailures = 1\nprobe_every = "1h"\n'
    server = Server(prometheus, folder, "callers", {"CONNECTIONS": 40, "TRUSTED_PROXIES": "127.0.0.0/8", "HEADER_MS": 300000, "IDLE_MS": 300000}, entries, space="callers")
    server.open_campaign("checked", 5)
    prometheus.knows(server)
    with prometheus.causes("callers", "EligibilityDown"):
        outcome = server.claim("checked", "ann")
        say(outcome == "eligibility_unknown", f"a claim that nobody checked: {outcome}")
    with prometheus.causes("callers", "Guessing"):
        statuses = [server.ask("GET", "key", key=f"a-key-that-nobody-has-{n}")[0] for n in range(350)]
        say(statuses.count(429) > 100, f"of 350 wrong keys {statuses.count(429)} are turned away")

    def connect(number):
        return [socket.create_connection(("127.0.0.1", server.port)) for _ in range(number)]

    with prometheus.causes("callers", "ConnectionsNearLimit"):
        links = connect(36)
    with prometheus.causes("callers", "ConnectionsRefused"):
        more = connect(20)
    for link in more:
        link.close()
    process = server.program.process.pid
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    with prometheus.causes("callers", "FilesNearLimit"):
        resource.prlimit(process, resource.RLIMIT_NOFILE, (int(server.metric("process_open_fds")) + 8, limits[1]))
    with prometheus.causes("callers", "AcceptFails"):
        resource.prlimit(process, resource.RLIMIT_NOFILE, (int(server.metric("process_open_fds")) - 5, limits[1]))
        links += connect(1)
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    for link in links:
        link.close()
    prometheus.clear("callers", "ConnectionsNearLimit", "FilesNearLimit")
    server.leave()


def server_crashes(prometheus, folder):
    """A server is killed three times."""
    server = Server(prometheus, folder, "crashes", space="crashes")
    prometheus.knows(server)
    with prometheus.causes("crashes", "RestartsOften"):
        for crash in range(3):
            server.end(signal.SIGKILL)
            server.start()
            changed = f'changes(process_start_time_seconds{{instance="crashes"}}[15m]) == {crash + 1}'
            wait("Prometheus reads it again", 30, lambda: prometheus.query(changed))
    server.leave()


def disk_fills(prometheus, folder):
    """A program reads the journal for long while it is written; then the disk is full."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500m", "tmpfs", disk], check=True)
    exporter = free_port()
    Program("node-exporter-of-disk", ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}"], folder)
    prometheus.add("firstcome-machine", "full", exporter)
    server = Server(prometheus, folder, "disk", {"BODY_BYTES": 1 << 20, "DATA": disk / "data", "LEDGER": f"sqlite:{folder}/disk-ledger.db"}, space="disk")
    seats = [{"name": f"A{n}", "row": "A", "price_minor": 1, "currency": "EUR"} for n in range(3500)]
    server.ask("PUT", "campaigns/hall", {"pools": [{"name": "main", "kind": "seated"}]})
    status, answer = server.ask("POST", "campaigns/hall/pools/main/seats", seats)
    if status >= 300:
        raise RuntimeError(f"the hall: {status} {answer}")

    def change(n):
        """Changes the price category of all seats, which is an entry of some hundred kilobytes; returns the outcome."""
        changes = [{"name": seat["name"], "grade": f"{n % 2:064}", "price_minor": n % 2 + 1, "currency": "EUR"} for seat in seats]
        return server.ask("PATCH", "campaigns/hall/pools/main/seats", changes)[1].get("outcome")

    def change_until(metric, enough):
        """Changes seats until a metric is high enough; returns the last outcome."""
        for n in range(3000):
            outcome = change(n)
            if server.metric(metric) >= enough:
                break
        return outcome

    prometheus.knows(server)
    reader = sqlite3.connect(disk / "data" / "journal.sqlite", isolation_level=None)
    with prometheus.causes("disk", "JournalLogLong"):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        change_until("firstcome_journal_log_bytes", 130 << 20)
    reader.close()
    change(0)
    prometheus.clear("disk", "JournalLogLong")
    with prometheus.causes("full", "DiskAlmostFull"), prometheus.causes("disk", "JournalLogStuck"):
        with (disk / "filler").open("wb") as filler:
            filler.write(b"x" * (shutil.disk_usage(disk).free - (4 << 20)))
        say(True, f"on a full disk the last change was {change_until('firstcome_journal_log_stuck', 1)}")
    (disk / "filler").unlink()
    wait("changes are made again", 30, lambda: change(0) == "seats_changed" and change(1) == "seats_changed")
    prometheus.clear("disk", "JournalLogStuck")
    prometheus.clear("full", "DiskAlmostFull")
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
    causes = [store_forgets, store_stops, rights_are_taken, ledger_is_locked, store_is_set_down, files_and_endpoints_break, too_many_callers, server_crashes] + [disk_fills] * with_disk
    with concurrent.futures.ThreadPoolExecutor(len(causes)) as all_at_once:
        ends = {cause: all_at_once.submit(cause, prometheus, folder) for cause in causes}
    for cause, end in ends.items():
        why = end.exception()
        if why is not None:
            say(False, f"{cause.__name__}: {why}")
    table = prometheus.query('last_over_time(ALERTS{alertname=~"Firstcome.*", alertstate="firing"}[1h])')
    say(bool(table), f"the panel of alerts had {len(table)} rows")
    caused = prometheus.caused
    left_out = NOT_CAUSED if with_disk else NOT_CAUSED | dict.fromkeys(OF_DISK, "--without-disk")
    missing = {rule["name"] for rule in rules} - caused - set(left_out)
    say(not missing, f"of {len(rules)} alerts {len(caused)} were caused" + "".join(f"; not {name}" for name in sorted(missing)))
    for name in sorted(set(left_out) - caused):
        print(f"  only promtool tests {name}: {left_out[name]}")


def clean_up(folder):
    """Ends what was started, and takes the small file system away."""
    for program in reversed(Program.started):
        program.end(signal.SIGKILL)
    if os.path.ismount(folder / "disk"):
        subprocess.run(["umount", "--lazy", folder / "disk"], check=False)


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

    def terminated(*_):
        clean_up(folder)
        os._exit(1)

    signal.signal(signal.SIGTERM, terminated)
    try:
        run(folder, with_disk)
    except Exception as why:
        say(False, f"{type(why).__name__}: {why}")
    finally:
        clean_up(folder)
    if failures:
        print(f"{len(failures)} failures; logs in {folder}:")
        print("\n".join(f"✘ {text}" for text in failures))
        sys.exit(1)
    shutil.rmtree(folder)
    print("everything holds")


if __name__ == "__main__":
    main()
