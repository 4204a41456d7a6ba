//! What the spool has of a call, held against its record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use anyhow::bail;
use ringtap_model::{Endpoint, Frame, LinkType, Nanos};
use ringtap_spool::{Category, Found, Packet, Reader, of_call, of_stream};
use ringtap_store::{Query, Row};
use ringtap_wire::frame::{Body, decode};
use ringtap_wire::rtcp::looks_like_rtcp;
use serde_json::{Value, json};

use crate::show::summary::grouped;
use crate::text::counted;

/// Packets of a call, by what they belong to.
pub(crate) struct Kept {
    pub(crate) parts: Vec<Part>,
    /// By the owner's key.
    found: HashMap<u64, Found>,
}

/// Packets of one owner that were looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// For people.
    pub(crate) name: String,
    /// The owner's.
    pub(crate) key: u64,
    from: Nanos,
    to: Nanos,
    is_media: bool,
    /// Packets that the record counts; None where it counts none.
    counted: Option<u64>,
    /// Packets that are there: RTP of a stream, whatever there is of the signalling.
    packets: u64,
    /// RTCP.
    reports: u64,
    /// Media packets that were kept without what was said.
    cut: u64,
}

impl Kept {
    /// Reads what there is of the call with that record and those streams.
    ///
    /// Of `product`: the copy that was kept of a call that was intercepted, and nothing else.
    pub(crate) fn read(
        spool: &mut Reader,
        row: &Row,
        streams: &[Value],
        product: bool,
    ) -> anyhow::Result<Self> {
        let mut kept = Self { parts: parts(row, streams), found: HashMap::new() };
        // Which segments there are is asked once: there may be many.
        let reach = || kept.parts.iter().map(Part::reach);
        let from = reach().map(|(from, _)| from).min().unwrap_or(row.start);
        let to = reach().map(|(_, to)| to).max().unwrap_or(row.start);
        let segments = spool.between(from, to)?;
        let of =
            |category| segments.iter().filter(|of| of.category() == category).cloned().collect::<Vec<_>>();
        let (signalling, media) = match product {
            true => (of(Category::Product), of(Category::Product)),
            false => (of(Category::Signalling), of(Category::Media)),
        };
        for part in &kept.parts {
            // Two streams of one source between the same ends have one owner.
            if let Entry::Vacant(place) = kept.found.entry(part.key) {
                let segments = if part.is_media { &media } else { &signalling };
                place.insert(spool.read(&[part.key], segments)?);
            }
        }
        let mut parts = kept.parts.clone();
        for (index, _, packet, is_report) in kept.placed() {
            let part = &mut parts[index];
            *(if is_report { &mut part.reports } else { &mut part.packets }) += 1;
            part.cut +=
                u64::from(part.is_media && !is_report && packet.data.len() < packet.wire_len as usize);
        }
        kept.parts = parts;
        Ok(kept)
    }

    /// Every packet that is the call's: which part it is of, its link type, and whether it is RTCP.
    fn placed(&self) -> impl Iterator<Item = (usize, LinkType, Packet<'_>, bool)> {
        self.found.iter().flat_map(move |(key, found)| {
            let link = found.link().unwrap_or(ETHERNET);
            found.packets().filter_map(move |packet| {
                let is_report = is_rtcp(link, &packet);
                let index = self
                    .parts
                    .iter()
                    .position(|part| part.key == *key && part.has(packet.time, is_report))?;
                Some((index, link, packet, is_report && self.parts[index].is_media))
            })
        })
    }

    /// Its packets in order of time, numbered from 1.
    pub(crate) fn frames(&self) -> Vec<Frame<'_>> {
        let mut frames: Vec<Frame<'_>> = self
            .placed()
            .map(|(_, link, Packet { time, wire_len, data, .. }, _)| Frame {
                time,
                number: 0,
                link,
                wire_len,
                data,
            })
            .collect();
        frames.sort_by_key(|frame| frame.time);
        frames.iter_mut().zip(1..).for_each(|(frame, number)| frame.number = number);
        frames
    }

    /// Less is there than the record counts, or something of it is not as it was written.
    pub(crate) fn lacks(&self) -> bool {
        let damaged = self.found.values().any(|found| found.damaged + found.erased + found.sealed > 0);
        damaged || self.parts.iter().any(Part::lacks)
    }

    /// The record knows of no media.
    pub(crate) fn has_no_media(&self) -> bool {
        !self.parts.iter().any(|part| part.is_media)
    }

    /// Its media were kept without what was said.
    pub(crate) fn is_mute(&self) -> bool {
        let media = self.parts.iter().filter(|part| part.is_media);
        let (packets, cut) = media.fold((0, 0), |sum, part| (sum.0 + part.packets, sum.1 + part.cut));
        packets > 0 && packets == cut
    }

    /// What is there of each part, as a sentence.
    pub(crate) fn told(&self) -> impl Iterator<Item = String> {
        let mut told: Vec<u64> = Vec::new();
        self.parts.iter().map(move |part| {
            // What is wrong with an owner's chunks is told once.
            let found = self.found.get(&part.key).filter(|_| !told.contains(&part.key));
            told.push(part.key);
            part.told(found)
        })
    }

    /// The same for programs.
    pub(crate) fn value(&self) -> Value {
        let sum = |of: fn(&Found) -> u64| self.found.values().map(of).sum::<u64>();
        let parts = self.parts.iter().map(|part| {
            json!({
                "part": part.name, "packets": part.packets, "of": part.counted, "rtcp": part.reports,
                "headers_only": part.cut,
            })
        });
        json!({
            "complete": !self.lacks(),
            "parts": parts.collect::<Vec<_>>(),
            "damaged_chunks": sum(|found| found.damaged),
            "erased_chunks": sum(|found| found.erased),
            "sealed_chunks": sum(|found| found.sealed),
        })
    }

    /// Why there is nothing, in a sentence.
    pub(crate) fn nothing(&self, spool: &str) -> String {
        let any = |of: fn(&Found) -> u64| self.found.values().any(|found| of(found) > 0);
        let why = match () {
            () if any(|found| found.sealed) => "it is sealed; name the file of the key with `--key`",
            () if any(|found| found.erased) => "it was erased on purpose",
            () if any(|found| found.damaged) => "its chunks are damaged",
            () => "it was not kept, or is no longer; look at [spool] of the configuration",
        };
        format!("no packet of the call is in `{spool}`: {why}")
    }
}

impl Part {
    /// The times in which packets with its owner may be its own.
    pub(crate) fn reach(&self) -> (Nanos, Nanos) {
        match self.is_media {
            true => (self.from - REPORTS, self.to + REPORTS),
            false => (self.from, self.to),
        }
    }

    fn has(&self, time: Nanos, is_report: bool) -> bool {
        let (from, to) = if is_report { self.reach() } else { (self.from, self.to) };
        (from..=to).contains(&time)
    }

    fn lacks(&self) -> bool {
        self.counted.is_some_and(|counted| counted > self.packets)
    }

    fn told(&self, found: Option<&Found>) -> String {
        let mut told = match self.counted {
            // Copies that a mirror made are there, and not counted.
            Some(counted) if counted > self.packets => {
                format!("{}: {} of {} packets", self.name, grouped(self.packets), grouped(counted))
            }
            _ => format!("{}: {}", self.name, packets(self.packets)),
        };
        if self.reports > 0 {
            told.push_str(&format!(", {} RTCP", grouped(self.reports)));
        }
        if self.cut > 0 {
            told.push_str(", headers only");
        }
        let Some(found) = found else { return told };
        for (count, what) in
            [(found.damaged, "damaged or missing"), (found.erased, "erased"), (found.sealed, "sealed")]
        {
            if count > 0 {
                told.push_str(&format!("; {} {what}", counted(count, "chunk")));
            }
        }
        told
    }
}

fn packets(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "packet" } else { "packets" })
}

/// RTCP lies with the stream that it speaks of.
fn is_rtcp(link: LinkType, packet: &Packet<'_>) -> bool {
    let decoded = decode(link.0, packet.wire_len, packet.data);
    matches!(decoded.map(|packet| packet.body), Ok(Body::Udp(udp)) if looks_like_rtcp(udp.data))
}

/// The one call that a Call-ID, or the id of a record, means.
pub(crate) fn row(dir: &Path, store: &ringtap_store::Reader, call: &str) -> anyhow::Result<Row> {
    if let Ok(id) = call.parse()
        && let Some(row) = store.call(&id)?
    {
        return Ok(row);
    }
    let query = Query { call_id: Some(call.to_owned()), limit: 2, ..Query::default() };
    let mut rows = store.calls(&query)?.rows;
    match (rows.pop(), rows.len()) {
        (Some(row), 0) => Ok(row),
        (None, _) => {
            let store = dir.display();
            bail!(
                "no call in `{store}` has the Call-ID or id `{call}`: `ringtap calls --store {store}` lists them; a call under way is \
                 there when it has ended"
            )
        }
        _ => bail!("several calls have the Call-ID `{call}`: name one by the id of its record"),
    }
}

/// What the record says there was.
pub(crate) fn parts(row: &Row, streams: &[Value]) -> Vec<Part> {
    let time = |value: &Value, name: &str| value[name].as_u64().map(Nanos::from_micros);
    let end = time(&row.value, "end_us").unwrap_or(row.start);
    let call_id = row.value["call_id"].as_str().unwrap_or_default();
    let last = streams.iter().filter_map(|stream| time(stream, "last_us")).max().unwrap_or(end);
    let signalling = Part {
        name: "signalling".to_owned(),
        key: of_call(call_id.as_bytes()),
        from: row.start - BEFORE,
        to: end.max(last) + AFTER,
        counted: row.value["messages"].as_u64(),
        ..Part::default()
    };
    let media = streams.iter().filter_map(|stream| {
        let end = |name: &str| stream[name].as_str()?.parse::<Endpoint>().ok();
        let (src, dst) = (end("src")?, end("dst")?);
        let ssrc = u32::try_from(stream["ssrc"].as_u64()?).ok()?;
        Some(Part {
            name: format!("{src} to {dst}"),
            key: of_stream(src, dst, ssrc),
            from: time(stream, "first_us")?,
            // Records have microseconds, packets nanoseconds.
            to: time(stream, "last_us")? + Nanos(999),
            is_media: true,
            counted: stream["packets"].as_u64(),
            ..Part::default()
        })
    });
    std::iter::once(signalling).chain(media).collect()
}

const ETHERNET: LinkType = LinkType(1);
/// Challenges and retransmissions may come before the record's time and after it.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);
/// RTCP of a stream may come this long before its first and after its last packet.
const REPORTS: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_record() {
        let value = json!({ "call_id": "a@b", "end_us": 9_000_000, "messages": 7 });
        let row =
            Row { id: ringtap_model::Id([0; 16]), start: Nanos::from_secs(3), text: String::new(), value };
        let stream = json!({
            "src": "192.0.2.1:4000", "dst": "[2001:db8::1]:4002", "ssrc": 4_294_967_295u32, "first_us": 4_000_000,
            "last_us": 8_500_000, "packets": 200
        });
        let mut parts = parts(&row, &[stream, json!({ "src": "x" })]);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].key, parts[0].counted), (of_call(b"a@b"), Some(7)));
        assert_eq!((parts[0].from, parts[0].to), (Nanos::from_secs(2), Nanos::from_secs(73)));
        let ends: [Endpoint; 2] = ["192.0.2.1:4000".parse().unwrap(), "[2001:db8::1]:4002".parse().unwrap()];
        assert_eq!(parts[1].key, of_stream(ends[0], ends[1], u32::MAX));
        (parts[1].packets, parts[1].reports) = (199, 2);
        let mut found = Found::default();
        found.damaged = 1;
        assert_eq!(
            parts[1].told(Some(&found)),
            "192.0.2.1:4000 to [2001:db8::1]:4002: 199 of 200 packets, 2 RTCP; 1 chunk damaged or missing"
        );
        assert!(parts[1].lacks());
        // RTCP may come later than the last packet, media may not.
        let late = Nanos::from_secs(18);
        assert!(parts[1].has(late, true) && !parts[1].has(late, false));
    }
}
