//! The stream record: one SSRC in one direction.

use std::net::{IpAddr, Ipv4Addr};

use crate::definition::{names, record};
use crate::{Call, Direction, Endpoint, Hz, Id, Nanos, Note};

names! {
    /// Where a round trip was measured.
    pub enum RttSource {
        /// From here to the receiver and back, by LSR and DLSR of its RTCP reports: their mean.
        Rtcp = "rtcp",
        /// Between a SIP request and its answer.
        Sip = "sip",
    }
}

names! {
    /// Where packets of a stream were lost.
    pub enum LostAt {
        /// Between the sender and here: they are missing here and at the receiver. Where the sender gives no
        /// counts that tell, it may not have sent them.
        BeforeTap = "before_tap",
        /// Between here and the receiver: they passed here.
        BehindTap = "behind_tap",
        /// At the sender: by its own count it did not send them.
        Sender = "sender",
        /// In our capture or the mirror port before it: the receiver got them.
        Capture = "capture",
        /// The evidence does not tell.
        Unknown = "unknown",
    }
}

names! {
    /// What an RTCP report about a stream is.
    pub enum RtcpReportKind {
        /// A report block of the receiver, RFC 3550 section 6.4.1.
        Receiver = "receiver",
        /// VoIP metrics of the receiver, RFC 3611 section 4.7.
        Voip = "voip",
        /// A sender report, RFC 3550 section 6.4.1.
        Sender = "sender",
    }
}

record! {
    /// An RTCP report about a stream.
    #[part]
    #[name = "rtcp_report"]
    pub struct RtcpReport {
        /// When it passed here.
        #[name = "time_us"]
        pub time: Nanos,
        /// What it is: fields of the other kinds are null.
        pub kind: RtcpReportKind,
        /// Packets lost: since the report before (`receiver`), or since the start (`voip`).
        #[unit = Percent]
        pub lost_pct: Option<f64>,
        /// Packets lost since the start (`receiver`); 0 where the receiver got more than were sent.
        #[unit = Packets]
        pub lost: Option<u64>,
        /// Interarrival jitter (`receiver`); null where the clock is not known.
        #[unit = Milliseconds]
        pub jitter_ms: Option<f64>,
        /// Round trip: from here to the receiver and back (`receiver`), or as the receiver measured it to the
        /// sender and back (`voip`).
        #[unit = Milliseconds]
        pub rtt_ms: Option<f64>,
        /// Packets sent since the start (`sender`).
        #[unit = Packets]
        pub sent_packets: Option<u64>,
        /// Packets that the receiver's jitter buffer discarded since the start (`voip`).
        #[unit = Percent]
        pub discard_pct: Option<f64>,
        /// Lost or discarded within bursts (`voip`).
        #[unit = Percent]
        pub burst_density_pct: Option<f64>,
        /// Lost or discarded between bursts (`voip`).
        #[unit = Percent]
        pub gap_density_pct: Option<f64>,
        /// R factor (`voip`).
        pub r_factor: Option<f64>,
        /// MOS-LQ (`voip`).
        pub mos_lq: Option<f64>,
        /// MOS-CQ (`voip`).
        pub mos_cq: Option<f64>,
    }
}

record! {
    /// Ten seconds of a stream.
    #[part]
    #[name = "interval"]
    pub struct Interval {
        /// When it begins.
        #[name = "start_us"]
        pub start: Nanos,
        /// Packets received, repeats included.
        #[unit = Packets]
        pub packets: u32,
        /// Sequence numbers missing.
        #[unit = Packets]
        pub lost: u32,
        /// Mean interarrival jitter.
        #[unit = Milliseconds]
        pub jitter_ms: f64,
        /// Packets that the adaptive 500 ms jitter buffer would have discarded.
        #[unit = Packets]
        pub discarded: u32,
        /// MOS-LQ after the adaptive buffer; null where the codec has no model.
        pub mos: Option<f64>,
        /// MOS-LQ after the fixed 50 ms buffer.
        pub mos_fixed50: Option<f64>,
        /// MOS-LQ after the fixed 200 ms buffer.
        pub mos_fixed200: Option<f64>,
    }
}

record! {
    /// One SSRC in one direction of one call, or of no call that was seen.
    #[name = "stream"]
    pub struct Stream {
        /// Derived from the call, the endpoints, the SSRC and the first packet's time.
        pub id: Id,
        /// Call-ID of the call that it belongs to.
        pub call_id: Option<String>,
        /// Id of that call.
        pub call: Option<Id>,
        /// Which way the stream flows in that call.
        pub direction: Option<Direction>,
        /// Sender as on the wire.
        pub src: Endpoint,
        /// Receiver as on the wire.
        pub dst: Endpoint,
        /// Synchronisation source, RFC 3550 section 3.
        pub ssrc: u32,
        /// Payload type of most packets.
        pub payload_type: u8,
        /// Name of the codec as in SDP; null for a dynamic payload type that nothing announced.
        pub codec: Option<String>,
        /// RTP clock of the codec.
        #[name = "clock_hz"]
        pub clock: Option<Hz>,
        /// Time that one packet carries.
        #[unit = Milliseconds]
        pub ptime_ms: Option<f64>,
        /// Time of the first packet.
        #[name = "first_us"]
        pub first: Nanos,
        /// Time of the last packet.
        #[name = "last_us"]
        pub last: Nanos,
        /// Every RTP packet seen, repeats included.
        #[unit = Packets]
        pub packets: u64,
        /// Different extended sequence numbers (RFC 3550 appendix A.1).
        #[unit = Packets]
        pub unique: u64,
        /// Sequence numbers between the lowest and the highest that were never seen and not spent elsewhere.
        #[unit = Packets]
        pub lost: u64,
        /// `packets - unique`.
        #[unit = Packets]
        pub duplicates: u64,
        /// Packets that came after one with a higher number, repeats left out.
        #[unit = Packets]
        pub reordered: u64,
        /// RTP payload.
        #[unit = Bytes]
        pub bytes: u64,
        /// The same packets with IP and above.
        #[unit = Bytes]
        pub ip_bytes: u64,
        /// `ip_bytes` over the time from the first packet to the last.
        #[unit = BitsPerSecond]
        pub rate_bps: Option<f64>,
        /// Interarrival jitter (RFC 3550 section 6.4.1), mean over packets; null where the clock is not
        /// known.
        #[unit = Milliseconds]
        pub jitter_ms_mean: Option<f64>,
        /// Maximum of the interarrival jitter.
        #[unit = Milliseconds]
        pub jitter_ms_max: Option<f64>,
        /// Longest time between two packets that follow one another.
        #[unit = Milliseconds]
        pub delta_ms_max: Option<f64>,
        /// Shortest interarrival time.
        #[unit = Milliseconds]
        pub iat_ms_min: Option<f64>,
        /// Mean interarrival time.
        #[unit = Milliseconds]
        pub iat_ms_mean: Option<f64>,
        /// Longest interarrival time.
        #[unit = Milliseconds]
        pub iat_ms_max: Option<f64>,
        /// Standard deviation of the interarrival time.
        #[unit = Milliseconds]
        pub iat_ms_sd: Option<f64>,
        /// Size of the smallest packet at the IP layer.
        #[unit = Bytes]
        pub size_min: u32,
        /// Mean packet size.
        #[unit = Bytes]
        pub size_mean: f64,
        /// Size of the largest packet.
        #[unit = Bytes]
        pub size_max: u32,
        /// Standard deviation of the packet size.
        #[unit = Bytes]
        pub size_sd: f64,
        /// Runs of consecutive lost sequence numbers.
        pub loss_bursts: u64,
        /// Mean length of a run.
        #[unit = Packets]
        pub burst_len_mean: Option<f64>,
        /// Length of the longest run.
        #[unit = Packets]
        pub burst_len_max: Option<u64>,
        /// G.107 BurstR: mean observed run over the mean run if loss were random; null without loss.
        pub burst_ratio: Option<f64>,
        /// Round trip time.
        #[unit = Milliseconds]
        pub rtt_ms: Option<f64>,
        /// Where the round trip was measured.
        pub rtt_source: Option<RttSource>,
        /// RTCP report blocks about this stream, RFC 3550 section 6.4; null where none was seen.
        pub rtcp_reports: Option<u64>,
        /// Packets lost according to the receiver's last report; 0 where it received more than were sent.
        #[unit = Packets]
        pub rtcp_lost: Option<u64>,
        /// Largest fraction lost between two reports of the receiver.
        #[unit = Percent]
        pub rtcp_lost_pct_max: Option<f64>,
        /// Interarrival jitter at the receiver, mean over its reports; null where the clock is not known.
        #[unit = Milliseconds]
        pub rtcp_jitter_ms_mean: Option<f64>,
        /// Largest interarrival jitter that the receiver reported.
        #[unit = Milliseconds]
        pub rtcp_jitter_ms_max: Option<f64>,
        /// Longest round trip from here to the receiver and back, from LSR and DLSR; `rtt_ms` is the mean.
        #[unit = Milliseconds]
        pub rtcp_rtt_ms_max: Option<f64>,
        /// Packets sent according to the sender's last report.
        #[unit = Packets]
        pub rtcp_sent_packets: Option<u64>,
        /// RTP payload sent according to the sender's last report.
        #[unit = Bytes]
        pub rtcp_sent_bytes: Option<u64>,
        /// Time of the sender's BYE, RFC 3550 section 6.6.
        #[name = "rtcp_bye_us"]
        pub rtcp_bye: Option<Nanos>,
        /// Canonical name of the sender, RFC 3550 section 6.5.1.
        pub rtcp_cname: Option<String>,
        /// Mean round trip from here to the sender and back, from reference times and their answers in
        /// extended reports (RFC 3611 sections 4.4 and 4.5).
        #[unit = Milliseconds]
        pub rtcp_sender_rtt_ms: Option<f64>,
        /// What else RTCP said about it, counted by kind as `name=count`: feedback of its receiver (RFC 4585:
        /// `nack`, `pli`, `fir`, `remb`, `tmmbr`, `transport-cc`, ...), packets defined by an application
        /// (`app:` and their name), and blocks of extended reports that no other field shows (`xr:` and their
        /// type).
        #[if_absent = default]
        pub rtcp_counts: Vec<String>,
        /// RTCP reports in order of time. Of many, every second, fourth, ... of each kind is listed, and the
        /// last.
        #[if_absent = default]
        pub reports: Vec<RtcpReport>,
        /// Blocks of VoIP metrics (RFC 3611 section 4.7) about it; null where none was seen. The following
        /// fields are those of the last, null where the receiver does not know them.
        pub xr_reports: Option<u64>,
        /// Packets lost by the receiver's count.
        #[unit = Percent]
        pub xr_loss_pct: Option<f64>,
        /// Packets that its jitter buffer discarded.
        #[unit = Percent]
        pub xr_discard_pct: Option<f64>,
        /// Lost or discarded within bursts.
        #[unit = Percent]
        pub xr_burst_density_pct: Option<f64>,
        /// Mean length of bursts.
        #[unit = Milliseconds]
        pub xr_burst_ms: Option<f64>,
        /// Lost or discarded between bursts.
        #[unit = Percent]
        pub xr_gap_density_pct: Option<f64>,
        /// Mean time between bursts.
        #[unit = Milliseconds]
        pub xr_gap_ms: Option<f64>,
        /// Round trip between the RTP interfaces of receiver and sender, as the receiver measured it.
        #[unit = Milliseconds]
        pub xr_rtt_ms: Option<f64>,
        /// Delay within the receiver's end system: packetization, codec and jitter buffer.
        #[unit = Milliseconds]
        pub xr_end_system_ms: Option<f64>,
        /// Nominal delay of its jitter buffer.
        #[unit = Milliseconds]
        pub xr_buffer_ms: Option<f64>,
        /// Level of the speech, in dBm0.
        pub xr_signal_dbm0: Option<f64>,
        /// Level of the noise, in dBm0.
        pub xr_noise_dbm0: Option<f64>,
        /// R factor by the receiver.
        pub xr_r_factor: Option<f64>,
        /// MOS-LQ by the receiver.
        pub xr_mos_lq: Option<f64>,
        /// MOS-CQ by the receiver.
        pub xr_mos_cq: Option<f64>,
        /// Where most of the packets were lost that are missing here or at the receiver; null where none is.
        pub lost_at: Option<LostAt>,
        /// The numbers behind `lost_at`, in words.
        pub lost_at_evidence: Option<String>,
        /// MOS-LQ of G.107 (G.107.1 wideband, G.107.2 fullband) after the adaptive jitter buffer.
        pub mos: Option<f64>,
        /// The transmission rating R behind that MOS, as equation B-4 of G.107 takes it: 0 to 100 (wideband
        /// ratings over 1.29, fullband ones over 1.48).
        pub r_factor: Option<f64>,
        /// What that MOS assumes, as pairs of name and value: `model`, `codec` and its rate in kbit/s, its
        /// factors `ie` and `bpl`, `concealment` of loss (by `codec`, by `receiver` or `none`), whether the
        /// `factors` are `published`, `derived` or of a `stand-in`, and `payload=encrypted`. Echo is taken as
        /// cancelled.
        pub mos_basis: Option<String>,
        /// Conversational quality: the same with the one-way delay of coding, adaptive buffer and network;
        /// null where RTCP shows no round trip to the receiver.
        pub mos_cq: Option<f64>,
        /// The delay that `mos_cq` counts, as pairs of name and value: `delay_ms` in all, `network_ms` of
        /// half a round trip `from` here to the `receiver`, to `both` ends (by LSR and DLSR), or by the
        /// receiver's own measurement (`xr`), and `end_system` delay `simulated` (packet time, codec,
        /// adaptive buffer) or that of the receiver's VoIP metrics (`xr`).
        pub mos_cq_basis: Option<String>,
        /// MOS-LQ after a fixed 50 ms jitter buffer.
        pub mos_fixed50: Option<f64>,
        /// MOS-LQ after a fixed 200 ms jitter buffer.
        pub mos_fixed200: Option<f64>,
        /// MOS-LQ after an adaptive jitter buffer of at most 500 ms.
        pub mos_adaptive500: Option<f64>,
        /// MOS of the simplified E-model of Cole and Rosenbluth.
        pub mos_cole: Option<f64>,
        /// One entry per 10 s that had packets or loss.
        pub intervals: Vec<Interval>,
        /// Share of the sound that is silence, where the codec can be decoded.
        #[unit = Percent]
        pub silence_pct: Option<f64>,
        /// Share of the samples at the end of the scale.
        #[unit = Percent]
        pub clipped_pct: Option<f64>,
        /// What an engineer would remark.
        #[if_absent = default]
        pub notes: Vec<Note>,
    }
}

impl Stream {
    /// A stream of which nothing is known.
    pub const UNKNOWN: Self = Self {
        id: Id([0; 16]),
        call_id: None,
        call: None,
        src: Endpoint::new(NOWHERE, 0),
        dst: Endpoint::new(NOWHERE, 0),
        ssrc: 0,
        payload_type: 0,
        first: Nanos::ZERO,
        last: Nanos::ZERO,
        packets: 0,
        direction: None,
        codec: None,
        clock: None,
        ptime_ms: None,
        unique: 0,
        lost: 0,
        duplicates: 0,
        reordered: 0,
        bytes: 0,
        ip_bytes: 0,
        rate_bps: None,
        jitter_ms_mean: None,
        jitter_ms_max: None,
        delta_ms_max: None,
        iat_ms_min: None,
        iat_ms_mean: None,
        iat_ms_max: None,
        iat_ms_sd: None,
        size_min: 0,
        size_mean: 0.0,
        size_max: 0,
        size_sd: 0.0,
        loss_bursts: 0,
        burst_len_mean: None,
        burst_len_max: None,
        burst_ratio: None,
        rtt_ms: None,
        rtt_source: None,
        rtcp_reports: None,
        rtcp_lost: None,
        rtcp_lost_pct_max: None,
        rtcp_jitter_ms_mean: None,
        rtcp_jitter_ms_max: None,
        rtcp_rtt_ms_max: None,
        rtcp_sent_packets: None,
        rtcp_sent_bytes: None,
        rtcp_bye: None,
        rtcp_cname: None,
        rtcp_sender_rtt_ms: None,
        rtcp_counts: Vec::new(),
        reports: Vec::new(),
        xr_reports: None,
        xr_loss_pct: None,
        xr_discard_pct: None,
        xr_burst_density_pct: None,
        xr_burst_ms: None,
        xr_gap_density_pct: None,
        xr_gap_ms: None,
        xr_rtt_ms: None,
        xr_end_system_ms: None,
        xr_buffer_ms: None,
        xr_signal_dbm0: None,
        xr_noise_dbm0: None,
        xr_r_factor: None,
        xr_mos_lq: None,
        xr_mos_cq: None,
        lost_at: None,
        lost_at_evidence: None,
        mos: None,
        r_factor: None,
        mos_basis: None,
        mos_cq: None,
        mos_cq_basis: None,
        mos_fixed50: None,
        mos_fixed200: None,
        mos_adaptive500: None,
        mos_cole: None,
        intervals: Vec::new(),
        silence_pct: None,
        clipped_pct: None,
        notes: Vec::new(),
    };

    /// A stream of a call of which its name, its times and the number of its packets are known and nothing
    /// else: it was never measured to its end.
    pub fn unmeasured(
        (id, call): (Id, &Call),
        (src, dst, ssrc): (Endpoint, Endpoint, u32),
        payload_type: u8,
        (first, last): (Nanos, Nanos),
        packets: u64,
    ) -> Self {
        let (call_id, call) = (Some(call.call_id.clone()), Some(call.id));
        let unique = packets;
        Self {
            id,
            call_id,
            call,
            src,
            dst,
            ssrc,
            payload_type,
            first,
            last,
            packets,
            unique,
            ..Self::UNKNOWN
        }
    }

    /// Lost packets in percent of the expected packets.
    pub fn loss_pct(&self) -> f64 {
        match self.unique.saturating_add(self.lost) {
            0 => 0.0,
            expected => self.lost as f64 * 100.0 / expected as f64,
        }
    }

    /// From its first packet to its last, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        self.last.micros().saturating_sub(self.first.micros()) as f64 / 1e3
    }

    /// Whether its packets were measured: each has a size.
    pub fn is_measured(&self) -> bool {
        self.size_max > 0
    }
}

/// No address.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
