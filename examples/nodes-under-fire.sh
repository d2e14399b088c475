#!/usr/bin/env bash
# Three servers on one store while everything dies around them.
#
#   examples/nodes-under-fire.sh [--store redis|cluster|postgres|mysql|nats] [SECONDS [SEED]]
#
# Starts the store and three servers; floods a campaign; and kills servers, the leader and the store at random
# meanwhile. At the end it says whether the servers, the ledger and what was acknowledged agree. Nothing of it
# is left behind.
#
# redis (the default): a primary, a replica and a Sentinel; the primary is killed, the replica takes its place.
# The ledger is a PostgreSQL where that is installed. cluster: a Redis Cluster of three masters, each with a replica; the
# master that has the space is killed, or its slot moves to another one. postgres, mysql: one PostgreSQL or MariaDB, which is killed
# and started again with what is on its disk; the ledger is in it, too. nats: three NATS servers that are a cluster,
# of which one at a time is killed; the ledger as beside redis.
#
# Needs curl, the programs of the store, and a built firstcome (FIRSTCOME names it, else target/release or
# target/debug). KEEP=1 keeps the folder with everybody's words.
set -euo pipefail

store=redis
case ${1:-} in
--store) store=${2:?--store redis, cluster, postgres, mysql or nats}; shift 2 ;;
--store=*) store=${1#--store=}; shift ;;
esac
# Debian keeps them off the search path.
for folder in /usr/lib/postgresql/*/bin /usr/sbin; do PATH=$PATH:$folder; done
case $store in
redis) programs=(redis-server redis-sentinel redis-cli) ;;
cluster) programs=(redis-server redis-cli) ;;
postgres) programs=(postgres initdb psql) ;;
mysql) programs=(mariadbd mariadb-install-db mariadb mariadb-admin) ;;
nats) programs=(nats-server) PATH=$PATH:${GOBIN:-${GOPATH:-$HOME/go}/bin} ;;
*) echo "there is no store $store: redis, cluster, postgres, mysql or nats" >&2; exit 2 ;;
esac
seconds=${1:-60}
seed=${2:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$((seed % 32768))
here=$(cd "$(dirname "$0")/.." && pwd)
firstcome=${FIRSTCOME:-}
for built in "$here/target/release/firstcome" "$here/target/debug/firstcome"; do
    [ -n "$firstcome" ] || { [ -x "$built" ] && firstcome=$built; } || true
done
for program in "${programs[@]}" curl "${firstcome:-firstcome}"; do
    command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 2; }
done
echo "$store, seed $seed, $seconds s, $firstcome"

folder=$(mktemp -d)
chmod 755 "$folder"
declare -A pid=()
postgres_folder=

clean_up() {
    code=$?
    trap - EXIT INT TERM
    for one in "${!pid[@]}"; do
        kill -CONT "${pid[$one]}" 2>/dev/null || true
        kill -KILL "${pid[$one]}" 2>/dev/null || true
    done
    [ -z "$postgres_folder" ] || as_nobody pg_ctl -D "$postgres_folder" -m immediate stop >/dev/null 2>&1 || true
    [ ! -s "$folder/mariadb.pid" ] || kill -KILL "$(cat "$folder/mariadb.pid")" 2>/dev/null || true
    wait 2>/dev/null || true
    if [ -n "${KEEP:-}" ]; then echo "everything is kept in $folder"; else rm -rf "$folder"; fi
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# until WHAT SECONDS COMMAND...: fails when it takes longer.
until_it() {
    local what=$1 end=$((SECONDS + $2)); shift 2
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "not in time: $what" >&2; return 1; }
        sleep 0.05
    done
}

said() { redis-cli -p "$1" "${@:2}" 2>/dev/null || true; }

# Databases do not run as root.
as_nobody() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; else "$@"; fi
}
own_folder() { mkdir -p "$1"; [ "$(id -u)" != 0 ] || chown nobody:nogroup "$1"; }

# --- Redis: a primary, a replica, a Sentinel

declare -A redis_port=() member_port=() member_bus=()
redis() { # NAME [MASTER_PORT]
    local name=$1 port=${redis_port[$1]} follow=()
    [ -z "${2:-}" ] || follow=(--replicaof 127.0.0.1 "$2")
    redis-server --port "$port" --bind 127.0.0.1 --save "" --appendonly no --dir "$folder" \
        --repl-diskless-sync-delay 0 "${follow[@]}" >>"$folder/redis-$name.log" 2>&1 &
    pid[redis-$name]=$!
    until_it "redis $name answers" 10 redis-cli -p "$port" ping >/dev/null
}
caught_up() { # PRIMARY: its replica has what was just written
    local copies
    copies=$(printf 'SET fire:probe 1\nWAIT 1 1000\nDEL fire:probe\n' | redis-cli -p "$1" | sed -n 2p)
    [ "$copies" = 1 ]
}
primary() { said "$sentinel" sentinel get-master-addr-by-name main | sed -n 2p; }
knows_replica() { [ "$(said "$sentinel" sentinel master main | sed -n '/^num-slaves$/{n;p}')" = 1 ]; }
start_redis() {
    redis_port[one]=$(free_port) redis_port[two]=$(free_port) sentinel=$(free_port)
    redis one
    redis two "${redis_port[one]}"
    until_it "the replica follows" 10 caught_up "${redis_port[one]}"
    cat >"$folder/sentinel.conf" <<END
port $sentinel
bind 127.0.0.1
dir $folder
sentinel monitor main 127.0.0.1 ${redis_port[one]} 1
sentinel down-after-milliseconds main 700
sentinel failover-timeout main 2000
END
    redis-sentinel "$folder/sentinel.conf" >"$folder/sentinel.log" 2>&1 &
    pid[sentinel]=$!
    until_it "Sentinel knows both" 20 knows_replica
    export FIRSTCOME_STORE=redis+sentinel://127.0.0.1:$sentinel/main FIRSTCOME_DURABILITY=copies=1
}

# --- a Redis Cluster

key=fc:{main}:head
member() { # NUMBER: a server of the cluster, which keeps its list of the others in a file
    redis-server --port "${member_port[$1]}" --bind 127.0.0.1 --save "" --appendonly no --dir "$folder" \
        --cluster-enabled yes --cluster-node-timeout 1000 --cluster-config-file "nodes-$1.conf" \
        --cluster-port "${member_bus[$1]}" --repl-diskless-sync-delay 0 >>"$folder/redis-$1.log" 2>&1 &
    pid[redis-$1]=$!
    until_it "redis $1 answers" 10 redis-cli -p "${member_port[$1]}" ping >/dev/null
}
owner() { # the number of the server that has the space
    local number
    for number in 1 2 3 4 5 6; do
        case $(said "${member_port[$number]}" exists "$key") in 0 | 1) echo $number; return ;; esac
    done
    return 1
}
all_serve() { # every server sees the whole cluster, and every replica follows
    local number
    for number in 1 2 3 4 5 6; do
        said "${member_port[$number]}" cluster info | grep -q cluster_state:ok || return 1
        said "${member_port[$number]}" info replication | grep -Eq 'role:master|master_link_status:up' || return 1
    done
}
start_cluster() {
    local number first last
    for number in 1 2 3 4 5 6; do
        member_port[$number]=$(free_port) member_bus[$number]=$(free_port)
        member $number
    done
    for number in 2 3 4 5 6; do
        said "${member_port[1]}" cluster meet 127.0.0.1 "${member_port[$number]}" "${member_bus[$number]}" >/dev/null
    done
    for number in 1 2 3; do
        first=$(((number - 1) * 16384 / 3)) last=$((number * 16384 / 3 - 1))
        said "${member_port[$number]}" cluster addslotsrange $first $last >/dev/null
    done
    for number in 4 5 6; do until_it "server $number is a replica" 20 becomes_replica $number $((number - 3)); done
    until_it "the cluster serves" 30 all_serve
    export FIRSTCOME_STORE=redis+cluster://127.0.0.1:${member_port[1]},127.0.0.1:${member_port[5]}
    export FIRSTCOME_DURABILITY=copies=1
}
becomes_replica() {
    [ "$(said "${member_port[$1]}" cluster replicate "$(said "${member_port[$2]}" cluster myid)")" = OK ]
}
has_copy() { said "$1" info replication | grep -q '^slave0:.*state=online'; }
kill_cluster() {
    local old to slot number
    old=$(owner)
    if [ $((RANDOM % 2)) = 0 ]; then
        echo "   its slot moves to another server"
        for number in 1 2 3 4 5 6; do
            [ $number != "$old" ] && said "${member_port[$number]}" role | grep -q master && to=$number
        done
        slot=$(said "${member_port[$old]}" cluster keyslot "$key")
        move_slot "$old" "$to" "$slot"
    else
        # Killed before its replica has all of it, nobody could keep the promise.
        until_it "the replica follows" 20 caught_up_in "${member_port[$old]}"
        end redis-$old
        until_it "another server has the slot" 40 owner >/dev/null
        member $old
    fi
    until_it "the cluster serves again" 40 all_serve
    until_it "a replica follows" 40 has_copy "${member_port[$(owner)]}"
}
caught_up_in() { [ "$(printf 'HSET %s probe 1\nWAIT 1 1000\nHDEL %s probe\n' fire:{main} fire:{main} | redis-cli -p "$1" | sed -n 2p)" = 1 ]; }
move_slot() { # FROM TO SLOT
    local from=${member_port[$1]} to=${member_port[$2]} keys number target
    target=$(said "$to" cluster myid)
    said "$to" cluster setslot "$3" importing "$(said "$from" cluster myid)" >/dev/null
    said "$from" cluster setslot "$3" migrating "$target" >/dev/null
    while keys=$(said "$from" cluster getkeysinslot "$3" 50) && [ -n "$keys" ]; do
        # shellcheck disable=SC2086 # a word each
        said "$from" migrate 127.0.0.1 "$to" "" 0 5000 keys $keys >/dev/null
    done
    for number in "$2" "$1" 1 2 3 4 5 6; do
        said "${member_port[$number]}" cluster setslot "$3" node "$target" >/dev/null
    done
}

# --- three NATS servers

declare -A nats_port=() nats_route=() nats_http=()
nats() { # NAME
    nats-server --name "$1" --addr 127.0.0.1 --port "${nats_port[$1]}" --jetstream --store_dir "$folder/nats-$1" \
        --http_port "${nats_http[$1]}" --cluster_name fire --cluster "nats://127.0.0.1:${nats_route[$1]}" \
        --routes "$nats_routes" >>"$folder/nats-$1.log" 2>&1 &
    pid[nats-$1]=$!
}
nats_ready() { curl -sf -m 2 "http://127.0.0.1:${nats_http[$1]}/healthz" >/dev/null; }
start_nats() {
    local name hosts=''
    nats_routes=''
    for name in one two three; do
        nats_port[$name]=$(free_port) nats_route[$name]=$(free_port) nats_http[$name]=$(free_port)
        nats_routes=$nats_routes${nats_routes:+,}nats://127.0.0.1:${nats_route[$name]}
        hosts=$hosts${hosts:+,}127.0.0.1:${nats_port[$name]}
    done
    for name in one two three; do nats $name; done
    for name in one two three; do until_it "NATS server $name is ready" 30 nats_ready $name; done
    export FIRSTCOME_STORE=nats://$hosts
}

# --- PostgreSQL: the ledger beside Redis, or store and ledger

make_postgres() {
    postgres_folder=$folder/postgres postgres_port=$(free_port)
    own_folder "$postgres_folder"
    as_nobody initdb --no-sync -A trust -U ledger -D "$postgres_folder" >"$folder/postgres.log" 2>&1
}
run_postgres() {
    as_nobody pg_ctl -w -D "$postgres_folder" -l "$postgres_folder/log" \
        -o "-p $postgres_port -k '' -h 127.0.0.1 -c fsync=$1" start >>"$folder/postgres.log" 2>&1
}
start_postgres() {
    make_postgres && run_postgres on
    export FIRSTCOME_STORE=postgres://ledger@127.0.0.1:$postgres_port/postgres
    export FIRSTCOME_LEDGER=$FIRSTCOME_STORE
}
ledger_beside() {
    command -v initdb >/dev/null && command -v pg_ctl >/dev/null && make_postgres && run_postgres off &&
        export FIRSTCOME_LEDGER=postgres://ledger@127.0.0.1:$postgres_port/postgres && return
    export FIRSTCOME_LEDGER=none
    echo "NO LEDGER: PostgreSQL is not installed or did not start, so results are not settled anywhere" >&2
}

# --- MariaDB: store and ledger

run_mysql() {
    (cd "$folder/mariadb" && TMPDIR=$folder/mariadb as_nobody mariadbd --no-defaults --bind-address=127.0.0.1 \
        --datadir="$folder/mariadb/data" --socket="$folder/mariadb/socket" --port="$mysql_port" \
        --pid-file="$folder/mariadb/pid" --innodb-flush-log-at-trx-commit=1 >>"$folder/mariadb.log" 2>&1) &
    until_it "MariaDB answers" 60 mariadb-admin --no-defaults --socket="$folder/mariadb/socket" -u root ping >/dev/null
    cp "$folder/mariadb/pid" "$folder/mariadb.pid"
}
start_mysql() {
    mysql_port=$(free_port)
    own_folder "$folder/mariadb"
    (cd "$folder/mariadb" && as_nobody mariadb-install-db --no-defaults --skip-test-db \
        --auth-root-authentication-method=normal --datadir="$folder/mariadb/data") >"$folder/mariadb.log" 2>&1
    run_mysql
    mariadb --no-defaults --socket="$folder/mariadb/socket" -u root -e "CREATE DATABASE fire; \
        CREATE USER fire@'127.0.0.1' IDENTIFIED BY 'fire'; GRANT ALL ON *.* TO fire@'127.0.0.1'"
    export FIRSTCOME_STORE=mysql://fire:fire@127.0.0.1:$mysql_port/fire
    export FIRSTCOME_LEDGER=$FIRSTCOME_STORE
}

start_$store
case $store in redis | cluster | nats) ledger_beside ;; esac

# --- three servers

export FIRSTCOME_ADMIN_KEY=under-fire-$seed-$$-key
export FIRSTCOME_KEY=$FIRSTCOME_ADMIN_KEY FIRSTCOME_LEADER_LEASE_MS=1000
export FIRSTCOME_SNAPSHOT_EVERY=5s
declare -A node_port=()
urls=() kills=0 leaders=0 stores=0 pauses=0
node() {
    "$firstcome" serve --listen "127.0.0.1:${node_port[$1]}" \
        >>"$folder/node-$1.out" 2>>"$folder/node-$1.err" &
    pid[node-$1]=$!
}
ready() { curl -sf -m 2 "http://127.0.0.1:${node_port[$1]}/readyz" >/dev/null; }
for name in a b c; do
    node_port[$name]=$(free_port)
    urls+=(--url "http://127.0.0.1:${node_port[$name]}")
    node $name
done
for name in a b c; do until_it "server $name is ready" 30 ready $name; done
tell() { curl -s -m 5 -H "Authorization: Bearer $FIRSTCOME_KEY" "http://127.0.0.1:${node_port[$1]}$2"; }
leader() { # the name of the server that leads, as any of them says
    local name other said
    for name in a b c; do
        said=$(tell $name /v1/nodes | tr '{' '\n' | grep '"leader":true' || true)
        for other in a b c; do
            case $said in *":${node_port[$other]}\""*) echo $other; return ;; esac
        done
    done
}
again() { # a server that is not there comes back; a wrong moment to start is no reason to give up
    until_it "server $1 is back" 60 comes_back "$1"
}
comes_back() {
    kill -0 "${pid[node-$1]}" 2>/dev/null || node "$1"
    ready "$1" || { sleep 0.2; false; }
}

# --- the flood

"$firstcome" rush "${urls[@]}" --create 20000 --keep --campaign fire --rate 1000 --requests 100000000 \
    --subjects 30000 --connections 64 --cut 0.01 --repeat 0.3 --patience 90s --seed "$seed" \
    --duration "${seconds}s" >"$folder/rush.out" 2>"$folder/rush.err" &
pid[rush]=$!
rush=$!
begun=$SECONDS
last_store=$SECONDS

# end NAME: a kill -9, and nothing said about it.
end() {
    kill -KILL "${pid[$1]}"
    wait "${pid[$1]}" 2>/dev/null || true
}

kill_redis() {
    local old new name=one other=two
    old=$(primary)
    [ "$old" = "${redis_port[one]}" ] || { name=two other=one; }
    # Killed before its replica has all of it, nobody could keep the promise.
    until_it "the replica follows" 20 caught_up "$old"
    end redis-$name
    new=${redis_port[$other]}
    is_primary() { [ "$(primary)" = "$new" ] && [ "$(said "$new" role | head -1)" = master ]; }
    until_it "Sentinel names the other Redis" 40 is_primary
    redis $name "$new"
}

gone() { ! kill -0 "$1" 2>/dev/null; }
kill_postgres() {
    local server
    server=$(head -n 1 "$postgres_folder/postmaster.pid")
    kill -KILL "$server"
    until_it "PostgreSQL is gone" 10 gone "$server"
    # Its children end by themselves; until then it does not start.
    until_it "PostgreSQL is back" 60 run_postgres on
}

kill_mysql() {
    local server
    server=$(cat "$folder/mariadb.pid")
    kill -KILL "$server"
    until_it "MariaDB is gone" 10 gone "$server"
    run_mysql
}

kill_nats() { # one at a time: with two of them gone nobody could answer
    local names=(one two three) name
    name=${names[RANDOM % 3]}
    end nats-$name
    sleep "0.$((RANDOM % 9 + 1))"
    nats $name
    until_it "NATS server $name is back" 40 nats_ready $name
}

while [ $((SECONDS - begun)) -lt "$seconds" ] && kill -0 $rush 2>/dev/null; do
    sleep "0.$((RANDOM % 9 + 1))"
    names=(a b c) chosen=${names[RANDOM % 3]}
    case $((RANDOM % 8)) in
    0 | 1)
        echo "$((SECONDS - begun)) s: kill server $chosen"
        end node-$chosen; kills=$((kills + 1)); sleep "0.$((RANDOM % 9))"
        again $chosen ;;
    2 | 3)
        chosen=$(leader); [ -n "$chosen" ] || continue
        echo "$((SECONDS - begun)) s: kill the leader, server $chosen"
        end node-$chosen; leaders=$((leaders + 1)); sleep "0.$((RANDOM % 9))"
        again $chosen ;;
    4 | 5)
        echo "$((SECONDS - begun)) s: server $chosen stands still"
        kill -STOP "${pid[node-$chosen]}"; pauses=$((pauses + 1))
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"; kill -CONT "${pid[node-$chosen]}" ;;
    *)
        [ $((SECONDS - last_store)) -ge 5 ] || continue
        echo "$((SECONDS - begun)) s: kill the store"
        kill_$store
        stores=$((stores + 1)) last_store=$SECONDS ;;
    esac
done
echo "killed $kills servers, $leaders leaders, $stores times the store; $pauses pauses"

# --- what came of it

for name in a b c; do again $name; done
code=0
wait $rush || code=$?
unset "pid[rush]"
cat "$folder/rush.out"
[ $code = 0 ] || { cat "$folder/rush.err" >&2; echo "THE FLOOD FOUND A BROKEN PROMISE (exit code $code)" >&2; exit 1; }

word() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
agree() { # all servers have one digest at one position, and the ledger has all results
    local name first='' this
    for name in a b c; do
        this=$(tell $name /v1/audit) || return 1
        this="$(word position <<<"$this") $(word digest <<<"$this") $(word settled <<<"$this") $(word last_result <<<"$this")"
        [ -n "$first" ] || first=$this
        [ "$this" = "$first" ] || return 1
    done
    read -r position digest settled last <<<"$first"
    [ "$FIRSTCOME_LEDGER" = none ] || [ "$settled" = "$last" ]
}
until_it "all servers agree, and the ledger has all results" 60 agree || {
    for name in a b c; do tell $name /v1/audit; echo; tail -n 3 "$folder/node-$name.err"; done >&2
    exit 1
}
echo "all servers: position $position, digest $digest, $last results, $settled settled"

# What stands in the store and in the ledger, replayed and compared by a process that was not part of it.
servers=()
for name in a b c; do servers+=(--server "http://127.0.0.1:${node_port[$name]}"); done
"$firstcome" audit "${servers[@]}"
# A server that knows nothing but the store comes to the same state.
node_port[d]=$(free_port)
node d
until_it "a new server is ready" 30 ready d
newcomer_agrees() {
    this=$(tell d /v1/audit) && [ "$(word position <<<"$this") $(word digest <<<"$this")" = "$position $digest" ]
}
until_it "a new server reads the same from the store" 10 agree && newcomer_agrees
[ "$FIRSTCOME_LEDGER" = none ] && with= || with=" and the ledger"
echo "the store, the servers$with agree, and no acknowledged claim is missing"
