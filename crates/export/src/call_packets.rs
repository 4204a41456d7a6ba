//! Finds a call's packets in the spool and compares their number with the call's record.

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

use crate::connections::ConnectionBuilder;
use crate::source::{OnBatch, PassResult, Source, SpoolPass};

/// The packets of a call in the spool: their position, and the counts of the first pass.
pub struct CallPackets {
    /// The call's signalling and each of its streams.
    pub parts: Vec<CallPart>,
    /// Position of the packets in the spool.
    pub chunks: LocatedChunks,
    /// Missing chunks by owner key.
    missing: BTreeMap<u64, MissingChunks>,
    /// Rebuilds the call's connections, if its messages came over TCP, WebSocket or SCTP.
    connections: Option<ConnectionBuilder>,
    /// Packets that the first pass read.
    pub packets: u64,
}

/// The signalling or one stream of a call, with the packets that the spool should have.
#[derive(Clone, Debug, Default)]
pub struct CallPart {
    /// Name shown to users.
    pub name: String,
    /// Key of the owner in the spool.
    pub key: u64,
    from: Nanos,
    to: Nanos,
    is_media: bool,
    /// Packets according to the record; `None` if the record has no count.
    counted: Option<u64>,
    count: PacketCount,
}

/// Packets of a part that are in the spool.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketCount {
    /// RTP packets of a stream, or all packets of the signalling.
    packets: u64,
    /// RTCP packets.
    reports: u64,
    /// Media packets recorded without their payload.
    cut: u64,
}

impl CallPackets {
    /// Finds the packets of a call by its record and the records of its streams. Missing packets are known
    /// after [`CallPackets::first_pass`].
    ///
    /// With `product`, it searches only the interception product of the call.
    pub fn find(spool: &mut Reader, call: &Call, streams: &[Stream], product: bool) -> anyhow::Result<Self> {
        let parts = parts(call, streams);
        let start = call.start().unwrap_or_default();
        // There may be many segments: list them once.
        let ranges = || parts.iter().map(CallPart::time_range);
        let from = ranges().map(|(from, _)| from).min().unwrap_or(start);
        let to = ranges().map(|(_, to)| to).max().unwrap_or(start);
        let segments = spool.between(from, to)?;
        let of =
            |category| segments.iter().filter(|of| of.category() == category).cloned().collect::<Vec<_>>();
        let (signalling, media) = match product {
            true => (of(Category::Product), of(Category::Product)),
            false => (of(Category::Signalling), of(Category::Media)),
        };
        // Two streams with the same SSRC between the same endpoints have one owner.
        let owners = |is_media: bool| -> Vec<u64> {
            let parts = parts.iter().filter(|part| part.is_media == is_media);
            parts.map(|part| part.key).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let chunks = spool.locate(&[(&owners(false), &signalling), (&owners(true), &media)])?;
        let mut packets = Self { parts, chunks, missing: BTreeMap::new(), connections: None, packets: 0 };
        packets.connections = ConnectionBuilder::of(call, |on_batch| {
            Source::Spool { packets: &packets, reader: spool }.for_each_batch(on_batch)
        })?;
        Ok(packets)
    }

    /// Reads all packets once, counts them and the missing chunks.
    pub fn first_pass(&mut self, spool: &mut Reader, on_batch: OnBatch<'_>) -> anyhow::Result<()> {
        let PassResult { counts, missing, packets } = SpoolPass::new(self, spool).for_each_batch(on_batch)?;
        self.parts.iter_mut().zip(counts).for_each(|(part, count)| part.count = count);
        (self.missing, self.packets) = (missing, packets);
        Ok(())
    }

    /// Upper limit of the number of packets.
    pub fn packet_limit(&self) -> usize {
        usize::try_from(self.chunks.packets()).unwrap_or(usize::MAX)
    }

    /// A connection builder for a new pass.
    pub fn connection_builder(&self) -> Option<ConnectionBuilder> {
        self.connections.as_ref().map(ConnectionBuilder::restart)
    }

    /// Counts a packet for the part that it belongs to; false if it belongs to none.
    pub fn count(&self, owner: u64, link: LinkType, packet: &Packet<'_>, counts: &mut [PacketCount]) -> bool {
        let is_report = is_rtcp(link, packet);
        let mut parts = self.parts.iter().zip(counts);
        let found = parts.find(|(part, _)| part.key == owner && part.has(packet.time, is_report));
        let Some((part, count)) = found else { return false };
        let is_report = is_report && part.is_media;
        *(if is_report { &mut count.reports } else { &mut count.packets }) += 1;
        count.cut += u64::from(part.is_media && !is_report && packet.data.len() < packet.wire_len as usize);
        true
    }

    /// Whether the spool has fewer packets than the record counts, or chunks that cannot be read.
    pub fn is_incomplete(&self) -> bool {
        self.missing.values().any(|missing| !missing.is_none())
            || self.parts.iter().any(CallPart::is_incomplete)
    }

    /// Whether the record has no streams.
    pub fn has_no_media(&self) -> bool {
        !self.parts.iter().any(|part| part.is_media)
    }

    /// Whether all media were recorded without payload.
    pub fn is_mute(&self) -> bool {
        let media = self.parts.iter().filter(|part| part.is_media);
        let (packets, cut) =
            media.fold((0, 0), |sum, part| (sum.0 + part.count.packets, sum.1 + part.count.cut));
        packets > 0 && packets == cut
    }

    /// One line for each part: packets found and missing.
    pub fn descriptions(&self) -> impl Iterator<Item = String> {
        let mut listed: Vec<u64> = Vec::new();
        self.parts.iter().map(move |part| {
            // Parts may share an owner: list its missing chunks once.
            let missing = self.missing.get(&part.key).filter(|_| !listed.contains(&part.key));
            listed.push(part.key);
            part.describe(missing)
        })
    }

    /// The counts as JSON.
    pub fn to_json(&self) -> Value {
        let sum = |of: fn(&MissingChunks) -> u64| self.missing.values().map(of).sum::<u64>();
        let parts = self.parts.iter().map(|part| {
            json!({
                "part": part.name, "packets": part.count.packets, "of": part.counted, "rtcp": part.count.reports,
                "headers_only": part.count.cut,
            })
        });
        json!({
            "complete": !self.is_incomplete(),
            "parts": parts.collect::<Vec<_>>(),
            "damaged_chunks": sum(|found| found.damaged),
            "erased_chunks": sum(|found| found.erased),
            "sealed_chunks": sum(|found| found.sealed),
        })
    }

    /// The error for a call without packets, with the reason.
    pub fn why_empty(&self, spool: &str) -> String {
        let any = |of: fn(&MissingChunks) -> u64| self.missing.values().any(|missing| of(missing) > 0);
        let why = match () {
            () if any(|found| found.sealed) => "it is sealed; give the key file with `--key`",
            () if any(|found| found.erased) => "it was erased on purpose",
            () if any(|found| found.damaged) => "its chunks are damaged",
            () => "it was not recorded, or its retention has ended; check [spool] in the configuration",
        };
        format!("no packet of the call is in `{spool}`: {why}")
    }
}

impl CallPart {
    /// The times between which packets of the owner may belong to this part.
    pub fn time_range(&self) -> (Nanos, Nanos) {
        match self.is_media {
            true => (self.from - REPORTS, self.to + REPORTS),
            false => (self.from, self.to),
        }
    }

    fn has(&self, time: Nanos, is_report: bool) -> bool {
        let (from, to) = if is_report { self.time_range() } else { (self.from, self.to) };
        (from..=to).contains(&time)
    }

    fn is_incomplete(&self) -> bool {
        self.counted.is_some_and(|counted| counted > self.count.packets)
    }

    fn describe(&self, missing: Option<&MissingChunks>) -> String {
        let mut line = match self.counted {
            // The spool also has mirrored copies, which the record does not count.
            Some(counted) if counted > self.count.packets => {
                format!("{}: {} of {} packets", self.name, grouped(self.count.packets), grouped(counted))
            }
            _ => format!("{}: {}", self.name, packets(self.count.packets)),
        };
        if self.count.reports > 0 {
            line.push_str(&format!(", {} RTCP", grouped(self.count.reports)));
        }
        if self.count.cut > 0 {
            line.push_str(", headers only");
        }
        let Some(missing) = missing else { return line };
        for (count, what) in
            [(missing.damaged, "damaged or missing"), (missing.erased, "erased"), (missing.sealed, "sealed")]
        {
            if count > 0 {
                line.push_str(&format!("; {} {what}", counted(count, "chunk")));
            }
        }
        line
    }
}

fn packets(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "packet" } else { "packets" })
}

/// Whether a packet is RTCP, which the spool stores with the stream that it reports on.
fn is_rtcp(link: LinkType, packet: &Packet<'_>) -> bool {
    let decoded = decode(link.0, packet.wire_len, packet.data);
    matches!(decoded.map(|packet| packet.payload), Ok(Payload::Udp(udp)) if looks_like_rtcp(udp.data))
}

/// The call with this Call-ID or record id.
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
                "no call in `{store}` has the Call-ID or id `{call}`: `ringtap calls --store {store}` lists them; a call in progress is \
                 written there when it ends"
            )
        }
        _ => bail!("several calls have the Call-ID `{call}`: select one by the id of its record"),
    }
}

/// The signalling and the streams that the records describe.
pub fn parts(call: &Call, streams: &[Stream]) -> Vec<CallPart> {
    let start = call.start().unwrap_or_default();
    let end = call.end.unwrap_or(start);
    let last = streams.iter().map(|stream| stream.last).max().unwrap_or(end);
    let signalling = CallPart {
        name: "signalling".to_owned(),
        key: of_call(call.call_id.as_bytes()),
        from: start - BEFORE,
        to: end.max(last) + AFTER,
        counted: Some(call.messages.into()),
        ..CallPart::default()
    };
    let media = streams.iter().map(|stream| CallPart {
        name: format!("{} to {}", stream.src, stream.dst),
        key: of_stream(stream.src, stream.dst, stream.ssrc),
        from: stream.first,
        // Records have microseconds, packets have nanoseconds.
        to: stream.last + Nanos(999),
        is_media: true,
        counted: Some(stream.packets),
        ..CallPart::default()
    });
    std::iter::once(signalling).chain(media).collect()
}

/// Challenges and retransmissions may come this long before and after the record's time.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);
/// RTCP may come this long before a stream's first and after its last packet.
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
        parts[1].count = PacketCount { packets: 199, reports: 2, cut: 0 };
        let found = MissingChunks { damaged: 1, ..MissingChunks::default() };
        assert_eq!(
            parts[1].describe(Some(&found)),
            "192.0.2.1:4000 to [2001:db8::1]:4002: 199 of 200 packets, 2 RTCP; 1 chunk damaged or missing"
        );
        assert!(parts[1].is_incomplete());
        // RTCP may come later than the last packet, media may not.
        let late = Nanos::from_secs(18);
        assert!(parts[1].has(late, true) && !parts[1].has(late, false));
    }
}
