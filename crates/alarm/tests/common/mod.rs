//! Rules and events for tests.
#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod traffic;

use std::net::{IpAddr, Ipv4Addr};

use ringtap_alarm::{
    CallAnswered, CallBegan, CallEnded, Change, ChangeKind, Evaluator, Event, HealthFigure, IntervalSeen,
    Limit, Per, RegistrationSeen, Rule, Watched,
};
use ringtap_model::{CallState, Nanos, Severity};

/// Monday, 2026-11-23 00:00:00 UTC.
pub(crate) const MONDAY: Nanos = Nanos(1_795_392_000_000_000_000);

pub(crate) fn at(seconds: f64) -> Nanos {
    MONDAY + Nanos((seconds * 1e9) as u64)
}

/// `above` or `below` a value, over some seconds.
pub(crate) fn rule(
    name: &str,
    figure: &str,
    per: &str,
    over: u64,
    (word, raise, clear): (&str, f64, f64),
) -> Rule {
    let rule = Rule {
        name: name.into(),
        severity: Severity::Warning,
        watched: Watched::from_name(figure).expect("the figure is known"),
        per: Per::from_name(per).expect("the subjects are known"),
        only: Vec::new(),
        over: Nanos::from_secs(over),
        minimum: 10,
        limit: Limit { is_above: word == "above", raise, clear, of_week_ago: false },
        lasting: Nanos::ZERO,
        hours: None,
        notify: Vec::new(),
    };
    rule.check().expect("the rule can be evaluated");
    rule
}

/// A call as a test describes it.
#[derive(Clone, Debug)]
pub(crate) struct TestCall {
    pub(crate) number: u64,
    pub(crate) start: f64,
    pub(crate) from: Option<String>,
    pub(crate) to: String,
    pub(crate) src: Ipv4Addr,
    pub(crate) trunk_from: String,
    pub(crate) trunk_to: String,
    /// Seconds from INVITE to 18x, to 2xx, and to the end.
    pub(crate) ringing: Option<f64>,
    pub(crate) answer: Option<f64>,
    pub(crate) end: f64,
    pub(crate) state: CallState,
    pub(crate) code: u16,
}

impl TestCall {
    /// Answered after 4 s.
    pub(crate) fn answered(number: u64, start: f64, end: f64) -> Self {
        Self {
            number,
            start,
            from: Some(format!("+49301000{number}")),
            to: "+4989555".into(),
            src: Ipv4Addr::new(192, 0, 2, 1),
            trunk_from: "192.0.2.1".into(),
            trunk_to: "carrier-a".into(),
            ringing: Some(1.0),
            answer: Some(4.0),
            end,
            state: CallState::Completed,
            code: 200,
        }
    }

    pub(crate) fn failed(number: u64, start: f64, code: u16) -> Self {
        let state = if code == 487 { CallState::Cancelled } else { CallState::Failed };
        Self { answer: None, end: 2.0, state, code, ..Self::answered(number, start, 0.0) }
    }

    fn time(&self, after: f64) -> Nanos {
        at(self.start + after)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = vec![self.began()];
        if let Some(answer) = self.answer {
            events.push(Event::Answered(Box::new(CallAnswered {
                number: self.number,
                time: self.time(answer),
                invite: Some(self.time(0.0)),
                trying: None,
                ringing: self.ringing.map(|after| self.time(after)),
                pdd_ms: self.ringing.map(|after| after * 1e3),
            })));
        }
        events.push(self.ended());
        events
    }

    pub(crate) fn began(&self) -> Event {
        Event::Began(Box::new(CallBegan {
            number: self.number,
            time: self.time(0.0),
            is_attempt: true,
            call_id: format!("call-{}", self.number).into(),
            from: self.from.as_deref().map(Box::from),
            to: Some(self.to.as_str().into()),
            src: IpAddr::V4(self.src),
            dst: Ipv4Addr::new(192, 0, 2, 2).into(),
            trunk_from: self.trunk_from.as_str().into(),
            trunk_to: self.trunk_to.as_str().into(),
            device: Some("Phone/1.0".into()),
        }))
    }

    pub(crate) fn ended(&self) -> Event {
        Event::Ended(Box::new(CallEnded {
            number: self.number,
            time: self.time(self.end),
            state: self.state,
            code: self.code,
            invite: Some(self.time(0.0)),
            trying: None,
            ringing: self.ringing.map(|after| self.time(after)),
            answer: self.answer.map(|after| self.time(after)),
            pdd_ms: self.ringing.map(|after| after * 1e3),
            sdd_ms: None,
            duration_ms: self.answer.map(|answer| (self.end - answer) * 1e3),
        }))
    }
}

pub(crate) fn interval(call: Option<u64>, time: f64, packets: u32, lost: u32, mos: f64) -> Event {
    Event::Interval(Box::new(IntervalSeen {
        call,
        time: at(time),
        codec: Some("PCMA".into()),
        packets,
        lost,
        jitter_ms: 1.0,
        mos: Some(mos),
    }))
}

pub(crate) fn registration(time: f64, aor: &str, src: Ipv4Addr, code: u16) -> Event {
    Event::Registration(Box::new(RegistrationSeen {
        time: at(time),
        aor: aor.into(),
        src: src.into(),
        device: None,
        code,
        delay_ms: (code == 200).then_some(20.0),
    }))
}

pub(crate) fn health(time: f64, figure: HealthFigure, subject: &str, value: f64) -> Event {
    Event::Health { time: at(time), figure, subject: subject.into(), value }
}

/// Plays events in order of time, with a second's beat, up to a time: what changed, and when.
pub(crate) fn play(evaluator: &mut Evaluator, mut events: Vec<Event>, until: f64) -> Vec<Change> {
    events.sort_by_key(Event::time);
    let mut changes = Vec::new();
    let mut second = evaluator.advance(MONDAY).len() as u64;
    for event in &events {
        while at((second + 1) as f64) <= event.time() {
            second += 1;
            changes.extend(evaluator.advance(at(second as f64)));
        }
        evaluator.event(event);
    }
    while ((second + 1) as f64) <= until {
        second += 1;
        changes.extend(evaluator.advance(at(second as f64)));
    }
    changes
}

/// `raised`, second, rule and subject of each change.
pub(crate) fn shown(changes: &[Change]) -> Vec<String> {
    let word = |kind| match kind {
        ChangeKind::Raised => "raised",
        ChangeKind::Repeated => "repeated",
        ChangeKind::Cleared => "cleared",
        ChangeKind::Acknowledged => "acknowledged",
    };
    let when = |change: &Change| match change.kind {
        ChangeKind::Raised => change.alarm.raised,
        _ => change.alarm.cleared.unwrap_or(change.alarm.last),
    };
    let line = |change: &Change| {
        let alarm = &change.alarm;
        let second = when(change).since(MONDAY).secs_f64().round();
        format!("{} {second} {} {}", word(change.kind), alarm.rule, alarm.subject)
    };
    changes.iter().map(line).collect()
}
