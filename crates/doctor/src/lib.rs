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
//! | `report` | [`Finding`], and the report that collects them |
//! | `text` | values as text |
//! | [`show`] | findings as text and as JSON lines |
#![forbid(unsafe_code)]

mod interface;
mod machine;
mod place;
mod report;
pub mod show;
mod text;

use ringtap_capture::host::Host;

use report::Report;
pub use report::{Finding, Level};

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
}
