//! What a command that rates voice assumes of receivers.

use clap::Args;
use ringtap_quality::{Receiver, Receivers};

/// The options of commands that rate voice.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Rating of voice")]
pub(crate) struct Assumed {
    /// Rate G.711, G.722 and L16 as if receivers did not conceal lost packets; `=` and a list restricts it to
    /// receivers at these addresses, or with these User-Agents: --no-plc=192.0.2.0/24,ua:Foo*
    #[arg(
        long,
        value_name = "RECEIVER",
        num_args = 0..,
        require_equals = true,
        value_delimiter = ',',
        value_parser = receiver
    )]
    no_plc: Option<Vec<Receiver>>,
}

impl Assumed {
    /// Which receivers conceal loss.
    pub(crate) fn receivers(&self) -> Receivers {
        let exceptions = self.no_plc.clone().unwrap_or_default();
        Receivers { conceal: self.no_plc.is_none() || !exceptions.is_empty(), exceptions }
    }

    /// Whether single receivers are named.
    pub(crate) fn names_receivers(&self) -> bool {
        self.no_plc.as_ref().is_some_and(|exceptions| !exceptions.is_empty())
    }
}

fn receiver(text: &str) -> Result<Receiver, String> {
    text.parse().map_err(|right| format!("it must be {right}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        assumed: Assumed,
        file: String,
    }

    fn receivers(arguments: &[&str]) -> Result<Receivers, String> {
        let line = Line::try_parse_from(["x"].iter().chain(arguments)).map_err(|error| error.to_string())?;
        assert_eq!(line.file, "a.pcap");
        Ok(line.assumed.receivers())
    }

    #[test]
    fn all_receivers_or_those_of_a_list() {
        assert_eq!(receivers(&["a.pcap"]), Ok(Receivers::default()));
        let none = Receivers { conceal: false, exceptions: Vec::new() };
        assert_eq!(receivers(&["--no-plc", "a.pcap"]), Ok(none));
        let some = receivers(&["--no-plc=192.0.2.0/24,ua:Foo*", "a.pcap"]).unwrap();
        assert!(some.conceal && some.exceptions.len() == 2);
        let wrong = receivers(&["--no-plc=Foo", "a.pcap"]).unwrap_err();
        assert!(wrong.contains("ua:Foo*"), "{wrong}");
    }
}
