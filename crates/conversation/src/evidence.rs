//! Whether what two legs have in common joins them.

use ringtap_model::{JoinReason, Nanos};

use crate::leg::{Leg, Target};
use crate::number::{Agreement, Number, agreement};

/// What a common identifier tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They are legs of one conversation.
    Join,
    /// Nothing.
    Apart,
    /// A box repeats it: it tells nothing about any call.
    Repeated,
}

/// Judges an identifier that both legs have.
pub(crate) fn judge(reason: JoinReason, one: &Leg, other: &Leg) -> Verdict {
    if reason == JoinReason::Replaces {
        return if one.overlaps(other, REPLACED) { Verdict::Join } else { Verdict::Apart };
    }
    let agreements = one.agreements(other);
    if !one.overlaps(other, GAP) {
        // The same two parties may call again with what their telephone repeats.
        let is_again = !agreements.contains(&Agreement::Different);
        return if is_again { Verdict::Apart } else { Verdict::Repeated };
    }
    if reason == JoinReason::Conference {
        return if one.overlaps(other, Nanos::ZERO) { Verdict::Join } else { Verdict::Apart };
    }
    let is_parallel = one.src == other.src && one.dst == other.dst;
    if one.has_other_parties(other) {
        // A box may rewrite both numbers, not so those of two calls that it gets from one host.
        let is_soon = one.apart(other) <= NEXT;
        let is_own = matches!(reason, JoinReason::SessionId | JoinReason::ChargingId);
        return match is_soon && !is_parallel {
            true if is_own && one.is_chained(other) => Verdict::Join,
            true => Verdict::Apart,
            false => Verdict::Repeated,
        };
    }
    let is_beside = one.src == other.src || one.dst == other.dst;
    let joins = match reason {
        // A box that forks, with new Call-IDs. Other legs beside each other have one between them.
        JoinReason::SessionId | JoinReason::ChargingId if is_beside && !one.is_chained(other) => {
            one.apart(other) <= FORKED && agreements[0] != Agreement::Different
        }
        JoinReason::SessionId | JoinReason::ChargingId => true,
        // Descriptions are passed on by boxes, which are seldom asked to make them unique. What one host
        // offers twice, or gets twice, was not passed on.
        _ => {
            let agrees = agreements.contains(&Agreement::Same) && !agreements.contains(&Agreement::Different);
            let is_related = one.is_chained(other) || agrees;
            !is_beside && is_related && one.overlaps(other, Nanos::ZERO) && one.apart(other) <= NEXT
        }
    };
    if joins { Verdict::Join } else { Verdict::Apart }
}

/// Whether a host that got the first leg may have sent the second for it, by numbers and times. Only where
/// this is so for no other leg, it tells something. Gives the confidence.
///
/// Who transfers a call leaves it, while the leg on the other side of the box goes on with another one (RFC
/// 5589): then the ends tell less.
pub(crate) fn is_next_by_numbers(into: &Leg, out: &Leg) -> Option<f64> {
    if !into.leads_to(out) || into.id == out.id || into.has_other_session(out) {
        return None;
    }
    let agreements = into.agreements(out);
    let same = agreements.iter().filter(|agreement| **agreement == Agreement::Same).count();
    let differ = agreements.contains(&Agreement::Different);
    let (starts, answers, ends) = match same {
        0 => return None,
        1 => (SOON, AT_ONCE, AT_ONCE),
        _ => (LATER, ANSWERED, ENDED),
    };
    let began = out.start + EARLY >= into.start
        && out.start <= into.start + starts
        && out.start <= into.answer.unwrap_or(into.end);
    let near = |one: Nanos, other: Nanos, span| one.since(other).max(other.since(one)) <= span;
    let answered = match (into.answer, out.answer) {
        (Some(into), Some(out)) => out <= into + EARLY && near(into, out, answers),
        // A number that differs needs all else to agree.
        (None, None) => !differ,
        _ => false,
    };
    let leaves = |one: &Leg, other: &Leg| one.transfers && one.end <= other.end + ends;
    let ended = near(into.end, out.end, ends);
    let is_left = same == 2 && (leaves(into, out) || leaves(out, into));
    (began && answered && (ended || is_left)).then_some(match (same, ended) {
        (2, true) => 0.8,
        (2, false) => 0.7,
        _ => 0.6,
    })
}

/// Whether a leg is the call that somebody was told to make.
pub(crate) fn is_call_to(target: &Target, told: &Leg, leg: &Leg) -> bool {
    let is_new = leg.id != told.id && leg.src == target.by;
    let is_there = leg
        .callee
        .as_ref()
        .is_some_and(|callee| agreement(Some(callee), Some(&target.number)) == Agreement::Same);
    let in_time = leg.start + EARLY >= target.at && leg.start <= target.at + TOLD;
    let is_caller =
        |party: &Option<Number>| agreement(leg.caller.as_ref(), party.as_ref()) != Agreement::Different;
    // Who is transferred may have called or been called.
    let by_party = is_caller(&told.caller) || target.reason == JoinReason::Refer && is_caller(&told.callee);
    is_new && is_there && in_time && by_party
}

/// How long after the end of a leg the next one of its conversation may begin.
const GAP: Nanos = Nanos::from_secs(5);
/// How long after its end a call may still be named by a Replaces header.
const REPLACED: Nanos = Nanos::from_secs(30);
/// How long after a leg the box behind it may begin the next.
const NEXT: Nanos = Nanos::from_secs(10);
/// How far apart forks begin.
const FORKED: Nanos = Nanos::from_secs(2);
/// How long after a REFER or 3xx the call that it asks for begins.
const TOLD: Nanos = Nanos::from_secs(10);
/// Frames of several interfaces are a little out of order.
const EARLY: Nanos = Nanos::from_millis(50);
/// By numbers: how far apart beginnings, answers and ends are where both numbers agree.
const LATER: Nanos = Nanos::from_secs(5);
const ANSWERED: Nanos = Nanos::from_secs(2);
pub(crate) const ENDED: Nanos = Nanos::from_secs(1);
/// The same where one number agrees: beginnings, and the others.
const SOON: Nanos = Nanos::from_secs(2);
const AT_ONCE: Nanos = Nanos::from_millis(500);
