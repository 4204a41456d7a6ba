//! Why an input has no calls, in a sentence that says what to do.

use ringtap_wire::unfollowed::Unfollowed;

use crate::text::grouped;

/// Why no call was found, by what was found instead.
///
/// `kinds` and `drops` are counters of the engine by name, `unfollowed` packets by protocol.
pub(crate) fn reason(
    kinds: &[(&'static str, u64)],
    drops: &[(&'static str, u64)],
    unfollowed: &[(Unfollowed, u64)],
) -> String {
    let of_kind = |kind| count(kinds, kind);
    let total: u64 = kinds.iter().map(|(_, count)| count).sum();
    let (sip, rtp, not_ip) = (of_kind("sip"), of_kind("rtp"), of_kind("not_ip"));
    let bad = count(drops, "sip_bad");
    let packets = grouped(total);
    match () {
        () if total == 0 => "the input has no packet".to_owned(),
        () if sip > 0 => format!("none of the {} SIP messages is of an INVITE", grouped(sip)),
        () if bad > 0 => format!("none of the {} messages that look like SIP can be read", grouped(bad)),
        () if let Some(other) = signalling(unfollowed) => other,
        () if rtp > 0 => format!(
            "there is no SIP beside {} RTP packets: it takes another path, is encrypted, or was not captured",
            grouped(rtp)
        ),
        () if not_ip == total => format!("none of the {packets} frames holds an IP packet"),
        () => {
            format!("there is no SIP among {packets} packets: see whether the place and the filter are right")
        }
    }
}

/// The signalling that is there in its place.
fn signalling(unfollowed: &[(Unfollowed, u64)]) -> Option<String> {
    let most = unfollowed.iter().filter(|(what, count)| *count > 0 && carries_calls(*what));
    let (what, _) = most.max_by_key(|(_, count)| *count)?;
    Some(match what {
        Unfollowed::SipTls => {
            "its SIP is in TLS: mirror it from the proxy by HEP, or capture where it is not encrypted"
                .to_owned()
        }
        Unfollowed::Esp => {
            "there is ESP and no SIP: that of IMS telephones is in it; capture behind the P-CSCF".to_owned()
        }
        _ => format!("its signalling is {}, which is counted and not followed", what.title()),
    })
}

/// Whether calls may be set up by it alone.
fn carries_calls(what: Unfollowed) -> bool {
    !matches!(what, Unfollowed::Dtls | Unfollowed::T38 | Unfollowed::Diameter)
}

fn count(counts: &[(&'static str, u64)], name: &str) -> u64 {
    counts.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kinds: &[(&'static str, u64)], unfollowed: &[(Unfollowed, u64)]) -> String {
        reason(kinds, &[], unfollowed)
    }

    #[test]
    fn each_reason_names_what_is_there() {
        let skinny = [(Unfollowed::Sccp, 4), (Unfollowed::Diameter, 9), (Unfollowed::SipTls, 0)];
        for (kinds, unfollowed, words) in [
            (&[][..], &[][..], "no packet"),
            (&[("sip", 1200), ("rtp", 5)], &skinny, "none of the 1,200 SIP messages"),
            (&[("tcp", 9), ("rtp", 5)], &skinny, "its signalling is SCCP (Skinny)"),
            (&[("tcp", 9)], &[(Unfollowed::SipTls, 3)], "by HEP"),
            (&[("ip_other", 9)], &[(Unfollowed::Esp, 3)], "P-CSCF"),
            (&[("rtp", 7), ("udp_other", 1)], &[(Unfollowed::Diameter, 1)], "beside 7 RTP packets"),
            (&[("not_ip", 7)], &[], "none of the 7 frames"),
            (&[("tcp", 7)], &[], "no SIP among 7 packets"),
        ] {
            let sentence = of(kinds, unfollowed);
            assert!(sentence.contains(words), "{sentence}");
        }
        let bad = reason(&[("udp_other", 3)], &[("sip_bad", 3)], &[]);
        assert!(bad.contains("none of the 3 messages that look like SIP"), "{bad}");
    }
}
