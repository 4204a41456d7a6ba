//! The default file and the manual's page, both generated from the table of keys.

use std::fmt::Write as _;

use super::Config;

/// Width of the default file's comments.
const WIDTH: usize = 96;

/// A file with every key at its default, and its description.
pub fn default_file() -> String {
    let mut text = String::from(
        "# Configuration of `ringtap run`, with every key at its default. A key that is left out has its \
         default.\n\
         # Check it with `ringtap run --check -c FILE`; a running ringtap reads it again on SIGHUP.\n",
    );
    for section in Config::SECTIONS {
        text.push('\n');
        remark(&mut text, section.about);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "[{}]", section.name);
        for key in section.keys {
            remark(&mut text, key.description);
            let _ = writeln!(text, "{} = {}", key.name, (key.default)());
        }
    }
    let _ = write!(text, "\n# {RULES}\n");
    for line in RULES_EXAMPLE.lines() {
        let _ = writeln!(text, "# {line}");
    }
    let _ = write!(text, "\n# {TRUNKS}\n");
    for line in TRUNKS_EXAMPLE.lines() {
        let _ = writeln!(text, "# {line}");
    }
    for (words, example) in [(ALARMS, ALARMS_EXAMPLE), (TARGETS, TARGETS_EXAMPLE), (HOOKS, HOOKS_EXAMPLE)] {
        let _ = write!(text, "\n# {words}\n");
        for line in example.lines() {
            let _ = writeln!(text, "# {line}");
        }
    }
    text
}

fn remark(text: &mut String, words: &str) {
    for line in ringtap_report::text::wrap(words, WIDTH) {
        let _ = writeln!(text, "# {line}");
    }
}

const RULES: &str =
    "Rules that decide what is recorded of each call, in order: the first that matches decides.";
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

const TRUNKS: &str =
    "Trunks: groups of addresses with a name, for KPIs and searches. An address that is in none is its own.";
const TRUNKS_EXAMPLE: &str = "\
[[trunk]]
name = \"carrier-a\"
addresses = [\"198.51.100.0/24\", \"2001:db8::/32\"]
";

const ALARMS: &str = "What raises an alarm: a figure that is too high or too low, or a ready-made pattern.";
const ALARMS_EXAMPLE: &str = "\
[[alarm]]
name = \"few answers\"
severity = \"critical\"
figure = \"asr\"
per = \"trunk\"
over = \"10m\"
minimum = 50
below = 30
clear = 40
notify = [\"noc\"]

[[alarm]]
name = \"no calls from carrier-a\"
figure = \"begun\"
per = \"trunk_in\"
only = [\"carrier-a\"]
over = \"5m\"
below = 1
hours = \"Mon-Fri 08:00-20:00\"
";

const TARGETS: &str = "Who is told of alarms.";
const TARGETS_EXAMPLE: &str = "\
[[notify]]
name = \"noc\"
kind = \"smtp\"
server = \"mail.example.org\"
user = \"ringtap\"
password_file = \"/etc/ringtap-keys/mail\"
from = \"ringtap@example.org\"
to = [\"noc@example.org\"]

[[notify]]
name = \"alertmanager\"
kind = \"alertmanager\"
url = \"http://127.0.0.1:9093\"
";

const HOOKS: &str = "Who is given calls that have ended, by `ringtap hooks`.";
const HOOKS_EXAMPLE: &str = "\
[[hook]]
name = \"transcription\"
when = \"recorded\"
query = \"trunk:carrier-a dur>10\"
command = [\"/usr/local/bin/transcribe\", \"--language\", \"de\"]
sound = \"path\"
timeout = \"10m\"

[[hook]]
name = \"tickets\"
query = \"state:failed\"
url = \"https://tickets.example.org/ringtap\"
header_file = \"/etc/ringtap-keys/tickets\"
mask = true
";

/// `docs/manual/configuration.md`.
#[cfg(test)]
fn manual() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         `ringtap run -c ringtap.toml` reads one file in [TOML](https://toml.io). A key that is left out \
         has its default. If a key or value is wrong, ringtap reports its line and how to correct it, \
         and does not start; it names all mistakes at once. `ringtap run --print-default` prints a file with \
         every key, `ringtap run --check -c FILE` checks a file and what it names on this machine.\n\n\
         On SIGHUP, ringtap reads the file again. Keys marked *live* take effect at once; the log lists \
         other changed keys, which need a restart. A wrong file changes nothing.\n\n\
         Sizes are `\"64MiB\"`, `\"512KiB\"`, `\"1GiB\"` or a number of bytes; times are \
         `\"250ms\"`, `\"10s\"`, `\"5m\"`, `\"4h\"`, `\"90d\"`.\n",
    );
    for section in Config::SECTIONS {
        let _ = write!(page, "\n## [{}]\n\n{}\n\n", section.name, section.about);
        page.push_str("| key | default | range | | meaning |\n|---|---|---|---|---|\n");
        for key in section.keys {
            let live = if key.live { "live" } else { "" };
            let (default, range) = ((key.default)(), key.range());
            let _ =
                writeln!(page, "| `{}` | `{default}` | {range} | {live} | {} |", key.name, key.description);
        }
    }
    let _ = write!(
        page,
        "\n## [[keep]]\n\n{RULES} A call that no rule matches is not recorded. A rule \
         matches when all of its conditions hold; a key that is left out is no condition. All keys are \
         live, for new calls and for those whose decision is pending; files of numbers are read again. \
         See [rules](spool.md#rules).\n\n```toml\n{RULES_EXAMPLE}```\n\n\
         | key | default | meaning |\n|---|---|---|\n"
    );
    for key in <super::KeepRule as super::key::Keys>::SECTION.keys {
        let _ = writeln!(page, "| `{}` | {} | {} |", key.name, (key.default)(), key.description);
    }
    let _ = write!(
        page,
        "\n## [[trunk]]\n\n{TRUNKS} See [KPIs](kpis.md).\n\n```toml\n{TRUNKS_EXAMPLE}```\n\n\
         | key | default | meaning |\n|---|---|---|\n"
    );
    for key in <super::TrunkGroup as super::key::Keys>::SECTION.keys {
        let _ = writeln!(page, "| `{}` | {} | {} |", key.name, (key.default)(), key.description);
    }
    for (name, words, example, other, keys) in [
        ("alarm", ALARMS, ALARMS_EXAMPLE, "alarms", <super::AlarmRule as super::key::Keys>::SECTION.keys),
        (
            "notify",
            TARGETS,
            TARGETS_EXAMPLE,
            "alarms",
            <super::NotifyTarget as super::key::Keys>::SECTION.keys,
        ),
        ("hook", HOOKS, HOOKS_EXAMPLE, "hooks", <super::HookEntry as super::key::Keys>::SECTION.keys),
    ] {
        let _ = write!(
            page,
            "\n## [[{name}]]\n\n{words} See [{other}]({other}.md).\n\n```toml\n{example}```\n\n\
             | key | default | meaning |\n|---|---|---|\n"
        );
        for key in keys {
            let _ = writeln!(page, "| `{}` | {} | {} |", key.name, (key.default)(), key.description);
        }
    }
    profiles(&mut page);
    page
}

/// What each profile sets.
#[cfg(test)]
fn profiles(page: &mut String) {
    page.push_str(
        "\n## Profiles\n\n`[process] profile`, or `ringtap run --profile`, sets other defaults; a key that \
         the file has keeps its value. See [memory](memory.md). `default` sets none; these are set by \
         `small`:\n\n```toml\n",
    );
    page.push_str(super::Profile::Small.text().trim_start());
    page.push_str("```\n");
}

/// Checks that a file is what the code generates; `RINGTAP_BLESS=1` writes it instead.
#[cfg(test)]
pub(crate) fn held(name: &str, made: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, made,
        "{name} differs from what the code generates: write it again with RINGTAP_BLESS=1"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_says_what_the_code_says() {
        held("docs/manual/configuration.md", &manual());
    }

    #[test]
    fn the_examples_are_right() {
        let text = format!(
            "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"/x\"\n{TRUNKS_EXAMPLE}\
             {ALARMS_EXAMPLE}{TARGETS_EXAMPLE}{HOOKS_EXAMPLE}"
        );
        let config = Config::parse(&text).unwrap();
        let alarms = config.alarms();
        assert_eq!((alarms.settings.rules.len(), alarms.targets.len(), config.hooks().len()), (2, 2, 2));
    }

    #[test]
    fn the_packaged_file_is_the_default_file() {
        held("packaging/ringtap.toml", &default_file());
    }
}
