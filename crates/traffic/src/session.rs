//! An active call or registration: messages and reports in order of time.

use ringtap_model::{CallState, Nanos, Party as Releaser, Protocol, RegistrationState, Transport};

use crate::addresses::endpoint;
use crate::dialog::{Dialog, MessageKind, Method, Party, PlannedMessage, Side};
use crate::frame::{Framer, Head};
use crate::reports::Reports;
use crate::sip;
use crate::slab::Slab;
use crate::stream::Stream;
use crate::tcp::Connection;
use crate::truth::{CallTruth, PathTruth, Records, RegistrationTruth, StreamTruth, Truth};

/// Messages and reports; streams are stored elsewhere, so that a media packet touches nothing else.
#[derive(Debug)]
pub(crate) struct Session {
    dialog: Dialog,
    /// In order of time.
    steps: Vec<PlannedMessage>,
    next: usize,
    vlan: Option<u16>,
    connection: Option<Box<Connection>>,
    reports: Option<Box<Reports>>,
    /// Streams of each side, in order of time.
    streams: [Vec<u32>; 2],
    /// Stream of the fork.
    fork: Option<u32>,
    /// Sources of frames that are still active.
    pub(crate) live: u8,
    progress: Progress,
}

/// State for the truth.
#[derive(Debug)]
enum Progress {
    Call(CallProgress),
    Registration(RegistrationProgress),
}

#[derive(Debug)]
struct CallProgress {
    state: CallState,
    final_code: u16,
    released_by: Option<Releaser>,
    invite: Option<Nanos>,
    trying: Option<Nanos>,
    ringing: Option<Nanos>,
    answer: Option<Nanos>,
    end: Option<Nanos>,
    messages: u32,
    retransmissions: u32,
}

#[derive(Debug)]
struct RegistrationProgress {
    state: RegistrationState,
    code: u16,
    first: Nanos,
    last: Nanos,
    requests: u32,
}

impl Session {
    /// A call.
    pub(crate) fn call(
        dialog: Dialog,
        steps: Vec<PlannedMessage>,
        connection: Option<Connection>,
        reports: Option<Reports>,
        vlan: Option<u16>,
    ) -> Self {
        let progress = Progress::Call(CallProgress {
            state: CallState::Trying,
            final_code: 0,
            released_by: None,
            invite: None,
            trying: None,
            ringing: None,
            answer: None,
            end: None,
            messages: 0,
            retransmissions: 0,
        });
        Self::new(dialog, steps, connection, reports, vlan, progress)
    }

    /// A registration.
    pub(crate) fn registration(
        dialog: Dialog,
        steps: Vec<PlannedMessage>,
        connection: Option<Connection>,
        vlan: Option<u16>,
    ) -> Self {
        let progress = Progress::Registration(RegistrationProgress {
            state: RegistrationState::Expired,
            code: 0,
            first: Nanos::MAX,
            last: Nanos::ZERO,
            requests: 0,
        });
        Self::new(dialog, steps, connection, None, vlan, progress)
    }

    fn new(
        dialog: Dialog,
        steps: Vec<PlannedMessage>,
        connection: Option<Connection>,
        reports: Option<Reports>,
        vlan: Option<u16>,
        progress: Progress,
    ) -> Self {
        Self {
            dialog,
            steps,
            next: 0,
            vlan,
            connection: connection.map(Box::new),
            reports: reports.map(Box::new),
            streams: [Vec::new(), Vec::new()],
            fork: None,
            live: 0,
            progress,
        }
    }

    /// Adds a stream by its number.
    pub(crate) fn add(&mut self, stream: u32, side: Side, fork: bool) {
        match fork {
            true => self.fork = Some(stream),
            false => self.streams[side as usize].push(stream),
        }
    }

    /// All its streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u32> {
        self.streams.iter().flatten().copied().chain(self.fork)
    }

    /// Time of the next signalling frame; None at the end.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let step = self.steps.get(self.next).map(|step| step.at);
        let segment = self.connection.as_ref().and_then(|connection| connection.next_at());
        step.into_iter().chain(segment).min()
    }

    /// Time of the next report; None at the end, or without reports.
    pub(crate) fn next_report_at(&self) -> Option<Nanos> {
        self.reports.as_ref().and_then(|reports| reports.next_at())
    }

    /// Writes the next report frame.
    pub(crate) fn report(&mut self, streams: &Slab<Stream>, framer: &mut Framer) {
        if let Some(reports) = &mut self.reports {
            reports.emit(&self.streams, streams, framer);
        }
    }

    /// Writes the next signalling frame, captured `late` after its time.
    pub(crate) fn signal(&mut self, late: Nanos, framer: &mut Framer) {
        let Some(connection) = &mut self.connection else {
            let Some(step) = self.steps.get(self.next).copied() else { return };
            self.next += 1;
            let sender = self.dialog.sender(&step);
            let (src, dst) = (self.dialog.party(sender), self.dialog.party(sender.other()));
            let head = Head::new(src.signalling, dst.signalling, self.vlan);
            let text = sip::write(&self.dialog, &step);
            framer.udp(&head, |payload| payload.extend_from_slice(text.as_bytes()));
            return self.record_message(&step, step.at + late);
        };
        // Due messages become segments; earlier segments may still be queued.
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
            self.record_message(&step, at + late);
        }
    }

    /// Records a message that was sent.
    fn record_message(&mut self, step: &PlannedMessage, at: Nanos) {
        let transaction = self.dialog.transaction(step);
        match &mut self.progress {
            Progress::Call(call) => {
                call.messages += 1;
                call.retransmissions += u32::from(step.repeat);
                if transaction.in_dialog && transaction.method == Method::Invite {
                    // A re-INVITE does not change the call's state.
                    return;
                }
                call.record_message(transaction.method, step.kind, transaction.by, at);
            }
            Progress::Registration(registration) => registration.record_message(step.kind, at),
        }
    }

    /// Writes its records, after every source has ended.
    pub(crate) fn truth(&self, streams: &Slab<Stream>, records: &mut Records) {
        let own = || self.streams().map(|stream| &streams[stream]);
        match &self.progress {
            Progress::Call(call) => {
                let mut dtmf: Vec<_> = own().flat_map(Stream::digits).collect();
                dtmf.sort_by_key(|digit| digit.time);
                records.push_back(Truth::Call(CallTruth {
                    dtmf,
                    ..call.record(&self.dialog, self.transport())
                }));
            }
            Progress::Registration(registration) => {
                records.push_back(Truth::Registration(registration.record(&self.dialog)));
            }
        }
        let truth = |stream: &Stream| {
            let path = self.reports.as_ref().map(|reports| PathTruth {
                places: stream.statistics().places,
                rtt_ms: reports.round_trip(stream.sender().side.other()).millis_f64(),
            });
            Some(StreamTruth { path, ..stream.truth(&self.dialog.call_id)? })
        };
        let mut told: Vec<_> = own().filter_map(truth).collect();
        told.sort_by_key(|stream| stream.first);
        records.extend(told.into_iter().map(Truth::Stream));
    }

    fn transport(&self) -> Transport {
        if self.connection.is_some() { Transport::Tcp } else { Transport::Udp }
    }
}

impl CallProgress {
    fn record(&self, dialog: &Dialog, transport: Transport) -> CallTruth {
        let [caller, callee] = &dialog.parties;
        let final_reason =
            if self.final_code == 0 { String::new() } else { sip::phrase(self.final_code).to_owned() };
        CallTruth {
            call_id: dialog.call_id.clone(),
            protocol: Protocol::Sip,
            transport,
            src: endpoint(caller.signalling),
            dst: endpoint(callee.signalling),
            from_user: caller.user.clone(),
            from_host: caller.domain.to_owned(),
            to_user: callee.user.clone(),
            to_host: callee.domain.to_owned(),
            state: self.state,
            final_code: self.final_code,
            final_reason,
            released_by: self.released_by,
            invite: self.invite,
            trying: self.trying,
            ringing: self.ringing,
            answer: self.answer,
            end: self.end,
            messages: self.messages,
            retransmissions: self.retransmissions,
            dtmf: Vec::new(),
        }
    }

    fn record_message(&mut self, method: Method, kind: MessageKind, by: Side, at: Nanos) {
        match (method, kind) {
            (Method::Invite, MessageKind::Request) => _ = self.invite.get_or_insert(at),
            (Method::Invite, MessageKind::Response(100)) => _ = self.trying.get_or_insert(at),
            (Method::Invite, MessageKind::Response(180 | 183)) => _ = self.ringing.get_or_insert(at),
            (Method::Invite, MessageKind::Response(code)) => self.answered(code, at),
            (Method::Cancel, MessageKind::Request) => {
                self.end.get_or_insert(at);
                self.state = CallState::Cancelled;
                self.released_by = Some(by.party());
            }
            (Method::Bye, MessageKind::Request) => {
                self.end.get_or_insert(at);
                self.state = CallState::Completed;
                self.released_by = Some(by.party());
            }
            _ => {}
        }
    }

    /// A final response to the INVITE.
    fn answered(&mut self, code: u16, at: Nanos) {
        self.final_code = code;
        match code {
            200..=299 => _ = self.answer.get_or_insert(at),
            // Another INVITE always follows a challenge.
            401 | 407 => {}
            _ if self.state == CallState::Cancelled => {}
            _ => {
                self.end.get_or_insert(at);
                self.state = CallState::Failed;
            }
        }
    }
}

impl RegistrationProgress {
    fn record(&self, dialog: &Dialog) -> RegistrationTruth {
        let [caller, registrar] = &dialog.parties;
        let Party { user, domain, signalling, .. } = caller;
        let transport = if dialog.transport == "TCP" { ";transport=tcp" } else { "" };
        RegistrationTruth {
            aor: format!("{user}@{domain}"),
            contact: format!("sip:{user}@{signalling}{transport}"),
            src: endpoint(*signalling),
            dst: endpoint(registrar.signalling),
            state: self.state,
            code: self.code,
            first: self.first,
            last: self.last,
            requests: self.requests,
        }
    }

    fn record_message(&mut self, kind: MessageKind, at: Nanos) {
        self.first = self.first.min(at);
        self.last = at;
        match kind {
            MessageKind::Request => self.requests += 1,
            MessageKind::Response(code @ 200..=299) => {
                self.code = code;
                self.state = RegistrationState::Active;
            }
            MessageKind::Response(code) => {
                self.code = code;
                self.state = RegistrationState::Refused;
            }
            MessageKind::Ack(_) => {}
        }
    }
}
