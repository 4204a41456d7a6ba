//! How an event counts: for which subjects, and in which series.

use ringtap_kpi::{CallFacts, CallTimes, key};
use ringtap_model::{CallState, Nanos};

use crate::calls::{CallSubjects, FollowedCall};
use crate::evaluator::Evaluator;
use crate::event::{CallAnswered, CallBegan, CallEnded, Event, HealthFigure, IntervalSeen, RegistrationSeen};
use crate::number::{Number, hash, printable};
use crate::rule::Per;
use crate::series::{Counted, Series, Update};
use crate::subjects::{Evidence, NOBODY, SubjectId};

impl Evaluator {
    /// Counts an event at the moment that the evaluator has come to.
    pub(crate) fn count(&mut self, event: &Event) {
        match event {
            Event::Began(call) => self.began(call),
            Event::Answered(call) => self.answered(call),
            Event::Ended(call) => self.ended(call),
            Event::Interval(interval) => self.interval(interval),
            Event::Registration(registration) => self.registration(registration),
            Event::Health { time, figure, subject, value } => self.health(*time, *figure, subject, *value),
        }
    }

    fn began(&mut self, call: &CallBegan) {
        if let Some(before) = self.calls.remove(call.number) {
            // Its end was not told.
            self.leave(call.number, &before);
        }
        if self.calls.len() >= self.settings.max_calls {
            self.counts.calls_refused += 1;
            return;
        }
        let number = call.to.as_deref().map(|to| self.plan.parse(to)).unwrap_or_default();
        let followed = FollowedCall {
            call_id: cut_call_id(&call.call_id).into(),
            is_attempt: call.is_attempt,
            is_from_trunk: key::is_configured(&call.trunk_from),
            callee: hash(&number.text),
            subjects: self.subjects_of(call, &number),
            answered: None,
            ended: false,
            seen: self.now,
        };
        self.count_beginning(call, &followed, &number);
        self.calls.insert(call.number, followed);
    }

    /// The subjects of a call, held as long as it is followed.
    fn subjects_of(&mut self, call: &CallBegan, number: &Number) -> CallSubjects {
        let mut found = CallSubjects::NONE;
        let mut hold = |per: Per, side: usize, name: &str| {
            if self.looked_at[per as usize] {
                found.set(per, side, self.subjects.hold(per, name));
            }
        };
        let (from, to) = (&*call.trunk_from, &*call.trunk_to);
        hold(Per::Total, 0, "");
        if key::is_configured(from) {
            hold(Per::Trunk, 0, from);
        }
        if key::is_configured(to) && to != from {
            hold(Per::Trunk, 1, to);
        }
        hold(Per::TrunkIn, 0, &printable(from));
        hold(Per::TrunkOut, 0, &printable(to));
        hold(Per::Direction, 0, key::direction(from, to));
        hold(Per::Device, 0, &printable(key::device(call.device.as_deref())));
        if self.looked_at[Per::Prefix as usize] {
            hold(Per::Prefix, 0, &key::prefix(call.to.as_deref(), self.settings.prefix_digits));
        }
        if let Some(country) = number.country {
            hold(Per::Country, 0, &format!("+{country}"));
        }
        if self.looked_at[Per::Caller as usize] {
            let caller = call.from.as_deref().map(|from| self.plan.parse(from).text);
            hold(Per::Caller, 0, caller.as_deref().unwrap_or(key::NONE));
        }
        if call.to.is_some() {
            hold(Per::Callee, 0, &number.text);
        }
        hold(Per::Source, 0, &call.src.to_canonical().to_string());
        found
    }

    fn count_beginning(&mut self, call: &CallBegan, followed: &FollowedCall, number: &Number) {
        let is_abroad = self.plan.is_abroad(number);
        let is_premium = self.plan.is_premium(number);
        let country = number.country.filter(|_| is_abroad);
        let one = Update::Count([1, 0, 0]);
        if followed.is_attempt {
            self.show(followed, Evidence::Begun, call.time);
        }
        if is_abroad {
            self.show(followed, Evidence::Abroad, call.time);
        }
        if is_premium {
            self.show(followed, Evidence::Premium, call.time);
        }
        for place in 0..self.series.len() {
            let update = match self.series[place].counted {
                Counted::InProgress => Some(Update::CallBegan),
                _ if !followed.is_attempt => None,
                Counted::Begun => Some(one),
                Counted::Callees if call.to.is_some() => Some(Update::Value(followed.callee)),
                Counted::Sequential => number.digits.map(Update::Value),
                Counted::Countries => country.map(|country| Update::Value(country.into())),
                Counted::Premium => is_premium.then_some(one),
                Counted::Abroad => is_abroad.then_some(one),
                Counted::NewCountry => {
                    country.into_iter().for_each(|country| self.new_country(place, followed, country, call));
                    None
                }
                _ => None,
            };
            if let Some(update) = update {
                self.update_all(place, followed, update, call.time);
            }
        }
    }

    fn new_country(&mut self, place: usize, call: &FollowedCall, country: u16, began: &CallBegan) {
        if self.series[place].is_fed {
            return;
        }
        let per = self.series[place].per;
        for id in call.subjects.of(per) {
            let name = self.subjects.name(per, id);
            if &*name != key::NONE && self.learned.is_new(per, &name, country, self.now) {
                self.subjects.show(per, id, Evidence::NewCountry, began.time, &call.call_id);
                self.update(place, id, Update::Count([1, 0, 0]), began.time);
            }
        }
    }

    fn answered(&mut self, seen: &CallAnswered) {
        let now = self.now;
        let Some(call) = self.calls.find(seen.number, now).filter(|call| !call.ended) else {
            self.counts.unknown += 1;
            return;
        };
        if call.answered.is_some() {
            return;
        }
        call.answered = Some(seen.time);
        let call = call.clone();
        let times = CallTimes {
            state: CallState::Active,
            code: 200,
            invite: seen.invite,
            trying: seen.trying,
            ringing: seen.ringing,
            answer: Some(seen.time),
            end: None,
            pdd_ms: seen.pdd_ms,
            sdd_ms: None,
            duration_ms: None,
        };
        let facts = CallFacts::whole(&times, self.settings.short_call).at_answer();
        for place in 0..self.series.len() {
            match self.series[place].counted {
                Counted::Kpis if self.series[place].calls => {
                    self.update_all(place, &call, Update::Call(&facts), seen.time);
                }
                Counted::LongestCall => {
                    self.update_all(place, &call, Update::CallAnswered(seen.time, seen.number), self.now);
                }
                _ => {}
            }
        }
    }

    fn ended(&mut self, seen: &CallEnded) {
        let now = self.now;
        let Some(call) = self.calls.find(seen.number, now) else {
            self.counts.unknown += 1;
            return;
        };
        if call.ended {
            return;
        }
        call.ended = true;
        let call = call.clone();
        self.calls.end(seen.number, now);
        self.leave_progress(seen.number, &call);
        let facts = CallFacts::whole(&times_of(seen), self.settings.short_call);
        let facts = if call.answered.is_some() { facts.after_answer() } else { facts };
        self.show_end(&call, seen);
        let is_missed = is_missed(seen);
        let is_refused = !call.is_from_trunk && matches!(seen.code, 401 | 403 | 404 | 407 | 484);
        for place in 0..self.series.len() {
            let update = match self.series[place].counted {
                Counted::Kpis if self.series[place].calls => Update::Call(&facts),
                Counted::MissedCallees if is_missed => Update::Value(call.callee),
                Counted::RefusedUsers if is_refused => Update::Value(call.callee),
                _ => continue,
            };
            self.update_all(place, &call, update, seen.time);
        }
    }

    fn show_end(&mut self, call: &FollowedCall, seen: &CallEnded) {
        if call.answered.is_none() && seen.answer.is_none() {
            self.show(call, Evidence::Failed, seen.time);
        } else {
            self.show(call, Evidence::Ended, seen.time);
            let short = self.settings.short_call.millis_f64();
            if seen.duration_ms.is_some_and(|duration| duration <= short) {
                self.show(call, Evidence::Short, seen.time);
            }
        }
        if is_missed(seen) {
            self.show(call, Evidence::Missed, seen.time);
        }
    }

    fn interval(&mut self, seen: &IntervalSeen) {
        let now = self.now;
        let call = seen.call.and_then(|number| self.calls.find(number, now)).cloned();
        let expected = u64::from(seen.packets) + u64::from(seen.lost);
        let loss = Update::Count([seen.lost.into(), expected, 1]);
        let codec = if self.looked_at[Per::Codec as usize] {
            let name = seen.codec.as_deref().filter(|name| !name.is_empty()).unwrap_or(key::NONE);
            self.subjects.hold(Per::Codec, &printable(name))
        } else {
            NOBODY
        };
        let is_poor = u64::from(seen.lost) * 100 >= expected.max(1)
            || seen.mos.is_some_and(|mos| mos < POOR_MOS)
            || seen.jitter_ms > POOR_JITTER;
        let total = if call.is_none() { self.subjects.hold(Per::Total, "") } else { NOBODY };
        if let Some(call) = call.as_ref().filter(|_| is_poor) {
            self.show(call, Evidence::Poor, seen.time);
            self.subjects.show(Per::Codec, codec, Evidence::Poor, seen.time, &call.call_id);
        }
        if call.is_none() {
            self.counts.unknown += 1;
        }
        for place in 0..self.series.len() {
            let update = match self.series[place].counted {
                Counted::Kpis if self.series[place].streams => Update::Interval(seen),
                Counted::LossShare if expected > 0 => loss,
                _ => continue,
            };
            match (self.series[place].per, &call) {
                (Per::Codec, _) => self.update(place, codec, update, seen.time),
                (_, Some(call)) => self.update_all(place, call, update, seen.time),
                (Per::Total, None) => self.update(place, total, update, seen.time),
                _ => {}
            }
        }
        self.let_go(Per::Codec, codec);
        self.let_go(Per::Total, total);
    }

    fn registration(&mut self, seen: &RegistrationSeen) {
        let failed = !(200..300).contains(&seen.code);
        let aor = printable(&seen.aor);
        let names = [
            (Per::Total, String::new()),
            (Per::Device, printable(key::device(seen.device.as_deref()))),
            (Per::Source, seen.src.to_canonical().to_string()),
            (Per::User, aor.clone()),
        ];
        let user = Update::Value(hash(&aor));
        for (per, name) in names {
            if !self.looked_at[per as usize] {
                continue;
            }
            let id = self.subjects.hold(per, &name);
            for place in 0..self.series.len() {
                if self.series[place].per != per {
                    continue;
                }
                let update = match self.series[place].counted {
                    Counted::Kpis if self.series[place].registrations => {
                        Update::Attempt { failed, delay_ms: seen.delay_ms.filter(|_| !failed) }
                    }
                    Counted::Registrations => Update::Count([1, 0, 0]),
                    Counted::RegistrationsFailed if failed => Update::Count([1, 0, 0]),
                    Counted::RefusedUsers if matches!(seen.code, 401 | 403 | 404 | 407) => user,
                    _ => continue,
                };
                self.update(place, id, update, seen.time);
            }
            self.let_go(per, id);
        }
    }

    fn health(&mut self, time: Nanos, figure: HealthFigure, subject: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        if figure == HealthFigure::CaptureLoss {
            self.capture.seen(subject, value, self.now);
        }
        for per in [Per::Part, Per::Total] {
            // The whole has values of its own, but of services.
            let is_of_part = !subject.is_empty() && figure != HealthFigure::ServiceOut;
            if !self.looked_at[per as usize] || per == Per::Total && is_of_part {
                continue;
            }
            let id = self.subjects.hold(per, &printable(subject));
            for place in 0..self.series.len() {
                let series = &self.series[place];
                if series.per == per && series.counted == Counted::Health(figure) {
                    self.update(place, id, Update::Health(value), time);
                }
            }
            self.let_go(per, id);
        }
    }

    /// Counts something for all subjects of a call that a series looks at.
    fn update_all(&mut self, place: usize, call: &FollowedCall, update: Update<'_>, time: Nanos) {
        if self.series[place].is_fed {
            return;
        }
        for id in call.subjects.of(self.series[place].per) {
            self.update(place, id, update, time);
        }
    }

    fn update(&mut self, place: usize, id: SubjectId, update: Update<'_>, time: Nanos) {
        if id == NOBODY || self.series[place].is_fed {
            return;
        }
        // What is too old for the shortest time counts for the longer ones.
        let late = self.now.since(time);
        let mut place = place;
        while late > self.series[place].over {
            let Some(next) = self.series[place].next_longer else { return };
            place = next;
        }
        let Self { series, subjects, settings, now, .. } = self;
        let series: &mut Series = &mut series[place];
        if series.needs_a_name() && &*subjects.name(series.per, id) == key::NONE {
            return;
        }
        series.update(id, update, &settings.rules, subjects, *now);
    }

    /// Passes what closes in a series on to the one with the next longer slots.
    pub(crate) fn pass_on(&mut self, place: usize, id: SubjectId, now: Nanos) {
        let Some(next) = self.series[place].next_longer else { return };
        let Self { series, subjects, settings, .. } = self;
        let Ok([from, to]) = series.get_disjoint_mut([place, next]) else { return };
        if let Some(update) = from.open_slot(id) {
            to.update(id, update, &settings.rules, subjects, now);
        }
    }

    fn show(&mut self, call: &FollowedCall, kind: Evidence, time: Nanos) {
        for per in Per::ALL {
            for id in call.subjects.of(per) {
                self.subjects.show(per, id, kind, time, &call.call_id);
            }
        }
    }

    /// A call is in progress no more.
    fn leave_progress(&mut self, number: u64, call: &FollowedCall) {
        for place in 0..self.series.len() {
            let update = match (self.series[place].counted, call.answered) {
                (Counted::InProgress, _) => Update::CallEnded,
                (Counted::LongestCall, Some(time)) => Update::AnsweredCallEnded(time, number),
                _ => continue,
            };
            self.update_all(place, call, update, self.now);
        }
    }

    /// Forgets a call.
    pub(crate) fn leave(&mut self, number: u64, call: &FollowedCall) {
        if !call.ended {
            self.leave_progress(number, call);
        }
        for per in Per::ALL {
            for id in call.subjects.of(per) {
                self.let_go(per, id);
            }
        }
    }

    fn let_go(&mut self, per: Per, id: SubjectId) {
        if id != NOBODY {
            Self::release(&mut self.subjects, &mut self.series, per, id);
        }
    }

    /// The longest calls in progress.
    pub(crate) fn longest_calls(&self, place: usize, id: SubjectId) -> Vec<String> {
        let numbers = self.series[place].longest(id);
        numbers.filter_map(|number| self.calls.peek(number)).map(|call| call.call_id.to_string()).collect()
    }
}

fn times_of(seen: &CallEnded) -> CallTimes {
    CallTimes {
        state: seen.state,
        code: seen.code,
        invite: seen.invite,
        trying: seen.trying,
        ringing: seen.ringing,
        answer: seen.answer,
        end: Some(seen.time),
        pdd_ms: seen.pdd_ms,
        sdd_ms: seen.sdd_ms,
        duration_ms: seen.duration_ms,
    }
}

/// Whether a call rang shortly, and the caller gave up.
fn is_missed(seen: &CallEnded) -> bool {
    let rang = seen.ringing.map(|ringing| seen.time.since(ringing));
    seen.state == CallState::Cancelled && rang.is_some_and(|rang| rang <= RANG_SHORTLY)
}

fn cut_call_id(call_id: &str) -> &str {
    call_id.get(..CALL_ID).unwrap_or_else(|| match call_id.len() {
        ..=CALL_ID => call_id,
        _ => key::cut(call_id),
    })
}

/// A call that rang for no longer, and was then given up, was not meant to be answered.
const RANG_SHORTLY: Nanos = Nanos::from_secs(5);
/// Longest Call-ID that is kept.
const CALL_ID: usize = 256;
/// An interval below this MOS, above this jitter in milliseconds, or with 1 % of its packets lost, is shown
/// as evidence of bad quality.
const POOR_MOS: f64 = 3.6;
const POOR_JITTER: f64 = 30.0;
