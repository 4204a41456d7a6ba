//! The messages of a call as a ladder: hosts, messages between them, and media beside them.

use std::collections::{BTreeMap, HashMap};

use ringtap_anonymise::Tokens;
use ringtap_engine::{Engine, Sink, SipSeen, StreamEnd};
use ringtap_export::call_packets::CallPackets;
use ringtap_export::engine::small_config;
use ringtap_model::{Call, Endpoint, Message, Nanos, Registration, Stream};
use ringtap_report::message::label;
use ringtap_spool::Reader as Spool;
use ringtap_wire::sdp::Sdp;
use ringtap_wire::sip::{self, Header};
use serde::Serialize;
use utoipa::ToSchema;

use super::packets::go_on;
use crate::work::Stop;

/// A ladder, all legs on one sheet.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Ladder {
    /// Columns, in the order in which hosts are first seen.
    hosts: Vec<Host>,
    /// In order of time.
    messages: Vec<Line>,
    media: Vec<Band>,
    /// Why there are no messages, or not all.
    reason: Option<String>,
}

/// A host, whatever its ports.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LadderHost)]
struct Host {
    #[schema(example = "192.0.2.1")]
    address: String,
    /// As the configuration names it.
    name: Option<String>,
}

/// A message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LadderMessage)]
struct Line {
    /// From 1.
    number: usize,
    time_us: u64,
    /// Index into the hosts.
    from: usize,
    /// Index into the hosts.
    to: usize,
    #[schema(example = "192.0.2.1:5060")]
    src: String,
    #[schema(example = "192.0.2.2:5060")]
    dst: String,
    /// Index of the leg.
    leg: usize,
    /// Null of a response.
    method: Option<String>,
    /// Null of a request.
    code: Option<u16>,
    /// `INVITE (SDP)`, `180 Ringing`.
    label: String,
    /// The start line.
    line: String,
    #[schema(example = "1 INVITE")]
    cseq: Option<String>,
    /// How often it was sent again.
    retransmissions: u32,
    /// What matters in it: codecs and address of SDP, Reason.
    detail: Vec<String>,
    /// The message as it was sent; what names people is replaced for those without the right `numbers`.
    raw: Option<String>,
}

/// A media stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LadderMedia)]
struct Band {
    /// The id of its record.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    stream: String,
    /// Index into the hosts.
    from: usize,
    /// Index into the hosts.
    to: usize,
    first_us: u64,
    last_us: u64,
    lost_pct: f64,
    /// Its codec.
    label: String,
}

impl Ladder {
    /// Draws these calls, each with its streams.
    pub(crate) fn of(
        legs: &[(Call, Vec<Stream>)],
        mut spool: Option<&mut Spool>,
        tokens: Option<&Tokens>,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut ladder = Self::default();
        let mut reasons: Vec<String> = Vec::new();
        let mut seen: Vec<(usize, Seen)> = Vec::new();
        for (leg, (call, streams)) in legs.iter().enumerate() {
            let Some(spool) = spool.as_deref_mut() else {
                reasons.push("no spool is configured, so no messages are kept".into());
                break;
            };
            let mut packets = CallPackets::find(spool, call, streams, false)?;
            let mut messages = Messages { call_id: &call.call_id, ..Messages::default() };
            let mut engine = Engine::new(small_config(packets.packet_limit()));
            packets.first_pass(spool, &mut |frames| {
                go_on(stop)?;
                engine.batch(frames, &mut messages);
                Ok(())
            })?;
            engine.close(&mut messages);
            if packets.packets == 0 {
                reasons.push(packets.why_empty("the spool"));
            } else if packets.is_incomplete() {
                reasons.extend(packets.descriptions());
            }
            if messages.left_out > 0 {
                reasons.push(format!("{} messages after the first {MOST} are left out", messages.left_out));
            }
            seen.extend(messages.seen.into_iter().map(|message| (leg, message)));
        }
        seen.sort_by_key(|(_, message)| message.time);
        seen.truncate(MOST);
        reasons.dedup();
        let mut hosts = Hosts::default();
        ladder.messages = lines(seen, &mut hosts, tokens);
        let streams = legs.iter().flat_map(|(_, streams)| streams);
        ladder.media = streams.map(|stream| hosts.band(stream)).collect();
        ladder.hosts = hosts.addresses.into_iter().map(|address| Host { address, name: None }).collect();
        ladder.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        Ok(ladder)
    }
}

/// Columns: a host each, whatever its ports.
#[derive(Default)]
struct Hosts {
    addresses: Vec<String>,
    places: HashMap<std::net::IpAddr, usize>,
}

impl Hosts {
    fn place(&mut self, endpoint: Endpoint) -> usize {
        *self.places.entry(endpoint.ip).or_insert_with(|| {
            self.addresses.push(endpoint.ip.to_string());
            self.addresses.len() - 1
        })
    }

    fn band(&mut self, stream: &Stream) -> Band {
        Band {
            stream: stream.id.to_string(),
            from: self.place(stream.src),
            to: self.place(stream.dst),
            first_us: stream.first.micros(),
            last_us: stream.last.micros(),
            lost_pct: stream.loss_pct(),
            label: ringtap_report::streams::codec(stream),
        }
    }
}

/// One line a message; what was sent again is counted at its first line.
fn lines(seen: Vec<(usize, Seen)>, hosts: &mut Hosts, tokens: Option<&Tokens>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut first: BTreeMap<(Endpoint, Endpoint, Vec<u8>), usize> = BTreeMap::new();
    for (leg, seen) in seen {
        if seen.retransmission {
            let again = first.get(&(seen.src, seen.dst, seen.raw.clone())).copied();
            if let Some(line) = again.and_then(|place| lines.get_mut(place)) {
                line.retransmissions += 1;
                continue;
            }
        }
        first.insert((seen.src, seen.dst, seen.raw.clone()), lines.len());
        lines.push(line(lines.len() + 1, leg, seen, hosts, tokens));
    }
    lines
}

fn line(number: usize, leg: usize, seen: Seen, hosts: &mut Hosts, tokens: Option<&Tokens>) -> Line {
    let masked = tokens.and_then(|tokens| tokens.message(&seen.raw));
    let shown = masked.as_deref().unwrap_or(&seen.raw);
    let text = String::from_utf8_lossy(shown).into_owned();
    let message = sip::Message::parse(shown).ok();
    let start = text.lines().next().unwrap_or_default().to_owned();
    let cseq = message.as_ref().and_then(sip::Message::cseq);
    Line {
        number,
        time_us: seen.time.micros(),
        from: hosts.place(seen.src),
        to: hosts.place(seen.dst),
        src: seen.src.to_string(),
        dst: seen.dst.to_string(),
        leg,
        method: seen.code.is_none().then_some(seen.method),
        code: seen.code,
        label: seen.label,
        line: start,
        cseq: cseq.map(|(number, method)| format!("{number} {}", method.name())),
        retransmissions: 0,
        detail: message.as_ref().map(detail).unwrap_or_default(),
        raw: Some(text),
    }
}

/// What matters in a message beside its start line.
fn detail(message: &sip::Message<'_>) -> Vec<String> {
    let mut detail = Vec::new();
    if let Some(Ok(description)) = message.sdp().map(Sdp::parse) {
        for media in description.media().take(MOST_MEDIA) {
            let names: Vec<String> = media
                .payload_types()
                .take(MOST_CODECS)
                .map(|payload_type| match media.rtpmap(payload_type) {
                    Some(codec) => String::from_utf8_lossy(codec.name).into_owned(),
                    None => payload_type.to_string(),
                })
                .collect();
            let at =
                media.connection().map(|ip| Endpoint::new(ip, media.port).to_string()).unwrap_or_default();
            detail.push(format!("{} {at}", names.join(" ")).trim().to_owned());
        }
    }
    detail.extend(
        message.header(Header::Reason).map(|reason| format!("Reason: {}", String::from_utf8_lossy(reason))),
    );
    detail
}

/// A message of the call as it passed.
struct Seen {
    time: Nanos,
    src: Endpoint,
    dst: Endpoint,
    retransmission: bool,
    method: String,
    code: Option<u16>,
    label: String,
    raw: Vec<u8>,
}

#[derive(Default)]
struct Messages<'a> {
    call_id: &'a str,
    seen: Vec<Seen>,
    left_out: u64,
}

impl Sink for Messages<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        if seen.mirrored || !ringtap_export::find::carries(seen, self.call_id) {
            return;
        }
        if self.seen.len() >= MOST {
            self.left_out += 1;
            return;
        }
        self.seen.push(Seen {
            time: seen.time,
            src: seen.src,
            dst: seen.dst,
            retransmission: seen.retransmission,
            method: seen.message.method().name().to_owned(),
            code: seen.message.code(),
            label: label(seen.message),
            raw: seen.message.raw().to_vec(),
        });
    }
}

/// Most messages of a ladder.
const MOST: usize = 10_000;
/// Most media of a session description that a line names.
const MOST_MEDIA: usize = 8;
/// Most codecs of a medium that a line names.
const MOST_CODECS: usize = 12;
