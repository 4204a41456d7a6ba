//! Which stream an RTCP datagram concerns.

use ringtap_model::Endpoint;
use ringtap_wire::rtcp::{Compound, Packet};

use super::StreamTable;
use super::endpoints::List;
use super::flow::FlowKey;

/// The RTP endpoints that RTCP between two endpoints may belong to: the same ports (RFC 5761), or those below them (RFC 3550
/// section 11).
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

    /// The stream of an RTCP datagram: the one that its sender sends, else the one that its first block reports on, else any
    /// between the same two endpoints.
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
                self.endpoints.owners(src, List::Flows).find(|flow| {
                    let key = self.flows.cold(*flow).rest.key;
                    (key.src, key.dst) == (src, dst) || (key.src, key.dst) == (dst, src)
                })
            };
            sent().or_else(received).or_else(between)
        })
    }
}
