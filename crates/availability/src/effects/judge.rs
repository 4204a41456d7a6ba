//! What a failover did to one call.

use std::collections::HashSet;
use std::net::IpAddr;

use ringtap_model::{Direction, Endpoint, Nanos};

use super::facts::{CallFacts, Ending, Gap, Observed, RegisterFacts};
use super::record::Effect;
use super::trouble::{AFTERWARDS, NOTICED, Trouble};
use crate::failover::{AROUND, Failover};
use crate::settings::GIVEN_UP;

/// Between the last packet of a direction and the end of the input, or a BYE, before that is silence.
const SILENT: Nanos = Nanos::from_secs(1);
/// Media stops a little before a hold is signalled, and begins a little after its end.
const AROUND_HOLD: Nanos = Nanos::from_secs(1);

/// Services and hosts that sent calls to them.
pub(crate) type Clients = HashSet<(Endpoint, IpAddr)>;

/// Of all calls.
pub(crate) fn clients(observed: &Observed) -> Clients {
    let attempts = observed.calls.iter().flat_map(|call| &call.attempts);
    attempts.map(|sent| (sent.service.endpoint, sent.client)).collect()
}

/// What calls are compared with, of one failover.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    troubles: Vec<Trouble>,
    clients: &'a Clients,
    /// Of the input.
    end: Nanos,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(failover: &Failover, clients: &'a Clients, end: Nanos) -> Self {
        Self { troubles: Trouble::of(failover), clients, end }
    }

    /// What it did to a call, the worst of all.
    pub(crate) fn effect(&self, call: &CallFacts) -> Option<Effect> {
        let is_near =
            |trouble: &&Trouble| call.is_within(trouble.from.since(AFTERWARDS), trouble.until + AFTERWARDS);
        let each = |trouble: &Trouble| {
            [self.set_up(call, trouble), self.refused_for(call, trouble), self.cut(call, trouble)]
        };
        self.troubles.iter().filter(is_near).flat_map(each).flatten().max()
    }

    /// The longest gap of each direction that overlaps it, of a call through what was out of service.
    pub(crate) fn gaps(&self, call: &CallFacts) -> Vec<Gap> {
        let mut longest: Vec<Gap> = Vec::new();
        if call.gaps.is_empty() {
            return longest;
        }
        for trouble in self.troubles.iter().filter(|trouble| trouble.is_passed_by(call)) {
            for gap in &call.gaps {
                let is_long = gap.until.since(gap.from) >= NOTICED;
                let overlaps = gap.from < trouble.until && gap.until > trouble.from;
                if !is_long || !overlaps || is_held(call, gap.from, gap.until) {
                    continue;
                }
                match longest.iter_mut().find(|known| known.direction == gap.direction) {
                    Some(known) if gap.until.since(gap.from) > known.until.since(known.from) => *known = *gap,
                    Some(_) => {}
                    None => longest.push(*gap),
                }
            }
        }
        longest.sort_by_key(|gap| (gap.direction.map(|direction| direction as u8), gap.from));
        longest
    }

    /// Whether a REGISTER waited, or was refused.
    pub(crate) fn has_register(&self, register: &RegisterFacts) -> bool {
        self.troubles.iter().any(|trouble| trouble.has_register(register, self.end))
    }

    /// Whether an answered call went through it meanwhile, and whether any of its media was seen then.
    pub(crate) fn media_seen(&self, call: &CallFacts) -> Option<bool> {
        let (answered, media) = (call.answered?, call.media.as_ref()?);
        let mut passed = self.troubles.iter().filter(|trouble| {
            trouble.is_passed_by(call)
                && answered < trouble.until
                && call.ended.is_none_or(|ended| ended > trouble.from)
        });
        let is_in = |trouble: &Trouble| {
            media.iter().any(|stream| stream.first < trouble.until && stream.last >= trouble.since)
        };
        let first = passed.next()?;
        Some(is_in(first) || passed.any(is_in))
    }

    /// Of an attempt that was being set up.
    fn set_up(&self, call: &CallFacts, trouble: &Trouble) -> Option<Effect> {
        if call.answered.is_none() && call.ended.is_some_and(|ended| ended < trouble.from) {
            return None;
        }
        let (mut is_touched, mut has_waited, mut delay) = (false, false, None);
        for attempt in &call.attempts {
            let waited = trouble.waited(call, attempt, self.end);
            has_waited |= waited.is_some();
            is_touched |= waited.is_some() || trouble.has_pending(attempt) || trouble.has_refused(attempt);
            let on = waited.and_then(|waited| waited.on);
            let is_after = |up: &Nanos| on.is_some_and(|on| on <= *up);
            let up = [call.set_up(), call.heard()].into_iter().flatten().find(is_after);
            delay = delay.or(up.map(|up| up.since(call.invite)));
        }
        if is_touched && call.answered.is_none() && has_failed(call, trouble) {
            return Some(Effect::Failed);
        }
        if let Some(delay) = delay {
            return Some(Effect::Delayed(delay));
        }
        match call.ending {
            Ending::Cancelled if has_waited && call.rang.is_none() => Some(Effect::GivenUp),
            Ending::Open if is_touched => {
                let last = call.attempts.iter().map(|attempt| attempt.last).max().unwrap_or(call.invite);
                let is_over = call.rang.is_none() && self.end.since(last) >= GIVEN_UP;
                Some(if is_over { Effect::Failed } else { Effect::Unknown })
            }
            _ => None,
        }
    }

    /// Of an attempt that was refused since what would have served it was silent: who refused is one of its
    /// clients, and sent the call to nobody.
    fn refused_for(&self, call: &CallFacts, trouble: &Trouble) -> Option<Effect> {
        let service = trouble.silent_service()?;
        let Ending::Network(500..) = call.ending else { return None };
        let is_refused = call.attempts.iter().any(|attempt| {
            let refuser = attempt.service.endpoint.ip;
            matches!(attempt.code, 500 | 502 | 503 | 504)
                && attempt.ended.is_some_and(|at| trouble.from <= at && at <= trouble.until + AFTERWARDS)
                && self.clients.contains(&(service, refuser))
                && call.attempts.iter().all(|sent| sent.client != refuser)
        });
        is_refused.then_some(Effect::Failed)
    }

    /// Of a call that was established before.
    fn cut(&self, call: &CallFacts, trouble: &Trouble) -> Option<Effect> {
        let answered = call.answered?;
        if answered > trouble.from || !trouble.ends_calls() || !trouble.is_passed_by(call) {
            return None;
        }
        let told = [call.release.by_proxy, call.release.reason];
        let begin = trouble.from.since(AROUND);
        if told.into_iter().flatten().any(|at| begin <= at && at <= trouble.until + AFTERWARDS) {
            return Some(Effect::Cut);
        }
        if call.ended.is_some_and(|ended| ended < trouble.since) {
            return None;
        }
        let stopped = media_stopped(call, trouble)?;
        match call.release.bye {
            // Somebody hung up since there was no sound, or both had just stopped to speak: nobody knows.
            Some(bye) => (bye.since(stopped) >= SILENT).then_some(Effect::Unknown),
            None if self.end.since(stopped) >= AFTERWARDS => Some(Effect::Cut),
            None => (self.end.since(stopped) >= SILENT).then_some(Effect::Unknown),
        }
    }
}

/// Whether an attempt that was not answered ended for a reason of the network, and not since it rang for too
/// long: who does is given up with 408, in better times too.
fn has_failed(call: &CallFacts, trouble: &Trouble) -> bool {
    let Ending::Network(code) = call.ending else { return false };
    let Some(rang) = call.rang else { return true };
    let is_soon = |after: Nanos| call.ended.is_some_and(|ended| ended <= after + AFTERWARDS);
    match code {
        0 => true,
        408 => is_soon(rang),
        _ => is_soon(trouble.until),
    }
}

/// When the last packet of both directions came, where that was at the failover and nobody was on hold.
fn media_stopped(call: &CallFacts, trouble: &Trouble) -> Option<Nanos> {
    let last = |direction: Direction| {
        let own = call.media.iter().flatten().filter(|stream| stream.direction == Some(direction));
        own.map(|stream| stream.last).max()
    };
    let both = [last(Direction::CallerToCallee)?, last(Direction::CalleeToCaller)?];
    let latest = trouble.until.min(trouble.from + AFTERWARDS);
    let is_then = both.iter().all(|at| trouble.since <= *at && *at <= latest);
    let stopped = both.into_iter().max()?;
    (is_then && !is_held(call, stopped, stopped)).then_some(stopped)
}

fn is_held(call: &CallFacts, from: Nanos, until: Nanos) -> bool {
    let overlaps = |hold: &(Nanos, Nanos)| {
        hold.0 <= until + AROUND_HOLD && from <= Nanos(hold.1.0.saturating_add(AROUND_HOLD.0))
    };
    call.holds.iter().any(overlaps)
}
