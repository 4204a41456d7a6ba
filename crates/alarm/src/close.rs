//! What happens when a slot closes: the rules look at what has changed.

use std::collections::HashMap;

use ringtap_model::{Alarm, Nanos};

use crate::evaluator::Evaluator;
use crate::judge::{Circumstances, State, Verdict, is_absence, judge};
use crate::rule::{Hours, Limit, Rule};
use crate::standing;
use crate::subjects::SubjectId;
use crate::text::sentence;
use crate::window::Reading;

/// What holds for a rule at the end of a slot, whatever the subject.
#[derive(Clone, Copy, Debug)]
struct AtClose {
    number: usize,
    in_hours: bool,
    /// Whether it must be looked at though nothing changed.
    always: bool,
    is_absence: bool,
    is_suspended: bool,
    has_baseline: bool,
}

/// What a rule says of a subject.
struct Finding {
    number: usize,
    reading: Reading,
    limit: Limit,
    past: Option<f64>,
}

impl Evaluator {
    /// Closes the open slot of a series, and opens the next.
    pub(crate) fn close_slot(&mut self, place: usize, now: Nanos) {
        let rules: Vec<AtClose> =
            self.series[place].rules.clone().into_iter().map(|number| self.at_close(number, now)).collect();
        let active = std::mem::take(&mut self.series[place].active);
        let first = self.standing.changes.len();
        let mut kept = Vec::with_capacity(active.len());
        for id in active {
            self.pass_on(place, id, now);
            let has_changed = self.series[place].close_group(id);
            self.look(place, id, &rules, has_changed, now);
            if self.is_needed(place, id, now) {
                kept.push(id);
            } else {
                self.series[place].forget(id);
                let per = self.series[place].per;
                Self::release(&mut self.subjects, &mut self.series, per, id);
            }
        }
        self.series[place].active = kept;
        let until = self.now;
        self.series[place].open_next(until);
        // In the order of rules and subjects, whatever order these were seen in.
        let order: HashMap<&str, usize> =
            self.settings.rules.iter().map(|rule| rule.name.as_str()).zip(0..).collect();
        self.standing.changes[first..].sort_by(|one, other| {
            let key = |alarm: &Alarm| order.get(alarm.rule.as_str()).copied();
            (key(&one.alarm), &one.alarm.subject).cmp(&(key(&other.alarm), &other.alarm.subject))
        });
    }

    fn at_close(&self, number: usize, now: Nanos) -> AtClose {
        let rule = &self.settings.rules[number];
        let is_absence = is_absence(rule);
        // What happened before its hours is not looked at.
        let in_hours = rule
            .hours
            .as_ref()
            .is_none_or(|hours| self.is_within(hours, now) && self.is_within(hours, now - rule.over));
        AtClose {
            number,
            in_hours,
            always: is_absence || rule.hours.is_some() || rule.limit.of_week_ago,
            is_absence,
            is_suspended: is_absence && self.capture.was_too_much(rule.over, now),
            has_baseline: rule.limit.of_week_ago && self.baseline.hour == Some(self.hour_a_week_ago(now)),
        }
    }

    fn is_within(&self, hours: &Hours, time: Nanos) -> bool {
        let (day, minute) = self.settings.zone.clock(time);
        hours.hold(day, minute)
    }

    /// Looks at a subject with each rule that has a reason to.
    fn look(&mut self, place: usize, id: SubjectId, rules: &[AtClose], has_changed: bool, now: Nanos) {
        let Some(group) = self.series[place].existing(id) else { return };
        let mut states = std::mem::take(&mut group.rules);
        for (rule_place, state) in &mut states {
            let at_close = rules[usize::from(*rule_place)];
            if has_changed || at_close.always || *state != State::Quiet {
                self.apply(place, id, at_close, state, now);
            }
        }
        if let Some(group) = self.series[place].existing(id) {
            group.rules = states;
        }
    }

    fn apply(&mut self, place: usize, id: SubjectId, at_close: AtClose, state: &mut State, now: Nanos) {
        let start = self.start;
        let rule = &self.settings.rules[at_close.number];
        let Some(group) = self.series[place].existing(id) else { return };
        let reading = group.window.read(&rule.watched, now);
        let since = group.since;
        self.counts.evaluations += 1;
        let watched_for_long = now >= since + rule.over || !at_close.is_absence;
        if at_close.is_suspended {
            self.counts.suspended += 1;
        }
        let (limit, past) = self.limit(rule, at_close, place, id);
        if limit.is_none() {
            self.counts.without_baseline += 1;
        }
        let facts = Circumstances {
            now,
            limit,
            in_hours: at_close.in_hours,
            may_raise: !at_close.is_suspended && watched_for_long,
            // After a restart the window is empty, which says nothing.
            may_clear: now >= start + rule.over,
        };
        match judge(state, rule, reading, facts) {
            Verdict::Nothing => {}
            Verdict::Holds(alarm) => self.standing.hold(alarm, reading.value, rule.limit.is_above, now),
            Verdict::Clear(alarm) => self.standing.clear(alarm, now),
            Verdict::Raise => {
                let Some(limit) = limit else { return };
                let finding = Finding { number: at_close.number, reading, limit, past };
                if let Some(alarm) = self.raise(place, id, &finding, now) {
                    *state = alarm;
                }
            }
        }
    }

    /// The limit in the units of the figure, and the figure of a week ago; None where that is not known.
    fn limit(
        &self,
        rule: &Rule,
        at_close: AtClose,
        place: usize,
        id: SubjectId,
    ) -> (Option<Limit>, Option<f64>) {
        if !rule.limit.of_week_ago {
            return (Some(rule.limit), None);
        }
        if !at_close.has_baseline {
            return (None, None);
        }
        let subject = self.subjects.name(self.series[place].per, id);
        let past = self.baseline.read(rule, &subject);
        let Some(value) = past.value.filter(|_| past.behind >= rule.minimum.max(1)) else {
            return (None, None);
        };
        let of = |percent: f64| percent / 100.0 * value;
        let limit = Limit { raise: of(rule.limit.raise), clear: of(rule.limit.clear), ..rule.limit };
        (Some(limit), Some(value))
    }

    fn raise(&mut self, place: usize, id: SubjectId, finding: &Finding, now: Nanos) -> Option<State> {
        let rule = &self.settings.rules[finding.number];
        let subject = self.subjects.name(rule.per, id);
        let Finding { reading, limit, past, .. } = *finding;
        let is_missing = is_absence(rule) && reading.value == Some(0.0);
        let alarm = Alarm {
            id: standing::id(&rule.name, rule.per.name(), &subject, now),
            rule: rule.name.clone(),
            severity: rule.severity,
            per: rule.per.name().to_owned(),
            subject: subject.to_string(),
            figure: rule.watched.name().to_owned(),
            value: reading.value.filter(|_| !is_missing),
            worst: reading.value.filter(|_| !is_missing),
            threshold: limit.raise,
            behind: reading.behind,
            text: sentence(rule, &subject, reading, limit, past, self.capture.too_much()),
            raised: now,
            last: now,
            cleared: None,
            calls: self.calls_shown(place, finding.number, id, now),
            acknowledged: None,
            acknowledged_by: None,
            comment: None,
            silenced_until: None,
        };
        let alarm_id = alarm.id;
        let notify = rule.notify.clone();
        self.standing.raise(alarm, &notify).then_some(State::Standing(alarm_id, None))
    }

    /// Whether a group is still needed: something stands behind it, an alarm stands, or its absence would be
    /// one.
    fn is_needed(&mut self, place: usize, id: SubjectId, now: Nanos) -> bool {
        let series = &mut self.series[place];
        let waits = series.has_absence;
        let Some(group) = series.existing(id) else { return false };
        if !group.window.is_empty() {
            return true;
        }
        let is_quiet = group.rules.iter().all(|(_, state)| *state == State::Quiet);
        if waits && (group.is_configured || now < group.last + UNSEEN) {
            return true;
        }
        if waits && !is_quiet {
            // Its absence is no news any more.
            let standing = group.rules.iter().filter_map(|(_, state)| match state {
                State::Standing(alarm, _) => Some(*alarm),
                State::Quiet | State::Beyond(_) => None,
            });
            let standing: Vec<_> = standing.collect();
            standing.into_iter().for_each(|alarm| self.standing.clear(alarm, now));
            return false;
        }
        !is_quiet
    }
}

impl Hours {
    /// Whether a time of the week is among them: day from Monday, minutes since midnight.
    fn hold(&self, day: usize, minute: u16) -> bool {
        let yesterday = (day + 6) % 7;
        if self.from < self.to {
            return self.days[day % 7] && (self.from..self.to).contains(&minute);
        }
        self.days[day % 7] && minute >= self.from || self.days[yesterday] && minute < self.to
    }
}

/// A subject whose calls stopped is watched for so long.
const UNSEEN: Nanos = Nanos::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_over_midnight() {
        let mut days = [false; 7];
        days[4] = true;
        let hours = |from, to| Hours { days, from, to };
        for (hours, day, minute, expected) in [
            (hours(480, 1_200), 4, 480, true),
            (hours(480, 1_200), 4, 1_200, false),
            (hours(480, 1_200), 5, 600, false),
            (hours(1_320, 360), 4, 1_320, true),
            (hours(1_320, 360), 5, 359, true),
            (hours(1_320, 360), 5, 360, false),
            (hours(1_320, 360), 4, 100, false),
            (hours(0, 0), 4, 700, true),
            (hours(0, 0), 5, 0, false),
        ] {
            assert_eq!(hours.hold(day, minute), expected, "{hours:?} {day} {minute}");
        }
    }
}
