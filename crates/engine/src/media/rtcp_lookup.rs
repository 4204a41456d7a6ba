//! Which stream an RTCP datagram concerns.

use ringtap_model::Endpoint;
use ringtap_wire::rtcp::{Compound, Packet};

use super::StreamTable;
use super::endpoints::OwnerList;
use super::flow::FlowKey;
use super::numbering::Passed;

/// The RTP endpoints that RTCP between two endpoints may belong to: the same ports (RFC 5761), or those below
/// them (RFC 3550 section 11). Odd ports are above those of RTP, as a rule.
fn rtp_endpoints(src: Endpoint, dst: Endpoint) -> impl Iterator<Item = (Endpoint, Endpoint)> {
    let same = Some((src, dst));
    let below = below(src).zip(below(dst));
    let is_above = src.port % 2 == 1 && dst.port % 2 == 1;
    let likely_first = if is_above { [below, same] } else { [same, below] };
    likely_first.into_iter().flatten()
}

fn below(end: Endpoint) -> Option<Endpoint> {
    Some(Endpoint::new(end.ip, end.port.checked_sub(1)?))
}

impl StreamTable {
    /// The stream that the sender of an RTCP datagram sends with this SSRC.
    pub(crate) fn sent_by(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<u32> {
        rtp_endpoints(src, dst)
            .find_map(|(src, dst)| self.find(&FlowKey { src, dst, ssrc }))
            .or_else(|| self.near(src, dst, Some(ssrc)))
    }

    /// The stream with this SSRC that the sender of an RTCP datagram receives.
    pub(crate) fn received_by(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<u32> {
        rtp_endpoints(src, dst)
            .find_map(|(src, dst)| self.find(&FlowKey { src: dst, dst: src, ssrc }))
            .or_else(|| self.near(dst, src, Some(ssrc)))
    }

    /// Any stream that the sender of an RTCP datagram receives.
    pub(crate) fn any_received_by(&self, src: Endpoint, dst: Endpoint) -> Option<u32> {
        self.near(dst, src, None)
    }

    /// What has passed of the stream in a slot.
    pub(crate) fn passed(&self, slot: u32) -> Passed {
        self.flows.flow(slot).passed(&self.flows.details(slot).slow)
    }

    /// What has passed of it up to a sequence number; None where that number is far from those that pass.
    pub(crate) fn passed_up_to(&self, slot: u32, sequence: u16) -> Option<Passed> {
        self.flows.flow(slot).passed_up_to(&self.flows.details(slot).slow, sequence)
    }

    /// A stream from one host to another where only one side sends RTCP from and to the ports that belong to
    /// its RTP: the other's was announced (`a=rtcp`, RFC 3605), or chosen by a NAT. Compares the newest few
    /// streams of each endpoint.
    #[cold]
    fn near(&self, from: Endpoint, to: Endpoint, ssrc: Option<u32>) -> Option<u32> {
        let is_end = |end: Endpoint, rtcp: Endpoint| end == rtcp || Some(end) == below(rtcp);
        let is_it = |flow: &u32| {
            let key = &self.flows.details(*flow).slow.key;
            let hosts = (key.src.ip, key.dst.ip) == (from.ip, to.ip);
            let ends = is_end(key.src, from) || is_end(key.dst, to);
            hosts && ends && ssrc.is_none_or(|ssrc| ssrc == key.ssrc)
        };
        let ends = [Some(from), below(from), Some(to), below(to)];
        ends.into_iter().flatten().find_map(|end| self.endpoints.owners(end, OwnerList::Flows).find(is_it))
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
            [pair("192.0.2.1:4000", "198.51.100.1:6000"), pair("192.0.2.1:4001", "198.51.100.1:6001")];
        assert_eq!(endpoints("192.0.2.1:4001", "198.51.100.1:6001"), wanted);
        assert_eq!(endpoints("192.0.2.1:0", "198.51.100.1:6001").len(), 1);
    }

    /// RFC 3605: the callee announced another port; or a NAT chose it.
    #[test]
    fn one_side_may_send_rtcp_from_any_port() {
        let mut tap = Tap::new();
        tap.stream(0, CALLER_RTP, CALLEE_RTP, 1, 0..3);
        let streams = &tap.engine.streams;
        let (caller, other) = (end("192.0.2.1:4001"), end("198.51.100.1:53020"));
        let wanted = streams.sent_by(caller, end("198.51.100.1:6001"), 1);
        assert!(wanted.is_some());
        assert_eq!(streams.sent_by(caller, other, 1), wanted);
        assert_eq!(streams.received_by(other, caller, 1), wanted);
        assert_eq!(streams.any_received_by(other, caller), wanted);
        assert_eq!(streams.sent_by(other, caller, 1), None, "the other direction");
        assert_eq!(streams.sent_by(caller, end("198.51.100.2:53020"), 1), None, "another host");
        assert_eq!(streams.sent_by(end("192.0.2.1:9"), other, 1), None, "neither port is known");
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
