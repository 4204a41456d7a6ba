//! What happened, as alarms see it: calls as they begin, are answered and end, ten seconds of a stream,
//! attempts to register, and the state of this monitor.

use std::net::IpAddr;

use ringtap_model::{Call, CallState, Interval, Nanos, Stream};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The first message of a call was seen.
    Began(Box<CallBegan>),
    /// A call was answered.
    Answered(Box<CallAnswered>),
    /// A call was released, or failed.
    Ended(Box<CallEnded>),
    /// Ten seconds of a stream are over, or its last part.
    Interval(Box<IntervalSeen>),
    /// An attempt to register ended: each with its challenges and repeats is one.
    Registration(Box<RegistrationSeen>),
    /// A figure of this monitor itself.
    Health {
        /// When it was taken.
        time: Nanos,
        /// Which figure.
        figure: HealthFigure,
        /// Of what: a directory, an interface; empty for the whole.
        subject: Box<str>,
        /// Its value.
        value: f64,
    },
}

/// Who calls whom.
#[derive(Clone, Debug, PartialEq)]
pub struct CallBegan {
    /// Names the call while it is in progress; used again after it.
    pub number: u64,
    /// Its first message.
    pub time: Nanos,
    /// Whether that was its INVITE: without it the call began earlier, and is no attempt.
    pub is_attempt: bool,
    /// Call-ID.
    pub call_id: Box<str>,
    /// Number or name of the caller; None where it is anonymous.
    pub from: Option<Box<str>>,
    /// Number or name that is called.
    pub to: Option<Box<str>>,
    /// Sender of the first message.
    pub src: IpAddr,
    /// Receiver of the first message.
    pub dst: IpAddr,
    /// Configured trunk, or address, that it came from.
    pub trunk_from: Box<str>,
    /// Configured trunk, or address, that it was sent to.
    pub trunk_to: Box<str>,
    /// User-Agent of the caller.
    pub device: Option<Box<str>>,
}

impl CallBegan {
    /// Of the record of a call in progress, whose trunks are known.
    pub fn new(number: u64, call: &Call) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(Box::from);
        let trunk = |name: &Option<String>, ip: IpAddr| {
            name.as_deref().map_or_else(|| ip.to_canonical().to_string().into(), Box::from)
        };
        let from = call.from_user.as_deref().filter(|user| !user.eq_ignore_ascii_case("anonymous"));
        Self {
            number,
            time: call.start().unwrap_or_default(),
            is_attempt: call.invite.is_some(),
            call_id: call.call_id.as_str().into(),
            from: from.or(call.asserted_identity.as_deref()).map(Box::from),
            to: call.ruri_user.as_deref().or(call.to_user.as_deref()).map(Box::from),
            src: call.src.ip,
            dst: call.dst.ip,
            trunk_from: trunk(&call.trunk_from, call.src.ip),
            trunk_to: trunk(&call.trunk_to, call.dst.ip),
            device: text(&call.user_agent_caller),
        }
    }
}

/// A call was answered: what is known of its set-up by then.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnswered {
    /// [`CallBegan::number`].
    pub number: u64,
    /// When: its first 2xx.
    pub time: Nanos,
    /// First INVITE.
    pub invite: Option<Nanos>,
    /// First 100.
    pub trying: Option<Nanos>,
    /// First 18x.
    pub ringing: Option<Nanos>,
    /// Post-dial delay in milliseconds.
    pub pdd_ms: Option<f64>,
}

impl CallAnswered {
    /// Of the record of a call, in progress or over; None where it was not answered.
    pub fn new(number: u64, call: &Call) -> Option<Self> {
        let Call { invite, trying, ringing, pdd_ms, .. } = *call;
        Some(Self { number, time: call.answer?, invite, trying, ringing, pdd_ms })
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEnded {
    /// [`CallBegan::number`].
    pub number: u64,
    /// When it ended.
    pub time: Nanos,
    /// How far it had come.
    pub state: CallState,
    /// Final code of its INVITE, 0 for none.
    pub code: u16,
    /// First INVITE.
    pub invite: Option<Nanos>,
    /// First provisional answer.
    pub trying: Option<Nanos>,
    /// First 18x.
    pub ringing: Option<Nanos>,
    /// First 2xx.
    pub answer: Option<Nanos>,
    /// Post-dial delay in milliseconds.
    pub pdd_ms: Option<f64>,
    /// Session disconnect delay in milliseconds.
    pub sdd_ms: Option<f64>,
    /// Answer to release, in milliseconds.
    pub duration_ms: Option<f64>,
}

impl CallEnded {
    /// Of the record of a call that has ended.
    pub fn new(number: u64, call: &Call) -> Self {
        let last = call.end.or(call.answer).or(call.start()).unwrap_or_default();
        Self {
            number,
            time: last,
            state: call.state,
            code: if call.final_code < 700 { call.final_code } else { 0 },
            invite: call.invite,
            trying: call.trying,
            ringing: call.ringing,
            answer: call.answer,
            pdd_ms: call.pdd_ms,
            sdd_ms: call.sdd_ms,
            duration_ms: call.duration_ms,
        }
    }
}

/// Ten seconds of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalSeen {
    /// The call that it belongs to, as far as it is known: [`CallBegan::number`].
    pub call: Option<u64>,
    /// End of the interval.
    pub time: Nanos,
    /// Codec name.
    pub codec: Option<Box<str>>,
    /// Packets received, repeats included.
    pub packets: u32,
    /// Packets lost.
    pub lost: u32,
    /// Mean jitter in milliseconds.
    pub jitter_ms: f64,
    /// MOS-LQ.
    pub mos: Option<f64>,
}

impl IntervalSeen {
    /// Of an interval of a stored stream.
    pub fn of_record(number: u64, stream: &Stream, interval: &Interval) -> Self {
        Self {
            call: Some(number),
            time: interval.start + Nanos::from_secs(10),
            codec: stream.codec.as_deref().map(Box::from),
            packets: interval.packets,
            lost: interval.lost,
            jitter_ms: interval.jitter_ms,
            mos: interval.mos,
        }
    }
}

/// An attempt to register that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationSeen {
    /// When it ended: answer, or time-out.
    pub time: Nanos,
    /// Address of record.
    pub aor: Box<str>,
    /// Sender of the REGISTER.
    pub src: IpAddr,
    /// User-Agent.
    pub device: Option<Box<str>>,
    /// Final code; 0 for none.
    pub code: u16,
    /// REGISTER to its 200, in milliseconds.
    pub delay_ms: Option<f64>,
}

impl Event {
    /// When it happened.
    pub fn time(&self) -> Nanos {
        match self {
            Self::Began(call) => call.time,
            Self::Answered(call) => call.time,
            Self::Health { time, .. } => *time,
            Self::Ended(call) => call.time,
            Self::Interval(interval) => interval.time,
            Self::Registration(registration) => registration.time,
        }
    }

    /// What a stored call was, event by event: not in order of time.
    pub fn of_record(number: u64, call: &Call, streams: &[Stream]) -> Vec<Self> {
        let mut events = vec![Self::Began(Box::new(CallBegan::new(number, call)))];
        events.extend(CallAnswered::new(number, call).map(|answered| Self::Answered(Box::new(answered))));
        for stream in streams {
            let intervals = stream
                .intervals
                .iter()
                .map(|interval| Self::Interval(Box::new(IntervalSeen::of_record(number, stream, interval))));
            events.extend(intervals);
        }
        if !matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying) {
            events.push(Self::Ended(Box::new(CallEnded::new(number, call))));
        }
        events
    }
}

/// A figure of this monitor itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HealthFigure {
    /// Packets that were lost before they were looked at, in percent of all since the last value.
    CaptureLoss,
    /// Packets a second.
    PacketRate,
    /// Space in use of the file system of a directory, in percent.
    DiskUsed,
    /// Records that were dropped since the last value.
    RecordsDropped,
    /// Calls, streams and other entries that found no room in a table since the last value.
    Refused,
    /// By how much the clock was set, in milliseconds; 0 where it was not.
    ClockStep,
    /// For how many seconds a service has been out of service: of an outage that goes on, or has just ended.
    ServiceOut,
    /// Failovers since the last value.
    Failovers,
    /// Addresses that two hosts claimed in turn, since the last value.
    AddressConflicts,
}
