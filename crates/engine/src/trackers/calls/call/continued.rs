//! A call that goes on over a restart, as the last run left it.

use std::cell::OnceCell;

use ringtap_model::Nanos;

use super::super::links::Links;
use super::quality::MAX_REPORTS;
use super::{CallEntry, CallId, CallMessage, Continuation, MAX_DIGITS, MAX_DIVERTED, Parties, tag_hash};
use crate::context::Hop;
use crate::continued::ContinuedCall;
use crate::media::MAX_LEGS;
use crate::table::hash::Hasher;

impl CallEntry {
    /// A call that the last run followed until [`ContinuedCall::until`], found by this hash of its Call-ID.
    ///
    /// What the disk says of it holds no more than what the wire can say, and overflows no count.
    pub(crate) fn continued(call: &ContinuedCall, hash: u64, now: Nanos, drops: u64) -> Self {
        let record = &call.record;
        let hop = Hop {
            time: call.until,
            src: record.src,
            dst: record.dst,
            transport: record.transport,
            ip_id: 0,
            sender: None,
        };
        let text = Option::<String>::clone;
        let agents = [text(&record.user_agent_caller), text(&record.user_agent_callee)];
        let messages = record.messages.min(u32::MAX / 2);
        let parties = Parties {
            from_user: text(&record.from_user),
            from_host: text(&record.from_host),
            from_display: text(&record.from_display),
            to_user: text(&record.to_user),
            to_host: text(&record.to_host),
            ruri_user: text(&record.ruri_user),
            ruri_host: text(&record.ruri_host),
            asserted: text(&record.asserted_identity),
            final_reason: text(&record.final_reason),
            diverted: record.diverted_to.iter().take(MAX_DIVERTED).cloned().collect(),
            digits: record.dtmf.iter().take(MAX_DIGITS).cloned().collect(),
            reports: record.quality_reports.iter().take(MAX_REPORTS).cloned().collect(),
            pressed: None,
            id: OnceCell::from(record.id),
            links: Links::of_record(&record.links),
            continuation: Some(Box::new(Continuation::of(record, messages, call.until, now))),
            agents: agents.clone(),
            ..Parties::default()
        };
        let types = call.legs.iter().map(|leg| leg.codecs.len()).max().unwrap_or_default();
        Self {
            call_id: CallId::new(record.call_id.as_bytes()),
            first: record.start().unwrap_or(call.until),
            has_agent: agents.map(|agent| agent.is_some()),
            parties: Box::new(parties),
            invite: record.invite,
            trying: record.trying,
            ringing: record.ringing,
            answer: record.answer,
            final_code: record.final_code,
            cause: record.cause,
            messages,
            retransmissions: record.retransmissions.min(messages),
            // Its first descriptions were seen.
            linked: 3,
            announced: !call.legs.is_empty(),
            announced_ends: call.legs.len().min(MAX_LEGS) as u16,
            announced_types: types.min(usize::from(u16::MAX)) as u16,
            ..Self::new(&[], hash, &hop, drops)
        }
    }

    /// When the last run ended, if this run has not seen a message of the call.
    pub(crate) fn silent_since(&self) -> Option<Nanos> {
        let continuation = self.parties.continuation.as_ref()?;
        (continuation.messages == self.messages).then_some(continuation.since)
    }

    /// Whether the caller sent the request, where the tags of the parties are not known: by the address that
    /// the first INVITE came from. Learns the caller's tag.
    #[cold]
    pub(super) fn requested_by_caller(&mut self, received: &CallMessage<'_>, hasher: &Hasher) -> bool {
        let CallMessage { message, hop, .. } = *received;
        let requester = if message.code().is_some() { hop.dst } else { hop.src };
        let by_caller = match () {
            () if requester == self.src => true,
            () if requester == self.dst => false,
            () => requester.ip == self.src.ip,
        };
        let tag = match by_caller {
            true => message.from_tag().flatten(),
            false => message.to().and_then(|to| to.tag()),
        };
        self.caller_tag = tag_hash(tag, hasher);
        by_caller
    }
}
