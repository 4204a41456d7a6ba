#!/usr/bin/env bash
# Calls through other programs: SIPp calls SIPp through Kamailio and Asterisk, captured at a mirror port by `ringtap run`, which must
# find the legs of each call, and no leg of another.
#
#   bench/conversation.sh [--install] [RINGTAP]     default: target/release/ringtap
#
#   caller ---- Kamailio ---- Asterisk ---- callee        Kamailio hides topology and Asterisk is a back-to-back user agent: a call is
#    .11          .20           .21    \--- transferor    three legs with three Call-IDs. The transferor sends a REFER, and Asterisk
#                                       \-- target        calls the target: a fourth leg. A second Kamailio, .22, keeps the Call-ID.
#
# First a call and a transfer, whose ladders are shown; then a dozen calls at once between the same hosts. A header that ringtap does not
# read tells tshark which legs belong together.
#
# Needs root, network namespaces, sipp (sip-tester), kamailio, tcpdump, tshark, jq, python3, and Debian with Asterisk in the directory
# RINGTAP_SID (default: /var/cache/ringtap/sid); says what it skips without them. --install installs the programs with apt-get, and makes
# that directory (500 MB, from RINGTAP_MIRROR) with debootstrap, because Debian 12 has no Asterisk. Creates namespaces joined by a bridge
# and removes them again; ends within two minutes. With RINGTAP_KEEP=DIR, the capture and what ringtap printed are copied there.
set -euo pipefail
cd "$(dirname "$0")/.."
SID=${RINGTAP_SID:-/var/cache/ringtap/sid}
MIRROR=${RINGTAP_MIRROR:-http://deb.debian.org/debian}

skip() { echo "SKIP: $*"; exit 0; }
install_programs() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends sip-tester kamailio debootstrap tcpdump tshark jq python3 iproute2 >/dev/null
    [ ! -x "$SID/usr/sbin/asterisk" ] || return 0
    mkdir -p "$(dirname "$SID")"
    if [ ! -e "$SID/etc/apt/sources.list" ]; then
        rm -rf "$SID.part"
        debootstrap --variant=minbase sid "$SID.part" "$MIRROR" >"$SID.log" 2>&1 ||
            { tail -n 5 "$SID.log"; echo "debootstrap failed; all it said is in $SID.log"; exit 1; }
        mv "$SID.part" "$SID"
    fi
    # No service starts inside.
    printf '#!/bin/sh\nexit 101\n' >"$SID/usr/sbin/policy-rc.d"
    chmod +x "$SID/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive chroot "$SID" apt-get -qq install -y --no-install-recommends asterisk >>"$SID.log" 2>&1 ||
        { tail -n 5 "$SID.log"; echo "Asterisk could not be installed; all apt-get said is in $SID.log"; exit 1; }
}
[ "$(id -u)" = 0 ] || skip "not root: no network namespaces"
if [ "${1:-}" = --install ]; then install_programs; shift; fi
RINGTAP=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/ringtap}")
for program in sipp kamailio tcpdump tshark jq python3 ip tc ss; do
    command -v $program >/dev/null || skip "$program is not installed: bench/conversation.sh --install installs it"
done
[ -x "$SID/usr/sbin/asterisk" ] || skip "no Asterisk in $SID: set RINGTAP_SID, or make it with bench/conversation.sh --install"
[ -x "$RINGTAP" ] || { echo "$RINGTAP is not there: make build"; exit 1; }

DIR=$(mktemp -d)
PARTS=$PWD/bench/conversation
NET=rt$$
PIDS=()
stop() { # pid: asks, waits 5 s at most, then kills
    kill -TERM "$1" 2>/dev/null || return 0
    for _ in $(seq 50); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done
    kill -KILL "$1" 2>/dev/null || true
}
clean() {
    local pid host
    for pid in "${PIDS[@]}"; do stop "$pid"; done
    for host in caller proxy plain pbx callee transferor target monitor switch; do
        # Children that outlived the process that was stopped.
        for pid in $(ip netns pids $NET$host 2>/dev/null); do stop "$pid"; done
        ip netns del $NET$host 2>/dev/null || true
    done
    [ -z "${RINGTAP_KEEP:-}" ] || { mkdir -p "$RINGTAP_KEEP"; cp "$DIR"/{*.pcap,*.txt,*.jsonl,*.tsv,*.log} "$RINGTAP_KEEP/" 2>/dev/null || true; }
    rm -rf "$DIR"
}
trap clean EXIT
trap 'exit 130' INT TERM
# For the background: the process is the program itself, so its id stops it.
within() { local host=$1; shift; exec ip netns exec $NET"$host" "$@"; }
fail() { # what: shows the ends of the logs
    local log
    echo "FAILED: $*"
    for log in "$DIR"/*.log; do echo "== $log"; tail -n 8 "$log"; done
    exit 1
}
await() { # what command...: tries for 30 s
    local what=$1
    shift
    for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    fail "$what did not start within 30 s"
}

# A bridge with a port for each host. What comes in at any port is copied to the monitor's: a mirror port.
ip netns add ${NET}switch 2>/dev/null || skip "network namespaces cannot be made here"
ip -n ${NET}switch link add br0 type bridge
ip -n ${NET}switch link set br0 up
ip netns add ${NET}monitor
ip link add mirror netns ${NET}monitor type veth peer name monitor netns ${NET}switch
ip -n ${NET}monitor link set mirror up promisc on
ip -n ${NET}switch link set monitor up
for host in "caller 11" "proxy 20" "plain 22" "pbx 21" "callee 12" "transferor 13" "target 14"; do
    set -- $host
    ip netns add "$NET$1"
    ip -n "$NET$1" link set lo up
    ip link add eth0 netns "$NET$1" type veth peer name "$1" netns ${NET}switch
    ip -n "$NET$1" addr add "192.0.2.$2/24" dev eth0
    ip -n "$NET$1" link set eth0 up
    ip -n ${NET}switch link set "$1" master br0 up
    tc -n ${NET}switch qdisc add dev "$1" clsact &&
        tc -n ${NET}switch filter add dev "$1" ingress protocol all u32 match u32 0 0 action mirred egress mirror dev monitor ||
        skip "this kernel has no tc filters that mirror"
done

cat >"$DIR/ringtap.toml" <<TOML
[capture]
interfaces = ["mirror"]
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
within monitor "$RINGTAP" run -c "$DIR/ringtap.toml" 2>"$DIR/ringtap.log" & MONITOR=$!
PIDS+=($MONITOR)
within monitor tcpdump -i mirror -U -B 16384 -w "$DIR/lab.pcap" 2>"$DIR/tcpdump.log" & TCPDUMP=$!
PIDS+=($TCPDUMP)

# Mounts made inside `ip netns exec` go with its process.
mkdir -p "$DIR"/pbx/{etc,db,spool,run,log} "$SID/lab"
cp "$PARTS"/{asterisk,logger,modules,rtp,pjsip,extensions}.conf "$DIR/pbx/etc/"
asterisk() {
    within pbx sh -c 'mount --bind "$1/pbx" "$2/lab" && mount -t proc proc "$2/proc" && mount --bind /dev "$2/dev" && root=$2 && shift 2 &&
        exec chroot "$root" /usr/sbin/asterisk -C /lab/etc/asterisk.conf "$@"' sh "$DIR" "$SID" "$@"
}
asterisk -f >"$DIR/asterisk.log" 2>&1 & PIDS+=($!)
for host in "proxy 20 -A HIDE" "plain 22"; do
    set -- $host
    mkdir "$DIR/$1"
    within "$1" kamailio -DD -E -m 32 -M 4 -Y "$DIR/$1" -l "udp:192.0.2.$2:5060" "${@:3}" -f "$PARTS/kamailio.cfg" \
        >"$DIR/kamailio-$1.log" 2>&1 & PIDS+=($!)
done
for host in "callee callee 12" "transferor transferor 13" "target callee 14"; do
    set -- $host
    (cd "$DIR" && within "$1" sipp -sf "$PARTS/$2.xml" -i "192.0.2.$3" -mp 30000 -rtp_echo -key pbx 192.0.2.21:5060 \
        -nostdin >"$1.log" 2>&1) & PIDS+=($!)
done
listens() { ip netns exec $NET"$1" ss -Hlun 'sport = 5060' | grep -q .; }
for host in proxy plain callee transferor target; do await "$host" listens $host; done
# In a shell of its own, which `exec` replaces.
is_booted() { (asterisk -rx "core waitfullybooted"); }
await Asterisk is_booted
await "ringtap run" grep -q 'timestamps by' "$DIR/ringtap.log"
await tcpdump grep -q 'listening on' "$DIR/tcpdump.log"

# 400 Hz in G.711 A-law, a second of it.
for _ in $(seq 400); do printf '\325\346\227\234\230\232\230\234\227\346\325\146\027\034\030\032\030\034\027\146'; done >"$DIR/tone.alaw"
# A line a call: caller, callee, truth, milliseconds, session of o=.
printf 'SEQUENTIAL\n' | tee "$DIR/alone.csv" "$DIR/plain.csv" >"$DIR/crowd.csv"
session=3795262400
line() { # file caller callee truth ms
    session=$((session + 7))
    echo "$2;$3;$4;$5;$session;" >>"$DIR/$1.csv"
}
line alone 493088800001 493010000001 alone 5000
line alone 493088800002 493020000002 transfer 8000
for n in 1 2 3 4 5; do line crowd 49308880010$n 49301000010$n crowd-$n 5000; done
for n in 1 2; do line crowd 49308880020$n 493010000200 same-callee-$n 5000; done
for n in 1 2; do line crowd 493088800300 493010000300 same-numbers-$n 5000; done
for n in 1 2; do line crowd 49308880040$n 49302000040$n crowd-transfer-$n 8000; done
line plain 493088800500 493010000500 two-hops 5000
call() { # csv port proxy
    cd "$DIR" && timeout 60 ip netns exec ${NET}caller sipp -sf "$PARTS/caller.xml" -inf "$1.csv" -i 192.0.2.11 -p "$2" -mp "${2}0" \
        -m $(($(wc -l <"$1.csv") - 1)) -r 20 -nostdin "192.0.2.$3:5060" >"caller-$1.log" 2>&1
}
(call alone 5060 20) || fail "the caller ended with status $?"
(call plain 6060 22) & PLAIN=$!
(call crowd 5060 20) || fail "the caller ended with status $?"
wait $PLAIN || fail "the caller through the plain proxy ended with status $?"

# Calls wait for late packets before their record is made.
sleep 4
stop $TCPDUMP
kill -TERM $MONITOR
wait $MONITOR || fail "ringtap run ended with status $?"
"$RINGTAP" calls --store "$DIR/records" --format jsonl >"$DIR/calls.jsonl"
"$RINGTAP" calls --store "$DIR/records" | tee "$DIR/calls.txt"
tshark -r "$DIR/lab.pcap" -Y 'sip.Method == "INVITE"' -T fields -e sip.Call-ID -e sip.CSeq.seq -e sip.Via.branch -e sip.msg_hdr 2>"$DIR/tshark.log" |
    sed -E 's/^([^\t]*)\t([^\t]*)\t([^\t,]*)[^\t]*\t.*X-Truth: ([a-z0-9-]+).*/\1\t\2\t\3\t\4/' | sort -u >"$DIR/invites.tsv"
status=0
python3 "$PARTS/check.py" "$DIR/calls.jsonl" "$DIR/invites.tsv" || status=1
expect() { # what file words wanted: lines of a file that have the words
    local found
    found=$(grep -c -- "$3" "$2" || true)
    if [ "$found" = "$4" ]; then echo "ok: $1: $found"; else echo "WRONG: $1: $found, wanted $4"; status=1; fi
}
for name in "alone 3" "transfer 4"; do
    set -- $name
    leg=$(awk -F'\t' -v name="$1" '$4 == name { print $1; exit }' "$DIR/invites.tsv")
    id=$(jq -r --arg call "$leg" 'select(.type == "call" and .call_id == $call) | .id' "$DIR/calls.jsonl")
    "$RINGTAP" call "$id" --store "$DIR/records" --spool "$DIR/spool" >"$DIR/$1.txt" || fail "ringtap call $id ended with status $?"
    echo
    echo "== $1: ringtap call $id, without the figures of its streams"
    sed '/^\(->\|<-\) /,$d' "$DIR/$1.txt"
    expect "INVITEs on the ladder of $1" "$DIR/$1.txt" '─ INVITE (SDP) ─' "$2"
    expect "legs of $1 with a reason" "$DIR/$1.txt" '^  Joined to ' $(($2 - 1))
done
expect "sentences of a transfer" "$DIR/transfer.txt" 'the callee sent the other side to' 2
[ $status = 0 ] || fail "see above"
echo ok
