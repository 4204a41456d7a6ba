//! Whatever carried a call, it comes out of the spool whole: every message and every media packet, for us and
//! for other programs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::daemon::{Place, calls};
use crate::replayed::{ringtap, tshark};

/// A rule that matches every call, by which packets are kept as they came, and rules that have to be asked,
/// by which messages wait and are kept one by one.
const RULES: [&str; 2] = [
    "",
    "[[keep]]\ncaller = [\"nobody\"]\nkeep = \"nothing\"\n[[keep]]\nanswered = true\nkeep = \"full\"\n\
     [[keep]]\nkeep = \"full\"\n",
];

#[test]
fn tunnels_fragments_and_the_next_internet() {
    golden(&[
        ("ipv6-call", "udp"),
        ("ip-fragments-v4", "udp"),
        ("ip-fragments-v6", "udp"),
        ("fragmented-tunnel", "udp"),
        ("vlan-qinq-gre-vxlan", "udp"),
        ("multipart-offer", "udp"),
    ]);
}

#[test]
fn connections() {
    golden(&[
        ("tcp-cut-everywhere", "tcp"),
        ("tcp-out-of-order-and-overlap", "tcp"),
        ("tcp-hole", "tcp"),
        ("tcp-begins-in-a-message", "tcp"),
        ("two-messages-in-one-segment", "tcp"),
        ("sip-over-websocket", "ws"),
        ("sip-over-sctp", "sctp"),
        ("hep-mirrored-call", "hep"),
    ]);
}

/// Other people's.
#[test]
fn shared_captures() {
    let Some(shared) = ringtap_testing::shared() else { return };
    let captures = shared.join("captures");
    std::thread::scope(|scope| {
        for (name, transport) in [
            ("sip-tcp/goffinet-SIP-Call-Flow-Over-TCP.pcap", "tcp"),
            ("sip-tcp/heplify-sip_tcp_websocket.pcap", "ws"),
            ("sip-ipv6-frag/packetnet-udp-ip-fragmented.pcap", "udp"),
            ("sip-ipv6-frag/jakub-trace3.pcapng", "udp"),
            ("tunnels/heplify-erspan_sip_ipv4_udp.pcapng", "udp"),
            ("tunnels/heplify-ipip0.pcap", "udp"),
        ] {
            let path = captures.join(name);
            scope.spawn(move || through(&path, RULES[0], transport));
        }
    });
}

/// Cases of the repository and what carries their calls, side by side: a daemon waits more than it works.
fn golden(cases: &[(&str, &str)]) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    std::thread::scope(|scope| {
        for (case, transport) in cases {
            let path = dir.join(case).join("in.pcap");
            scope.spawn(move || RULES.iter().for_each(|rules| through(&path, rules, transport)));
        }
    });
}

/// Through the spool, and out of it.
fn through(capture: &Path, rules: &str, transport: &str) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut place = Place::new(dir.path());
    let path = place.configure(&format!("files = [\"{}\"]\nspeed = \"max\"", capture.display()), "");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("[engine]\n", "[engine]\nmax_calls = 1000\nmax_streams = 1000\n");
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\nmemory = \"16MiB\"\n{rules}", at("spool")))
        .unwrap();
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    let whole = place.calls();
    assert!(whole.values().any(|(call, _)| call["transport"] == transport), "{}", capture.display());
    for (call_id, (call, streams)) in &whole {
        let what = format!("{call_id} of {}, rules: {rules}", capture.display());
        assert_eq!((&call["recorded"], &call["recorded_missing"]), (&"full".into(), &0.into()), "{what}");
        let (pcap, json, text, again) = (at("call.pcap"), at("call.json"), at("call.txt"), at("again"));
        let (status, told) = ringtap(&[
            "export",
            call_id,
            "--store",
            &at("records"),
            "--spool",
            &at("spool"),
            "--pcap",
            &pcap,
            "--json",
            &json,
            "--text",
            &text,
            "--force",
        ]);
        assert_eq!(status, Some(0), "{what}: {told}");
        let exported: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let messages = exported["messages"].as_array().unwrap();
        assert_eq!(Some(messages.len() as u64), call["messages"].as_u64(), "{what}");
        // Each has its line in the ladder.
        let page = fs::read_to_string(&text).unwrap();
        for label in messages.iter().map(|message| message["label"].as_str().unwrap()) {
            let wanted = messages.iter().filter(|message| message["label"] == label).count();
            // Between hosts that stand close, a long one is cut.
            let shown: String = label.chars().take(12).collect();
            assert!(page.matches(&shown).count() >= wanted, "{label} in the ladder of {what}\n{page}");
        }
        // For us it is the call that it was.
        ringtap(&["analyze", &pcap, "--store", &again]);
        let found = calls(Path::new(&again));
        assert_eq!(found.len(), 1, "{what}");
        let carried = if transport == "hep" { "udp" } else { call["transport"].as_str().unwrap() };
        assert_eq!(found[call_id].0["transport"], carried, "{what}");
        for name in ["id", "messages", "state", "final_code", "invite_us", "answer_us", "end_us"] {
            assert_eq!(found[call_id].0[name], call[name], "{name} of {what}");
        }
        let figures = |streams: &[Value]| {
            let of =
                |stream: &Value| ["ssrc", "packets", "lost", "codec"].map(|name| stream[name].to_string());
            let mut figures: Vec<_> = streams.iter().map(of).collect();
            figures.sort();
            figures
        };
        assert_eq!(figures(&found[call_id].1), figures(streams), "{what}");
        fs::remove_dir_all(again).unwrap();
        others_see(&pcap, call, streams, &what);
    }
}

/// What another program finds in the export.
fn others_see(pcap: &str, call: &Value, streams: &[Value], what: &str) {
    let Some(ids) =
        tshark(&["-r", pcap, "-Y", "sip", "-T", "fields", "-E", "aggregator= ", "-e", "sip.Call-ID"])
    else {
        return;
    };
    let seen = ids.split_whitespace().filter(|id| *id == call["call_id"]).count() as u64;
    assert_eq!(Some(seen), call["messages"].as_u64(), "{what}: messages for tshark");
    let counted: u64 = streams.iter().map(|stream| stream["packets"].as_u64().unwrap()).sum();
    let media = tshark(&["-r", pcap, "-Y", "rtp", "-T", "fields", "-e", "rtp.ssrc"]).unwrap();
    assert_eq!(media.lines().count() as u64, counted, "{what}: media for tshark");
}
