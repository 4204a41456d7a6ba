//! The tables of `docs/manual/records.md` are made from the definitions in `crates/model`:
//! `RINGTAP_BLESS=1 cargo test -p ringtap-cases --test manual` writes the page anew, and without that it is
//! compared.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ringtap_model::record::Name;
use ringtap_model::{
    Alarm, Amendment, Call, Dtmf, Failure, Field, FieldType, HeldAddress, Identity, Interval, Join, Message,
    MethodCount, Note, Record, Registration, Stream, Transaction, User,
};
use ringtap_quality::notes::{THRESHOLDS, Threshold};

const HEAD: &str = concat!(
    "# Records\n",
    "\n",
    "`ringtap analyze --format jsonl` prints one JSON object a line with these names. `ringtap ",
    "calls` and the columns of the\n",
    "database use the same names. `--format csv` has the same columns in the same order; a list ",
    "becomes the words of one cell,\n",
    "and intervals have a CSV of their own. A cell that a spreadsheet would run as a formula (it ",
    "begins with `=`, `+`, `-`, `@`\n",
    "or a control character, and is not wholly a number) is quoted and begins with an apostrophe; ",
    "JSON has the text as it was.\n",
    "Fields may be added; none changes its meaning. A value that is not known is `null`,\n",
    "never 0 and never an empty text. Times end in `_us`: microseconds since 1970-01-01 UTC, from the\n",
    "capture. Spans end in `_ms`. Addresses are `ip:port` or `[v6]:port`.\n",
);

fn manual() -> String {
    let mut page = HEAD.to_owned();
    section::<Call>(&mut page, "call");
    section::<Dtmf>(&mut page, "call: an entry of `dtmf`");
    section::<Join>(&mut page, "call: an entry of `joins`");
    section::<Stream>(&mut page, "stream");
    section::<Interval>(&mut page, "stream: an entry of `intervals`");
    section::<Note>(&mut page, "call and stream: an entry of `notes`");
    thresholds(&mut page);
    section::<Registration>(&mut page, "registration");
    section::<Message>(&mut page, "message");
    section::<Transaction>(&mut page, "transaction");
    section::<Alarm>(&mut page, "alarm");
    section::<Amendment>(&mut page, "amendment");
    section::<Identity>(&mut page, "identity");
    section::<HeldAddress>(&mut page, "identity: an entry of `addresses`");
    section::<User>(&mut page, "user");
    section::<MethodCount>(&mut page, "user: an entry of `methods`");
    section::<Failure>(&mut page, "user: an entry of `failures`");
    page
}

fn section<R: Record>(page: &mut String, title: &str) {
    let _ = write!(
        page,
        "\n## {title}\n\n{}\n\n| field | type | unit | meaning |\n|---|---|---|---|\n",
        R::ABOUT
    );
    for field in R::FIELDS {
        let meaning = meaning(field).replace('|', "\\|");
        let _ =
            writeln!(page, "| `{}` | {} | {} | {meaning} |", field.name, kind(field), field.unit.symbol());
    }
}

fn thresholds(page: &mut String) {
    page.push_str("\nThe thresholds of the notes:\n\n| note | threshold | of |\n|---|---|---|\n");
    for Threshold { code, value, unit, measure } in THRESHOLDS {
        let _ = writeln!(page, "| `{}` | {value} {unit} | {measure} |", code.name());
    }
}

fn kind<R>(field: &Field<R>) -> String {
    let name = match field.kind {
        FieldType::Text => "text",
        FieldType::Name(_) => "name",
        FieldType::Id => "32 hex digits",
        FieldType::Endpoint => "address",
        FieldType::Integer => "integer",
        FieldType::Real => "number",
        FieldType::Texts => "list of texts",
        FieldType::Ids => "list of ids",
        FieldType::Parts(..) => "list of objects",
    };
    if field.optional { format!("{name} or null") } else { name.to_owned() }
}

fn meaning<R>(field: &Field<R>) -> String {
    let FieldType::Name(names) = field.kind else { return field.description.to_owned() };
    let of = |Name { name, description }: &Name| format!("`{name}`: {}", description.trim_end_matches('.'));
    let names: Vec<String> = names.iter().map(of).collect();
    format!("{} {}.", field.description, names.join("; "))
}

#[test]
fn the_manual_says_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manual/records.md");
    let page = manual();
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, page,
        "docs/manual/records.md is not what crates/model says: make it anew with RINGTAP_BLESS=1"
    );
}
