//! One `[[alarm]]` as it is written.

use ringtap_alarm::{Limit, Per, Rule};
use ringtap_model::{Nanos, Severity};

use super::alarm_names;
use super::hours::WeekHours;
use super::key::section;
use super::values::{AlarmSeverity, Span};

section! {
    /// What raises an alarm, as it is written.
    #[name = "[alarm]"]
    pub(crate) struct AlarmRule {
        /// Its name: in records, notices and the log. Each has its own.
        #[accepts = "a text, such as \"few answers\""]
        pub(super) name: String = String::new(),
        /// How much its alarms matter: `info`, `warning` or `critical`. Without it, `warning`, or that of the
        /// pattern.
        severity: Option<AlarmSeverity> = None,
        /// The figure that it watches: see [what a rule can watch](alarms.md#what-a-rule-can-watch).
        #[accepts = "the name of a figure, such as \"asr\""]
        figure: String = String::new(),
        /// The ready-made pattern that it is, in the place of `figure`; the other keys replace those of the
        /// pattern.
        #[accepts = "the name of a pattern, such as \"wangiri\""]
        pattern: String = String::new(),
        /// What it looks at one by one, such as `trunk`, `caller` or `source`. Without it, all traffic
        /// together; of a pattern with several, each of them.
        #[accepts = "what is looked at one by one, such as \"trunk\""]
        per: Option<String> = None,
        /// Which of them it looks at; `*` stands for any text. Empty is all.
        #[accepts = "a list of names, such as [\"carrier-*\"]"]
        only: Vec<String> = Vec::new(),
        /// The time over which the figure is computed, up to now. Without it, 5 minutes.
        over: Option<Span> = None,
        /// How many calls, intervals of streams or registrations the figure needs behind it. Without it, 0.
        minimum: Option<usize> = None,
        /// A value above raises the alarm; of a count, also this value itself.
        #[accepts = "a number, such as 3.5"]
        above: Option<f64> = None,
        /// A value below raises the alarm.
        #[accepts = "a number, such as 30"]
        below: Option<f64> = None,
        /// The value that clears it. Without it, the one that raises it.
        #[accepts = "a number, such as 40"]
        clear: Option<f64> = None,
        /// `above`, `below` and `clear` are percent of the figure of the same hour a week before.
        of_week_ago: Option<bool> = None,
        /// How long it must hold until the alarm is raised, and must not until it clears. Without it, 0s.
        lasting: Option<Span> = None,
        /// When it is looked at, in the time zone of [kpi]. Without it, always.
        hours: Option<WeekHours> = None,
        /// Names of the [[notify]] entries that are told. Empty is all.
        #[accepts = "a list of names, such as [\"noc\"]"]
        pub(super) notify: Vec<String> = Vec::new(),
    }
}

/// A mistake in an entry: the key, and how to correct it.
type Problem = (&'static str, String);

impl AlarmRule {
    /// The name of the pattern that it is.
    pub(super) fn pattern(&self) -> Option<&str> {
        (!self.pattern.is_empty()).then_some(&*self.pattern)
    }

    /// The rules that it stands for: one of a figure, or those of its pattern.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, Problem> {
        if self.name.trim().is_empty() {
            return Err(("name", "is missing: write one, such as \"few answers\"".to_owned()));
        }
        let rules = match (self.figure.is_empty(), self.pattern()) {
            (false, None) => vec![self.of_figure()?],
            (true, Some(pattern)) => self.of_pattern(pattern)?,
            (false, Some(_)) => {
                return Err(("pattern", "cannot be combined with figure: set one of the two".to_owned()));
            }
            (true, None) => {
                let problem =
                    "is missing: write a figure, such as \"asr\", or a pattern, such as \"wangiri\"";
                return Err(("figure", problem.to_owned()));
            }
        };
        rules.iter().try_for_each(alarm_names::check)?;
        Ok(rules)
    }

    fn of_figure(&self) -> Result<Rule, Problem> {
        let watched = alarm_names::watched(&self.figure).map_err(|problem| ("figure", problem))?;
        let Some((is_above, raise)) = self.raise()? else {
            return Err((
                "above",
                "is missing: write what is too much, or below for what is too little".to_owned(),
            ));
        };
        let limit = Limit { is_above, raise, clear: raise, of_week_ago: false };
        let rule = Rule {
            name: self.name.clone(),
            severity: Severity::Warning,
            watched,
            per: Per::Total,
            only: Vec::new(),
            over: Nanos::from_secs(300),
            minimum: 0,
            limit,
            lasting: Nanos::ZERO,
            hours: None,
            notify: Vec::new(),
        };
        self.changed(rule)
    }

    /// The rules of a pattern; of several, `per` chooses one.
    fn of_pattern(&self, pattern: &str) -> Result<Vec<Rule>, Problem> {
        let mut rules = alarm_names::pattern(pattern).map_err(|problem| ("pattern", problem))?;
        let pers = rules.iter().map(|rule| rule.per.name()).collect::<Vec<_>>().join(", ");
        if let Some(per) = &self.per {
            rules.retain(|rule| rule.per.name() == per.as_str());
            if rules.is_empty() {
                return Err((
                    "per",
                    format!("does not go with the pattern {pattern}, which looks at {pers}"),
                ));
            }
        }
        let limits = [
            ("above", self.above.is_some()),
            ("below", self.below.is_some()),
            ("clear", self.clear.is_some()),
        ];
        let limit = limits.iter().find(|(_, is_set)| *is_set);
        if let Some((key, _)) = limit.filter(|_| rules.len() > 1) {
            return Err((
                key,
                format!("needs per, because the pattern {pattern} has a limit for each of {pers}"),
            ));
        }
        rules.into_iter().map(|rule| self.changed(rule)).collect()
    }

    /// The limit that raises the alarm, and whether it is an upper one.
    fn raise(&self) -> Result<Option<(bool, f64)>, Problem> {
        match (self.above, self.below) {
            (Some(_), Some(_)) => {
                let problem = "cannot be combined with above: write a rule for each, or remove one";
                Err(("below", problem.to_owned()))
            }
            (Some(above), None) => Ok(Some((true, above))),
            (None, Some(below)) => Ok(Some((false, below))),
            (None, None) => Ok(None),
        }
    }

    /// The rule with the keys that are set.
    fn changed(&self, rule: Rule) -> Result<Rule, Problem> {
        let mut limit = rule.limit;
        if let Some((is_above, raise)) = self.raise()? {
            limit = Limit { is_above, raise, clear: raise, ..limit };
        }
        limit.clear = self.clear.unwrap_or(limit.clear);
        limit.of_week_ago = self.of_week_ago.unwrap_or(limit.of_week_ago);
        Ok(Rule {
            name: self.name.clone(),
            severity: self.severity.map_or(rule.severity, AlarmSeverity::severity),
            per: self
                .per
                .as_deref()
                .map_or(Ok(rule.per), alarm_names::per)
                .map_err(|problem| ("per", problem))?,
            only: if self.only.is_empty() { rule.only } else { self.only.clone() },
            over: self.over.map_or(rule.over, |span| span.0),
            minimum: self.minimum.map_or(rule.minimum, |minimum| minimum as u64),
            limit,
            lasting: self.lasting.map_or(rule.lasting, |span| span.0),
            hours: self.hours.as_ref().map_or(rule.hours, WeekHours::hours),
            notify: self.notify.clone(),
            ..rule
        })
    }
}

impl AlarmSeverity {
    fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warning => Severity::Warning,
            Self::Critical => Severity::Critical,
        }
    }
}
