//! The default file and the page of the manual, both from the table of keys.

use std::fmt::Write as _;

use super::keys::{KEYS, SECTIONS};

/// Columns of the default file's comments.
const WIDTH: usize = 96;

/// A file with every key at its default, each with its meaning.
pub fn default_file() -> String {
    let mut text = String::from(
        "# Configuration of `ringtap run`. Every key stands here with its default; what is left out has it too.\n\
         # Check it with `ringtap run --check -c FILE`; a running ringtap reads it again on SIGHUP.\n",
    );
    for (section, meaning) in SECTIONS {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n# {meaning}\n[{section}]\n");
        for key in KEYS.iter().filter(|key| key.section == section) {
            for line in ringtap_report::text::wrap(key.meaning, WIDTH) {
                let _ = writeln!(text, "# {line}");
            }
            let _ = writeln!(text, "{} = {}", key.name, key.default);
        }
    }
    let _ = write!(text, "\n# {RULES}\n");
    for line in RULES_EXAMPLE.lines() {
        let _ = writeln!(text, "# {line}");
    }
    text
}

const RULES: &str = "Rules for what is kept of which call, in order: the first that matches says it.";
const RULES_EXAMPLE: &str = "\
[[keep]]
name = \"never\"
number = [\"@/etc/ringtap/never\"]
keep = \"nothing\"

[[keep]]
name = \"one of a hundred answered calls\"
answered = true
share = \"1%\"
keep = \"full\"
mask_dtmf = true

[[keep]]
keep = \"signalling\"
";

/// `docs/manual/configuration.md`.
#[cfg(test)]
fn manual() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         `ringtap run -c ringtap.toml` reads one file in [TOML](https://toml.io). What is left out has its default; a key or a value \
         that is wrong is named with its line and what would be right, and nothing starts. `ringtap run --print-default` prints a \
         file with everything in it, `ringtap run --check -c FILE` checks one.\n\n\
         On SIGHUP the file is read again. Keys marked *live* take effect at once; of the others that changed the log says that they \
         need a restart. A file that is wrong changes nothing.\n\n\
         Sizes are `\"64MiB\"`, `\"512KiB\"`, `\"1GiB\"` or a number of bytes; times are `\"250ms\"`, `\"10s\"`, `\"5m\"`, `\"4h\"`, `\"90d\"`.\n",
    );
    for (section, meaning) in SECTIONS {
        let _ = write!(
            page,
            "\n## [{section}]\n\n{meaning}\n\n| key | default | | meaning |\n|---|---|---|---|\n"
        );
        for key in KEYS.iter().filter(|key| key.section == section) {
            let live = if key.live { "live" } else { "" };
            let _ = writeln!(page, "| `{}` | `{}` | {live} | {} |", key.name, key.default, key.meaning);
        }
    }
    let _ = write!(
        page,
        "\n## [[keep]]\n\n{RULES} A call that none matches is not kept. A rule matches when all that it asks holds; what it \
         leaves out it does not ask. All of it is live: for new calls, and for those that are not decided yet; files of numbers \
         are read again. See [what is kept](spool.md#rules).\n\n```toml\n{RULES_EXAMPLE}```\n\n| key | default | meaning |\n|---|---|---|\n"
    );
    for key in &super::keys::RULE_KEYS {
        let _ = writeln!(page, "| `{}` | {} | {} |", key.name, key.default, key.meaning);
    }
    page
}

/// Holds a page of the manual to what is made from the code; `RINGTAP_BLESS=1` writes it anew.
#[cfg(test)]
pub(crate) fn held(name: &str, made: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "{name} is not what the code says: make it anew with RINGTAP_BLESS=1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_says_what_the_code_says() {
        held("docs/manual/configuration.md", &manual());
    }

    #[test]
    fn the_packaged_file_is_the_default_file() {
        held("packaging/ringtap.toml", &default_file());
    }
}
