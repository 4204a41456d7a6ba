//! Judges a machine as an experienced operator would before a capture.
//!
//! This crate does not inspect: `ringtap_capture::host` describes the machine. Neither changes anything.
//!
//! The one invariant: a finding depends on a [`Host`] and nothing else, so every judgement can be tested
//! without such a machine.
//!
//! | module | holds |
//! |---|---|
//! | `machine` | processors, memory, clock, kernel settings, capabilities of the process |
//! | `interface` | link, rings, queues, offloads, losses |
//! | `directory` | the directory that records are written to |
//! | `report` | [`Finding`], and the report that collects them |
//! | `text` | numbers, sizes and shell words as text |
//! | [`show`] | findings as text and as JSON lines |
#![forbid(unsafe_code)]

mod directory;
mod interface;
mod machine;
mod report;
pub mod show;
mod text;

use ringtap_capture::host::Host;

use report::Report;
pub use report::{Finding, Level};

/// All findings about `host`: the machine, each interface, the directory of the records.
pub fn judge(host: &Host) -> Vec<Finding> {
    let mut report = Report { area: "machine".to_string(), findings: Vec::new() };
    machine::judge(&host.machine, &mut report);
    for interface in &host.interfaces {
        report.area.clone_from(&interface.name);
        interface::judge(interface, &host.machine, &mut report);
    }
    if let Some(directory) = &host.directory {
        report.area = "store".to_string();
        directory::judge(directory, &mut report);
    }
    report.findings
}

#[cfg(test)]
mod hosts;

#[cfg(test)]
mod tests {
    use ringtap_testing::samples::{golden, manual};

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
    fn a_good_server_needs_no_change() {
        assert_eq!(at_least(&hosts::good_server(), Level::Warn), []);
        golden("doctor-good.txt", &shown(&hosts::good_server()));
    }

    #[test]
    fn a_bad_server_is_told_everything_that_is_wrong() {
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
    fn every_finding_but_a_good_one_has_a_reason_and_a_good_one_has_no_command() {
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
    fn a_virtual_machine_is_not_judged_by_what_only_its_host_has() {
        let text = shown(&hosts::guest());
        golden("doctor-guest.txt", &text);
        assert!(!text.contains("CPU governor") && !text.contains("pause frames"), "{text}");
    }

    #[test]
    fn a_laptop_has_nothing_bad() {
        assert_eq!(at_least(&hosts::laptop(), Level::Bad), []);
        golden("doctor-laptop.txt", &shown(&hosts::laptop()));
    }

    #[test]
    fn a_container_and_the_loopback_are_not_judged_as_cards() {
        let text = shown(&hosts::container());
        golden("doctor-container.txt", &text);
        for topic in ["ring ", "interrupts", "queues", "NUMA node"] {
            assert!(!text.contains(&format!("  {topic}")), "{topic}\n{text}");
        }
    }

    #[test]
    fn an_unknown_machine_gets_no_complaint() {
        assert_eq!(at_least(&Host::default(), Level::Note), []);
    }

    #[test]
    fn a_link_that_is_down_or_without_carrier_is_bad() {
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
    fn interface_names_are_quoted_in_commands() {
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
    fn findings_are_printed_as_json() {
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
}
