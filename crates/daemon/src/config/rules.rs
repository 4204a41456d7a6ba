//! The `[[keep]]` rules of a configuration, and which of them are in effect.

use ringtap_spool::rules::{Rule, Rules};

use super::Config;
use super::compiled_rules::{check_together, compile, keeps_everything, ordinary_rules};
use super::keep_rule::{KeepRule, RuleProblem};

impl Config {
    /// The ordinary rules and the rules that intercept, with their files of numbers read now. Without
    /// ordinary rules, one rule that follows `[spool] keep`.
    ///
    /// # Errors
    ///
    /// The first rule that is wrong, or whose file of numbers cannot be read.
    pub(crate) fn rules(&self) -> Result<(Rules, Vec<Rule>), RuleProblem> {
        let own: Vec<KeepRule> = self.own_rules();
        let numbered = |problem: RuleProblem| match &self.rule_file {
            Some(_) => problem,
            None => self.numbered_as_written(problem),
        };
        let products = self.keep.iter().enumerate().filter(|(_, rule)| rule.intercepts());
        let products = compile(products)?;
        Ok((ordinary_rules(&own, self.spool.keep).map_err(numbered)?, products))
    }

    /// The rules that do not intercept and are in effect: those of the file that the console changes, if it
    /// exists, else those of the configuration.
    pub(crate) fn own_rules(&self) -> Vec<KeepRule> {
        match &self.rule_file {
            Some(file) => file.rules.clone(),
            None => self.keep.iter().filter(|rule| !rule.intercepts()).cloned().collect(),
        }
    }

    /// Whether the configuration itself has some, so that `[spool] keep` does not apply.
    pub(super) fn has_own_rules(&self) -> bool {
        self.keep.iter().any(|rule| !rule.intercepts())
    }

    /// Says in the log that the configuration has rules without effect.
    pub(crate) fn say_which_rules_hold(&self) {
        if let Some(path) =
            self.spool.rules_file().filter(|_| self.rule_file.is_some() && self.has_own_rules())
        {
            log::warn!(
                target: "rules",
                "[[keep]] rules of the configuration have no effect: they were changed in the console, and \
                 {} has them now; remove them from the configuration, or that file",
                path.display()
            );
        }
    }

    /// Whether every frame is recorded, of calls or not.
    pub(crate) fn keeps_everything(&self) -> bool {
        keeps_everything(&self.own_rules(), self.spool.keep)
    }

    /// Checks the rules of the configuration together.
    pub(super) fn check_rules(&self) -> Result<(), RuleProblem> {
        self.rules()?;
        check_together(&self.own_rules()).map_err(|problem| self.numbered_as_written(problem))
    }

    /// A problem of an ordinary rule, by the place of the rule among all of the configuration.
    fn numbered_as_written(&self, (place, key, problem): RuleProblem) -> RuleProblem {
        let mut own = self.keep.iter().enumerate().filter(|(_, rule)| !rule.intercepts());
        (own.nth(place).map_or(place, |(written, _)| written), key, problem)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use ringtap_spool::rules::{CallFacts, MAX_PATTERNS, RecordingScope, Verdict};

    use super::*;
    use crate::config::key::{KeyValue as _, Keys as _};

    const SHORT: &str = "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"/tmp/spool\"\n";

    fn parse(rules: &str) -> Result<Config, String> {
        let parsed = Config::parse(&format!("{SHORT}{rules}"));
        parsed.map_err(|wrong| wrong.of(Path::new("x.toml")).to_string())
    }

    #[test]
    fn without_rules_there_is_one() {
        let config =
            Config::parse("[capture]\ninterfaces = [\"eth0\"]\n[spool]\nkeep = \"headers\"\n").unwrap();
        let rules = config.rules().unwrap().0;
        assert_eq!(rules.always().map(|rule| rule.what), Some(RecordingScope::Headers));
        assert!(!config.keeps_everything());
        let everything = parse("[[keep]]\nkeep = \"everything\"\n").unwrap();
        assert!(everything.keeps_everything());
    }

    #[test]
    fn rules_with_files_of_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("never");
        fs::write(&list, "# the works council\n+49 30 111\n\n  +4940*  # all of Hamburg\n").unwrap();
        let config = parse(&format!(
            "[[keep]]\nname = \"never\"\nnumber = [\"@{}\", \"112\"]\nkeep = \"nothing\"\n\
             [[keep]]\nshare = 0.5\ncodec = [\"G729\"]\ntrunk = [\"192.0.2.0/24\"]\nmos_below = 3.5\nkeep = \
             \"headers\"\nmask_dtmf = true\n\
             [[keep]]\nanswered = true\nmay_pause = false\nkeep = \"full\"\n",
            list.display()
        ))
        .unwrap();
        let rules = config.rules().unwrap().0;
        assert_eq!(
            rules.0.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>(),
            ["never", "rule 2", "rule 3"]
        );
        let facts = CallFacts { callers: &["+4940 7"], ..CallFacts::default() };
        let decided = |rule, what, may_pause| Verdict::Decided { rule, what, mask_digits: false, may_pause };
        assert_eq!(rules.decide(&facts), decided(Some(0), RecordingScope::Nothing, true));
        let facts = CallFacts { callees: &["111"], answered: true, ..CallFacts::default() };
        assert_eq!(rules.decide(&facts), decided(Some(2), RecordingScope::Full, false));
        fs::write(&list, "111\n").unwrap();
        assert_eq!(config.rules().unwrap().0.decide(&facts), decided(Some(0), RecordingScope::Nothing, true));
        // Rules are compared by what is written, and named as what a reload changes.
        let changed = config.changed(&parse("").unwrap());
        assert_eq!(changed.iter().map(|key| (key.section, key.live)).collect::<Vec<_>>(), [("[keep]", true)]);
    }

    #[test]
    fn rules_that_intercept_stand_beside_the_others() {
        let config = parse(
            "keep = \"everything\"\n[[keep]]\nproduct = \"LI-2026.17_a\"\nnumber = [\"100\"]\nkeep = \
             \"full\"\n",
        )
        .unwrap();
        let (rules, products) = config.rules().unwrap();
        assert_eq!(
            (rules.0.len(), rules.0[0].what, config.keeps_everything()),
            (1, RecordingScope::Full, true)
        );
        assert_eq!((products.len(), products[0].product.as_deref()), (1, Some("LI-2026.17_a")));
        // One that asks nothing hides none behind it, and is hidden by none.
        let product = "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\n";
        let own = "[[keep]]\nkeep = \"headers\"\n";
        for text in [format!("{product}{own}{product}"), format!("{own}{product}{product}")] {
            let (rules, products) = parse(&text).unwrap().rules().unwrap();
            assert_eq!(
                (rules.0.len(), rules.always().map(|rule| rule.what)),
                (1, Some(RecordingScope::Headers))
            );
            assert_eq!(products.len(), 2);
            // Each kind is counted by itself.
            let names = |of: &[Rule]| of.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>();
            assert_eq!(
                (names(&rules.0), names(&products)),
                (vec!["rule 1".into()], vec!["rule 1".into(), "rule 2".into()])
            );
        }
        let wrong = parse(&format!("{own}{product}{own}")).unwrap_err();
        assert!(
            wrong.starts_with("x.toml:11: [[keep]] keep: never matches, because the rule before it"),
            "{wrong}"
        );
    }

    /// Wrong rules, and how what is said about each begins.
    const WRONG_RULES: &[(&str, &str)] = &[
        (
            "[[keep]]\nname = \"x\"\n",
            "x.toml:5: [[keep]] keep: is missing: add what to record, such as keep = \"full\"",
        ),
        (
            "[[keep]]\nkeep = \"some\"\n",
            "x.toml:6: [[keep]] keep: \"some\" is not \"nothing\", \"signalling\", \"headers\", \
             \"full\" or \"everything\"",
        ),
        (
            "[[keep]]\nkeep = \"full\"\n[[keep]]\nkeep = \"full\"\ncalle = []\n",
            "x.toml:9: [[keep]] calle: no such key; did you mean `caller`?",
        ),
        (
            "[[keep]]\nkeep = \"full\"\ntrunk = [\"192.0.2.0/33\"]\n",
            "x.toml:7: [[keep]] trunk: [\"192.0.2.0/33\"] is not a list of networks, such as \
             [\"192.0.2.0/24\", \"2001:db8::1\"]",
        ),
        (
            "[[keep]]\nkeep = \"full\"\nshare = \"200%\"\n",
            "x.toml:7: [[keep]] share: \"200%\" is not a share from 0% to 100%, such as \"1%\"",
        ),
        (
            "[[keep]]\nkeep = \"full\"\nmos_below = 7\n",
            "x.toml:7: [[keep]] mos_below: must be from 1 to 5, for example 3.6",
        ),
        (
            "[[keep]]\nkeep = \"full\"\ncaller = [\"@/nowhere/list\"]\n",
            "x.toml:7: [[keep]] caller: cannot read /nowhere/list: No such file or directory (os \
             error 2)",
        ),
        (
            "[[keep]]\nkeep = \"full\"\ncaller = [\"\"]\n",
            "x.toml:7: [[keep]] caller: has an empty number: `*` matches any",
        ),
        (
            "[[keep]]\nkeep = \"full\"\n[[keep]]\nanswered = true\nkeep = \"headers\"\n",
            "x.toml:9: [[keep]] keep: never matches, because the rule before it matches every call: \
             move it up, or remove it",
        ),
        (
            "[[keep]]\nanswered = true\nkeep = \"everything\"\n",
            "x.toml:7: [[keep]] keep: \"everything\" records every frame and is allowed only in a \
             single rule without conditions: write keep = \"full\" for all of a call",
        ),
        (
            "[[keep]]\nproduct = \"a b\"\nkeep = \"full\"\n",
            "x.toml:6: [[keep]] product: must be a case of 1 to 25 letters, digits, -, _ and ., for \
             example LI-2026-17",
        ),
        (
            "[[keep]]\nproduct = \"a2345678901234567890123456\"\nkeep = \"full\"\n",
            "x.toml:6: [[keep]] product: must be a case of 1 to 25 letters",
        ),
        (
            "[[keep]]\nproduct = \"A\"\nkeep = \"nothing\"\n",
            "x.toml:7: [[keep]] keep: must be \"signalling\", \"headers\" or \"full\" in a rule with \
             `product`",
        ),
        (
            "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nmos_below = 3.0\n",
            "x.toml:8: [[keep]] mos_below: cannot be combined with `product`",
        ),
        (
            "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nshare = \"1%\"\n",
            "x.toml:8: [[keep]] share: cannot be combined with `product`",
        ),
        (
            "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nmask_dtmf = true\n",
            "x.toml:8: [[keep]] mask_dtmf: cannot be combined with `product`",
        ),
        (
            "[keep]\nkeep = \"full\"\n",
            "x.toml:5: keep: is a list of rules: write [[keep]] on a line of its own and the keys of \
             a rule below it; the `keep` of all calls belongs below [spool]",
        ),
        ("[[kep]]\nkeep = \"full\"\n", "x.toml:5: [kep]: no such section; did you mean [[keep]]?"),
        (
            "keep = \"full\"\n[[keep]]\nkeep = \"full\"\n",
            "x.toml:5: [spool] keep: has no effect beside [[keep]] rules: remove it, and add a last \
             [[keep]] rule without conditions",
        ),
        (
            "pause_digits = \"7x\"\n",
            "x.toml:5: [spool] pause_digits: must be at most 16 of the digits 0-9, *, #, A-D, for \
             example *7",
        ),
        (
            "pause_header = \"X-Recording\"\n",
            "x.toml:5: [spool] pause_header: \"X-Recording\" is not a header field and its value, \
             such as \"X-Recording: off\", or \"\" for none",
        ),
    ];

    #[test]
    fn wrong_rules() {
        let many = (0..=MAX_PATTERNS).map(|number| format!("\"*{number}\"")).collect::<Vec<_>>().join(", ");
        for (rules, expected) in WRONG_RULES {
            let wrong = parse(rules).expect_err(rules);
            assert!(wrong.starts_with(expected), "{wrong}\n{expected}");
        }
        let wrong = parse(&format!("[[keep]]\nkeep = \"full\"\ncaller = [{many}]\n")).unwrap_err();
        assert!(wrong.contains("more than 1000 patterns have a `*` before their end"), "{wrong}");
        let nowhere =
            Config::parse("[capture]\ninterfaces = [\"eth0\"]\n[[keep]]\nkeep = \"full\"\n").unwrap_err();
        assert!(
            nowhere.to_string().contains("[spool] directory: is empty, but there are [[keep]] rules"),
            "{nowhere}"
        );
    }

    /// What a default looks like in the file is what the file gives.
    #[test]
    fn defaults_are_written_as_they_are_read() {
        let of = |key: &str, value: &str| {
            let text = format!("{key} = {value}\n");
            toml::from_str::<KeepRule>(&text)
        };
        for key in KeepRule::SECTION.keys {
            match (key.default)().as_str() {
                "none" => assert!(of(key.name, "{}").unwrap_err().to_string().contains(key.name)),
                default => assert_eq!(of(key.name, default).unwrap(), KeepRule::default(), "{}", key.name),
            }
        }
    }

    #[test]
    fn networks_and_shares_are_written_as_they_are_read() {
        let text = "trunk = [\"192.0.2.0/24\", \"2001:db8::1/128\"]\nshare = \"0.5%\"\n";
        let rule: KeepRule = toml::from_str(text).unwrap();
        let written = format!("trunk = {}\nshare = {}\n", rule.trunk.written(), rule.share.written());
        assert_eq!(written, text);
    }
}
