//! The command line.

use clap::{CommandFactory, Parser, Subcommand};

use ringtap_report::time::Zone;

use crate::commands::{
    acknowledge::Acknowledge,
    alarms::Alarms,
    analyze::Analyze,
    anonymise::Anonymise,
    audit::Audit,
    availability::AvailabilityArgs,
    bench::Bench,
    call::CallArgs,
    calls::Calls,
    clock::Clock,
    compare::Compare,
    completions::Completions,
    console::ConsoleArgs,
    disclosure::DisclosureArgs,
    doctor::Doctor,
    export::Export,
    extract::Extract,
    forget::Forget,
    generate::Generate,
    hold::Hold,
    holds::Holds,
    hooks::Hooks,
    identity::IdentityArgs,
    keep::Keep,
    key::KeyArgs,
    kpis::Kpis,
    live::Live,
    man::ManArgs,
    mcp::Mcp,
    mos::Mos,
    open::Open,
    pause::Pause,
    records::{Messages, Registrations, Streams},
    release::Release,
    report::ReportArgs,
    resume::Resume,
    rules::Rules,
    run::Run,
    silence::SilenceArgs,
    status::Status,
    users::UserList,
    verify::Verify,
    warrant::WarrantArgs,
    why::Why,
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
    /// Time zone of times on a terminal: local, UTC, Europe/Berlin [default: local on a terminal, UTC
    /// otherwise; files are in UTC]
    #[arg(long, global = true, value_name = "ZONE", value_parser = Zone::named)]
    pub(crate) tz: Option<Zone>,
    /// Command
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Analyze(Box<Analyze>),
    Call(CallArgs),
    Open(Open),
    Report(Box<ReportArgs>),
    Extract(Extract),
    Calls(Calls),
    Streams(Streams),
    Registrations(Registrations),
    Messages(Messages),
    #[command(name = "users")]
    Users(Box<UserList>),
    #[command(name = "identity")]
    Identity(Box<IdentityArgs>),
    #[command(name = "availability")]
    Availability(Box<AvailabilityArgs>),
    Kpis(Box<Kpis>),
    Console(ConsoleArgs),
    Hooks(Hooks),
    Why(Box<Why>),
    Mcp(Box<Mcp>),
    Alarms(Box<Alarms>),
    Acknowledge(Acknowledge),
    Silence(SilenceArgs),
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
    Status(Status),
    Keep(Keep),
    Pause(Pause),
    Resume(Resume),
    Rules(Rules),
    Clock(Clock),
    Live(Live),
    Audit(Box<Audit>),
    Warrant(Box<WarrantArgs>),
    Disclosure(Box<DisclosureArgs>),
    Doctor(Doctor),
    Bench(Bench),
    Man(ManArgs),
    Completions(Completions),
    /// Decodes sound with a codec library; started by `ringtap extract`
    #[command(name = crate::helper::COMMAND, hide = true)]
    DecodeHelper,
    #[command(name = ringtap_daemon::PROCESS_COMMAND, hide = true)]
    DaemonProcess,
}

impl Command {
    /// Whether it shows times to people. Others write files, which are in UTC.
    pub(crate) fn shows_times(&self) -> bool {
        match self {
            Self::Call(call) => call.is_shown(),
            Self::Analyze(_)
            | Self::Calls(_)
            | Self::Streams(_)
            | Self::Registrations(_)
            | Self::Messages(_)
            | Self::Users(_)
            | Self::Identity(_)
            | Self::Availability(_)
            | Self::Kpis(_)
            | Self::Why(_)
            | Self::Mcp(_)
            | Self::Alarms(_)
            | Self::Console(_)
            | Self::Open(_)
            | Self::Audit(_)
            | Self::Warrant(_)
            | Self::Disclosure(_)
            | Self::Live(_)
            | Self::Status(_)
            | Self::Hold(_)
            | Self::Forget(_) => true,
            _ => false,
        }
    }
}

/// The command line as people see it, for manual pages and completions: without hidden commands.
pub(crate) fn visible() -> clap::Command {
    let mut whole = Cli::command();
    whole.build();
    clap::Command::new("ringtap")
        .version(env!("CARGO_PKG_VERSION"))
        .about(whole.get_about().cloned().unwrap_or_default())
        .long_about(whole.get_long_about().cloned().unwrap_or_default())
        .after_help(whole.get_after_help().cloned().unwrap_or_default())
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .args(whole.get_arguments().filter(|argument| GLOBAL.contains(&argument.get_long())).cloned())
        .subcommands(whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}

/// Options that every command has.
const GLOBAL: [Option<&str>; 2] = [Some("color"), Some("tz")];

const EXAMPLES: &str = "\
Examples:
  ringtap analyze trunk.pcap
  ringtap analyze --format jsonl monday-*.pcap.gz | jq 'select(.mos < 3.6)'
  ringtap call 4f2a19 trunk.pcap
  ringtap open trunk.pcap
  ringtap extract trunk.pcap --call 4f2a19 --pcap call.pcap --wav call.wav
  ringtap calls --number '*0138' --since '2026-11-21 02:00'
  ringtap generate --out demo.pcap --truth demo.jsonl
  ringtap run -c /etc/ringtap/ringtap.toml
  ringtap status
  ringtap verify /var/lib/ringtap/spool --key /etc/ringtap/sign.pub
  ringtap mos --codec G729 --loss 2 --delay-ms 150
  ringtap live -i ens1f0
  ringtap console setup
  ringtap doctor -i ens1f0 --store /var/lib/ringtap/records

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but the input was damaged, 130 interrupted.";

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;
    use crate::commands::man::pages;
    use crate::screen::tests::captured;

    #[test]
    fn the_arguments_of_every_command_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Words of a line of the manual; what stands between apostrophes is one, and `#` begins a comment.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" #").next().unwrap_or_default();
        let pieces = line.split('\'').enumerate();
        pieces
            .flat_map(|(at, piece)| match at % 2 {
                0 => piece.split_whitespace().map(str::to_owned).collect(),
                _ => vec![piece.to_owned()],
            })
            .collect()
    }

    #[test]
    fn the_manual_of_disclosure_has_every_command_of_it_as_it_is_given() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/disclosure.md");
        let page = std::fs::read_to_string(page).unwrap();
        let commands: Vec<Vec<String>> =
            page.lines().filter(|line| line.starts_with("    ringtap ")).map(words).collect();
        for command in &commands {
            assert!(Cli::try_parse_from(command).is_ok(), "{command:?}");
        }
        let whole = Cli::command();
        let disclosure = whole.find_subcommand("disclosure").unwrap();
        for command in disclosure.get_subcommands() {
            let is_it = |words: &Vec<String>| words[1..3] == ["disclosure", command.get_name()];
            assert!(commands.iter().any(is_it), "{} is missing", command.get_name());
        }
    }

    #[test]
    fn completions_know_every_command_but_hidden_ones() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let (mut screen, out, _) = captured(80);
            Completions { shell }.run(visible(), &mut screen).unwrap();
            let text = out.text();
            for command in visible().get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell} lacks {}", command.get_name());
            }
            assert!(text.contains("mos-below"), "{shell}");
            for hidden in [crate::helper::COMMAND, ringtap_daemon::PROCESS_COMMAND] {
                assert!(!text.contains(hidden), "{shell} offers {hidden}");
            }
        }
    }

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        let program = visible();
        let pages = pages(&program).unwrap();
        let commands = below(&program, "ringtap");
        assert_eq!(pages.len(), 1 + commands.len());
        for (name, command) in commands {
            let name = format!("{name}.1");
            let (_, page) = pages.iter().find(|(page, _)| *page == name).expect(&name);
            let page = String::from_utf8(page.clone()).unwrap();
            assert!(page.contains(&command.get_about().unwrap().to_string().replace('-', "\\-")), "{name}");
            for argument in command.get_arguments().filter_map(|argument| argument.get_long()) {
                let option = format!("\\-\\-{}", argument.replace('-', "\\-"));
                assert!(page.contains(&option), "{name} lacks {option}");
            }
            let examples =
                command.get_after_help().is_some_and(|help| help.to_string().starts_with("Examples"));
            assert_eq!(page.contains(".SH EXAMPLES\n.nf\n  ringtap "), examples, "{name}");
        }
        let (first, page) = &pages[0];
        assert_eq!(first, "ringtap.1");
        let page = String::from_utf8_lossy(page);
        assert!(
            !page.contains("-helper") && !page.contains("daemon\\-process"),
            "hidden commands are listed"
        );
        assert!(page.contains(".SH \"EXIT STATUS\"\n0 done, 1 failed"));
    }

    #[test]
    fn every_example_is_a_command_that_is_understood() {
        let mut tried = 0;
        let program = visible();
        let all = below(&program, "ringtap").into_iter().map(|(_, command)| command);
        for command in std::iter::once(&program).chain(all) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.replace("\\\n", " ").lines().filter(|line| line.starts_with("  ")) {
                // A last word `ringtap` is a name, as in `systemctl reload ringtap`.
                for words in commands(line).iter().filter_map(|words| {
                    let at = words.iter().position(|word| word == "ringtap")?;
                    (at + 1 < words.len()).then(|| &words[at..])
                }) {
                    tried += 1;
                    if let Err(error) = Cli::try_parse_from(words) {
                        panic!("{}: `{line}`: {error}", command.get_name());
                    }
                }
            }
        }
        assert!(tried > 60, "{tried} examples");
    }

    /// The commands of a command, with theirs, by the names of their pages.
    fn below<'a>(command: &'a clap::Command, name: &str) -> Vec<(String, &'a clap::Command)> {
        let named =
            command.get_subcommands().map(|command| (format!("{name}-{}", command.get_name()), command));
        named
            .flat_map(|(name, command)| [vec![(name.clone(), command)], below(command, &name)].concat())
            .collect()
    }

    /// The commands of a line of shell, in words: as far as the examples need it.
    fn commands(line: &str) -> Vec<Vec<String>> {
        let mut commands = vec![vec![]];
        let (mut word, mut quote) = (String::new(), None);
        for letter in line.chars().chain([' ']) {
            match (quote, letter) {
                (Some(mark), _) if letter == mark => quote = None,
                (None, '\'' | '"') => quote = Some(letter),
                (None, '#') => break,
                (None, ' ' | '|' | '&' | ';' | '>') => {
                    if !word.is_empty() {
                        commands.last_mut().unwrap().push(std::mem::take(&mut word));
                    }
                    if letter != ' ' {
                        commands.push(vec![]);
                    }
                }
                _ => word.push(letter),
            }
        }
        assert_eq!(quote, None, "an open quote in `{line}`");
        commands
    }
}
