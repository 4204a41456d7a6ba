//! Decisions that follow from a verdict of the rules, and from a stream's addresses alone.

use std::net::IpAddr;

use ringtap_spool::rules::{CallDecision, CallFacts, DecisionState, Verdict};

use crate::policy::RecordingPolicy;

pub(super) fn decision_from(verdict: &Verdict) -> CallDecision {
    match *verdict {
        Verdict::Decided { what, mask_digits, may_pause, .. } => CallDecision {
            state: DecisionState::Decided,
            what,
            mask_digits,
            may_pause,
            ..CallDecision::default()
        },
        Verdict::Open { what, mask_digits, may_pause, until_end } => {
            let state = if until_end { DecisionState::UntilEnd } else { DecisionState::Open };
            CallDecision { state, what, mask_digits, may_pause, ..CallDecision::default() }
        }
    }
}

/// Asks with what is known of a stream that no call claims.
pub(super) fn alone_facts<T>(
    policy: &RecordingPolicy,
    ends: &[IpAddr],
    ssrc: u32,
    ask: impl FnOnce(&CallFacts<'_>) -> T,
) -> T {
    let mut hosts: Vec<String> = ends.iter().map(IpAddr::to_string).collect();
    hosts.sort();
    let parts: Vec<&[u8]> = hosts.iter().map(String::as_bytes).collect();
    let ssrc = ssrc.to_be_bytes();
    let key = policy.hash(&[&parts[..], &[&ssrc[..]]].concat());
    ask(&CallFacts { addresses: ends, key, over: true, judged: true, ..CallFacts::default() })
}
