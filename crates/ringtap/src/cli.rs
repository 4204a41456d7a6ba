//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    analyze::Analyze, anonymise::Anonymise, bench::Bench, call::CallArgs, calls::Calls, clock::Clock,
    compare::Compare, doctor::Doctor, export::Export, extract::Extract, forget::Forget, generate::Generate,
    hold::Hold, holds::Holds, keep::Keep, key::KeyArgs, live::Live, mos::Mos, pause::Pause, release::Release,
    resume::Resume, rules::Rules, run::Run, verify::Verify,
};
use crate::screen::Colour;

/// Monitors a telephone network from the wire: follows SIP calls and measures their RTP streams.
///
/// Start with `ringtap analyze FILE`: it lists every call with its worst stream. `ringtap call` then shows
/// one call message by message, and `ringtap extract` extracts it as a capture or as sound.
#[derive(Debug, Parser)]
#[command(name = "ringtap", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Colour: on a terminal unless NO_COLOR is set, always, or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) color: Colour,
    /// Command
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Analyze(Box<Analyze>),
    Call(CallArgs),
    Extract(Extract),
    Calls(Calls),
    Export(Box<Export>),
    Anonymise(Anonymise),
    Verify(Verify),
    Forget(Forget),
    Key(KeyArgs),
    Hold(Box<Hold>),
    Holds(Holds),
    Release(Release),
    Generate(Box<Generate>),
    Compare(Compare),
    Mos(Mos),
    Run(Run),
    Keep(Keep),
    Pause(Pause),
    Resume(Resume),
    Rules(Rules),
    Clock(Clock),
    Live(Live),
    Doctor(Doctor),
    Bench(Bench),
    /// Decodes sound with a codec library; started by `ringtap extract`
    #[command(name = crate::helper::COMMAND, hide = true)]
    DecodeHelper,
    #[command(name = ringtap_daemon::PROCESS_COMMAND, hide = true)]
    DaemonProcess,
}

const EXAMPLES: &str = "\
Examples:
  ringtap analyze trunk.pcap
  ringtap analyze --format jsonl monday-*.pcap.gz | jq 'select(.mos < 3.6)'
  ringtap call 4f2a19 trunk.pcap
  ringtap extract trunk.pcap --call 4f2a19 --pcap call.pcap --wav call.wav
  ringtap calls --store /var/lib/ringtap --number '+4202*' --since '2026-11-21 02:00'
  ringtap generate --out demo.pcap --truth demo.jsonl
  ringtap run -c /etc/ringtap/ringtap.toml
  ringtap verify /var/lib/ringtap/spool --key /etc/ringtap/sign.pub
  ringtap mos --codec G729 --loss 2 --delay-ms 150
  ringtap live -i ens1f0
  ringtap doctor -i ens1f0 --store /var/lib/ringtap

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but the input was damaged, 130 interrupted.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_of_every_command_are_consistent() {
        Cli::command().debug_assert();
    }
}
