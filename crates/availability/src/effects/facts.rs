//! What has to be known of calls and registrations before the effects of a failover can be told: no packets.

use std::net::IpAddr;

use ringtap_model::{Call, CallState, Direction, Id, Nanos, Stream};

use crate::call_seen::{is_of_network, user_key};
use crate::observation::Observer;
use crate::record::ServiceAddress;

/// Timer C of RFC 3261 section 16.6: after this time a proxy gives up an INVITE that has no final answer.
pub(crate) const LONGEST_SET_UP: Nanos = Nanos::from_secs(180);

/// Everything that was collected of an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// One entry for each Call-ID, in order of the first INVITE.
    pub calls: Vec<CallFacts>,
    /// REGISTER requests that waited, or were refused by 500 or 503, in order of time.
    pub registers: Vec<RegisterFacts>,
    /// The last moment of the input.
    pub until: Nanos,
    /// Calls of the input, those included that the ceiling turned away.
    pub total: u64,
    /// Calls of which nothing is known, since the ceiling turned them away.
    pub calls_refused: u64,
    /// SIP messages, gaps and packets of streams that ceilings turned away.
    pub facts_refused: u64,
}

/// One call attempt: a Call-ID, on however many hops it was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    /// As in its record.
    pub id: Id,
    /// As in its record.
    pub call_id: String,
    /// Who calls: the same number where it is the same user.
    pub caller: Option<u64>,
    /// Who is called.
    pub callee: Option<u64>,
    /// The first INVITE.
    pub invite: Nanos,
    /// The first 18x.
    pub rang: Option<Nanos>,
    /// The first 2xx.
    pub answered: Option<Nanos>,
    /// The first BYE, CANCEL, or final failure; the last packet where it ended without any.
    pub ended: Option<Nanos>,
    /// How it ended.
    pub ending: Ending,
    /// INVITEs outside of a dialog, one entry for each that a host sent to a service, in order of time.
    pub attempts: Vec<Attempt>,
    /// What is known of its BYEs.
    pub release: Release,
    /// Its streams; None while they are not known, as of a call that goes on.
    pub media: Option<Vec<MediaFacts>>,
    /// Times in which no packet of a direction came although packets were sent.
    pub gaps: Vec<Gap>,
    /// Times in which a side had put the other on hold.
    pub holds: Vec<(Nanos, Nanos)>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did not, as far as is known.
    Open,
    /// It was answered, and then ended or not.
    Answered,
    /// Without an answer for a reason of the network, with that code; 0 where there was no final answer.
    Network(u16),
    /// The caller gave it up.
    Cancelled,
    /// By what a user did: busy, no answer, wrong number, redirection.
    User,
}

/// An INVITE that one host sent to one service, with its repeats and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Who sent it.
    pub client: IpAddr,
    /// Where to.
    pub service: ServiceAddress,
    /// When first.
    pub first: Nanos,
    /// The first repeat.
    pub repeated: Option<Nanos>,
    /// When last.
    pub last: Nanos,
    /// The first answer of any kind.
    pub answered: Option<Nanos>,
    /// The first answer other than 100.
    pub progressed: Option<Nanos>,
    /// The first final answer.
    pub ended: Option<Nanos>,
    /// Its code, 0 where there is none.
    pub code: u16,
}

/// What BYEs tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// When the first BYE was sent, by whomever.
    pub bye: Option<Nanos>,
    /// When a proxy sent a BYE that no telephone had sent.
    pub by_proxy: Option<Nanos>,
    /// When a BYE named a reason of the network (RFC 3326).
    pub reason: Option<Nanos>,
}

/// A stream of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaFacts {
    /// Which way it flows, where that is known.
    pub direction: Option<Direction>,
    /// The first packet.
    pub first: Nanos,
    /// The last packet.
    pub last: Nanos,
}

/// A time without packets of a direction, between two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Which way the missing packets went, where that is known.
    pub direction: Option<Direction>,
    /// The last packet before.
    pub from: Nanos,
    /// The first packet after.
    pub until: Nanos,
}

/// A REGISTER that waited, or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterFacts {
    /// Where it was sent to.
    pub service: ServiceAddress,
    /// Who registers: the same number as that of a caller.
    pub user: u64,
    /// When it was sent first.
    pub first: Nanos,
    /// When it was sent last.
    pub last: Nanos,
    /// The first answer.
    pub answered: Option<Nanos>,
    /// Code of that, 0 where there is none.
    pub code: u16,
}

impl CallFacts {
    /// What a record tells: one hop, nothing of repeats, who sent the BYE, or gaps. None for a record without
    /// an INVITE.
    pub fn of(call: &Call, observer: &Observer) -> Option<Self> {
        let invite = call.invite?;
        let progressed = call.ringing.or(call.answer).or(call.end.filter(|_| call.final_code != 0));
        let answered = [call.trying, progressed].into_iter().flatten().min();
        let ended = if call.final_code == 0 { None } else { call.answer.or(call.end) };
        let attempt = Attempt {
            client: call.src.ip,
            service: ServiceAddress { endpoint: call.dst, transport: call.transport },
            first: invite,
            repeated: None,
            last: invite,
            answered,
            progressed,
            ended,
            code: call.final_code,
        };
        let user = |user: &Option<String>, host: &Option<String>| {
            let [user, host] = [user, host].map(|text| text.as_deref().map(str::as_bytes));
            user_key(user, host, &observer.hasher)
        };
        let bye = call.end.filter(|_| call.state == CallState::Completed);
        Some(Self {
            id: call.id,
            call_id: call.call_id.clone(),
            caller: user(&call.from_user, &call.from_host),
            callee: user(&call.to_user, &call.to_host),
            invite,
            rang: call.ringing,
            answered: call.answer,
            ended: call.end,
            ending: Ending::of(call),
            attempts: vec![attempt],
            release: Release { bye, ..Release::default() },
            media: Some(Vec::new()),
            gaps: Vec::new(),
            holds: Vec::new(),
        })
    }

    /// When its set-up was over for who calls: the first 18x, or 2xx where there is none, on whichever hop.
    pub fn set_up(&self) -> Option<Nanos> {
        self.rang.or(self.answered)
    }

    /// When who calls heard of an answer, or of ringing: later than it was seen if a proxy was lost with it.
    pub(crate) fn heard(&self) -> Option<Nanos> {
        let caller = self.attempts.first()?.client;
        let own = self.attempts.iter().filter(|sent| sent.client == caller);
        // A refusal, a challenge too, is followed by the next attempt.
        own.filter_map(|sent| sent.progressed.filter(|at| sent.code < 300 || sent.ended != Some(*at))).min()
    }

    /// Whether it was being set up, or established, at some time from `from` to `until`.
    pub(crate) fn is_within(&self, from: Nanos, until: Nanos) -> bool {
        let given_up = || self.attempts.iter().map(|sent| sent.last + LONGEST_SET_UP).max();
        let ended = match self.answered {
            Some(_) => self.ended,
            None => self.ended.or_else(given_up),
        };
        self.invite <= until && ended.is_none_or(|ended| ended >= from)
    }

    /// Whether it was signalled through that address.
    pub fn passes(&self, address: IpAddr) -> bool {
        self.attempts.iter().any(|sent| sent.client == address || sent.service.endpoint.ip == address)
    }
}

impl MediaFacts {
    /// Of its record.
    pub(crate) fn of(stream: &Stream) -> Self {
        Self { direction: stream.direction, first: stream.first, last: stream.last }
    }
}

impl Ending {
    fn of(call: &Call) -> Self {
        match (call.state, call.final_code) {
            _ if call.answer.is_some() => Self::Answered,
            // A proxy cancels a branch that does not answer, too: what the caller got counts.
            (_, code) if is_of_network(code) && !call.cause.is_some_and(is_of_user) => Self::Network(code),
            (CallState::Cancelled, _) => Self::Cancelled,
            (CallState::Timeout, 0) => Self::Network(0),
            (_, 0) => Self::Open,
            _ => Self::User,
        }
    }
}

/// Causes of Q.850 that are about who is called, whatever the code that they come with.
fn is_of_user(cause: u16) -> bool {
    matches!(cause, 1 | 16..=22 | 28 | 31)
}
