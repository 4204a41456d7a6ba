//! Which stream an RTCP datagram speaks of.

use ringtap_model::Endpoint;
use ringtap_wire::rtcp::{Compound, Packet};

use super::flow::FlowKey;
use super::{List, Media};

impl Media {
    /// The flow of an RTCP datagram: the one that its sender sends, else one that it reports on, else any between the same
    /// two ends. Its ports are those of RTP (RFC 5761) or the ones above them (RFC 3550 section 11).
    pub(crate) fn reported(&self, src: Endpoint, dst: Endpoint, data: &[u8]) -> Option<u32> {
        let below = |end: Endpoint| Some(Endpoint::new(end.ip, end.port.checked_sub(1)?));
        let pairs = [Some((src, dst)), below(src).zip(below(dst))];
        let first = Compound::parse(data).ok()?.packets().next()?;
        let (sender, reported) = match first {
            Packet::SenderReport(report) => (report.ssrc, report.reports.iter().next()),
            Packet::ReceiverReport(report) => (report.ssrc, report.reports.iter().next()),
            // Reduced-size RTCP (RFC 5506), or encrypted: the source stands in the same place.
            _ => (u32::from_be_bytes(*data.get(4..)?.first_chunk()?), None),
        };
        pairs.into_iter().flatten().find_map(|(src, dst)| {
            let sent = || self.flows.find(&FlowKey { src, dst, ssrc: sender });
            let heard = || self.flows.find(&FlowKey { src: dst, dst: src, ssrc: reported?.ssrc });
            let between = || {
                self.endpoints.owners(src, List::Flows).find(|flow| {
                    let key = self.flows.cold(*flow).rest.key;
                    (key.src, key.dst) == (src, dst) || (key.src, key.dst) == (dst, src)
                })
            };
            sent().or_else(heard).or_else(between)
        })
    }
}
