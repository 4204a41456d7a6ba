//! `[[keep]]` rules, compiled, and checked beside each other.

use ringtap_spool::rules::{Rule, Rules};

use super::keep_rule::{KeepRule, RuleProblem};
use super::values::KeepScope;

/// The rules that do not intercept, compiled; `otherwise` is what is recorded where there are none.
///
/// # Errors
///
/// The first rule that is wrong, or whose file of numbers cannot be read.
pub(crate) fn ordinary_rules(own: &[KeepRule], otherwise: KeepScope) -> Result<Rules, RuleProblem> {
    let mut rules = compile(own.iter().enumerate())?;
    if rules.is_empty() {
        let what = otherwise.of_call();
        rules.push(Rule { name: "[spool] keep".into(), what, may_pause: true, ..Rule::default() });
    }
    Ok(Rules(rules))
}

/// Compiles rules of one kind, which are numbered by themselves: a gap would tell that one among them
/// intercepts.
pub(super) fn compile<'a>(
    rules: impl Iterator<Item = (usize, &'a KeepRule)>,
) -> Result<Vec<Rule>, RuleProblem> {
    let mut compiled = Vec::new();
    for (place, rule) in rules {
        if compiled.len() == MAX_RULES {
            let problem = format!("{MAX_RULES} rules are allowed: remove this one and those after it");
            return Err((place, "name", problem));
        }
        let mut rule = rule.compile(place)?;
        if rule.name.is_empty() {
            rule.name = format!("rule {}", compiled.len() + 1);
        }
        compiled.push(rule);
    }
    Ok(compiled)
}

/// Whether every frame is recorded, of calls or not; `otherwise` is what is recorded without rules.
pub(crate) fn keeps_everything(own: &[KeepRule], otherwise: KeepScope) -> bool {
    match own {
        [] => otherwise == KeepScope::Everything,
        [only] => only.keep == Some(KeepScope::Everything),
        _ => false,
    }
}

/// Checks ordinary rules together.
///
/// # Errors
///
/// The first rule that is wrong beside the others.
pub(crate) fn check_together(own: &[KeepRule]) -> Result<(), RuleProblem> {
    let Rules(rules) = ordinary_rules(own, KeepScope::Nothing)?;
    let everything = own.iter().position(|rule| rule.keep == Some(KeepScope::Everything));
    if let Some(place) = everything
        && (own.len() > 1 || !rules[place].asks_nothing())
    {
        let problem = "\"everything\" records every frame and is allowed only in a single rule \
                       without conditions: write keep = \"full\" for \
                       all of a call";
        return Err((place, "keep", problem.to_owned()));
    }
    if let Some(place) = rules.iter().position(Rule::asks_nothing)
        && place + 1 < own.len()
    {
        let problem =
            "never matches, because the rule before it matches every call: move it up, or remove it";
        return Err((place + 1, "keep", problem.to_owned()));
    }
    Ok(())
}

/// Each call is matched against them one by one.
const MAX_RULES: usize = 1000;
