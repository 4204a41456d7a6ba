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
    product: String,
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
            product: String::new(),
        }
    }
}

/// Where a rule is wrong: its number from 0, the key, and what would be right.
pub(crate) type WrongRule = (usize, &'static str, String);

impl Config {
    /// The rules, with what their files of numbers say now, and beside them those that intercept; without any of the former, the
    /// one that `[spool] keep` comes to.
    ///
    /// # Errors
    ///
    /// The first rule that is wrong, or names a file that is.
    pub(crate) fn rules(&self) -> Result<(Rules, Vec<Rule>), WrongRule> {
        if self.keep.len() > MAX_RULES {
            let problem = format!("there are {} rules, {MAX_RULES} at most", self.keep.len());
            return Err((MAX_RULES, "name", problem));
        }
        let compiled = self.keep.iter().enumerate().map(|(place, rule)| rule.compile(place));
        let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
        let (products, mut rules): (Vec<Rule>, Vec<Rule>) =
            compiled.into_iter().partition(|rule| rule.product.is_some());
        if rules.is_empty() {
            let what = self.spool.keep.of_call();
            rules.push(Rule { name: "[spool] keep".into(), what, may_pause: true, ..Rule::default() });
        }
        Ok((Rules(rules), products))
    }

    /// Rules that say what the operator keeps, each with its place.
    fn own_rules(&self) -> impl Iterator<Item = (usize, &KeepRule)> {
        self.keep.iter().enumerate().filter(|(_, rule)| rule.product.is_empty())
    }

    /// Whether they say it in place of `[spool] keep`.
    pub(super) fn has_own_rules(&self) -> bool {
        self.own_rules().next().is_some()
    }

    /// Whether every frame is kept, of calls or not.
    pub(crate) fn keeps_everything(&self) -> bool {
        let mut own = self.own_rules().map(|(_, rule)| rule.keep);
        match (own.next(), own.next()) {
            (None, _) => self.spool.keep == Keep::Everything,
            (Some(only), None) => only == Some(Keep::Everything),
            _ => false,
        }
    }

    /// What rules say of each other.
    pub(super) fn check_rules(&self) -> Result<(), WrongRule> {
        let (Rules(rules), _) = self.rules()?;
        let own: Vec<(usize, &KeepRule)> = self.own_rules().collect();
        let everything = own.iter().position(|(_, rule)| rule.keep == Some(Keep::Everything));
        if let Some(everything) = everything
            && let (place, _) = own[everything]
            && (own.len() > 1 || !rules[everything].asks_nothing())
        {
            let problem = "\"everything\" is every frame of the link, and nothing can be left out of that: it stands in one rule \
                           alone, which asks nothing; write keep = \"full\" for all of a call";
            return Err((place, "keep", problem.to_owned()));
        }
        if let Some(place) = rules.iter().position(Rule::asks_nothing)
            && let Some((next, _)) = own.get(place + 1)
        {
            let problem = "the rule before it matches every call: this one and those behind it never would; move it up, or leave it out";
            return Err((*next, "keep", problem.to_owned()));
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
        if !self.product.is_empty() {
            self.check_product(keep, &wrong)?;
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
            product: (!self.product.is_empty()).then(|| self.product.clone()),
        })
    }

    /// What an interception cannot ask, or keep.
    fn check_product(
        &self,
        keep: Keep,
        wrong: &dyn Fn(&'static str, &str) -> WrongRule,
    ) -> Result<(), WrongRule> {
        if !is_liid(&self.product) {
            return Err(wrong(
                "product",
                "must be 1 to 25 letters, digits, -, _ or . of a case, for example LI-2026-17",
            ));
        }
        if !matches!(keep, Keep::Signalling | Keep::Headers | Keep::Full) {
            return Err(wrong(
                "keep",
                "must be \"signalling\", \"headers\" or \"full\" where there is a `product`",
            ));
        }
        if self.mos_below.is_some() {
            return Err(wrong(
                "mos_below",
                "is known when a call has ended, and `product` is kept from its beginning: leave it out",
            ));
        }
        if self.share.is_some() {
            return Err(wrong(
                "share",
                "a case is of certain calls, not of a share of them: leave it out, or `product`",
            ));
        }
        if self.mask_dtmf {
            return Err(wrong("mask_dtmf", "`product` is what was sent, digits as well: leave it out"));
        }
        Ok(())
    }
}

/// A lawful interception identifier, as ETSI TS 102 232-1 has it (LIID, 25 octets at most, section 5.2.2), of characters that name
/// a file.
fn is_liid(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=25).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(known)
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
        let rules = config.rules().unwrap().0;
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
        let rules = config.rules().unwrap().0;
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
        assert_eq!(config.rules().unwrap().0.decide(&facts), decided(Some(0), What::Nothing, true));
        // Rules are compared by what is written, and named as what a reload changes.
        let changed = config.changed(&parse("").unwrap());
        assert_eq!(changed.iter().map(|key| (key.section, key.live)).collect::<Vec<_>>(), [("[keep]", true)]);
    }

    #[test]
    fn rules_that_intercept_stand_beside_the_others() {
        let config = parse(
            "keep = \"everything\"\n[[keep]]\nproduct = \"LI-2026.17_a\"\nnumber = [\"100\"]\nkeep = \"full\"\n",
        )
        .unwrap();
        let (rules, products) = config.rules().unwrap();
        assert_eq!((rules.0.len(), rules.0[0].what, config.keeps_everything()), (1, What::Full, true));
        assert_eq!((products.len(), products[0].product.as_deref()), (1, Some("LI-2026.17_a")));
        // One that asks nothing hides none behind it, and is hidden by none.
        let product = "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\n";
        let own = "[[keep]]\nkeep = \"headers\"\n";
        for text in [format!("{product}{own}{product}"), format!("{own}{product}{product}")] {
            let (rules, products) = parse(&text).unwrap().rules().unwrap();
            assert_eq!((rules.0.len(), rules.always().map(|rule| rule.what)), (1, Some(What::Headers)));
            assert_eq!(products.len(), 2);
        }
        let wrong = parse(&format!("{own}{product}{own}")).unwrap_err();
        assert!(
            wrong.starts_with("x.toml:11: [[keep]] keep: the rule before it matches every call"),
            "{wrong}"
        );
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
                "[[keep]]\nproduct = \"a b\"\nkeep = \"full\"\n",
                "x.toml:6: [[keep]] product: must be 1 to 25 letters, digits, -, _ or . of a case, for example LI-2026-17",
            ),
            (
                "[[keep]]\nproduct = \"a2345678901234567890123456\"\nkeep = \"full\"\n",
                "x.toml:6: [[keep]] product: must be 1 to 25 letters",
            ),
            (
                "[[keep]]\nproduct = \"A\"\nkeep = \"nothing\"\n",
                "x.toml:7: [[keep]] keep: must be \"signalling\", \"headers\" or \"full\" where there is a `product`",
            ),
            (
                "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nmos_below = 3.0\n",
                "x.toml:8: [[keep]] mos_below: is known when a call has ended",
            ),
            (
                "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nshare = \"1%\"\n",
                "x.toml:8: [[keep]] share: a case is of certain calls",
            ),
            (
                "[[keep]]\nproduct = \"A\"\nkeep = \"full\"\nmask_dtmf = true\n",
                "x.toml:8: [[keep]] mask_dtmf: `product` is what was sent",
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
