//! One SIP transaction outside of calls: its tries, its answer and its record.

use ringtap_model::{Message as MessageRecord, Nanos, Transaction};
use ringtap_wire::sip::{Header, Message, Method, NameAddr};

use crate::context::{Hop, SipMessage};
use crate::table::hash;
use crate::text::{round, text};
use crate::trackers::callid::CallId;

/// Timer F (RFC 3261 section 17.1.2.2) and a margin.
pub(super) const ANSWER_LIMIT: Nanos = Nanos::from_secs(40);
/// Who has lost the answer repeats the request within T2, 4 s; then timer K, 5 s, is over (RFC 3261 section
/// 17.1.2.2).
const REPEAT_LIMIT: Nanos = Nanos::from_secs(5);

/// A transaction, with the challenges that it answers.
pub(super) struct Entry {
    pub(super) call_id: CallId,
    pub(super) method: Method,
    /// Of the newest try.
    pub(super) cseq: u32,
    /// Of its key.
    pub(super) hash: u64,
    /// Hash of the branch of the newest try, where it was first seen: another hop has another.
    branch: u64,
    /// The first request.
    pub(super) first: Nanos,
    /// The newest try, and the newest message.
    tried: Nanos,
    last: Nanos,
    /// Of the final answer, 0 without one.
    pub(super) code: u16,
    /// The answer came where the request was first seen.
    is_own: bool,
    delay: Nanos,
    record: Option<Box<Record>>,
    /// Bytes that the table counts for it.
    pub(super) memory: usize,
}

/// What is told of it.
pub(super) enum Record {
    Message(MessageRecord),
    Transaction(Transaction),
}

impl Entry {
    /// Begins with a request of the key that has this hash.
    pub(super) fn begin(
        sip: &SipMessage<'_>,
        key: (&[u8], u32, u64),
        branch: u64,
        is_recorded: bool,
    ) -> Self {
        let (call_id, cseq, hash) = key;
        let SipMessage { message, method, hop, .. } = *sip;
        let kept = CallId::new(call_id);
        let record = match method {
            Method::Message => Some(Record::Message(message_record(call_id, cseq, &kept, message, hop))),
            _ if is_recorded => {
                Some(Record::Transaction(transaction_record(method, call_id, cseq, &kept, message, hop)))
            }
            _ => None,
        };
        let heap = record.as_ref().map_or(0, |record| size_of::<Record>() + record.heap_bytes());
        let memory = size_of::<Self>() + kept.heap_bytes() + heap;
        Self {
            call_id: kept,
            method,
            cseq,
            hash,
            branch,
            first: hop.time,
            tried: hop.time,
            last: hop.time,
            code: 0,
            is_own: false,
            delay: Nanos::ZERO,
            record: record.map(Box::new),
            memory,
        }
    }

    /// When nothing is waited for any more.
    pub(super) fn deadline(&self) -> Nanos {
        match self.code {
            0 => self.tried + ANSWER_LIMIT,
            401 | 407 => self.last + ANSWER_LIMIT,
            _ => self.last + REPEAT_LIMIT,
        }
    }

    /// The newest answer asks for credentials.
    pub(super) fn is_challenged(&self) -> bool {
        matches!(self.code, 401 | 407)
    }

    pub(super) fn is_answered(&self) -> bool {
        self.code != 0
    }

    /// The request came again, on this hop or another.
    pub(super) fn repeated(&mut self, time: Nanos) {
        self.last = self.last.max(time);
    }

    /// Whether a request of its own number answers its challenge.
    pub(super) fn is_answered_by(&self, message: &Message<'_>, branch: u64) -> bool {
        self.is_challenged() && branch != self.branch && has_credentials(message)
    }

    /// It is tried again with credentials.
    pub(super) fn retry(&mut self, cseq: u32, branch: u64, time: Nanos) {
        (self.cseq, self.branch, self.tried, self.last) = (cseq, branch, time, self.last.max(time));
        (self.code, self.is_own) = (0, false);
    }

    /// An answer. That of the hop where the request was first seen counts, as long as it is seen; of others
    /// the first.
    pub(super) fn answer(&mut self, code: u16, branch: u64, time: Nanos) {
        self.last = self.last.max(time);
        let is_own = branch == self.branch;
        let is_settled = self.is_answered() && !self.is_challenged() && (self.is_own || !is_own);
        if code < 200 || is_settled {
            return;
        }
        (self.code, self.is_own, self.delay) = (code, is_own, time.since(self.first));
    }

    /// Its record, where one is made.
    pub(super) fn into_record(self) -> Option<Record> {
        let Self { record, code, delay, .. } = self;
        let mut record = *record?;
        match &mut record {
            Record::Message(message) => message.code = code,
            Record::Transaction(transaction) => {
                transaction.code = code;
                transaction.delay_ms = (code != 0).then(|| round(delay.millis_f64()));
            }
        }
        Some(record)
    }
}

impl Record {
    /// What it holds on the heap, in bytes.
    fn heap_bytes(&self) -> usize {
        let length = |texts: &[&Option<String>]| -> usize {
            texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum()
        };
        match self {
            Self::Message(MessageRecord { call_id, from, to, content_type, .. }) => {
                call_id.len() + length(&[from, to, content_type])
            }
            Self::Transaction(Transaction { method, call_id, from, to, user_agent, event, .. }) => {
                method.len() + call_id.len() + length(&[from, to, user_agent, event])
            }
        }
    }
}

/// Whether a request answers a challenge.
pub(super) fn has_credentials(message: &Message<'_>) -> bool {
    [Header::Authorization, Header::ProxyAuthorization].iter().any(|header| message.header(*header).is_some())
}

fn message_record(
    call_id: &[u8],
    cseq: u32,
    kept: &CallId,
    message: &Message<'_>,
    hop: &Hop,
) -> MessageRecord {
    let time = hop.time.micros().to_le_bytes();
    let (src, dst) = (hop.src.ip.to_string(), hop.dst.ip.to_string());
    let parts = [call_id, &cseq.to_le_bytes(), &time, src.as_bytes(), dst.as_bytes()];
    MessageRecord {
        id: hash::id("message", parts),
        call_id: kept.text().into_owned(),
        src: hop.src,
        dst: hop.dst,
        from: message.from().and_then(|from| party(&from)),
        to: message.to().and_then(|to| party(&to)),
        content_type: message.header(Header::ContentType).and_then(text).map(Into::into),
        size: message.body().len() as u32,
        time: hop.time,
        code: 0,
    }
}

fn transaction_record(
    method: Method,
    call_id: &[u8],
    cseq: u32,
    kept: &CallId,
    message: &Message<'_>,
    hop: &Hop,
) -> Transaction {
    let time = hop.time.micros().to_le_bytes();
    let (src, dst) = (hop.src.ip.to_string(), hop.dst.ip.to_string());
    let name = method.name();
    let parts = [name.as_bytes(), call_id, &cseq.to_le_bytes(), &time, src.as_bytes(), dst.as_bytes()];
    let package = |event: &[u8]| {
        let end = event.iter().position(|byte| *byte == b';').unwrap_or(event.len());
        text(event[..end].trim_ascii())
    };
    Transaction {
        id: hash::id("transaction", parts),
        method: name.to_owned(),
        call_id: kept.text().into_owned(),
        src: hop.src,
        dst: hop.dst,
        from: message.from().and_then(|from| party(&from)),
        to: message.to().and_then(|to| party(&to)),
        user_agent: message.header(Header::UserAgent).and_then(text).map(Into::into),
        event: message.header(Header::Event).and_then(package).map(Into::into),
        time: hop.time,
        delay_ms: None,
        code: 0,
    }
}

fn party(address: &NameAddr<'_>) -> Option<String> {
    let parts = match address.uri.user {
        Some(user) => [user, b"@", address.uri.host].concat(),
        None => address.uri.host.to_vec(),
    };
    text(&parts).map(Into::into)
}
