//! What each message of DHCP changes in the table: a lease of one address or prefix is a session.
//!
//! INVARIANT: of the sessions from DHCP, at most one has an address or prefix at a time.

use ringtap_model::{Nanos, SessionBegin, SessionEnd};
use ringtap_wire::dhcp::{v4, v6};
use ringtap_wire::radius::{View, looks_like_radius};

use super::Sessions;
use crate::carried::Carried;
use crate::exchange::{Exchange, ExchangeKey, Path, Sighting, Wish};
use crate::facts::Facts;
use crate::hold::Moment;
use crate::known::Field;
use crate::lease::{Lent, Message, Purpose};
use crate::pending::Requests;
use crate::radsec;
use crate::slots::Serial;

impl Sessions {
    /// The same, and follows leases of DHCP.
    #[must_use]
    pub fn following_leases(self) -> Self {
        Self { exchanges: Some(Requests::new(self.limits.requests)), ..self }
    }

    /// Handles a datagram on one of [`PORTS`](crate::PORTS), or one that looks like RADIUS. On ports of
    /// DHCP it is DHCP where leases are followed.
    pub fn datagram(&mut self, data: &[u8], carried: Carried) {
        let on = |ports: &[u16]| ports.contains(&carried.src.port) || ports.contains(&carried.dst.port);
        if on(&[radsec::PORT]) && radsec::is_record(data) {
            return self.record(data, carried);
        }
        let is_dhcp = !on(&RADIUS_PORTS) && (on(&v4::PORTS) || on(&v6::PORTS));
        let is_followed = self.exchanges.is_some();
        if !is_dhcp || !is_followed && looks_like_radius(data) {
            return match View::parse(data) {
                Ok(view) => self.packet(&view, carried),
                Err(_) => self.malformed(),
            };
        }
        if !is_followed {
            return;
        }
        self.advance(carried.time);
        let read = match on(&v4::PORTS) {
            true => v4::View::parse(data).map(|view| Message::of_v4(&view)),
            false => v6::View::parse(data).map(|view| Message::of_v6(&view)),
        };
        match read {
            Ok(message) => {
                self.counts.dhcp.messages += 1;
                message.into_iter().for_each(|message| self.lease_message(message, carried));
            }
            Err(_) => self.counts.dhcp.malformed += 1,
        }
    }

    /// A record of TLS: the packets that it completes.
    fn record(&mut self, data: &[u8], carried: Carried) {
        let Some(connections) = &mut self.connections else { return };
        let packets = connections.record(data, carried);
        self.decrypted(packets);
    }

    /// Packets out of TLS.
    pub(super) fn decrypted(&mut self, packets: Vec<(Carried, Vec<u8>)>) {
        for (carried, packet) in packets {
            match View::parse(&packet) {
                Ok(view) => self.packet(&view, carried),
                Err(_) => self.malformed(),
            }
        }
    }

    fn lease_message(&mut self, message: Message, carried: Carried) {
        self.counts.addresses_dropped += message.facts.addresses_dropped;
        let Message { source, transaction, .. } = message;
        let key = ExchangeKey { source, client: self.table.key(&message.client), transaction };
        let Some(exchanges) = &mut self.exchanges else { return };
        if exchanges.find(&key).is_none() {
            exchanges.insert(key, Exchange::new(carried.time));
        }
        let Some(exchange) = exchanges.find(&key) else { return };
        let path = Path { src: carried.src, dst: carried.dst, hops: message.hops };
        let sighting = exchange.see(message.number, message.asks_with, path);
        exchange.is_answered |= !matches!(message.purpose, Purpose::Ask | Purpose::AskOther);
        match sighting {
            Sighting::Relayed => self.counts.dhcp.relayed += 1,
            Sighting::Repeat => self.counts.dhcp.retransmissions += 1,
            Sighting::New => {}
        }
        if sighting != Sighting::Relayed && carried.time.since(exchange.time) >= NOTED {
            // It is remembered for as long as it goes on. Not for each message: that is an entry each.
            exchange.time = carried.time;
            exchanges.enlist(key, carried.time);
        }
        match message.purpose {
            Purpose::Ask => self.asked(&key, &message, sighting, Wish::Lease),
            Purpose::AskOther => self.asked(&key, &message, sighting, Wish::Other),
            Purpose::GiveBack(cause) => {
                self.asked(&key, &message, sighting, Wish::Other);
                if sighting == Sighting::New {
                    self.given_back(&message, cause, carried);
                }
            }
            Purpose::Offer => {}
            Purpose::Refuse => self.counts.dhcp.rejected += u64::from(sighting == Sighting::New),
            Purpose::Grant => self.granted(&key, &message, sighting, carried),
        }
    }

    fn exchange(&mut self, key: &ExchangeKey) -> Option<&mut Exchange> {
        self.exchanges.as_mut()?.find(key)
    }

    fn asked(&mut self, key: &ExchangeKey, message: &Message, sighting: Sighting, wish: Wish) {
        let Some(exchange) = self.exchange(key) else { return };
        exchange.facts.complete(&message.facts);
        if sighting != Sighting::Relayed {
            exchange.wish = Some(wish);
            // It is asked again, so that the same answer is another one.
            exchange.granted = None;
        }
    }

    /// A server lent something, or the answer to something else came.
    fn granted(&mut self, key: &ExchangeKey, message: &Message, sighting: Sighting, carried: Carried) {
        let addresses: Vec<_> = message.lent.iter().map(|lent| lent.assigned.prefix).collect();
        let answer = self.table.key((&message.facts.nas_name, addresses));
        let Some(exchange) = self.exchange(key) else { return };
        if exchange.granted.replace(answer) == Some(answer) {
            if sighting == Sighting::Repeat {
                let sessions = exchange.sessions.clone();
                (exchange.messages, exchange.repeats) = (0, 0);
                sessions.into_iter().for_each(|serial| self.repeated_lease(serial, carried));
            }
            return;
        }
        let wish = exchange.wish;
        let mut facts = exchange.facts.clone();
        // The answer itself is counted with its session.
        let own = u32::from(sighting != Sighting::Relayed);
        let counted = (exchange.messages.saturating_sub(own), exchange.repeats);
        if wish != Some(Wish::Other) {
            (exchange.messages, exchange.repeats) = (0, 0);
        }
        self.counts.dhcp.unpaired += u64::from(wish.is_none());
        if wish == Some(Wish::Other) {
            return;
        }
        facts.complete(&message.facts);
        let sessions: Vec<Serial> = message
            .lent
            .iter()
            .filter_map(|lent| self.lend(message, &mut facts, lent, counted, carried))
            .collect();
        self.counts.dhcp.rejected += u64::from(message.lent.is_empty());
        if let Some(exchange) = self.exchange(key) {
            exchange.sessions = sessions;
        }
    }

    /// An answer that was seen before, and not asked for again.
    fn repeated_lease(&mut self, serial: Serial, carried: Carried) {
        if let Some(session) = self.table.find(serial) {
            session.retransmissions += 1;
            self.touch(Some(serial), carried.time);
        }
    }

    /// A client has an address until its time is over. Returns the session of that.
    fn lend(
        &mut self,
        message: &Message,
        facts: &mut Facts,
        lent: &Lent,
        (messages, repeats): (u32, u32),
        carried: Carried,
    ) -> Option<Serial> {
        let at = Moment { time: carried.time, frame: Some(carried.frame) };
        let holder = self.holder(lent, facts);
        if lent.seconds == 0 {
            let serial = holder?;
            self.touch(Some(serial), carried.time);
            self.end(serial, at, SessionEnd::Changed);
            return Some(serial);
        }
        let is_endless = lent.seconds == v6::FOREVER;
        facts.expires = (!is_endless).then(|| at.time + Nanos::from_secs(lent.seconds.into()));
        facts.addresses = vec![lent.assigned];
        let serial = holder.unwrap_or_else(|| {
            let (nas, address) = (facts.nas(carried.src.ip), lent.assigned.prefix.to_string());
            self.begin((&nas, Some(&address)), &[], SessionBegin::Leased, at.time, carried)
        });
        let session = self.table.find(serial)?;
        session.source = message.source;
        session.learn(facts, &mut self.counts);
        if is_endless {
            session.known.replace(Field::Expires, &[[0; 0]; 0]);
        }
        session.packets += messages;
        session.retransmissions += repeats;
        self.counts.dhcp.leases += 1;
        self.assign(serial, facts, at);
        // A restart must know when it ends.
        self.note_change(serial);
        self.touch(Some(serial), carried.time);
        Some(serial)
    }

    /// The client says that addresses are no longer its own.
    fn given_back(&mut self, message: &Message, cause: SessionEnd, carried: Carried) {
        let at = Moment { time: carried.time, frame: Some(carried.frame) };
        for lent in &message.lent {
            let Some(serial) = self.holder(lent, &message.facts) else {
                self.counts.dhcp.stale += 1;
                continue;
            };
            self.touch(Some(serial), carried.time);
            self.end(serial, at, cause);
        }
    }

    /// The session in which this client has an address now.
    fn holder(&mut self, lent: &Lent, facts: &Facts) -> Option<Serial> {
        let having = self.table.with_address(&lent.assigned);
        having.into_iter().find(|serial| {
            self.table.find(*serial).is_some_and(|session| {
                let own = (session.known.bytes(Field::ClientId), session.known.text(Field::Station));
                // RFC 2131 section 4.2: who has an identifier is known by it alone. A server that does not
                // return it is taken at the hardware address.
                let is_same = match (own.0, facts.client_id.as_deref()) {
                    (Some(own), Some(other)) => own == other,
                    _ => own.1.is_some() && own.1 == facts.stations.first().map(String::as_str),
                };
                session.source.is_lease() && session.end.is_none() && is_same
            })
        })
    }
}

/// How much later an exchange has to go on for that to be noted.
const NOTED: Nanos = Nanos::from_secs(10);
/// Ports of RADIUS: authentication, accounting, their numbers before RFC 2865, and dynamic authorisation (RFC
/// 5176, and Cisco's).
pub const RADIUS_PORTS: [u16; 6] = [1812, 1813, 1645, 1646, 3799, 1700];
