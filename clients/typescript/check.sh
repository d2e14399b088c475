#!/bin/sh
# Runs all checks of this client: FIRSTCOME=/path/to/firstcome ./check.sh. The exit code is 0 if all is well, otherwise 1.
# It needs Node 20 or newer, npm, Python 3.9 or newer, and chromium (or CHROMIUM).
set -eu
trap 'test $? -eq 0 || exit 1' EXIT
cd "$(dirname "$0")"
fail() { echo "check.sh: $*" >&2; exit 1; }

test -x "${FIRSTCOME:-}" || fail "set FIRSTCOME to the path of the program"
FIRSTCOME=$(realpath "$FIRSTCOME")
export FIRSTCOME

npm ci --no-audit --no-fund --silent
if grep '"resolved"' package-lock.json | grep -v '"resolved": "https://registry\.npmjs\.org/'; then
  fail "package-lock.json names another registry: remove the resolved fields"
fi
node generate.mjs --check
# Without comments, empty lines and what is generated.
lines=$(cat src/[!d]*.ts | grep -cvE '^[[:space:]]*(//.*|/?\*.*)?$')
test "$lines" -le 900 || fail "$lines lines are written by hand, at most 900 may be"
npm run --silent build
npm run --silent build:tests
node --test --test-reporter=spec build/test/unit/*.test.js build/test/system/*.test.js
echo "All is well; $lines lines of the client are written by hand."
