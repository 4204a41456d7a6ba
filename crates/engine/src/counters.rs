//! What the engine counts. Every frame lands in exactly one kind; whatever is dropped or damaged has a
//! counter of its own.

use ringtap_wire::frame::DecodeError;
use ringtap_wire::unfollowed::Unfollowed;

use crate::transaction_counts::TransactionCounts;

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames taken.
    pub frames: u64,
    /// Captured bytes of them.
    pub bytes: u64,
    /// SIP messages, over whatever transport.
    pub sip: u64,
    /// Packets taken for RTP, those that turned out to be none included.
    pub rtp: u64,
    /// RTCP packets.
    pub rtcp: u64,
    /// STUN and TURN packets without media in them.
    pub stun: u64,
    /// HEP packets.
    pub hep: u64,
    /// IP fragments.
    pub fragments: u64,
    /// TCP segments.
    pub tcp: u64,
    /// SCTP packets.
    pub sctp: u64,
    /// ICMP, what it quotes included.
    pub icmp: u64,
    /// Datagrams that an added tracker wants.
    pub tracked: u64,
    /// UDP datagrams that are none of the above.
    pub udp_other: u64,
    /// IP packets of other protocols.
    pub ip_other: u64,
    /// Frames that gave no IP packet, by reason.
    pub skipped: [u64; DecodeError::COUNT],
    /// Packets of telephony that no tracker follows, by protocol; each is of a kind above as well.
    pub unfollowed: [u64; Unfollowed::ALL.len()],
    /// Messages that look like SIP and cannot be read.
    pub sip_bad: u64,
    /// HEP packets that cannot be read, or whose payload is compressed by something else than zlib and gzip.
    pub hep_bad: u64,
    /// SIP messages without a Call-ID.
    pub sip_without_call_id: u64,
    /// Quality reports (RFC 6035) on calls that are not in the table: never seen, or over too long.
    pub quality_reports_unmatched: u64,
    /// RTP packets of flows that nothing confirmed.
    pub rtp_unconfirmed: u64,
    /// Calls refused at a ceiling.
    pub calls_refused: u64,
    /// Calls without an answer that gave their place in the table to newer ones.
    pub calls_evicted: u64,
    /// RTP packets whose flow was refused at a ceiling.
    pub flows_refused: u64,
    /// Media endpoints refused at a ceiling.
    pub legs_refused: u64,
    /// Ten-second intervals refused at a ceiling.
    pub intervals_refused: u64,
    /// Registrations refused at a ceiling.
    pub registrations_refused: u64,
    /// Registrations without an answer that gave their place in the table to newer ones.
    pub registrations_evicted: u64,
    /// Transactions outside of calls that have ended, by method and final code.
    pub transactions: TransactionCounts,
    /// Transactions outside of calls refused at a ceiling.
    pub messages_refused: u64,
    /// Transactions outside of calls that were given up without a final answer, to give their place in the
    /// table to newer ones.
    pub messages_evicted: u64,
    /// Streams whose RTCP was refused at a ceiling.
    pub rtcp_refused: u64,
    /// RTCP reports that no list of a stream has, since the lists of all hold as many as they may.
    pub rtcp_reports_refused: u64,
    /// What the ceiling of an added tracker turned away.
    pub tracked_refused: u64,
    /// Codec names refused, since streams use all that the table holds.
    pub codecs_refused: u64,
    /// Codec names that gave their place in the table to newer ones.
    pub codecs_evicted: u64,
    /// TCP connections refused at a ceiling.
    pub connections_refused: u64,
    /// TCP connections pushed out by newer ones, or since all together held too much.
    pub connections_evicted: u64,
    /// Holes in TCP streams that were never filled.
    pub tcp_holes: u64,
    /// Bytes of TCP streams thrown away at a ceiling.
    pub tcp_overflow: u64,
    /// SCTP messages under way pushed out at the ceiling, or longer than one may be.
    pub sctp_evicted: u64,
    /// Fragmented datagrams that never became whole.
    pub fragments_incomplete: u64,
    /// Fragmented datagrams pushed out at the ceiling.
    pub fragments_evicted: u64,
    /// Fragments that contradict each other or run past 64 KiB.
    pub fragments_bad: u64,
    /// SIP messages that found no room on their way to the worker that owns their Call-ID.
    pub sip_forwards_lost: u64,
    /// Announcements and figures that found no room on their way to another worker.
    pub worker_messages_lost: u64,
    /// Calls whose record lacks the streams of a worker that did not answer.
    pub calls_incomplete: u64,
}

impl std::ops::AddAssign<&Self> for Counters {
    /// Workers' counts together.
    fn add_assign(&mut self, other: &Self) {
        let Self { skipped, unfollowed, transactions, .. } = other;
        self.transactions += transactions;
        self.skipped.iter_mut().zip(skipped).for_each(|(sum, count)| *sum += count);
        self.unfollowed.iter_mut().zip(unfollowed).for_each(|(sum, count)| *sum += count);
        macro_rules! add {
            ($($count:ident)*) => { $(self.$count += other.$count;)* };
        }
        add!(frames bytes sip rtp rtcp stun hep fragments tcp sctp icmp tracked udp_other ip_other);
        add!(quality_reports_unmatched);
        add!(sip_bad hep_bad sip_without_call_id rtp_unconfirmed calls_refused flows_refused legs_refused);
        add!(intervals_refused registrations_refused messages_refused connections_refused);
        add!(rtcp_refused rtcp_reports_refused tracked_refused codecs_refused codecs_evicted);
        add!(calls_evicted connections_evicted registrations_evicted messages_evicted);
        add!(tcp_holes tcp_overflow sctp_evicted fragments_incomplete fragments_evicted fragments_bad);
        add!(sip_forwards_lost worker_messages_lost calls_incomplete);
    }
}

impl Counters {
    /// Packets by kind: name and count, in a fixed order.
    pub fn kinds(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("sip", self.sip),
            ("rtp", self.rtp - self.rtp_unconfirmed.min(self.rtp)),
            ("rtcp", self.rtcp),
            ("stun", self.stun),
            ("hep", self.hep),
            ("fragments", self.fragments),
            ("tcp", self.tcp),
            ("sctp", self.sctp),
            ("icmp", self.icmp),
            ("tracked", self.tracked),
            ("udp_other", self.udp_other + self.rtp_unconfirmed),
            ("ip_other", self.ip_other),
            ("not_ip", self.skipped.iter().sum()),
        ]
    }

    /// Packets of protocols that no tracker follows: protocol and count, in a fixed order.
    pub fn unfollowed(&self) -> Vec<(Unfollowed, u64)> {
        Unfollowed::ALL.into_iter().zip(self.unfollowed).collect()
    }

    pub(crate) fn count_unfollowed(&mut self, protocol: Option<Unfollowed>) {
        if let Some(protocol) = protocol {
            self.unfollowed[protocol as usize] += 1;
        }
    }

    /// What was dropped or damaged, by reason: name and count, zero counts included, in a fixed order.
    pub fn drops(&self) -> Vec<(&'static str, u64)> {
        let mut rows: Vec<(&'static str, u64)> =
            DecodeError::ALL.iter().map(|reason| (reason.name(), self.skipped[reason.index()])).collect();
        rows.extend([
            ("sip_bad", self.sip_bad),
            ("hep_bad", self.hep_bad),
            ("sip_without_call_id", self.sip_without_call_id),
            ("quality_reports_unmatched", self.quality_reports_unmatched),
            ("calls_refused", self.calls_refused),
            ("calls_evicted", self.calls_evicted),
            ("flows_refused", self.flows_refused),
            ("legs_refused", self.legs_refused),
            ("intervals_refused", self.intervals_refused),
            ("registrations_refused", self.registrations_refused),
            ("registrations_evicted", self.registrations_evicted),
            ("messages_refused", self.messages_refused),
            ("messages_evicted", self.messages_evicted),
            ("rtcp_refused", self.rtcp_refused),
            ("rtcp_reports_refused", self.rtcp_reports_refused),
            ("tracked_refused", self.tracked_refused),
            ("codecs_refused", self.codecs_refused),
            ("codecs_evicted", self.codecs_evicted),
            ("connections_refused", self.connections_refused),
            ("connections_evicted", self.connections_evicted),
            ("tcp_holes", self.tcp_holes),
            ("tcp_overflow_bytes", self.tcp_overflow),
            ("sctp_evicted", self.sctp_evicted),
            ("fragments_incomplete", self.fragments_incomplete),
            ("fragments_evicted", self.fragments_evicted),
            ("fragments_bad", self.fragments_bad),
            ("sip_forwards_lost", self.sip_forwards_lost),
            ("worker_messages_lost", self.worker_messages_lost),
            ("calls_incomplete", self.calls_incomplete),
        ]);
        rows
    }

    /// Packets that a ceiling of this engine turned away.
    pub fn turned_away(&self) -> u64 {
        self.calls_refused
            + self.flows_refused
            + self.legs_refused
            + self.connections_refused
            + self.connections_evicted
            + self.fragments_evicted
            + self.tcp_overflow
            + self.sip_forwards_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_of_one_kind_and_rtp_that_nothing_confirmed_is_other_udp() {
        let counters = Counters {
            rtp: 100,
            rtp_unconfirmed: 30,
            udp_other: 5,
            skipped: [1; DecodeError::COUNT],
            ..Counters::default()
        };
        let kinds = counters.kinds();
        let count = |kind| kinds.iter().find(|(name, _)| *name == kind).map(|(_, count)| *count);
        assert_eq!((count("rtp"), count("udp_other")), (Some(70), Some(35)));
        assert_eq!(count("not_ip"), Some(DecodeError::COUNT as u64));
        // Packets of streams in progress may turn out to be unconfirmed later than they were counted.
        assert_eq!(Counters { rtp_unconfirmed: 3, ..Counters::default() }.kinds()[1], ("rtp", 0));
    }

    #[test]
    fn what_ceilings_turned_away_adds_up() {
        let counters = Counters {
            calls_refused: 1,
            flows_refused: 20,
            legs_refused: 300,
            connections_refused: 4000,
            fragments_evicted: 50_000,
            tcp_overflow: 600_000,
            sip_forwards_lost: 7_000_000,
            fragments_bad: 9,
            ..Counters::default()
        };
        assert_eq!(counters.turned_away(), 7_654_321);
    }

    #[test]
    fn the_counters_of_workers_are_summed() {
        let mut sum = Counters { sip: 1, tcp_holes: 2, ..Counters::default() };
        sum += &Counters {
            sip: 10,
            calls_incomplete: 5,
            skipped: [2; DecodeError::COUNT],
            unfollowed: [3; Unfollowed::ALL.len()],
            ..Counters::default()
        };
        assert_eq!(sum.unfollowed, [3; Unfollowed::ALL.len()]);
        assert_eq!((sum.sip, sum.tcp_holes, sum.calls_incomplete), (11, 2, 5));
        assert_eq!(sum.skipped, [2; DecodeError::COUNT]);
    }
}
