//! What the spool has of a call, held against its record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;
use ringtap_model::{Call, LinkType, Nanos, Stream};
use ringtap_report::summary::grouped;
use ringtap_report::text::counted;
use ringtap_spool::{Category, LocatedChunks, MissingChunks, Packet, Reader, of_call, of_stream};
use ringtap_store::Query;
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::rtcp::looks_like_rtcp;
use serde_json::{Value, json};

use crate::joined::Joiner;
use crate::source::{Pass, Passed, Source, Take};

/// Packets of a call, by what they belong to: where they lie, and what a first way through them found.
pub struct Kept {
    /// Its signalling and its streams, and where each was.
    pub parts: Vec<Part>,
    /// Where its packets lie in the spool.
    pub chunks: LocatedChunks,
    /// By the owner's key.
    lacks: BTreeMap<u64, MissingChunks>,
    /// What makes connections again of its messages, where they came over some.
    joiner: Option<Joiner>,
    /// Packets that there are.
    pub packets: u64,
}

/// Packets of one owner that were looked for.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// For people.
    pub name: String,
    /// The owner's.
    pub key: u64,
    from: Nanos,
    to: Nanos,
    is_media: bool,
    /// Packets that the record counts; None where it counts none.
    counted: Option<u64>,
    count: Count,
}

/// What there is of a part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// RTP of a stream, whatever there is of the signalling.
    packets: u64,
    /// RTCP.
    reports: u64,
    /// Media packets that were kept without what was said.
    cut: u64,
}

impl Kept {
    /// Looks for what there is of the call with that record and those streams. What is missing is known after
    /// [`Kept::first`].
    ///
    /// Of `product`: the copy that was kept of a call that was intercepted, and nothing else.
    pub fn find(spool: &mut Reader, call: &Call, streams: &[Stream], product: bool) -> anyhow::Result<Self> {
        let parts = parts(call, streams);
        let start = call.start().unwrap_or_default();
        // Which segments there are is asked once: there may be many.
        let reach = || parts.iter().map(Part::reach);
        let from = reach().map(|(from, _)| from).min().unwrap_or(start);
        let to = reach().map(|(_, to)| to).max().unwrap_or(start);
        let segments = spool.between(from, to)?;
        let of =
            |category| segments.iter().filter(|of| of.category() == category).cloned().collect::<Vec<_>>();
        let (signalling, media) = match product {
            true => (of(Category::Product), of(Category::Product)),
            false => (of(Category::Signalling), of(Category::Media)),
        };
        // Two streams of one source between the same ends have one owner.
        let owners = |is_media: bool| -> Vec<u64> {
            let parts = parts.iter().filter(|part| part.is_media == is_media);
            parts.map(|part| part.key).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let chunks = spool.locate(&[(&owners(false), &signalling), (&owners(true), &media)])?;
        let mut kept = Self { parts, chunks, lacks: BTreeMap::new(), joiner: None, packets: 0 };
        kept.joiner = Joiner::of(call, |take| Source::Kept { kept: &kept, spool }.each(take))?;
        Ok(kept)
    }

    /// The first way through its packets, on which is counted what there is and what is not.
    pub fn first(&mut self, spool: &mut Reader, take: Take<'_>) -> anyhow::Result<()> {
        let Passed { counts, lacks, packets } = Pass::new(self, spool).each(take)?;
        self.parts.iter_mut().zip(counts).for_each(|(part, count)| part.count = count);
        (self.lacks, self.packets) = (lacks, packets);
        Ok(())
    }

    /// As many packets as there may be.
    pub fn most(&self) -> usize {
        usize::try_from(self.chunks.packets()).unwrap_or(usize::MAX)
    }

    /// Anew for each way through.
    pub fn joiner(&self) -> Option<Joiner> {
        self.joiner.as_ref().map(Joiner::anew)
    }

    /// Counts a packet to the part that it is of; false where it is of none.
    pub fn place(&self, owner: u64, link: LinkType, packet: &Packet<'_>, counts: &mut [Count]) -> bool {
        let is_report = is_rtcp(link, packet);
        let mut parts = self.parts.iter().zip(counts);
        let found = parts.find(|(part, _)| part.key == owner && part.has(packet.time, is_report));
        let Some((part, count)) = found else { return false };
        let is_report = is_report && part.is_media;
        *(if is_report { &mut count.reports } else { &mut count.packets }) += 1;
        count.cut += u64::from(part.is_media && !is_report && packet.data.len() < packet.wire_len as usize);
        true
    }

    /// Less is there than the record counts, or something of it is not as it was written.
    pub fn lacks(&self) -> bool {
        self.lacks.values().any(|lacks| !lacks.is_none()) || self.parts.iter().any(Part::lacks)
    }

    /// The record knows of no media.
    pub fn has_no_media(&self) -> bool {
        !self.parts.iter().any(|part| part.is_media)
    }

    /// Its media were kept without what was said.
    pub fn is_mute(&self) -> bool {
        let media = self.parts.iter().filter(|part| part.is_media);
        let (packets, cut) =
            media.fold((0, 0), |sum, part| (sum.0 + part.count.packets, sum.1 + part.count.cut));
        packets > 0 && packets == cut
    }

    /// What is there of each part, as a sentence.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let mut told: Vec<u64> = Vec::new();
        self.parts.iter().map(move |part| {
            // What is wrong with an owner's chunks is told once.
            let found = self.lacks.get(&part.key).filter(|_| !told.contains(&part.key));
            told.push(part.key);
            part.told(found)
        })
    }

    /// The same for programs.
    pub fn value(&self) -> Value {
        let sum = |of: fn(&MissingChunks) -> u64| self.lacks.values().map(of).sum::<u64>();
        let parts = self.parts.iter().map(|part| {
            json!({
                "part": part.name, "packets": part.count.packets, "of": part.counted, "rtcp": part.count.reports,
                "headers_only": part.count.cut,
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
    pub fn nothing(&self, spool: &str) -> String {
        let any = |of: fn(&MissingChunks) -> u64| self.lacks.values().any(|lacks| of(lacks) > 0);
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
    pub fn reach(&self) -> (Nanos, Nanos) {
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
        self.counted.is_some_and(|counted| counted > self.count.packets)
    }

    fn told(&self, found: Option<&MissingChunks>) -> String {
        let mut told = match self.counted {
            // Copies that a mirror made are there, and not counted.
            Some(counted) if counted > self.count.packets => {
                format!("{}: {} of {} packets", self.name, grouped(self.count.packets), grouped(counted))
            }
            _ => format!("{}: {}", self.name, packets(self.count.packets)),
        };
        if self.count.reports > 0 {
            told.push_str(&format!(", {} RTCP", grouped(self.count.reports)));
        }
        if self.count.cut > 0 {
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
    matches!(decoded.map(|packet| packet.payload), Ok(Payload::Udp(udp)) if looks_like_rtcp(udp.data))
}

/// The one call that a Call-ID, or the id of a record, means.
pub fn named_call(dir: &Path, store: &ringtap_store::Reader, call: &str) -> anyhow::Result<Call> {
    if let Ok(id) = call.parse()
        && let Some(call) = store.call(&id)?
    {
        return Ok(call);
    }
    let query = Query { call_id: Some(call.to_owned()), limit: 2, ..Query::default() };
    let mut calls = store.calls(&query)?.calls;
    match (calls.pop(), calls.len()) {
        (Some(call), 0) => Ok(call),
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
pub fn parts(call: &Call, streams: &[Stream]) -> Vec<Part> {
    let start = call.start().unwrap_or_default();
    let end = call.end.unwrap_or(start);
    let last = streams.iter().map(|stream| stream.last).max().unwrap_or(end);
    let signalling = Part {
        name: "signalling".to_owned(),
        key: of_call(call.call_id.as_bytes()),
        from: start - BEFORE,
        to: end.max(last) + AFTER,
        counted: Some(call.messages.into()),
        ..Part::default()
    };
    let media = streams.iter().map(|stream| Part {
        name: format!("{} to {}", stream.src, stream.dst),
        key: of_stream(stream.src, stream.dst, stream.ssrc),
        from: stream.first,
        // Records have microseconds, packets nanoseconds.
        to: stream.last + Nanos(999),
        is_media: true,
        counted: Some(stream.packets),
        ..Part::default()
    });
    std::iter::once(signalling).chain(media).collect()
}

/// Challenges and retransmissions may come before the record's time and after it.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);
/// RTCP of a stream may come this long before its first and after its last packet.
const REPORTS: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_cases::samples;
    use ringtap_model::Endpoint;

    use super::*;

    #[test]
    fn parts_are_those_of_the_record() {
        let call = Call {
            call_id: "a@b".into(),
            invite: Some(Nanos::from_secs(3)),
            end: Some(Nanos::from_secs(9)),
            messages: 7,
            ..samples::call()
        };
        let stream = Stream {
            src: "192.0.2.1:4000".parse().unwrap(),
            dst: "[2001:db8::1]:4002".parse().unwrap(),
            ssrc: u32::MAX,
            first: Nanos::from_secs(4),
            last: Nanos::from_micros(8_500_000),
            packets: 200,
            ..samples::stream()
        };
        let mut parts = parts(&call, &[stream]);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].key, parts[0].counted), (of_call(b"a@b"), Some(7)));
        assert_eq!((parts[0].from, parts[0].to), (Nanos::from_secs(2), Nanos::from_secs(73)));
        let ends: [Endpoint; 2] = ["192.0.2.1:4000".parse().unwrap(), "[2001:db8::1]:4002".parse().unwrap()];
        assert_eq!(parts[1].key, of_stream(ends[0], ends[1], u32::MAX));
        parts[1].count = Count { packets: 199, reports: 2, cut: 0 };
        let found = MissingChunks { damaged: 1, ..MissingChunks::default() };
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
