#!/bin/sh
# Runs all checks of the example: FIRSTCOME=/path/to/firstcome ./check.sh
# What it downloads goes where clients/java/check.sh has it. The exit code is 0 if everything is right, otherwise 1.
set -u
cd "$(dirname "$0")" || exit 1
fail() { echo "check.sh: $1" >&2; exit 1; }
step() { echo "== $1"; }
[ -n "${FIRSTCOME:-}" ] || fail "set FIRSTCOME to the path of the firstcome program"
[ -x "$FIRSTCOME" ] || fail "FIRSTCOME ($FIRSTCOME) is no program"
export FIRSTCOME
command -v mvn >/dev/null || fail "mvn is not installed"
rm -rf shop/target

step "client, starter and shop; the shop's tests with the real program"
# The clients have a check of their own: of their tests none is named so.
mvn -q -B "-Dmaven.repo.local=$(cd ../../clients/java && pwd)/target/repository" -Dmaven.javadoc.skip -Dmaven.source.skip \
    -Dmaven.test.redirectTestOutputToFile -Dtest=ShopTest -Dsurefire.failIfNoSpecifiedTests=false package || fail "the build or the tests"
tests=$(sed -n 's/^Tests run: \([1-9][0-9]*\), Failures: 0, Errors: 0, Skipped: 0.*/\1/p' shop/target/surefire-reports/*.txt)
[ -n "$tests" ] || fail "no test ran"
step "a drop"
./run.sh || fail "the drop"
echo "everything is right: $tests tests, and a drop"
