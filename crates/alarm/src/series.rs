//! One figure over one time, for all subjects of a kind: shared by the rules that look at it.

use ringtap_kpi::{CallFacts, Cell};
use ringtap_model::Nanos;

use crate::event::{HealthFigure, IntervalSeen};
use crate::glob::matches;
use crate::judge::{State, is_absence};
use crate::names::Family;
use crate::rule::{Per, Rule, Watched};
use crate::subjects::{SHOWN, SubjectId, Subjects};
use crate::window::{Cells, Distinct, Health, Tally, Window, after};

/// What a series counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All that KPIs are made of.
    Kpis,
    Begun,
    InProgress,
    LongestCall,
    Callees,
    Countries,
    Sequential,
    Premium,
    Abroad,
    NewCountry,
    MissedCallees,
    RefusedUsers,
    Registrations,
    RegistrationsFailed,
    LossShare,
    Health(HealthFigure),
}

impl Counted {
    fn of(watched: &Watched) -> Self {
        match *watched {
            Watched::Kpi(_) => Self::Kpis,
            Watched::Begun => Self::Begun,
            Watched::InProgress => Self::InProgress,
            Watched::LongestCall => Self::LongestCall,
            Watched::Callees => Self::Callees,
            Watched::Countries => Self::Countries,
            Watched::Sequential => Self::Sequential,
            Watched::Premium => Self::Premium,
            Watched::Abroad => Self::Abroad,
            Watched::NewCountry => Self::NewCountry,
            Watched::MissedCallees => Self::MissedCallees,
            Watched::RefusedUsers => Self::RefusedUsers,
            Watched::Registrations => Self::Registrations,
            Watched::RegistrationsFailed => Self::RegistrationsFailed,
            Watched::LossShare => Self::LossShare,
            Watched::Health(figure) => Self::Health(figure),
        }
    }

    fn window(self, slots: usize) -> Window {
        match self {
            Self::Kpis => Window::Cells(Cells::new(slots)),
            Self::InProgress => Window::Gauge(0),
            Self::LongestCall => Window::Longest(Default::default()),
            Self::Callees | Self::Countries | Self::Sequential | Self::MissedCallees | Self::RefusedUsers => {
                Window::Distinct(Distinct::new(slots))
            }
            Self::Health(_) => Window::Health(Health::new(slots)),
            _ => Window::Tally(Tally::new(slots)),
        }
    }
}

/// Something to count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Update<'a> {
    Count([u64; 3]),
    Value(u64),
    Call(&'a CallFacts),
    Interval(&'a IntervalSeen),
    /// What a shorter slot has.
    Cell(&'a Cell),
    Attempt {
        failed: bool,
        delay_ms: Option<f64>,
    },
    CallBegan,
    CallEnded,
    CallAnswered(Nanos, u64),
    AnsweredCallEnded(Nanos, u64),
    Health(f64),
}

impl Update<'_> {
    fn is_removal(&self) -> bool {
        matches!(self, Self::CallEnded | Self::AnsweredCallEnded(..))
    }

    fn apply(self, window: &mut Window, turn: usize) {
        match (window, self) {
            (Window::Tally(tally), Self::Count(counts)) => tally.add(turn, counts),
            (Window::Distinct(distinct), Self::Value(value)) => distinct.add(turn, value),
            (Window::Cells(cells), Self::Call(facts)) => cells.open(turn).call(facts, false),
            (Window::Cells(cells), Self::Cell(cell)) => cells.open(turn).merge(cell),
            (Window::Cells(cells), Self::Interval(seen)) => {
                let (packets, lost) = (u64::from(seen.packets), u64::from(seen.lost));
                cells.open(turn).interval(seen.mos, packets, lost, seen.jitter_ms);
            }
            (Window::Cells(cells), Self::Attempt { failed, delay_ms }) => {
                cells.open(turn).registration_attempt(failed, delay_ms);
            }
            (Window::Gauge(calls), Self::CallBegan) => *calls += 1,
            (Window::Gauge(calls), Self::CallEnded) => *calls = calls.saturating_sub(1),
            (Window::Longest(calls), Self::CallAnswered(time, number)) => _ = calls.insert((time, number)),
            (Window::Longest(calls), Self::AnsweredCallEnded(time, number)) => {
                calls.remove(&(time, number));
            }
            (Window::Health(health), Self::Health(value)) => health.add(turn, value),
            // A series gets only updates of its kind.
            _ => {}
        }
    }
}

/// What is counted of one subject, and how each rule stands with it.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) window: Window,
    /// When it was first seen, and last.
    pub(crate) since: Nanos,
    pub(crate) last: Nanos,
    /// Whether it is watched though nothing was ever seen of it.
    pub(crate) is_configured: bool,
    /// The rules that look at it: their places in [`Series::rules`].
    pub(crate) rules: Vec<(u16, State)>,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Unknown,
    /// No rule looks at this subject.
    Ignored,
    Group(Box<Group>),
}

/// One figure over one time, for all subjects of a kind.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) counted: Counted,
    pub(crate) per: Per,
    pub(crate) over: Nanos,
    /// The rules that look at it: their numbers.
    pub(crate) rules: Vec<usize>,
    /// Which events of KPIs are counted.
    pub(crate) calls: bool,
    pub(crate) streams: bool,
    pub(crate) registrations: bool,
    /// Whether a rule waits for an absence, so that subjects stay when nothing happens.
    pub(crate) has_absence: bool,
    /// The series of the same figures with the next longer slots: it gets each slot that closes here.
    pub(crate) next_longer: Option<usize>,
    /// Whether it gets what it counts from a series with shorter slots, not from events.
    pub(crate) is_fed: bool,
    /// When the open slot closes.
    pub(crate) next_close: Nanos,
    pub(crate) slot: Nanos,
    slots: usize,
    turn: usize,
    /// Slots that were closed since the last update.
    idle: u64,
    groups: Vec<Place>,
    /// Subjects that have a group.
    pub(crate) active: Vec<SubjectId>,
}

impl Series {
    /// The series of all rules.
    pub(crate) fn all(rules: &[Rule], now: Nanos) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let counted = Counted::of(&rule.watched);
            let same = |series: &&mut Self| {
                series.counted == counted && series.per == rule.per && series.over == rule.over
            };
            let series = match all.iter_mut().find(same) {
                Some(series) => series,
                None => {
                    all.push(Self::new(counted, rule, now));
                    let last = all.len() - 1;
                    &mut all[last]
                }
            };
            series.rules.push(number);
            series.has_absence |= is_absence(rule);
            match rule.watched.family() {
                Family::Calls => series.calls = true,
                Family::Streams => series.streams = true,
                Family::Registrations => series.registrations = true,
                Family::Users => (series.calls, series.registrations) = (true, true),
                Family::Health => {}
            }
        }
        chain(&mut all);
        all
    }

    fn new(counted: Counted, rule: &Rule, now: Nanos) -> Self {
        let slot = Nanos((rule.over.0 / SLOTS).max(SHORTEST));
        let slots = rule.over.0.div_ceil(slot.0);
        Self {
            counted,
            per: rule.per,
            over: rule.over,
            rules: Vec::new(),
            calls: false,
            streams: false,
            registrations: false,
            has_absence: false,
            next_longer: None,
            is_fed: false,
            next_close: Nanos(now.0 - now.0 % slot.0) + slot,
            slot,
            // One more for the open slot.
            slots: slots as usize + 1,
            turn: 0,
            idle: 0,
            groups: Vec::new(),
            active: Vec::new(),
        }
    }

    /// Counts something for a subject.
    pub(crate) fn update(
        &mut self,
        id: SubjectId,
        update: Update<'_>,
        rules: &[Rule],
        subjects: &mut Subjects,
        now: Nanos,
    ) {
        if update.is_removal() && !matches!(self.groups.get(id as usize), Some(Place::Group(_))) {
            return;
        }
        self.idle = 0;
        let turn = self.turn;
        if let Some(group) = self.group(id, rules, subjects, now) {
            group.last = now;
            update.apply(&mut group.window, turn);
        }
    }

    /// The group of a subject; None where no rule looks at it.
    pub(crate) fn group(
        &mut self,
        id: SubjectId,
        rules: &[Rule],
        subjects: &mut Subjects,
        now: Nanos,
    ) -> Option<&mut Group> {
        let index = id as usize;
        if index >= self.groups.len() {
            self.groups.resize_with(index + 1, Place::default);
        }
        if matches!(self.groups[index], Place::Unknown) {
            let name = subjects.name(self.per, id);
            let looks = |number: usize| {
                let only = &rules[number].only;
                only.is_empty() || only.iter().any(|pattern| matches(pattern, &name))
            };
            let looking: Vec<(u16, State)> = (0_u16..)
                .zip(&self.rules)
                .filter(|(_, number)| looks(**number))
                .map(|(place, _)| (place, State::Quiet))
                .collect();
            self.groups[index] = if looking.is_empty() && self.next_longer.is_none() {
                Place::Ignored
            } else {
                subjects.hold_again(self.per, id);
                self.active.push(id);
                let window = self.counted.window(self.slots);
                Place::Group(Box::new(Group {
                    window,
                    since: now,
                    last: now,
                    is_configured: false,
                    rules: looking,
                }))
            };
        }
        match &mut self.groups[index] {
            Place::Group(group) => Some(group),
            Place::Unknown | Place::Ignored => None,
        }
    }

    pub(crate) fn existing(&mut self, id: SubjectId) -> Option<&mut Group> {
        match self.groups.get_mut(id as usize) {
            Some(Place::Group(group)) => Some(group),
            _ => None,
        }
    }

    /// Whether callers without a number are left out: together they call whomever.
    pub(crate) fn needs_a_name(&self) -> bool {
        let any_caller = matches!(
            self.counted,
            Counted::Kpis | Counted::Begun | Counted::InProgress | Counted::LongestCall | Counted::LossShare
        );
        self.per == Per::Caller && !any_caller
    }

    /// Numbers of the longest calls in progress, the longest first.
    pub(crate) fn longest(&self, id: SubjectId) -> impl Iterator<Item = u64> {
        let calls = match self.groups.get(id as usize) {
            Some(Place::Group(group)) => match &group.window {
                Window::Longest(calls) => Some(calls),
                _ => None,
            },
            _ => None,
        };
        calls.into_iter().flatten().map(|(_, number)| *number).take(SHOWN)
    }

    /// What the open slot of a group has.
    pub(crate) fn open_slot(&self, id: SubjectId) -> Option<Update<'_>> {
        let Some(Place::Group(group)) = self.groups.get(id as usize) else { return None };
        match &group.window {
            Window::Cells(cells) => cells.opened(self.turn).map(Update::Cell),
            Window::Tally(tally) => tally.opened(self.turn).map(Update::Count),
            _ => None,
        }
    }

    /// Closes the slot of a group: whether something changed.
    pub(crate) fn close_group(&mut self, id: SubjectId) -> bool {
        let turn = self.turn;
        self.existing(id).is_some_and(|group| group.window.close(turn))
    }

    /// Opens the next slot, after all groups were closed. `until` is the moment that the monitor has come to:
    /// after a time without events, the slots in which nothing can change are left out.
    pub(crate) fn open_next(&mut self, until: Nanos) {
        self.turn = after(self.turn, self.slots);
        self.idle = self.idle.saturating_add(1);
        let left = until.since(self.next_close).0 / self.slot.0;
        let skipped = if self.idle > self.slots as u64 { left.saturating_sub(1) } else { 0 };
        self.next_close += Nanos(self.slot.0.saturating_mul(1 + skipped));
    }

    /// Removes a group, or forgets that no rule looks at a subject.
    pub(crate) fn forget(&mut self, id: SubjectId) {
        if let Some(place) = self.groups.get_mut(id as usize) {
            *place = Place::Unknown;
        }
    }
}

/// Lets series of the same figures feed each other, from the shortest slots to the longest: an event is then
/// counted once, not once for each time that rules look back.
fn chain(all: &mut [Series]) {
    for place in 0..all.len() {
        let Series { counted, per, slot, .. } = all[place];
        let adds_up = matches!(counted.window(1), Window::Cells(_) | Window::Tally(_));
        let longer =
            |series: &Series| adds_up && series.counted == counted && series.per == per && series.slot > slot;
        let next = (0..all.len()).filter(|other| longer(&all[*other])).min_by_key(|other| all[*other].slot);
        all[place].next_longer = next;
        if let Some(next) = next {
            all[next].is_fed = true;
            // Whatever one of them counts, those before it count.
            let kinds = [all[place].calls, all[place].streams, all[place].registrations];
            for other in all.iter_mut().filter(|other| other.counted == counted && other.per == per) {
                other.calls |= kinds[0];
                other.streams |= kinds[1];
                other.registrations |= kinds[2];
            }
        }
    }
}

/// Slots of a time, at most, and their shortest length.
const SLOTS: u64 = 15;
const SHORTEST: u64 = 1_000_000_000;
