#!/bin/sh
# Runs all checks of the Python client: FIRSTCOME=/path/to/firstcome ./check.sh
# It installs tools and the package into a temporary folder. The exit code is 0 if everything is right, otherwise 1.
set -eu
cd "$(dirname "$0")"
: "${FIRSTCOME:?set FIRSTCOME to the path of the firstcome program}"
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check.sh: $1" >&2; exit 1; }

[ -x "$FIRSTCOME" ] || fail "FIRSTCOME ($FIRSTCOME) is no program"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$python is older than 3.10"

step() { echo "== $1"; }
step "tools"
"$python" -m venv "$work/tools"
bin="$work/tools/bin"
"$bin/pip" install -q --disable-pip-version-check build mypy pytest ruff . || fail "the tools cannot be installed"

step "generated files"
"$bin/python" generate.py --check || fail "generated files are old"
step "style"
"$bin/ruff" check . ../conformance || fail "ruff"
step "types"
"$bin/mypy" || fail "mypy"
step "unit tests"
"$bin/pytest" -q -p no:cacheprovider || fail "unit tests"
step "conformance, both clients"
"$bin/python" tests/conformance.py || fail "conformance"

step "package"
"$bin/python" -m build -q --outdir "$work/dist" . || fail "the package cannot be built"
"$python" -m venv "$work/consumer"
"$work/consumer/bin/pip" install -q --disable-pip-version-check "$work"/dist/*.whl fastapi django \
    || fail "the wheel cannot be installed"
mkdir -p "$work/away/tests"
cp README.md "$work/away/"
cp tests/conformance.py tests/consumer.py "$work/away/tests/"
FIRSTCOME_CLIENTS="$(cd .. && pwd)" "$work/consumer/bin/python" "$work/away/tests/consumer.py" || fail "the installed package"
echo "everything is right"
