#!/usr/bin/env python3
"""Checks the chart: renders it with helm, looks at every document, and runs the program as the documents say.

    sudo python3 packaging/helm/firstcome/check.py PROGRAM [--tools FOLDER]

PROGRAM is a built `firstcome`. Root is needed for the pods that this makes by itself, out of namespaces of Linux: each
has a network address, users, folders and a read-only root as the rendered documents ask for. Also needed: Go (for
helm), redis-server, and `ip`, `unshare` and `setpriv`. helm and a Python environment are made in FOLDER the first time.

The exit code is 0 if everything is right, and 1 if anything is not, or could not be checked. Each line says what was
checked.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
CHART = Path(__file__).resolve().parent
REPOSITORY = CHART.parents[2]
INSIDE = "FIRSTCOME_CHART_CHECK_INSIDE"

HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0"
OPERATOR = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring@v0.95.2"
PACKAGES = ["kubernetes-validate==1.37.0", "PyYAML==6.0.3"]


def run(command, **options):
    """Runs a command that has to succeed; returns what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def make_tools(folder):
    """Builds helm and the reader of the operator's types, and makes the Python environment, where they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    go = os.environ | {"GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
    if not (folder / "helm").exists():
        run(["go", "install", HELM], env=go, cwd=folder)
    if not (folder / "operator_types").exists():
        source = folder / "operator"
        source.mkdir(exist_ok=True)
        (source / "main.go").write_text((CHART / "checks/operator_types.go").read_text())
        (source / "go.mod").write_text("module check\n")
        run(["go", "get", OPERATOR], env=go, cwd=source)
        run(["go", "build", "-o", folder / "operator_types", "."], env=go, cwd=source)
    if not (folder / "python/made").exists():
        run([sys.executable, "-m", "venv", folder / "python"])
        run([folder / "python/bin/pip", "install", "--quiet", *PACKAGES])
        (folder / "python/made").touch()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=Path, nargs="?", default=os.environ.get("FIRSTCOME", ""), help="or FIRSTCOME")
    options.add_argument("--tools", type=Path, default=REPOSITORY / "target/chart-check")
    options = options.parse_args()
    if INSIDE not in os.environ:
        if os.geteuid() != 0:
            sys.exit("the pods need root: run this with sudo")
        if not os.access(options.program, os.X_OK):
            sys.exit(f"{options.program} is no program: build firstcome first")
        make_tools(options.tools.resolve())
        inside = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        inside += ["--mount-proc", "--propagation", "private"]
        python = options.tools.resolve() / "python/bin/python"
        # Everything that is started inside ends with it. Its mounts are not seen here, where the folder is removed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        with tempfile.TemporaryDirectory(prefix="firstcome-chart-") as temp:
            environment = os.environ | {INSIDE: temp}
            sys.exit(subprocess.run([*inside, python, *sys.argv], env=environment, check=False).returncode)

    sys.path.insert(0, str(CHART))
    from checks import pods, rendered
    from checks.report import Report

    report, temp = Report(), Path(os.environ[INSIDE])
    chart = rendered.Chart(CHART, options.tools.resolve(), temp, report)
    chart.check(options.program.resolve())
    pods.check(chart, options.program.resolve(), temp, report)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
