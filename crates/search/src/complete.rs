//! What can be written next.

use crate::field::{FIELDS, Field, Kind, Subject};

/// A way to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What to write.
    pub text: String,
    /// What it means.
    pub about: String,
    /// The character from which it replaces the text, from 1.
    pub column: usize,
    /// How many characters it replaces.
    pub length: usize,
}

/// Ways to go on where the cursor stands in front of the character `column` of a text, from 1: names of
/// fields, and the names that the values of a field can have. At most [`MOST`]; the most likely first.
pub fn complete(text: &str, column: usize) -> Vec<Completion> {
    let chars: Vec<char> = text.chars().take(column.saturating_sub(1)).collect();
    let Some(begin) = begin_of_term(&chars) else { return Vec::new() };
    let term: String = chars[begin..].iter().collect();
    let is_in_stream = is_in_stream(&chars[..begin]);
    let mut found = match term.split_once([':', '=']) {
        Some((name, value)) => values_of(name, value, chars.len()),
        None => fields(&term, is_in_stream, begin),
    };
    found.truncate(MOST);
    found
}

/// Where the term begins in which the cursor stands; none within quotation marks.
fn begin_of_term(chars: &[char]) -> Option<usize> {
    let mut begin = 0;
    let mut is_quoted = false;
    for (place, c) in chars.iter().enumerate() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | ')' => begin = place + 1,
            c if c.is_whitespace() => begin = place + 1,
            '-' if begin == place => begin = place + 1,
            _ => {}
        }
    }
    (!is_quoted).then_some(begin)
}

/// Whether the cursor stands within `stream(...)`.
fn is_in_stream(before: &[char]) -> bool {
    let before: String = before.iter().collect();
    before.rfind("stream(").is_some_and(|place| {
        let depth = |depth: i32, c: char| match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        };
        before[place..].chars().fold(0, depth) > 0
    })
}

/// Values of a field that begin as `value` does; of a list, the last.
fn values_of(name: &str, value: &str, end: usize) -> Vec<Completion> {
    let Some(field) = Field::of_name(name) else { return Vec::new() };
    let last = value.rsplit(['[', ',']).next().unwrap_or_default();
    let length = last.chars().count();
    let place = |text: &str, about: &str| Completion {
        text: text.to_owned(),
        about: about.to_owned(),
        column: end - length + 1,
        length,
    };
    let lower = last.to_ascii_lowercase();
    let names = field.names().iter().filter(|name| name.name.to_ascii_lowercase().starts_with(&lower));
    let mut found: Vec<Completion> = names.map(|name| place(name.name, name.description)).collect();
    if found.is_empty() && last.is_empty() {
        if let Some((_, example)) = field.example.split_once([':', '>', '<']) {
            found.extend((!field.example.contains('(')).then(|| place(example, field.about)));
        }
        found.push(place("*", "It is known at all."));
    }
    found
}

/// Fields whose names begin so; then values whose names do, with their fields; then fields that have it in
/// their names.
fn fields(term: &str, is_in_stream: bool, begin: usize) -> Vec<Completion> {
    let lower = term.to_ascii_lowercase();
    let length = term.chars().count();
    let place =
        |text: String, about: &str| Completion { text, about: about.to_owned(), column: begin + 1, length };
    let fits = |field: &&Field| !is_in_stream || field.subject != Subject::Call;
    let all = || FIELDS.iter().filter(fits);
    let field = |field: &'static Field| place(format!("{}{}", field.name, operator(field)), field.about);
    let mut found: Vec<Completion> =
        all().filter(|field| field.name.starts_with(&lower)).map(field).collect();
    if !is_in_stream && "stream(".starts_with(&lower) {
        found.push(place("stream(".to_owned(), "Conditions on one and the same stream."));
    }
    if !is_in_stream && "site:".starts_with(&lower) {
        found.push(place("site:".to_owned(), "Networks that have a name."));
    }
    if lower.is_empty() {
        return found;
    }
    for field in all() {
        let Kind::Name(names) = field.kind else { continue };
        let names = names.iter().filter(|name| name.name.to_ascii_lowercase().starts_with(&lower));
        found.extend(names.map(|name| place(format!("{}:{}", field.name, name.name), name.description)));
    }
    let within = |field: &&Field| field.name.contains(&lower) && !field.name.starts_with(&lower);
    found.extend(all().filter(within).map(field));
    found
}

/// What is most often written behind the field.
fn operator(field: &Field) -> &'static str {
    let rest = &field.example[field.name.len().min(field.example.len())..];
    match rest.chars().next() {
        Some('>') => ">",
        Some('<') => "<",
        _ => ":",
    }
}

/// The most ways to go on.
pub const MOST: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        complete(text, text.chars().count() + 1).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn fields_and_values_that_begin_so() {
        assert_eq!(texts("mos"), ["mos<", "mosworst<"]);
        assert_eq!(texts("0138 -state:fa"), ["failed"]);
        assert_eq!(texts("state:[failed,ti"), ["timeout"]);
        assert!(texts("fail").contains(&"state:failed".to_owned()));
        assert_eq!(texts("problem:"), ["yes", "no"]);
        assert_eq!(texts("pdd:"), ["3s", "*"]);
        assert_eq!(texts("ua:\"yea"), [""; 0]);
        assert_eq!(texts("nothing:x"), [""; 0]);
        assert!(texts("").contains(&"number:".to_owned()));
        assert_eq!(texts("-sit"), ["site:"]);
        assert!(!texts("stream(sit").contains(&"site:".to_owned()));
    }

    #[test]
    fn within_a_stream() {
        let found = texts("stream(codec:G729 (los");
        assert_eq!(found, ["loss>", "lostat:", "note:loss"]);
        assert!(texts("stream(codec:G729) fro").contains(&"from:".to_owned()));
        assert!(!texts("stream(fro").contains(&"from:".to_owned()));
    }

    #[test]
    fn what_is_replaced() {
        let found = complete("é -sta x", 7);
        assert_eq!((found[0].text.as_str(), found[0].column, found[0].length), ("state:", 4, 3));
        let found = complete("code:4xx state:[x,fail", 23);
        assert_eq!((found[0].text.as_str(), found[0].column, found[0].length), ("failed", 19, 4));
        for column in 0..40 {
            complete("état:\"ü\" stream(-co[", column);
        }
    }
}
