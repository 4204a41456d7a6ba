//! Finds a call's packets in the spool and compares their number with the call's record.

use std::collections::{BTreeMap, BTreeSet};

use ringtap_model::{Call, Frame, LinkType, Stream};
use ringtap_spool::{Category, LocatedChunks, MissingChunks, OrderedPackets, Packet, Reader};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::rtcp::looks_like_rtcp;
use serde_json::{Value, json};

use crate::batch::{BATCH, FrameBuffer, OnBatch};
use crate::call_part::{CallPart, PacketCount, parts};
use crate::connections::ConnectionBuilder;

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
            SpoolPass::new(&packets, spool).for_each_batch(on_batch).map(drop)
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
                "part": part.name, "packets": part.count.packets, "of": part.counted,
                "rtcp": part.count.reports, "headers_only": part.count.cut,
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

/// One pass over a call's packets in the spool.
pub struct SpoolPass<'a> {
    packets: &'a CallPackets,
    ordered: OrderedPackets<'a>,
    connections: Option<ConnectionBuilder>,
    counts: Vec<PacketCount>,
}

/// Counts of a finished pass.
pub struct PassResult {
    /// Packets of each part.
    pub counts: Vec<PacketCount>,
    /// Missing chunks by owner key.
    pub missing: BTreeMap<u64, MissingChunks>,
    /// Packets passed on, after connections were rebuilt.
    pub packets: u64,
}

impl<'a> SpoolPass<'a> {
    /// Starts a pass.
    pub fn new(packets: &'a CallPackets, spool: &'a mut Reader) -> Self {
        let counts = vec![PacketCount::default(); packets.parts.len()];
        let connections = packets.connection_builder();
        Self { packets, ordered: spool.in_order(&packets.chunks), connections, counts }
    }

    /// Passes all packets to `on_batch`.
    pub fn for_each_batch(mut self, on_batch: OnBatch<'_>) -> anyhow::Result<PassResult> {
        let (mut batch, mut packets) = (FrameBuffer::default(), 0);
        while let Some((owner, link, packet)) = self.ordered.next_packet()? {
            if !self.packets.count(owner, link, &packet, &mut self.counts) {
                continue;
            }
            let frame =
                Frame { time: packet.time, number: 0, link, wire_len: packet.wire_len, data: packet.data };
            match &mut self.connections {
                Some(builder) => builder.push(&frame, &mut |frame| batch.push(frame)),
                None => batch.push(&frame),
            }
            if batch.len() >= BATCH {
                packets = batch.flush(packets, on_batch)?;
            }
        }
        packets = batch.flush(packets, on_batch)?;
        Ok(PassResult { counts: self.counts, missing: self.ordered.lacks().clone(), packets })
    }
}

/// Whether a packet is RTCP, which the spool stores with the stream that it reports on.
fn is_rtcp(link: LinkType, packet: &Packet<'_>) -> bool {
    let decoded = decode(link.0, packet.wire_len, packet.data);
    matches!(decoded.map(|packet| packet.payload), Ok(Payload::Udp(udp)) if looks_like_rtcp(udp.data))
}
