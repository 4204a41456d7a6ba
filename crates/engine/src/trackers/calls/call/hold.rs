//! Hold and transfer, as a call's messages tell of them.

use ringtap_model::{Nanos, Note};
use ringtap_quality::Texts;
use ringtap_quality::notes::{self, Transfer};
use ringtap_wire::sip::{Header, NameAddr, Uri};

use super::super::holds::AskedTransfer;
use super::super::message::CallMessage;
use super::{CallEntry, Parties};
use crate::spare::Spare;
use crate::text::text;
use crate::update::Side;

impl CallEntry {
    /// What a description says of hold. The answer to an offer on hold repeats it: that is the same hold.
    pub(crate) fn set_held(&mut self, side: Side, is_on: bool, is_offer: bool, time: Nanos) {
        let before = std::mem::replace(&mut self.held[side as usize], is_on);
        let is_echo = self.held[side.other() as usize] && !is_offer;
        // Before the answer it is early media, or a phone that listens only.
        if before != is_on && self.answer.is_some() && !(is_on && is_echo) {
            self.parties.holds[side as usize].set(is_on, time);
        }
    }

    /// A REFER within the call (RFC 3515); a Replaces in its target names the call it joins (RFC 3891).
    pub(super) fn add_refer(&mut self, received: &CallMessage<'_>, side: Side) {
        let Some(target) = received.message.header(Header::ReferTo).and_then(NameAddr::parse) else { return };
        let Some(to) = text(target.uri.user.unwrap_or(target.uri.host)) else { return };
        let is_attended = names_replaces(&target.uri);
        let (at, by) = (received.hop.time, Some(side.party()));
        let transfer = Transfer { at, by, to, is_attended, refused: None };
        // The same on another hop.
        let known = self.parties.transfer.as_ref().map(|known| &known.transfer);
        if known.is_none_or(|known| (&known.to, known.by) != (&transfer.to, by)) {
            self.has_grown = true;
            let transaction = received.transaction;
            self.parties.transfer = Some(Box::new(AskedTransfer { transfer, transaction }));
        }
    }

    /// The answer to a REFER.
    pub(super) fn answer_refer(&mut self, received: &CallMessage<'_>, code: u16) {
        if let Some(asked) = &mut self.parties.transfer
            && asked.transaction.is_some()
            && asked.transaction == received.transaction
            && code >= 300
            && !matches!(code, 401 | 407)
        {
            asked.transfer.refused = Some(code);
        }
    }

    /// An INVITE that takes the place of another call.
    pub(super) fn add_replaces(&mut self, received: &CallMessage<'_>) {
        let Some(value) = received.message.header(Header::Replaces) else { return };
        let call_id = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        let Some(to) = text(call_id) else { return };
        let at = received.hop.time;
        let transfer = Transfer { at, by: None, to, is_attended: true, refused: None };
        self.has_grown = true;
        self.parties.transfer = Some(Box::new(AskedTransfer { transfer, transaction: None }));
    }

    /// Notes of what signalling alone tells, of a call that ended then.
    pub(super) fn signalling_notes(&self, parties: &Parties, end: Nanos, spare: &Spare) -> Vec<Note> {
        let texts: Texts<'_> = &|text| spare.written(text);
        let holds = [Side::Caller, Side::Callee]
            .into_iter()
            .filter_map(|side| notes::hold(side.party(), &parties.holds[side as usize].until(end), texts));
        let transfer = parties.transfer.as_ref().map(|asked| notes::transfer(&asked.transfer, texts));
        let expired = self.expiry(parties.timer).map(|expiry| notes::session_expired(&expiry, texts));
        let mut all = spare.notes.take_any();
        all.extend(expired.into_iter().chain(holds).chain(transfer));
        all
    }
}

/// Whether the headers of a URI (RFC 3261 section 19.1.1) name Replaces.
fn names_replaces(uri: &Uri<'_>) -> bool {
    let name = b"Replaces=";
    uri.headers
        .split(|&byte| byte == b'&')
        .any(|header| header.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
}
