"""Runs the program as the rendered documents say, each server in a pod made of Linux namespaces.

A pod has the rendered arguments, environment, user, groups, ports and mounts, a root that cannot be
written, no capabilities, and an address of its own on a bridge, at which this process asks the probes, as a node would.
The program is process 1. There is no kubelet: no seccomp profile, memory limit or network policy is applied.
"""

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from checks.rendered import MINIMAL, SHARED, server

ADMIN = "chart-check-admin-key"
SHOP = "chart-check-shop-key"
REDIS = "chart-check-redis-password"
# OpenShift gives a namespace its own users, with this group; the volumes get the user's number as their group.
CHOSEN_USER, CHOSEN_GROUP = 1000680000, 0
# What an image may bring along: its own environment, and a folder that its VOLUME makes writable. It must not matter.
IMAGE_VARIABLES = {"FIRSTCOME_DATA": "/data", "FIRSTCOME_LISTEN": "0.0.0.0:8080", "PATH": "/"}
IMAGE_VOLUME = "data"
# A debug build on a busy machine may be slow. The time that a pod has to end is that of the documents.
PATIENCE = 60

# The file in the Secret, as README.md has it.
KEYS = f"""
admin_key = "{ADMIN}"

[[keys]]
name = "shop"
sha256 = "{hashlib.sha256(SHOP.encode()).hexdigest()}"
role = "backend"

[[code_keys]]
id = "2027-03"
secret = "{"ab" * 32}"
"""
STYLE = "body { color: #010203 }"


def sh(*command):
    subprocess.run(command, check=True, capture_output=True)


class Network:
    """A bridge with an address for what is outside the pods."""

    V4, V6 = "10.244.0.1", "fd00:244::1"

    def __init__(self):
        # `ip netns` keeps its files there; this process sees its own /run.
        sh("mount", "-t", "tmpfs", "none", "/run")
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "link", "add", "br0", "type", "bridge")
        sh("ip", "addr", "add", f"{self.V4}/16", "dev", "br0")
        sh("ip", "-6", "addr", "add", f"{self.V6}/64", "dev", "br0", "nodad")
        sh("ip", "link", "set", "br0", "up")
        self.pods = 0

    def join(self, v6):
        """Makes a network namespace; returns its name and its address."""
        self.pods += 1
        number = self.pods + 1
        name, outer = f"pod{number}", f"veth{number}"
        sh("ip", "netns", "add", name)
        sh("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
        sh("ip", "link", "set", outer, "master", "br0", "up")
        address = f"fd00:244::{number}" if v6 else f"10.244.0.{number}"
        rest = (
            ["-6", "addr", "add", f"{address}/64", "dev", "eth0", "nodad"]
            if v6
            else ["addr", "add", f"{address}/16", "dev", "eth0"]
        )
        sh("ip", "-n", name, *rest)
        for device in ("lo", "eth0"):
            sh("ip", "-n", name, "link", "set", device, "up")
        return name, address


def as_kubelet_writes(folder, files, group, mode):
    """Writes a Secret or a ConfigMap as a node does: links through `..data`, so that all files change at once."""
    version = folder / "..2026_11_29"
    version.mkdir(parents=True)
    for name, text in files.items():
        (version / name).write_text(text)
        os.chown(version / name, 0, group)
        os.chmod(version / name, mode)
        (folder / name).symlink_to(f"..data/{name}")
    (folder / "..data").symlink_to(version.name)


def bind(source, inside, read_only=False):
    sh("mount", "--bind", source, inside)
    if read_only:
        sh("mount", "-o", "remount,bind,ro", inside)


class Pod:
    """A pod of a rendered server, started."""

    def __init__(self, network, documents, program, home, name, files, data=None):
        template = server(documents)["spec"]["template"]["spec"]
        (container,) = template["containers"]
        self.container, self.name, self.grace = container, name, template["terminationGracePeriodSeconds"]
        security = template["securityContext"]
        user = security.get("runAsUser", CHOSEN_USER)
        group = security.get("runAsGroup", CHOSEN_GROUP)
        volumes_group = security.get("fsGroup", 0 if "runAsUser" in security else CHOSEN_USER)
        self.ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        variables = IMAGE_VARIABLES | {
            one["name"]: one.get("value") or {"metadata.name": name}[one["valueFrom"]["fieldRef"]["fieldPath"]]
            for one in container["env"]
        }
        arguments = [expanded(one, variables) for one in container["args"]]
        netns, self.address = network.join(v6="[::]" in " ".join(arguments))

        root, volumes = home / name / "root", home / name / "volumes"
        root.mkdir(parents=True)
        sh("mount", "-t", "tmpfs", "none", root)
        for folder in ("usr", "proc", "dev"):
            (root / folder).mkdir()
        for link in ("bin", "lib", "lib64"):
            (root / link).symlink_to(f"usr/{link}")
        (root / "firstcome").touch()
        bind("/usr", root / "usr", read_only=True)
        bind(program, root / "firstcome", read_only=True)
        sources = {"image": volumes / "of the image"}
        sources["image"].mkdir(parents=True)
        os.chmod(sources["image"], 0o777)
        (root / IMAGE_VOLUME).mkdir()
        bind(sources["image"], root / IMAGE_VOLUME)
        for volume in template["volumes"]:
            folder = sources[volume["name"]] = volumes / volume["name"]
            if "emptyDir" in volume:
                folder.mkdir()
                os.chown(folder, 0, volumes_group)
                os.chmod(folder, 0o2777)
            else:
                mode = volume.get("secret", {}).get("defaultMode", 0o644)
                as_kubelet_writes(folder, files["secret" if "secret" in volume else "pages"], volumes_group, mode)
        if data:
            # As a new file system looks with this fsGroup.
            (data / "lost+found").mkdir(parents=True, exist_ok=True, mode=0o700)
            os.chown(data, 0, volumes_group)
            os.chmod(data, 0o2775)
            sources["data"] = data
        # Those in others come after them; root makes their folders there, as a container runtime does.
        for mount in sorted(container["volumeMounts"], key=lambda one: one["mountPath"]):
            inside = root / mount["mountPath"].lstrip("/")
            inside.mkdir(parents=True)
            bind(sources[mount["name"]], inside, mount.get("readOnly", False))
        sh("mount", "-o", "remount,ro", root)

        drop = [
            "--reuid",
            str(user),
            "--regid",
            str(group),
            *(["--groups", str(volumes_group)] if volumes_group else ["--clear-groups"]),
        ]
        drop += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
        command = [
            "/usr/sbin/ip",
            "netns",
            "exec",
            netns,
            "/usr/bin/env",
            "-i",
            *(f"{k}={v}" for k, v in variables.items()),
        ]
        command += [
            "/usr/bin/unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            f"--root={root}",
            "--wd=/",
            "--mount-proc",
        ]
        command += ["/usr/bin/setpriv", *drop, "/firstcome", *arguments]
        self.log = home / name / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.started = time.monotonic()

    def get(self, path, port="ops", timeout=5.0):
        """Asks a path; returns status and text, or None and why there is no answer."""
        connection = http.client.HTTPConnection(self.address, self.ports[port], timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as why:
            return None, str(why)
        finally:
            connection.close()

    def probe(self, kind):
        """Asks what the documents ask, at their port; True if a node would count it as a success."""
        probe = self.container[f"{kind}Probe"]
        status, _ = self.get(probe["httpGet"]["path"], probe["httpGet"]["port"], probe.get("timeoutSeconds", 1))
        return status is not None and 200 <= status < 400

    def until(self, probe, success=True, seconds=PATIENCE):
        """Waits until a probe succeeds or fails; False if it does not, or the program ends first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.probe(probe) == success:
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.1)
        return False

    def inside(self):
        """Returns the process number of the program outside the pod; None if it does not run."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split() if children.exists() else []
        return int(found[0]) if found else None

    def status(self):
        """Returns what the kernel says about the program."""
        lines = Path(f"/proc/{self.inside()}/status").read_text().splitlines()
        return {key: value.split() for key, value in (line.split(":", 1) for line in lines)}

    def terminate(self):
        os.kill(self.inside(), signal.SIGTERM)
        self.terminated = time.monotonic()

    def ended(self, seconds):
        """Waits for the end; returns the exit code, or None if there is none in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def said(self):
        return self.log.read_text()[-2000:]


def expanded(text, variables):
    """Replaces `$(NAME)` as Kubernetes does; `$$` is a `$`."""

    def one(found):
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\((\w+)\)", one, text)


class Caller:
    """The command line of the program, outside the pods, with a key."""

    def __init__(self, program, pod, base=""):
        host = f"[{pod.address}]" if ":" in pod.address else pod.address
        self.program, self.url = program, f"http://{host}:{pod.ports['http']}{base}"

    def run(self, *words, key=ADMIN):
        environment = {"FIRSTCOME_URL": self.url, "FIRSTCOME_KEY": key, "HOME": "/nonexistent"}
        done = subprocess.run(
            [self.program, *words, "--json"], env=environment, capture_output=True, text=True, check=False, cwd="/"
        )
        return done.returncode, done.stdout, done.stderr

    def claim(self, subject):
        """Returns the rank, or what was said instead."""
        code, out, err = self.run("claim", "spring", subject, key=SHOP)
        return json.loads(out)["rank"] if code == 0 else f"{out}{err}"

    def nodes(self):
        """Returns the addresses of the servers that live."""
        code, out, _ = self.run("nodes")
        return {one["address"] for one in json.loads(out)["nodes"]} if code == 0 else set()

    def create(self, places):
        return self.run("campaign", "create", "spring", "--places", str(places), "--opens", "now", "--public")


class Run:
    """Pods of one value set, and what has to be true of them."""

    def __init__(self, chart, network, program, temp, report, name, values):
        self.network, self.program, self.report, self.name = network, program, report, name
        self.values, self.documents = values, chart.render(values)
        self.home = temp / name
        self.made = 0

    def that(self, holds, what, otherwise=""):
        return self.report.that(holds, f"{self.name}: {what}", str(otherwise))

    def pod(self, secret, data=None, name=None):
        self.made += 1
        name = name or f"sale-firstcome-{self.made}"
        files = {"secret": {"firstcome.toml": secret}, "pages": {"page.css": STYLE}}
        home = self.home / str(self.made)
        return Pod(self.network, self.documents, self.program, home, name, files, data)

    def is_ready(self, pod):
        """The probes succeed, and the process has only what the documents give it."""
        up = pod.until("startup") and pod.until("readiness") and pod.probe("liveness")
        if not self.that(up, f"{pod.name}: startup, liveness and readiness probe succeed", pod.said()):
            return False
        status = pod.status()
        rights = {status[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
        alone = (
            rights == {"0" * 16}
            and status["NoNewPrivs"] == ["1"]
            and "0" not in status["Uid"]
            and status["NSpid"][-1] == "1"
        )
        self.that(alone, f"{pod.name}: process 1 of its pod, not root, without capabilities", status)
        code, text = pod.get("/metrics")
        self.that(
            code == 200 and "firstcome_ready 1" in text,
            f"{pod.name}: metrics at the operations listener",
            (code, text[:200]),
        )
        closed = pod.get("/metrics", "http")[0], pod.get("/readyz", "http")[0]
        self.that(all(one not in (None, 200) for one in closed), f"{pod.name}: no operations where callers are", closed)
        return True

    def ends(self, pod):
        """SIGTERM: it says at once that it is not ready, and ends by itself before it would be killed."""
        pod.terminate()
        self.that(pod.until("readiness", success=False, seconds=5), f"{pod.name}: not ready after SIGTERM", pod.said())
        code = pod.ended(pod.grace)
        took = time.monotonic() - pod.terminated
        self.that(
            code == 0, f"{pod.name}: ends by itself, {took:.1f} s after SIGTERM of {pod.grace}", (code, pod.said())
        )
        pod.process.kill()

    def does_not_start(self, what, pod, words):
        code = pod.ended(PATIENCE)
        said = " ".join(pod.said().split())
        self.that(code not in (None, 0) and words in said, f"{what}: does not start", (code, said))
        pod.process.kill()


def embedded(run, base=""):
    """One server: claims are there after it was replaced, on the same volume."""
    data = run.home / "data"
    first = run.pod(KEYS, data)
    if not run.is_ready(first):
        return first.process.kill()
    caller = Caller(run.program, first, base)
    run.that(caller.create(3)[0] == 0, "a campaign is created", first.said())
    ranks = [caller.claim(subject) for subject in ("ann", "bob")]
    run.that(ranks == [1, 2], "claims have their ranks", ranks)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (data / "data").iterdir()}
    closed = all(mode & 0o077 == 0 for mode in modes.values()) and (data / "data").stat().st_mode & 0o077 == 0
    run.that(modes and closed, "its files are its own", modes)
    if base:
        status, page = first.get(f"{base}/c/spring", "http")
        run.that(status == 200 and STYLE in page, "a page under the base path, with the style of the ConfigMap", status)
        run.that(
            run.values["settings"]["pages_shop"] in page, "a setting with $ reaches the program unchanged", page[:200]
        )
        status, text = first.get(f"{base}/openapi.json", "http")
        servers = json.loads(text).get("servers") if status == 200 else text[:200]
        run.that(servers == [{"url": base}], "the description of the API has the base path", servers)
    run.ends(first)
    second = run.pod(KEYS, data)
    if run.is_ready(second):
        caller = Caller(run.program, second, base)
        ranks = [caller.claim(subject) for subject in ("bob", "ann", "cleo")]
        run.that(ranks == [2, 1, 3], "the next pod on the volume goes on", ranks)
        run.that(caller.nodes() == {f"http://{second.name}:8080"}, "`nodes` names the pod", caller.nodes())
        run.ends(second)


def shared(run, url, pods):
    """Servers on one store: ranks have no gap over all of them, and one that ends takes nothing with it."""
    secret = f'store = "{url}"\n{KEYS}'
    started = [run.pod(secret) for _ in range(pods)]
    if not all([run.is_ready(pod) for pod in started]):
        return [pod.process.kill() for pod in started]
    callers = [Caller(run.program, pod) for pod in started]
    run.that(callers[0].create(pods + 1)[0] == 0, "a campaign is created", started[0].said())
    ranks = [caller.claim(f"subject-{number}") for number, caller in enumerate(callers)]
    run.that(ranks == list(range(1, pods + 1)), "claims at each server have ranks without a gap", ranks)
    names = {f"http://{pod.name}:8080" for pod in started}
    end = time.monotonic() + PATIENCE
    # Each announces itself once a second.
    while (known := callers[0].nodes()) != names and time.monotonic() < end:
        time.sleep(0.2)
    run.that(known == names, "`nodes` names all pods", known)
    started[0].terminate()
    rank = callers[1].claim("late")
    run.that(rank == pods + 1, "the others answer while one ends", rank)
    code = started[0].ended(started[0].grace)
    run.that(code == 0, f"{started[0].name}: ends by itself", (code, started[0].said()))
    for pod in started[1:]:
        run.ends(pod)


def redis(temp):
    """Starts a Redis for the pods that stores each entry on the disk before it answers."""
    program = shutil.which("redis-server")
    if not program:
        return None
    folder = temp / "redis"
    folder.mkdir()
    options = [
        "--bind",
        Network.V4,
        Network.V6,
        "--port",
        "6379",
        "--requirepass",
        REDIS,
        "--dir",
        str(folder),
        "--save",
        "",
    ]
    options += ["--appendonly", "yes", "--appendfsync", "always"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, *options], stdout=log, stderr=log)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and "Ready to accept" not in (folder / "log").read_text():
        time.sleep(0.1)
    return process


def check(chart, program, temp, report):
    """Runs the value sets of ci/, and what must not start."""
    network = Network()
    sets = chart.sets()

    def run(name, values):
        return Run(chart, network, program, temp, report, name, values)

    embedded(run("embedded", sets["embedded"]))
    embedded(run("embedded-full", sets["embedded-full"]), sets["embedded-full"]["basePath"])
    store = redis(temp)
    if not report.that(store, "redis-server is here", "install it: servers that share a store need one"):
        return
    shared(run("shared", sets["shared"]), f"redis://:{REDIS}@{Network.V4}:6379", 3)
    shared(run("shared-full", sets["shared-full"]), f"redis://:{REDIS}@[{Network.V6}]:6379", 2)
    wrong = run("no-store", SHARED)
    wrong.does_not_start("a shared store without `store` in the Secret", wrong.pod(KEYS), "journal.sqlite")
    wrong = run("no-key", MINIMAL)
    wrong.does_not_start("a Secret without admin_key", wrong.pod("", wrong.home / "data"), "admin key")
    store.terminate()
    store.wait(PATIENCE)
