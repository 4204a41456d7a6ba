//! What goes over a restart: standing alarms, silences, and what was learned.

use serde::{Deserialize, Serialize};

use crate::evaluator::Evaluator;
use crate::judge::State;
use crate::learned::LearnedState;
use crate::rule::Per;
use crate::standing::{SILENCES, Silence, StandingAlarm};

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    standing: Vec<StandingAlarm>,
    silences: Vec<Silence>,
    learned: LearnedState,
}

impl Evaluator {
    /// Standing alarms, silences and what was learned, for [`restore`](Self::restore).
    pub fn state(&self) -> String {
        let saved = Saved {
            version: VERSION,
            standing: self.standing.alarms.values().cloned().collect(),
            silences: self.standing.silences.clone(),
            learned: self.learned.state(),
        };
        // Only a map whose keys are no texts or numbers could fail, and there is none.
        serde_json::to_string(&saved).unwrap_or_default()
    }

    /// Restores what [`state`](Self::state) wrote, before the first event. An alarm whose rule is gone clears
    /// at once; the others stand until they were watched for long enough.
    ///
    /// # Errors
    ///
    /// The text is not that of a state: says why. Nothing is changed then.
    pub fn restore(&mut self, text: &str) -> Result<(), String> {
        let saved: Saved =
            serde_json::from_str(text).map_err(|error| format!("this is no state of alarms: {error}"))?;
        if saved.version != VERSION {
            let version = saved.version;
            return Err(format!(
                "the state of alarms has version {version}, and this program reads {VERSION}"
            ));
        }
        self.learned.restore(saved.learned)?;
        let now = self.now;
        let silences = saved.silences.into_iter().filter(|silence| silence.until > now);
        self.standing.silences = silences.take(SILENCES).collect();
        for standing in saved.standing.into_iter().take(self.settings.max_standing) {
            restore_alarm(self, standing);
        }
        Ok(())
    }
}

/// Lets an alarm stand again. One whose rule is gone clears.
fn restore_alarm(evaluator: &mut Evaluator, standing: StandingAlarm) {
    let now = evaluator.now;
    let alarm = &standing.alarm;
    let rules = &evaluator.settings.rules;
    let number = rules.iter().position(|rule| rule.name == alarm.rule && rule.per.name() == alarm.per);
    let (id, subject) = (alarm.id, alarm.subject.clone());
    evaluator.standing.alarms.insert(id, standing);
    let stands = number.is_some_and(|number| stand(evaluator, number, &subject, State::Standing(id, None)));
    if !stands {
        evaluator.standing.clear(id, now);
    }
}

/// Sets how a rule stands with a subject; false where it does not look at it.
fn stand(evaluator: &mut Evaluator, number: usize, subject: &str, state: State) -> bool {
    let Evaluator { series, subjects, settings, now, .. } = evaluator;
    let per: Per = settings.rules[number].per;
    let Some(place) = series.iter().position(|series| series.rules.contains(&number)) else { return false };
    let id = subjects.hold(per, subject);
    let rule_place = series[place].rules.iter().position(|rule| *rule == number);
    let group = series[place].group(id, &settings.rules, subjects, *now);
    let found = group
        .and_then(|group| group.rules.iter_mut().find(|(place, _)| Some(usize::from(*place)) == rule_place));
    let stands = found.map(|(_, old)| *old = state).is_some();
    Evaluator::release(subjects, series, per, id);
    stands
}

const VERSION: u32 = 1;
