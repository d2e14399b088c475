#!/bin/sh
# Runs all checks of the Java client and the Spring Boot starter: FIRSTCOME=/path/to/firstcome ./check.sh
# What it downloads and installs goes into target/repository. The exit code is 0 if everything is right, otherwise 1.
set -u
cd "$(dirname "$0")" || exit 1
fail() { echo "check.sh: $1" >&2; exit 1; }
step() { echo "== $1"; }
[ -n "${FIRSTCOME:-}" ] || fail "set FIRSTCOME to the path of the firstcome program"
[ -x "$FIRSTCOME" ] || fail "FIRSTCOME ($FIRSTCOME) is no program"
export FIRSTCOME
here=$(pwd)
repository="$here/target/repository"
maven() { mvn -q -B "-Dmaven.repo.local=$repository" "$@"; }
starter="$here/../spring-boot-starter"

rm -rf client/target junit/target target/consumer "$starter"/*/target
# An older build of ours must not stand in for what is not built.
rm -rf "$repository/io/firstcome" "$repository/com/example"

step "generated files"
python3 generate.py --check || fail "generated files are old"
step "client: unit tests, the list of behaviours, the real program, packages"
maven install || fail "the client"
step "consumer of the installed client"
mkdir -p target/consumer && cp -r consumer target/consumer/java || fail "no consumer"
python3 samples.py README.md target/consumer/java/src/main/java || fail "the samples"
maven -f target/consumer/java/pom.xml verify || fail "the consumer of the client"
step "starter: Spring Boot 4 and 3.5"
maven -f "$starter/pom.xml" install || fail "the starter"
step "consumer of the installed starter"
cp -r "$starter/consumer" target/consumer/spring || fail "no consumer"
python3 samples.py "$starter/README.md" target/consumer/spring/src/main/java || fail "the samples"
maven -f target/consumer/spring/pom.xml verify || fail "the consumer of the starter"
tests=$(cat client/target/surefire-reports/*.txt "$starter"/*/target/surefire-reports/*.txt target/consumer/*/target/surefire-reports/*.txt \
    | sed -n 's/^Tests run: \([0-9]*\), Failures: 0, Errors: 0, Skipped: 0.*/\1/p' | awk '{all += $1} END {print all + 0}')
echo "everything is right: $tests tests"
