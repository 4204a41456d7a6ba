//! Filters: conditions on records, with one meaning wherever records are searched.
//!
//! A capture and a database that was made of it give the same records for the same filter: both ask these
//! functions. The database may leave out beforehand what cannot match.

mod number;
mod pattern;
mod range;

pub use number::{NumberPattern, digits_of};
pub use pattern::{CodecName, PUNCTUATION, Pattern, Words};
pub use range::{CodeRange, DurationRange};

use crate::{
    Alarm, Call, CallState, Endpoint, Id, Message, Nanos, Network, NoteCode, Registration, Stream,
    Transaction,
};

/// One condition on a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The calling party: user of From, or asserted identity.
    From(NumberPattern),
    /// The called party: user of To or of the Request-URI, or a number that the call was routed on to.
    To(NumberPattern),
    /// Either of them; the address of record of a registration.
    Number(NumberPattern),
    /// The Call-ID.
    CallId(Pattern),
    /// The state of a call is one of these.
    State(Vec<CallState>),
    /// The code of the final answer is in one of these ranges.
    Code(Vec<CodeRange>),
    /// It began then or later, to the microsecond.
    Since(Nanos),
    /// It began before, to the microsecond.
    Until(Nanos),
    /// It has a MOS, and a lower one than this.
    MosBelow(f64),
    /// A stream lost more than this percentage of its packets.
    LossAbove(f64),
    /// From answer to release; of a stream, from its first packet to its last.
    Duration(DurationRange),
    /// A stream has one of these codecs.
    Codec(Vec<CodecName>),
    /// A host of the first INVITE, or of a stream, is in one of these networks.
    Ip(Vec<Network>),
    /// The User-Agent or Server of either side.
    UserAgent(Words),
    /// The trunk that a call came from or went to is one of these.
    Trunk(Vec<Pattern>),
    /// It has a note of one of these codes.
    Note(Vec<NoteCode>),
    /// It has a note of a problem: of anything but a hold or a transfer.
    Problems,
    /// It is a leg of this conversation.
    Conversation(Id),
}

/// Conditions that must all hold. The default selects every record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(pub Vec<Condition>);

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// The call that a stream belongs to.
    Call,
    /// The streams of a call.
    Streams,
    /// The record itself.
    Record,
}

impl Condition {
    fn subject(&self) -> Subject {
        match self {
            Self::From(_)
            | Self::To(_)
            | Self::Number(_)
            | Self::State(_)
            | Self::Code(_)
            | Self::UserAgent(_)
            | Self::Trunk(_)
            | Self::Conversation(_) => Subject::Call,
            Self::LossAbove(_) | Self::Codec(_) | Self::Ip(_) => Subject::Streams,
            _ => Subject::Record,
        }
    }

    /// Whether `call` with these streams satisfies it.
    fn holds_for_call(&self, call: &Call, streams: &[Stream]) -> bool {
        let any = |test: &dyn Fn(&Stream) -> bool| streams.iter().any(test);
        match self {
            Self::From(pattern) => callers(call).any(|user| pattern.matches(user)),
            Self::To(pattern) => callees(call).any(|user| pattern.matches(user)),
            Self::Number(pattern) => callers(call).chain(callees(call)).any(|user| pattern.matches(user)),
            Self::CallId(pattern) => pattern.matches(&call.call_id),
            Self::State(states) => states.contains(&call.state),
            Self::Code(codes) => has_code(codes, call.final_code),
            // A call whose start is unknown matches no time.
            Self::Since(since) => call.start().is_some_and(|start| is_since(start, *since)),
            Self::Until(until) => call.start().is_some_and(|start| !is_since(start, *until)),
            Self::MosBelow(limit) => call.mos.is_some_and(|mos| mos < *limit),
            Self::LossAbove(_) | Self::Codec(_) => any(&|stream| self.holds_for_stream(stream)),
            Self::Duration(range) => call.duration_ms.is_some_and(|millis| range.contains(millis)),
            Self::Ip(networks) => {
                hosts(networks, [call.src, call.dst]) || any(&|stream| self.holds_for_stream(stream))
            }
            Self::UserAgent(words) => {
                let agents = [&call.user_agent_caller, &call.user_agent_callee];
                agents.into_iter().flatten().any(|agent| words.matches(agent))
            }
            Self::Trunk(patterns) => {
                let trunks = [&call.trunk_from, &call.trunk_to];
                let is_one = |trunk: &String| patterns.iter().any(|pattern| pattern.matches(trunk));
                trunks.into_iter().flatten().any(is_one)
            }
            Self::Note(codes) => call.notes.iter().any(|note| codes.contains(&note.code)),
            Self::Problems => call.notes.iter().any(|note| note.code.is_problem()),
            Self::Conversation(id) => call.conversation == Some(*id),
        }
    }

    /// Whether `stream` satisfies it by itself; conditions on its call do not hold.
    fn holds_for_stream(&self, stream: &Stream) -> bool {
        match self {
            Self::CallId(pattern) => stream.call_id.as_ref().is_some_and(|call_id| pattern.matches(call_id)),
            Self::Since(since) => is_since(stream.first, *since),
            Self::Until(until) => !is_since(stream.first, *until),
            Self::MosBelow(limit) => stream.mos.is_some_and(|mos| mos < *limit),
            Self::LossAbove(limit) => stream.loss_pct() > *limit,
            Self::Duration(range) => range.contains(stream.duration_ms()),
            Self::Codec(names) => {
                stream.codec.as_ref().is_some_and(|codec| names.iter().any(|name| name.matches(codec)))
            }
            Self::Ip(networks) => hosts(networks, [stream.src, stream.dst]),
            Self::Note(codes) => stream.notes.iter().any(|note| codes.contains(&note.code)),
            Self::Problems => stream.notes.iter().any(|note| note.code.is_problem()),
            Self::From(_)
            | Self::To(_)
            | Self::Number(_)
            | Self::State(_)
            | Self::Code(_)
            | Self::UserAgent(_)
            | Self::Trunk(_)
            | Self::Conversation(_) => false,
        }
    }

    /// Whether registrations have what it is about.
    pub fn fits_registrations(&self) -> bool {
        matches!(
            self,
            Self::Number(_)
                | Self::Code(_)
                | Self::Since(_)
                | Self::Until(_)
                | Self::Ip(_)
                | Self::UserAgent(_)
        )
    }

    fn holds_for_registration(&self, registration: &Registration) -> bool {
        match self {
            Self::Number(pattern) => pattern.matches(user(&registration.aor)),
            Self::Code(codes) => has_code(codes, registration.code),
            Self::Since(since) => is_since(registration.first, *since),
            Self::Until(until) => !is_since(registration.first, *until),
            Self::Ip(networks) => hosts(networks, [registration.src, registration.dst]),
            Self::UserAgent(words) => {
                registration.user_agent.as_ref().is_some_and(|agent| words.matches(agent))
            }
            _ => false,
        }
    }

    /// Whether SIP MESSAGEs have what it is about.
    pub fn fits_messages(&self) -> bool {
        matches!(
            self,
            Self::From(_)
                | Self::To(_)
                | Self::Number(_)
                | Self::CallId(_)
                | Self::Code(_)
                | Self::Since(_)
                | Self::Until(_)
                | Self::Ip(_)
        )
    }

    fn holds_for_message(&self, message: &Message) -> bool {
        let is = |pattern: &NumberPattern, party: &Option<String>| {
            party.as_ref().is_some_and(|party| pattern.matches(user(party)))
        };
        match self {
            Self::From(pattern) => is(pattern, &message.from),
            Self::To(pattern) => is(pattern, &message.to),
            Self::Number(pattern) => is(pattern, &message.from) || is(pattern, &message.to),
            Self::CallId(pattern) => pattern.matches(&message.call_id),
            Self::Code(codes) => has_code(codes, message.code),
            Self::Since(since) => is_since(message.time, *since),
            Self::Until(until) => !is_since(message.time, *until),
            Self::Ip(networks) => hosts(networks, [message.src, message.dst]),
            _ => false,
        }
    }

    /// Whether SIP transactions outside of calls have what it is about.
    pub fn fits_transactions(&self) -> bool {
        self.fits_messages() || matches!(self, Self::UserAgent(_))
    }

    fn holds_for_transaction(&self, transaction: &Transaction) -> bool {
        let is = |pattern: &NumberPattern, party: &Option<String>| {
            party.as_ref().is_some_and(|party| pattern.matches(user(party)))
        };
        match self {
            Self::From(pattern) => is(pattern, &transaction.from),
            Self::To(pattern) => is(pattern, &transaction.to),
            Self::Number(pattern) => is(pattern, &transaction.from) || is(pattern, &transaction.to),
            Self::CallId(pattern) => pattern.matches(&transaction.call_id),
            Self::Code(codes) => has_code(codes, transaction.code),
            Self::Since(since) => is_since(transaction.time, *since),
            Self::Until(until) => !is_since(transaction.time, *until),
            Self::Ip(networks) => hosts(networks, [transaction.src, transaction.dst]),
            Self::UserAgent(words) => {
                transaction.user_agent.as_ref().is_some_and(|agent| words.matches(agent))
            }
            _ => false,
        }
    }

    /// Whether alarms have what it is about: they are searched by time alone.
    pub fn fits_alarms(&self) -> bool {
        matches!(self, Self::Since(_) | Self::Until(_))
    }
}

impl Filter {
    /// Selects by Call-ID alone.
    pub fn call_id(pattern: Pattern) -> Self {
        Self(vec![Condition::CallId(pattern)])
    }

    /// Whether there is a condition.
    pub fn is_set(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether a call has to be looked at together with its streams.
    pub fn needs_streams(&self) -> bool {
        self.0.iter().any(|condition| condition.subject() == Subject::Streams)
    }

    /// The conditions that streams satisfy through their call.
    pub fn of_calls(&self) -> Self {
        let of_calls = |condition: &&Condition| condition.subject() == Subject::Call;
        Self(self.0.iter().filter(of_calls).cloned().collect())
    }

    /// Whether `call`, which has these streams, satisfies every condition. A condition on streams may be
    /// satisfied by any of them.
    pub fn selects_call(&self, call: &Call, streams: &[Stream]) -> bool {
        self.0.iter().all(|condition| condition.holds_for_call(call, streams))
    }

    /// Whether `stream` satisfies every condition, those on numbers, state, code and User-Agent through its
    /// call.
    pub fn selects_stream(&self, stream: &Stream, call: Option<&Call>) -> bool {
        self.0.iter().all(|condition| match condition.subject() {
            Subject::Call => call.is_some_and(|call| condition.holds_for_call(call, &[])),
            Subject::Streams | Subject::Record => condition.holds_for_stream(stream),
        })
    }

    /// Whether `registration` satisfies every condition.
    pub fn selects_registration(&self, registration: &Registration) -> bool {
        self.0.iter().all(|condition| condition.holds_for_registration(registration))
    }

    /// Whether `message` satisfies every condition.
    pub fn selects_message(&self, message: &Message) -> bool {
        self.0.iter().all(|condition| condition.holds_for_message(message))
    }

    /// Whether `transaction` satisfies every condition.
    pub fn selects_transaction(&self, transaction: &Transaction) -> bool {
        self.0.iter().all(|condition| condition.holds_for_transaction(transaction))
    }

    /// Whether a record that began then satisfies every condition: those of time are all that it can.
    pub fn selects_time(&self, time: Nanos) -> bool {
        self.0.iter().all(|condition| match condition {
            Condition::Since(since) => is_since(time, *since),
            Condition::Until(until) => !is_since(time, *until),
            _ => false,
        })
    }

    /// Whether `alarm` satisfies every condition.
    pub fn selects_alarm(&self, alarm: &Alarm) -> bool {
        self.selects_time(alarm.raised)
    }
}

fn callers(call: &Call) -> impl Iterator<Item = &str> {
    [call.from_user.as_deref(), call.asserted_identity.as_deref()].into_iter().flatten()
}

fn callees(call: &Call) -> impl Iterator<Item = &str> {
    let named = [call.to_user.as_deref(), call.ruri_user.as_deref()].into_iter().flatten();
    named.chain(call.diverted_to.iter().map(String::as_str))
}

/// The user of `user@host`, or all of it.
fn user(address: &str) -> &str {
    address.split_once('@').map_or(address, |(user, _)| user)
}

fn has_code(codes: &[CodeRange], code: u16) -> bool {
    codes.iter().any(|range| range.contains(code))
}

fn hosts(networks: &[Network], hosts: [Endpoint; 2]) -> bool {
    hosts.iter().any(|host| networks.iter().any(|network| network.holds(host.ip)))
}

/// Whether `time` is `limit` or later. Records are stored in microseconds, so both are compared in those.
fn is_since(time: Nanos, limit: Nanos) -> bool {
    time.micros() >= limit.0.div_ceil(1_000)
}
