//! `[[keep]]`: the rules of what is kept, with the files of numbers that they name.

use std::fs;
use std::path::Path;

use ringtap_spool::rules::{MAX_PATTERNS, Numbers, Rule, Rules};
use serde::Deserialize;

use super::{Config, Keep, Net, Share};

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeepRule {
    name: String,
    caller: Vec<String>,
    callee: Vec<String>,
    number: Vec<String>,
    trunk: Vec<Net>,
    address: Vec<Net>,
    codec: Vec<String>,
    answered: bool,
    mos_below: Option<f64>,
    share: Option<Share>,
    keep: Option<Keep>,
    mask_dtmf: bool,
    may_pause: bool,
}

impl Default for KeepRule {
    fn default() -> Self {
        Self {
            name: String::new(),
            caller: Vec::new(),
            callee: Vec::new(),
            number: Vec::new(),
            trunk: Vec::new(),
            address: Vec::new(),
            codec: Vec::new(),
            answered: false,
            mos_below: None,
            share: None,
            keep: None,
            mask_dtmf: false,
            may_pause: true,
        }
    }
}

/// Where a rule is wrong: its number from 0, the key, and what would be right.
pub(crate) type WrongRule = (usize, &'static str, String);

impl Config {
    /// The rules, with what their files of numbers say now; without [[keep]], the one that `[spool] keep` comes to.
    ///
    /// # Errors
    ///
    /// The first rule that is wrong, or names a file that is.
    pub(crate) fn rules(&self) -> Result<Rules, WrongRule> {
        if self.keep.is_empty() {
            let what = self.spool.keep.of_call();
            return Ok(Rules(vec![Rule {
                name: "[spool] keep".into(),
                what,
                may_pause: true,
                ..Rule::default()
            }]));
        }
        if self.keep.len() > MAX_RULES {
            let problem = format!("there are {} rules, {MAX_RULES} at most", self.keep.len());
            return Err((MAX_RULES, "name", problem));
        }
        let rules = self.keep.iter().enumerate();
        rules.map(|(place, rule)| rule.compile(place)).collect::<Result<_, _>>().map(Rules)
    }

    /// Whether every frame is kept, of calls or not.
    pub(crate) fn keeps_everything(&self) -> bool {
        match &self.keep[..] {
            [] => self.spool.keep == Keep::Everything,
            [only] => only.keep == Some(Keep::Everything),
            _ => false,
        }
    }

    /// What rules say of each other.
    pub(super) fn check_rules(&self) -> Result<(), WrongRule> {
        let rules = self.rules()?.0;
        let everything = self.keep.iter().position(|rule| rule.keep == Some(Keep::Everything));
        if let Some(place) = everything
            && (self.keep.len() > 1 || !rules[place].asks_nothing())
        {
            let problem = "\"everything\" is every frame of the link, and nothing can be left out of that: it stands in one rule \
                           alone, which asks nothing; write keep = \"full\" for all of a call";
            return Err((place, "keep", problem.to_owned()));
        }
        if let Some(place) = rules.iter().position(Rule::asks_nothing)
            && place + 1 < rules.len()
        {
            let problem = "the rule before it matches every call: this one and those behind it never would; move it up, or leave it out";
            return Err((place + 1, "keep", problem.to_owned()));
        }
        Ok(())
    }
}

impl KeepRule {
    fn compile(&self, place: usize) -> Result<Rule, WrongRule> {
        let wrong = |key, problem: &str| (place, key, problem.to_owned());
        let Some(keep) = self.keep else {
            return Err(wrong("keep", "is missing: say what is kept, such as keep = \"full\""));
        };
        if self.mos_below.is_some_and(|mos| !(1.0..=5.0).contains(&mos)) {
            return Err(wrong("mos_below", "must be from 1 to 5, for example 3.6"));
        }
        if self.codec.iter().any(|codec| codec.trim().is_empty()) {
            return Err(wrong("codec", "a name in it is empty; write names as in SDP, such as \"G729\""));
        }
        let numbers = |key, list: &[String]| {
            (!list.is_empty()).then(|| read(list)).transpose().map_err(|problem| (place, key, problem))
        };
        Ok(Rule {
            name: if self.name.is_empty() { format!("rule {}", place + 1) } else { self.name.clone() },
            caller: numbers("caller", &self.caller)?,
            callee: numbers("callee", &self.callee)?,
            number: numbers("number", &self.number)?,
            trunk: self.trunk.iter().map(|net| net.0).collect(),
            address: self.address.iter().map(|net| net.0).collect(),
            codec: self.codec.clone(),
            answered: self.answered,
            mos_below: self.mos_below,
            part: self.share.map(|share| share.0),
            what: keep.of_call(),
            mask_digits: self.mask_dtmf,
            may_pause: self.may_pause,
        })
    }
}

/// Numbers, and files of them.
fn read(list: &[String]) -> Result<Numbers, String> {
    let mut numbers = Numbers::default();
    let too_many = || {
        format!(
            "more than {MAX_PATTERNS} patterns have a `*` in another place than the end: each is tried for each call; write beginnings"
        )
    };
    for text in list {
        let Some(path) = text.strip_prefix('@') else {
            if text.trim().is_empty() {
                return Err("a number in it is empty; `*` is any".to_owned());
            }
            if !numbers.add(text) {
                return Err(too_many());
            }
            continue;
        };
        let path = Path::new(path);
        let file = path.display();
        let size = fs::metadata(path).map_err(|error| format!("{file} cannot be read: {error}"))?.len();
        if size > MAX_FILE {
            return Err(format!("{file} has {size} bytes, {MAX_FILE} at most: is it a list of numbers?"));
        }
        let content = fs::read_to_string(path).map_err(|error| format!("{file} cannot be read: {error}"))?;
        for line in content.lines() {
            let number = line.split('#').next().unwrap_or_default().trim();
            if !number.is_empty() && !numbers.add(number) {
                return Err(format!("{file}: {}", too_many()));
            }
        }
    }
    Ok(numbers)
}

/// Each is asked for each call, one after the other.
const MAX_RULES: usize = 1000;
/// Of a file of numbers: some millions of them.
const MAX_FILE: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use ringtap_spool::rules::{Facts, Verdict, What};

    use super::*;

    const SHORT: &str = "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"/tmp/spool\"\n";

    fn parse(rules: &str) -> Result<Config, String> {
        let parsed = Config::parse(&format!("{SHORT}{rules}"));
        parsed.map_err(|wrong| wrong.of(Path::new("x.toml")).to_string())
    }

    #[test]
    fn without_rules_there_is_one() {
        let config =
            Config::parse("[capture]\ninterfaces = [\"eth0\"]\n[spool]\nkeep = \"headers\"\n").unwrap();
        let rules = config.rules().unwrap();
        assert_eq!(rules.always().map(|rule| rule.what), Some(What::Headers));
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
             [[keep]]\nshare = 0.5\ncodec = [\"G729\"]\ntrunk = [\"192.0.2.0/24\"]\nmos_below = 3.5\nkeep = \"headers\"\nmask_dtmf = true\n\
             [[keep]]\nanswered = true\nmay_pause = false\nkeep = \"full\"\n",
            list.display()
        ))
        .unwrap();
        let rules = config.rules().unwrap();
        assert_eq!(
            rules.0.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>(),
            ["never", "rule 2", "rule 3"]
        );
        let facts = Facts { callers: &["+4940 7"], ..Facts::default() };
        let decided = |rule, what, may_pause| Verdict::Decided { rule, what, mask_digits: false, may_pause };
        assert_eq!(rules.decide(&facts), decided(Some(0), What::Nothing, true));
        let facts = Facts { callees: &["111"], answered: true, ..Facts::default() };
        assert_eq!(rules.decide(&facts), decided(Some(2), What::Full, false));
        fs::write(&list, "111\n").unwrap();
        assert_eq!(config.rules().unwrap().decide(&facts), decided(Some(0), What::Nothing, true));
        // Rules are compared by what is written, and named as what a reload changes.
        let changed = config.changed(&parse("").unwrap());
        assert_eq!(changed.iter().map(|key| (key.section, key.live)).collect::<Vec<_>>(), [("[keep]", true)]);
    }

    #[test]
    fn wrong_rules() {
        let many = (0..=MAX_PATTERNS).map(|number| format!("\"*{number}\"")).collect::<Vec<_>>().join(", ");
        for (rules, expected) in [
            (
                "[[keep]]\nname = \"x\"\n",
                "x.toml:5: [[keep]] keep: is missing: say what is kept, such as keep = \"full\"",
            ),
            (
                "[[keep]]\nkeep = \"some\"\n",
                "x.toml:6: [[keep]] keep: \"some\" is not \"nothing\", \"signalling\", \"headers\", \"full\" or \"everything\"",
            ),
            (
                "[[keep]]\nkeep = \"full\"\n[[keep]]\nkeep = \"full\"\ncalle = []\n",
                "x.toml:9: [[keep]] calle: there is no such key; did you mean `caller`?",
            ),
            (
                "[[keep]]\nkeep = \"full\"\ntrunk = [\"192.0.2.0/33\"]\n",
                "x.toml:7: [[keep]] trunk: [\"192.0.2.0/33\"] is not a list of networks, such as [\"192.0.2.0/24\", \"2001:db8::1\"]",
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
                "x.toml:7: [[keep]] caller: /nowhere/list cannot be read: No such file or directory (os error 2)",
            ),
            (
                "[[keep]]\nkeep = \"full\"\ncaller = [\"\"]\n",
                "x.toml:7: [[keep]] caller: a number in it is empty; `*` is any",
            ),
            (
                "[[keep]]\nkeep = \"full\"\n[[keep]]\nanswered = true\nkeep = \"headers\"\n",
                "x.toml:9: [[keep]] keep: the rule before it matches every call: this one and those behind it never would; move it up, or leave it out",
            ),
            (
                "[[keep]]\nanswered = true\nkeep = \"everything\"\n",
                "x.toml:7: [[keep]] keep: \"everything\" is every frame of the link, and nothing can be left out of that: it stands in one rule alone, which asks nothing; write keep = \"full\" for all of a call",
            ),
            (
                "[keep]\nkeep = \"full\"\n",
                "x.toml:5: keep: is a rule, of which there may be several: write [[keep]] on a line of its own, its keys below it; `keep` of all calls stands below [spool]",
            ),
            (
                "[[kep]]\nkeep = \"full\"\n",
                "x.toml:5: [kep]: there is no such section; did you mean [[keep]]?",
            ),
            (
                "keep = \"full\"\n[[keep]]\nkeep = \"full\"\n",
                "x.toml:5: [spool] keep: there are [[keep]] rules, which say it: leave it out, and write a last [[keep]] that asks nothing",
            ),
            (
                "pause_digits = \"7x\"\n",
                "x.toml:5: [spool] pause_digits: must be at most 16 of 0-9, *, #, A-D, for example *7",
            ),
            (
                "pause_header = \"X-Recording\"\n",
                "x.toml:5: [spool] pause_header: \"X-Recording\" is not a header field and its value, such as \"X-Recording: off\", or \"\" for none",
            ),
        ] {
            let wrong = parse(rules).expect_err(rules);
            assert!(wrong.starts_with(expected), "{wrong}\n{expected}");
        }
        let wrong = parse(&format!("[[keep]]\nkeep = \"full\"\ncaller = [{many}]\n")).unwrap_err();
        assert!(wrong.contains("more than 1000 patterns have a `*` in another place"), "{wrong}");
        let nowhere =
            Config::parse("[capture]\ninterfaces = [\"eth0\"]\n[[keep]]\nkeep = \"full\"\n").unwrap_err();
        assert!(
            nowhere.to_string().contains("[spool] directory: is empty, and there are [[keep]] rules"),
            "{nowhere}"
        );
    }

    /// The table of keys and the structure are of one mind.
    #[test]
    fn every_key_of_a_rule_is_listed_once() {
        use crate::config::keys::RULE_KEYS;
        let of = |key: &str, value: &str| {
            let text = format!("{key} = {value}\n");
            toml::from_str::<KeepRule>(&text)
        };
        for key in RULE_KEYS {
            match key.default {
                "none" => assert!(of(key.name, "{}").unwrap_err().to_string().contains(key.name)),
                default => assert_eq!(of(key.name, default).unwrap(), KeepRule::default(), "{}", key.name),
            }
        }
        let error = of("wombat", "1").unwrap_err().to_string();
        let listed = error.split("expected one of ").nth(1).unwrap_or_default();
        let fields: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        assert_eq!(fields, RULE_KEYS.map(|key| key.name));
    }
}
