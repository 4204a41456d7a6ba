//! A machine judged: what a good operator would look at before a capture, and say.
//!
//! Not here: looking. `ringtap_capture::host` describes the machine, and nothing is changed by either.
//!
//! The one invariant: a finding is a function of a [`Host`] and nothing else, so that every judgement has a
//! test without such a machine.
//!
//! | module | holds |
//! |---|---|
//! | `machine` | processors, memory, clock, kernel settings, rights |
//! | `interface` | link, rings, queues, offloads, losses |
//! | `place` | the directory of the store |
//! | [`show`] | findings as text and as JSON lines |
#![forbid(unsafe_code)]

mod interface;
mod machine;
mod place;
pub mod show;

use ringtap_capture::host::Host;
use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// To be known; whether it matters depends on the use.
    Note,
    /// Costs quality or rate.
    Warn,
    /// Loses packets or records, or makes figures wrong.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// `machine`, the name of an interface, or `store`.
    pub area: String,
    /// What was looked at, in a word or two.
    pub topic: &'static str,
    /// What is.
    pub is: String,
    /// Why it matters, one sentence; none where all is well.
    pub why: Option<&'static str>,
    /// Commands that would mend it, for a root shell; never run.
    pub mend: Vec<String>,
}

/// Everything there is to say about `host`: the machine, each interface, the store.
pub fn judge(host: &Host) -> Vec<Finding> {
    let mut report = Report { area: "machine".to_string(), findings: Vec::new() };
    machine::judge(&host.machine, &mut report);
    for interface in &host.interfaces {
        report.area.clone_from(&interface.name);
        interface::judge(interface, &host.machine, &mut report);
    }
    if let Some(place) = &host.directory {
        report.area = "store".to_string();
        place::judge(place, &mut report);
    }
    report.findings
}

/// Findings as they come, of one area at a time.
struct Report {
    area: String,
    findings: Vec<Finding>,
}

impl Report {
    fn add(
        &mut self,
        level: Level,
        topic: &'static str,
        is: impl Into<String>,
        why: Option<&'static str>,
    ) -> &mut Finding {
        let area = self.area.clone();
        let at = self.findings.len();
        self.findings.push(Finding { level, area, topic, is: is.into(), why, mend: Vec::new() });
        &mut self.findings[at]
    }

    fn good(&mut self, topic: &'static str, is: impl Into<String>) {
        self.add(Level::Good, topic, is, None);
    }

    fn note(&mut self, topic: &'static str, is: impl Into<String>, why: &'static str) -> &mut Finding {
        self.add(Level::Note, topic, is, Some(why))
    }

    fn warn(&mut self, topic: &'static str, is: impl Into<String>, why: &'static str) -> &mut Finding {
        self.add(Level::Warn, topic, is, Some(why))
    }

    fn bad(&mut self, topic: &'static str, is: impl Into<String>, why: &'static str) -> &mut Finding {
        self.add(Level::Bad, topic, is, Some(why))
    }
}

impl Finding {
    fn mend(&mut self, command: impl Into<String>) -> &mut Self {
        self.mend.push(command.into());
        self
    }
}

/// CPUs or other numbers as the kernel writes them: `0-3,8`.
fn list(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let range = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A word for a shell: an interface or a directory may have any name.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./@:+%,".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `512 KiB`, `1.5 GiB`.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit == 0 || value >= 100.0 || value.fract() < 0.05 {
        true => format!("{value:.0} {}", UNITS[unit]),
        false => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// A part of a whole in percent, small parts told as such.
fn share(part: u64, whole: u64) -> String {
    ringtap_report::calls::percent(Some(part as f64 * 100.0 / whole.max(1) as f64))
}

#[cfg(test)]
mod hosts;

#[cfg(test)]
mod tests {
    use ringtap_cases::samples::{golden, manual};

    use super::*;

    fn shown(host: &Host) -> String {
        let mut out = Vec::new();
        show::write(&mut out, &judge(host), 100, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn at_least(host: &Host, level: Level) -> Vec<(&'static str, Level)> {
        let findings = judge(host).into_iter().filter(|finding| finding.level >= level);
        findings.map(|finding| (finding.topic, finding.level)).collect()
    }

    #[test]
    fn a_good_server_has_nothing_to_mend() {
        assert_eq!(at_least(&hosts::good_server(), Level::Warn), []);
        golden("doctor-good.txt", &shown(&hosts::good_server()));
    }

    #[test]
    fn a_bad_server_is_told_all_of_it() {
        let text = shown(&hosts::bad_server());
        golden("doctor-bad.txt", &text);
        manual("doctor.md", "bad", &text);
        let bad: Vec<_> =
            at_least(&hosts::bad_server(), Level::Bad).into_iter().map(|(topic, _)| topic).collect();
        assert_eq!(
            bad,
            [
                "rights",
                "clock source",
                "kernel backlog",
                "LRO",
                "UDP GRO",
                "losses",
                "file system",
                "free space"
            ]
        );
    }

    #[test]
    fn every_complaint_has_a_reason_and_no_praise_has_a_command() {
        for host in
            [hosts::good_server(), hosts::bad_server(), hosts::guest(), hosts::laptop(), hosts::container()]
        {
            for finding in judge(&host) {
                assert_eq!(finding.why.is_none(), finding.level == Level::Good, "{finding:?}");
                assert!(finding.level > Level::Good || finding.mend.is_empty(), "{finding:?}");
                assert!(
                    !finding.is.is_empty() && finding.mend.iter().all(|command| !command.contains('\n')),
                    "{finding:?}"
                );
            }
        }
    }

    #[test]
    fn a_guest_is_not_asked_for_what_its_host_has() {
        let text = shown(&hosts::guest());
        golden("doctor-guest.txt", &text);
        assert!(!text.contains("CPU governor") && !text.contains("pause frames"), "{text}");
    }

    #[test]
    fn a_laptop_may_stay_as_it_is_for_a_look_at_a_call() {
        assert_eq!(at_least(&hosts::laptop(), Level::Bad), []);
        golden("doctor-laptop.txt", &shown(&hosts::laptop()));
    }

    #[test]
    fn a_container_and_the_loopback_have_no_card() {
        let text = shown(&hosts::container());
        golden("doctor-container.txt", &text);
        for topic in ["ring ", "interrupts", "queues", "memory node"] {
            assert!(!text.contains(&format!("  {topic}")), "{topic}\n{text}");
        }
    }

    #[test]
    fn nothing_known_is_nothing_said() {
        assert_eq!(at_least(&Host::default(), Level::Note), []);
    }

    #[test]
    fn a_link_that_is_down_or_dark_is_bad() {
        let with = |change: fn(&mut ringtap_capture::host::Interface)| {
            let mut host = hosts::good_server();
            change(&mut host.interfaces[0]);
            at_least(&host, Level::Warn)
        };
        assert_eq!(with(|card| card.up = false), [("link", Level::Bad)]);
        assert_eq!(with(|card| card.carrier = Some(false)), [("link", Level::Bad)]);
        assert_eq!(with(|card| card.full_duplex = Some(false)), [("link", Level::Bad)]);
    }

    #[test]
    fn names_of_interfaces_cannot_become_commands() {
        let mut host = hosts::bad_server();
        host.interfaces[0].name = "a;reboot".into();
        let commands: Vec<String> = judge(&host).into_iter().flat_map(|finding| finding.mend).collect();
        let named: Vec<_> = commands
            .iter()
            .filter(|command| command.contains("reboot") && !command.contains("then reboot"))
            .collect();
        assert!(named.len() > 5 && named.iter().all(|command| command.contains("'a;reboot'")), "{named:?}");
    }

    #[test]
    fn findings_are_json_too() {
        let mut out = Vec::new();
        show::write_json(&mut out, &judge(&hosts::bad_server())).unwrap();
        let lines: Vec<serde_json::Value> = out
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let lro = lines.iter().find(|line| line["topic"] == "LRO").unwrap();
        assert_eq!(
            (&lro["level"], &lro["area"], &lro["mend"][0]),
            (&"bad".into(), &"ens1f0".into(), &"ethtool -K ens1f0 lro off".into())
        );
    }

    #[test]
    fn words_for_people_and_shells() {
        assert_eq!(list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(list(&[]), "");
        assert_eq!(quoted("eth0.100"), "eth0.100");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
        assert_eq!(quoted("-rf"), "'-rf'");
        assert_eq!(
            (bytes(512), bytes(1536), bytes(8 << 20)),
            ("512 bytes".into(), "1.5 KiB".into(), "8 MiB".into())
        );
    }
}
