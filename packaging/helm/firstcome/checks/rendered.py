"""The documents that helm renders: against the schemas of Kubernetes, against each other, and against the program."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import yaml
from kubernetes_validate.utils import all_versions, major_minor

MINIMAL = {"image": {"repository": "registry.example/firstcome"}, "secret": "firstcome"}
SHARED = MINIMAL | {"store": "shared"}
PEER = {"podSelector": {"matchLabels": {"app": "prometheus"}}}

# Rules for a first look, where the repository's own file of rules is not there.
SOME_RULES = """groups:
  - name: firstcome
    rules:
      - alert: FirstcomeNotReady
        expr: firstcome_ready == 0
        for: 1m
        labels: {severity: page}
        annotations: {summary: "{{ $labels.pod }} is not ready"}
"""

# Value sets that are refused, each with words of the sentence that says what to do.
REFUSED = [
    ({}, "image.repository is empty: set it to where you pushed the image"),
    ({"image": {"repository": "r/f"}}, "make a Secret with the file firstcome.toml"),
    (MINIMAL | {"replicas": 2}, "Set replicas to 1, or name a Redis"),
    (MINIMAL | {"settings": {"admin_key": "0123456789abcdef"}}, "write it into firstcome.toml in the Secret"),
    (SHARED | {"settings": {"store": "redis://a"}}, "write it into firstcome.toml in the Secret"),
    (MINIMAL | {"settings": {"ledger": "none"}}, "write it into firstcome.toml in the Secret"),
    (MINIMAL | {"settings": {"base_path": "/q"}}, "use the value basePath"),
    (MINIMAL | {"settings": {"ops_listen": "0.0.0.0:1"}}, "leave it out"),
    (SHARED | {"settings": {"archive": True}}, "so there is no archive. Leave it out"),
    (MINIMAL | {"settings": {"leaf_ms": 5}}, "there is no such setting. There are: archive, body_bytes"),
    (MINIMAL | {"settings": {"leave_ms": None}}, "leave_ms"),
    (MINIMAL | {"settings": {"drain_ms": 600001}}, "/settings/drain_ms"),
    (MINIMAL | {"serviceMonitor": {"enabled": True}}, "name your Prometheus in networkPolicy.monitoring"),
    (MINIMAL | {"prometheusRule": {"enabled": True}}, "--set-file prometheusRule.rules=FILE"),
    (MINIMAL | {"prometheusRule": {"enabled": True, "rules": "a: b"}}, "it has no groups"),
    (MINIMAL | {"ingress": {"enabled": True}}, "set the host under which people reach the server"),
    (MINIMAL | {"store": "redis"}, "/store"),
    (MINIMAL | {"basePath": "/queue/"}, "/basePath"),
    (MINIMAL | {"volume": {"accessMode": "ReadWriteMany"}}, "/volume/accessMode"),
    (MINIMAL | {"replica": 1}, "replica"),
]


class Chart:
    """The chart, and how it is rendered."""

    def __init__(self, folder, tools, temp, report):
        self.folder, self.tools, self.temp, self.report = folder, tools, temp, report
        self.versions = list(dict.fromkeys(major_minor(version) for version in all_versions()))[-3:]
        watch = folder.parents[1] / "watch/rules.yaml"
        self.rules = watch.read_text() if watch.exists() else SOME_RULES
        self.rules_from = "packaging/watch/rules.yaml" if watch.exists() else "rules of this check"

    def helm(self, verb, values, version=None):
        """Runs `helm template` or `helm lint --strict`; returns the ended process."""
        file = self.temp / "values.json"
        file.write_text(json.dumps(values))
        command = [self.tools / "helm", verb, "--kube-version", version or self.versions[-1], "--values", file]
        command += ["--strict", self.folder] if verb == "lint" else ["sale", self.folder, "--namespace", "shop"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def render(self, values, version=None):
        """Returns the documents; None if helm refuses, which is noted."""
        done = self.helm("template", values, version)
        if done.returncode != 0:
            self.report.that(False, "helm template", done.stderr)
            return None
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    def sets(self):
        """Returns the value sets by name: those in ci/, and one with rules."""
        found = {file.stem: yaml.safe_load(file.read_text()) for file in sorted((self.folder / "ci").glob("*.yaml"))}
        rules = {"enabled": True, "rules": self.rules, "labels": {"release": "prometheus"}}
        found["shared-rules"] = SHARED | {"prometheusRule": rules}
        return found

    def check(self, program):
        """Does everything for which nothing has to be started but the program's help."""
        lint = self.helm("lint", {})
        self.report.that(lint.returncode == 0, "helm lint --strict, without values", lint.stdout + lint.stderr)
        known = Known(program)
        for name, values in self.sets().items():
            lint = self.helm("lint", values)
            self.report.that(lint.returncode == 0, f"{name}: helm lint --strict", lint.stdout + lint.stderr)
            for version in self.versions:
                documents = self.render(values, version)
                if documents is not None:
                    self.against_schemas(name, documents, version)
            if documents is not None:
                Fits(name, documents, self.report).check()
                self.against_program(name, documents, known)
        self.against_operator()
        self.settings_are_all(known)
        for values, words in REFUSED:
            done = self.helm("template", values)
            said = " ".join(done.stderr.split())
            self.report.that(done.returncode != 0 and words in said, f"refused: {words}", said or "it was rendered")

    def against_schemas(self, name, documents, version):
        """Validates each document that Kubernetes itself has a schema for."""
        wrong, seen = [], 0
        for document in documents:
            if document["apiVersion"].startswith("monitoring.coreos.com/"):
                continue
            try:
                kubernetes_validate.validate(document, version, strict=True)
                seen += 1
            except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as why:
                wrong.append(f"{document['kind']}: {why.message}")
        self.report.that(
            seen >= 6 and not wrong, f"{name}: {seen} documents are valid in Kubernetes {version}", "; ".join(wrong)
        )

    def against_operator(self):
        """Reads ServiceMonitor and PrometheusRule into the operator's types, and the rules with promtool."""
        kinds = {}
        for values in self.sets().values():
            kinds |= {
                d["kind"]: d for d in self.render(values) or [] if d["apiVersion"].startswith("monitoring.coreos.com/")
            }
        self.report.that(
            set(kinds) == {"ServiceMonitor", "PrometheusRule"},
            "both kinds of the operator are rendered",
            str(list(kinds)),
        )
        for kind, document in kinds.items():
            file = self.temp / f"{kind}.yaml"
            file.write_text(yaml.safe_dump(document))
            done = subprocess.run([self.tools / "operator_types", file], capture_output=True, text=True, check=False)
            self.report.that(done.returncode == 0, f"{kind} has only fields that the operator's type has", done.stderr)
        groups = kinds.get("PrometheusRule", {}).get("spec")
        same = groups == {"groups": yaml.safe_load(self.rules)["groups"]}
        self.report.that(same, f"the groups are unchanged ({self.rules_from})")
        if shutil.which("promtool"):
            file = self.temp / "rules.yaml"
            file.write_text(yaml.safe_dump(groups))
            done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)
            self.report.that(done.returncode == 0, "promtool takes them", done.stdout + done.stderr)
        else:
            print("note  promtool is not here: the rules were not read by it")

    def against_program(self, name, documents, known):
        """Looks that the program has every flag and variable of the container."""
        container = server(documents)["spec"]["template"]["spec"]["containers"][0]
        verb, *flags = container["args"]
        names = [flag.split("=")[0] for flag in flags]
        missing = [flag for flag in names if flag not in known.flags]
        twice = len(names) != len(set(names))
        self.report.that(
            verb == "serve" and names and not missing and not twice,
            f"{name}: the program has all {len(names)} flags",
            f"missing: {missing}",
        )
        variables = [one["name"] for one in container["env"] if one["name"].startswith("FIRSTCOME_")]
        missing = [one for one in variables if one.removeprefix("FIRSTCOME_").lower() not in known.settings]
        self.report.that(not missing, f"{name}: no variable is unknown to the program", str(missing))

    def settings_are_all(self, known):
        """Compares the names that the chart knows, and its defaults, with the program's."""
        text = (self.folder / "templates/_helpers.tpl").read_text()
        plain = set(re.search(r'define "firstcome.settings" -}}(.*?){{', text, re.S)[1].split())
        secret = set(re.findall(r'"(\w+)"', re.search(r"\$secret := list (.*?) }}", text)[1]))
        own = set(re.findall(r'"(\w+)" "', re.search(r"\$own := dict (.*?) }}", text)[1])) | {"ops_listen", "advertise"}
        other = (plain | secret | own) ^ set(known.settings)
        self.report.that(
            not other,
            f"the chart knows all {len(known.settings)} settings of the program, and no other",
            str(sorted(other)),
        )
        defaults = yaml.safe_load((self.folder / "values.yaml").read_text())["settings"]
        differ = {
            name: known.settings.get(name) for name, value in defaults.items() if known.settings.get(name) != value
        }
        self.report.that(defaults and not differ, "settings in values.yaml are the program's defaults", str(differ))


class Known:
    """What the program says about itself."""

    def __init__(self, program):
        def say(*words):
            return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout

        self.flags = set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", say("serve", "--help"), re.M))
        printed = json.loads(say("serve", "--print-config", "--json"))
        self.settings = {name: one["value"] for name, one in printed.items()}


def server(documents):
    """Returns the StatefulSet or the Deployment."""
    (one,) = [d for d in documents if d["kind"] in ("StatefulSet", "Deployment")]
    return one


class Fits:
    """Whether the documents of one rendering fit together, which no schema sees."""

    def __init__(self, name, documents, report):
        self.name, self.documents, self.report = name, documents, report
        self.server = server(documents)
        self.pod = self.server["spec"]["template"]
        (self.container,) = self.pod["spec"]["containers"]
        self.flags = dict(flag.removeprefix("--").split("=", 1) for flag in self.container["args"][1:])

    def of(self, kind):
        return [d for d in self.documents if d["kind"] == kind]

    def that(self, holds, what, otherwise=""):
        self.report.that(holds, f"{self.name}: {what}", str(otherwise))

    def selects(self, selector):
        return selector.items() <= self.pod["metadata"]["labels"].items() and len(selector) == 2

    def check(self):
        self.addresses()
        self.policy()
        self.security()
        spec = self.pod["spec"]
        least = (int(self.flags["leave-ms"]) + int(self.flags["drain-ms"])) / 1000 + 10
        grace = spec["terminationGracePeriodSeconds"]
        self.that(least + 5 <= grace < least + 6, f"{grace} s to end are leave_ms + drain_ms + 15 s", least)
        self.that("lifecycle" not in self.container, "no preStop")
        volumes = {one["name"] for one in spec["volumes"]} | {
            one["metadata"]["name"] for one in self.server["spec"].get("volumeClaimTemplates", [])
        }
        mounts = self.container["volumeMounts"]
        mounted = {one["name"] for one in mounts}
        self.that(volumes == mounted, "each volume is mounted", volumes ^ mounted)
        writable = {one["name"] for one in mounts if not one.get("readOnly")}
        embedded = self.server["kind"] == "StatefulSet"
        self.that(writable == {"data"}, "only the data can be written", writable)
        under = [path for path in (self.flags["config"], self.flags.get("data"), self.flags.get("pages-dir")) if path]
        inside = all(any(Path(path).is_relative_to(one["mountPath"]) for one in mounts) for path in under)
        self.that(inside, "paths in flags are in volumes", under)
        spread = spec.get("topologySpreadConstraints", [])
        if embedded:
            self.that(self.server["spec"]["replicas"] <= 1 and not spread, "one server with the embedded store")
            service = [
                one for one in self.of("Service") if one["metadata"]["name"] == self.server["spec"]["serviceName"]
            ]
            self.that(
                len(service) == 1 and service[0]["spec"]["clusterIP"] == "None",
                "the set's Service is there, without an address",
            )
        else:
            keys = [one["topologyKey"] for one in spread]
            right = all(self.selects(one["labelSelector"]["matchLabels"]) for one in spread)
            self.that(
                keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"] and right,
                "spread over zones, then nodes",
            )

    def addresses(self):
        """Services, probes, budget, ingress and monitor meet the pod."""
        ports = {one["name"]: one["containerPort"] for one in self.container["ports"]}
        listens = {"http": self.flags["listen"], "ops": self.flags["ops-listen"]}
        self.that(
            {n: int(a.rsplit(":", 1)[1]) for n, a in listens.items()} == ports,
            "the program listens at the container's ports",
        )
        probes = {kind: self.container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
        paths = {kind: (one["path"], one["port"]) for kind, one in probes.items()}
        wanted = {"startup": ("/livez", "ops"), "liveness": ("/livez", "ops"), "readiness": ("/readyz", "ops")}
        self.that(paths == wanted, "probes ask the operations listener", paths)
        services = self.of("Service")
        meets = all(
            self.selects(one["spec"]["selector"]) and all(p["targetPort"] in ports for p in one["spec"]["ports"])
            for one in services
        )
        self.that(len(services) == 2 and meets, "both Services select the pods")
        open_to_all = [one for one in services if one["spec"].get("clusterIP") != "None"]
        self.that(
            [p["targetPort"] for one in open_to_all for p in one["spec"]["ports"]] == ["http"],
            "the Service for callers has no operations",
        )
        (budget,) = self.of("PodDisruptionBudget")
        self.that(self.selects(budget["spec"]["selector"]["matchLabels"]), "the budget selects the pods")
        self.that(self.selects(self.server["spec"]["selector"]["matchLabels"]), "the server selects its pods")
        for ingress in self.of("Ingress"):
            (rule,) = ingress["spec"]["rules"]
            (path,) = rule["http"]["paths"]
            service = path["backend"]["service"]
            there = [
                one
                for one in open_to_all
                if one["metadata"]["name"] == service["name"]
                and service["port"]["name"] in [p["name"] for p in one["spec"]["ports"]]
            ]
            self.that(
                there and path["path"] == self.flags.get("base-path", "/"),
                "the ingress leads to the Service, at the program's base path",
            )
        for monitor in self.of("ServiceMonitor"):
            wanted = monitor["spec"]["selector"]["matchLabels"]
            selected = [one for one in services if wanted.items() <= one["metadata"]["labels"].items()]
            port = monitor["spec"]["endpoints"][0]["port"]
            job = [one["metadata"]["labels"].get(monitor["spec"]["jobLabel"]) for one in selected]
            self.that(job == ["firstcome"], "the job is called firstcome", job)
            self.that(
                len(selected) == 1 and port in [p["name"] for p in selected[0]["spec"]["ports"]],
                "the monitor selects the Service of operations alone",
            )

    def policy(self):
        """The operations are open to nobody who is not named."""
        (policy,) = self.of("NetworkPolicy")
        self.that(self.selects(policy["spec"]["podSelector"]["matchLabels"]), "the network policy selects the pods")
        rules = policy["spec"]["ingress"]
        ops = [rule for rule in rules if "ops" in [port["port"] for port in rule["ports"]]]
        self.that(all(rule.get("from") for rule in ops), "nobody reaches the operations but who is named", ops)
        self.that(
            all(len(rule["ports"]) == 1 for rule in rules) and rules[0]["ports"][0]["port"] == "http",
            "a rule is about one port",
        )

    def security(self):
        spec, container = self.pod["spec"], self.container["securityContext"]
        pod = spec["securityContext"]
        self.that(
            pod["runAsNonRoot"] is True
            and pod.get("runAsUser", 1) != 0
            and pod["seccompProfile"] == {"type": "RuntimeDefault"},
            "not root, seccomp of the runtime",
        )
        wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        self.that(container == wanted, "read-only root, no capabilities", container)
        (account,) = self.of("ServiceAccount")
        tokens = [account["automountServiceAccountToken"], spec["automountServiceAccountToken"]]
        self.that(
            tokens == [False, False] and spec["serviceAccountName"] == account["metadata"]["name"],
            "an account without a token",
        )
        self.that(spec["enableServiceLinks"] is False, "no variables of Services in the environment")
        secret = [one["secret"] for one in spec["volumes"] if "secret" in one]
        plain = all("valueFrom" not in one or "secretKeyRef" not in one["valueFrom"] for one in self.container["env"])
        self.that(
            len(secret) == 1 and secret[0]["defaultMode"] == 0o440 and plain and not self.of("Secret"),
            "secrets come from files alone",
        )
