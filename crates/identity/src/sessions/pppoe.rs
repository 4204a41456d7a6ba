//! What each frame of PPPoE changes in the table.
//!
//! A session begins with the Configure-Ack of an address that the access concentrator sends, and ends with
//! PADT, or with a Terminate-Ack to a Terminate-Request of the other side: what the client sends alone
//! neither gives it an address nor hides one.

use std::net::{Ipv4Addr, Ipv6Addr};

use ringtap_model::{Endpoint, Nanos, SessionBegin, SessionEnd, SessionSource};
use ringtap_wire::pppoe::{Control, ParseError, View, code, packet, protocol};

use super::Sessions;
use crate::carried::Carried;
use crate::facts::{AddressKind, Assigned, Facts};
use crate::hold::Moment;
use crate::known::Field;
use crate::line::Line;
use crate::link::{Ending, Link, LinkKey};
use crate::pending::Requests;
use crate::prefix::Prefix;
use crate::slots::Serial;

impl Sessions {
    /// The same, and follows sessions of PPPoE.
    #[must_use]
    pub fn following_pppoe(self) -> Self {
        Self { links: Some(Requests::new(self.limits.requests)), ..self }
    }

    /// Handles a frame of PPPoE that carries no IP packet; others are passed over.
    pub fn pppoe(&mut self, link: u16, data: &[u8], time: Nanos, frame: u64) {
        if self.links.is_none() {
            return;
        }
        self.advance(time);
        let nobody = Endpoint::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let carried = Carried { time, src: nobody, dst: nobody, frame };
        match View::parse(link, data) {
            Ok(view) if view.code() == code::SESSION => self.in_session(&view, carried),
            Ok(view) => self.discovery(&view, carried),
            Err(ParseError::NotPppoe) => {}
            Err(_) => self.counts.pppoe.malformed += 1,
        }
    }

    fn discovery(&mut self, view: &View<'_>, carried: Carried) {
        self.counts.pppoe.frames += 1;
        let key = LinkKey::of(view, matches!(view.code(), code::PADI | code::PADR));
        match view.code() {
            // It is sent to all.
            code::PADI => self.discovered(key.before(None), view, carried.time),
            code::PADO | code::PADR => {
                self.discovered(key.before(Some(key.concentrator)), view, carried.time);
            }
            code::PADS if view.session() == 0 => self.counts.pppoe.rejected += 1,
            code::PADS => self.confirmed(key, view, carried),
            code::PADT => {
                let ends = [key, LinkKey::of(view, true)];
                if let Some(serial) = ends.iter().find_map(|key| self.open_link(key)) {
                    self.touch(Some(serial), carried.time);
                    self.end(serial, moment(carried), SessionEnd::Terminated);
                }
            }
            _ => {}
        }
    }

    /// Notes a link, and gives it.
    fn link(&mut self, key: LinkKey, time: Nanos) -> Option<&mut Link> {
        let links = self.links.as_mut()?;
        match links.find(&key).map(|link| link.time) {
            None => links.insert(key, Link { time, ..Link::default() }),
            Some(noted) if time.since(noted) >= NOTED => links.enlist(key, time),
            Some(_) => return links.find(&key),
        }
        let link = links.find(&key)?;
        link.time = time;
        Some(link)
    }

    fn discovered(&mut self, key: LinkKey, view: &View<'_>, time: Nanos) {
        if let Some(link) = self.link(key, time) {
            link.is_done = true;
            link.learn(view);
            link.frames += 1;
        }
    }

    /// The concentrator opened a session: what was said before is of it.
    fn confirmed(&mut self, key: LinkKey, view: &View<'_>, carried: Carried) {
        if let Some(serial) = self.open_link(&key) {
            self.end(serial, moment(carried), SessionEnd::Replaced);
        }
        let (mut facts, mut frames) = (Facts::default(), 1);
        for before in [key.before(Some(key.concentrator)), key.before(None)] {
            let Some(link) = self.links.as_mut().and_then(|links| links.find(&before)) else { continue };
            facts.complete(&link.facts);
            frames += std::mem::take(&mut link.frames);
        }
        let Some(link) = self.link(key, carried.time) else { return };
        *link = Link { time: link.time, facts, frames, is_confirmed: true, ..Link::default() };
        link.learn(view);
    }

    /// The session that goes on under a key.
    fn open_link(&mut self, key: &LinkKey) -> Option<Serial> {
        let serial = self.table.by_line(&Line::Pppoe(*key))?;
        self.table.find(serial).is_some_and(|session| session.end.is_none()).then_some(serial)
    }

    fn in_session(&mut self, view: &View<'_>, carried: Carried) {
        let Some(control) = view.control() else {
            self.counts.pppoe.malformed += 1;
            return;
        };
        self.counts.pppoe.frames += 1;
        let Some(is_of_client) = self.is_of_client(view, &control) else {
            self.counts.pppoe.unpaired += u64::from(granted(&control).is_some());
            return;
        };
        let key = LinkKey::of(view, is_of_client);
        let session = self.open_link(&key);
        self.touch(session, carried.time);
        // What keeps a session alive says nothing else.
        if control.protocol == protocol::LCP && control.code > packet::TERMINATE_ACK {
            return;
        }
        let Some(link) = self.link(key, carried.time) else { return };
        link.is_done |= session.is_some();
        link.frames += u32::from(session.is_none());
        match (control.protocol, control.code) {
            (protocol::PAP | protocol::CHAP, _) => self.authentication(&key, &control, is_of_client),
            (_, packet::TERMINATE_REQUEST) => link.ending = Some(Ending::of(&control, is_of_client)),
            (_, packet::TERMINATE_ACK) if link.ending == Some(Ending::of(&control, !is_of_client)) => {
                link.ending = None;
                self.terminated(session, control.protocol, carried);
            }
            (_, packet::CONFIGURE_ACK) if !is_of_client => {
                granted(&control).into_iter().for_each(|assigned| self.agreed(key, assigned, carried));
            }
            _ => {}
        }
    }

    /// Which side sent a frame of a session: as it is known, or as only one of them can.
    fn is_of_client(&mut self, view: &View<'_>, control: &Control<'_>) -> Option<bool> {
        let mut known = None;
        for is_of_client in [true, false] {
            let key = LinkKey::of(view, is_of_client);
            let link = self.links.as_mut().and_then(|links| links.find(&key)).map(|link| link.is_confirmed);
            // What a client sent before the concentrator answered decides nothing.
            if link == Some(true) || self.open_link(&key).is_some() {
                return Some(is_of_client);
            }
            known = known.or(link.map(|_| is_of_client));
        }
        known.or(match (control.protocol, control.code) {
            (protocol::PAP, packet::PAP_REQUEST) | (protocol::CHAP, packet::CHAP_RESPONSE) => Some(true),
            (protocol::PAP | protocol::CHAP, _) => Some(false),
            // A client that does not know its address asks for 0.0.0.0, and is told.
            (protocol::IPCP, packet::CONFIGURE_REQUEST) if control.option(ADDRESS) == Some(&[0; 4]) => {
                Some(true)
            }
            (protocol::IPCP, packet::CONFIGURE_NAK) if control.option(ADDRESS).is_some() => Some(false),
            _ => None,
        })
    }

    /// Who asks to be let in, and whether that is confirmed.
    fn authentication(&mut self, key: &LinkKey, control: &Control<'_>, is_of_client: bool) {
        let Some(link) = self.links.as_mut().and_then(|links| links.find(key)) else { return };
        if is_of_client {
            let name = control.peer_name().map(|name| String::from_utf8_lossy(name).into_owned());
            let name = name.filter(|name| !name.is_empty());
            link.asked = name.map(|name| (control.identifier, name)).or(link.asked.take());
            return;
        }
        let is_answer = link.asked.as_ref().is_some_and(|(identifier, _)| *identifier == control.identifier);
        match (control.protocol, control.code) {
            (protocol::PAP, packet::PAP_ACK) | (protocol::CHAP, packet::CHAP_SUCCESS) if is_answer => {
                link.facts.users = link.asked.take().into_iter().map(|(_, name)| name).collect();
            }
            (protocol::PAP, packet::PAP_NAK) | (protocol::CHAP, packet::CHAP_FAILURE) => {
                link.asked = None;
                self.counts.pppoe.rejected += 1;
            }
            _ => {}
        }
    }

    /// Both sides agreed on an address of the client.
    fn agreed(&mut self, key: LinkKey, assigned: Assigned, carried: Carried) {
        let Some(link) = self.links.as_mut().and_then(|links| links.find(&key)) else { return };
        let (nas, station, id, vlans) = key.texts();
        let mut facts = Facts { nas_port_id: vlans, addresses: vec![assigned], ..link.facts.clone() };
        facts.stations = std::iter::once(station).chain(facts.circuit.clone()).collect();
        facts.stations.extend(facts.remote.clone());
        let frames = std::mem::take(&mut link.frames);
        link.is_done = true;
        let mut open = self.open_link(&key);
        let session = open.and_then(|serial| self.table.find(serial));
        if let Some(serial) = open.filter(|_| session.is_some_and(|session| !session.known.may_be(&facts))) {
            // Somebody else has logged in.
            self.end(serial, moment(carried), SessionEnd::Replaced);
            open = None;
        }
        let serial = open.unwrap_or_else(|| {
            self.counts.pppoe.sessions += 1;
            let begun = SessionBegin::Negotiated;
            self.begin((&nas, Some(&id)), &[Line::Pppoe(key)], begun, carried.time, carried)
        });
        let Some(session) = self.table.find(serial) else { return };
        session.source = SessionSource::Pppoe;
        session.known.set(Field::Session, id.as_bytes());
        session.learn(&facts, &mut self.counts);
        session.packets += frames.saturating_sub(1);
        self.assign(serial, &facts, moment(carried));
        self.note_change(serial);
        if open.is_none() {
            self.touch(Some(serial), carried.time);
        }
    }

    /// Both sides ended PPP, or one protocol of its network phase.
    fn terminated(&mut self, session: Option<Serial>, protocol: u16, carried: Carried) {
        let Some(serial) = session else { return };
        let kind = match protocol {
            protocol::LCP => return self.end(serial, moment(carried), SessionEnd::Terminated),
            protocol::IPCP => AddressKind::PppAddress,
            protocol::IPV6CP => AddressKind::PppInterface,
            _ => return,
        };
        let Some(session) = self.table.find(serial) else { return };
        let released = session.release(moment(carried), SessionEnd::Terminated, |own| own.kind == kind);
        self.table.release(serial, &released);
        self.note_change(serial);
    }
}

/// The address that a Configure-Ack is about.
fn granted(control: &Control<'_>) -> Option<Assigned> {
    let (kind, prefix) = match (control.protocol, control.code) {
        (protocol::IPCP, packet::CONFIGURE_ACK) => {
            let address: [u8; 4] = control.option(ADDRESS)?.try_into().ok()?;
            let address = Some(Ipv4Addr::from(address)).filter(|address| !address.is_unspecified());
            (AddressKind::PppAddress, Prefix::host(address?.into()))
        }
        (protocol::IPV6CP, packet::CONFIGURE_ACK) => {
            let interface: [u8; 8] = control.option(INTERFACE)?.try_into().ok()?;
            let interface = Some(u64::from_be_bytes(interface)).filter(|interface| *interface != 0);
            let address = Ipv6Addr::from_bits(LINK_LOCAL | u128::from(interface?));
            (AddressKind::PppInterface, Prefix::host(address.into()))
        }
        _ => return None,
    };
    Some(Assigned { kind, prefix, ports: None, interface: None })
}

fn moment(carried: Carried) -> Moment {
    Moment { time: carried.time, frame: Some(carried.frame) }
}

/// How much later a link has to go on for that to be noted.
const NOTED: Nanos = Nanos::from_secs(10);
/// Option of IPCP: IP-Address (RFC 1332 section 3.3).
const ADDRESS: u8 = 3;
/// Option of IPv6CP: Interface-Identifier (RFC 5072 section 4.1).
const INTERFACE: u8 = 1;
/// fe80::/64 (RFC 5072 section 5).
const LINK_LOCAL: u128 = 0xfe80 << 112;
