//! What a stream's record says of its far ends.

use ringtap_model::{Hz, Nanos, RtcpReport, RtcpReportKind, Stream};
use ringtap_quality::LossPlace;
use ringtap_wire::rtcp::VoipMetrics;

use super::{BlockRow, FarEnd, SentRow, VoipRow};
use crate::spare::Spare;
use crate::text::{round, round3, text_in};

/// The fields of a record that RTCP fills.
#[derive(Default)]
pub(crate) struct FarEndFields {
    pub(crate) reports: Option<u64>,
    pub(crate) lost: Option<u64>,
    pub(crate) lost_pct_max: Option<f64>,
    pub(crate) jitter_ms_mean: Option<f64>,
    pub(crate) jitter_ms_max: Option<f64>,
    pub(crate) round_trip: Option<Nanos>,
    pub(crate) round_trip_ms_max: Option<f64>,
    pub(crate) to_sender_ms: Option<f64>,
    pub(crate) sent_packets: Option<u64>,
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) bye: Option<Nanos>,
    pub(crate) cname: Option<String>,
    pub(crate) counts: Vec<String>,
    pub(crate) list: Vec<RtcpReport>,
    pub(crate) voip_reports: Option<u64>,
    pub(crate) voip: VoipFields,
}

/// The newest VoIP metrics.
#[derive(Default)]
pub(crate) struct VoipFields {
    pub(crate) loss_pct: Option<f64>,
    pub(crate) discard_pct: Option<f64>,
    pub(crate) burst_density_pct: Option<f64>,
    pub(crate) burst_ms: Option<f64>,
    pub(crate) gap_density_pct: Option<f64>,
    pub(crate) gap_ms: Option<f64>,
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) end_system_ms: Option<f64>,
    pub(crate) buffer_ms: Option<f64>,
    pub(crate) signal: Option<f64>,
    pub(crate) noise: Option<f64>,
    pub(crate) r_factor: Option<f64>,
    pub(crate) mos_lq: Option<f64>,
    pub(crate) mos_cq: Option<f64>,
}

impl FarEndFields {
    /// Of a stream whose RTP clock is `clock`.
    pub(crate) fn new(far: Option<&FarEnd>, clock: Option<Hz>, spare: &Spare) -> Self {
        let Some(far) = far else { return Self::default() };
        let reported = Some(far).filter(|far| far.reports > 0);
        let sender = Some(far).filter(|far| far.sender_reports.count > 0);
        let mean = |far: &FarEnd| far.jitter_sum as f64 / f64::from(far.reports);
        let extended = far.extended.as_deref();
        let newest = extended.and_then(|extended| extended.newest.as_ref());
        let to_sender = extended.and_then(|extended| extended.to_sender.mean());
        Self {
            reports: reported.map(|far| u64::from(far.reports)),
            lost: reported.map(|far| u64::from(far.lost.max(0).unsigned_abs())),
            lost_pct_max: reported.map(|far| share(far.fraction_max)),
            jitter_ms_mean: reported.and_then(|far| jitter_ms(mean(far), clock)),
            jitter_ms_max: reported.and_then(|far| jitter_ms(f64::from(far.jitter_max), clock)),
            round_trip: far.to_receiver.mean(),
            round_trip_ms_max: (far.to_receiver.count > 0).then(|| round(far.to_receiver.max.millis_f64())),
            to_sender_ms: to_sender.map(|trip| round(trip.millis_f64())),
            sent_packets: sender.map(|far| u64::from(far.sent_packets)),
            sent_bytes: sender.map(|far| u64::from(far.sent_octets)),
            bye: far.bye,
            cname: far.cname.as_deref().and_then(|name| text_in(name, spare)),
            counts: far.messages.as_ref().map_or_else(Vec::new, |counts| counts.texts(spare)),
            list: far.list(clock, spare),
            voip_reports: extended.map(|extended| u64::from(extended.count)).filter(|count| *count > 0),
            voip: newest.map_or_else(VoipFields::default, |(metrics, _)| VoipFields::new(metrics)),
        }
    }
}

impl FarEndFields {
    /// A record that has these fields alone, and where packets were lost.
    pub(crate) fn stream(self, lost_at: Option<LossPlace>) -> Stream {
        Stream {
            rtcp_reports: self.reports,
            rtcp_lost: self.lost,
            rtcp_lost_pct_max: self.lost_pct_max,
            rtcp_jitter_ms_mean: self.jitter_ms_mean,
            rtcp_jitter_ms_max: self.jitter_ms_max,
            rtcp_rtt_ms_max: self.round_trip_ms_max,
            rtcp_sent_packets: self.sent_packets,
            rtcp_sent_bytes: self.sent_bytes,
            rtcp_bye: self.bye,
            rtcp_cname: self.cname,
            rtcp_sender_rtt_ms: self.to_sender_ms,
            rtcp_counts: self.counts,
            reports: self.list,
            xr_reports: self.voip_reports,
            xr_loss_pct: self.voip.loss_pct,
            xr_discard_pct: self.voip.discard_pct,
            xr_burst_density_pct: self.voip.burst_density_pct,
            xr_burst_ms: self.voip.burst_ms,
            xr_gap_density_pct: self.voip.gap_density_pct,
            xr_gap_ms: self.voip.gap_ms,
            xr_rtt_ms: self.voip.rtt_ms,
            xr_end_system_ms: self.voip.end_system_ms,
            xr_buffer_ms: self.voip.buffer_ms,
            xr_signal_dbm0: self.voip.signal,
            xr_noise_dbm0: self.voip.noise,
            xr_r_factor: self.voip.r_factor,
            xr_mos_lq: self.voip.mos_lq,
            xr_mos_cq: self.voip.mos_cq,
            lost_at: lost_at.as_ref().map(|place| place.at),
            lost_at_evidence: lost_at.map(|place| place.evidence),
            ..Stream::UNKNOWN
        }
    }
}

impl VoipFields {
    fn new(metrics: &VoipMetrics) -> Self {
        Self {
            loss_pct: Some(share(metrics.loss_rate)),
            discard_pct: Some(share(metrics.discard_rate)),
            burst_density_pct: Some(share(metrics.burst_density)),
            burst_ms: Some(f64::from(metrics.burst_duration)),
            gap_density_pct: Some(share(metrics.gap_density)),
            gap_ms: Some(f64::from(metrics.gap_duration)),
            // RFC 3611 section 4.7.3: delays that were never measured are 0.
            rtt_ms: delay(metrics.round_trip_delay),
            end_system_ms: delay(metrics.end_system_delay),
            buffer_ms: delay(metrics.jitter_buffer_nominal),
            signal: (metrics.signal_level != UNKNOWN_LEVEL).then(|| f64::from(metrics.signal_level)),
            noise: (metrics.noise_level != UNKNOWN_LEVEL).then(|| f64::from(metrics.noise_level)),
            r_factor: known(metrics.r_factor),
            mos_lq: mos(metrics.mos_lq),
            mos_cq: mos(metrics.mos_cq),
        }
    }
}

impl FarEnd {
    /// The stored reports in order of time.
    fn list(&self, clock: Option<Hz>, spare: &Spare) -> Vec<RtcpReport> {
        let voip = self.extended.iter().flat_map(|extended| extended.voip.rows());
        let mut list = spare.reports.take(self.rows());
        merge(&mut list, self.blocks.rows().iter().map(|row| row.report(clock)));
        merge(&mut list, voip.map(VoipRow::report));
        merge(&mut list, self.sent.rows().iter().map(SentRow::report));
        list
    }

    /// The delay within the receiver's end system, by its VoIP metrics.
    pub(crate) fn end_system(&self) -> Option<Nanos> {
        let (metrics, _) = self.extended.as_ref()?.newest.as_ref()?;
        Some(Nanos::from_millis(u64::from(metrics.end_system_delay))).filter(|delay| *delay > Nanos::ZERO)
    }

    /// From the receiver to the sender and back, as the receiver measured it.
    pub(crate) fn own_round_trip(&self) -> Option<Nanos> {
        let (metrics, _) = self.extended.as_ref()?.newest.as_ref()?;
        Some(Nanos::from_millis(u64::from(metrics.round_trip_delay))).filter(|delay| *delay > Nanos::ZERO)
    }
}

/// Adds reports to others that are in order of time, each after those of the same time. Sorting all of them
/// would allocate.
fn merge(list: &mut Vec<RtcpReport>, reports: impl Iterator<Item = RtcpReport>) {
    for report in reports {
        let place = list.partition_point(|other| other.time <= report.time);
        list.insert(place, report);
    }
}

impl BlockRow {
    fn report(&self, clock: Option<Hz>) -> RtcpReport {
        let trip = (self.round_trip > 0).then(|| round(f64::from(self.round_trip) / 1e3));
        RtcpReport {
            lost_pct: Some(share(self.fraction)),
            lost: Some(u64::from(self.lost.max(0).unsigned_abs())),
            jitter_ms: jitter_ms(f64::from(self.jitter), clock),
            rtt_ms: trip,
            ..blank(self.time, RtcpReportKind::Receiver)
        }
    }
}

impl VoipRow {
    fn report(&self) -> RtcpReport {
        let fields = VoipFields::new(&self.metrics);
        RtcpReport {
            lost_pct: fields.loss_pct,
            rtt_ms: fields.rtt_ms,
            discard_pct: fields.discard_pct,
            burst_density_pct: fields.burst_density_pct,
            gap_density_pct: fields.gap_density_pct,
            r_factor: fields.r_factor,
            mos_lq: fields.mos_lq,
            mos_cq: fields.mos_cq,
            ..blank(self.time, RtcpReportKind::Voip)
        }
    }
}

impl SentRow {
    fn report(&self) -> RtcpReport {
        let sent_packets = Some(u64::from(self.packets));
        RtcpReport { sent_packets, ..blank(self.time, RtcpReportKind::Sender) }
    }
}

fn blank(time: Nanos, kind: RtcpReportKind) -> RtcpReport {
    RtcpReport {
        time,
        kind,
        lost_pct: None,
        lost: None,
        jitter_ms: None,
        rtt_ms: None,
        sent_packets: None,
        discard_pct: None,
        burst_density_pct: None,
        gap_density_pct: None,
        r_factor: None,
        mos_lq: None,
        mos_cq: None,
    }
}

/// Percent of a share in 1/256.
fn share(share: u8) -> f64 {
    round3(f64::from(share) / 2.56)
}

fn delay(millis: u16) -> Option<f64> {
    (millis > 0).then(|| f64::from(millis))
}

/// RFC 3611 section 4.7.5: 127 is not known, other values above 100 mean nothing.
fn known(value: u8) -> Option<f64> {
    (value <= 100).then(|| f64::from(value))
}

/// MOS times ten, 10 to 50.
fn mos(value: u8) -> Option<f64> {
    (10..=50).contains(&value).then(|| round3(f64::from(value) / 10.0))
}

/// Jitter that a receiver reports in ticks.
fn jitter_ms(ticks: f64, clock: Option<Hz>) -> Option<f64> {
    clock.filter(|clock| clock.0 > 0).map(|clock| round3(1e3 * ticks / f64::from(clock.0)))
}

/// RFC 3611 section 4.7.4.
const UNKNOWN_LEVEL: i8 = 127;
