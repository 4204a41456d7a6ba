//! The text of a configuration with the positions of its keys: finds unknown keys, and the line of an error.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::error::ConfigError;
use super::key::{Key, Section};
use super::values::Profile;

/// A text with the position of each key and value.
pub(crate) struct Document<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
    /// The sections that there are.
    sections: &'static [Section],
    /// The lists of tables that there are, such as the rules: each with the keys of an entry.
    lists: &'static [Section],
}

impl<'a> Document<'a> {
    /// Parses TOML.
    pub(crate) fn parse(
        text: &'a str,
        sections: &'static [Section],
        lists: &'static [Section],
    ) -> Result<Self, ConfigError> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Self { text, table, sections, lists }),
            Err(error) => Err(ConfigError::new(line(text, error.span()), None, error.message().to_owned())),
        }
    }

    /// Reads it; a key that it lacks is taken from `others`, if these have it.
    ///
    /// # Errors
    ///
    /// Every key that is not known, and every value that its key does not accept.
    pub(crate) fn read<T: DeserializeOwned>(&self, others: &DeTable<'_>) -> Result<T, ConfigError> {
        let mut table = self.table.clone();
        let mut wrong = self.without_unknown(table.get_mut());
        complete(table.get_mut(), others);
        while wrong.len() < MOST {
            let error = match T::deserialize(Deserializer::from(table.clone())) {
                Ok(read) if wrong.is_empty() => return Ok(read),
                Ok(_) => break,
                Err(error) => error,
            };
            wrong.push(self.of_toml(&error));
            // The next are found without it.
            if !error.span().is_some_and(|at| remove(table.get_mut(), &at)) {
                break;
            }
        }
        wrong.truncate(MOST);
        let unread = || ConfigError::new(None, None, "cannot be read".to_owned());
        Err(ConfigError::all(wrong).unwrap_or_else(unread))
    }

    /// Removes sections and keys that are not known, and says which they are.
    fn without_unknown(&self, table: &mut DeTable<'a>) -> Vec<ConfigError> {
        let mut wrong = Vec::new();
        for (name, mut value) in std::mem::take(table) {
            let at = Some(name.span());
            if let Some(list) = self.list_of(name.get_ref()) {
                self.entries_without_unknown(list, &mut value, at, &mut wrong);
                table.insert(name, value);
                continue;
            }
            let Some(section) = self.section_of(name.get_ref()) else {
                wrong.push(self.no_section(name.get_ref(), &value, at));
                continue;
            };
            let known = section.name;
            let DeValue::Table(keys) = value.get_mut() else {
                let problem =
                    format!("is a section: write [{known}] on a line of its own and its keys below it");
                wrong.push(ConfigError::new(line(self.text, at), Some(known.to_owned()), problem));
                continue;
            };
            self.keys_without_unknown(known, keys, &names(section), &mut wrong);
            table.insert(name, value);
        }
        wrong
    }

    fn entries_without_unknown(
        &self,
        list: &Section,
        value: &mut Spanned<DeValue<'a>>,
        at: Option<Range<usize>>,
        wrong: &mut Vec<ConfigError>,
    ) {
        let names = names(list);
        if let DeValue::Array(tables) = value.get_mut()
            && tables.iter().all(|table| table.get_ref().is_table())
        {
            for table in tables.iter_mut() {
                if let DeValue::Table(keys) = table.get_mut() {
                    self.keys_without_unknown(list.name, keys, &names, wrong);
                }
            }
            return;
        }
        let name = list_name(list);
        let (what, one, also) = match name {
            "keep" => ("list of rules", "a rule", "; the `keep` of all calls belongs below [spool]"),
            _ => ("list", "an entry", ""),
        };
        let problem = format!(
            "is a {what}: write [[{name}]] on a line of its own and the keys of {one} below it{also}"
        );
        wrong.push(ConfigError::new(line(self.text, at), Some(name.to_owned()), problem));
        *value.get_mut() = DeValue::Array(Default::default());
    }

    fn keys_without_unknown(
        &self,
        section: &str,
        keys: &mut DeTable<'a>,
        names: &[&str],
        wrong: &mut Vec<ConfigError>,
    ) {
        for (key, value) in std::mem::take(keys) {
            let name = key.get_ref().as_ref();
            if names.contains(&name) {
                keys.insert(key, value);
                continue;
            }
            let problem = match nearest(name, names) {
                Some(near) => format!("no such key; did you mean `{near}`?"),
                None => format!("no such key; the keys are {}", names.join(", ")),
            };
            let place = format!("[{section}] {name}");
            wrong.push(ConfigError::new(line(self.text, Some(key.span())), Some(place), problem));
        }
    }

    fn no_section(&self, name: &str, value: &Spanned<DeValue<'_>>, at: Option<Range<usize>>) -> ConfigError {
        let line = line(self.text, at);
        let sections: Vec<&str> = self.sections.iter().map(|section| section.name).collect();
        let all = || sections.iter().map(|section| format!("[{section}]")).collect::<Vec<_>>().join(", ");
        let lists = || {
            let lists = self.lists.iter().map(|list| format!("[[{}]]", list_name(list)));
            lists.collect::<Vec<_>>().join(", ")
        };
        let is_list = match value.get_ref() {
            DeValue::Array(list) => list.iter().any(|item| item.get_ref().is_table()),
            _ => false,
        };
        if is_list || value.get_ref().is_table() {
            let names = self.lists.iter().map(list_name);
            let known: Vec<&str> = sections.iter().copied().chain(names).collect();
            let problem = match nearest(name, &known) {
                Some(near) if self.list_of(near).is_some() => {
                    format!("no such section; did you mean [[{near}]]?")
                }
                Some(near) => format!("no such section; did you mean [{near}]?"),
                None if sections.is_empty() => format!("no such section: this file has {} alone", lists()),
                None => format!("no such section; the sections are {}", all()),
            };
            return ConfigError::new(line, Some(format!("[{name}]")), problem);
        }
        let problem = match self.sections.iter().flat_map(|section| section.keys).find(|key| key.name == name)
        {
            Some(key) => format!("is outside of any section: write it below [{}]", key.section),
            None if sections.is_empty() => format!("is outside of any rule: write it below {}", lists()),
            None => format!("is outside of any section; the sections are {}", all()),
        };
        ConfigError::new(line, Some(name.to_owned()), problem)
    }

    /// A value that its key does not accept.
    pub(crate) fn of_toml(&self, error: &toml::de::Error) -> ConfigError {
        let at = error.span();
        match at.clone().and_then(|at| self.key_at(&at)) {
            Some(key) => {
                let value = at.clone().and_then(|at| self.text.get(at)).unwrap_or_default();
                let value: String = value.lines().next().unwrap_or_default().chars().take(60).collect();
                let problem = format!("{value} is not {}", (key.accepts)());
                ConfigError::new(
                    line(self.text, at),
                    Some(format!("[{}] {}", key.section, key.name)),
                    problem,
                )
            }
            None => ConfigError::new(line(self.text, at), None, error.message().to_owned()),
        }
    }

    /// A problem with a key whose type is right.
    pub(crate) fn at(&self, section: &str, key: &str, problem: String) -> ConfigError {
        let span = self.table.get_ref().get(section).and_then(|value| match value.get_ref() {
            DeValue::Table(keys) => keys.get_key_value(key).map(|(key, _)| key.span()),
            _ => None,
        });
        ConfigError::new(line(self.text, span), Some(format!("[{section}] {key}")), problem)
    }

    /// A problem with a key of an entry of a list: the line of the key, or of the entry if the key is
    /// missing.
    pub(crate) fn at_entry(&self, list: &str, place: usize, key: &str, problem: String) -> ConfigError {
        let line = self.line_of_entry(list, place, key);
        ConfigError::new(line, Some(format!("[[{list}]] {key}")), problem)
    }

    /// The line of a key of an entry, or of the entry if the key is missing.
    pub(crate) fn line_of_entry(&self, list: &str, place: usize, key: &str) -> Option<usize> {
        let table = self.entries(list).get(place)?;
        let span = match table.get_ref() {
            DeValue::Table(keys) => keys.get_key_value(key).map_or(table.span(), |(key, _)| key.span()),
            _ => table.span(),
        };
        line(self.text, Some(span))
    }

    /// The profile that the file names; the default where it names none that there is.
    pub(crate) fn profile(&self) -> Profile {
        self.text_of("process", "profile").and_then(Profile::of_name).unwrap_or(Profile::Default)
    }

    /// The value of a key, where the file has it and it is a text.
    pub(crate) fn text_of(&self, section: &str, key: &str) -> Option<&str> {
        let Some(DeValue::Table(keys)) = self.table.get_ref().get(section).map(Spanned::get_ref) else {
            return None;
        };
        keys.get(key).and_then(|value| value.get_ref().as_str())
    }

    /// Whether the file has the key.
    pub(crate) fn has(&self, section: &str, key: &str) -> bool {
        let section = self.table.get_ref().get(section).map(Spanned::get_ref);
        matches!(section, Some(DeValue::Table(keys)) if keys.contains_key(key))
    }

    fn entries(&self, list: &str) -> &[Spanned<DeValue<'a>>] {
        match self.table.get_ref().get(list).map(Spanned::get_ref) {
            Some(DeValue::Array(tables)) => tables,
            _ => &[],
        }
    }

    fn section_of(&self, name: &str) -> Option<&'static Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    fn list_of(&self, name: &str) -> Option<&'static Section> {
        self.lists.iter().find(|list| list_name(list) == name)
    }

    /// The key whose value covers these bytes.
    fn key_at(&self, at: &Range<usize>) -> Option<&'static Key> {
        let entries = self
            .lists
            .iter()
            .flat_map(|list| self.entries(list_name(list)).iter().map(move |entry| (list, entry)));
        for (list, entry) in entries {
            let DeValue::Table(keys) = entry.get_ref() else { continue };
            let covers =
                |value: &Spanned<DeValue<'_>>| value.span().start <= at.start && at.end <= value.span().end;
            if let Some((key, _)) = keys.iter().find(|(_, value)| covers(value)) {
                return list.keys.iter().find(|known| known.name == key.get_ref());
            }
        }
        for (section, value) in self.table.get_ref() {
            let DeValue::Table(keys) = value.get_ref() else { continue };
            for (key, value) in keys {
                if value.span().start <= at.start && at.end <= value.span().end {
                    let keys = self.section_of(section.get_ref())?.keys;
                    return keys.iter().find(|known| known.name == key.get_ref());
                }
            }
        }
        None
    }
}

/// Adds the keys of `profile` that are missing.
pub(super) fn complete<'a>(table: &mut DeTable<'a>, profile: &DeTable<'a>) {
    for (section, keys) in profile {
        let DeValue::Table(keys) = keys.get_ref() else { continue };
        let added = || Spanned::new(section.span(), DeValue::Table(DeTable::new()));
        let entry = table.entry(section.clone()).or_insert_with(added);
        let DeValue::Table(there) = entry.get_mut() else { continue };
        for (key, value) in keys {
            if !there.contains_key(key) {
                there.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Removes the key whose value covers these bytes, also of a rule; false if there is none.
fn remove(table: &mut DeTable<'_>, at: &Range<usize>) -> bool {
    let mut removed = false;
    for (_, section) in table.iter_mut() {
        match section.get_mut() {
            DeValue::Table(keys) => removed |= without(keys, at),
            DeValue::Array(rules) => {
                for rule in rules.iter_mut() {
                    if let DeValue::Table(keys) = rule.get_mut() {
                        removed |= without(keys, at);
                    }
                }
            }
            _ => {}
        }
    }
    removed
}

/// The same in one section.
fn without(keys: &mut DeTable<'_>, at: &Range<usize>) -> bool {
    let before = keys.len();
    let others = std::mem::take(keys).into_iter();
    *keys = others.filter(|(_, value)| value.span().start > at.start || value.span().end < at.end).collect();
    keys.len() < before
}

/// Most mistakes that are named at once.
const MOST: usize = 50;

/// The name of a list: that of its section is `[keep]`, as it is written in a message.
fn list_name(list: &Section) -> &'static str {
    list.name.trim_matches(['[', ']'])
}

fn names(section: &Section) -> Vec<&'static str> {
    section.keys.iter().map(|key| key.name).collect()
}

fn line(text: &str, at: Option<Range<usize>>) -> Option<usize> {
    let before = text.get(..at?.start.min(text.len()))?;
    Some(1 + before.matches('\n').count())
}

/// The known name that is most like `name`, if one is.
pub(super) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |known: &&str| strsim::damerau_levenshtein(name, known);
    let near = names.iter().copied().min_by_key(distance)?;
    (distance(&near) <= 1 + near.len() / 4).then_some(near)
}
