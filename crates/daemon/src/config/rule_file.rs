//! The file of the recording rules that are changed in the console: `[[keep]]` tables and nothing else.
//!
//! INVARIANT: no rule in it intercepts. Those are in the configuration alone, which the daemon cannot write.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::de::DeTable;

use super::compiled_rules::check_together;
use super::document::Document;
use super::error::{ConfigError, EntryMistake};
use super::keep_rule::{KeepRule, RuleProblem};
use super::key::{Keys, Section};

/// The file, as it was read or written last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleFile {
    pub(crate) rules: Vec<KeepRule>,
    pub(crate) text: String,
}

/// What the file is read into.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Tables {
    keep: Vec<KeepRule>,
}

impl RuleFile {
    /// Reads it; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// It cannot be read, or a rule is wrong.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ConfigError::unreadable(path, &error)),
            Ok(text) => text,
        };
        let rules = parse(&text, None).map_err(|wrong| wrong.of(path))?;
        Ok(Some(Self { rules, text }))
    }

    /// The file of these rules.
    pub(crate) fn of(rules: Vec<KeepRule>) -> Self {
        let tables = rules.iter().map(|rule| format!("\n[[keep]]\n{}", rule.lines()));
        let text = std::iter::once(HEAD.to_owned()).chain(tables).collect();
        Self { rules, text }
    }

    /// Writes it beside the old one, and puts it into its place once it is on the disk: whenever the program
    /// or the machine stops, one of the two is there whole.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let draft = draft(path);
        let mut file = File::create(&draft)?;
        file.write_all(self.text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    }
}

/// Where a new file is until it is whole. One that a kill left is replaced by the next.
fn draft(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

/// The rules of such a text. `files` are the files of numbers that they may name; `None` is all.
fn parse(text: &str, files: Option<&[PathBuf]>) -> Result<Vec<KeepRule>, ConfigError> {
    let document = Document::parse(text, &[], LISTS)?;
    let Tables { keep } = document.read(&DeTable::new())?;
    match check(&keep, files) {
        Ok(()) => Ok(keep),
        Err((place, key, problem)) => Err(document.at_entry("keep", place, key, problem)),
    }
}

fn check(rules: &[KeepRule], files: Option<&[PathBuf]>) -> Result<(), RuleProblem> {
    for (place, rule) in rules.iter().enumerate() {
        if rule.intercepts() {
            return Err((place, "product", "is possible in the configuration alone: remove it".to_owned()));
        }
        let is_unknown = |file: &&Path| files.is_some_and(|files| !files.iter().any(|known| known == file));
        if let Some((key, file)) = rule.number_files().find(|(_, file)| is_unknown(file)) {
            let problem = format!(
                "names the file `{}`, which no rule names now: write the numbers themselves, or have the \
                 file named by whoever may write the file of the rules",
                file.display()
            );
            return Err((place, key, problem));
        }
    }
    check_together(rules)
}

/// Rules as JSON has them, such as `{"number": ["112"], "keep": "nothing"}`, checked as a file is. Whoever
/// sends them may not choose which files the daemon reads: `files` are those of numbers that they may name.
///
/// # Errors
///
/// Every mistake, with the index of its rule.
pub(crate) fn of_json(
    rules: &[Map<String, Value>],
    files: &[PathBuf],
) -> Result<Vec<KeepRule>, Vec<EntryMistake>> {
    let (mut text, mut begins) = (String::new(), Vec::new());
    for rule in rules {
        begins.push(1 + text.matches('\n').count());
        text.push_str("[[keep]]\n");
        for (key, value) in rule.iter().filter(|(_, value)| !value.is_null()) {
            text.push_str(&format!("{} = {}\n", super::key::quoted(key), toml_of(value)));
        }
    }
    parse(&text, Some(files)).map_err(|wrong| wrong.of_entries(&begins))
}

/// A value of JSON as TOML has it.
fn toml_of(value: &Value) -> String {
    match value {
        Value::String(text) => super::key::quoted(text),
        Value::Array(items) => super::key::list(items, toml_of),
        Value::Object(_) => "{}".to_owned(),
        // TOML has no null: a list with one is refused as an empty text is.
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A rule as JSON has it: the keys that it sets.
pub(crate) fn to_json(rule: &KeepRule) -> Value {
    // What is written there is read there.
    toml::from_str(&rule.lines()).unwrap_or_default()
}

const LISTS: &[Section] = &[KeepRule::SECTION];
const HEAD: &str = "\
# Recording rules, as they were changed in the console of ringtap. It writes this file anew, without the
# remarks that somebody adds; `[spool] rules` of the configuration names it. After a change by hand: SIGHUP.
";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rules(value: &Value) -> Result<Vec<KeepRule>, Vec<EntryMistake>> {
        let list = value.as_array().unwrap().iter();
        of_json(&list.map(|rule| rule.as_object().unwrap().clone()).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        let list = json!([
            { "name": "never \"this\"\\", "number": ["112", "+4930*"], "keep": "nothing" },
            { "trunk": ["192.0.2.0/24", "2001:db8::1/128"], "address": ["198.51.100.1/32"], "codec": ["G729"],
              "answered": true, "share": "0.5%", "keep": "headers", "mask_dtmf": true, "may_pause": false },
            { "caller": ["1"], "callee": ["2"], "mos_below": 3.5, "keep": "full" },
        ]);
        let read = rules(&list).unwrap();
        assert_eq!(read.iter().map(to_json).collect::<Value>(), list);
        let file = RuleFile::of(read);
        assert_eq!(parse(&file.text, None).unwrap(), file.rules);
        assert!(parse(&RuleFile::of(Vec::new()).text, None).unwrap().is_empty());
    }

    #[test]
    fn every_mistake_names_its_rule_and_key() {
        let mistakes = |list: Value| {
            let told = rules(&list).unwrap_err().into_iter();
            told.map(|EntryMistake { place, key, problem }| format!("{place:?} {key}: {problem}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        for (list, expected) in [
            (json!([{ "keep": "full", "mos_below": 7 }]), "Some(0) mos_below: must be from 1 to 5"),
            (json!([{ "answered": true, "keep": "full" }, { "name": "x" }]), "Some(1) keep: is missing"),
            (json!([{ "keep": "some" }]), "Some(0) keep: \"some\" is not \"nothing\","),
            (json!([{ "keep": "full", "calle": ["1"] }]), "Some(0) calle: no such key; did you mean"),
            (json!([{ "keep": "full", "trunk": "x" }]), "Some(0) trunk: \"x\" is not a list of networks"),
            (json!([{ "keep": "full", "number": [null] }]), "Some(0) number: has an empty number"),
            (json!([{ "keep": {} }]), "Some(0) keep: {} is not \"nothing\""),
            (json!([{ "keep": "full" }, { "keep": "full" }]), "Some(1) keep: never matches"),
            (json!([{ "keep": "full", "product": "LI-1" }]), "Some(0) product: is possible in the"),
            (json!([{ "keep": "full", "name": "a\nb" }]), "Some(0) name: must be at most 100 bytes"),
            (
                json!([{ "keep": "full", "caller": ["@/etc/shadow"] }]),
                "Some(0) caller: names the file `/etc/sha",
            ),
            (json!([{ "keep": "full", "a b": 1 }]), "Some(0) a b: no such key"),
        ] {
            let told = mistakes(list.clone());
            assert!(told.starts_with(expected), "{list}: {told}");
        }
        let many = vec![json!({ "answered": true, "keep": "full" }); 1001];
        assert!(mistakes(Value::Array(many)).starts_with("Some(1000) name: 1000 rules are allowed"));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_a_draft_of_before_is_no_hindrance() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rules.toml");
        assert_eq!(RuleFile::read(&path).unwrap(), None);
        fs::write(draft(&path), "[[keep]]\nkeep = \"fu").unwrap();
        let file = RuleFile::of(rules(&json!([{ "keep": "headers" }])).unwrap());
        file.write(&path).unwrap();
        assert_eq!(RuleFile::read(&path).unwrap(), Some(file.clone()));
        let before = fs::metadata(&path).unwrap().ino();
        RuleFile::of(Vec::new()).write(&path).unwrap();
        assert_ne!(fs::metadata(&path).unwrap().ino(), before);
        assert!(!draft(&path).exists());
        fs::write(&path, "[spool]\nkeep = \"full\"\n").unwrap();
        let wrong = RuleFile::read(&path).unwrap_err().to_string();
        assert!(wrong.contains("rules.toml:1: [spool]: no such section"), "{wrong}");
    }

    proptest! {
        /// Whatever somebody sends, nothing but a list of rules is made of it.
        #[test]
        fn any_json_is_refused_or_read_and_written(
            keys in prop::collection::vec(("[a-z_\"\\\\\\]\n]{1,9}", ".{0,9}", any::<f64>()), 0..4)
        ) {
            let mut rule = Map::new();
            rule.insert("keep".to_owned(), json!("full"));
            rule.insert("name".to_owned(), json!(keys.first().map(|(_, text, _)| text)));
            for (key, text, number) in keys {
                rule.insert(key, json!([text, number]));
            }
            if let Ok(read) = of_json(&[rule], &[]) {
                prop_assert_eq!(read.len(), 1);
                prop_assert_eq!(&parse(&RuleFile::of(read.clone()).text, None).unwrap(), &read);
            }
        }
    }
}
