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
/// Packets in a row, before and after, by which an address has moved: one alone may be anybody's.
const STEADY: u32 = 5;
/// How often addresses that nobody uses any more are looked for.
const SWEEP: Nanos = Nanos::from_secs(60);

/// Who an address belongs to, by one kind of packets.
#[derive(Clone, Debug)]
struct Owner {
    mac: Mac,
    /// Packets of it, as far as they matter.
    packets: u32,
    /// Whose packets came since its last one, from when on, and how many.
    next: Option<(Mac, Nanos, u32)>,
    changes: VecDeque<Nanos>,
    /// The last packet.
    heard: Nanos,
}

/// Another owner, or packets of another host between those of the owner.
struct Change {
    /// Who it was before; `None` where it stays.
    before: Option<Mac>,
    at: Nanos,
}

impl Owner {
    /// A host says that the address is its own.
    fn claimed(&mut self, mac: Mac, time: Nanos) -> Option<Change> {
        let before = std::mem::replace(&mut self.mac, mac);
        (before != mac).then_some(Change { before: Some(before), at: time })
    }

    /// A packet came from a host: the address is its own once several came, and none of the owner between.
    fn sent(&mut self, mac: Mac, time: Nanos) -> Option<Change> {
        if mac == self.mac {
            self.packets = self.packets.saturating_add(1);
            return self.next.take().map(|_| Change { before: None, at: time });
        }
        let (_, first, count) = self.next.filter(|(next, ..)| *next == mac).unwrap_or((mac, time, 0));
        self.next = Some((mac, first, count + 1));
        if count + 1 < STEADY {
            return None;
        }
        let had = std::mem::replace(&mut self.packets, STEADY);
        let before = std::mem::replace(&mut self.mac, mac);
        self.next = None;
        // Of whom few packets were seen, it may never have been.
        (had >= STEADY).then_some(Change { before: Some(before), at: first })
    }
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
    /// When it was last looked for addresses that nobody uses any more.
    swept: Nanos,
}

impl LinkWatch {
    /// A captured frame; those of other links than Ethernet have no owners.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if frame.link.0 == ETHERNET {
            // What is cut short says nothing.
            let _ = self.ethernet(frame.time, frame.data);
        }
    }

    /// A packet of that address came from a host.
    pub(crate) fn sent(&mut self, time: Nanos, address: IpAddr, mac: Mac) {
        self.seen(time, address, mac, Source::Packet, EvidenceKind::SourceMoved);
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
                self.sent(time, address.into(), source);
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
        self.sent(time, address.into(), source);
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
        if address.is_unspecified() || address.is_multicast() || mac.is_group() {
            return;
        }
        let Some(owner) = self.owners.get_mut(&(address, source)) else {
            if self.owners.len() < ADDRESSES {
                let owner = Owner { mac, packets: 1, next: None, changes: VecDeque::new(), heard: time };
                self.owners.insert((address, source), owner);
            } else {
                self.refused += 1;
            }
            return;
        };
        owner.heard = time;
        let change = match source {
            Source::Claim => owner.claimed(mac, time),
            Source::Packet => owner.sent(mac, time),
        };
        let Some(Change { before, at }) = change else { return };
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
        // Back to the one that it had: a packet came by another way.
        let Some(before) = before else { return };
        let (from, to) = (Some(Place::Host(before)), Some(Place::Host(mac)));
        self.log.add(Evidence { kind, first: at, last: time, count: 1, address, from, to });
    }

    /// Forgets addresses that were not heard of for a day; where there is no room for others, those of ten
    /// minutes.
    pub(crate) fn forget(&mut self, now: Nanos) {
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        let is_full = self.owners.len() >= ADDRESSES;
        let silence = if is_full { Nanos::from_secs(600) } else { Nanos::from_secs(86_400) };
        self.owners.retain(|_, owner| now.since(owner.heard) < silence);
        let Self { routed, owners, .. } = self;
        routed.retain(|address| owners.contains_key(&(*address, Source::Packet)));
    }

    /// Signs since the last time.
    pub(crate) fn take(&mut self) -> Vec<Evidence> {
        let mut signs = self.log.take();
        signs.retain(|sign| sign.kind != EvidenceKind::SourceMoved || !self.routed.contains(&sign.address));
        signs
    }

    /// How many addresses and signs the ceilings turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused + self.log.refused()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of an address from these hosts, a second apart: what is said of them.
    fn signs(hosts: &[u8]) -> Vec<(EvidenceKind, Nanos)> {
        let mut watch = LinkWatch::default();
        for (host, second) in hosts.iter().zip(0..) {
            let address = Ipv4Addr::new(192, 0, 2, 1).into();
            let mac = Mac([2 | host & 1, 0, 0, 0, 0, *host]);
            watch.seen(Nanos::from_secs(second), address, mac, Source::Packet, EvidenceKind::SourceMoved);
        }
        watch.close().0.into_iter().map(|sign| (sign.kind, sign.first)).collect()
    }

    #[test]
    fn an_address_has_moved_when_several_packets_came_from_elsewhere() {
        let moved = |second| vec![(EvidenceKind::SourceMoved, Nanos::from_secs(second))];
        assert_eq!(signs(&[2, 2, 2, 2, 2, 4, 4, 4, 4, 4]), moved(5));
        assert_eq!(signs(&[2, 2, 2, 2, 2, 4, 4, 4, 4]), []);
        assert_eq!(signs(&[2, 4, 4, 4, 4, 4, 4]), [], "of the first there was one packet");
        assert_eq!(signs(&[2, 2, 2, 2, 2, 4, 2, 4, 4, 4, 4, 2]), [], "two ways");
        assert_eq!(signs(&[2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]), [], "no host has a group address");
    }
}
