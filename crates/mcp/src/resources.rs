//! Texts to read: what can be searched, and what fields and figures mean.

use std::fmt::Write;

use ringtap_kpi::FIGURES;
use ringtap_search::FIELDS;
use rmcp::model::Resource;

use crate::tools::definition;

/// A text that a client can read.
struct Text {
    uri: &'static str,
    name: &'static str,
    about: &'static str,
    text: fn() -> String,
}

/// All texts, as a client is told of them.
pub(crate) fn list() -> Vec<Resource> {
    let resource = |text: &Text| {
        let resource = Resource::new(text.uri, text.name);
        resource.with_description(text.about).with_mime_type(MARKDOWN)
    };
    TEXTS.iter().map(resource).collect()
}

/// The text of that address.
pub(crate) fn read(uri: &str) -> Option<String> {
    TEXTS.iter().find(|text| text.uri == uri).map(|text| (text.text)())
}

/// The addresses of all texts.
pub(crate) fn addresses() -> String {
    TEXTS.iter().map(|text| text.uri).collect::<Vec<_>>().join(", ")
}

fn search() -> String {
    let mut text = String::from(SEARCH);
    text.push_str("\n\n## Fields\n\n| field | values | means | example |\n|---|---|---|---|\n");
    for field in FIELDS {
        let names: Vec<&str> = field.names().iter().map(|name| name.name).collect();
        let values = match names.is_empty() {
            true => field.kind_name().to_owned(),
            false => names.join(" "),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{}` | {values} | {} | `{}` |", field.name, field.about, field.example);
    }
    text
}

fn kpis() -> String {
    let mut text =
        String::from("# Figures of the tool `kpis`\n\n| figure | unit | definition |\n|---|---|---|\n");
    for figure in FIGURES {
        let (unit, definition) = definition(figure);
        let _ = writeln!(text, "| `{}` | {unit} | {definition} |", figure.name);
    }
    text
}

static TEXTS: [Text; 4] = [
    Text {
        uri: "ringtap://search",
        name: "Search language",
        about: "How to write `query`, and every field with its values and an example.",
        text: search,
    },
    Text {
        uri: "ringtap://records",
        name: "Records",
        about: "What each field of a call, a stream, an interval and a user means, with units.",
        text: || include_str!("../../../docs/manual/records.md").to_owned(),
    },
    Text {
        uri: "ringtap://kpis",
        name: "Key performance indicators",
        about: "Name, unit and definition of each figure of `kpis`.",
        text: kpis,
    },
    Text {
        uri: "ringtap://quality",
        name: "Quality and notes",
        about: "How voice is rated, what each note (one_way, late, ...) means and when it is given.",
        text: || include_str!("../../../docs/manual/quality.md").to_owned(),
    },
];

const MARKDOWN: &str = "text/markdown";
const SEARCH: &str = "\
# The search language

Conditions stand beside each other and all have to hold: `state:failed trunk:carrier-a -ua:yealink`.

* `field:value`; `field>value`, `field<value`; ranges `field:a..b`; `field:[a,b]` for one of; `field:*` for \
known at all.
* `-` in front means not; `or` between; parentheses group; quotes around texts with spaces.
* `*` stands for any characters in texts and numbers.
* A bare word guesses its field: digits are a number at its beginning or end, an address or network is `ip`, \
anything else is any text of the call.
* `stream(codec:G729 loss>2)`: one and the same stream. Outside, each condition may be satisfied by another \
stream.
* Times: `15:00`, `yesterday 15:00` (in quotes), `2026-11-21`, `2026-11-21T15:00:00Z`, `-2h`. `at:` finds \
calls that were up then, `began:` and `ended:` those that began or ended.
* Durations have units (`pdd>3s`, `dur:1m..5m`), percentages none (`loss>2`).";
