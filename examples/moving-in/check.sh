#!/usr/bin/env bash
# Runs the programs before and after for real, and compares what they do: FIRSTCOME=/path/to/firstcome ./check.sh [KIND…]
# KIND is a folder here; all of them if none is named. Everything it starts and downloads is in a temporary folder and the caches
# of pip, npm and Maven. The exit code is 0 if everything holds, 1 if something does not, 2 if something is missing.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
fail() { echo "check.sh: $1" >&2; exit "${2:-1}"; }

kinds=("$@")
[ $# -gt 0 ] || kinds=(redis-counter redis-setnx-seat redisson-lock row-for-update)

# --- What is needed

# Debian keeps the programs of PostgreSQL off the search path.
for folder in /usr/lib/postgresql/*/bin; do PATH=$PATH:$folder; done
need() { command -v "$1" >/dev/null || fail "$1 is missing: install $2" 2; }
recent() { "${@:2}" 2>/dev/null || fail "$1" 2; }
[ -x "${FIRSTCOME:-}" ] || fail "set FIRSTCOME to the path of the firstcome program" 2
FIRSTCOME=$(realpath "$FIRSTCOME")
need timeout coreutils
need curl curl
java_needs() {
    need javac "a JDK from 17 on (openjdk-17-jdk-headless)"
    need mvn "Maven (maven)"
}
for kind in "${kinds[@]}"; do
    case $kind in
    redis-counter)
        need redis-server redis-server
        need python3 "Python from 3.10 on, with venv (python3-venv)"
        recent "python3 is older than 3.10, or has no venv (python3-venv)" \
            python3 -c 'import sys, ensurepip; assert sys.version_info >= (3, 10)' ;;
    redis-setnx-seat)
        need redis-server redis-server
        need node "Node.js from 20 on (nodejs)"
        need npm "npm (npm)"
        recent "node is older than 20" node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' ;;
    redisson-lock) need redis-server redis-server; java_needs ;;
    row-for-update) need initdb "PostgreSQL (postgresql)"; java_needs; [ "$(id -u)" != 0 ] || need setpriv util-linux ;;
    *) fail "there is no kind $kind" 2 ;;
    esac
done

# --- Servers

work=$(mktemp -d)
chmod 755 "$work" # The user of PostgreSQL has a folder in it.
pids=() child=
clean_up() {
    code=$?
    trap - EXIT INT TERM
    [ -z "$child" ] || pids+=("$child")
    # PostgreSQL is older than who uses it, and waits until they are gone.
    for ((n = ${#pids[@]} - 1; n >= 0; n--)); do kill "${pids[n]}" 2>/dev/null || true; done
    for _ in $(seq 50); do kill -0 "${pids[@]}" 2>/dev/null || break; sleep 0.1; done
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# wait_for WHAT LOG COMMAND…: at most 30 s.
wait_for() {
    local what=$1 log=$2 end=$((SECONDS + 30))
    until "${@:3}" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { tail -n 20 "$log" >&2; fail "$what does not answer"; }
        sleep 0.1
    done
}
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}
start_redis() {
    [ -z "${REDIS_URL:-}" ] || return 0
    local port; port=$(free_port)
    redis-server --port "$port" --bind 127.0.0.1 --save "" --dir "$work" >"$work/redis.log" 2>&1 &
    pids+=($!)
    wait_for redis-server "$work/redis.log" redis-cli -p "$port" ping
    export REDIS_URL=redis://127.0.0.1:$port
}
start_postgres() {
    local port data=$work/postgres as=(); port=$(free_port)
    mkdir "$data"
    # It does not run as root.
    if [ "$(id -u)" = 0 ]; then chown nobody "$data"; as=(setpriv --reuid=nobody --regid=nogroup --clear-groups); fi
    (cd "$data" && "${as[@]}" initdb -D "$data" -U shop -A trust --no-sync) >"$work/postgres.log" 2>&1 ||
        { cat "$work/postgres.log" >&2; fail initdb; }
    (cd "$data" && exec "${as[@]}" postgres -D "$data" -h 127.0.0.1 -p "$port" -k "") >>"$work/postgres.log" 2>&1 &
    pids+=($!)
    wait_for postgres "$work/postgres.log" pg_isready -h 127.0.0.1 -p "$port" -U shop -d postgres
    export JDBC_URL="jdbc:postgresql://127.0.0.1:$port/postgres?user=shop" POSTGRES=postgres://shop@127.0.0.1:$port/postgres
}
# start_firstcome NAME [SETTING…]: a server, and the address and the key for its clients.
start_firstcome() {
    local log=$work/firstcome-$1
    export FIRSTCOME_KEY=only-for-this-check
    FIRSTCOME_ADMIN_KEY=$FIRSTCOME_KEY "$FIRSTCOME" serve --listen 127.0.0.1:0 --data "$work/data-$1" --leave-ms 0 "${@:2}" \
        >"$log.out" 2>"$log.log" &
    pids+=($!)
    wait_for firstcome "$log.log" grep -q '^listening on ' "$log.out"
    FIRSTCOME_URL=$(sed -n 's/^listening on //p' "$log.out")
    export FIRSTCOME_URL
    wait_for firstcome "$log.log" curl -fsS --max-time 5 "$FIRSTCOME_URL/readyz"
}
campaign() { "$FIRSTCOME" campaign create "$1" --opens now "${@:2}" >/dev/null; }

# --- Kinds

# The code of after, without empty lines, comments and imports.
count_lines() {
    local lines; lines=$(grep -cvE '^\s*(//.*|/\*\*.*|#.*|""".*|import .*|from .*)?$' "$1")
    [ "$lines" -le 40 ] || fail "$1 has $lines lines of code, at most 40 may be"
    echo "ok    $1: $lines lines of code (empty lines, comments and imports are not counted)"
}
# within SECONDS COMMAND…: in the background, so that a signal to this script is heard at once.
within() {
    timeout -k 5 "$@" &
    child=$!
    wait $child || return $?
    child=
}
run() { within 180 "$@" || fail "$kind: $(basename "$1") ended with $?; 124 is: after three minutes"; }
fetch() { within 600 "$@" >"$work/fetch.log" 2>&1 || { tail -n 20 "$work/fetch.log" >&2; fail "$1: see above"; }; }

redis_counter() {
    start_redis
    start_firstcome counter
    for name in drop twice crash; do campaign $name --places 100; done
    python3 -m venv "$work/venv"
    cp -r ../../clients/python "$work/python" # pip leaves files where it builds.
    fetch "$work/venv/bin/pip" install -q --disable-pip-version-check redis==8.1.0 "$work/python"
    PYTHONDONTWRITEBYTECODE=1 run "$work/venv/bin/python" redis-counter/check.py
    count_lines redis-counter/after.py
}

redis_setnx_seat() {
    start_redis
    start_firstcome seat
    { echo name; printf 'S%d\n' $(seq 100); } >"$work/seats.csv"
    campaign hall --seated main
    campaign short --seated main --hold-ttl 3s
    for name in hall short; do "$FIRSTCOME" seats import $name main "$work/seats.csv" >/dev/null; done
    cp -r redis-setnx-seat "$work/seat"
    local client=$work/seat/node_modules/firstcome-client
    fetch npm ci --prefix "$work/seat" --no-audit --no-fund
    mkdir "$client" && cp ../../clients/typescript/package.json "$client"
    run node "$work/seat/node_modules/typescript/bin/tsc" -p ../../clients/typescript --outDir "$client/dist"
    run node "$work/seat/check.mjs"
    count_lines redis-setnx-seat/after.mjs
}

# java_kind: compiles the Java client and this kind, and runs its check.
java_kind() {
    if [ ! -d "$work/client" ]; then
        fetch mvn -q -B -f pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
            "-DoutputDirectory=$work/jars" -DincludeScope=runtime
        find ../../clients/java/client/src/main ../../clients/java/client/src/generated -name '*.java' >"$work/sources"
        run javac -proc:none -cp "$work/jars/*" -d "$work/client" "@$work/sources"
    fi
    local classes=$work/client:$work/$kind:$work/jars/*
    run javac -proc:none -cp "$classes" -d "$work/$kind" "$kind"/*.java
    run java -cp "$classes" Check
    count_lines "$kind/After.java"
}

redisson_lock() {
    start_redis
    start_firstcome lock
    for name in drop pause; do campaign $name --places 100; done
    java_kind
}

row_for_update() {
    start_postgres
    start_firstcome row --store "$POSTGRES" --ledger "$POSTGRES"
    for name in drop queue; do campaign $name --places 100; done
    for name in warm speed; do campaign $name --places 1000; done
    java_kind
}

# Settings of the shell are not those of the check.
unset REDIS_URL "${!FIRSTCOME_@}"
for kind in "${kinds[@]}"; do "${kind//-/_}"; done
echo "everything holds: ${kinds[*]}"
