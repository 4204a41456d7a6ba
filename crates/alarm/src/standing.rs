//! Alarms that stand, who knows of them, and who does not want to.

use std::collections::BTreeMap;
use std::fmt;

use ringtap_model::{Alarm, Id, Nanos};
use serde::{Deserialize, Serialize};

use crate::glob::matches;
use crate::number::hash;

/// What happened to an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeKind {
    /// Its rule holds now.
    Raised,
    /// It stands for as long as it takes until it is told again, or its silence is over.
    Repeated,
    /// Its rule holds no more, or is gone.
    Cleared,
    /// Somebody acknowledged it.
    Acknowledged,
}

/// A change of an alarm, to be stored and told.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The alarm after it.
    pub alarm: Alarm,
    /// Names of who is told; everybody where it is empty.
    pub notify: Vec<String>,
    /// Whether a silence covers it: then nobody is told.
    pub silenced: bool,
}

/// Alarms of which nobody is told for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Names of rules, a `*` standing for any text.
    pub rule: String,
    /// Subjects, a `*` standing for any text.
    pub subject: String,
    /// When it ends.
    #[serde(rename = "until_us")]
    pub until: Nanos,
    /// Who wants it.
    pub by: String,
    /// Why.
    pub comment: String,
}

/// No alarm of that id stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStanding(pub Id);

impl fmt::Display for NotStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no alarm {} stands: it cleared, or there never was one", self.0)
    }
}

impl std::error::Error for NotStanding {}

/// An alarm that stands, and when somebody was last told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StandingAlarm {
    pub(crate) alarm: Alarm,
    notify: Vec<String>,
    /// None where nobody was told because of a silence.
    told: Option<Nanos>,
}

/// All alarms that stand, and silences.
#[derive(Debug, Default)]
pub(crate) struct StandingAlarms {
    pub(crate) alarms: BTreeMap<Id, StandingAlarm>,
    pub(crate) silences: Vec<Silence>,
    repeat: Nanos,
    most: usize,
    /// Alarms that found no room.
    pub(crate) refused: u64,
    pub(crate) changes: Vec<Change>,
}

impl StandingAlarms {
    pub(crate) fn new(repeat: Nanos, most: usize) -> Self {
        Self { repeat, most, ..Self::default() }
    }

    /// Raises an alarm; false where there is no room.
    pub(crate) fn raise(&mut self, mut alarm: Alarm, notify: &[String]) -> bool {
        if self.alarms.len() >= self.most {
            self.refused += 1;
            return false;
        }
        alarm.silenced_until = self.silenced_until(&alarm, alarm.raised);
        let silenced = alarm.silenced_until.is_some();
        let told = (!silenced).then_some(alarm.raised);
        let change =
            Change { kind: ChangeKind::Raised, alarm: alarm.clone(), notify: notify.to_vec(), silenced };
        self.changes.push(change);
        self.alarms.insert(alarm.id, StandingAlarm { alarm, notify: notify.to_vec(), told });
        true
    }

    /// Notes that the rule of an alarm still holds.
    pub(crate) fn hold(&mut self, id: Id, value: Option<f64>, is_above: bool, now: Nanos) {
        let Some(StandingAlarm { alarm, .. }) = self.alarms.get_mut(&id) else { return };
        alarm.last = now;
        let Some(value) = value else { return };
        let is_worse = alarm.worst.is_none_or(|worst| if is_above { value > worst } else { value < worst });
        if is_worse {
            alarm.worst = Some(value);
        }
    }

    pub(crate) fn clear(&mut self, id: Id, now: Nanos) {
        let Some(standing) = self.alarms.remove(&id) else { return };
        let mut alarm = standing.alarm;
        alarm.cleared = Some(now);
        alarm.silenced_until = self.silenced_until(&alarm, now);
        // Who was never told that it was raised needs not be told that it cleared.
        let silenced = alarm.silenced_until.is_some() || standing.told.is_none();
        self.changes.push(Change { kind: ChangeKind::Cleared, alarm, notify: standing.notify, silenced });
    }

    pub(crate) fn acknowledge(
        &mut self,
        id: Id,
        by: &str,
        comment: &str,
        now: Nanos,
    ) -> Result<Change, NotStanding> {
        let until = self.alarms.get(&id).and_then(|standing| self.silenced_until(&standing.alarm, now));
        let standing = self.alarms.get_mut(&id).ok_or(NotStanding(id))?;
        let alarm = &mut standing.alarm;
        alarm.acknowledged = Some(now);
        alarm.acknowledged_by = Some(by.to_owned());
        alarm.comment = (!comment.is_empty()).then(|| comment.to_owned());
        alarm.silenced_until = until;
        Ok(Change {
            kind: ChangeKind::Acknowledged,
            alarm: alarm.clone(),
            notify: standing.notify.clone(),
            silenced: until.is_some(),
        })
    }

    /// Adds a silence; one of the same rules and subjects is replaced.
    pub(crate) fn silence(&mut self, silence: Silence, now: Nanos) -> Result<(), String> {
        if silence.until <= now {
            return Err("the silence is over before it begins: give a later time".into());
        }
        self.unsilence(&silence.rule, &silence.subject, now);
        if self.silences.len() >= SILENCES {
            return Err(format!("there are {SILENCES} silences: remove one first"));
        }
        self.silences.push(silence);
        self.mark_silenced(now);
        Ok(())
    }

    /// Removes a silence: whether there was one.
    pub(crate) fn unsilence(&mut self, rule: &str, subject: &str, now: Nanos) -> bool {
        let before = self.silences.len();
        self.silences.retain(|silence| silence.rule != rule || silence.subject != subject);
        self.mark_silenced(now);
        self.silences.len() < before
    }

    /// Forgets silences that are over, and repeats alarms that nobody was told of for long.
    pub(crate) fn advance(&mut self, now: Nanos) {
        if self.silences.iter().any(|silence| silence.until <= now) {
            self.silences.retain(|silence| silence.until > now);
            self.mark_silenced(now);
        }
        for standing in self.alarms.values_mut() {
            let StandingAlarm { alarm, notify, told } = standing;
            let is_due = match *told {
                None => true,
                Some(told) => self.repeat > Nanos::ZERO && now >= told + self.repeat,
            };
            if !is_due || alarm.silenced_until.is_some() || alarm.acknowledged.is_some() {
                continue;
            }
            *told = Some(now);
            let (alarm, notify) = (alarm.clone(), notify.clone());
            self.changes.push(Change { kind: ChangeKind::Repeated, alarm, notify, silenced: false });
        }
    }

    fn mark_silenced(&mut self, now: Nanos) {
        let mut alarms = std::mem::take(&mut self.alarms);
        for standing in alarms.values_mut() {
            standing.alarm.silenced_until = self.silenced_until(&standing.alarm, now);
        }
        self.alarms = alarms;
    }

    /// When the last silence of an alarm ends.
    fn silenced_until(&self, alarm: &Alarm, now: Nanos) -> Option<Nanos> {
        let covers = |silence: &&Silence| {
            silence.until > now
                && matches(&silence.rule, &alarm.rule)
                && matches(&silence.subject, &alarm.subject)
        };
        self.silences.iter().filter(covers).map(|silence| silence.until).max()
    }
}

/// The id of an alarm: of its rule, subject and time, so that the same events give it again.
pub(crate) fn id(rule: &str, per: &str, subject: &str, raised: Nanos) -> Id {
    let text = format!("{rule}\0{per}\0{subject}\0{}", raised.micros());
    let (high, low) = (hash(&text), hash(&format!("{text}\0")));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&low.to_be_bytes());
    Id(bytes)
}

/// Silences at a time.
pub(crate) const SILENCES: usize = 1_000;
