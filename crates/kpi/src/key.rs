//! What calls are grouped by.

use std::net::IpAddr;
use std::sync::Arc;

use ringtap_model::{Call, Stream};

use crate::Settings;

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// All calls.
    Total,
    /// The trunk that a call came from.
    TrunkIn,
    /// The trunk that a call was sent to.
    TrunkOut,
    /// Whether it came in, went out, passed through or stayed inside.
    Direction,
    /// Each codec of its streams.
    Codec,
    /// User-Agent of the caller; of registrations, of who registers.
    Device,
    /// First digits of the number that was called.
    Prefix,
    /// Final code.
    Code,
}

impl Dimension {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Total,
        Self::TrunkIn,
        Self::TrunkOut,
        Self::Direction,
        Self::Codec,
        Self::Device,
        Self::Prefix,
        Self::Code,
    ];

    /// Whether calls in progress are counted: of codecs, devices, prefixes and codes they are not, which
    /// would be most of what is stored.
    pub(crate) fn has_occupancy(self) -> bool {
        matches!(self, Self::Total | Self::TrunkIn | Self::TrunkOut | Self::Direction)
    }
}

/// A group of calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What its calls have in common.
    pub dimension: Dimension,
    /// Its name; empty for all groups that found no room, and for the total.
    pub name: Arc<str>,
}

impl Key {
    /// A group of that name.
    pub fn new(dimension: Dimension, name: &str) -> Self {
        Self { dimension, name: name.into() }
    }

    /// The name as it is shown.
    pub fn shown(&self) -> &str {
        match (self.dimension, &*self.name) {
            (Dimension::Total, _) => "all calls",
            (_, "") => "(other)",
            (_, name) => name,
        }
    }
}

/// The name of what is not known.
pub const NONE: &str = "(none)";
/// Longest name, in bytes.
const LONGEST: usize = 64;
/// Codecs counted of one call.
const CODECS: usize = 4;

/// The groups that a call belongs to. `further` says that it is a further leg of a conversation: then the
/// second of each pair says whether it counts there as a conversation, which it does at a configured trunk.
pub(crate) fn of_call(
    call: &Call,
    streams: &[Stream],
    further: bool,
    settings: &Settings,
    mut each: impl FnMut(Dimension, &str, bool),
) {
    let (from, to) = (call.src.ip.to_string(), call.dst.ip.to_string());
    let from = call.trunk_from.as_deref().unwrap_or(&from);
    let to = call.trunk_to.as_deref().unwrap_or(&to);
    let counts = |name: &str| !further || is_configured(name);
    each(Dimension::Total, "", !further);
    each(Dimension::TrunkIn, cut(from), counts(from));
    each(Dimension::TrunkOut, cut(to), counts(to));
    each(Dimension::Direction, direction(from, to), !further);
    let codecs = codecs(streams);
    codecs.iter().for_each(|codec| each(Dimension::Codec, codec, !further));
    if codecs.is_empty() {
        each(Dimension::Codec, NONE, !further);
    }
    each(Dimension::Device, device(call.user_agent_caller.as_deref()), !further);
    let callee = call.ruri_user.as_deref().or(call.to_user.as_deref());
    each(Dimension::Prefix, &prefix(callee, settings.prefix_digits), !further);
    let code = call.final_code;
    let code = if (1..700).contains(&code) { code.to_string() } else { NONE.to_owned() };
    each(Dimension::Code, &code, !further);
}

/// The direction of a call between two trunks.
pub fn direction(from: &str, to: &str) -> &'static str {
    match (is_configured(from), is_configured(to)) {
        (true, true) => "through",
        (true, false) => "in",
        (false, true) => "out",
        (false, false) => "inside",
    }
}

/// Whether a trunk has a name of the configuration: those that were learned are addresses.
pub fn is_configured(trunk: &str) -> bool {
    trunk.parse::<IpAddr>().is_err()
}

/// The name of a device, of its User-Agent.
pub fn device(user_agent: Option<&str>) -> &str {
    user_agent.map(str::trim).filter(|name| !name.is_empty()).map_or(NONE, cut)
}

/// The codec of a stream.
pub(crate) fn codec(stream: &Stream) -> &str {
    stream.codec.as_deref().filter(|name| !name.is_empty()).map_or(NONE, cut)
}

fn codecs(streams: &[Stream]) -> Vec<&str> {
    let mut codecs: Vec<&str> = Vec::new();
    for name in streams.iter().map(codec) {
        if codecs.len() < CODECS && !codecs.contains(&name) {
            codecs.push(name);
        }
    }
    codecs
}

/// The first digits of a number, after its + or 00: `+4930`. What is no number is one group.
pub fn prefix(number: Option<&str>, digits: u8) -> String {
    let Some(number) = number else { return NONE.to_owned() };
    let mut plain: String = number.chars().filter(|c| !matches!(c, ' ' | '-' | '.' | '(' | ')')).collect();
    if let Some(rest) = plain.strip_prefix("00") {
        plain = format!("+{rest}");
    }
    let (plus, rest) = plain.strip_prefix('+').map_or(("", plain.as_str()), |rest| ("+", rest));
    if rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return "(no number)".to_owned();
    }
    format!("{plus}{}", &rest[..rest.len().min(digits.into())])
}

/// A name that is not too long.
pub fn cut(name: &str) -> &str {
    let mut end = name.len().min(LONGEST);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// What makes a call the same as another for who repeats it: who calls whom. None where one is not known.
pub(crate) fn pair(call: &Call) -> Option<u64> {
    let from = call.from_user.as_deref().filter(|user| !user.eq_ignore_ascii_case("anonymous"));
    let from = from.or(call.asserted_identity.as_deref())?;
    let to = call.ruri_user.as_deref().or(call.to_user.as_deref())?;
    // FNV-1a, 64 bits: the same in every run, since it is stored.
    let bytes = from.bytes().chain([0xff]).chain(to.bytes());
    Some(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        for (number, expected) in [
            ("+49 (30) 1234", "+4930"),
            ("004930123", "+4930"),
            ("030123456", "0301"),
            ("112", "112"),
            ("alice", "(no number)"),
            ("+", "(no number)"),
            ("", "(no number)"),
        ] {
            assert_eq!(prefix(Some(number), 4), expected, "{number}");
        }
        assert_eq!(prefix(None, 4), NONE);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = "ü".repeat(100);
        assert_eq!(cut(&name).len(), 64);
        assert_eq!(cut(&format!("x{name}")).len(), 63);
    }
}
