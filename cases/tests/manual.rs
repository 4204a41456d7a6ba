//! `docs/manual/records.md` is made from the comments in `crates/model`: `RINGTAP_BLESS=1 cargo test -p ringtap-cases
//! --test manual` writes it anew, and without that it is compared.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Source file, structure, title.
const RECORDS: [(&str, &str, &str); 6] = [
    ("call", "Call", "call"),
    ("call", "Dtmf", "call: an entry of `dtmf`"),
    ("stream", "Stream", "stream"),
    ("stream", "Interval", "stream: an entry of `intervals`"),
    ("registration", "Registration", "registration"),
    ("message", "Message", "message"),
];

const HEAD: &str = "# Records

`ringtap analyze --format jsonl` prints one JSON object a line with these names; the database and `ringtap calls` use the
same. Fields may be added, none changes its meaning. What is not known is `null`, never 0 or an empty text. Times end in
`_us`: microseconds since 1970-01-01 UTC, from the capture. Spans end in `_ms`. Addresses are `ip:port`, `[v6]:port`.
";

/// A field as it is serialised, with its comment.
fn fields(source: &str, structure: &str) -> Vec<(String, String)> {
    let start = source.find(&format!("pub struct {structure} {{")).expect("the structure is in its file");
    let body = &source[start..];
    let body = &body[..body.find("\n}").expect("a structure ends")];
    let (mut comment, mut renamed, mut found) = (String::new(), None, Vec::new());
    for line in body.lines().skip(1).map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if let Some(at) = line.find("rename = \"") {
            renamed = line[at + 10..].split('"').next().map(str::to_owned);
        } else if let Some(field) = line.strip_prefix("pub ").and_then(|line| line.split(':').next()) {
            let name = renamed.take().unwrap_or_else(|| field.to_owned());
            found.push((name, std::mem::take(&mut comment).trim().to_owned()));
        }
    }
    found
}

fn manual() -> String {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/model/src");
    let mut page = HEAD.to_owned();
    for (file, structure, title) in RECORDS {
        let source = fs::read_to_string(model.join(file).with_extension("rs")).expect("a file of the model");
        let _ = write!(page, "\n## {title}\n\n| field | meaning |\n|---|---|\n");
        for (name, comment) in fields(&source, structure) {
            assert!(!comment.is_empty(), "{structure}.{name} has no comment");
            let _ = writeln!(page, "| `{name}` | {} |", comment.replace('|', "\\|"));
        }
    }
    page
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
