//! What a recorder has of calls, streams and dialogs that are intercepted.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;

use ringtap_engine::CallNumber;
use ringtap_model::{Endpoint, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState};
use ringtap_spool::{Category, of_stream};

use super::stream_state::SerialHasher;
use super::verdict::alone_facts;
use crate::cases::CaseNote;
use crate::orders::{Orders, Ruling, place};
use crate::output::{OwnerRecording, PacketOutput};

/// What a worker has of it.
#[derive(Default)]
pub(super) struct Interceptions {
    /// By the stream's serial.
    pub(super) streams: HashMap<u64, InterceptedStream, BuildHasherDefault<SerialHasher>>,
    /// Streams of which packets wait.
    pub(super) waiting: Vec<u64>,
    /// Messages that belong to no call, by the key of their Call-ID.
    pub(super) others: HashMap<u64, InterceptedDialog>,
}

/// A call that may be intercepted.
pub(super) struct InterceptedCall {
    pub(super) track: OwnerRecording,
    pub(super) standing: CallDecision,
    /// Until the rules change, nothing more comes of them.
    pub(super) fixed: bool,
    /// The rules that match.
    pub(super) matched: Vec<usize>,
    pub(super) told: Option<Nanos>,
}

/// A stream of which product is kept, or may be.
pub(super) struct InterceptedStream {
    pub(super) track: OwnerRecording,
    pub(super) call: Option<CallNumber>,
    pub(super) hosts: [IpAddr; 2],
    pub(super) ssrc: u32,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// What the rules say of it where no call claims it, and for which cases.
    pub(super) alone: Option<(CallDecision, Vec<String>)>,
    /// No packet of it will come; since when.
    pub(super) left: Option<Nanos>,
    pub(super) told: Option<Nanos>,
}

/// Messages of one Call-ID that is no call's.
pub(super) struct InterceptedDialog {
    pub(super) track: OwnerRecording,
    pub(super) standing: CallDecision,
    pub(super) cases: Vec<String>,
    pub(super) last: Nanos,
    pub(super) told: Option<Nanos>,
}

impl InterceptedCall {
    pub(super) fn new(key: u64) -> Self {
        let track = OwnerRecording::product(Category::Signalling, key);
        Self { track, standing: CallDecision::default(), fixed: false, matched: Vec::new(), told: None }
    }

    /// More may become known of it.
    pub(super) fn is_open(&self) -> bool {
        !self.fixed
    }

    /// The call has ended.
    pub(super) fn end(mut self, output: &mut PacketOutput, now: Nanos) {
        output.end(&mut self.track, now);
    }
}

impl InterceptedStream {
    pub(super) fn new((src, dst, ssrc): (Endpoint, Endpoint, u32), time: Nanos) -> Self {
        Self {
            track: OwnerRecording::product(Category::Media, of_stream(src, dst, ssrc)),
            call: None,
            hosts: [src.ip, dst.ip],
            ssrc,
            first: time,
            last: time,
            alone: None,
            left: None,
            told: None,
        }
    }

    /// As its call does, or alone.
    pub(super) fn decision_of(&self, orders: &Orders, ruling: &Ruling) -> CallDecision {
        let known = match self.call {
            Some(call) => orders.products.get(place(call)),
            None => self.alone.as_ref().map(|(standing, _)| *standing).unwrap_or_default(),
        };
        match known.state {
            DecisionState::Unknown => CallDecision { what: ruling.products.most(), ..known },
            _ => known,
        }
    }

    /// What the rules say where no call claims it.
    pub(super) fn judge_alone(&mut self, ruling: &Ruling) {
        let facts = alone_facts(ruling, &self.hosts, self.ssrc, |facts| ruling.products.decide(facts));
        self.alone = Some((facts.standing, ruling.products.cases(&facts.matched)));
    }

    pub(super) fn tell(&mut self, orders: &Orders, now: Nanos) {
        if is_due(&self.track, &mut self.told, now) {
            let owner = self.track.key;
            orders.note(match (self.call, &self.alone) {
                (Some(call), _) => CaseNote::Owner { place: place(call), owner },
                (None, Some((_, cases))) => CaseNote::Alone { owner, cases: cases.clone() },
                (None, None) => return,
            });
        }
    }
}

/// Whether it is to be told whose an owner is: when the first of it is kept, and again from time to time.
pub(super) fn is_due(track: &OwnerRecording, told: &mut Option<Nanos>, now: Nanos) -> bool {
    let due = track.is_kept() && told.is_none_or(|told| told + AGAIN < now);
    if due {
        *told = Some(now);
    }
    due
}

/// It is told again whose an owner is, so that nothing is forgotten of one that goes on for days.
const AGAIN: Nanos = Nanos::from_secs(3_600);
