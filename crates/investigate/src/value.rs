//! Values of fields, as the tables hold them and as people and searches write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// The value of a field that calls have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The field is not there.
    Absent,
    /// The field is there, whatever it is.
    Present,
    /// This text.
    Text(String),
    /// Texts that begin so.
    Beginning(String),
    /// Texts that begin with the first and end with the second.
    Ends(String, String),
    /// An address.
    Host(IpAddr),
    /// The network of an address, with this many bits.
    Network(IpAddr, u8),
    /// A number.
    Number(f64),
    /// Numbers from the first up to, without, the second.
    Range(f64, f64),
    /// From this moment, for so long.
    Span(Nanos, Nanos),
}

/// Values in the form in which they are counted, each written over the one before.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn absent(&mut self) -> &[u8] {
        self.begin(ABSENT)
    }

    pub(crate) fn present(&mut self) -> &[u8] {
        self.begin(PRESENT)
    }

    /// A text; only the beginning of a long one.
    pub(crate) fn text(&mut self, text: &str) -> &[u8] {
        let cut = cut(text);
        self.begin(if cut.len() < text.len() { BEGINNING } else { TEXT });
        self.then(cut.as_bytes())
    }

    pub(crate) fn beginning(&mut self, text: &str) -> &[u8] {
        self.begin(BEGINNING);
        self.then(cut(text).as_bytes())
    }

    /// What begins and ends so.
    pub(crate) fn ends(&mut self, first: &str, last: &str) -> &[u8] {
        let first = cut(first);
        let mut from = last.len().saturating_sub(LONGEST);
        while !last.is_char_boundary(from) {
            from += 1;
        }
        self.begin(ENDS);
        self.then(&[u8::try_from(first.len()).unwrap_or_default()]);
        self.then(first.as_bytes());
        self.then(&last.as_bytes()[from..])
    }

    pub(crate) fn host(&mut self, host: IpAddr) -> &[u8] {
        self.begin(HOST);
        self.address(host)
    }

    /// The network of `bits` bits in which `host` is.
    pub(crate) fn network(&mut self, host: IpAddr, bits: u8) -> &[u8] {
        let first: IpAddr = match host {
            IpAddr::V4(host) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
                Ipv4Addr::from_bits(host.to_bits() & mask).into()
            }
            IpAddr::V6(host) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
                Ipv6Addr::from_bits(host.to_bits() & mask).into()
            }
        };
        self.begin(NETWORK);
        self.then(&[bits]);
        self.address(first)
    }

    pub(crate) fn number(&mut self, number: f64) -> &[u8] {
        self.begin(NUMBER);
        self.then(&number.to_bits().to_be_bytes())
    }

    pub(crate) fn range(&mut self, from: f64, to: f64) -> &[u8] {
        self.begin(RANGE);
        self.then(&from.to_bits().to_be_bytes());
        self.then(&to.to_bits().to_be_bytes())
    }

    pub(crate) fn span(&mut self, from: Nanos, length: Nanos) -> &[u8] {
        self.begin(SPAN);
        self.then(&from.0.to_be_bytes());
        self.then(&length.0.to_be_bytes())
    }

    fn begin(&mut self, kind: u8) -> &[u8] {
        self.bytes.clear();
        self.then(&[kind])
    }

    fn then(&mut self, bytes: &[u8]) -> &[u8] {
        self.bytes.extend_from_slice(bytes);
        &self.bytes
    }

    fn address(&mut self, address: IpAddr) -> &[u8] {
        match address {
            IpAddr::V4(address) => self.then(&address.octets()),
            IpAddr::V6(address) => self.then(&address.octets()),
        }
    }
}

impl Value {
    /// The value that an [`Encoder`] wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let (kind, rest) = bytes.split_first().unwrap_or((&ABSENT, &[]));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let eight = |from: usize| -> u64 {
            let bytes = rest.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_be_bytes)
        };
        match *kind {
            TEXT => Self::Text(text(rest)),
            BEGINNING => Self::Beginning(text(rest)),
            ENDS => {
                let (length, both) = rest.split_first().unwrap_or((&0, &[]));
                let (first, last) = both.split_at(usize::from(*length).min(both.len()));
                Self::Ends(text(first), text(last))
            }
            HOST => Self::Host(address(rest)),
            NETWORK => Self::Network(address(rest.get(1..).unwrap_or_default()), *rest.first().unwrap_or(&0)),
            NUMBER => Self::Number(f64::from_bits(eight(0))),
            RANGE => Self::Range(f64::from_bits(eight(0)), f64::from_bits(eight(8))),
            SPAN => Self::Span(Nanos(eight(0)), Nanos(eight(8))),
            PRESENT => Self::Present,
            _ => Self::Absent,
        }
    }

    /// As people read it. Text from the wire is as it was sent: whoever shows it makes it safe.
    pub(crate) fn shown(&self, unit: &str) -> String {
        let with_unit = |text: String| if unit.is_empty() { text } else { format!("{text} {unit}") };
        match self {
            Self::Absent => "(none)".to_owned(),
            Self::Present => "(any)".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Beginning(text) => format!("{text}*"),
            Self::Ends(first, last) => format!("{first}*{last}"),
            Self::Host(host) => host.to_string(),
            Self::Network(first, bits) => format!("{first}/{bits}"),
            Self::Number(number) => with_unit(number.to_string()),
            Self::Range(from, to) if *to == f64::INFINITY => {
                format!("at least {}", with_unit(from.to_string()))
            }
            Self::Range(from, to) => with_unit(format!("{from} to {to}")),
            Self::Span(from, length) => {
                let (first, last) = (moment(*from), moment(*from + *length));
                format!("{} to {} UTC", first.strftime("%F %H:%M"), last.strftime("%H:%M"))
            }
        }
    }

    /// As the search language has it after the name of a field and a colon.
    pub(crate) fn searched(&self, unit: &str) -> String {
        match self {
            Self::Absent | Self::Present => "*".to_owned(),
            Self::Text(text) => quoted(&[text]),
            Self::Beginning(text) => quoted(&[text, ""]),
            Self::Ends(first, last) => quoted(&[first, last]),
            Self::Host(host) => quoted_unless_v4(host.to_string()),
            Self::Network(first, bits) => quoted_unless_v4(format!("{first}/{bits}")),
            Self::Number(number) => format!("{number}{unit}"),
            Self::Range(from, to) if *to == f64::INFINITY => format!("{from}{unit}.."),
            Self::Range(from, to) => format!("{from}{unit}..{to}{unit}"),
            Self::Span(from, length) => {
                let time = |time: Nanos| moment(time).strftime("%FT%TZ").to_string();
                format!("{}..{}", time(*from), time(*from + *length))
            }
        }
    }
}

/// Whether an encoded value is the part of a text that texts have in common.
pub(crate) fn is_part(value: &[u8]) -> bool {
    matches!(value.first(), Some(&(BEGINNING | ENDS)))
}

/// Pieces with `*` between them, as the search language has them: each in quotes where a character of it
/// might mean something else, and with `\` before what means something within quotes.
fn quoted(pieces: &[&str]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '_');
    let piece = |piece: &&str| {
        let is_all = pieces.len() == 1 && piece.is_empty();
        if !is_all && piece.chars().all(is_plain) {
            return (*piece).to_owned();
        }
        let mut text = String::from('"');
        for c in piece.chars() {
            if matches!(c, '\\' | '"' | '“' | '”' | '„') {
                text.push('\\');
            }
            text.push(c);
        }
        text.push('"');
        text
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join("*")
}

/// An address of version 6 has colons, which stand for more in a search.
fn quoted_unless_v4(text: String) -> String {
    if text.contains(':') { format!("\"{text}\"") } else { text }
}

/// The beginning of a text that is too long, between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn address(bytes: &[u8]) -> IpAddr {
    let v6 = <[u8; 16]>::try_from(bytes).map(|octets| Ipv6Addr::from(octets).into());
    let v4 = || <[u8; 4]>::try_from(bytes).map(|octets| Ipv4Addr::from(octets).into());
    v6.or_else(|_| v4()).unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}

/// A moment in UTC. One that no calendar has, which a hostile clock can send, is the last that has a date.
fn moment(time: Nanos) -> jiff::Zoned {
    let micros = i64::try_from(time.micros()).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC)
}

/// Longest text that is told from others, in bytes: longer ones by their beginning.
pub(crate) const LONGEST: usize = 160;

const ABSENT: u8 = 0;
const TEXT: u8 = 1;
const BEGINNING: u8 = 2;
const ENDS: u8 = 3;
const HOST: u8 = 4;
const NETWORK: u8 = 5;
const NUMBER: u8 = 6;
const RANGE: u8 = 7;
const SPAN: u8 = 8;
const PRESENT: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn both(write: impl Fn(&mut Encoder) -> &[u8], unit: &str) -> (String, String) {
        let mut encoder = Encoder::default();
        // What stood there before leaves no trace.
        encoder.text("something longer than most values are");
        let value = Value::decode(write(&mut encoder));
        (value.shown(unit), value.searched(unit))
    }

    #[test]
    fn values_are_shown_and_searched() {
        let two = |shown: &str, searched: &str| (shown.to_owned(), searched.to_owned());
        let host = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(both(|to| to.text("G729"), ""), two("G729", "G729"));
        assert_eq!(both(|to| to.text("PBX 1.0"), ""), two("PBX 1.0", "\"PBX 1.0\""));
        assert_eq!(both(|to| to.text(r#"a"b\c*"#), ""), two(r#"a"b\c*"#, r#""a\"b\\c*""#));
        assert_eq!(both(|to| to.beginning("4930"), ""), two("4930*", "4930*"));
        assert_eq!(both(|to| to.beginning("snomD785/10"), ""), two("snomD785/10*", "\"snomD785/10\"*"));
        assert_eq!(both(|to| to.ends("Yealink", "6.3.1"), ""), two("Yealink*6.3.1", "Yealink*\"6.3.1\""));
        assert_eq!(both(|to| to.ends("", "@example.org"), ""), two("*@example.org", "*\"@example.org\""));
        assert_eq!(both(|to| to.host(host("192.0.2.7")), ""), two("192.0.2.7", "192.0.2.7"));
        assert_eq!(both(|to| to.host(host("2001:db8::1")), ""), two("2001:db8::1", "\"2001:db8::1\""));
        assert_eq!(both(|to| to.network(host("192.0.2.7"), 24), ""), two("192.0.2.0/24", "192.0.2.0/24"));
        let network = two("2001:db8::/48", "\"2001:db8::/48\"");
        assert_eq!(both(|to| to.network(host("2001:db8::7"), 48), ""), network);
        assert_eq!(both(|to| to.number(20.0), "ms"), two("20 ms", "20ms"));
        assert_eq!(both(|to| to.range(1.0, 3.5), "s"), two("1 to 3.5 s", "1s..3.5s"));
        assert_eq!(both(|to| to.range(5.0, f64::INFINITY), ""), two("at least 5", "5.."));
        let hour = Nanos::from_secs(3_600);
        let span = two("2026-11-21 02:00 to 03:00 UTC", "2026-11-21T02:00:00Z..2026-11-21T03:00:00Z");
        assert_eq!(both(|to| to.span(Nanos::from_secs(1_795_226_400), hour), ""), span);
        assert_eq!(both(Encoder::present, ""), two("(any)", "*"));
        assert_eq!(both(Encoder::absent, ""), two("(none)", "*"));
    }

    #[test]
    fn a_long_text_is_told_by_its_beginning() {
        let long = "é".repeat(LONGEST);
        let (shown, _) = both(|to| to.text(&long), "");
        assert_eq!(shown, format!("{}*", "é".repeat(LONGEST / 2)));
    }

    #[test]
    fn hostile_times_have_a_date() {
        let (_, searched) = both(|to| to.span(Nanos::MAX, Nanos::MAX), "");
        assert!(searched.contains("..") && searched.ends_with('Z'), "{searched}");
        assert_eq!(Value::decode(&[]), Value::Absent);
        assert_eq!(Value::decode(&[ENDS, 9, b'a']), Value::Ends("a".into(), String::new()));
        assert_eq!(Value::decode(&[NETWORK]), Value::Network(Ipv4Addr::UNSPECIFIED.into(), 0));
    }
}
