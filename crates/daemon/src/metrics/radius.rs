//! Sessions of subscribers, and the packets that they are known by: numbers alone, nothing of any of them.

use super::family::{Family, MetricKind, Value};
use crate::radius::Seen;

/// All of it; without samples where no sessions are followed.
pub(super) fn families(seen: Option<Seen>) -> Vec<Family> {
    let sample = |label: &'static str, rows: &[(&str, u64)]| {
        let rows = rows.iter().map(|(name, count)| (vec![(label, (*name).to_owned())], Value::Whole(*count)));
        rows.collect::<Vec<_>>()
    };
    let packets = seen.map_or_else(Vec::new, |Seen { counts, dropped, .. }| {
        let rows = [
            ("read", counts.packets),
            ("malformed", counts.malformed),
            ("repeated", counts.retransmissions),
            ("unpaired", counts.unpaired),
            ("unanswered", counts.unanswered),
            ("rejected", counts.rejected),
            ("right", counts.right),
            ("wrong", counts.wrong),
            ("unchecked", counts.unchecked),
            ("dropped", dropped),
        ];
        sample("what", &rows)
    });
    let lost = seen.map_or_else(Vec::new, |Seen { counts, .. }| {
        let rows = [
            ("session", counts.evicted),
            ("request", counts.requests_evicted),
            ("name", counts.names_dropped),
            ("address", counts.addresses_dropped),
            ("exchange", counts.dhcp.exchanges_evicted),
            ("link", counts.pppoe.links_evicted),
        ];
        sample("what", &rows)
    });
    let gauge =
        |of: fn(Seen) -> u64| seen.map(|seen| (Vec::new(), Value::Whole(of(seen)))).into_iter().collect();
    let family = |name, help, kind, samples| Family { name, help, kind, samples };
    vec![
        family(
            "ringtap_radius_packets",
            "RADIUS packets `read`; of them those `repeated`, answers without their request (`unpaired`), \
             requests without an answer (`unanswered`), rejections; with `right`, `wrong` and `unchecked` \
             authenticators; `malformed` ones; those `dropped` because too many came at once.",
            MetricKind::Counter,
            packets,
        ),
        dhcp(seen),
        pppoe(seen),
        tls(seen),
        family(
            "ringtap_radius_given_up",
            "What was given up at a ceiling while sessions were followed: raise [radius] max_sessions or \
             memory where sessions are.",
            MetricKind::Counter,
            lost,
        ),
        family(
            "ringtap_subscriber_sessions",
            "Sessions of subscribers that are followed now.",
            MetricKind::Gauge,
            gauge(|seen| seen.open),
        ),
        family(
            "ringtap_subscriber_sessions_resumed",
            "Sessions of the previous run that are followed on since the start.",
            MetricKind::Gauge,
            gauge(|seen| seen.resumed),
        ),
    ]
}

fn dhcp(seen: Option<Seen>) -> Family {
    let samples = seen.map_or_else(Vec::new, |Seen { counts, .. }| {
        let dhcp = counts.dhcp;
        let rows = [
            ("read", dhcp.messages),
            ("malformed", dhcp.malformed),
            ("relayed", dhcp.relayed),
            ("repeated", dhcp.retransmissions),
            ("unpaired", dhcp.unpaired),
            ("unanswered", dhcp.unanswered),
            ("rejected", dhcp.rejected),
            ("leases", dhcp.leases),
            ("stale", dhcp.stale),
        ];
        let row = |(name, count): (&str, u64)| (vec![("what", name.to_owned())], Value::Whole(count));
        rows.into_iter().map(row).collect()
    });
    Family {
        name: "ringtap_dhcp_messages",
        help: "DHCP messages `read`; of them those seen again on the other side of a relay agent \
               (`relayed`), those `repeated`, answers without their request (`unpaired`), exchanges \
               `unanswered`, refusals, `leases` given and renewed, and releases of what the client did not \
               have (`stale`); `malformed` ones.",
        kind: MetricKind::Counter,
        samples,
    }
}

fn pppoe(seen: Option<Seen>) -> Family {
    let samples = seen.map_or_else(Vec::new, |Seen { counts, .. }| {
        let pppoe = counts.pppoe;
        let rows = [
            ("read", pppoe.frames),
            ("malformed", pppoe.malformed),
            ("sessions", pppoe.sessions),
            ("unfinished", pppoe.unfinished),
            ("rejected", pppoe.rejected),
            ("unpaired", pppoe.unpaired),
        ];
        let row = |(name, count): (&str, u64)| (vec![("what", name.to_owned())], Value::Whole(count));
        rows.into_iter().map(row).collect()
    });
    Family {
        name: "ringtap_pppoe_frames",
        help: "Frames of PPPoE discovery and of PPP's control protocols that were `read`, and `malformed` \
               ones; of what they say: `sessions` that got an address, those that got none within a minute \
               (`unfinished`), logins and sessions that were `rejected`, and acknowledged addresses of \
               which it is not known whose they are (`unpaired`).",
        kind: MetricKind::Counter,
        samples,
    }
}

fn tls(seen: Option<Seen>) -> Family {
    let samples = seen.map_or_else(Vec::new, |Seen { counts, .. }| {
        let tls = counts.tls;
        let rows = [
            ("opened", tls.opened),
            ("no_key", tls.no_key),
            ("wrong", tls.wrong),
            ("unsupported", tls.unsupported),
            ("connection", tls.evicted),
        ];
        let row = |(name, count): (&str, u64)| (vec![("what", name.to_owned())], Value::Whole(count));
        rows.into_iter().map(row).collect()
    });
    Family {
        name: "ringtap_radius_tls_records",
        help: "Records of RADIUS over TLS that were `opened`; those without a key (`no_key`), those that \
               their key does not open, since others before them are missing (`wrong`), and those of a \
               cipher that is not read (`unsupported`); a `connection` that gave way to others.",
        kind: MetricKind::Counter,
        samples,
    }
}
