//! The manual's tables of what can be watched come from the code.

use std::fmt::Write as _;

use crate::check::fitting;
use crate::text::span;
use crate::{Per, Watched, patterns};

fn figures() -> String {
    let mut rows = String::new();
    for (name, about) in Watched::NAMES {
        let watched = Watched::from_name(name).unwrap();
        let fitting = fitting(&watched);
        let fits: Vec<String> = fitting.iter().map(|per| format!("`{}`", per.name())).collect();
        let all = Per::from_name("caller").is_ok_and(|caller| fitting.contains(&caller));
        let per = match fitting.contains(&Per::Codec) {
            true => "all but `user` and `part`".to_owned(),
            false if all => "all but `codec`, `user` and `part`".to_owned(),
            false => fits.join(", "),
        };
        writeln!(rows, "| `{name}` | {about} | {per} |").unwrap();
    }
    rows
}

fn subjects() -> String {
    Per::NAMES.iter().map(|(name, about)| format!("| `{name}` | {about} |\n")).collect()
}

fn all_patterns() -> String {
    let mut rows = String::new();
    for pattern in patterns() {
        let rules = pattern.rules.iter().map(|rule| {
            let (figure, per) = (rule.watched.name(), rule.per.name());
            match rule.watched {
                Watched::LongestCall => format!("`{figure}` per `{per}`: above {}", rule.limit.raise),
                _ => format!("`{figure}` per `{per}`: {} over {}", rule.limit.raise, span(rule.over)),
            }
        });
        let rules: Vec<String> = rules.collect();
        writeln!(rows, "| `{}` | {} | {} |", pattern.name, pattern.about, rules.join("; ")).unwrap();
    }
    rows
}

/// Puts rows below the head of a table, in place of those there.
fn put(page: &str, head: &str, rows: &str) -> String {
    let (before, rest) = page.split_once(head).unwrap_or_else(|| panic!("the manual has no table {head}"));
    let rest: String =
        rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect::<Vec<_>>().concat();
    format!("{before}{head}{rows}{rest}")
}

/// `docs/manual/alarms.md` has what can be watched; `RINGTAP_BLESS=1` writes it there.
#[test]
fn the_manual_has_what_can_be_watched() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/alarms.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let made = put(&manual, "| figure | what it is | `per` |\n|---|---|---|\n", &figures());
    let made = put(&made, "| `per` | its subjects |\n|---|---|\n", &subjects());
    let made = put(&made, "| pattern | what it finds | watches |\n|---|---|---|\n", &all_patterns());
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
        return;
    }
    assert_eq!(manual, made, "write it again with RINGTAP_BLESS=1");
}
