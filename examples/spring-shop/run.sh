#!/bin/sh
# A drop of 200 places, and 500 customers who all ask the shop at once:
#
#   examples/spring-shop/run.sh [--keep]
#
# Starts Firstcome and the shop on free ports of this machine, and checks that the server, the shop's orders and the mails in
# the outbox say the same. The exit code is 0 if they do. With --keep both run on until Ctrl-C, for a look at the page.
# FIRSTCOME names the program; otherwise it is that of `cargo build --release`.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
outbox=$here/outbox
jar=$here/shop/target/spring-shop.jar
program=${FIRSTCOME:-$here/../../target/release/firstcome}
fail() { echo "run.sh: $1" >&2; exit 1; }
case ${1:-} in
"") keep= ;;
--keep) keep=yes ;;
*) echo "usage: run.sh [--keep]" >&2; exit 2 ;;
esac

[ -x "$program" ] || fail "there is no program $program: run \`cargo build --release\`, or set FIRSTCOME to its path"
[ -f "$jar" ] || fail "the shop is not built: run \`mvn -q -f examples/spring-shop -DskipTests -Dmaven.javadoc.skip package\`
(it needs Maven and a JDK from 17 on)"
for tool in java curl sha256sum; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done
# Settings of the shell are not those of the example.
for name in $(env | sed -n 's/^\(FIRSTCOME_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done

folder=$(mktemp -d) || fail "no temporary folder"
server='' shop=''
clean_up() {
    for process in $server $shop; do kill -9 "$process"; wait "$process"; done 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
broken() { cat "$folder/$1.log" >&2; fail "$2"; }
until_it() { # SECONDS COMMAND…: whether the command worked within this time
    last=$(($(date +%s) + $1)); shift
    until "$@"; do [ "$(date +%s)" -lt "$last" ] || return 1; sleep 0.2; done
}
free_port() { # below the ports that the system gives to connections; 7 is curl's "nobody listens there"
    port=$((20000 + $$ % 10000))
    while curl -s -m 2 -o /dev/null "http://127.0.0.1:$port/"; [ $? != 7 ]; do port=$((port + 1)); done
    echo "$port"
}

# The server. The key of the shop may claim, and no more.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
cat >"$folder/firstcome.toml" <<END
listen = "127.0.0.1:0"
data = "$folder/data"
# Webhooks go to public addresses only, unless a network is named.
webhook_allow = "127.0.0.1"
[[keys]]
name = "shop"
sha256 = "$(printf %s "$key" | sha256sum | cut -c 1-64)"
role = "backend"
END
"$program" serve --config "$folder/firstcome.toml" >"$folder/url" 2>"$folder/server.log" &
server=$!
serves() {
    kill -0 "$server" 2>/dev/null || broken server "the server ended"
    url=$(sed -n 's/^listening on //p' "$folder/url" 2>/dev/null)
    [ -n "$url" ] && curl -sf -m 2 -o /dev/null "$url/readyz"
}
until_it 30 serves || broken server "the server is not ready after 30 s"
# The admin key is in its data folder, and nowhere else.
firstcome() { "$program" "$@" --data "$folder/data"; }

# The campaign, and the webhook: it prints the secret once.
firstcome campaign create drop --places 200 --opens now >/dev/null || fail "the campaign could not be created"
page=http://127.0.0.1:$(free_port)
added=$(firstcome webhooks add "$page/webhooks/firstcome" --campaign drop --type claim.won --json) ||
    fail "the webhook could not be added"
word() { printf %s "$added" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }

# The shop. Secrets are in its environment: all users of a machine can see a command line.
rm -rf "$outbox"
FIRSTCOME_URL=$url FIRSTCOME_KEY=$key WEBHOOK_SECRET=$(word secret) OUTBOX=$outbox SERVER_PORT=${page##*:} \
    java -jar "$jar" >"$folder/shop.log" 2>&1 &
shop=$!
sells() {
    kill -0 "$shop" 2>/dev/null || broken shop "the shop ended"
    # An answer alone could be that of another program which took the port.
    grep -q "Started Shop" "$folder/shop.log" && curl -sf -m 2 -o /dev/null "$page/"
}
until_it 90 sells || broken shop "the shop is not ready after 90 s"

# The customers. Each request is one, over one of 250 connections.
begun=$(date +%s)
curl -Z --no-progress-meter --parallel-immediate --parallel-max 250 -m 60 -o /dev/null -w '%{http_code}\n' -d '' \
    "$page/orders?customer=customer-[1-500]@example.com" >"$folder/answers"
answers() { grep -c "^$1\$" "$folder/answers"; }
echo "500 customers asked the shop in $(($(date +%s) - begun)) s: $(answers 200) have a place, $(answers 409) were refused"
[ "$(answers 200) $(answers 409)" = "200 300" ] || { sort "$folder/answers" | uniq -c >&2; fail "it should be 200 and 300"; }

# Three lists of `place customer`: of the server, of the shop's database, and of the mails.
count() { find "$outbox" -name '*.eml' | wc -l; }
has_all() { [ "$(count)" -ge 200 ]; }
until_it 60 has_all || broken shop "only $(count) mails are in $outbox after 60 s"
firstcome winners drop --all --format csv | sed -n 's/^drop,main,\([0-9]*\),\([^,]*\),.*/\1 \2/p' >"$folder/server"
curl -sf -m 10 "$page/orders" | tr '{}' '\n\n' | sed -n 's/^"place":\([0-9]*\),"customer":"\([^"]*\)".*/\1 \2/p' >"$folder/orders"
awk '/^To: / { to = $2 } /^Subject: / { print $3, to }' "$outbox"/*.eml | sort -n >"$folder/mails"
seq 200 >"$folder/places"
cut -d ' ' -f 1 "$folder/server" | diff "$folder/places" - >&2 || fail "the server has not the places 1 to 200, each once"
diff "$folder/server" "$folder/orders" >&2 || fail "the orders of the shop are not those of the server"
diff "$folder/server" "$folder/mails" >&2 || fail "the mails in $outbox are not those of the server"
echo "the server, the shop and the outbox have the same 200 customers with the places 1 to 200"
echo "mails: $outbox"

[ -n "$keep" ] || exit 0
echo "page:  $page (place $(sed "s/ / has /; q" "$folder/server"); Ctrl-C ends it)"
wait "$shop"
fail "the shop ended"
