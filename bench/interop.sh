#!/usr/bin/env bash
# Calls between other programs over a veth pair: SIPp plays a recording to an echo, and baresip calls baresip. ringtap must have the
# calls in its database, with the right codecs and a good MOS.
#
#   bench/interop.sh [RINGTAP]     default: target/release/ringtap
#
# Needs root, network namespaces, sipp (sip-tester), baresip (baresip-core), sox, jq; says what it skips without them. Creates two
# namespaces joined by a veth pair and removes them again; ends within two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
RINGTAP=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/ringtap}")

skip() { echo "SKIP: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "not root: no network namespaces"
for program in sipp baresip sox jq; do command -v $program >/dev/null || skip "$program is not installed"; done
[ -x "$RINGTAP" ] || { echo "$RINGTAP is not there: make build"; exit 1; }

DIR=$(mktemp -d)
A=rt$$a B=rt$$b
PIDS=()
clean() {
    for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    ip netns del $A 2>/dev/null || true
    ip netns del $B 2>/dev/null || true
    rm -rf "$DIR"
}
trap clean EXIT
ip netns add $A 2>/dev/null || skip "network namespaces cannot be made here"
ip netns add $B
ip -n $A link add v0 type veth peer name v0 netns $B
for side in "$A 192.0.2.1" "$B 192.0.2.2"; do
    set -- $side
    ip -n "$1" addr add "$2/24" dev v0
    ip -n "$1" link set lo up
    ip -n "$1" link set v0 up
done

cat > "$DIR/ringtap.toml" <<TOML
[capture]
interfaces = ["v0"]
[engine]
linger = "1s"
[store]
directory = "$DIR/records"
outbox = "$DIR/outbox"
[journal]
path = "$DIR/journal"
[spool]
directory = "$DIR/spool"
[metrics]
listen = ""
TOML
ip netns exec $B "$RINGTAP" run -c "$DIR/ringtap.toml" 2> "$DIR/log" & MONITOR=$!
PIDS+=($MONITOR)
for _ in $(seq 50); do grep -q 'timestamps by' "$DIR/log" && break; sleep 0.1; done

# SIPp sends its recording of G.711 A-law, like `sipp -sn uac_pcap`, to a user agent that echoes it.
(cd "$DIR" && mkdir pcap && cp /usr/share/sip-tester/*.pcap pcap/ 2>/dev/null || true)
(cd "$DIR" && exec ip netns exec $B sipp -sn uas -i 192.0.2.2 -mp 30000 -rtp_echo -nostdin > uas.log 2>&1) & PIDS+=($!)
sleep 0.5
SIPP=5
(cd "$DIR" && timeout 60 ip netns exec $A sipp -sn uac_pcap -i 192.0.2.1 -mp 20000 -m $SIPP -r 2 -nostdin 192.0.2.2:5060 > uac.log 2>&1) ||
    echo "sipp ended with status $?"

# baresip: each in its own directory; a file with a tone as microphone, a file as loudspeaker.
phone() { # address codec-module user rate
    local dir=$DIR/$3
    mkdir -p "$dir"
    sox -n -r $4 -c 1 -b 16 "$dir/tone.wav" synth 30 sine 440 vol 0.3
    cat > "$dir/config" <<CONF
sip_listen $1:5070
sip_trans_def udp
audio_player aufile,$dir/heard.wav
audio_source aufile,$dir/tone.wav
rtp_ports 40000-40100
module_path /usr/lib/baresip/modules
module account.so
module $2.so
module aufile.so
module menu.so
CONF
    echo "<sip:$3@$1:5070>;regint=0;answermode=auto" > "$dir/accounts"
    : > "$dir/contacts"
}
BARESIP=0
for codec in g711 g722; do
    rate=8000
    [ $codec = g711 ] || rate=16000
    phone 192.0.2.2 $codec callee-$codec $rate
    phone 192.0.2.1 $codec caller-$codec $rate
    ip netns exec $B timeout 20 baresip -f "$DIR/callee-$codec" -t 14 > "$DIR/callee-$codec.log" 2>&1 & PIDS+=($!)
    sleep 1
    ip netns exec $A timeout 20 baresip -f "$DIR/caller-$codec" -t 10 -e "/dial sip:callee-$codec@192.0.2.2:5070" \
        > "$DIR/caller-$codec.log" 2>&1 || true
    sleep 5
    BARESIP=$((BARESIP + 1))
done

sleep 3
kill -TERM $MONITOR
wait $MONITOR || { cat "$DIR/log"; echo "ringtap run failed"; exit 1; }
"$RINGTAP" calls --store "$DIR/records"
"$RINGTAP" calls --store "$DIR/records" --format jsonl > "$DIR/calls.jsonl"
check() { # what jq-filter wanted
    local found
    found=$(jq -s "$2" "$DIR/calls.jsonl")
    if [ "$found" = "$3" ]; then echo "ok: $1: $found"; else echo "WRONG: $1: $found, wanted $3"; FAILED=1; fi
}
FAILED=0
check "completed calls of sipp" '[.[] | select(.from_user == "sipp" and .state == "completed" and .mos > 4)] | length' $SIPP
check "completed calls of baresip" '[.[] | select((.from_user // "" | startswith("caller-")) and .state == "completed" and .mos > 4)] | length' $BARESIP
# The codecs, from the recorded packets.
for pair in "sipp PCMA" "caller-g711 PCMU" "caller-g722 G722"; do
    set -- $pair
    id=$(jq -rs "[.[] | select(.from_user == \"$1\")][0].id // empty" "$DIR/calls.jsonl")
    [ -n "$id" ] || { echo "WRONG: no call from $1"; FAILED=1; continue; }
    "$RINGTAP" export "$id" --store "$DIR/records" --spool "$DIR/spool" --pcap "$DIR/call.pcap" --force
    codecs=$("$RINGTAP" analyze "$DIR/call.pcap" --format jsonl | jq -r 'select(.type == "stream" and .codec) | .codec' | sort -u | tr '\n' ' ')
    if [ "$codecs" = "$2 " ]; then echo "ok: $1: $codecs"; else echo "WRONG: $1: $codecs, wanted $2"; FAILED=1; fi
done
[ $FAILED = 0 ] || { for log in "$DIR"/*.log; do echo "== $log"; tail -n 5 "$log"; done; exit 1; }
