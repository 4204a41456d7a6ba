//! Which stream an RTCP datagram concerns.

use ringtap_model::Endpoint;
use ringtap_wire::rtcp::{Compound, Packet};

use super::StreamTable;
use super::endpoints::OwnerList;
use super::flow::FlowKey;

/// The RTP endpoints that RTCP between two endpoints may belong to: the same ports (RFC 5761), or those below
/// them (RFC 3550 section 11).
fn rtp_endpoints(src: Endpoint, dst: Endpoint) -> impl Iterator<Item = (Endpoint, Endpoint)> {
    let below = |end: Endpoint| Some(Endpoint::new(end.ip, end.port.checked_sub(1)?));
    [Some((src, dst)), below(src).zip(below(dst))].into_iter().flatten()
}

impl StreamTable {
    /// The stream that the sender of an RTCP datagram sends with this SSRC.
    pub(crate) fn sent_by(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<u32> {
        rtp_endpoints(src, dst).find_map(|(src, dst)| self.find(&FlowKey { src, dst, ssrc }))
    }

    /// The stream with this SSRC that the sender of an RTCP datagram receives.
    pub(crate) fn received_by(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<u32> {
        rtp_endpoints(src, dst).find_map(|(src, dst)| self.find(&FlowKey { src: dst, dst: src, ssrc }))
    }

    /// The stream of an RTCP datagram: the one that its sender sends, else the one that its first block
    /// reports on, else any between the same two endpoints.
    pub(crate) fn of_rtcp(&self, src: Endpoint, dst: Endpoint, data: &[u8]) -> Option<u32> {
        let first = Compound::parse(data).ok()?.packets().next()?;
        let (sender, reported) = match first {
            Packet::SenderReport(report) => (report.ssrc, report.reports.iter().next()),
            Packet::ReceiverReport(report) => (report.ssrc, report.reports.iter().next()),
            // Reduced-size RTCP (RFC 5506), or encrypted: the source has the same offset.
            _ => (u32::from_be_bytes(*data.get(4..)?.first_chunk()?), None),
        };
        rtp_endpoints(src, dst).find_map(|(src, dst)| {
            let sent = || self.flows.find(&FlowKey { src, dst, ssrc: sender });
            let received = || self.flows.find(&FlowKey { src: dst, dst: src, ssrc: reported?.ssrc });
            let between = || {
                self.endpoints.owners(src, OwnerList::Flows).find(|flow| {
                    let key = self.flows.details(*flow).slow.key;
                    (key.src, key.dst) == (src, dst) || (key.src, key.dst) == (dst, src)
                })
            };
            sent().or_else(received).or_else(between)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CALLEE_RTP, CALLER_RTP, Tap, end};

    fn endpoints(src: &str, dst: &str) -> Vec<(String, String)> {
        rtp_endpoints(end(src), end(dst)).map(|(src, dst)| (src.to_string(), dst.to_string())).collect()
    }

    #[test]
    fn rtcp_belongs_to_rtp_on_the_same_ports_or_on_those_below() {
        let pair = |src: &str, dst: &str| (src.to_owned(), dst.to_owned());
        let wanted =
            [pair("192.0.2.1:4001", "198.51.100.1:6001"), pair("192.0.2.1:4000", "198.51.100.1:6000")];
        assert_eq!(endpoints("192.0.2.1:4001", "198.51.100.1:6001"), wanted);
        assert_eq!(endpoints("192.0.2.1:0", "198.51.100.1:6001").len(), 1);
    }

    fn slot_of(tap: &Tap, src: &str, dst: &str, data: &[u32]) -> Option<u32> {
        let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_be_bytes()).collect();
        tap.engine.streams.of_rtcp(end(src), end(dst), &bytes)
    }

    #[test]
    fn a_datagram_concerns_what_its_sender_sends_else_what_it_reports_on_else_any_stream_between_them() {
        let mut tap = Tap::new();
        tap.stream(0, CALLER_RTP, CALLEE_RTP, 1, 0..3);
        tap.stream(1, CALLEE_RTP, CALLER_RTP, 2, 0..3);
        tap.stream(2, CALLER_RTP, CALLEE_RTP, 3, 0..3);
        let (from, to) = ("192.0.2.1:4001", "198.51.100.1:6001");
        let find = |src: &str, dst: &str, ssrc| tap.engine.streams.sent_by(end(src), end(dst), ssrc);
        let [one, two, three] = [find(from, to, 1), find(to, from, 2), find(from, to, 3)];
        assert!(one.is_some() && two.is_some() && three.is_some());
        let streams = &tap.engine.streams;
        assert_eq!(streams.received_by(end(from), end(to), 2), two);
        assert_eq!(streams.received_by(end(from), end(to), 1), None);
        let report = |sender, about| [0x81c9_0007, sender, about, 0, 0, 0, 0, 0];
        assert_eq!(slot_of(&tap, from, to, &report(3, 2)), three);
        assert_eq!(slot_of(&tap, from, to, &report(9, 2)), two);
        assert_eq!(slot_of(&tap, to, from, &report(9, 3)), three);
        assert!(slot_of(&tap, from, to, &report(9, 8)).is_some());
        assert_eq!(slot_of(&tap, from, "198.51.100.2:6001", &report(9, 8)), None);
        // A lone BYE (RFC 5506) has its source where a report has its sender.
        assert_eq!(slot_of(&tap, from, to, &[0x81cb_0001, 3]), three);
    }
}
