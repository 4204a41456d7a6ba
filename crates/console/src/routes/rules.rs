//! The rules for what is recorded: who sees them, and how they are changed.
//!
//! INVARIANT: what the daemon tells and takes here has no rule that intercepts in it.

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::openapi::refusals::Conflict;
use crate::problem::{Problem, RuleMistake};
use crate::request::Json;
use crate::state::App;
use crate::viewer::Viewer;

/// The rules in order; the first that matches a call decides what is recorded of it.
#[derive(Serialize, Deserialize, ToSchema)]
struct RuleList {
    /// When they were read: at the start of the daemon, by SIGHUP, or when they were changed.
    since_us: u64,
    /// Without any, one that is `[spool] keep` of the daemon's configuration.
    rules: Vec<RuleState>,
    /// Calls that no rule matched, so that no packets of them are recorded.
    unmatched: u64,
    /// The file that has the rules once they were changed here; null if the daemon's configuration names none
    /// (`rules` in [spool]), so that they cannot be changed here.
    #[serde(default)]
    #[schema(required = true)]
    file: Option<String>,
    /// Which rules these are, for a change of them; null without the rights `rules` and `numbers`.
    #[serde(default)]
    #[schema(required = true)]
    version: Option<String>,
    /// They may be changed by whoever asks, if there is a `file`.
    #[serde(default)]
    #[schema(required = true)]
    may_change: bool,
}

/// A rule.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Rule)]
struct RuleState {
    name: String,
    /// What it records: `nothing`, `signalling`, `headers`, `full` or `everything`.
    keep: String,
    /// Conditions, all of which hold: a key of `[[keep]]`, and its value. Of numbers it is how many there
    /// are.
    #[schema(value_type = Vec<Vec<String>>)]
    conditions: Vec<(String, String)>,
    /// Digits that are pressed are not recorded.
    mask_dtmf: bool,
    /// The parties may pause the recording.
    may_pause: bool,
    /// Calls that it decided since the rules were read.
    calls: u64,
    /// The rule with all its numbers, as it is changed; null for `[spool] keep`, and without the rights
    /// `rules` and `numbers`.
    #[serde(default)]
    #[schema(required = true)]
    written: Option<KeepRule>,
}

/// A rule as it is written: the keys of `[[keep]]` (docs/manual/configuration.md). A condition that is empty
/// is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeepRule {
    /// For people; `rule 2` unless it is given.
    #[serde(default)]
    #[schema(example = "emergency calls")]
    name: String,
    /// Numbers of the caller, one of which matches; `*` stands for anything.
    #[serde(default)]
    #[schema(example = json!(["112", "+4930*"]))]
    caller: Vec<String>,
    /// Numbers of the callee.
    #[serde(default)]
    callee: Vec<String>,
    /// Numbers of either.
    #[serde(default)]
    number: Vec<String>,
    /// Networks that the first message comes from or goes to.
    #[serde(default)]
    #[schema(example = json!(["192.0.2.0/24"]))]
    trunk: Vec<String>,
    /// Networks of signalling or media.
    #[serde(default)]
    address: Vec<String>,
    /// Codecs, one of which the answer names first.
    #[serde(default)]
    codec: Vec<String>,
    /// The call is answered.
    #[serde(default)]
    answered: bool,
    /// The worst MOS of the call is below this.
    #[serde(default)]
    mos_below: Option<f64>,
    /// The share of the calls that match otherwise, such as `1%`.
    #[serde(default)]
    share: Option<String>,
    /// What is recorded.
    keep: KeepScope,
    /// Digits that are pressed are not recorded.
    #[serde(default)]
    mask_dtmf: bool,
    /// The parties may pause the recording.
    #[serde(default = "yes")]
    may_pause: bool,
}

fn yes() -> bool {
    true
}

/// What is recorded of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KeepScope {
    /// Its record alone.
    Nothing,
    /// Its messages.
    Signalling,
    /// Also its media, without payload.
    Headers,
    /// Also the payload.
    Full,
    /// Also every other frame: possible in a single rule without conditions.
    Everything,
}

/// All rules, as they are to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRules {
    /// The version of the rules that they are made from: if somebody changed these meanwhile, nothing is
    /// done.
    version: String,
    /// In order: the first that matches a call decides. At most 1,000.
    rules: Vec<KeepRule>,
}

/// Why the daemon did not take them; with neither, it did.
#[derive(Deserialize)]
struct Outcome {
    /// The version that they are now, since somebody changed them meanwhile.
    changed: Option<String>,
    wrong: Option<Vec<RuleMistake>>,
}

/// The rules for what is recorded, and how many calls each decided
///
/// Conditions on numbers are told to who has the rights `rules` and `numbers`; to others, how many numbers
/// there are.
#[utoipa::path(
    get, path = "/rules", operation_id = "list_rules", tag = "retention",
    responses((status = 200, description = "In their order.", body = RuleList), Conflict)
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("decisions of rules")?;
    app.note_view(&viewer, "the rules for what is recorded".to_owned()).await?;
    let mut rules = rules(&app).await?;
    rules.may_change = viewer.has(Right::Rules) && viewer.has(Right::Numbers);
    if !rules.may_change {
        rules.version = None;
        rules.rules.iter_mut().for_each(|rule| rule.written = None);
    }
    Ok(Answer::of(rules))
}

async fn rules(app: &App) -> Result<RuleList, Problem> {
    read(app.ask(|daemon| daemon.rules()).await?)
}

/// Replaces the rules for what is recorded
///
/// All of them at once: what is not in the list is removed. They hold for new calls and for those that no
/// rule has decided yet, from now on and after a restart. If one is wrong, or somebody changed the rules
/// meanwhile, nothing changes. Needs the rights `rules` and `numbers`.
#[utoipa::path(
    put, path = "/rules", operation_id = "set_rules", tag = "retention", request_body = NewRules,
    responses((status = 200, description = "They are in effect.", body = RuleList), Conflict)
)]
pub(crate) async fn set(
    State(app): State<App>,
    viewer: Viewer,
    Json(new): Json<NewRules>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Rules)?;
    viewer.need(Right::Numbers)?;
    viewer.need_everything("decisions of rules")?;
    let before = rules(&app).await?;
    let NewRules { version, rules: after } = new;
    if before.version.as_deref() != Some(&*version) && before.file.is_some() {
        return Err(Problem::changed_meanwhile("the recording rules"));
    }
    // What the daemon would refuse is no change, and not noted as one.
    change(&app, &version, &after, true).await?;
    let before: Vec<KeepRule> = before.rules.into_iter().filter_map(|rule| rule.written).collect();
    for note in notes(&before, &after) {
        app.note(&viewer, Action::Change, note).await?;
    }
    change(&app, &version, &after, false).await?;
    let mut rules = rules(&app).await?;
    rules.may_change = true;
    Ok(Answer::of(rules))
}

/// Has the daemon take them, or only look at them.
async fn change(app: &App, version: &str, rules: &[KeepRule], is_trial: bool) -> Result<(), Problem> {
    let version = version.to_owned();
    let list: Vec<Value> = rules.iter().map(|rule| serde_json::to_value(rule).unwrap_or_default()).collect();
    let told = app.ask(move |daemon| daemon.set_rules(&version, list, is_trial)).await?;
    match read(told)? {
        Outcome { wrong: Some(mistakes), .. } => Err(Problem::rules(mistakes)),
        Outcome { changed: Some(_), .. } => Err(Problem::changed_meanwhile("the recording rules")),
        Outcome { .. } => Ok(()),
    }
}

/// What changes, rule by rule, each as it was and as it is to be. A long one goes on in a further entry.
fn notes(before: &[KeepRule], after: &[KeepRule]) -> Vec<What> {
    let mut notes = Vec::new();
    let (removed, added) = (without(before, after), without(after, before));
    for (place, rule) in &removed {
        note(&mut notes, &format!("recording rule {} as it was before", place + 1), rule);
    }
    for (place, rule) in &added {
        note(&mut notes, &format!("recording rule {} as it is to be", place + 1), rule);
    }
    let names = |rules: &[KeepRule]| {
        let name = |(place, rule): (usize, &KeepRule)| match rule.name.is_empty() {
            true => format!("rule {}", place + 1),
            false => rule.name.clone(),
        };
        rules.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
    };
    notes.push(What::from(format!(
        "{} recording rules [{}] become {} [{}]",
        before.len(),
        names(before),
        after.len(),
        names(after)
    )));
    notes
}

/// Those of `rules` that are not among `others`, each with its place; one that is there twice counts twice.
fn without<'a>(rules: &'a [KeepRule], others: &[KeepRule]) -> Vec<(usize, &'a KeepRule)> {
    let mut others: Vec<&KeepRule> = others.iter().collect();
    let mut left = Vec::new();
    for (place, rule) in rules.iter().enumerate() {
        match others.iter().position(|other| *other == rule) {
            Some(found) => drop(others.swap_remove(found)),
            None => left.push((place, rule)),
        }
    }
    left
}

/// Notes a rule, its numbers sealed.
fn note(notes: &mut Vec<What>, title: &str, rule: &KeepRule) {
    let value = serde_json::to_value(rule).unwrap_or_default();
    let mut what = What::from(format!("{title}: "));
    let mut length = 0;
    for (key, value) in value.as_object().into_iter().flatten() {
        let items: Vec<&Value> = match value {
            Value::Array(items) if NUMBERS.contains(&&**key) => items.iter().collect(),
            Value::Array(items) if items.is_empty() => Vec::new(),
            Value::Null | Value::Bool(false) => Vec::new(),
            value => vec![value],
        };
        for (at, item) in items.iter().enumerate() {
            if length > MOST_NOTED {
                notes.push(std::mem::replace(&mut what, What::from(format!("{title}, continued: "))));
                length = 0;
            }
            let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            length += text.len() + key.len() + 3;
            let key = if at == 0 { format!("{key}: ") } else { String::new() };
            let end = if at + 1 == items.len() { "; " } else { ", " };
            what = match NUMBERS.contains(&key.trim_end_matches(": ")) || items.len() > 1 {
                true => what.text(key).number(text).text(end),
                false => what.text(format!("{key}{text}{end}")),
            };
        }
    }
    notes.push(what);
}

/// What the daemon says, as this console knows it.
pub(super) fn read<T: DeserializeOwned>(told: Value) -> Result<T, Problem> {
    serde_json::from_value(told)
        .map_err(|_| Problem::unavailable("the daemon is of another version: restart it, or this console"))
}

/// Keys whose values are numbers of people.
const NUMBERS: [&str; 3] = ["caller", "callee", "number"];
/// Bytes of a rule in one entry of the audit log, which cuts what is longer than 4 KiB.
const MOST_NOTED: usize = 2_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(value: Value) -> KeepRule {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_change_is_noted_with_all_that_was_and_is_to_be() {
        let all = rule(json!({ "name": "all", "keep": "full" }));
        let never = rule(json!({ "name": "never", "number": ["112", "113"], "keep": "nothing" }));
        let other = rule(json!({ "name": "never", "number": ["112"], "keep": "nothing" }));
        let told = |before: &[KeepRule], after: &[KeepRule]| {
            notes(before, after).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&[never.clone(), all.clone()], &[other, all.clone()]),
            [
                "recording rule 1 as it was before: keep: nothing; may_pause: true; name: never; \
                 number: 112, 113; ",
                "recording rule 1 as it is to be: keep: nothing; may_pause: true; name: never; number: 112; ",
                "2 recording rules [never, all] become 2 [never, all]",
            ]
        );
        assert_eq!(
            told(&[never.clone(), all.clone()], &[all.clone(), never]),
            ["2 recording rules [never, all] become 2 [all, never]"]
        );
        // However many numbers there are, none is left out, and no entry is longer than the log takes.
        let numbers: Vec<String> = (0..2_000).map(|number| format!("+4930{number:08}")).collect();
        let many = rule(json!({ "caller": numbers, "trunk": ["192.0.2.0/24"], "keep": "full" }));
        let entries = told(&[], &[many]);
        assert!(entries.iter().all(|entry| entry.len() < 4_096), "{}", entries[0].len());
        let whole = entries.concat();
        assert!(numbers.iter().all(|number| whole.contains(number)) && whole.contains("192.0.2.0/24"));
    }

    #[test]
    fn numbers_are_sealed_in_the_log() {
        let mut noted = Vec::new();
        let value = json!({ "caller": ["112"], "codec": ["G729"], "keep": "full" });
        note(&mut noted, "x", &rule(value));
        let is_sealed = |text: &str| {
            let sealed = ringtap_access::Piece::Number(text.to_owned());
            noted.iter().any(|what| what.pieces().contains(&sealed))
        };
        assert!(is_sealed("112") && !is_sealed("G729"));
    }
}
