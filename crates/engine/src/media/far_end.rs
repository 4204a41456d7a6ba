//! What RTCP says of a stream: the receiver's view and the sender's own counts (RFC 3550 section 6).

use ringtap_model::Nanos;

/// Sender reports whose arrival is remembered, to match the LSR of a report block.
const MAX_SENDER_REPORTS: usize = 4;
/// A longer round trip comes from a device that fills in LSR or DLSR wrongly.
const MAX_ROUND_TRIP: Nanos = Nanos::from_secs(10);
/// Longest CNAME that is kept, in bytes.
const MAX_CNAME: usize = 128;

/// The same report again within this time is the mirror port's second copy.
const MIRROR: Nanos = Nanos::from_millis(10);

/// One receiver's report block, see [`ringtap_wire::rtcp::Report`].
pub(crate) use ringtap_wire::rtcp::Report;

/// RTCP about one stream so far. All counts are those of the far ends; only times are measured here.
#[derive(Clone, Debug, Default)]
pub(crate) struct FarEnd {
    /// Report blocks about the stream.
    pub(crate) reports: u32,
    /// Cumulative number of packets lost in the newest report: negative where packets were duplicated.
    pub(crate) lost: i32,
    /// Largest fraction lost between two reports, in 1/256.
    pub(crate) fraction_max: u8,
    /// Interarrival jitter over all reports, in ticks of the RTP clock.
    pub(crate) jitter_sum: u64,
    pub(crate) jitter_max: u32,
    /// Sender reports of the stream's source.
    pub(crate) sender_reports: u32,
    /// Packet and payload octet count in the newest sender report.
    pub(crate) sent_packets: u32,
    pub(crate) sent_octets: u32,
    /// Round trips from here to the receiver and back.
    pub(crate) round_trips: u32,
    pub(crate) round_trip_sum: Nanos,
    pub(crate) round_trip_max: Nanos,
    /// When the source said BYE.
    pub(crate) bye: Option<Nanos>,
    /// CNAME of the source.
    pub(crate) cname: Option<Box<[u8]>>,
    /// Middle 32 bits of the NTP time and arrival time of the newest sender reports.
    recent: [(u32, Nanos); MAX_SENDER_REPORTS],
    /// The newest report block, and when it arrived.
    newest: Option<(Report, Nanos)>,
}

impl FarEnd {
    /// The source reports what it has sent so far; `ntp_middle` identifies the report in later LSR fields.
    pub(crate) fn sent(&mut self, ntp_middle: u32, packets: u32, octets: u32, time: Nanos) {
        let is_copy = |(middle, seen): &(u32, Nanos)| *middle == ntp_middle && time.since(*seen) < MIRROR;
        if self.recent.iter().take(self.sender_reports as usize).any(is_copy) {
            return;
        }
        let slot = self.sender_reports as usize % MAX_SENDER_REPORTS;
        self.recent[slot] = (ntp_middle, time);
        self.sender_reports = self.sender_reports.saturating_add(1);
        (self.sent_packets, self.sent_octets) = (packets, octets);
    }

    /// The receiver reports how it received the stream.
    pub(crate) fn received(&mut self, report: &Report, time: Nanos) {
        if self.newest.is_some_and(|(newest, seen)| newest == *report && time.since(seen) < MIRROR) {
            return;
        }
        self.newest = Some((*report, time));
        self.reports = self.reports.saturating_add(1);
        self.lost = report.cumulative_lost;
        self.fraction_max = self.fraction_max.max(report.fraction_lost);
        self.jitter_sum = self.jitter_sum.saturating_add(u64::from(report.jitter));
        self.jitter_max = self.jitter_max.max(report.jitter);
        if let Some(trip) = self.round_trip(report, time) {
            self.round_trips = self.round_trips.saturating_add(1);
            self.round_trip_sum += trip;
            self.round_trip_max = self.round_trip_max.max(trip);
        }
    }

    /// RFC 3550 section 6.4.1, with the sender report's arrival here in place of its sending: from here to
    /// the receiver and back.
    fn round_trip(&self, report: &Report, time: Nanos) -> Option<Nanos> {
        let seen = self.recent.iter().take(self.sender_reports as usize);
        let (_, sent) = seen.rev().find(|(middle, _)| report.last_sr != 0 && *middle == report.last_sr)?;
        let held = Nanos((u64::from(report.delay_since_last_sr) * 1_000_000_000) >> 16);
        let passed = Nanos(time.0.checked_sub(sent.0)?);
        let trip = Nanos(passed.0.checked_sub(held.0)?);
        (Nanos::ZERO < trip && trip <= MAX_ROUND_TRIP).then_some(trip)
    }

    /// The source names itself (RFC 3550 section 6.5.1).
    pub(crate) fn named(&mut self, cname: &[u8]) {
        if self.cname.is_none() {
            self.cname = Some(cname.get(..MAX_CNAME).unwrap_or(cname).into());
        }
    }

    /// The source leaves the session.
    pub(crate) fn left(&mut self, time: Nanos) {
        self.bye.get_or_insert(time);
    }

    /// Mean round trip.
    pub(crate) fn round_trip_mean(&self) -> Option<Nanos> {
        (self.round_trips > 0).then(|| Nanos(self.round_trip_sum.0 / u64::from(self.round_trips)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(millis: u64) -> Nanos {
        Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis)
    }

    fn report(last_sr: u32, held_ms: u64) -> Report {
        Report {
            ssrc: 7,
            fraction_lost: 64,
            cumulative_lost: 12,
            highest_sequence: 1000,
            jitter: 80,
            last_sr,
            delay_since_last_sr: (held_ms * 65_536 / 1000) as u32,
        }
    }

    #[test]
    fn the_round_trip_is_the_time_since_the_sender_report_less_what_the_receiver_held_it() {
        let mut far = FarEnd::default();
        far.sent(0x1111_0000, 50, 8000, at_ms(0));
        far.received(&report(0x1111_0000, 1000), at_ms(1040));
        assert_eq!((far.round_trips, far.round_trip_max.0.div_ceil(1_000_000)), (1, 40));
        assert_eq!(far.round_trip_mean(), Some(far.round_trip_max));
    }

    #[test]
    fn an_lsr_of_no_report_seen_here_gives_no_round_trip() {
        let mut far = FarEnd::default();
        far.sent(1, 50, 8000, at_ms(0));
        for last_sr in [0, 2] {
            far.received(&report(last_sr, 10), at_ms(100));
        }
        assert_eq!((far.reports, far.round_trips), (2, 0));
    }

    #[test]
    fn an_lsr_of_zero_never_matches_the_empty_slots() {
        let mut far = FarEnd::default();
        far.received(&report(0, 0), at_ms(5));
        assert_eq!(far.round_trips, 0);
    }

    #[test]
    fn a_report_held_longer_than_it_took_gives_no_round_trip() {
        let mut far = FarEnd::default();
        far.sent(5, 50, 8000, at_ms(0));
        far.received(&report(5, 200), at_ms(100));
        assert_eq!(far.round_trip_mean(), None);
    }

    #[test]
    fn a_round_trip_of_more_than_ten_seconds_is_a_wrong_field() {
        let mut far = FarEnd::default();
        far.sent(5, 50, 8000, at_ms(0));
        far.received(&report(5, 0), at_ms(10_001));
        assert_eq!(far.round_trips, 0);
        far.received(&report(5, 2), at_ms(10_001));
        assert_eq!(far.round_trips, 1);
    }

    #[test]
    fn the_fifth_sender_report_displaces_the_first() {
        let mut far = FarEnd::default();
        for number in 1..=5 {
            far.sent(number, number, 160 * number, at_ms(u64::from(number)));
        }
        far.received(&report(1, 0), at_ms(10));
        assert_eq!(far.round_trips, 0);
        far.received(&report(2, 0), at_ms(10));
        assert_eq!(far.round_trips, 1);
        assert_eq!((far.sender_reports, far.sent_packets, far.sent_octets), (5, 5, 800));
    }

    #[test]
    fn the_mirrors_second_copy_changes_nothing() {
        let mut far = FarEnd::default();
        far.sent(5, 50, 8000, at_ms(0));
        far.sent(5, 50, 8000, at_ms(9));
        far.received(&report(5, 10), at_ms(100));
        far.received(&report(5, 10), at_ms(109));
        assert_eq!((far.sender_reports, far.reports, far.round_trips), (1, 1, 1));
        far.received(&report(5, 10), at_ms(110));
        assert_eq!(far.reports, 2, "the same figures again are a report of their own");
    }

    #[test]
    fn the_newest_loss_counts_and_the_worst_fraction() {
        let mut far = FarEnd::default();
        far.received(&report(0, 0), at_ms(0));
        far.received(&Report { cumulative_lost: -3, fraction_lost: 2, jitter: 40, ..report(0, 0) }, at_ms(9));
        assert_eq!((far.lost, far.fraction_max), (-3, 64));
        assert_eq!((far.jitter_sum, far.jitter_max), (120, 80));
    }

    #[test]
    fn a_source_keeps_its_first_name_cut_at_the_limit_and_its_first_goodbye() {
        let mut far = FarEnd::default();
        far.named(&[b'a'; 200]);
        far.named(b"other");
        assert_eq!(far.cname.as_deref().map(<[u8]>::len), Some(MAX_CNAME));
        far.left(at_ms(1));
        far.left(at_ms(2));
        assert_eq!(far.bye, Some(at_ms(1)));
    }
}
