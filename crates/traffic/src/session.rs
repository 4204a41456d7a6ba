//! A call or a registration under way: messages and media in order of time.

use std::net::SocketAddrV4;

use ringtap_model::{CallState, Nanos, Protocol, RegistrationState, Transport};

use crate::addresses::endpoint;
use crate::dialog::{Dialog, Kind, Method, Party, Side, Step};
use crate::frame::Framer;
use crate::sip;
use crate::stream::{Sounds, Stream};
use crate::tcp::Connection;
use crate::truth::{CallTruth, Records, RegistrationTruth, Truth};

/// Messages, and up to four streams. Each is a source of frames, in order of time for itself.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    dialog: Dialog,
    /// In order of time.
    steps: Vec<Step>,
    next: usize,
    connection: Option<Connection>,
    streams: Vec<Stream>,
    ledger: Ledger,
}

/// What became of it so far.
#[derive(Clone, Debug)]
enum Ledger {
    Call(Box<CallTruth>),
    Registration(Box<RegistrationTruth>),
}

impl Session {
    /// A call.
    pub(crate) fn call(
        dialog: Dialog,
        steps: Vec<Step>,
        connection: Option<Connection>,
        streams: Vec<Stream>,
    ) -> Self {
        let [caller, callee] = &dialog.parties;
        let transport = if connection.is_some() { Transport::Tcp } else { Transport::Udp };
        let truth = CallTruth {
            call_id: dialog.call_id.clone(),
            protocol: Protocol::Sip,
            transport,
            src: endpoint(caller.signalling),
            dst: endpoint(callee.signalling),
            from_user: caller.user.clone(),
            from_host: caller.domain.to_owned(),
            to_user: callee.user.clone(),
            to_host: callee.domain.to_owned(),
            state: CallState::Trying,
            final_code: 0,
            final_reason: String::new(),
            released_by: None,
            invite: None,
            trying: None,
            ringing: None,
            answer: None,
            end: None,
            messages: 0,
            retransmissions: 0,
            dtmf: Vec::new(),
        };
        let ledger = Ledger::Call(Box::new(truth));
        Self { dialog, steps, next: 0, connection, streams, ledger }
    }

    /// A registration.
    pub(crate) fn registration(dialog: Dialog, steps: Vec<Step>, connection: Option<Connection>) -> Self {
        let [caller, registrar] = &dialog.parties;
        let Party { user, domain, signalling, .. } = caller;
        let transport = if connection.is_some() { ";transport=tcp" } else { "" };
        let ledger = Ledger::Registration(Box::new(RegistrationTruth {
            aor: format!("{user}@{domain}"),
            contact: format!("sip:{user}@{signalling}{transport}"),
            src: endpoint(*signalling),
            dst: endpoint(registrar.signalling),
            state: RegistrationState::Expired,
            code: 0,
            first: Nanos::MAX,
            last: Nanos::ZERO,
            requests: 0,
        }));
        Self { dialog, steps, next: 0, connection, streams: Vec::new(), ledger }
    }

    /// How many sources it has: its signalling is 0, its streams follow.
    pub(crate) fn sources(&self) -> u8 {
        1 + self.streams.len() as u8
    }

    /// When the next frame of a source is captured; None at its end.
    pub(crate) fn next_at(&self, source: u8) -> Option<Nanos> {
        match source.checked_sub(1) {
            Some(stream) => self.streams[usize::from(stream)].next_at(),
            None => {
                let step = self.steps.get(self.next).map(|step| step.at);
                let segment = self.connection.as_ref().and_then(Connection::next_at);
                step.into_iter().chain(segment).min()
            }
        }
    }

    /// Writes the next frame of a source.
    pub(crate) fn emit(&mut self, source: u8, sounds: &Sounds, framer: &mut Framer) {
        match source.checked_sub(1) {
            Some(stream) => self.streams[usize::from(stream)].emit(sounds, framer),
            None => self.signal(framer),
        }
    }

    fn signal(&mut self, framer: &mut Framer) {
        let Some(connection) = &mut self.connection else {
            let Some(step) = self.steps.get(self.next).copied() else { return };
            self.next += 1;
            let (src, dst) = self.ends(&step);
            let text = sip::write(&self.dialog, &step);
            framer.udp(src, dst, |payload| payload.extend_from_slice(text.as_bytes()));
            return self.note(&step, step.at);
        };
        // Messages that are due become segments; a segment on the way may come before.
        while let Some(step) = self.steps.get(self.next).copied() {
            if connection.next_at().is_some_and(|at| at < step.at) {
                break;
            }
            self.next += 1;
            connection.send(self.dialog.sender(&step), &sip::write(&self.dialog, &step), step);
            if self.next == self.steps.len() {
                connection.close();
            }
        }
        if let Some((step, at)) = connection.emit(framer) {
            self.note(&step, at);
        }
    }

    fn ends(&self, step: &Step) -> (SocketAddrV4, SocketAddrV4) {
        let sender = self.dialog.sender(step);
        (self.dialog.party(sender).signalling, self.dialog.party(sender.other()).signalling)
    }

    /// A message is on the wire.
    fn note(&mut self, step: &Step, at: Nanos) {
        let transaction = &self.dialog.transactions[step.transaction];
        match &mut self.ledger {
            Ledger::Call(call) => {
                call.messages += 1;
                call.retransmissions += u32::from(step.repeat);
                if transaction.in_dialog && transaction.method == Method::Invite {
                    // A re-INVITE: the call stands as it stood.
                    return;
                }
                call.note(transaction.method, step.kind, transaction.by, at);
            }
            Ledger::Registration(registration) => registration.note(step.kind, at),
        }
    }

    /// Its records, once every source has ended.
    pub(crate) fn truth(self, records: &mut Records) {
        let mut streams: Vec<_> =
            self.streams.iter().filter_map(|stream| stream.truth(&self.dialog.call_id)).collect();
        streams.sort_by_key(|stream| stream.first);
        match self.ledger {
            Ledger::Call(mut call) => {
                call.dtmf = self.streams.iter().flat_map(Stream::digits).collect();
                call.dtmf.sort_by_key(|digit| digit.time);
                records.push_back(Truth::Call(*call));
            }
            Ledger::Registration(registration) => records.push_back(Truth::Registration(*registration)),
        }
        records.extend(streams.into_iter().map(Truth::Stream));
    }
}

impl CallTruth {
    fn note(&mut self, method: Method, kind: Kind, by: Side, at: Nanos) {
        match (method, kind) {
            (Method::Invite, Kind::Request) => _ = self.invite.get_or_insert(at),
            (Method::Invite, Kind::Response(100)) => _ = self.trying.get_or_insert(at),
            (Method::Invite, Kind::Response(180)) => _ = self.ringing.get_or_insert(at),
            (Method::Invite, Kind::Response(code)) => self.answered(code, at),
            (Method::Cancel, Kind::Request) => {
                self.end.get_or_insert(at);
                self.state = CallState::Cancelled;
                self.released_by = Some(by.party());
            }
            (Method::Bye, Kind::Request) => {
                self.end.get_or_insert(at);
                self.state = CallState::Completed;
                self.released_by = Some(by.party());
            }
            _ => {}
        }
    }

    /// A final answer to the INVITE.
    fn answered(&mut self, code: u16, at: Nanos) {
        self.final_code = code;
        sip::phrase(code).clone_into(&mut self.final_reason);
        match code {
            200..=299 => _ = self.answer.get_or_insert(at),
            // A challenge is answered by another INVITE, always.
            401 | 407 => {}
            _ if self.state == CallState::Cancelled => {}
            _ => {
                self.end.get_or_insert(at);
                self.state = CallState::Failed;
            }
        }
    }
}

impl RegistrationTruth {
    fn note(&mut self, kind: Kind, at: Nanos) {
        self.first = self.first.min(at);
        self.last = at;
        match kind {
            Kind::Request => self.requests += 1,
            Kind::Response(code @ 200..=299) => {
                self.code = code;
                self.state = RegistrationState::Active;
            }
            Kind::Response(code) => {
                self.code = code;
                self.state = RegistrationState::Refused;
            }
            Kind::Ack(_) => {}
        }
    }
}
