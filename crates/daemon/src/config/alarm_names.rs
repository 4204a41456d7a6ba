//! Names of what rules watch, and of the ready-made patterns, with what was meant where one is wrong.

use ringtap_alarm::{Per, Rule, Watched, patterns};

use super::document::nearest;

/// What is watched under a name.
pub(super) fn watched(name: &str) -> Result<Watched, String> {
    Watched::from_name(name).map_err(|problem| meant(name, &Watched::names()).unwrap_or(problem))
}

/// What is looked at one by one.
pub(super) fn per(name: &str) -> Result<Per, String> {
    let names: Vec<&str> = Per::NAMES.iter().map(|(name, _)| *name).collect();
    Per::from_name(name).map_err(|problem| {
        let problem = problem.trim_start_matches("per = ").to_owned();
        meant(name, &names).unwrap_or(problem)
    })
}

/// Names of all patterns.
pub(super) fn pattern_names() -> Vec<&'static str> {
    patterns().iter().map(|pattern| pattern.name).collect()
}

/// The rules of a pattern.
pub(super) fn pattern(name: &str) -> Result<Vec<Rule>, String> {
    let found = patterns().into_iter().find(|pattern| pattern.name == name).map(|pattern| pattern.rules);
    found.ok_or_else(|| {
        let names = pattern_names();
        let all = || format!("{name} is no pattern; the patterns are {}", names.join(", "));
        meant(name, &names).unwrap_or_else(all)
    })
}

/// Whether a rule can be evaluated: the key that keeps it from that, and how to correct it.
pub(super) fn check(rule: &Rule) -> Result<(), (&'static str, String)> {
    let Err(problem) = rule.check() else { return Ok(()) };
    let key = KEYS.iter().find(|key| {
        let rest = problem.strip_prefix(**key);
        rest.is_some_and(|rest| rest.starts_with([' ', ',']))
    });
    match key {
        Some(key) => Err((key, problem[key.len()..].trim_start_matches([' ', ',', '=']).to_owned())),
        None => Err(("name", problem)),
    }
}

fn meant(name: &str, names: &[&str]) -> Option<String> {
    nearest(name, names).map(|near| format!("there is no `{name}`; did you mean `{near}`?"))
}

/// Keys that the problems of rules begin with.
const KEYS: [&str; 9] =
    ["per", "over", "lasting", "above", "below", "clear", "minimum", "of_week_ago", "hours"];
