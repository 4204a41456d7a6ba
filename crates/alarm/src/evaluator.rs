//! The evaluator: events in, changes of alarms out.

use std::sync::Arc;

use ringtap_kpi::{Cell, Key};
use ringtap_model::{Id, Nanos};

use crate::baseline::Baseline;
use crate::calls::Calls;
use crate::capture::CaptureLoss;
use crate::event::Event;
use crate::learned::Learned;
use crate::number::NumberPlan;
use crate::rule::{Per, Watched};
use crate::series::{Counted, Series};
use crate::settings::Settings;
use crate::standing::{Change, NotStanding, Silence, StandingAlarm, StandingAlarms};
use crate::subjects::{Evidence, SubjectId, Subjects};

/// What an evaluator did, and what it could not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events.
    pub events: u64,
    /// Those that came when the time of a rule was over already: that rule did not count them.
    pub late: u64,
    /// Those of calls that are not followed: not counted, or counted in total alone.
    pub unknown: u64,
    /// Calls that found no room: nothing of them is counted.
    pub calls_refused: u64,
    /// Calls that were forgotten because nothing was heard of them for 12 hours.
    pub calls_forgotten: u64,
    /// Subjects that found no room: each time something was to be counted for one.
    pub subjects_refused: u64,
    /// Alarms that found no room.
    pub alarms_refused: u64,
    /// How often a rule was looked at for a subject.
    pub evaluations: u64,
    /// How often the figure of a week ago was not there.
    pub without_baseline: u64,
    /// How often an absence could not be told because the capture lost packets.
    pub suspended: u64,
    /// Calls that are followed now.
    pub calls: u64,
    /// Subjects that are followed now.
    pub subjects: u64,
}

/// Raises and clears alarms: see the page of the crate.
#[derive(Debug)]
pub struct Evaluator {
    pub(crate) settings: Settings,
    pub(crate) plan: NumberPlan,
    pub(crate) subjects: Subjects,
    pub(crate) calls: Calls,
    pub(crate) series: Vec<Series>,
    pub(crate) learned: Learned,
    pub(crate) standing: StandingAlarms,
    pub(crate) baseline: Baseline,
    pub(crate) capture: CaptureLoss,
    pub(crate) counts: Counts,
    /// Which kinds of subjects are looked at.
    pub(crate) looked_at: [bool; Per::ALL.len()],
    pub(crate) start: Nanos,
    pub(crate) now: Nanos,
    /// When the next slot closes.
    next_close: Nanos,
}

impl Evaluator {
    /// An evaluator that begins now. Rules that did not pass [`Rule::check`](crate::Rule::check) never hold.
    pub fn new(settings: Settings, now: Nanos) -> Self {
        let mut evaluator = Self {
            plan: NumberPlan::new(&settings),
            subjects: Subjects::new(settings.max_groups),
            calls: Calls::default(),
            series: Series::all(&settings.rules, now),
            learned: Learned::new(now, settings.learning, settings.max_groups),
            standing: StandingAlarms::new(settings.repeat, settings.max_standing),
            baseline: Baseline::default(),
            capture: CaptureLoss::new(settings.capture_loss),
            counts: Counts::default(),
            looked_at: [false; Per::ALL.len()],
            start: now,
            now,
            next_close: Nanos::ZERO,
            settings,
        };
        for rule in &evaluator.settings.rules {
            evaluator.looked_at[rule.per as usize] = true;
            if let Some(kind) = evidence_of(&rule.watched) {
                evaluator.subjects.want(rule.per, kind);
            }
        }
        evaluator.watch_configured();
        evaluator
    }

    /// Makes groups for the subjects that are watched before anything happens: all traffic, and trunks.
    fn watch_configured(&mut self) {
        let Self { series, subjects, settings, now, .. } = self;
        for series in series.iter_mut().filter(|series| series.has_absence) {
            let names: &[Arc<str>] = match series.per {
                Per::Total => &["".into()],
                Per::Trunk | Per::TrunkIn | Per::TrunkOut => &settings.trunks,
                _ => &[],
            };
            for name in names {
                // Held for good.
                let id = subjects.hold(series.per, name);
                if let Some(group) = series.group(id, &settings.rules, subjects, *now) {
                    group.is_configured = true;
                }
            }
        }
    }

    /// Counts an event.
    ///
    /// Call [`advance`](Self::advance) first with the time of the event, or of its second: an event counts at
    /// the moment that the evaluator has come to. One that is older counts as well, as long as it is within
    /// the time of a rule. An event of the future counts now.
    pub fn event(&mut self, event: &Event) {
        self.counts.events += 1;
        let late = self.now.since(event.time());
        if self.series.iter().any(|series| late > series.over) {
            self.counts.late += 1;
        }
        self.count(event);
    }

    /// Moves on to a moment, and returns what changed since the last time. Call it once a second at least,
    /// or before each event: it is cheap when nothing is due. Time does not go back.
    pub fn advance(&mut self, now: Nanos) -> Vec<Change> {
        if now > self.now {
            self.now = now;
            if now >= self.next_close {
                self.close_slots();
                self.forget_calls();
                self.learned.advance(now);
            }
            self.standing.advance(now);
        }
        std::mem::take(&mut self.standing.changes)
    }

    fn close_slots(&mut self) {
        loop {
            // At the same moment the shortest slot first: it passes on what it has.
            let first = |(place, series): &(usize, &Series)| (series.next_close, series.slot, *place);
            let due = self.series.iter().enumerate().min_by_key(first);
            let Some((place, next)) = due.map(|(place, series)| (place, series.next_close)) else {
                // Without rules, calls are forgotten each second all the same.
                self.next_close = self.now + Nanos::from_secs(1);
                return;
            };
            if next > self.now {
                self.next_close = next.min(self.now + Nanos::from_secs(1));
                return;
            }
            self.close_slot(place, next);
        }
    }

    fn forget_calls(&mut self) {
        for (number, call) in self.calls.forgotten(self.now) {
            if !call.ended {
                self.counts.calls_forgotten += 1;
            }
            self.leave(number, &call);
        }
    }

    /// The alarms that stand.
    pub fn standing(&self) -> impl Iterator<Item = &ringtap_model::Alarm> {
        self.standing.alarms.values().map(|standing: &StandingAlarm| &standing.alarm)
    }

    /// Acknowledges an alarm: it is not repeated any more.
    ///
    /// # Errors
    ///
    /// No such alarm stands.
    pub fn acknowledge(
        &mut self,
        id: Id,
        by: &str,
        comment: &str,
        now: Nanos,
    ) -> Result<Change, NotStanding> {
        self.standing.acknowledge(id, by, comment, now)
    }

    /// Tells nobody of some alarms for a time: of those that stand, and of new ones.
    ///
    /// # Errors
    ///
    /// It is over already, or there are too many: says what to do.
    pub fn silence(&mut self, silence: Silence, now: Nanos) -> Result<(), String> {
        self.standing.silence(silence, now)
    }

    /// Ends the silence of these rules and subjects, written as they were then: whether there was one.
    pub fn unsilence(&mut self, rule: &str, subject: &str, now: Nanos) -> bool {
        self.standing.unsilence(rule, subject, now)
    }

    /// The silences.
    pub fn silences(&self) -> &[Silence] {
        &self.standing.silences
    }

    /// The hour a week ago whose figures a rule needs and that are not there yet.
    pub fn wanted_baseline(&self, now: Nanos) -> Option<(Nanos, Nanos)> {
        let wanted = self.hour_a_week_ago(now);
        let needs = self.settings.rules.iter().any(|rule| rule.limit.of_week_ago);
        (needs && self.baseline.hour != Some(wanted)).then_some(wanted)
    }

    /// Brings the figures of an hour of the past: the cells of all its groups, as
    /// [`Table`](ringtap_kpi::Table) adds them up.
    pub fn set_baseline(&mut self, hour: (Nanos, Nanos), cells: &[(Key, Cell)]) {
        self.baseline.set(hour, cells);
    }

    pub(crate) fn hour_a_week_ago(&self, now: Nanos) -> (Nanos, Nanos) {
        let zone = &self.settings.zone;
        let from = zone.week_before(ringtap_kpi::Per::Hour.start(now, zone));
        (from, from + Nanos::from_secs(3_600))
    }

    /// What was done.
    pub fn counts(&self) -> Counts {
        Counts {
            subjects_refused: self.subjects.refused,
            alarms_refused: self.standing.refused,
            calls: self.calls.len() as u64,
            subjects: self.subjects.len() as u64,
            ..self.counts
        }
    }

    /// Lets go of a subject. Where it was the last who knew it, its number is used again.
    pub(crate) fn release(subjects: &mut Subjects, series: &mut [Series], per: Per, id: SubjectId) {
        if subjects.release(per, id) {
            series.iter_mut().filter(|series| series.per == per).for_each(|series| series.forget(id));
        }
    }

    /// Call-IDs of calls that show what a rule sees.
    pub(crate) fn calls_shown(&self, place: usize, rule: usize, id: SubjectId, now: Nanos) -> Vec<String> {
        let (series, rule) = (&self.series[place], &self.settings.rules[rule]);
        if series.counted == Counted::LongestCall {
            return self.longest_calls(place, id);
        }
        let Some(kind) = evidence_of(&rule.watched) else { return Vec::new() };
        // A call in progress may have begun long before.
        let since = if series.counted == Counted::InProgress { Nanos::ZERO } else { now - rule.over };
        self.subjects.shown(rule.per, id, kind, since)
    }
}

/// Which calls show what a figure says; none where they are no calls.
pub(crate) fn evidence_of(watched: &Watched) -> Option<Evidence> {
    match watched {
        Watched::Kpi(figure) => match figure.name {
            "asr" | "abr" | "ner" | "ner_isa" | "ner_without_4xx" | "ser" | "seer" | "isa" => {
                Some(Evidence::Failed)
            }
            "srd_failed_ms_p50" | "srd_failed_ms_p95" => Some(Evidence::Failed),
            "short_calls" => Some(Evidence::Short),
            "acd_ms" | "duration_ms_p50" | "sdd_ms_p50" | "sdd_ms_p95" | "scr" => Some(Evidence::Ended),
            name if name.starts_with("mos_") || name.starts_with("loss_") || name.starts_with("jitter_") => {
                Some(Evidence::Poor)
            }
            "ira" | "rrd_ms_p50" | "rrd_ms_p95" => None,
            _ => Some(Evidence::Begun),
        },
        Watched::LossShare => Some(Evidence::Poor),
        Watched::Begun | Watched::InProgress => Some(Evidence::Begun),
        Watched::Callees | Watched::Sequential => Some(Evidence::Begun),
        Watched::Countries | Watched::Abroad => Some(Evidence::Abroad),
        Watched::Premium => Some(Evidence::Premium),
        Watched::NewCountry => Some(Evidence::NewCountry),
        Watched::MissedCallees => Some(Evidence::Missed),
        Watched::RefusedUsers => Some(Evidence::Failed),
        Watched::LongestCall | Watched::Registrations | Watched::RegistrationsFailed | Watched::Health(_) => {
            None
        }
    }
}
