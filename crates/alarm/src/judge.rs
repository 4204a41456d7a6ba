//! Whether a rule holds for a subject: limits with hysteresis, for as long as they must.

use ringtap_model::{Id, Nanos};

use crate::rule::{Limit, Rule};
use crate::window::Reading;

/// How a rule stands with one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Quiet,
    /// Beyond the limit since then, and not yet for long enough.
    Beyond(Nanos),
    /// An alarm stands; within the limit since then, and not yet for long enough.
    Standing(Id, Option<Nanos>),
}

/// What follows from a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Nothing,
    Raise,
    /// The alarm stands, and the value is beyond the limit.
    Holds(Id),
    Clear(Id),
}

/// What else counts for a verdict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) now: Nanos,
    /// The limit in the units of the figure; None where it is not known.
    pub(crate) limit: Option<Limit>,
    /// Whether the rule is looked at, at this time of the week.
    pub(crate) in_hours: bool,
    /// Whether a new alarm may be raised.
    pub(crate) may_raise: bool,
    /// Whether it was watched for long enough that a standing alarm may clear.
    pub(crate) may_clear: bool,
}

/// Whether a rule holds where too little of something is an alarm that nothing at all raises, too.
pub(crate) fn is_absence(rule: &Rule) -> bool {
    !rule.limit.is_above && rule.watched.is_zero_without_events()
}

/// Moves a rule on by one reading.
pub(crate) fn judge(state: &mut State, rule: &Rule, reading: Reading, facts: Circumstances) -> Verdict {
    let now = facts.now;
    let enough = is_absence(rule) || reading.behind >= rule.minimum;
    let value = reading.value.filter(|_| enough);
    let beyond = |limit: f64| {
        value.is_some_and(|value| match (rule.limit.is_above, rule.watched.is_count()) {
            (true, true) => value >= limit,
            (true, false) => value > limit,
            (false, _) => value < limit,
        })
    };
    let is_beyond = facts.in_hours && facts.limit.is_some_and(|limit| beyond(limit.raise));
    match *state {
        State::Quiet | State::Beyond(_) if !is_beyond || !facts.may_raise => {
            *state = State::Quiet;
            Verdict::Nothing
        }
        State::Quiet if rule.lasting > Nanos::ZERO => {
            *state = State::Beyond(now);
            Verdict::Nothing
        }
        State::Beyond(since) if now.since(since) < rule.lasting => Verdict::Nothing,
        State::Quiet | State::Beyond(_) => Verdict::Raise,
        State::Standing(id, within) => {
            // With too few behind the value an alarm stands until there is nothing at all.
            let is_over = reading.behind == 0 && !is_absence(rule);
            let is_within = value.is_some() && facts.limit.is_some_and(|limit| !beyond(limit.clear));
            if !(facts.may_clear && (!facts.in_hours || is_over || is_within)) {
                *state = State::Standing(id, None);
                return if is_beyond { Verdict::Holds(id) } else { Verdict::Nothing };
            }
            let since = within.unwrap_or(now);
            if now.since(since) < rule.lasting {
                *state = State::Standing(id, Some(since));
                return Verdict::Nothing;
            }
            *state = State::Quiet;
            Verdict::Clear(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use ringtap_kpi::figure::figure;

    use super::*;
    use crate::rule::{Per, Watched};

    fn rule(watched: Watched, is_above: bool, raise: f64, clear: f64, lasting: u64, minimum: u64) -> Rule {
        Rule {
            name: "r".into(),
            severity: ringtap_model::Severity::Warning,
            watched,
            per: Per::Total,
            only: Vec::new(),
            over: Nanos::from_secs(60),
            minimum,
            limit: Limit { is_above, raise, clear, of_week_ago: false },
            lasting: Nanos::from_secs(lasting),
            hours: None,
            notify: Vec::new(),
        }
    }

    /// One letter for each second: `r` raised, `c` cleared, `.` nothing changes.
    fn play(rule: &Rule, readings: &[(Option<f64>, u64)]) -> String {
        let mut state = State::Quiet;
        let mut shown = String::new();
        for (second, (value, behind)) in readings.iter().enumerate() {
            let facts = Circumstances {
                now: Nanos::from_secs(1_000 + second as u64),
                limit: Some(rule.limit),
                in_hours: true,
                may_raise: true,
                may_clear: true,
            };
            let reading = Reading { value: *value, behind: *behind };
            shown.push(match judge(&mut state, rule, reading, facts) {
                Verdict::Raise => {
                    state = State::Standing(Id([1; 16]), None);
                    'r'
                }
                Verdict::Clear(_) => 'c',
                Verdict::Nothing | Verdict::Holds(_) => '.',
            });
        }
        shown
    }

    fn values(values: &[f64]) -> Vec<(Option<f64>, u64)> {
        values.iter().map(|value| (Some(*value), *value as u64)).collect()
    }

    #[test]
    fn limits_and_hysteresis() {
        let asr = Watched::Kpi(figure("asr").unwrap());
        let loss = Watched::LossShare;
        let of = |rule: &Rule, given: &[f64]| {
            play(rule, &given.iter().map(|value| (Some(*value), 100)).collect::<Vec<_>>())
        };
        // Beyond 1 raises, not 1 itself; 0.5 clears, 0.8 does not.
        assert_eq!(of(&rule(loss, true, 1.0, 0.5, 0, 1), &[1.0, 1.1, 0.8, 2.0, 0.5, 0.8]), ".r..c.");
        assert_eq!(of(&rule(asr, false, 40.0, 50.0, 0, 1), &[40.0, 39.0, 45.0, 50.0, 45.0]), ".r.c.");
        // A count raises at its limit, and clears below that which clears.
        assert_eq!(play(&rule(Watched::Callees, true, 3.0, 2.0, 0, 0), &values(&[2., 3., 2., 1.])), ".r.c");
        assert_eq!(play(&rule(Watched::Begun, false, 1.0, 1.0, 0, 0), &values(&[1., 0., 0., 1.])), ".r.c");
    }

    #[test]
    fn lasting_before_it_is_raised_and_before_it_clears() {
        let rule = rule(Watched::LossShare, true, 1.0, 1.0, 2, 1);
        let of =
            |given: &[f64]| play(&rule, &given.iter().map(|value| (Some(*value), 100)).collect::<Vec<_>>());
        assert_eq!(of(&[2., 2., 2., 0., 0., 0., 0.]), "..r..c.");
        assert_eq!(of(&[2., 2., 0., 2., 2., 2.]), ".....r");
        assert_eq!(of(&[2., 2., 2., 0., 0., 2., 0., 0., 0.]), "..r.....c");
    }

    /// Too few behind a value raise nothing, and clear nothing until there is nothing at all.
    #[test]
    fn minimum() {
        let rule = rule(Watched::LossShare, true, 1.0, 1.0, 0, 10);
        let readings = [(Some(5.0), 9), (Some(5.0), 10), (Some(0.0), 9), (Some(0.0), 1), (None, 0)];
        assert_eq!(play(&rule, &readings), ".r..c");
        assert_eq!(play(&rule, &[(Some(5.0), 10), (Some(0.0), 10)]), "rc");
    }

    #[test]
    fn outside_its_hours_and_while_suspended() {
        let rule = rule(Watched::Begun, false, 1.0, 1.0, 0, 0);
        let facts = Circumstances {
            now: Nanos::from_secs(1_000),
            limit: Some(rule.limit),
            in_hours: true,
            may_raise: true,
            may_clear: true,
        };
        let nothing = Reading { value: Some(0.0), behind: 0 };
        let mut state = State::Quiet;
        let suspended = Circumstances { may_raise: false, ..facts };
        assert_eq!(judge(&mut state, &rule, nothing, suspended), Verdict::Nothing);
        let outside = Circumstances { in_hours: false, ..facts };
        assert_eq!(judge(&mut state, &rule, nothing, outside), Verdict::Nothing);
        assert_eq!(judge(&mut state, &rule, nothing, facts), Verdict::Raise);
        let id = Id([1; 16]);
        state = State::Standing(id, None);
        assert_eq!(judge(&mut state, &rule, nothing, suspended), Verdict::Holds(id));
        let unsure = Circumstances { may_clear: false, in_hours: false, ..facts };
        assert_eq!(judge(&mut state, &rule, nothing, unsure), Verdict::Nothing);
        assert_eq!(judge(&mut state, &rule, nothing, outside), Verdict::Clear(id));
    }
}
