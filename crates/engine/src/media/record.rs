//! The record of a stream that has ended.

use ringtap_model::{Endpoint, Hz, Id, Interval, Nanos, RttSource, Stream};
use ringtap_quality::judge::{LossCounts, PathDelay, judge, listening};
use ringtap_quality::notes::MediaFacts;
use ringtap_quality::{
    CodecProfile, LossFacts, LossPlace, MosBasis, Receivers, burst, codec, jitterbuffer, place,
};

use super::details::Digit;
use super::far_end::{FarEnd, FarEndFields};
use super::flow::{IntervalRow, Totals};
use super::record_memory::RecordMemory;
use super::sound::Sound;
use crate::address_text::AddressText;
use crate::codecs::Codec;
use crate::spare::Spare;
use crate::table::hash;
use crate::text::{round, round3};
use crate::update::{RecordedPackets, Side};

/// What a stream's record takes from its call.
pub(crate) struct StreamContext<'a> {
    pub(crate) call_id: &'a str,
    pub(crate) call: Id,
    /// Round trip that the call's signalling showed.
    pub(crate) rtt: Option<Nanos>,
    /// User-Agents of caller and callee.
    pub(crate) agents: [Option<&'a str>; 2],
    /// What signalling told of its media.
    pub(crate) facts: &'a MediaFacts,
    /// Round trips that RTCP showed from here to the receivers of the caller's and of the callee's media.
    pub(crate) round_trips: [Option<Nanos>; 2],
    /// Packets that this monitor dropped while the call lasted.
    pub(crate) capture_drops: u64,
}

/// The streams that a worker has of a call.
#[derive(Clone, Default)]
pub(crate) struct CallStreams {
    pub(crate) figures: Vec<EndedStream>,
    /// A call that announced the same endpoints has streams.
    pub(crate) is_at_twin: bool,
}

impl CallStreams {
    /// The streams, once the facts of their call have the rest.
    pub(crate) fn into_figures(self, facts: &mut MediaFacts) -> Vec<EndedStream> {
        facts.is_at_twin |= self.is_at_twin;
        self.figures
    }
}

/// A stream that has ended, with all that its record tells: it needs no table any more.
#[derive(Clone)]
pub(crate) struct EndedStream {
    /// Order of the streams by their first packet.
    pub(crate) serial: u64,
    pub(super) flow: Totals,
    /// Side that sent it.
    pub(super) side: Option<Side>,
    /// Payload type of most packets, how many these are, and their codec.
    pub(super) payload_type: u8,
    pub(super) packets_of_type: u32,
    pub(super) codec: Option<Codec>,
    pub(super) intervals: Vec<IntervalRow>,
    pub(crate) digits: Vec<Digit>,
    /// What the sink kept of its packets.
    pub(crate) recorded: RecordedPackets,
    /// What RTCP said of it.
    pub(crate) far_end: Option<Box<FarEnd>>,
}

/// What three jitter buffers would have thrown away and added, over a stretch of packets.
#[derive(Clone, Copy, Default)]
struct Buffers {
    fixed50: u64,
    fixed200: u64,
    adaptive500: u64,
    /// The adaptive one's delay, weighted by packets.
    adaptive_delay: f64,
    packets: u64,
}

impl Buffers {
    fn add(&mut self, row: &IntervalRow) {
        let discards = jitterbuffer::discards(&row.bins);
        let packets = u64::from(row.unique);
        self.fixed50 += u64::from(discards.fixed50);
        self.fixed200 += u64::from(discards.fixed200);
        self.adaptive500 += u64::from(discards.adaptive500);
        self.adaptive_delay += jitterbuffer::delay(&row.bins).adaptive500.0 as f64 * packets as f64;
        self.packets += packets;
    }

    fn adaptive_delay(&self) -> Nanos {
        Nanos((self.adaptive_delay / self.packets.max(1) as f64) as u64)
    }
}

/// Listening quality after each of the three buffers.
struct Listened {
    fixed50: f64,
    fixed200: f64,
    adaptive500: f64,
}

impl Listened {
    /// Where two buffers threw away as much they sound the same. `adaptive500` is known where that was judged
    /// already.
    fn new(profile: &CodecProfile, counts: LossCounts, buffers: &Buffers, adaptive500: Option<f64>) -> Self {
        let with = |discarded| listening(profile, LossCounts { discarded, ..counts });
        let adaptive500 = adaptive500.unwrap_or_else(|| with(buffers.adaptive500));
        let fixed200 =
            if buffers.fixed200 == buffers.adaptive500 { adaptive500 } else { with(buffers.fixed200) };
        let fixed50 = if buffers.fixed50 == buffers.fixed200 { fixed200 } else { with(buffers.fixed50) };
        Self { fixed50, fixed200, adaptive500 }
    }
}

pub(super) fn ms(nanos: f64) -> f64 {
    round(nanos / 1e6)
}

impl EndedStream {
    /// When it was last heard.
    pub(super) fn last(&self) -> Nanos {
        self.flow.last
    }

    pub(crate) fn packets(&self) -> u64 {
        u64::from(self.flow.packets())
    }

    /// The side that sent it.
    pub(crate) fn side(&self) -> Option<Side> {
        self.side
    }

    /// From here to its receiver and back, by RTCP: the mean.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        self.far_end.as_ref().and_then(|far| far.to_receiver.mean())
    }

    /// Makes the record.
    pub(crate) fn record(
        mut self,
        context: Option<&StreamContext<'_>>,
        receivers: &Receivers,
        memory: &RecordMemory,
    ) -> Stream {
        let spare = &memory.spare;
        let id = self.id(context);
        let codec = self.codec.take();
        let codec = codec.as_ref();
        let Self { flow, .. } = &self;
        let numbering = &flow.numbering;
        let clock = codec.map(|codec| codec.clock);
        let ptime = clock.filter(|_| flow.step > 0).map(|clock| Nanos(ticks_to_nanos(flow.step, clock)));
        let lost = u64::from(numbering.lost());
        let rating = self.rate(codec, ptime, (context, receivers), spare);
        let packets = u64::from(numbering.packets);
        let iat = Spread::of_intervals(flow, packets.saturating_sub(1));
        let size = Spread::new(flow.size_sum as f64, flow.size_squares, packets);
        let has_iat = packets > 1;
        let far = FarEndFields::new(self.far_end.as_deref(), clock, spare);
        let by_sip = || Some((context?.rtt?, RttSource::Sip));
        let lost_at = self.place(ptime, context.map_or(0, |context| context.capture_drops), spare);
        let rtt = far.round_trip.map(|rtt| (rtt, RttSource::Rtcp)).or_else(by_sip);
        let record = Stream {
            id,
            call_id: context.map(|context| spare.text(context.call_id)),
            call: context.map(|context| context.call),
            direction: context.and(self.side).map(Side::direction),
            src: flow.key.src,
            dst: flow.key.dst,
            ssrc: flow.key.ssrc,
            payload_type: self.payload_type,
            codec: codec.map(|codec| spare.text(&codec.name)),
            clock,
            ptime_ms: ptime.map(|ptime| round(ptime.millis_f64())),
            first: flow.first,
            last: flow.last,
            packets,
            unique: u64::from(numbering.unique),
            lost,
            duplicates: packets - u64::from(numbering.unique).min(packets),
            reordered: u64::from(numbering.reordered),
            bytes: flow.payload_sum,
            ip_bytes: flow.size_sum,
            rate_bps: rate_bps(flow.size_sum, flow.last.since(flow.first)),
            jitter_ms_mean: (flow.jitters > 0).then(|| ms(flow.jitter_sum / f64::from(flow.jitters))),
            jitter_ms_max: (flow.jitters > 0).then(|| ms(f64::from(flow.jitter_max))),
            delta_ms_max: has_iat.then(|| ms(f64::from(flow.delta_max))),
            iat_ms_min: has_iat.then(|| ms(f64::from(flow.iat_min))),
            iat_ms_mean: has_iat.then(|| ms(iat.mean)),
            iat_ms_max: has_iat.then(|| ms(f64::from(flow.iat_max))),
            iat_ms_sd: has_iat.then(|| ms(iat.deviation)),
            size_min: u32::from(flow.size_min),
            size_mean: round3(size.mean),
            size_max: u32::from(flow.size_max),
            size_sd: round3(size.deviation),
            loss_bursts: u64::from(numbering.bursts),
            burst_len_mean: (numbering.bursts > 0).then(|| round3(burst_len(flow))),
            burst_len_max: (numbering.bursts > 0).then_some(u64::from(numbering.burst_max)),
            burst_ratio: rating.burst_ratio,
            rtt_ms: rtt.map(|(rtt, _)| round(rtt.millis_f64())),
            rtt_source: rtt.map(|(_, source)| source),
            mos: rating.adaptive500,
            r_factor: rating.r,
            mos_basis: rating.basis.map(|basis| spare.text(&basis.text())),
            mos_cq: rating.cq,
            mos_cq_basis: rating.cq_basis,
            mos_fixed50: rating.fixed50,
            mos_fixed200: rating.fixed200,
            mos_adaptive500: rating.adaptive500,
            mos_cole: rating.cole,
            intervals: rating.intervals,
            silence_pct: flow.sound.share(flow.sound.silent),
            clipped_pct: flow.sound.share(flow.sound.clipped),
            ..far.stream(lost_at)
        };
        memory.give(self.intervals, self.digits);
        record
    }

    /// How the stream sounded.
    fn rate(
        &self,
        codec: Option<&Codec>,
        ptime: Option<Nanos>,
        (context, receivers): (Option<&StreamContext<'_>>, &Receivers),
        spare: &Spare,
    ) -> StreamRating {
        let numbering = &self.flow.numbering;
        let (lost, expected) = (u64::from(numbering.lost()), u64::from(numbering.expected()));
        let counts = LossCounts { expected, lost, discarded: 0, bursts: u64::from(numbering.bursts) };
        let mut buffers = Buffers::default();
        self.intervals.iter().for_each(|row| buffers.add(row));
        // The E-model rates no fax.
        let is_voice = context.is_none_or(|context| context.facts.fax.is_none());
        let mut profile = codec.filter(|_| is_voice).and_then(|codec| self.profile(codec, ptime));
        if !receivers.conceal(self.flow.key.dst.ip, context.and_then(|context| self.receiving_agent(context)))
        {
            profile = profile.map(CodecProfile::without_concealment);
        }
        let path = PathDelay {
            ptime: ptime.unwrap_or_default(),
            buffer: buffers.adaptive_delay(),
            rtt: None,
            end_system: None,
        };
        let counts_heard = LossCounts { discarded: buffers.adaptive500, ..counts };
        let judged = profile.map(|profile| judge(profile, counts_heard, path));
        let trip = context.and_then(|context| self.path_round_trip(context));
        let conversed = trip.zip(profile).map(|((rtt, source), profile)| {
            let end_system = self.far_end.as_ref().and_then(|far| far.end_system());
            let path = PathDelay { rtt: Some(rtt), end_system, ..path };
            let judged = judge(profile, counts_heard, path);
            (round3(judged.mos_cq), delay_basis(judged.delay_ms, (rtt, source), end_system.is_some(), spare))
        });
        let (cq, cq_basis) = conversed.unzip();
        let encrypted = context.is_some_and(|context| context.facts.encrypted);
        let listened = profile
            .zip(judged.as_ref())
            .map(|(profile, judged)| Listened::new(profile, counts, &buffers, Some(judged.mos_lq)));
        let mos = |pick: fn(&Listened) -> f64| listened.as_ref().map(|listened| round3(pick(listened)));
        let burst_len = burst_len(&self.flow);
        let mut intervals = spare.intervals.take(self.intervals.len());
        intervals.extend(self.intervals.iter().map(|row| interval(row, profile, burst_len)));
        StreamRating {
            burst_ratio: burst::burst_ratio(lost, expected, counts.bursts).map(round3),
            r: judged.as_ref().map(|judged| round3(judged.r_factor)),
            basis: profile.map(|profile| MosBasis { profile, encrypted }),
            cq,
            cq_basis,
            fixed50: mos(|listened| listened.fixed50),
            fixed200: mos(|listened| listened.fixed200),
            adaptive500: mos(|listened| listened.adaptive500),
            cole: judged.as_ref().and_then(|judged| judged.mos_cole).map(round3),
            intervals,
        }
    }
}

/// What a record says of how the stream sounded.
struct StreamRating {
    burst_ratio: Option<f64>,
    r: Option<f64>,
    basis: Option<MosBasis>,
    cq: Option<f64>,
    cq_basis: Option<String>,
    fixed50: Option<f64>,
    fixed200: Option<f64>,
    adaptive500: Option<f64>,
    cole: Option<f64>,
    intervals: Vec<Interval>,
}

/// Mean and standard deviation out of sums.
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn new(sum: f64, squares: f64, count: u64) -> Self {
        let mean = sum / count as f64;
        Self { mean, deviation: (squares / count as f64 - mean * mean).max(0.0).sqrt() }
    }

    /// Of the intervals between packets. One of more than 292 years is counted as that long, and their sum is
    /// not: then the mean is kept between the shortest and the longest.
    fn of_intervals(flow: &Totals, count: u64) -> Self {
        let sum = flow.last.since(flow.first).0;
        let mut spread = Self::new(sum as f64, flow.iat_squares, count);
        if i64::try_from(sum).is_err() {
            spread.mean = spread.mean.max(f64::from(flow.iat_min)).min(f64::from(flow.iat_max));
        }
        spread
    }
}

/// The delay that a conversational quality counts, and what it rests on.
fn delay_basis(delay_ms: f64, (rtt, from): (Nanos, &str), is_reported: bool, spare: &Spare) -> String {
    let end_system = if is_reported { "xr" } else { "simulated" };
    let network = rtt.millis_f64() / 2.0;
    spare.written(format_args!(
        "delay_ms={delay_ms:.1} network_ms={network:.1} from={from} end_system={end_system}"
    ))
}

/// Bits per second over a span; None where it has no length.
fn rate_bps(bytes: u64, span: Nanos) -> Option<f64> {
    (span > Nanos::ZERO).then(|| round3(bytes as f64 * 8.0 / span.secs_f64()))
}

impl EndedStream {
    /// The User-Agent of the side that receives it.
    fn receiving_agent<'a>(&self, context: &StreamContext<'a>) -> Option<&'a str> {
        context.agents[self.side?.other() as usize]
    }

    /// From the sender to the receiver and back, as far as RTCP shows it, and what shows it: here to the
    /// receiver, and if known here to the sender; else what the receiver measured.
    fn path_round_trip(&self, context: &StreamContext<'_>) -> Option<(Nanos, &'static str)> {
        let far = self.far_end.as_ref()?;
        let extended = || far.extended.as_ref().and_then(|extended| extended.to_sender.mean());
        let to_sender =
            self.side.and_then(|side| context.round_trips[side.other() as usize]).or_else(extended);
        match (far.to_receiver.mean(), to_sender) {
            (Some(to_receiver), Some(to_sender)) => Some((to_receiver + to_sender, "both")),
            (Some(to_receiver), None) => Some((to_receiver, "receiver")),
            (None, _) => Some((far.own_round_trip()?, "xr")),
        }
    }

    /// Where its packets were lost.
    fn place(&self, ptime: Option<Nanos>, capture_drops: u64, spare: &Spare) -> Option<LossPlace> {
        let numbering = &self.flow.numbering;
        let far = self.far_end.as_deref();
        if numbering.lost() == 0 && far.is_none_or(|far| far.reports == 0) {
            return None;
        }
        // Reports overtake packets by as much as packets vary, twice.
        let jitter = ptime
            .filter(|ptime| ptime.0 > 0)
            .map_or(0.0, |ptime| f64::from(self.flow.jitter_max) / ptime.0 as f64);
        let slack = 3 + 2 * jitter.ceil() as u64;
        let facts = LossFacts {
            lost: u64::from(numbering.lost()),
            expected: u64::from(numbering.expected()),
            receiver: far.and_then(|far| far.losses.receiver()),
            sender: far.and_then(|far| far.losses.sender(slack)),
            capture_drops,
            unusable: far.map_or(0, |far| u64::from(far.losses.unusable)),
        };
        place(&facts, &|text| spare.written(text))
    }

    /// The codec's model; where a codec has modes, the one nearest to the rate of its payload.
    fn profile(&self, codec: &Codec, ptime: Option<Nanos>) -> Option<&'static CodecProfile> {
        let (name, clock) = (&codec.name, Some(codec.clock));
        let Some(ptime) = ptime.filter(|ptime| *ptime > Nanos::ZERO) else {
            return codec::lookup(name, clock);
        };
        let mean = self.flow.payload_sum as f64 / f64::from(self.packets_of_type.max(1));
        codec::lookup_rate(name, clock, mean * 8.0 / ptime.millis_f64())
    }

    fn id(&self, context: Option<&StreamContext<'_>>) -> Id {
        let key = &self.flow.key;
        stream_id(context.map(|context| context.call), (key.src, key.dst, key.ssrc), self.flow.first)
    }
}

/// The id of a stream's record: of its call, if it has one, its sender, receiver and SSRC, and the time of
/// its first packet.
pub fn stream_id(call: Option<Id>, (src, dst, ssrc): (Endpoint, Endpoint, u32), first: Nanos) -> Id {
    let (src, dst) = (AddressText::endpoint(src), AddressText::endpoint(dst));
    let (call, ssrc, first) =
        (call.map_or([0; 16], |id| id.0), ssrc.to_be_bytes(), first.micros().to_le_bytes());
    hash::id("stream", [&call[..], src.as_bytes(), dst.as_bytes(), &ssrc, &first])
}

impl Sound {
    fn share(&self, part: u32) -> Option<f64> {
        (self.samples > 0).then(|| round3(100.0 * f64::from(part) / f64::from(self.samples)))
    }
}

pub(super) fn ticks_to_nanos(ticks: u32, clock: Hz) -> u64 {
    u64::from(ticks) * 1_000_000_000 / u64::from(clock.0.max(1))
}

/// Mean run of lost packets; 1 without loss.
pub(super) fn burst_len(flow: &Totals) -> f64 {
    f64::from(flow.numbering.burst_lost.max(1)) / f64::from(flow.numbering.bursts.max(1))
}

/// MOS-LQ of an interval of a stream that goes on, after the adaptive buffer.
pub(super) fn running_mos(row: &IntervalRow, profile: &CodecProfile, burst_len: f64) -> Option<f64> {
    let mut buffers = Buffers::default();
    buffers.add(row);
    let counts = LossCounts { discarded: buffers.adaptive500, ..losses(row, burst_len) };
    (row.unique > 0).then(|| round3(listening(profile, counts)))
}

fn losses(row: &IntervalRow, burst_len: f64) -> LossCounts {
    let lost = u64::from(row.lost);
    let bursts = (f64::from(row.lost) / burst_len).ceil() as u64;
    LossCounts { expected: u64::from(row.unique) + lost, lost, discarded: 0, bursts }
}

/// `burst_len` is the mean run of lost packets over the whole stream: ten seconds have too few runs to tell
/// their own.
fn interval(row: &IntervalRow, profile: Option<&'static CodecProfile>, burst_len: f64) -> Interval {
    let mut buffers = Buffers::default();
    buffers.add(row);
    let counts = losses(row, burst_len);
    let listened = profile.map(|profile| Listened::new(profile, counts, &buffers, None));
    let mos = |pick: fn(&Listened) -> f64| listened.as_ref().map(|listened| round3(pick(listened)));
    Interval {
        start: row.start,
        packets: row.packets,
        lost: row.lost,
        jitter_ms: ms(f64::from(row.jitter)),
        discarded: buffers.adaptive500 as u32,
        mos: mos(|listened| listened.adaptive500),
        mos_fixed50: mos(|listened| listened.fixed50),
        mos_fixed200: mos(|listened| listened.fixed200),
    }
}
