//! Which rules can be evaluated.

use ringtap_model::Nanos;

use crate::baseline::has_past;
use crate::names::Family;
use crate::rule::{Limit, Per, Rule, Watched};

/// What a figure goes with.
pub(crate) fn fitting(watched: &Watched) -> Vec<Per> {
    Per::of(watched.family())
}

impl Rule {
    /// Whether the rule can be evaluated.
    ///
    /// # Errors
    ///
    /// It cannot: names the key, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let figure = self.watched.name();
        let fitting = fitting(&self.watched);
        if !fitting.contains(&self.per) {
            let names: Vec<&str> = fitting.iter().map(|per| per.name()).collect();
            let (per, names) = (self.per.name(), names.join(", "));
            return Err(format!("per = \"{per}\" does not go with {figure}: write one of {names}"));
        }
        if self.over < SHORTEST || self.over > LONGEST {
            return Err("over must be from 1s to 24h, for example 5m".into());
        }
        if self.watched.family() == Family::Health && self.over < HEALTH {
            return Err(format!("over must be at least 30s for {figure}, which is not there every second"));
        }
        if self.lasting > LONGEST {
            return Err("lasting must be at most 24h".into());
        }
        let Limit { is_above, raise, clear, of_week_ago } = self.limit;
        if !raise.is_finite() || !clear.is_finite() || raise < 0.0 || clear < 0.0 {
            return Err("above, below and clear must be numbers, 0 or more".into());
        }
        if is_above && clear > raise {
            return Err(format!(
                "clear = {clear} must not be above {raise}, the value that raises the alarm"
            ));
        }
        if !is_above && clear < raise {
            return Err(format!(
                "clear = {clear} must not be below {raise}, the value that raises the alarm"
            ));
        }
        if is_above && raise == 0.0 && self.watched.is_count() {
            return Err("above = 0 holds always: write 1 or more".into());
        }
        if !is_above && raise == 0.0 {
            return Err("below = 0 holds never: write more than 0".into());
        }
        let has_minimum = self.minimum > 0 || self.watched.is_zero_without_events();
        if !is_above && !has_minimum && self.watched.family() != Family::Health {
            return Err(format!("minimum must be 1 or more for {figure} below a value"));
        }
        if of_week_ago && !has_past(self) {
            return Err(format!(
                "of_week_ago does not go with {figure} per {}: the database has KPIs per total, trunk, \
                 trunk_in, trunk_out, direction, codec, device and prefix",
                self.per.name()
            ));
        }
        if self.hours.as_ref().is_some_and(|hours| hours.days.iter().all(|day| !day)) {
            return Err("hours must name a day, for example \"Mon-Fri 08:00-20:00\"".into());
        }
        Ok(())
    }
}

/// Shortest and longest time over which a figure is computed.
const SHORTEST: Nanos = Nanos::from_secs(1);
const LONGEST: Nanos = Nanos::from_secs(86_400);
/// Shortest time over which a figure of this monitor is computed.
const HEALTH: Nanos = Nanos::from_secs(30);

#[cfg(test)]
mod tests {
    use ringtap_model::Severity;

    use super::*;
    use crate::rule::Hours;

    fn rule(figure: &str, per: &str, minimum: u64, is_above: bool, raise: f64, clear: f64) -> Rule {
        Rule {
            name: "r".into(),
            severity: Severity::Info,
            watched: Watched::from_name(figure).unwrap(),
            per: Per::from_name(per).unwrap(),
            only: Vec::new(),
            over: Nanos::from_secs(60),
            minimum,
            limit: Limit { is_above, raise, clear, of_week_ago: false },
            lasting: Nanos::ZERO,
            hours: None,
            notify: Vec::new(),
        }
    }

    #[test]
    fn each_mistake_names_its_key_and_a_remedy() {
        assert_eq!(rule("asr", "trunk", 20, false, 40.0, 50.0).check(), Ok(()));
        assert_eq!(rule("begun", "trunk", 0, false, 1.0, 1.0).check(), Ok(()));
        let asr = || rule("asr", "trunk", 20, false, 40.0, 50.0);
        let of_week_ago = |mut rule: Rule| {
            rule.limit.of_week_ago = true;
            rule
        };
        let never = Hours { days: [false; 7], from: 0, to: 60 };
        for (rule, words) in [
            (rule("asr", "user", 20, false, 40.0, 50.0), ["per = \"user\"", "trunk_in"]),
            (rule("loss_pct", "part", 1, true, 1.0, 1.0), ["per = \"part\"", "codec"]),
            (rule("registrations", "trunk", 1, true, 1.0, 1.0), ["registrations", "source, user"]),
            (Rule { over: Nanos::ZERO, ..asr() }, ["over", "5m"]),
            (Rule { lasting: Nanos::MAX, ..asr() }, ["lasting", "24h"]),
            (rule("loss_pct", "trunk", 1, true, 1.0, 2.0), ["clear = 2", "above 1"]),
            (rule("asr", "trunk", 1, false, 40.0, 30.0), ["clear = 30", "below 40"]),
            (rule("loss_pct", "trunk", 1, true, f64::NAN, 1.0), ["above", "numbers"]),
            (rule("begun", "trunk", 1, true, 0.0, 0.0), ["above = 0", "1 or more"]),
            (rule("asr", "trunk", 1, false, 0.0, 0.0), ["below = 0", "more than 0"]),
            (rule("asr", "trunk", 0, false, 40.0, 50.0), ["minimum", "asr"]),
            (of_week_ago(rule("begun", "caller", 1, true, 200.0, 150.0)), ["of_week_ago", "caller"]),
            (of_week_ago(rule("ira", "total", 1, true, 200.0, 150.0)), ["of_week_ago", "ira"]),
            (Rule { hours: Some(never), ..asr() }, ["hours", "Mon-Fri"]),
            (
                Rule { over: Nanos::from_secs(5), ..rule("disk_used_pct", "part", 0, true, 90.0, 80.0) },
                ["over", "30s"],
            ),
        ] {
            let error = rule.check().unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
        }
    }
}
