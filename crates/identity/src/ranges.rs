//! Addresses that never change hands: read from a file, and answered as sessions are.

use std::net::IpAddr;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use ringtap_model::{HeldAddress, Identity, Nanos, Network, SessionBegin, SessionSource};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::prefix::Prefix;
use crate::session::id_of;

/// Why a text names no ranges: file, line, key, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default())]
pub struct WrongRanges {
    /// As it was named.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// Section and key; `None` where the text is no TOML.
    pub key: Option<String>,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// Reads the text of a file that is called `file`: a record for each `[[range]]`, with its networks,
/// subscriber and dates.
///
/// # Errors
///
/// The first mistake.
pub fn static_ranges(text: &str, file: &str) -> Result<Vec<Identity>, WrongRanges> {
    let reading = Reading { text, file };
    let table = DeTable::parse(text).map_err(|error| {
        reading.wrong(error.span().unwrap_or_default(), None, format!("it is no TOML: {}", error.message()))
    })?;
    let mut records = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref();
        if name != "range" {
            let problem = "no such section: write [[range]], networks and a subscriber".to_owned();
            return Err(reading.wrong(key.span(), Some(name), problem));
        }
        let DeValue::Array(entries) = value.get_ref() else {
            let problem = "write it with two brackets, as [[range]]".to_owned();
            return Err(reading.wrong(key.span(), Some("range"), problem));
        };
        for entry in entries {
            records.push(reading.range(entry, records.len())?);
        }
    }
    Ok(records)
}

struct Reading<'a> {
    text: &'a str,
    file: &'a str,
}

/// What one `[[range]]` says.
#[derive(Default)]
struct Entry {
    networks: Vec<String>,
    subscriber: Option<String>,
    from: Option<Nanos>,
    until: Option<Nanos>,
}

impl Reading<'_> {
    fn wrong(&self, at: Range<usize>, key: Option<&str>, problem: String) -> WrongRanges {
        let (file, line) = (self.file.to_owned(), self.line(at.start));
        WrongRanges { file, line, key: key.map(str::to_owned), problem }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    fn range(&self, entry: &Spanned<DeValue<'_>>, place: usize) -> Result<Identity, WrongRanges> {
        let DeValue::Table(keys) = entry.get_ref() else {
            let problem = "each is a table: write [[range]] above its keys".to_owned();
            return Err(self.wrong(entry.span(), Some("range"), problem));
        };
        let mut read = Entry::default();
        for (key, value) in keys {
            let name = key.get_ref().as_ref();
            let read = match name {
                "networks" => self.networks(value).map(|networks| read.networks = networks),
                "subscriber" => match value.get_ref() {
                    DeValue::String(text) if !text.is_empty() => {
                        read.subscriber = Some(text.clone().into_owned());
                        Ok(())
                    }
                    _ => Err((value.span(), "write a name in quotes, or leave it out".to_owned())),
                },
                "from" => moment(value).map(|from| read.from = Some(from)),
                "until" => moment(value).map(|until| read.until = Some(until)),
                _ => Err((key.span(), "no such key: there are networks, subscriber, from, until".to_owned())),
            };
            read.map_err(|(at, problem)| self.wrong(at, Some(&format!("[[range]] {name}")), problem))?;
        }
        if read.networks.is_empty() {
            let problem = "is missing: write networks = [\"192.0.2.0/28\"]".to_owned();
            return Err(self.wrong(entry.span(), Some("[[range]] networks"), problem));
        }
        if read.until.is_some_and(|until| until <= read.from.unwrap_or_default()) {
            let problem = "must be later than `from`: it is the first moment at which nobody has them";
            return Err(self.wrong(entry.span(), Some("[[range]] until"), problem.to_owned()));
        }
        Ok(self.record(read, self.line(entry.span().start), place))
    }

    fn networks(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, (Range<usize>, String)> {
        let DeValue::Array(written) = value.get_ref() else {
            return Err((
                value.span(),
                "write a list, as [\"192.0.2.0/28\", \"2001:db8:9::/48\"]".to_owned(),
            ));
        };
        let mut networks = Vec::new();
        for one in written {
            let network = match one.get_ref() {
                DeValue::String(text) => text.parse::<Network>().map_err(|error| error.to_string()),
                _ => Err("write each network in quotes, as \"192.0.2.0/28\"".to_owned()),
            };
            let network = network.map_err(|problem| (one.span(), problem))?;
            networks.push(Prefix::new(network.ends().0, network.bits()).to_string());
        }
        Ok(networks)
    }

    fn record(&self, read: Entry, line: usize, place: usize) -> Identity {
        let Entry { networks, subscriber, from, until } = read;
        let from = from.unwrap_or_default();
        let nas = format!("{}:{line}", self.file);
        let is_ipv4 = |network: &String| {
            network
                .split('/')
                .next()
                .is_some_and(|address| address.parse().is_ok_and(|ip: IpAddr| ip.is_ipv4()))
        };
        let (ipv4, ipv6_prefixes) = networks.iter().cloned().partition(is_ipv4);
        let held = |network: &String| HeldAddress {
            network: network.clone(),
            first_port: None,
            last_port: None,
            attribute: "static".to_owned(),
            interface_id: None,
            from,
            from_frame: 0,
            until,
            until_frame: None,
            end_cause: None,
        };
        Identity {
            id: id_of(&nas, subscriber.as_deref(), from, place as u64),
            names: subscriber.iter().cloned().collect(),
            user: subscriber,
            station: None,
            nas,
            session: None,
            ipv4,
            ipv6_prefixes,
            start: from,
            end: until,
            end_cause: None,
            octets_in: None,
            octets_out: None,
            begun_by: SessionBegin::Configured,
            first: from,
            last: until.unwrap_or(from),
            interim_s: None,
            terminate_cause: None,
            nas_start: None,
            called_station: None,
            nas_identifier: None,
            nas_port: None,
            nas_port_id: None,
            circuit: None,
            remote: None,
            imsi: None,
            imeisv: None,
            multi_session: None,
            class: None,
            addresses: networks.iter().map(held).collect(),
            packets: 0,
            retransmissions: 0,
            changes: 0,
            source: Some(SessionSource::Static),
            client_id: None,
            subscriber: None,
            hostname: None,
            expires: None,
        }
    }
}

/// A date or a time of TOML; without a zone it is in UTC, and a date is its first moment.
fn moment(value: &Spanned<DeValue<'_>>) -> Result<Nanos, (Range<usize>, String)> {
    let wrong = || (value.span(), "write a date or a time without quotes, as 2026-11-21".to_owned());
    let text = match value.get_ref() {
        DeValue::Datetime(written) => written.to_string(),
        _ => return Err(wrong()),
    };
    let instant = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>().ok();
        let civil = civil.or_else(|| text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)))?;
        civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    });
    let micros = instant.and_then(|instant| u64::try_from(instant.as_microsecond()).ok());
    micros.and_then(|micros| micros.checked_mul(1_000)).map(Nanos).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holders::Holders;

    const RANGES: &str = "\
# Leased lines.
[[range]]
networks = [\"198.51.100.16/28\", \"2001:db8:9::/48\"]
subscriber = \"Example Ltd\"
from = 2026-01-01
until = 2026-07-01T12:00:00+02:00

[[range]]
networks = [\"198.51.100.7\"]
";

    #[test]
    fn ranges_answer_by_address_and_time() {
        let records = static_ranges(RANGES, "lines.toml").unwrap();
        let day = |text: &str| {
            let date: Date = text.parse().unwrap();
            let zoned = date.to_zoned(TimeZone::UTC).unwrap();
            Nanos::from_secs(zoned.timestamp().as_second().unsigned_abs())
        };
        let who = |address: &str, at: Nanos| {
            let found = Holders::new(&records).find(address.parse().unwrap(), None, Some(at));
            found
                .iter()
                .map(|holder| (holder.identity.user.clone(), holder.identity.nas.clone()))
                .collect::<Vec<_>>()
        };
        let ltd = (Some("Example Ltd".to_owned()), "lines.toml:2".to_owned());
        assert_eq!(who("198.51.100.31", day("2026-03-01")), std::slice::from_ref(&ltd));
        assert_eq!(who("2001:db8:9:7::1", day("2026-01-01")), std::slice::from_ref(&ltd));
        assert_eq!(who("2001:db8:9:7::1", day("2025-12-31")), []);
        let end = day("2026-07-01") + Nanos::from_secs(10 * 3_600);
        assert_eq!(who("198.51.100.16", Nanos(end.0 - 1)), [ltd]);
        assert_eq!(who("198.51.100.16", end), []);
        assert_eq!(who("198.51.100.7", Nanos::ZERO), [(None, "lines.toml:8".to_owned())]);
        assert_eq!(records[0].source, Some(SessionSource::Static));
        assert_eq!((records[0].ipv4.len(), records[0].ipv6_prefixes.len()), (1, 1));
        assert!(records[0].is_named("example ltd") && records[0].id != records[1].id);
    }

    #[test]
    fn mistakes_name_file_line_key_and_remedy() {
        let good = "[[range]]\nnetworks = [\"192.0.2.0/28\"]\n";
        for (text, expected) in [
            ("[[range]\n", "x.toml:1: it is no TOML: "),
            ("\n[[ranges]]\n", "x.toml:2: ranges: no such section: write [[range]]"),
            ("[range]\n", "x.toml:1: range: write it with two brackets"),
            ("range = [1]\n", "x.toml:1: range: each is a table"),
            ("[[range]]\n", "x.toml:1: [[range]] networks: is missing: write networks = ["),
            ("[[range]]\nnetworks = []\n", "x.toml:1: [[range]] networks: is missing"),
            ("[[range]]\nnetworks = \"a\"\n", "x.toml:2: [[range]] networks: write a list"),
            (
                "[[range]]\nnetworks = [\"a\"]\n",
                "x.toml:2: [[range]] networks: `a` is not an address or a network",
            ),
            ("[[range]]\nnetworks = [\n7]\n", "x.toml:3: [[range]] networks: write each network in quotes"),
            (&format!("{good}subscriber = 7\n"), "x.toml:3: [[range]] subscriber: write a name in quotes"),
            (&format!("{good}from = \"2026-01-01\"\n"), "x.toml:3: [[range]] from: write a date or a time"),
            (&format!("{good}from = 1960-01-01\n"), "x.toml:3: [[range]] from: write a date or a time"),
            (&format!("{good}until = 07:00:00\n"), "x.toml:3: [[range]] until: write a date or a time"),
            (
                &format!("{good}from = 2026-02-01\nuntil = 2026-01-01\n"),
                "x.toml:1: [[range]] until: must be later",
            ),
            (
                &format!("{good}til = 2026-01-01\n"),
                "x.toml:3: [[range]] til: no such key: there are networks",
            ),
        ] {
            let error = static_ranges(text, "x.toml").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert_eq!(static_ranges("", "x.toml"), Ok(Vec::new()));
    }
}
