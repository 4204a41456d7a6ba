//! What the configuration says of alarms, checked together.

use std::path::Path;
use std::sync::Arc;

use ringtap_alarm::{Rule, Settings};
use ringtap_conversation::NumberPlan;
use ringtap_kpi::Zone;
use ringtap_notify::Target;

use super::alarm_names;
use super::document::{Document, nearest};
use super::{Config, ConfigError};

/// What the configuration says of alarms.
#[derive(Clone, Debug)]
pub struct AlarmConfig {
    /// The rules and what they depend on.
    pub settings: Settings,
    /// Who is told.
    pub targets: Vec<Target>,
    /// What notices call this machine; empty for its own name.
    pub host: String,
}

impl AlarmConfig {
    /// Reads it from a file, for commands. Without rules, it has the settings alone.
    ///
    /// # Errors
    ///
    /// The mistakes in the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Ok(Config::load(path, None)?.alarms())
    }

    /// Whether there is anything to watch.
    pub fn is_enabled(&self) -> bool {
        !self.settings.rules.is_empty()
    }
}

/// A mistake in an entry of a list, or in `[alarms] patterns`.
pub(super) struct Mistake {
    /// List and index of the entry; None for `[alarms]`.
    entry: Option<(&'static str, usize)>,
    key: &'static str,
    problem: String,
}

impl Mistake {
    /// In an entry of that list.
    pub(super) fn of_entry(list: &'static str, place: usize, key: &'static str, problem: String) -> Self {
        Self { entry: Some((list, place)), key, problem }
    }

    /// With its line.
    pub(super) fn explained(self, document: &Document<'_>) -> ConfigError {
        match self.entry {
            Some((list, place)) => document.at_entry(list, place, self.key, self.problem),
            None => document.at("alarms", self.key, self.problem),
        }
    }
}

impl Config {
    /// What it says of alarms.
    pub(crate) fn alarms(&self) -> AlarmConfig {
        // It was checked when it was read.
        self.read_alarms().unwrap_or_else(|_| AlarmConfig {
            settings: Settings::default(),
            targets: Vec::new(),
            host: String::new(),
        })
    }

    /// The same; all mistakes where there are any.
    pub(super) fn read_alarms(&self) -> Result<AlarmConfig, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let targets = self.targets(&mut mistakes);
        let mut rules = self.own_alarms(&mut mistakes);
        rules.extend(self.patterns(&mut mistakes));
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(AlarmConfig { settings: self.alarm_settings(rules), targets, host: self.alarms.host.clone() })
    }

    fn targets(&self, mistakes: &mut Vec<Mistake>) -> Vec<Target> {
        let mut targets = Vec::<Target>::new();
        for (place, written) in self.notify.iter().enumerate() {
            let entry = Some(("notify", place));
            match written.target() {
                Ok(target) if targets.iter().any(|other| other.name == target.name) => {
                    let problem = format!("`{}` is the name of another one too: rename one", target.name);
                    mistakes.push(Mistake { entry, key: "name", problem });
                }
                Ok(target) if targets.len() < MAX_TARGETS => targets.push(target),
                Ok(_) => {
                    let problem =
                        format!("there are {} entries, {MAX_TARGETS} are allowed", self.notify.len());
                    mistakes.push(Mistake { entry, key: "name", problem });
                    break;
                }
                Err((key, problem)) => mistakes.push(Mistake { entry, key, problem }),
            }
        }
        targets
    }

    fn own_alarms(&self, mistakes: &mut Vec<Mistake>) -> Vec<Rule> {
        let mut rules = Vec::<Rule>::new();
        for (place, written) in self.alarm.iter().enumerate() {
            let entry = Some(("alarm", place));
            let mut wrong = |key, problem| mistakes.push(Mistake { entry, key, problem });
            if place == MAX_RULES {
                wrong("name", format!("there are {} rules, {MAX_RULES} are allowed", self.alarm.len()));
                break;
            }
            if self.alarm[..place].iter().any(|other| other.name == written.name) {
                wrong("name", format!("`{}` is the name of another rule too: rename one", written.name));
            }
            if let Some(name) = written.notify.iter().find(|name| !self.is_target(name)) {
                wrong("notify", self.no_target(name));
            }
            match written.rules() {
                Ok(own) => rules.extend(own),
                Err((key, problem)) => wrong(key, problem),
            }
        }
        rules
    }

    fn is_target(&self, name: &str) -> bool {
        self.notify.iter().any(|target| target.name == name)
    }

    fn no_target(&self, name: &str) -> String {
        let names: Vec<&str> = self.notify.iter().map(|target| target.name.as_str()).collect();
        match (nearest(name, &names), names.is_empty()) {
            (Some(near), _) => format!("no [[notify]] has the name `{name}`; did you mean `{near}`?"),
            (None, true) => format!("there is no [[notify]] entry: add one with name = \"{name}\""),
            (None, false) => {
                format!("no [[notify]] has the name `{name}`; the names are {}", names.join(", "))
            }
        }
    }

    /// The ready-made rules, but for those that an `[[alarm]]` changes.
    fn patterns(&self, mistakes: &mut Vec<Mistake>) -> Vec<Rule> {
        let written = &self.alarms.patterns.0;
        let all = alarm_names::pattern_names();
        let names: Vec<&str> = match written.as_slice() {
            [one] if one == "all" => all,
            some => some.iter().map(String::as_str).collect(),
        };
        let mut rules = Vec::new();
        for name in names {
            if self.alarm.iter().any(|rule| rule.pattern() == Some(name)) {
                continue;
            }
            match alarm_names::pattern(name) {
                Ok(own) => rules.extend(own),
                Err(problem) => mistakes.push(Mistake { entry: None, key: "patterns", problem }),
            }
        }
        rules
    }

    fn alarm_settings(&self, rules: Vec<Rule>) -> Settings {
        let kpi = self.kpi.settings();
        let NumberPlan { country, trunk_prefix, international_prefix } = self.conversations.plan();
        Settings {
            rules,
            // Both were checked.
            zone: self.kpi.zone().unwrap_or(Zone::UTC),
            trunks: self.trunk.iter().map(|trunk| Arc::from(trunk.name.as_str())).collect(),
            country,
            trunk_prefix,
            international_prefix,
            premium: self.alarms.premium.clone(),
            short_call: kpi.short_call,
            prefix_digits: kpi.prefix_digits,
            capture_loss: self.alarms.capture_loss / 100.0,
            repeat: self.alarms.repeat.0,
            learning: self.alarms.learning.0,
            ..Settings::default()
        }
    }
}

/// Most rules: each costs time for every event.
const MAX_RULES: usize = 1000;
/// Most targets: each has a thread.
const MAX_TARGETS: usize = 32;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ringtap_alarm::{Per, Watched};
    use ringtap_model::{Nanos, Severity};
    use ringtap_notify::{Protocol, Tls};

    use super::*;

    fn parse(alarms: &str) -> Result<AlarmConfig, String> {
        let parsed = Config::parse(&format!("[capture]\ninterfaces = [\"eth0\"]\n{alarms}"));
        parsed.map(|config| config.alarms()).map_err(|wrong| wrong.of(Path::new("x.toml")).to_string())
    }

    const NOC: &str = "[[notify]]\nname = \"noc\"\nkind = \"webhook\"\nurl = \"https://example.org/a\"\n";

    #[test]
    fn without_rules_there_are_no_alarms() {
        assert!(!parse("").unwrap().is_enabled());
        assert!(parse("[alarms]\npatterns = \"all\"\n").unwrap().settings.rules.len() >= 10);
    }

    #[test]
    fn a_rule_is_read_with_all_its_keys() {
        let config = parse(&format!(
            "[alarms]\ncapture_loss = 0.5\nrepeat = \"1h\"\npremium = [\"+49900\"]\nhost = \"s1\"\n\
             [conversations]\ncountry = \"49\"\n\
             [[alarm]]\nname = \"few answers\"\nseverity = \"critical\"\nfigure = \"asr\"\nper = \"trunk\"\n\
             only = [\"c*\"]\nover = \"10m\"\nminimum = 50\nbelow = 30\nclear = 40.5\nlasting = \"1m\"\n\
             hours = \"Mon-Fri 08:00-20:00\"\nnotify = [\"noc\"]\n{NOC}"
        ))
        .unwrap();
        let settings = &config.settings;
        assert_eq!((settings.capture_loss, settings.repeat), (0.005, Nanos::from_secs(3_600)));
        assert_eq!((settings.premium[0].as_str(), settings.country.as_str()), ("+49900", "49"));
        assert_eq!(config.host, "s1");
        let rule = &settings.rules[0];
        assert!(matches!(rule.watched, Watched::Kpi(figure) if figure.name == "asr"));
        assert_eq!((rule.severity, rule.per, rule.minimum), (Severity::Critical, Per::Trunk, 50));
        assert_eq!((rule.limit.is_above, rule.limit.raise, rule.limit.clear), (false, 30.0, 40.5));
        assert_eq!((rule.over, rule.lasting), (Nanos::from_secs(600), Nanos::from_secs(60)));
        assert_eq!((&rule.only[0], &rule.notify[0]), (&"c*".to_owned(), &"noc".to_owned()));
        assert_eq!(rule.hours.as_ref().unwrap().from, 480);
    }

    #[test]
    fn a_rule_changes_a_pattern() {
        let config = parse(
            "[alarms]\npatterns = [\"wangiri\", \"password_guessing\"]\n\
             [[alarm]]\nname = \"guessing\"\npattern = \"password_guessing\"\nper = \"source\"\nabove = 7\n",
        )
        .unwrap();
        let rules: Vec<_> = config.settings.rules.iter().map(|rule| (rule.name.as_str(), rule.per)).collect();
        assert_eq!(rules, [("guessing", Per::Source), ("wangiri", Per::Caller)]);
        assert_eq!(config.settings.rules[0].limit.raise, 7.0);
    }

    #[test]
    fn targets_have_the_ports_of_their_kind() {
        let config = parse(
            "[[notify]]\nname = \"m\"\nkind = \"smtp\"\nserver = \"mail\"\nfrom = \"a@b\"\nto = [\"c@d\"]\n\
             [[notify]]\nname = \"t\"\nkind = \"snmp\"\nserver = \"nms\"\n",
        )
        .unwrap();
        let [Protocol::Smtp(mail), Protocol::Snmp(traps)] =
            [0, 1].map(|at| config.targets[at].protocol.clone())
        else {
            panic!("{:?}", config.targets);
        };
        assert_eq!((mail.port, mail.tls), (587, Tls::Starttls));
        assert_eq!((traps.port, traps.community.as_str()), (162, "public"));
    }

    #[test]
    fn mistakes_name_their_line_and_what_would_be_right() {
        let alarm = "[[alarm]]\nname = \"a\"\n";
        for (text, expected) in [
            (
                "[alarms]\npatterns = [\"wangri\"]\n",
                "x.toml:4: [alarms] patterns: there is no `wangri`; did you mean `wangiri`?",
            ),
            (
                "[alarms]\ncapture_loss = 101\n",
                "x.toml:4: [alarms] capture_loss: must be from 0 to 100 percent",
            ),
            ("[alarms]\nrepeat = \"10s\"\n", "x.toml:4: [alarms] repeat: must be at least 1m"),
            ("[alarms]\npremium = [\"0900\"]\n", "[alarms] premium: `0900` must be + and up to 15 digits"),
            ("[[alarm]]\nfigure = \"asr\"\n", "x.toml:3: [[alarm]] name: is missing"),
            (alarm, "x.toml:3: [[alarm]] figure: is missing"),
            (
                &format!("{alarm}figure = \"asrr\"\nbelow = 3\n"),
                "x.toml:5: [[alarm]] figure: there is no `asrr`; did you mean `asr`?",
            ),
            (&format!("{alarm}figure = \"asr\"\n"), "x.toml:3: [[alarm]] above: is missing"),
            (
                &format!("{alarm}figure = \"asr\"\nbelow = 3\nabove = 4\n"),
                "x.toml:6: [[alarm]] below: cannot be combined",
            ),
            (&format!("{alarm}figure = \"asr\"\nbelow = 3\n"), "[[alarm]] minimum: must be 1 or more"),
            (
                &format!("{alarm}figure = \"asr\"\nbelow = 3\nminimum = 1\nper = \"trnk\"\n"),
                "x.toml:8: [[alarm]] per: there is no `trnk`; did you mean `trunk`?",
            ),
            (
                &format!("{alarm}figure = \"begun\"\nabove = 3\nclear = 4\n"),
                "x.toml:7: [[alarm]] clear: 4 must not be above 3",
            ),
            (
                &format!("{alarm}figure = \"begun\"\nabove = 3\nhours = \"8-9\"\n"),
                "x.toml:7: [[alarm]] hours: \"8-9\" is not days and hours",
            ),
            (
                &format!("{alarm}figure = \"begun\"\nabove = 3\nseverity = \"bad\"\n"),
                "x.toml:7: [[alarm]] severity: \"bad\" is not \"info\", \"warning\" or \"critical\"",
            ),
            (
                &format!("{alarm}pattern = \"registration_storm\"\nabove = 3\n"),
                "x.toml:6: [[alarm]] above: needs per",
            ),
            (
                &format!("{alarm}figure = \"begun\"\nabove = 3\nnotify = [\"nok\"]\n{NOC}"),
                "x.toml:7: [[alarm]] notify: no [[notify]] has the name `nok`; did you mean `noc`?",
            ),
            (&format!("{NOC}{NOC}"), "x.toml:8: [[notify]] name: `noc` is the name of another one too"),
            (
                &format!("{NOC}user = \"x\"\n"),
                "x.toml:7: [[notify]] user: has no effect with kind = \"webhook\": remove it",
            ),
            (&NOC.replace("https", "ftp"), "x.toml:6: [[notify]] url: must begin with https:// or http://"),
            (
                &NOC.replace("webhook", "webhok"),
                "x.toml:5: [[notify]] kind: \"webhok\" is not \"webhook\", \"alertmanager\", \"smtp\" or",
            ),
            (&NOC.replace("url", "ulr"), "x.toml:6: [[notify]] ulr: no such key; did you mean `url`?"),
            ("[[notifi]]\nname = \"a\"\n", "did you mean [[notify]]?"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}\n    instead of\n{expected}");
        }
    }
}
