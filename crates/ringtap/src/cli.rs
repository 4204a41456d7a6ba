//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{analyze::Analyze, call::CallArgs, mos::Mos};
use crate::screen::Colour;

/// Watches a telephone network from the wire: follows SIP calls and measures their RTP streams.
///
/// Begin with `ringtap analyze FILE`: it lists every call with its worst stream. `ringtap call` then shows one of them
/// message by message.
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
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Analyze(Analyze),
    Call(CallArgs),
    Mos(Mos),
}

const EXAMPLES: &str = "\
Examples:
  ringtap analyze trunk.pcap
  ringtap analyze --format jsonl monday-*.pcap.gz | jq 'select(.mos < 3.6)'
  ringtap call 4f2a19 trunk.pcap
  ringtap mos --codec G729 --loss 2 --delay-ms 150

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but the input was damaged, 130 interrupted.";
