#!/usr/bin/env bash
# A known recording over a wire: SIPp plays it, `ringtap run` records the call, and `ringtap export` writes its sound. The sound is
# compared with the recording: sample for sample without loss, otherwise by its distance, beside the output of tshark and sox for the
# same packets.
#
#   bench/recording.sh [RINGTAP]     default: target/release/ringtap
#
# The recording is SIPp's: 7 s of speech in G.711 A-law, repeated three times, in three concurrent calls: without loss, with 3 % random
# loss, and with 5 % loss in bursts. SIPp omits the lost packets itself, so no kernel module is needed. Needs root, network namespaces,
# sipp (sip-tester), sox, tshark, jq; says what it skips without them. Creates two namespaces joined by a veth pair and removes them
# again; ends within two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
RINGTAP=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/ringtap}")
SOURCE=/usr/share/sip-tester/g711a.pcap

skip() { echo "SKIP: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "not root: no network namespaces"
for program in sipp sox tshark jq python3; do command -v $program >/dev/null || skip "$program is not installed"; done
[ -f $SOURCE ] || skip "$SOURCE is not there: it comes with Debian's sip-tester"
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
trap 'exit 130' INT TERM
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
for _ in $(seq 100); do grep -q 'timestamps by' "$DIR/log" && break; sleep 0.1; done

(cd "$DIR" && exec ip netns exec $B sipp -sn uas -i 192.0.2.2 -mp 30000 -rtp_echo -nostdin > uas.log 2>&1) & PIDS+=($!)
sleep 0.5
message() { # request-line cseq to-tag content
    printf '      %s\n      Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]\n' "$1"
    printf '      From: <sip:%s@[local_ip]:[local_port]>;tag=[pid]-[call_number]\n' "$loss"
    printf '      To: <sip:[service]@[remote_ip]:[remote_port]>%s\n      Call-ID: [call_id]\n      CSeq: %s\n' "$3" "$2"
    printf '      Contact: sip:%s@[local_ip]:[local_port]\n      Max-Forwards: 70\n' "$loss"
}
PORT=20000
CALLS=()
for loss in none random bursts; do
    python3 bench/recording.py make $SOURCE "$DIR/$loss.pcap" --times 3 --loss $loss --ssrc $PORT
    {
        echo '<?xml version="1.0" encoding="ISO-8859-1" ?><scenario name="a recording"><send retrans="500"><![CDATA['
        message "INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0" "1 INVITE" ""
        printf '      Content-Type: application/sdp\n      Content-Length: [len]\n\n      v=0\n      o=- 1 1 IN IP4 [local_ip]\n      s=-\n'
        printf '      c=IN IP4 [media_ip]\n      t=0 0\n      m=audio [media_port] RTP/AVP 8\n      a=rtpmap:8 PCMA/8000\n      a=ptime:30\n'
        echo ']]></send><recv response="100" optional="true"/><recv response="180" optional="true"/><recv response="200"/><send><![CDATA['
        message "ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0" "1 ACK" "[peer_tag_param]"
        printf '      Content-Length: 0\n'
        echo "]]></send><nop><action><exec play_pcap_audio=\"$DIR/$loss.pcap\"/></action></nop><pause milliseconds=\"22500\"/><send retrans=\"500\"><![CDATA["
        message "BYE sip:[service]@[remote_ip]:[remote_port] SIP/2.0" "2 BYE" "[peer_tag_param]"
        printf '      Content-Length: 0\n'
        echo ']]></send><recv response="200"/></scenario>'
    } > "$DIR/$loss.xml"
    (cd "$DIR" && exec timeout 60 ip netns exec $A sipp -sf $loss.xml -i 192.0.2.1 -p $((PORT - 14000)) -mp $PORT -m 1 -nostdin 192.0.2.2:5060 > $loss.log 2>&1) & CALLS+=($!)
    PORT=$((PORT + 100))
done
for call in "${CALLS[@]}"; do wait "$call" || echo "sipp ended with status $?"; done
sleep 3
kill -TERM $MONITOR
wait $MONITOR || { cat "$DIR/log"; echo "ringtap run failed"; exit 1; }

"$RINGTAP" calls --store "$DIR/records"
"$RINGTAP" calls --store "$DIR/records" --format jsonl > "$DIR/calls.jsonl"
PORT=20000
FAILED=0
echo "recording  heard             segmental SNR    spectra"
for loss in none random bursts; do
    id=$(jq -rs "[.[] | select(.from_user == \"$loss\")][0].id // empty" "$DIR/calls.jsonl")
    [ -n "$id" ] || { echo "WRONG: no call of $loss"; FAILED=1; continue; }
    capture=$DIR/kept-$loss.pcap
    "$RINGTAP" export "$id" --store "$DIR/records" --spool "$DIR/spool" --pcap "$capture" 2>> "$DIR/export.log"
    for sound in conceal silence; do
        "$RINGTAP" extract "$capture" --call "$id" --wav "$DIR/$loss-$sound.wav" --mix caller --loss $sound 2>> "$DIR/extract.log"
    done
    python3 bench/recording.py judge $loss "$DIR/$loss.pcap" "$DIR/$loss-conceal.wav" "$DIR/$loss-silence.wav" --capture "$capture" --ssrc $PORT || FAILED=1
    if [ $loss = none ]; then
        # SIPp's other end echoes everything, so the file has both the caller and the callee.
        "$RINGTAP" extract "$capture" --call "$id" --wav "$DIR/back.wav" --mix callee 2>> "$DIR/extract.log"
        python3 bench/recording.py judge "sent back" "$DIR/none.pcap" "$DIR/back.wav" "$DIR/back.wav" || FAILED=1
    fi
    PORT=$((PORT + 100))
done
[ $FAILED = 0 ] || { for log in "$DIR"/*.log; do echo "== $log"; tail -n 5 "$log"; done; exit 1; }
echo "ok"
