//! Types of the configuration's values, besides numbers and texts.

use std::fmt;
use std::net::SocketAddr;

use ringtap_model::Nanos;
use ringtap_quality::Receiver;
use ringtap_spool::SpaceThreshold;
use ringtap_spool::rules::{CallShare, Network, RecordingScope};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::key::{KeyValue, key_values, list, quoted};

/// Defines an enumeration whose values are words of the file.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $Choice:ident { $(
            $(#[doc = $description:literal])+
            $Value:ident = $word:literal,
        )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        $vis enum $Choice { $(
            $(#[doc = $description])+
            #[serde(rename = $word)]
            $Value,
        )+ }

        impl KeyValue for $Choice {
            fn accepts() -> String {
                let words = [$(quoted($word)),+];
                let (last, others) = words.split_last().unwrap_or_else(|| unreachable!());
                format!("{} or {last}", others.join(", "))
            }

            fn written(&self) -> String {
                quoted(match self {
                    $(Self::$Value => $word,)+
                })
            }
        }
    };
}

pub(super) use choice;

/// Bytes: `"64MiB"`, or a number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A span of time: `"10s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Nanos);

choice! {
    /// How frames are captured from an interface.
    pub(crate) enum Source {
        /// AF_PACKET with a memory-mapped ring.
        Packet = "packet",
        /// AF_XDP, in the best mode that the driver has.
        Xdp = "xdp",
        /// AF_XDP, straight into the program's memory.
        XdpZeroCopy = "xdp-zero-copy",
        /// AF_XDP in the driver, with a copy.
        XdpCopy = "xdp-copy",
        /// AF_XDP without the driver's help.
        XdpGeneric = "xdp-generic",
    }
}

choice! {
    /// Which packets of an interface.
    pub(crate) enum Direction {
        /// Those that arrive and those that are sent.
        Both = "both",
        /// Those that arrive.
        Incoming = "incoming",
    }
}

choice! {
    /// What decides which worker gets a packet.
    pub(crate) enum Fanout {
        /// Its source.
        Source = "source",
        /// The kernel's hash of its flow.
        Flow = "flow",
        /// The receive queue.
        Queue = "queue",
    }
}

choice! {
    /// What is recorded of calls.
    pub(crate) enum KeepScope {
        /// Their records alone.
        Nothing = "nothing",
        /// Their messages.
        Signalling = "signalling",
        /// Also their media, without payload.
        Headers = "headers",
        /// Also the payload.
        Full = "full",
        /// Also every other frame that passes.
        Everything = "everything",
    }
}

choice! {
    /// Which calls a hook gets.
    pub(crate) enum HookWhen {
        /// All that have ended.
        Finished = "finished",
        /// Those of which something was recorded.
        Recorded = "recorded",
    }
}

choice! {
    /// What a hook gets of the sound of a call.
    pub(crate) enum HookSoundName {
        /// Nothing.
        None = "none",
        /// The path of a file.
        Path = "path",
        /// The file.
        Upload = "upload",
    }
}

impl KeepScope {
    /// Of a call.
    pub(crate) fn of_call(self) -> RecordingScope {
        match self {
            Self::Nothing => RecordingScope::Nothing,
            Self::Signalling => RecordingScope::Signalling,
            Self::Headers => RecordingScope::Headers,
            Self::Full | Self::Everything => RecordingScope::Full,
        }
    }
}

/// Space on a file system: a share of it, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSpace(pub(crate) SpaceThreshold);

choice! {
    /// How recorded packets are compressed.
    pub(crate) enum Compression {
        /// Not at all.
        None = "none",
        /// With zstd.
        Zstd = "zstd",
    }
}

/// How fast files are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// As fast as possible.
    Max,
    /// A multiple of the speed of the capture.
    Times(f64),
}

/// An address to listen on; None if it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) Option<SocketAddr>);

choice! {
    /// How much memory the daemon uses: which defaults the keys have.
    pub enum Profile {
        /// Thousands of calls.
        Default = "default",
        /// A telephone system of up to 100 calls at once.
        Small = "small",
    }
}

choice! {
    /// What is logged.
    pub(crate) enum LogLevel {
        /// Failures.
        Error = "error",
        /// Also losses, present or imminent.
        Warn = "warn",
        /// Also starts, stops, and the status line.
        Info = "info",
        /// Also details for finding a cause.
        Debug = "debug",
    }
}

choice! {
    /// How much an alarm matters.
    pub(crate) enum AlarmSeverity {
        /// Worth knowing.
        Info = "info",
        /// To be looked at within the day.
        Warning = "warning",
        /// To be looked at now.
        Critical = "critical",
    }
}

choice! {
    /// How somebody is told of alarms.
    pub(crate) enum NotifyProtocol {
        /// An HTTP POST for each notice.
        Webhook = "webhook",
        /// Prometheus' Alertmanager.
        Alertmanager = "alertmanager",
        /// Mail.
        Smtp = "smtp",
        /// SNMPv2c traps.
        Snmp = "snmp",
    }
}

choice! {
    /// How a connection for mail is protected.
    pub(crate) enum MailTls {
        /// Not at all.
        None = "none",
        /// By STARTTLS.
        Starttls = "starttls",
        /// By TLS from the beginning.
        Tls = "tls",
    }
}

/// A network: `"192.0.2.0/24"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkPrefix(pub(crate) Network);

/// Receivers of media: `"192.0.2.0/24"`, `"ua:Foo*"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaReceiver(pub(crate) Receiver);

/// A share of all calls: `"1%"`, or 0.01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallSharePercent(pub(crate) CallShare);

/// A header field to look for in messages: `"X-Recording: off"`. None if it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderField(pub(crate) Option<(String, String)>);

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
    // `parse` would accept a sign.
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// The value in the largest unit that divides it.
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

/// A value that the file may have as a number or as a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Whole(u64),
    Real(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Whole(bytes) => Some(bytes),
            NumberOrText::Text(text) => measured(&text, &SIZES),
            NumberOrText::Real(_) => None,
        }
        .map(Self)
        .ok_or_else(|| D::Error::custom("no size"))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        measured(&text, &SPANS).map(|nanos| Self(Nanos(nanos))).ok_or_else(|| D::Error::custom("no time"))
    }
}

impl fmt::Display for FreeSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SpaceThreshold::Bytes(bytes) => Size(bytes).fmt(f),
            SpaceThreshold::Thousandths(part) if part % 10 == 0 => write!(f, "{}%", part / 10),
            SpaceThreshold::Thousandths(part) => write!(f, "{}.{}%", part / 10, part % 10),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkPrefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for MediaReceiver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for CallSharePercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Whole(share) => share.to_string(),
            NumberOrText::Real(share) => share.to_string(),
            NumberOrText::Text(text) => text,
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for FreeSpace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match NumberOrText::deserialize(deserializer)? {
            // Nothing is nothing in any unit.
            NumberOrText::Whole(0) => return Ok(Self(SpaceThreshold::Thousandths(0))),
            NumberOrText::Text(text) => text,
            NumberOrText::Whole(_) | NumberOrText::Real(_) => String::new(),
        };
        thousandths(&text)
            .map(SpaceThreshold::Thousandths)
            .or_else(|| measured(&text, &SIZES).map(SpaceThreshold::Bytes))
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

impl<'de> Deserialize<'de> for HeaderField {
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

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let times = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Text(text) if text == "max" => return Ok(Self::Max),
            NumberOrText::Text(_) => f64::NAN,
            NumberOrText::Whole(times) => times as f64,
            NumberOrText::Real(times) => times,
        };
        let is_speed = times.is_finite() && times > 0.0;
        is_speed.then_some(Self::Times(times)).ok_or_else(|| D::Error::custom("no speed"))
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|address| Self(Some(address))).map_err(|_| D::Error::custom("no address"))
    }
}

const SIZE: &str = "a size, such as \"64MiB\", \"512KiB\" or a number of bytes";
const SPAN: &str = "a time with its unit, such as \"10s\", \"250ms\", \"4h\" or \"90d\"";
const FREE: &str = "a share such as \"5%\", or a size such as \"20GiB\"";
const FIELD: &str = "a header field and its value, such as \"X-Recording: off\", or \"\" for none";
const SPEED: &str = "\"max\" or a number above 0, such as 1 for the speed of the capture";
const LISTEN: &str = "an address and a port, such as \"127.0.0.1:9464\", or \"\" for none";
const RECEIVERS: &str =
    "a list of addresses, networks and User-Agents, such as [\"192.0.2.0/24\", \"ua:Foo*\"]";
const NETWORKS: &str = "a list of networks, such as [\"192.0.2.0/24\", \"2001:db8::1\"]";
const SHARE: &str = "a share from 0% to 100%, such as \"1%\"";

impl KeyValue for Size {
    fn accepts() -> String {
        SIZE.to_owned()
    }

    fn written(&self) -> String {
        if self.0 == 0 { "0".to_owned() } else { quoted(&self.to_string()) }
    }

    fn number(&self) -> Option<u64> {
        Some(self.0)
    }

    fn show(number: u64) -> String {
        Self(number).to_string()
    }
}

impl KeyValue for Span {
    fn accepts() -> String {
        SPAN.to_owned()
    }

    fn written(&self) -> String {
        quoted(&self.to_string())
    }

    fn number(&self) -> Option<u64> {
        Some(self.0.0)
    }

    fn show(number: u64) -> String {
        Self(Nanos(number)).to_string()
    }
}

key_values! {
    FreeSpace: FREE, |free| quoted(&free.to_string());
    HeaderField: FIELD, |field| {
        quoted(&field.0.as_ref().map(|(name, value)| format!("{name}: {value}")).unwrap_or_default())
    };
    Speed: SPEED, |speed| match speed {
        Speed::Max => quoted("max"),
        // TOML requires the decimal point.
        Speed::Times(times) => format!("{times:?}"),
    };
    ListenAddress: LISTEN, |listen| {
        quoted(&listen.0.map(|address| address.to_string()).unwrap_or_default())
    };
    Vec<NetworkPrefix>: NETWORKS, |networks| list(networks, |network| quoted(&network.0.to_string()));
    Vec<MediaReceiver>: RECEIVERS, |receivers| list(receivers, |one| quoted(&one.0.to_string()));
    CallSharePercent: SHARE, |share| quoted(&share.0.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        for (text, part) in [("0%", 0), ("5%", 50), ("2.5%", 25), ("99.9%", 999), ("100%", 1000)] {
            assert_eq!(thousandths(text), Some(part));
            assert_eq!(FreeSpace(SpaceThreshold::Thousandths(part)).to_string(), text);
        }
        for text in ["", "%", "5", "5.%", ".5%", "-1%", "+1%", "100.1%", "1.25%", "9999%", "5 %"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
        assert_eq!(FreeSpace(SpaceThreshold::Bytes(20 << 30)).to_string(), "20GiB");
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
