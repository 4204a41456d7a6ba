//! Who has an address on the link: ARP, neighbour advertisements, source MAC addresses.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_model::{Frame, Nanos};

use crate::evidence::{Evidence, EvidenceKind, EvidenceLog, Mac, Place};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const ICMPV6: u8 = 58;
/// Neighbour advertisement, RFC 4861 section 4.4.
const ADVERTISEMENT: u8 = 136;
/// Addresses that are followed.
const ADDRESSES: usize = 65_536;
/// So many changes of the owner within [`ALTERNATING`] are no move: two claim the address, or packets of one
/// address pass by on several links.
const CHANGES: usize = 3;
const ALTERNATING: Nanos = Nanos::from_secs(10);

/// Who an address belongs to, by one kind of packets.
#[derive(Clone, Debug)]
struct Owner {
    mac: Mac,
    changes: VecDeque<Nanos>,
}

/// What claims say, and where packets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Claim,
    Packet,
}

/// Follows the owners of addresses. Feed frames in order of time with [`LinkWatch::frame`].
#[derive(Clone, Debug, Default)]
pub struct LinkWatch {
    owners: HashMap<(IpAddr, Source), Owner>,
    /// Addresses whose packets pass by with several MAC addresses all the time.
    routed: HashSet<IpAddr>,
    log: EvidenceLog,
    refused: u64,
}

impl LinkWatch {
    /// A captured frame; those of other links than Ethernet have no owners.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if frame.link.0 == ETHERNET {
            // What is cut short says nothing.
            let _ = self.ethernet(frame.time, frame.data);
        }
    }

    fn ethernet(&mut self, time: Nanos, data: &[u8]) -> Option<()> {
        let source = Mac(*data.get(6..)?.first_chunk::<6>()?);
        let mut rest = data.get(12..)?;
        let mut kind = word(rest)?;
        for _ in 0..2 {
            if TAGS.contains(&kind) {
                rest = rest.get(4..)?;
                kind = word(rest)?;
            }
        }
        let body = rest.get(2..)?;
        match kind {
            ARP => self.arp(time, body),
            IPV4 => {
                let address = Ipv4Addr::from(*body.get(12..)?.first_chunk::<4>()?);
                self.seen(time, address.into(), source, Source::Packet, EvidenceKind::SourceMoved);
                Some(())
            }
            IPV6 => self.ipv6(time, source, body),
            _ => None,
        }
    }

    /// RFC 826: the sender of any ARP packet says what its address is, of gratuitous ones (RFC 5227) too.
    fn arp(&mut self, time: Nanos, body: &[u8]) -> Option<()> {
        if *body.first_chunk::<6>()? != [0, 1, 8, 0, 6, 4] {
            return None;
        }
        let mac = Mac(*body.get(8..)?.first_chunk::<6>()?);
        let address = Ipv4Addr::from(*body.get(14..)?.first_chunk::<4>()?);
        self.seen(time, address.into(), mac, Source::Claim, EvidenceKind::ArpMoved);
        Some(())
    }

    fn ipv6(&mut self, time: Nanos, source: Mac, body: &[u8]) -> Option<()> {
        let address = Ipv6Addr::from(*body.get(8..)?.first_chunk::<16>()?);
        self.seen(time, address.into(), source, Source::Packet, EvidenceKind::SourceMoved);
        let message = body.get(40..)?;
        if body.get(6) != Some(&ICMPV6) || message.first() != Some(&ADVERTISEMENT) {
            return None;
        }
        let target = Ipv6Addr::from(*message.get(8..)?.first_chunk::<16>()?);
        // Type 2: target link-layer address, in units of 8 octets (RFC 4861 section 4.6.1).
        let mac = match message.get(24..)?.first_chunk::<8>() {
            Some([2, 1, mac @ ..]) => Mac(*mac),
            _ => source,
        };
        self.seen(time, target.into(), mac, Source::Claim, EvidenceKind::NeighbourMoved);
        Some(())
    }

    fn seen(&mut self, time: Nanos, address: IpAddr, mac: Mac, source: Source, kind: EvidenceKind) {
        // Probes (RFC 5227 section 2.1.1) come from nobody yet.
        if address.is_unspecified() || address.is_multicast() {
            return;
        }
        let Some(owner) = self.owners.get_mut(&(address, source)) else {
            if self.owners.len() < ADDRESSES {
                self.owners.insert((address, source), Owner { mac, changes: VecDeque::new() });
            } else {
                self.refused += 1;
            }
            return;
        };
        if owner.mac == mac {
            return;
        }
        let before = std::mem::replace(&mut owner.mac, mac);
        while owner.changes.front().is_some_and(|change| time.since(*change) > ALTERNATING) {
            owner.changes.pop_front();
        }
        owner.changes.push_back(time);
        let is_alternating = owner.changes.len() >= CHANGES;
        if is_alternating {
            owner.changes.pop_front();
        }
        let kind = match source {
            Source::Packet if is_alternating => {
                self.routed.insert(address);
                return;
            }
            Source::Claim if is_alternating => EvidenceKind::AddressConflict,
            _ => kind,
        };
        let (from, to) = (Some(Place::Host(before)), Some(Place::Host(mac)));
        self.log.add(Evidence { kind, first: time, last: time, count: 1, address, from, to });
    }

    /// The input has ended: what was seen, and how many addresses and signs the ceilings turned away.
    pub fn close(mut self) -> (Vec<Evidence>, u64) {
        let routed = std::mem::take(&mut self.routed);
        self.log.retain(|sign| sign.kind != EvidenceKind::SourceMoved || !routed.contains(&sign.address));
        let (list, refused) = self.log.into_parts();
        (list, refused + self.refused)
    }
}

fn word(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes))
}
