//! Internet accesses of targets: their sessions, the addresses that these have, and their packets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_engine::{TargetSeen, Targets};
use ringtap_handover::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, Cin, Content, ContentKind, Direction,
    EndReason, Iri, IriEvent, IriKind, PointOfPresence, TargetAddress,
};
use ringtap_identity::Attempt;
use ringtap_model::{HeldAddress, Id, Identity, Nanos, Network, SessionEnd, SessionSource};
use ringtap_warrant::{Liid, Order};
use sha2::{Digest, Sha256};

use crate::addresses::{Addresses, Held, Holding};
use crate::orders::Orders;
use crate::product::{Figures, Product};

/// One session that one order is about, or the addresses that it names itself.
#[derive(Debug)]
struct Communication {
    order: Arc<Order>,
    cin: Cin,
    /// None for addresses that the order names.
    session: Option<Id>,
    held: Vec<(Holding, Held)>,
    /// How many it has or had that packets may still be found by.
    remembered: usize,
    has_ended: bool,
    /// What it was like when it was last told.
    last: AccessIri,
    at: Nanos,
}

impl Communication {
    fn new(order: Arc<Order>, cin: Cin, held: Vec<(Holding, Held)>, last: AccessIri, at: Nanos) -> Self {
        Self { order, cin, session: None, held, remembered: 0, has_ended: false, last, at }
    }
}

/// The communications, by number.
#[derive(Debug)]
pub(crate) struct Accesses {
    communications: HashMap<u32, Communication>,
    by_session: HashMap<Id, Vec<u32>>,
    addresses: Addresses,
    next_number: u32,
    most: usize,
    /// Orders that have had the packet in hand.
    served: Vec<Liid>,
    /// Its frame.
    frame: Option<u64>,
}

impl Accesses {
    pub(crate) fn new(targets: Arc<Targets>, most: usize) -> Self {
        Self {
            communications: HashMap::new(),
            by_session: HashMap::new(),
            addresses: Addresses::new(targets),
            next_number: 0,
            most,
            served: Vec::new(),
            frame: None,
        }
    }

    /// Begins to watch the addresses that an order names itself.
    pub(crate) fn begin_static(
        &mut self,
        order: &Arc<Order>,
        networks: Vec<Network>,
        now: Nanos,
        out: &mut Told<'_>,
    ) {
        if networks.is_empty() {
            return;
        }
        // Whatever the time: the order's own begin and end decide.
        let always = Held { from: Nanos::ZERO, until: Nanos::MAX };
        let held = networks.iter().map(|network| (Holding { network: *network, ports: None }, always));
        let held = held.collect();
        let mut iri = AccessIri::new(AccessEvent::StartWhileActive, b"", AccessType::Undefined);
        iri.authentication = Some(Authentication::Static);
        iri.addresses = networks.iter().map(|network| target_address(network, Assignment::Static)).collect();
        let cin = cin([&b"addresses"[..], order.liid.octets()]);
        self.begin(Communication::new(Arc::clone(order), cin, held, iri, now), out);
    }

    /// A session as it is now, and the orders that are about it. `is_new_order`: it may have begun before
    /// them.
    pub(crate) fn session(
        &mut self,
        record: &Identity,
        orders: &[Arc<Order>],
        is_new_order: bool,
        out: &mut Told<'_>,
    ) {
        let known: Vec<u32> = self.by_session.get(&record.id).cloned().unwrap_or_default();
        for number in &known {
            self.go_on(*number, record, out);
        }
        let is_known = |order: &Arc<Order>, own: &Self| {
            known.iter().any(|number| {
                own.communications.get(number).is_some_and(|known| Arc::ptr_eq(&known.order, order))
            })
        };
        // One that has ended is told of only as the end of what was told before.
        if record.end.is_none() {
            for order in orders {
                if !is_known(order, self) {
                    self.begin_session(record, order, is_new_order, out);
                }
            }
        }
    }

    fn begin_session(
        &mut self,
        record: &Identity,
        order: &Arc<Order>,
        is_new_order: bool,
        out: &mut Told<'_>,
    ) {
        let is_old = is_new_order || record.source == Some(SessionSource::Static);
        let event = if is_old { AccessEvent::StartWhileActive } else { AccessEvent::Accept };
        let iri = iri_of(record, event);
        let cin = cin([&b"session"[..], &record.id.0]);
        let at = record.last.max(order.begins);
        let begun = Communication::new(Arc::clone(order), cin, holdings(record), iri, at);
        self.begin(Communication { session: Some(record.id), ..begun }, out);
    }

    fn begin(&mut self, mut communication: Communication, out: &mut Told<'_>) {
        if self.communications.len() >= self.most {
            out.figures(&communication.order).dropped += 1;
            return;
        }
        let number = self.free_number();
        communication.held.iter().for_each(|(holding, time)| self.addresses.add(holding, *time, number));
        communication.remembered = communication.held.len();
        if let Some(session) = communication.session {
            self.by_session.entry(session).or_default().push(number);
        }
        out.iri(
            &communication.order,
            communication.cin,
            IriKind::Begin,
            communication.at,
            communication.last.clone(),
        );
        self.communications.insert(number, communication);
    }

    fn free_number(&mut self) -> u32 {
        // There are far fewer communications than numbers.
        while self.communications.contains_key(&self.next_number) {
            self.next_number = self.next_number.wrapping_add(1);
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        number
    }

    /// The session of a communication changed, or was reported on.
    fn go_on(&mut self, number: u32, record: &Identity, out: &mut Told<'_>) {
        let Some(known) = self.communications.get_mut(&number) else { return };
        let (order, cin) = (Arc::clone(&known.order), known.cin);
        if let Some(end) = record.end {
            self.end(number, end);
            let mut iri = iri_of(record, AccessEvent::End);
            iri.end = Some(end);
            iri.end_reason = Some(end_reason(record));
            out.iri(&order, cin, IriKind::End, end.max(order.begins), iri);
            return;
        }
        let held = holdings(record);
        let has = |held: &[(Holding, Held)], wanted: &Holding| held.iter().any(|(one, _)| one == wanted);
        let (kept, gone): (Vec<_>, Vec<_>) = known.held.drain(..).partition(|(one, _)| has(&held, one));
        gone.iter().for_each(|(holding, _)| self.addresses.end(holding, until(record, holding), number));
        known.held = kept;
        for (holding, time) in held {
            if has(&known.held, &holding) {
                self.addresses.extend(&holding, time.until, number);
            } else {
                self.addresses.add(&holding, time, number);
                known.held.push((holding, time));
                known.remembered += 1;
            }
        }
        let iri = iri_of(record, AccessEvent::Interim);
        if record.last > known.at || iri.addresses != known.last.addresses {
            (known.last, known.at) = (iri.clone(), record.last);
            out.iri(&order, cin, IriKind::Continue, record.last, iri);
        }
    }

    /// An order ended: so do all that it is about, without another word of what they do.
    pub(crate) fn end_order(&mut self, order: &Arc<Order>, now: Nanos, out: &mut Told<'_>) {
        let of_order = |(number, known): (&u32, &Communication)| {
            (!known.has_ended && Arc::ptr_eq(&known.order, order)).then_some(*number)
        };
        let mut numbers: Vec<u32> = self.communications.iter().filter_map(of_order).collect();
        numbers.sort_unstable();
        for number in numbers {
            let Some(known) = self.communications.get(&number) else { continue };
            let iri = AccessIri { event: AccessEvent::EndWhileActive, ..known.last.clone() };
            out.iri(order, known.cin, IriKind::End, now, iri);
            self.end(number, now);
        }
        // Nothing is given any more, not even what turns out late.
        self.communications.retain(|_, known| !Arc::ptr_eq(&known.order, order));
    }

    /// A communication is over. What was sent before may still be looked at, until it is forgotten.
    fn end(&mut self, number: u32, at: Nanos) {
        let Some(known) = self.communications.get_mut(&number) else { return };
        known.has_ended = true;
        known.held.drain(..).for_each(|(holding, _)| self.addresses.end(&holding, at, number));
        if let Some(session) = known.session
            && let Some(numbers) = self.by_session.get_mut(&session)
        {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_session.remove(&session);
            }
        }
        if known.remembered == 0 {
            self.communications.remove(&number);
        }
    }

    /// What follows is of that time, or of a moment before.
    pub(crate) fn advance(&mut self, now: Nanos) {
        for number in self.addresses.advance(now) {
            let Some(known) = self.communications.get_mut(&number) else { continue };
            known.remembered = known.remembered.saturating_sub(1);
            if known.has_ended && known.remembered == 0 {
                self.communications.remove(&number);
            }
        }
    }

    /// A packet that may be a target's. Each order gets it once, by the outermost of its headers that is
    /// about the target. When it was sent decides whose it is, not when it is looked at.
    pub(crate) fn packet(&mut self, seen: &TargetSeen<'_>, out: &mut Told<'_>) {
        let frame = seen.frames.last().copied();
        if self.frame != frame {
            self.frame = frame;
            self.served.clear();
        }
        let (src_port, dst_port) = seen.ports.map_or((None, None), |(src, dst)| (Some(src), Some(dst)));
        let ends =
            [(seen.ip.src, src_port, Direction::FromTarget), (seen.ip.dst, dst_port, Direction::ToTarget)];
        for (address, port, direction) in ends {
            for holder in self.addresses.find(address) {
                let Some(known) = self.communications.get(&holder.number) else { continue };
                let is_served = self.served.contains(&known.order.liid);
                if !holder.had_it_at(seen.time) || !known.order.delivers.content() || is_served {
                    continue;
                }
                match (holder.ports, port) {
                    (Some((first, last)), Some(port)) if !(first..=last).contains(&port) => continue,
                    (Some(_), None) => {
                        out.figures(&known.order).unattributed += 1;
                        continue;
                    }
                    _ => {}
                }
                self.served.push(known.order.liid.clone());
                let kind = ContentKind::IpPacket;
                let content = Content { at: seen.time, direction, kind, packet: seen.packet };
                out.content(&known.order, known.cin, &content, (seen.frames, seen.ip.len));
            }
        }
    }
}

/// Gives product, and counts it.
pub(crate) struct Told<'a> {
    pub(crate) product: &'a mut dyn Product,
    pub(crate) figures: &'a mut HashMap<Liid, Figures>,
    pub(crate) orders: &'a Orders,
}

impl Told<'_> {
    pub(crate) fn figures(&mut self, order: &Order) -> &mut Figures {
        self.figures.entry(order.liid.clone()).or_default()
    }

    fn iri(&mut self, order: &Order, cin: Cin, kind: IriKind, at: Nanos, iri: AccessIri) {
        if !self.orders.accesses_elsewhere {
            self.event(order, cin, Iri { kind, at, event: IriEvent::Access(Box::new(iri)) }, &[]);
        }
    }

    /// Gives an event to an order that is entitled to events.
    pub(crate) fn event(&mut self, order: &Order, cin: Cin, iri: Iri, frames: &[u64]) {
        if order.delivers.iri() {
            self.figures(order).iri += 1;
            self.product.iri(order, cin, iri, frames);
        }
    }

    /// Gives a packet: the frames that carried it, and its length when it was sent.
    pub(crate) fn content(
        &mut self,
        order: &Order,
        cin: Cin,
        content: &Content<'_>,
        (frames, sent): (&[u64], u32),
    ) {
        // Frames of a capture may be out of order: its own time decides, whenever it comes.
        if !(order.begins..self.orders.ends(order)).contains(&content.at) {
            return;
        }
        let figures = self.figures(order);
        figures.packets += 1;
        figures.octets += content.packet.len() as u64;
        figures.cut += u64::from(content.packet.len() < sent as usize);
        self.product.content(order, cin, content, frames);
    }
}

/// An attempt to log in, as an event.
pub(crate) fn attempted(attempt: &Attempt) -> (Cin, Iri) {
    let event = if attempt.is_refused { AccessEvent::Reject } else { AccessEvent::Attempt };
    let user = attempt.users.first().map(String::as_bytes).unwrap_or_default();
    let mut iri = AccessIri::new(event, user, AccessType::Undefined);
    iri.network_id = attempt.stations.first().cloned();
    iri.authentication = Some(Authentication::Radius);
    iri.pop = PointOfPresence {
        port: attempt.nas_port,
        port_id: attempt.nas_port_id.clone().map(String::into_bytes),
        identifier: attempt.nas_identifier.clone(),
        address: attempt.nas.parse().ok(),
        phone: attempt.called_station.clone(),
    };
    let kind = IriKind::Report;
    (Cin(0), Iri { kind, at: attempt.at, event: IriEvent::Access(Box::new(iri)) })
}

fn iri_of(record: &Identity, event: AccessEvent) -> AccessIri {
    let user = record.user.as_deref().unwrap_or_default();
    let mut iri = AccessIri::new(event, user.as_bytes(), AccessType::Undefined);
    let source = record.source.unwrap_or(SessionSource::Radius);
    let assignment = match source {
        SessionSource::Static => Assignment::Static,
        _ => Assignment::Dynamic,
    };
    iri.addresses =
        holdings(record).iter().map(|(holding, _)| target_address(&holding.network, assignment)).collect();
    iri.network_id.clone_from(&record.station);
    iri.equipment_id = record.circuit.clone().or_else(|| record.remote.clone());
    iri.pop = PointOfPresence {
        port: record.nas_port,
        port_id: record.nas_port_id.clone().map(String::into_bytes),
        identifier: record.nas_identifier.clone(),
        address: record.nas.parse().ok(),
        phone: record.called_station.clone(),
    };
    iri.start = Some(record.start);
    // RADIUS counts from the side of the NAS: its input is what the target sent.
    (iri.octets_sent, iri.octets_received) = (record.octets_in, record.octets_out);
    iri.authentication = Some(match source {
        SessionSource::Radius => Authentication::Radius,
        SessionSource::Dhcpv4 | SessionSource::Dhcpv6 => Authentication::Dhcp,
        SessionSource::Static => Authentication::Static,
        // By PAP or CHAP: the standard has no value for them.
        SessionSource::Pppoe => Authentication::Unknown,
    });
    iri
}

fn end_reason(record: &Identity) -> EndReason {
    match (record.end_cause, record.terminate_cause) {
        (Some(SessionEnd::Expired), _) => EndReason::Timeout,
        (_, Some(cause)) => EndReason::of_terminate_cause(cause),
        (Some(SessionEnd::NasRestarted | SessionEnd::Reassigned | SessionEnd::Disconnected), _) => {
            EndReason::ConnectionLoss
        }
        _ => EndReason::Undefined,
    }
}

/// What a session has now, since when, and until when if nothing is heard of it: a lease ends by itself.
fn holdings(record: &Identity) -> Vec<(Holding, Held)> {
    let until = record.expires.unwrap_or(Nanos::MAX);
    let is_held = |held: &&HeldAddress| held.until.is_none();
    let timed = |held: &HeldAddress| Some((holding(held)?, Held { from: held.from, until }));
    record.addresses.iter().filter(is_held).filter_map(timed).collect()
}

/// Until when a session had what it does not have any more.
fn until(record: &Identity, wanted: &Holding) -> Nanos {
    let is_it = |held: &&HeldAddress| holding(held).is_some_and(|one| one == *wanted);
    record.addresses.iter().filter(is_it).filter_map(|held| held.until).max().unwrap_or(record.last)
}

fn holding(held: &HeldAddress) -> Option<Holding> {
    let network: Network = held.network.parse().ok()?;
    // Every link has its own: packets with the same one are others', too.
    if matches!(network.ends().0, IpAddr::V6(first) if first.is_unicast_link_local()) {
        return None;
    }
    let own = held.interface_id.as_deref().and_then(|id| u64::from_str_radix(id, 16).ok());
    let network = match (network.ends().0, own) {
        // On a shared link, the users differ in it (RFC 3162 section 2.2): the rest of the link is others'.
        (IpAddr::V6(first), Some(own)) if network.bits() <= 64 => {
            Network::of(IpAddr::V6((first.to_bits() | u128::from(own)).into()))
        }
        _ => network,
    };
    Some(Holding { network, ports: held.first_port.zip(held.last_port) })
}

fn target_address(network: &Network, assignment: Assignment) -> TargetAddress {
    TargetAddress { ip: network.ends().0, prefix: network.bits(), assignment }
}

/// A communication identity number: the same for the same communication, whenever it is asked for.
pub(crate) fn cin<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Cin {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let [a, b, c, d, ..] = <[u8; 32]>::from(digest.finalize());
    // Zero stands for what belongs to no communication.
    Cin((u32::from_be_bytes([a, b, c, d]) >> 1).max(1))
}
