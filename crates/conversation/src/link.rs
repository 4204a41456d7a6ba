//! Identifiers that two legs have in common.

use ringtap_model::JoinReason;

/// An identifier of a call, out of its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identifier<'a> {
    pub(crate) reason: JoinReason,
    pub(crate) value: &'a str,
    /// Whether it names the other call rather than being shared with it.
    pub(crate) names_call_id: bool,
}

impl<'a> Identifier<'a> {
    /// The identifier in a link, if it has one that can be unique.
    pub(crate) fn of(link: &'a str) -> Option<Self> {
        let (kind, value) = link.split_once('=')?;
        let reason = match kind {
            "session" => JoinReason::SessionId,
            "icid" => JoinReason::ChargingId,
            "origin" if is_telling(value) => JoinReason::SdpOrigin,
            "media" => JoinReason::MediaAddress,
            "replaces" => JoinReason::Replaces,
            "conference" => JoinReason::Conference,
            _ => return None,
        };
        let names_call_id = reason == JoinReason::Replaces;
        (value.len() >= SHORTEST).then_some(Self { reason, value, names_call_id })
    }
}

/// Whether the session of an `o=` (user, session, address) is more than a small or constant number.
fn is_telling(origin: &str) -> bool {
    let session = origin.split(' ').nth(1).unwrap_or_default().trim_start_matches('0');
    let first = session.bytes().next();
    session.len() >= DIGITS && session.bytes().any(|byte| Some(byte) != first)
}

/// How certain a join for that reason is.
pub(crate) const fn confidence(reason: JoinReason) -> f64 {
    match reason {
        JoinReason::SessionId | JoinReason::Replaces => 1.0,
        JoinReason::ChargingId => 0.98,
        JoinReason::SdpOrigin => 0.95,
        JoinReason::MediaAddress | JoinReason::Refer | JoinReason::Redirect | JoinReason::Conference => 0.9,
        JoinReason::Numbers => 0.7,
    }
}

/// Characters of the shortest identifier.
const SHORTEST: usize = 4;
/// Digits of the session of an `o=` that tell something: gateways number theirs from 1.
const DIGITS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_constant_sessions_tell_nothing() {
        let of = |link| Identifier::of(link).map(|found| found.reason);
        assert_eq!(of("origin=- 3795262400 192.0.2.1"), Some(JoinReason::SdpOrigin));
        for link in ["origin=- 1 192.0.2.1", "origin=- 000042 h", "origin=- 00000000 h", "origin=x", "o=1"] {
            assert_eq!(of(link), None, "{link}");
        }
        assert_eq!(of("icid=1"), None);
        assert_eq!(of("media=192.0.2.1:4000"), Some(JoinReason::MediaAddress));
    }
}
