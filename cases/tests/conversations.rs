//! What is joined in real captures, each join compared by hand with tshark.

use std::path::Path;

use ringtap_cases::{run, shared};
use ringtap_conversation::{Joiner, Settings};
use ringtap_engine::Config;

/// Captures with joins: how many calls are joined to an earlier one, by reason. In all others there is none.
const JOINED: &[(&str, &str, usize)] = &[
    ("an-lab-sip-call.pcap", "numbers", 1),
    ("david-Konferencny-hovor.pcapng", "conference", 1),
    ("david-Presmerovanie.pcapng", "refer", 1),
    ("digium-digium.pcap", "numbers", 1),
    ("eeliseeva-trace_conferencecall.pcap", "conference", 1),
    ("etakerim-transfer-call.pcap", "refer", 1),
    ("goffinet-voip-extension.pcap", "refer", 1),
    ("goffinet-voip1b.pcapng", "numbers", 1),
    ("heplify-erspan_sip_ipv4_udp.pcapng", "replaces", 1),
    ("heplify-sip_tcp_websocket.pcap", "numbers", 1),
    ("jakub-trace7.pcapng", "refer", 1),
    ("kesuera-redirect_call.pcap", "refer", 1),
    ("marek-hovor-presmerovanie.pcapng", "refer", 1),
    ("martinkat-konferencny_hovor.pcapng", "conference", 1),
    ("plugin23-presmerovaniehovoru.pcap", "refer", 1),
    ("russo-dtmf_relay_iwrk_rtpnte.pcapng", "session_id", 1),
    ("russo-dtmf_relay_sip_rfc4733.pcapng", "numbers", 1),
    ("russo-sip_recording_siprec.pcapng", "session_id", 1),
    ("simonk1-Pcap3OnlySIP.pcapng", "conference", 1),
    ("tommat-konferencny_s_ntb.pcapng", "conference", 1),
];

#[test]
fn joins_of_real_captures_are_those_that_were_checked() {
    let mut found = Vec::new();
    let Some(folder) = ringtap_testing::shared() else { return };
    for path in shared::captures(&folder.join("captures")) {
        let Ok(records) = run::file(&path, Config::default(), 64) else { continue };
        let mut joiner = Joiner::new(Settings::default());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for mut call in records.calls {
            joiner.add(&mut call);
            for join in &call.joins {
                println!("{}: {} -> {} {}", path.display(), call.call_id, join.reason.name(), join.evidence);
                found.push((name.clone(), join.reason.name()));
            }
        }
    }
    found.sort();
    let mut counted: Vec<(&str, &str, usize)> = Vec::new();
    for (name, reason) in &found {
        match counted.last_mut() {
            Some((last, other, count)) if last == name && other == reason => *count += 1,
            _ => counted.push((name, reason, 1)),
        }
    }
    assert_eq!(counted, JOINED);
}

/// What `bench/conversation.sh` finds with Kamailio and Asterisk: each leg and why it is joined to which.
#[test]
fn a_transfer_behind_a_proxy_that_hides_topology_is_one_conversation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("hidden-topology-and-transfer/in.pcap");
    let records = run::file(&path, Config::default(), 64).expect("the case is there");
    let mut joiner = Joiner::new(Settings::default());
    let mut calls = records.calls;
    let mut conversations = std::collections::HashMap::new();
    for call in &mut calls {
        let amendments = joiner.add(call);
        conversations.insert(call.id, call.conversation);
        conversations
            .extend(amendments.iter().map(|amendment| (amendment.call, Some(amendment.conversation))));
    }
    assert!(conversations.values().all(|conversation| *conversation == conversations[&calls[0].id]));
    let name = |id: &ringtap_model::Id| calls.iter().find(|call| call.id == *id).map(|call| &*call.call_id);
    let mut joins: Vec<String> = calls
        .iter()
        .flat_map(|call| call.joins.iter().map(move |join| (&call.call_id, join)))
        .map(|(call_id, join)| {
            format!("{call_id} {} {}", join.reason.name(), name(&join.call).unwrap_or("?"))
        })
        .collect();
    joins.sort();
    assert_eq!(
        joins,
        [
            "behind@example.com sdp_origin before@example.com",
            "first@example.com numbers behind@example.com",
            "last@example.com refer first@example.com",
        ]
    );
}
