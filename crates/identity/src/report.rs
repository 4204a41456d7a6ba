//! What an accounting request says of the time.

use ringtap_model::{Nanos, SessionBegin};

use crate::carried::Carried;
use crate::facts::Facts;
use crate::hold::Moment;
use crate::known::Field;
use crate::session::Session;

/// Acct-Status-Type (RFC 2866 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Start,
    Stop,
    Interim,
    /// Accounting-On or -Off: no session of the NAS outlives it.
    Restart,
}

/// An accounting request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) status: Status,
    /// When it was first sent: it says how long that is ago (RFC 2866 section 5.2).
    pub(crate) at: Moment,
    /// How long the session had lasted.
    lasted: Option<Nanos>,
    is_delayed: bool,
    event_time: Option<u32>,
}

impl Report {
    /// `None` where it reports neither a session nor a restart.
    pub(crate) fn new(facts: &Facts, carried: Carried) -> Option<Self> {
        let status = match facts.status? {
            1 => Status::Start,
            2 => Status::Stop,
            3 => Status::Interim,
            7 | 8 => Status::Restart,
            _ => return None,
        };
        if status != Status::Restart && !facts.is_about_somebody() {
            return None;
        }
        let delay = Nanos::from_secs(facts.delay.into()).min(MOST_DELAY);
        let at = Moment { time: carried.time.since(delay), frame: Some(carried.frame) };
        let lasted = facts.session_time.map(|seconds| Nanos::from_secs(seconds.into()));
        let (is_delayed, event_time) = (facts.delay > 0, facts.event_time);
        Some(Self { status, at, lasted, is_delayed, event_time })
    }

    /// What a session is begun by that is first heard of now.
    pub(crate) fn begun_by(&self) -> SessionBegin {
        match self.status {
            Status::Start => SessionBegin::Started,
            Status::Interim | Status::Restart => SessionBegin::Interim,
            Status::Stop => SessionBegin::Stopped,
        }
    }

    /// When such a session began.
    pub(crate) fn start(&self) -> Nanos {
        match self.status {
            Status::Start => self.at.time,
            _ => self.at.time.since(self.lasted.unwrap_or_default().min(MOST_LASTED)),
        }
    }

    /// Notes in a session what was not known of its beginning.
    pub(crate) fn apply(&self, session: &mut Session) {
        match (self.status, session.begun_by) {
            // The session began when the user was let in, if it was seen; accounting only confirms it.
            (Status::Start, SessionBegin::Accepted) => session.begun_by = SessionBegin::Started,
            // The start was overtaken by a later report.
            (Status::Start, SessionBegin::Interim | SessionBegin::Stopped) => {
                session.begun_by = SessionBegin::Started;
                session.start = session.start.min(self.at.time);
            }
            _ => {}
        }
        if let (Status::Start, Some(seconds)) = (self.status, self.event_time) {
            session.known.set(Field::EventTime, &seconds.to_le_bytes());
        }
    }

    /// Whether it is about a session that has ended, not about another under the same id.
    pub(crate) fn is_late(&self, session: &Session) -> bool {
        let Some((end, _)) = session.end else { return false };
        // Delays are whole seconds.
        let is_before = self.at.time <= if self.is_delayed { end + SECOND } else { end };
        match self.status {
            Status::Start => {
                // A start that its own stop overtook.
                let overtaken = session.begun_by == SessionBegin::Stopped;
                is_before || overtaken && self.at.time.since(end) < OVERTAKEN
            }
            Status::Interim => is_before,
            // No session ends twice: its id is used again after a start.
            Status::Stop => true,
            Status::Restart => false,
        }
    }

    /// Whether it begins another session under the id of one that has not ended: the NAS restarted, and
    /// numbers its sessions anew.
    pub(crate) fn is_another(&self, session: &Session, facts: &Facts) -> bool {
        self.status == Status::Start
            && session.begun_by != SessionBegin::Accepted
            && !session.known.may_be(facts)
    }
}

/// A report that is delayed for longer is dated by when it was seen.
const MOST_DELAY: Nanos = Nanos::from_secs(86_400);
/// Sessions that claim to be older than ten years.
const MOST_LASTED: Nanos = Nanos::from_secs(3_650 * 86_400);
const SECOND: Nanos = Nanos::from_secs(1);
/// How much later than its stop a start may be seen that was sent before.
const OVERTAKEN: Nanos = Nanos::from_secs(5);
