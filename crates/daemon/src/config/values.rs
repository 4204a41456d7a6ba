//! Values of the configuration that are more than a number or a text.

use std::fmt;
use std::net::SocketAddr;

use ringtap_model::Nanos;
use ringtap_spool::Room;
use ringtap_spool::rules::{Network, Part, What};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes: `"64MiB"`, or a number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A span of time: `"10s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Nanos);

/// How frames are taken from an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    /// AF_PACKET with a memory-mapped ring.
    Packet,
    /// AF_XDP, as good as the driver can.
    Xdp,
    /// AF_XDP, straight into the program's memory.
    XdpZeroCopy,
    /// AF_XDP in the driver, with a copy.
    XdpCopy,
    /// AF_XDP without the driver's help.
    XdpGeneric,
}

/// Which packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// What arrives and what is sent.
    Both,
    /// What arrives.
    Incoming,
}

/// Which worker a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fanout {
    /// By its source.
    Source,
    /// By the kernel's hash of the flow.
    Flow,
    /// By the receive queue.
    Queue,
}

/// What is kept of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Keep {
    /// Their records alone.
    Nothing,
    /// Their messages.
    Signalling,
    /// And their media without what is said.
    Headers,
    /// And what is said.
    Full,
    /// And every other frame that passes.
    Everything,
}

impl Keep {
    /// Of a call.
    pub(crate) fn of_call(self) -> What {
        match self {
            Self::Nothing => What::Nothing,
            Self::Signalling => What::Signalling,
            Self::Headers => What::Headers,
            Self::Full | Self::Everything => What::Full,
        }
    }
}

/// Room on a file system: a share of it, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Free(pub(crate) Room);

/// How what is kept is made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Compress {
    /// Not at all.
    None,
    /// By zstd.
    Zstd,
}

/// How fast files are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// As fast as it goes.
    Max,
    /// So many times the pace of the capture.
    Times(f64),
}

/// Where to listen; nowhere where it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// What does not work.
    Error,
    /// And what is lost, or soon will be.
    Warn,
    /// And what happens: starts, stops, the status line.
    Info,
    /// And what helps to find out why.
    Debug,
}

/// A network: `"192.0.2.0/24"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Net(pub(crate) Network);

/// A share of all calls: `"1%"`, or 0.01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(pub(crate) Part);

/// A header field that a message is looked for: `"X-Recording: off"`. None where it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field(pub(crate) Option<(String, String)>);

const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// Longer names before those that they end in.
const SPANS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// A whole number and one of the units.
fn measured(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (unit, size) = units.iter().find(|(unit, _)| {
        text.strip_suffix(unit).is_some_and(|number| number.ends_with(|last: char| last.is_ascii_digit()))
    })?;
    let number = text.strip_suffix(unit)?;
    // `parse` would take a sign.
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// In the largest unit that leaves nothing over.
fn told(value: u64, units: impl Iterator<Item = (&'static str, u64)>, none: &str) -> String {
    let mut units = units.filter(|(_, size)| value > 0 && value.is_multiple_of(*size));
    units.next().map_or_else(|| none.to_owned(), |(unit, size)| format!("{}{unit}", value / size))
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&told(self.0, SIZES.into_iter(), "0B"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&told(self.0.0, SPANS.into_iter().rev(), "0s"))
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Bytes(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Bytes(bytes) => Ok(Self(bytes)),
            Written::Text(text) => {
                measured(&text, &SIZES).map(Self).ok_or_else(|| D::Error::custom("no size"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        measured(&text, &SPANS).map(|nanos| Self(Nanos(nanos))).ok_or_else(|| D::Error::custom("no time"))
    }
}

impl fmt::Display for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Room::Bytes(bytes) => Size(bytes).fmt(f),
            Room::Thousandths(part) if part % 10 == 0 => write!(f, "{}%", part / 10),
            Room::Thousandths(part) => write!(f, "{}.{}%", part / 10, part % 10),
        }
    }
}

impl<'de> Deserialize<'de> for Net {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Part(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Part(part) => part.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some((name, value)) => serializer.collect_str(&format_args!("{name}: {value}")),
            None => serializer.serialize_str(""),
        }
    }
}

impl Serialize for Free {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Free {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        thousandths(&text)
            .map(Room::Thousandths)
            .or_else(|| measured(&text, &SIZES).map(Room::Bytes))
            .map(Self)
            .ok_or_else(|| D::Error::custom("no share and no size"))
    }
}

/// `5%` or `2.5%`, of at most 100 %.
fn thousandths(text: &str) -> Option<u16> {
    let number = text.strip_suffix('%')?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let digits =
        |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let sound = digits(whole, 3) && digits(tenth, 1);
    let part = sound
        .then_some(())
        .and_then(|()| Some(whole.parse::<u16>().ok()? * 10 + tenth.parse::<u16>().ok()?))?;
    (part <= 1000).then_some(part)
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        // RFC 3261 section 25.1, token.
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&byte);
        match text.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if !name.is_empty() && !value.is_empty() && name.bytes().all(is_token) => {
                Ok(Self(Some((name.to_owned(), value.to_owned()))))
            }
            _ => Err(D::Error::custom("no header field")),
        }
    }
}

impl Serialize for Speed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Max => serializer.serialize_str("max"),
            Self::Times(times) => serializer.serialize_f64(*times),
        }
    }
}

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Times(f64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Text(text) if text == "max" => Ok(Self::Max),
            Written::Times(times) if times.is_finite() && times > 0.0 => Ok(Self::Times(times)),
            _ => Err(D::Error::custom("no speed")),
        }
    }
}

impl Serialize for Listen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(address) => serializer.collect_str(&address),
            None => serializer.serialize_str(""),
        }
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|address| Self(Some(address))).map_err(|_| D::Error::custom("no address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        for (text, part) in [("0%", 0), ("5%", 50), ("2.5%", 25), ("99.9%", 999), ("100%", 1000)] {
            assert_eq!(thousandths(text), Some(part));
            assert_eq!(Free(Room::Thousandths(part)).to_string(), text);
        }
        for text in ["", "%", "5", "5.%", ".5%", "-1%", "+1%", "100.1%", "1.25%", "9999%", "5 %"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
        assert_eq!(Free(Room::Bytes(20 << 30)).to_string(), "20GiB");
    }

    #[test]
    fn sizes_and_spans() {
        for (text, bytes) in [("0B", 0), ("7B", 7), ("64MiB", 64 << 20), ("3GiB", 3 << 30), ("1025B", 1025)] {
            assert_eq!(measured(text, &SIZES), Some(bytes));
            assert_eq!(Size(bytes).to_string(), text);
        }
        for (text, nanos) in [("0s", 0), ("1500ms", 1_500_000_000), ("10s", 10_000_000_000), ("50us", 50_000)]
        {
            assert_eq!(measured(text, &SPANS), Some(nanos));
            assert_eq!(Span(Nanos(nanos)).to_string(), text);
        }
        assert_eq!(measured("2m", &SPANS), Some(120_000_000_000));
        for text in ["", "10", "s", "-1s", "+1s", "1.5s", "1 s", "10x", "99999999999999999d"] {
            assert_eq!(measured(text, &SPANS), None, "{text}");
        }
        for text in ["64MB", "64M", "MiB", " 64MiB", "64mib"] {
            assert_eq!(measured(text, &SIZES), None, "{text}");
        }
    }
}
