//! What RTCP says of a stream: the receiver's view and the sender's own counts (RFC 3550 section 6, RFC 3611,
//! RFC 4585).

mod counts;
mod fields;
mod loss_account;
mod moments;
mod series;

use ringtap_model::Nanos;
pub(crate) use ringtap_wire::rtcp::Report;
use ringtap_wire::rtcp::VoipMetrics;

use counts::MessageCounts;
pub(crate) use counts::{BlockKind, MessageKind};
pub(crate) use fields::FarEndFields;
pub(crate) use loss_account::LossAccount;
use moments::{MIRROR, Moments, RoundTrips};
use series::Series;

use super::numbering::Passed;

/// Longest CNAME that is kept, in bytes.
const MAX_CNAME: usize = 128;

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
    /// Packet and payload octet count in the newest sender report.
    pub(crate) sent_packets: u32,
    pub(crate) sent_octets: u32,
    /// Round trips from here to the receiver and back.
    pub(crate) to_receiver: RoundTrips,
    /// When the source said BYE.
    pub(crate) bye: Option<Nanos>,
    /// CNAME of the source.
    pub(crate) cname: Option<Box<[u8]>>,
    /// Sender reports of the stream's source.
    pub(crate) sender_reports: Moments,
    /// The newest report block, and when it arrived.
    newest: Option<(Report, Nanos)>,
    /// What was lost where.
    pub(crate) losses: LossAccount,
    /// What receivers alone send: extended reports. Few streams have any.
    pub(crate) extended: Option<Box<ExtendedReports>>,
    /// Feedback, packets of applications, other blocks. Few streams have any.
    pub(crate) messages: Option<Box<MessageCounts>>,
    blocks: Series<BlockRow>,
    sent: Series<SentRow>,
}

/// What extended reports say of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtendedReports {
    /// The newest VoIP metrics, and how many there were.
    pub(crate) newest: Option<(VoipMetrics, Nanos)>,
    pub(crate) count: u32,
    /// Reference times of the receiver, and round trips from here to the sender that answered them.
    references: Moments,
    pub(crate) to_sender: RoundTrips,
    voip: Series<VoipRow>,
}

/// A report block.
#[derive(Clone, Copy, Debug)]
struct BlockRow {
    time: Nanos,
    lost: i32,
    jitter: u32,
    /// In microseconds; 0 where it is not known.
    round_trip: u32,
    fraction: u8,
}

/// A sender report.
#[derive(Clone, Copy, Debug)]
struct SentRow {
    time: Nanos,
    packets: u32,
}

/// What is listed of VoIP metrics.
#[derive(Clone, Copy, Debug)]
struct VoipRow {
    time: Nanos,
    metrics: VoipMetrics,
}

/// Whether another row may be stored, of all streams together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Free,
    Full,
}

impl FarEnd {
    /// The source reports what it has sent so far; `ntp_middle` identifies the report in later LSR fields.
    /// `here` is what has passed. Returns false where the report is left out of the list.
    pub(crate) fn sent(
        &mut self,
        (ntp_middle, packets, octets): (u32, u32, u32),
        here: Passed,
        (time, room): (Nanos, Room),
    ) -> bool {
        if !self.sender_reports.push(ntp_middle, time) {
            return true;
        }
        (self.sent_packets, self.sent_octets) = (packets, octets);
        self.losses.sent(packets, here);
        self.sent.push(SentRow { time, packets }, room == Room::Free)
    }

    /// The receiver with that SSRC reports how it received the stream. `here` is what has passed up to the
    /// number that it names. Returns false where the report is left out of the list.
    pub(crate) fn received(
        &mut self,
        report: &Report,
        (receiver, here): (u32, Option<Passed>),
        (time, room): (Nanos, Room),
    ) -> bool {
        if self.newest.is_some_and(|(newest, seen)| newest == *report && time.since(seen) < MIRROR) {
            return true;
        }
        self.newest = Some((*report, time));
        self.reports = self.reports.saturating_add(1);
        self.lost = report.cumulative_lost;
        self.fraction_max = self.fraction_max.max(report.fraction_lost);
        self.jitter_sum = self.jitter_sum.saturating_add(u64::from(report.jitter));
        self.jitter_max = self.jitter_max.max(report.jitter);
        let trip = self.sender_reports.round_trip(report.last_sr, report.delay_since_last_sr, time);
        trip.into_iter().for_each(|trip| self.to_receiver.add(trip));
        self.losses.received(report, receiver, here);
        let row = BlockRow {
            time,
            lost: report.cumulative_lost,
            jitter: report.jitter,
            round_trip: trip.map_or(0, |trip| u32::try_from(trip.0 / 1000).unwrap_or(u32::MAX)),
            fraction: report.fraction_lost,
        };
        self.blocks.push(row, room == Room::Free)
    }

    /// The receiver judges the stream. Returns false where the report is left out of the list.
    pub(crate) fn judged(&mut self, metrics: &VoipMetrics, (time, room): (Nanos, Room)) -> bool {
        let extended = self.extended.get_or_insert_default();
        let is_copy = |(newest, seen): &(VoipMetrics, Nanos)| newest == metrics && time.since(*seen) < MIRROR;
        if extended.newest.as_ref().is_some_and(is_copy) {
            return true;
        }
        extended.newest = Some((*metrics, time));
        extended.count = extended.count.saturating_add(1);
        extended.voip.push(VoipRow { time, metrics: *metrics }, room == Room::Free)
    }

    /// The receiver tells its time (RFC 3611 section 4.4); `ntp_middle` is what an answer repeats.
    pub(crate) fn referenced(&mut self, ntp_middle: u32, time: Nanos) {
        self.extended.get_or_insert_default().references.push(ntp_middle, time);
    }

    /// The sender answers a reference time of the receiver (RFC 3611 section 4.5).
    pub(crate) fn answered(&mut self, last_rr: u32, delay_since_last_rr: u32, time: Nanos) {
        let Some(extended) = &mut self.extended else { return };
        let trip = extended.references.round_trip(last_rr, delay_since_last_rr, time);
        trip.into_iter().for_each(|trip| extended.to_sender.add(trip));
    }

    /// Something that is only counted.
    pub(crate) fn count(&mut self, kind: MessageKind) {
        self.messages.get_or_insert_default().add(kind);
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

    /// Reports that are stored for the list.
    pub(crate) fn rows(&self) -> usize {
        let voip = self.extended.as_ref().map_or(0, |extended| extended.voip.rows().len());
        self.blocks.rows().len() + self.sent.rows().len() + voip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(millis: u64) -> Nanos {
        Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis)
    }

    const FREE: Room = Room::Free;

    impl FarEnd {
        fn sender_says(&mut self, middle: u32, packets: u32, octets: u32, time: Nanos) {
            assert!(self.sent((middle, packets, octets), Passed::default(), (time, FREE)));
        }

        fn receiver_says(&mut self, report: &Report, time: Nanos) {
            assert!(self.received(report, (7, None), (time, FREE)));
        }
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
        far.sender_says(0x1111_0000, 50, 8000, at_ms(0));
        far.receiver_says(&report(0x1111_0000, 1000), at_ms(1040));
        assert_eq!((far.to_receiver.count, far.to_receiver.max.0.div_ceil(1_000_000)), (1, 40));
        assert_eq!(far.to_receiver.mean(), Some(far.to_receiver.max));
    }

    #[test]
    fn an_lsr_of_no_report_seen_here_gives_no_round_trip() {
        let mut far = FarEnd::default();
        far.sender_says(1, 50, 8000, at_ms(0));
        for last_sr in [0, 2] {
            far.receiver_says(&report(last_sr, 10), at_ms(100));
        }
        assert_eq!((far.reports, far.to_receiver.count), (2, 0));
    }

    #[test]
    fn an_lsr_of_zero_never_matches_the_empty_slots() {
        let mut far = FarEnd::default();
        far.receiver_says(&report(0, 0), at_ms(5));
        assert_eq!(far.to_receiver.count, 0);
    }

    #[test]
    fn a_report_held_longer_than_it_took_gives_no_round_trip() {
        let mut far = FarEnd::default();
        far.sender_says(5, 50, 8000, at_ms(0));
        far.receiver_says(&report(5, 200), at_ms(100));
        assert_eq!(far.to_receiver.mean(), None);
    }

    #[test]
    fn a_round_trip_of_more_than_ten_seconds_is_a_wrong_field() {
        let mut far = FarEnd::default();
        far.sender_says(5, 50, 8000, at_ms(0));
        far.receiver_says(&report(5, 0), at_ms(10_001));
        assert_eq!(far.to_receiver.count, 0);
        far.receiver_says(&report(5, 2), at_ms(10_001));
        assert_eq!(far.to_receiver.count, 1);
    }

    #[test]
    fn the_fifth_sender_report_displaces_the_first() {
        let mut far = FarEnd::default();
        for number in 1..=5 {
            far.sender_says(number, number, 160 * number, at_ms(u64::from(number)));
        }
        far.receiver_says(&report(1, 0), at_ms(10));
        assert_eq!(far.to_receiver.count, 0);
        far.receiver_says(&report(2, 0), at_ms(10));
        assert_eq!(far.to_receiver.count, 1);
        assert_eq!((far.sender_reports.count, far.sent_packets, far.sent_octets), (5, 5, 800));
    }

    #[test]
    fn the_mirrors_second_copy_changes_nothing() {
        let mut far = FarEnd::default();
        far.sender_says(5, 50, 8000, at_ms(0));
        far.sender_says(5, 50, 8000, at_ms(9));
        far.receiver_says(&report(5, 10), at_ms(100));
        far.receiver_says(&report(5, 10), at_ms(109));
        assert_eq!((far.sender_reports.count, far.reports, far.to_receiver.count), (1, 1, 1));
        far.receiver_says(&report(5, 10), at_ms(110));
        assert_eq!(far.reports, 2, "the same figures again are a report of their own");
    }

    #[test]
    fn the_newest_loss_counts_and_the_worst_fraction() {
        let mut far = FarEnd::default();
        far.receiver_says(&report(0, 0), at_ms(0));
        far.receiver_says(
            &Report { cumulative_lost: -3, fraction_lost: 2, jitter: 40, ..report(0, 0) },
            at_ms(9),
        );
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

    #[test]
    fn a_reference_time_that_the_sender_answers_gives_the_round_trip_to_it() {
        let mut far = FarEnd::default();
        far.answered(9, 0, at_ms(1));
        far.referenced(0x1111_0000, at_ms(0));
        // Held for half a second.
        far.answered(0x1111_0000, 0x8000, at_ms(530));
        far.answered(2, 0, at_ms(600));
        let extended = far.extended.unwrap();
        assert_eq!((extended.to_sender.count, extended.to_sender.mean()), (1, Some(Nanos::from_millis(30))));
    }

    #[test]
    fn reports_without_room_are_told_and_change_the_sums_all_the_same() {
        let mut far = FarEnd::default();
        assert!(!far.received(&report(0, 0), (7, None), (at_ms(0), Room::Full)));
        assert_eq!((far.reports, far.lost, far.rows()), (1, 12, 0));
    }
}
