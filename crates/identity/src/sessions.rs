//! The table of sessions, and what each RADIUS packet changes in it; leases and PPPoE have their
//! parts in `leases` and `pppoe`.

mod leases;
mod output;
mod pppoe;

pub use leases::RADIUS_PORTS;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_model::{Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use ringtap_wire::radius::{Verdict, View, code};

use crate::attempt::Attempt;
use crate::carried::Carried;
use crate::configured::Configured;
use crate::counts::Counts;
use crate::exchange::{Exchange, ExchangeKey};
use crate::facts::{Assigned, Facts};
use crate::hold::Moment;
use crate::limits::Limits;
use crate::line::Line;
use crate::link::{Link, LinkKey};
use crate::pending::{Request, RequestKey, Requests};
use crate::radsec::{self, Connections, KeyLog, MOST_CONNECTIONS};
use crate::report::{Report, Status};
use crate::resumed;
use crate::secrets::Secrets;
use crate::session::{Session, id_of};
use crate::slots::Serial;
use crate::table::Table;

/// Follows sessions. Call [`Sessions::datagram`] for each datagram of RADIUS and DHCP and [`Sessions::pppoe`]
/// for each frame of PPPoE in order, or [`Sessions::packet`] for each RADIUS packet, then [`Sessions::take`]
/// the records of those that are over; at the end of the input, [`Sessions::close`].
///
/// INVARIANT: never more sessions and requests than [`Limits`] says, and once a packet is handled no more
/// bytes of sessions.
#[derive(Debug)]
pub struct Sessions {
    limits: Limits,
    secrets: Secrets,
    now: Nanos,
    table: Table,
    requests: Requests<RequestKey, Request>,
    /// Exchanges of DHCP; `None` where no leases are followed.
    exchanges: Option<Requests<ExchangeKey, Exchange>>,
    /// Links of PPPoE; `None` where none are followed.
    links: Option<Requests<LinkKey, Link>>,
    /// Connections of TLS; `None` where there are no keys.
    connections: Option<Connections>,
    configured: Configured,
    counts: Counts,
    over: Vec<Identity>,
    /// Sessions whose record has to be made again; `None` where nobody asks for it.
    changed: Option<VecDeque<Serial>>,
    /// Attempts to log in that were not taken yet; `None` where nobody asks for them.
    attempts: Option<Vec<Attempt>>,
}

impl Sessions {
    /// Follows nothing yet.
    pub fn new(limits: Limits, secrets: Secrets) -> Self {
        Self {
            limits,
            secrets,
            now: Nanos::ZERO,
            table: Table::default(),
            requests: Requests::new(limits.requests),
            exchanges: None,
            links: None,
            connections: None,
            configured: Configured::default(),
            counts: Counts::default(),
            over: Vec::new(),
            changed: None,
            attempts: None,
        }
    }

    /// The same, and decrypts RADIUS over TLS with the keys of a log.
    #[must_use]
    pub fn with_tls_keys(self, log: Option<KeyLog>) -> Self {
        Self { connections: log.map(|log| Connections::new(log, MOST_CONNECTIONS)), ..self }
    }

    /// The same, and notes which sessions change, for [`Sessions::take_changed`].
    #[must_use]
    pub fn noting_changes(self) -> Self {
        Self { changed: Some(VecDeque::new()), ..self }
    }

    /// The same of each report, and notes attempts to log in, for [`Sessions::take_attempts`].
    #[must_use]
    pub fn noting_everything(self) -> Self {
        Self { attempts: Some(Vec::new()), ..self.noting_changes() }
    }

    /// The same, and tells of these ranges as of sessions: when they begin and end, and while they are in
    /// force. Their records are not among those of [`Sessions::close`].
    #[must_use]
    pub fn with_ranges(self, ranges: Vec<Identity>) -> Self {
        Self { configured: Configured::new(ranges), ..self }
    }

    /// When a range begins or ends next.
    pub fn next_range(&self) -> Nanos {
        self.configured.next()
    }

    /// Goes on with a session that had not ended when this record of it was made. One that has ended is left
    /// out, and so is a lease or a session of PPPoE where none are followed.
    pub fn resume(&mut self, record: Identity) {
        let is_left_out = match record.source.unwrap_or(SessionSource::Radius) {
            SessionSource::Radius => false,
            SessionSource::Dhcpv4 | SessionSource::Dhcpv6 => self.exchanges.is_none(),
            SessionSource::Pppoe => self.links.is_none(),
            SessionSource::Static => true,
        };
        if is_left_out || record.end.is_some() || self.table.len() >= self.limits.sessions.max(1) {
            return;
        }
        let nas = self.table.nas(&record.nas);
        let (mut session, facts) = resumed::session(record, Arc::clone(&nas));
        session.deadline = self.limits.deadline_of(&session);
        let open: Vec<Assigned> = session.open().map(|hold| hold.assigned).collect();
        let lines = match session.source {
            SessionSource::Pppoe => Line::of_pppoe(&nas, &facts).into_iter().collect(),
            // A lease is found by its address alone.
            source if source.is_lease() => Vec::new(),
            _ => Line::of(&nas, &facts),
        };
        let serial = self.table.insert(session, &lines);
        open.iter().for_each(|assigned| self.table.hold(serial, assigned));
        self.table.weigh(serial);
    }

    /// Sessions that are followed, those that ended a moment ago included.
    pub fn open(&self) -> usize {
        self.table.len()
    }

    /// Handles a packet.
    pub fn packet(&mut self, view: &View<'_>, carried: Carried) {
        self.advance(carried.time);
        self.counts.packets += 1;
        let is_request = code::is_request(view.code());
        let (client, server) = match is_request {
            true => (carried.src, carried.dst),
            false => (carried.dst, carried.src),
        };
        let key = RequestKey { client, server, identifier: view.identifier() };
        if !self.is_believed(view, &key) {
            return;
        }
        match is_request {
            true => self.request(view, key, carried),
            false => self.answer(view, &key, carried),
        }
    }

    /// Counts bytes that are no RADIUS packet.
    pub fn malformed(&mut self) {
        self.counts.malformed += 1;
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        (counts.unanswered, counts.requests_evicted) = (self.requests.unanswered, self.requests.evicted);
        if let Some(exchanges) = &self.exchanges {
            counts.dhcp.unanswered = exchanges.unanswered;
            counts.dhcp.exchanges_evicted = exchanges.evicted;
        }
        counts.tls = self.connections.as_ref().map(|own| own.counts).unwrap_or_default();
        if let Some(links) = &self.links {
            (counts.pppoe.unfinished, counts.pppoe.links_evicted) = (links.unanswered, links.evicted);
        }
        counts
    }

    /// Ends the input: all sessions become records, the earliest first. Those that had not ended have no end.
    pub fn close(&mut self) -> Vec<Identity> {
        self.requests.close();
        self.exchanges.iter_mut().for_each(Requests::close);
        self.links.iter_mut().for_each(Requests::close);
        let mut over = self.take();
        over.extend(self.table.drain().iter().map(|session| session.record()));
        over
    }

    /// Expires what is due at `now`, and makes the records of sessions that ended a while ago.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        let late = self.connections.as_mut().map(Connections::late).unwrap_or_default();
        self.decrypted(late);
        self.over.extend(self.configured.advance(self.now));
        self.requests.advance(self.now);
        self.exchanges.iter_mut().for_each(|exchanges| exchanges.advance(self.now));
        self.links.iter_mut().for_each(|links| links.advance(self.now));
        while let Some((deadline, serial)) = self.table.first_due().filter(|due| due.0 <= self.now) {
            let has_ended = self.table.find(serial).is_none_or(|session| session.end.is_some());
            if has_ended {
                self.finish(serial);
            } else {
                self.end(serial, Moment { time: deadline, frame: None }, SessionEnd::Expired);
            }
        }
    }

    /// Whether a packet may change sessions: its authenticators are not wrong.
    fn is_believed(&mut self, view: &View<'_>, key: &RequestKey) -> bool {
        let request = self.requests.find(key).filter(|_| !code::is_request(view.code()));
        let request = request.map(|request| request.authenticator);
        // A change or a disconnection is the server's request: the NAS shares its secret with it either way.
        let nas = match view.code() {
            code::DISCONNECT_REQUEST..=code::COA_NAK => key.server,
            _ => key.client,
        };
        // What TLS has authenticated is believed, whatever an end uses for its secret.
        let is_tls = self.connections.is_some() && [key.client.port, key.server.port].contains(&radsec::PORT);
        let secret = if is_tls { Some(radsec::SECRET) } else { self.secrets.of(nas.ip) };
        let check = secret.map(|secret| view.check(secret, request.as_ref()).verdict());
        let check = check.filter(|verdict| !is_tls || *verdict != Verdict::Wrong);
        match check.unwrap_or_default() {
            Verdict::Right => self.counts.right += 1,
            Verdict::Wrong => self.counts.wrong += 1,
            Verdict::Unchecked => self.counts.unchecked += 1,
        }
        check != Some(Verdict::Wrong)
    }

    fn request(&mut self, view: &View<'_>, key: RequestKey, carried: Carried) {
        let authenticator = *view.authenticator();
        let known = self.requests.find(&key);
        if let Some(old) = known.filter(|old| old.code == view.code() && old.authenticator == authenticator) {
            let session = old.session;
            self.repeated(session, carried.time);
            return;
        }
        let facts = Facts::read(view);
        let session = match view.code() {
            code::ACCOUNTING_REQUEST => self.accounting(&facts, carried),
            code::ACCESS_REQUEST => {
                self.note_attempt(&facts, carried.src.ip, false, carried);
                None
            }
            _ => None,
        };
        let (code, time) = (view.code(), carried.time);
        let request = Request { code, authenticator, time, is_answered: false, facts, session };
        self.requests.insert(key, request);
    }

    fn answer(&mut self, view: &View<'_>, key: &RequestKey, carried: Carried) {
        let asked = code::request_of(view.code());
        let fits =
            |request: &&mut Request| Some(request.code) == asked || request.code == code::STATUS_SERVER;
        let Some(request) = self.requests.find(key).filter(fits) else {
            self.counts.unpaired += 1;
            return self.orphan(view, key.client.ip, carried);
        };
        if request.is_answered {
            let session = request.session;
            return self.repeated(session, carried.time);
        }
        request.is_answered = true;
        if Some(request.code) != asked {
            return;
        }
        let (asked, mut session) = (std::mem::take(&mut request.facts), request.session);
        match view.code() {
            code::ACCESS_ACCEPT => session = self.accepted(&asked, view, key.client.ip, carried),
            code::ACCESS_REJECT => {
                self.counts.rejected += 1;
                self.note_attempt(&asked, key.client.ip, true, carried);
            }
            code::DISCONNECT_ACK => session = self.disconnected(&asked, key.server.ip, carried),
            code::COA_ACK => session = self.changed(&asked, key.server.ip),
            _ => {}
        }
        self.touch(session, carried.time);
        if let Some(request) = self.requests.find(key).filter(|request| request.session != session) {
            request.session = session;
            // Only now is it known what the request was about.
            self.touch(session, carried.time);
        }
    }

    /// An answer without its request: an Access-Accept that gives an address says enough.
    fn orphan(&mut self, view: &View<'_>, nas: IpAddr, carried: Carried) {
        if view.code() == code::ACCESS_ACCEPT && !Facts::read(view).addresses.is_empty() {
            let session = self.accepted(&Facts::default(), view, nas, carried);
            self.touch(session, carried.time);
        }
    }

    /// A packet that was seen before.
    fn repeated(&mut self, session: Option<Serial>, time: Nanos) {
        self.counts.retransmissions += 1;
        self.touch(session, time);
        if let Some(session) = session.and_then(|serial| self.table.find(serial)) {
            session.retransmissions += 1;
        }
    }

    /// Counts a packet about a session.
    fn touch(&mut self, serial: Option<Serial>, time: Nanos) {
        let Some((serial, session)) = serial.and_then(|serial| Some((serial, self.table.find(serial)?)))
        else {
            return;
        };
        session.packets += 1;
        session.last = session.last.max(time);
        let is_due = session.last >= session.refresh;
        let deadline = self.limits.deadline_of(session);
        if session.end.is_none() {
            self.table.set_deadline(serial, deadline);
        }
        if is_due {
            self.note_change(serial);
        }
        self.table.weigh(serial);
        while self.table.weight() > self.limits.memory && self.table.len() > 1 {
            self.give_way();
        }
    }

    /// The server let a user in.
    fn accepted(
        &mut self,
        asked: &Facts,
        view: &View<'_>,
        sender: IpAddr,
        carried: Carried,
    ) -> Option<Serial> {
        let granted = Facts::read(view);
        let nas = asked.nas(sender);
        let mut lines = Line::of(&nas, asked);
        lines.extend(Line::of(&nas, &granted).into_iter().filter(|line| matches!(line, Line::Class(..))));
        if !asked.is_about_somebody() && !granted.is_about_somebody() {
            return None;
        }
        let by_id = asked.session.as_ref().and_then(|id| self.table.by_id(&nas, id));
        let by_line = lines.iter().rev().filter_map(|line| self.table.by_line(line));
        let mut candidates: Vec<Serial> = by_id.into_iter().chain(by_line).collect();
        candidates.retain(|serial| {
            self.table.find(*serial).is_some_and(|session| {
                // Whoever logs in again on a line may get other addresses: that is another session. And one
                // Class may be that of many users.
                let keeps = granted.addresses.iter().all(|assigned| session.holds(assigned));
                let is_other = session.session().zip(asked.session.as_deref());
                let is_other = is_other.is_some_and(|(own, asked)| own != asked);
                session.end.is_none() && keeps && !is_other && session.known.may_be(asked)
            })
        });
        let known = candidates.first().copied();
        let id = granted.session.as_ref().or(asked.session.as_ref());
        let moment = Moment { time: carried.time, frame: Some(carried.frame) };
        let serial = known
            .unwrap_or_else(|| self.begin((&nas, id), &lines, SessionBegin::Accepted, moment.time, carried));
        if let Some(session) = self.table.find(serial) {
            session.learn(asked, &mut self.counts);
            session.learn(&granted, &mut self.counts);
        }
        if let Some(id) = id {
            self.table.name(serial, id);
        }
        self.assign(serial, &granted, moment);
        self.note_change(serial);
        Some(serial)
    }

    /// The NAS reported.
    fn accounting(&mut self, facts: &Facts, carried: Carried) -> Option<Serial> {
        let report = Report::new(facts, carried)?;
        let nas = facts.nas(carried.src.ip);
        if report.status == Status::Restart {
            for serial in self.table.of_nas(&nas) {
                let session = self.table.find(serial).filter(|session| is_of_radius(session));
                let Some(began) = session.map(|session| session.start) else { continue };
                // A report that was delayed says nothing of those that began since.
                if began > report.at.time {
                    continue;
                }
                self.end(serial, report.at, SessionEnd::NasRestarted);
            }
            return None;
        }
        let serial = self.reported(&nas, facts, &report, carried)?;
        if let Some(session) = self.table.find(serial) {
            let names = session.known.names();
            report.apply(session);
            session.learn(facts, &mut self.counts);
            let is_new = report.status != Status::Interim || session.known.names() != names;
            if is_new || self.attempts.is_some() {
                self.note_change(serial);
            }
        }
        if let Some(id) = &facts.session {
            self.table.name(serial, id);
        }
        let has_ended = self.table.find(serial).is_none_or(|session| session.end.is_some());
        if has_ended {
            // The report of an end that was already known: only its figures are new.
            self.touch(Some(serial), carried.time);
            return Some(serial);
        }
        let from = self.table.find(serial).filter(|session| session.packets == 0);
        let from = from.map_or(report.at.time, |session| session.start);
        self.assign(serial, facts, Moment { time: from, ..report.at });
        self.touch(Some(serial), carried.time);
        if report.status == Status::Stop {
            self.end(serial, report.at, SessionEnd::Stopped);
        }
        Some(serial)
    }

    /// The session that a report is about; a new one where none is known. `None` where it is too old.
    fn reported(&mut self, nas: &str, facts: &Facts, report: &Report, carried: Carried) -> Option<Serial> {
        let lines = Line::of(nas, facts);
        let by_id = facts.session.as_ref().and_then(|id| self.table.by_id(nas, id));
        let known = by_id.or_else(|| {
            let found: Vec<Serial> = lines.iter().filter_map(|line| self.table.by_line(line)).collect();
            found.into_iter().find(|serial| self.waits(*serial, facts))
        });
        let mut start = report.start();
        if let Some(serial) = known {
            let session = self.table.find(serial)?;
            match session.end {
                Some(_) if report.is_late(session) && report.status == Status::Stop => return Some(serial),
                Some(_) if report.is_late(session) => {
                    self.counts.stale += 1;
                    self.repeated(Some(serial), carried.time);
                    return None;
                }
                Some((end, _)) => {
                    start = start.max(end);
                    self.finish(serial);
                }
                None if report.is_another(session, facts) => {
                    self.end(serial, report.at, SessionEnd::Replaced);
                    self.finish(serial);
                }
                None => return Some(serial),
            }
        }
        let named = (nas, facts.session.as_ref());
        Some(self.begin(named, &lines, report.begun_by(), start, carried))
    }

    /// Whether a session that the server accepted waits for its first report, which this may be.
    fn waits(&mut self, serial: Serial, facts: &Facts) -> bool {
        self.table.find(serial).is_some_and(|session| {
            let is_free = session.session().is_none() || facts.session.is_none();
            session.end.is_none() && is_free && session.known.may_be(facts)
        })
    }

    /// The NAS ended a session as it was told.
    fn disconnected(&mut self, asked: &Facts, nas: IpAddr, carried: Carried) -> Option<Serial> {
        let serial = self.named(asked, nas)?;
        let at = Moment { time: carried.time, frame: Some(carried.frame) };
        self.end(serial, at, SessionEnd::Disconnected);
        Some(serial)
    }

    /// The NAS changed a session as it was told.
    fn changed(&mut self, asked: &Facts, nas: IpAddr) -> Option<Serial> {
        let serial = self.named(asked, nas)?;
        let session = self.table.find(serial)?;
        session.changes += 1;
        self.note_change(serial);
        Some(serial)
    }

    /// The session that a request of the server names: by its id, its address, its user or station (RFC 5176
    /// section 3).
    fn named(&mut self, asked: &Facts, nas: IpAddr) -> Option<Serial> {
        let nas = asked.nas(nas);
        let by_id = asked.session.as_ref().and_then(|id| self.table.by_id(&nas, id));
        by_id.or_else(|| {
            let sessions = match asked.addresses.first() {
                Some(assigned) => self.table.with_address(assigned),
                None => self.table.of_nas(&nas),
            };
            let mut sessions = sessions.into_iter().rev();
            sessions.find(|serial| {
                self.table.find(*serial).is_some_and(|session| {
                    let has = asked.addresses.iter().all(|assigned| session.holds(assigned));
                    let is_named =
                        asked.is_about_somebody() && asked.session.is_none() && *session.nas == nas;
                    let is_named = is_named && is_of_radius(session);
                    session.end.is_none() && is_named && session.known.may_be(asked) && has
                })
            })
        })
    }

    fn begin(
        &mut self,
        (nas, session): (&str, Option<&String>),
        lines: &[Line<'_>],
        begun_by: SessionBegin,
        start: Nanos,
        carried: Carried,
    ) -> Serial {
        while self.table.len() >= self.limits.sessions.max(1) {
            self.give_way();
        }
        let id = id_of(nas, session.map(String::as_str), carried.time, carried.frame);
        let session = Session::new(id, self.table.nas(nas), begun_by, carried.time, start);
        self.table.insert(Session { deadline: carried.time + self.limits.idle, ..session }, lines)
    }

    /// Gives a session the addresses of a packet. Those of a kind that it has and the packet does not list
    /// are no longer its own; those that other sessions have are taken from them.
    fn assign(&mut self, serial: Serial, facts: &Facts, at: Moment) {
        let Some(session) = self.table.find(serial) else { return };
        let source = session.source;
        let is_listed = |kind| facts.addresses.iter().any(|assigned| assigned.kind == kind);
        let released = session.release(at, SessionEnd::Changed, |own| {
            let is_gone = is_listed(own.kind) || facts.released.contains(&own.kind);
            is_gone && !facts.addresses.contains(own)
        });
        self.table.release(serial, &released);
        if !released.is_empty() {
            self.note_change(serial);
        }
        for assigned in &facts.addresses {
            let Some(session) = self.table.find(serial) else { return };
            if session.holds(assigned) {
                continue;
            }
            let given_way = session.hold(*assigned, at, &mut self.counts);
            self.table.release(serial, given_way.as_slice());
            self.table.hold(serial, assigned);
            self.note_change(serial);
            for other in self.table.with_address(assigned) {
                let is_like = self.table.find(other).is_some_and(|one| one.source.is_like(source));
                if is_like && other != serial {
                    self.lose(other, assigned, at);
                }
            }
        }
    }

    /// Another session got an address that this one has: it has ended unnoticed, or moved on.
    fn lose(&mut self, serial: Serial, taken: &Assigned, at: Moment) {
        let Some(session) = self.table.find(serial) else { return };
        let released = session.release(at, SessionEnd::Reassigned, |own| own.conflicts(taken));
        let is_over = !released.is_empty() && !session.has_address();
        self.counts.reassigned += released.len() as u64;
        self.table.release(serial, &released);
        if !released.is_empty() {
            self.note_change(serial);
        }
        if is_over {
            self.end(serial, at, SessionEnd::Reassigned);
        }
    }

    /// Ends a session that has not ended. It stays for [`LINGER`], so that late reports find it.
    fn end(&mut self, serial: Serial, at: Moment, cause: SessionEnd) {
        let Some(session) = self.table.find(serial).filter(|session| session.end.is_none()) else { return };
        session.end = Some((at.time.max(session.start), cause));
        let released = session.release(at, cause, |_| true);
        self.table.release(serial, &released);
        self.table.set_deadline(serial, self.now.max(at.time) + LINGER);
        self.note_change(serial);
    }

    /// Makes room: those that have ended are due first, then those silent for longest.
    fn give_way(&mut self) {
        let Some((_, serial)) = self.table.first_due() else { return };
        let is_open = self.table.find(serial).is_some_and(|session| session.end.is_none());
        self.counts.evicted += u64::from(is_open);
        self.finish(serial);
    }

    fn finish(&mut self, serial: Serial) {
        self.over.extend(self.table.remove(serial).map(|session| session.record()));
    }
}

fn is_of_radius(session: &Session) -> bool {
    session.source == SessionSource::Radius
}

/// How long the record of a session that has ended waits for late reports.
const LINGER: Nanos = Nanos::from_secs(60);
