//! Looks ahead: opens the filter of targets for an address as soon as a packet gives it.
//!
//! Whose an address is, is known half a second later, when all that is earlier has been followed. At a high
//! rate, what workers remember may not go back so far. So frames of addresses that may become a target's are
//! passed on at once, and it is decided then whose they are. A scout decides nothing.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ringtap_engine::Targets;
use ringtap_identity::{Access, Glimpse};
use ringtap_model::{Frame, Nanos};
use ringtap_warrant::{Order, TargetIndex};
use ringtap_wire::frame::{Payload, decode};

use crate::names;

/// Opens the filter for a while.
#[derive(Debug)]
pub struct Scout {
    targets: Arc<Targets>,
    index: TargetIndex,
    /// Accesses that a target has asked for, with the time: client, server, identifier.
    asked: HashMap<(SocketAddr, SocketAddr, u8), Nanos>,
    /// When those that had waited for too long were last forgotten.
    swept: Nanos,
    open: HashMap<(IpAddr, u8), Nanos>,
    /// In the order in which they were opened.
    opened: VecDeque<((IpAddr, u8), Nanos)>,
}

impl Scout {
    /// Opens these, which are shared with whoever decides.
    pub fn new(targets: Arc<Targets>) -> Self {
        Self {
            targets,
            index: TargetIndex::default(),
            asked: HashMap::new(),
            swept: Nanos::ZERO,
            open: HashMap::new(),
            opened: VecDeque::new(),
        }
    }

    /// Looks for the targets of these orders from now on.
    pub fn replace_orders(&mut self, orders: &[Order]) {
        self.index = TargetIndex::of_orders(orders);
    }

    /// A frame with signalling. Returns networks that were opened by it, and were not open.
    pub fn see(&mut self, frame: &Frame<'_>) -> Vec<(IpAddr, u8)> {
        let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { return Vec::new() };
        let Payload::Udp(udp) = packet.payload else { return Vec::new() };
        let Some(glimpse) = Glimpse::of(udp.data, [udp.src_port, udp.dst_port]) else { return Vec::new() };
        let src = SocketAddr::new(packet.ip.src, udp.src_port);
        let dst = SocketAddr::new(packet.ip.dst, udp.dst_port);
        let names_target = self.index.find(names::of_glimpse(&glimpse)).into_iter().next().is_some();
        let was_asked = match glimpse.access {
            Some((Access::Asked, id)) if names_target => {
                // A flood has all looked through once a second, no more.
                if self.asked.len() >= MOST_ASKED && frame.time > self.swept + AGAIN {
                    self.swept = frame.time;
                    self.asked.retain(|_, asked| *asked + PATIENCE > frame.time);
                }
                if self.asked.len() < MOST_ASKED {
                    self.asked.insert((src, dst, id), frame.time);
                }
                false
            }
            Some((Access::Accepted, id)) => self.asked.remove(&(dst, src, id)).is_some(),
            _ => false,
        };
        if !names_target && !was_asked {
            return Vec::new();
        }
        glimpse.networks.into_iter().filter(|network| self.open(*network, frame.time)).collect()
    }

    /// Opens the filter for a network, at a time. Whether it was not open.
    pub fn open(&mut self, network: (IpAddr, u8), at: Nanos) -> bool {
        match self.open.get(&network) {
            None if !is_narrow(network) => return false,
            None if self.open.len() >= MOST_OPEN => return false,
            // What is said again at once opens nothing for longer.
            Some(known) if at < *known + AGAIN => return false,
            _ => self.opened.push_back((network, at)),
        }
        let is_new = self.open.insert(network, at).is_none();
        if is_new {
            self.targets.add(network.0, network.1);
        }
        is_new
    }

    /// Closes what was opened long before now: by then whoever decides has opened it, or will not.
    pub fn advance(&mut self, now: Nanos) {
        while let Some((network, at)) = self.opened.front().copied()
            && at + KEPT < now
        {
            self.opened.pop_front();
            if self.open.get(&network) == Some(&at) {
                self.open.remove(&network);
                self.targets.remove(network.0, network.1);
            }
        }
    }
}

/// Whether a network takes few places in the filter. Nothing has checked who says so: what is wider waits
/// until somebody has.
fn is_narrow((address, bits): (IpAddr, u8)) -> bool {
    bits >= if address.is_ipv4() { 28 } else { 48 }
}

/// How long an answer is waited for.
const PATIENCE: Nanos = Nanos::from_secs(30);
/// Accesses that wait for their answers.
const MOST_ASKED: usize = 65_536;
/// How long a network is open.
const KEPT: Nanos = Nanos::from_secs(5);
/// How long a network is not opened for longer, and what waits is not looked through again.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Networks that are open at once: of thousands of targets that log on in a second.
const MOST_OPEN: usize = 16_384;

#[cfg(test)]
mod tests {
    use ringtap_model::LinkType;
    use ringtap_warrant::Delivers;
    use ringtap_wire::frame::udp_datagram;

    use super::*;

    const NAS: ([u8; 4], u16) = ([192, 0, 2, 1], 1812);
    const SERVER: ([u8; 4], u16) = ([192, 0, 2, 9], 1812);
    const ADDRESS: &[u8] = &[8, 6, 203, 0, 113, 7];

    fn scout() -> (Scout, Arc<Targets>) {
        let targets = Arc::new(Targets::new(1));
        let mut scout = Scout::new(Arc::clone(&targets));
        let country = "GB".parse().unwrap();
        scout.replace_orders(&[Order {
            liid: "LI-1".parse().unwrap(),
            authorisation_country: country,
            delivery_country: country,
            delivers: Delivers::Both,
            targets: vec!["user:bob".parse().unwrap(), "mac:02:00:5e:10:00:01".parse().unwrap()],
            agency: "agency".to_owned(),
            mediation_function: None,
            operator: "operator".to_owned(),
            begins: Nanos::ZERO,
            ends: Nanos::MAX,
            payload_key: None,
        }]);
        (scout, targets)
    }

    /// What is opened by a datagram at a second.
    fn seen(scout: &mut Scout, at: u64, ends: [([u8; 4], u16); 2], data: &[u8]) -> Vec<(IpAddr, u8)> {
        let [(src, from), (dst, to)] = ends;
        let packet = udp_datagram((src.into(), from), (dst.into(), to), data).unwrap();
        let (time, wire_len) = (Nanos::from_secs(at), packet.len() as u32);
        scout.see(&Frame { time, number: 1, link: LinkType(101), wire_len, data: &packet })
    }

    fn radius(code: u8, id: u8, attributes: &[&[u8]]) -> Vec<u8> {
        let attributes = attributes.concat();
        let length = (20 + attributes.len() as u16).to_be_bytes();
        [&[code, id][..], &length, &[id; 16], &attributes].concat()
    }

    fn wants(targets: &Targets, address: [u8; 4]) -> bool {
        let packet = udp_datagram((address.into(), 1), ([198, 51, 100, 1].into(), 2), b"x").unwrap();
        let wire_len = packet.len() as u32;
        targets.concerns(&Frame {
            time: Nanos::ZERO,
            number: 1,
            link: LinkType(101),
            wire_len,
            data: &packet,
        })
    }

    #[test]
    fn an_accept_opens_what_it_gives_whoever_of_the_two_packets_names_the_target() {
        let (mut scout, targets) = scout();
        let his = vec![([203, 0, 113, 7].into(), 32)];
        assert!(seen(&mut scout, 1, [NAS, SERVER], &radius(1, 7, &[b"\x01\x05bob"])).is_empty());
        assert!(seen(&mut scout, 1, [SERVER, NAS], &radius(2, 8, &[ADDRESS])).is_empty(), "another's answer");
        assert!(!wants(&targets, [203, 0, 113, 7]));
        assert_eq!(seen(&mut scout, 1, [SERVER, NAS], &radius(2, 7, &[ADDRESS])), his);
        assert!(wants(&targets, [203, 0, 113, 7]) && !wants(&targets, [203, 0, 113, 8]));
        // It is open already.
        assert!(seen(&mut scout, 3, [NAS, SERVER], &radius(4, 9, &[b"\x01\x05bob", ADDRESS])).is_empty());
        scout.advance(Nanos::from_secs(7));
        assert!(wants(&targets, [203, 0, 113, 7]), "it was heard of again");
        scout.advance(Nanos::from_secs(9));
        assert!(!wants(&targets, [203, 0, 113, 7]));
        let alice = radius(4, 10, &[b"\x01\x07alice", ADDRESS]);
        assert!(seen(&mut scout, 10, [NAS, SERVER], &alice).is_empty());
        assert_eq!(seen(&mut scout, 11, [NAS, SERVER], &radius(4, 11, &[b"\x01\x05bob", ADDRESS])), his);
    }

    #[test]
    fn a_lease_of_a_target_opens_its_address() {
        let (mut scout, targets) = scout();
        let mut ack = vec![0; 240];
        ack[..3].copy_from_slice(&[2, 1, 6]);
        ack[16..20].copy_from_slice(&[203, 0, 113, 9]);
        ack[28..34].copy_from_slice(&[2, 0, 0x5e, 0x10, 0, 1]);
        ack[236..].copy_from_slice(&[99, 130, 83, 99]);
        ack.extend([53, 1, 5, 51, 4, 0, 0, 1, 0, 54, 4, 192, 0, 2, 9, 255]);
        let opened = seen(&mut scout, 1, [([192, 0, 2, 9], 67), ([203, 0, 113, 9], 68)], &ack);
        assert_eq!(opened, [([203, 0, 113, 9].into(), 32)]);
        assert!(wants(&targets, [203, 0, 113, 9]));
    }

    /// Whoever can send packets past the wire can name a target, and give it the whole Internet.
    #[test]
    fn a_wide_network_opens_nothing_before_somebody_has_checked_who_gives_it() {
        let (mut scout, targets) = scout();
        // Framed-Route and Delegated-IPv6-Prefix.
        let route = [&[22, 11][..], b"0.0.0.0/0"].concat();
        let prefix = [123, 8, 0, 32, 0x20, 1, 0xd, 0xb8];
        let report = radius(4, 9, &[b"\x01\x05bob", &route, &prefix, ADDRESS]);
        let opened = seen(&mut scout, 1, [NAS, SERVER], &report);
        assert_eq!(opened, [([203, 0, 113, 7].into(), 32)]);
        assert!(wants(&targets, [203, 0, 113, 7]) && !wants(&targets, [203, 0, 113, 8]));
    }

    #[test]
    fn what_is_asked_and_opened_is_bounded() {
        let (mut scout, _) = scout();
        let ask = radius(1, 7, &[b"\x01\x05bob"]);
        for number in 0..70_000u32 {
            let [_, b, c, d] = number.to_be_bytes();
            seen(&mut scout, 1, [([10, b, c, d], 1812), SERVER], &ask);
            scout.open(([11, b, c, d].into(), 32), Nanos::from_secs(1));
        }
        assert_eq!(
            (scout.asked.len(), scout.open.len(), scout.opened.len()),
            (MOST_ASKED, MOST_OPEN, MOST_OPEN)
        );
        // What is too old makes room.
        seen(&mut scout, 60, [NAS, SERVER], &ask);
        assert_eq!(scout.asked.len(), 1);
    }
}
