//! `ringtap console people`: who may use the console, and for what.

use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use ringtap_access::{NewPerson, People, Person, Role, Scope, What};
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::counted;
use ringtap_report::time;

use super::secrets::{PRINTING, PasswordArgs, on_terminal};
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::people_args::{OpenConsole, PeopleArgs};
use crate::screen::Screen;

/// Add, list and change the people of the console
///
/// What is changed holds at once, also for those who are logged in, and is recorded in the audit log. People
/// are disabled, not deleted: the audit log names them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PeopleCommand {
    #[command(subcommand)]
    command: PeopleAction,
    #[command(flatten)]
    people: PeopleArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap console people add ana --role engineer
  ringtap console people add tenant7 --role viewer --trunk 'sip-tenant7*' --number '+4930555*'
  ringtap console people list
  ringtap console people change ana --role officer
  ringtap console people disable ana
  ringtap console people password ana
  ringtap console people totp ana --remove";

#[derive(Debug, Subcommand)]
enum PeopleAction {
    /// Add somebody
    Add {
        /// Name, with which the person logs in
        #[arg(value_name = "NAME")]
        name: String,
        /// viewer, engineer, quality, auditor, officer or administrator: what each may do is in the manual
        #[arg(long, value_name = "ROLE")]
        role: Role,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// List everybody
    List {
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: LineFormat,
    },
    /// Give somebody another role, or other calls
    Change {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        /// viewer, engineer, quality, auditor, officer or administrator
        #[arg(long, value_name = "ROLE")]
        role: Option<Role>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Calls of all trunks and numbers
        #[arg(long, conflicts_with_all = ["trunk", "number"])]
        everything: bool,
    },
    /// Let somebody not log in any more, end the sessions and refuse the tokens of that person
    Disable {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let somebody log in again
    Enable {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Give somebody another password, which has to be changed at the next login; all sessions end, and
    /// passkeys are removed
    Password {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Have somebody give a code of an authenticator app at each login (TOTP)
    Totp {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        /// Ask for no code any more, for example because the phone was lost
        #[arg(long)]
        remove: bool,
    },
}

/// Which calls somebody may see.
#[derive(Args, Clone, Debug)]
struct ScopeArgs {
    /// Only calls of these trunks; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    trunk: Vec<String>,
    /// Only calls of these numbers, of which one party has one; `*` stands for any digits; may be repeated
    #[arg(long, value_name = "PATTERN")]
    number: Vec<String>,
}

impl ScopeArgs {
    fn is_given(&self) -> bool {
        !self.trunk.is_empty() || !self.number.is_empty()
    }

    fn scope(&self) -> anyhow::Result<Scope> {
        Ok(Scope::parse(&self.trunk, &self.number)?)
    }

    /// For the audit log.
    fn told(&self, what: What) -> What {
        let mut what = what.text(if self.is_given() { ", limited to" } else { ", not limited" });
        for trunk in &self.trunk {
            what = what.text(format!(" trunk {trunk}"));
        }
        for number in &self.number {
            what = what.text(" number ").number(number);
        }
        what
    }
}

impl PeopleCommand {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let people = &self.people;
        match self.command {
            PeopleAction::Add { name, role, scope, password } => {
                add(people, &name, role, &scope, &password, screen)?
            }
            PeopleAction::List { format } => list(&people.open()?.people.list()?, format, screen)?,
            PeopleAction::Change { name, role, scope, everything } => {
                change(people, &name, role, &scope, everything, screen)?;
            }
            PeopleAction::Disable { name } => set_disabled(people, &name, true, screen)?,
            PeopleAction::Enable { name } => set_disabled(people, &name, false, screen)?,
            PeopleAction::Password { name, password } => set_password(people, &name, &password, screen)?,
            PeopleAction::Totp { name, remove: true } => remove_totp(people, &name, screen)?,
            PeopleAction::Totp { name, remove: false } => set_totp(people, &name, screen)?,
        }
        Ok(Exit::Done)
    }
}

fn add(
    people: &PeopleArgs,
    name: &str,
    role: Role,
    scope: &ScopeArgs,
    password: &PasswordArgs,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let (chosen, calls) = (password.password(screen)?, scope.scope()?);
    let console = people.open()?;
    People::check_password(name, &chosen.text)?;
    let what = scope.told(What::from(format!("add {name} as {role}")));
    let new = NewPerson { name, role, scope: calls, password: &chosen.text, must_change: true };
    let person = console.change(what, |people| people.add(&new, time::now()))?;
    chosen.show(&person.name, screen)?;
    screen.remark(format!("{} can log in to the console as {role}", person.name));
    Ok(())
}

/// The person, for commands that change one.
fn known(console: &OpenConsole, name: &str) -> anyhow::Result<Person> {
    let nobody = || ringtap_access::Error::Nobody { name: name.to_owned() };
    Ok(console.people.find(name)?.ok_or_else(nobody)?)
}

fn change(
    people: &PeopleArgs,
    name: &str,
    role: Option<Role>,
    scope: &ScopeArgs,
    everything: bool,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let calls = (scope.is_given() || everything).then(|| scope.scope()).transpose()?;
    if role.is_none() && calls.is_none() {
        bail!("nothing to change: add `--role`, `--trunk`, `--number` or `--everything`");
    }
    let console = people.open()?;
    let person = known(&console, name)?;
    if let Some(role) = role {
        let what = What::from(format!("make {} {role}", person.name));
        console.change(what, |people| people.set_role(&person.name, role))?;
        screen.remark(format!("{} is {role}", person.name));
    }
    if let Some(calls) = calls {
        let what = scope.told(What::from(format!("calls of {}", person.name)));
        console.change(what, |people| people.set_scope(&person.name, &calls))?;
        screen.remark(format!("{} sees: {}", person.name, sees(&calls)));
    }
    Ok(())
}

fn set_disabled(people: &PeopleArgs, name: &str, disabled: bool, screen: &mut Screen) -> anyhow::Result<()> {
    let console = people.open()?;
    let Person { name, .. } = known(&console, name)?;
    let verb = if disabled { "disable" } else { "enable" };
    console.change(format!("{verb} {name}").into(), |people| people.set_disabled(&name, disabled))?;
    screen.remark(match disabled {
        true => format!("{name} cannot log in any more, and all sessions of {name} have ended"),
        false => format!("{name} can log in again"),
    });
    Ok(())
}

fn set_password(
    people: &PeopleArgs,
    name: &str,
    password: &PasswordArgs,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let chosen = password.password(screen)?;
    let console = people.open()?;
    let Person { name, .. } = known(&console, name)?;
    People::check_password(&name, &chosen.text)?;
    let what = What::from(format!("another password for {name}"));
    console.change(what, |people| people.set_password(&name, &chosen.text, true))?;
    chosen.show(&name, screen)?;
    screen.remark(format!(
        "{name} has another password; all sessions of {name} have ended, passkeys are removed"
    ));
    Ok(())
}

fn remove_totp(people: &PeopleArgs, name: &str, screen: &mut Screen) -> anyhow::Result<()> {
    let console = people.open()?;
    let Person { name, .. } = known(&console, name)?;
    console.change(format!("no codes for {name}").into(), |people| people.remove_totp(&name))?;
    screen.remark(format!("{name} logs in without a code"));
    Ok(())
}

fn set_totp(people: &PeopleArgs, name: &str, screen: &mut Screen) -> anyhow::Result<()> {
    on_terminal(screen, "the secret of the authenticator app")?;
    let console = people.open()?;
    let Person { name, .. } = known(&console, name)?;
    let secret = console
        .change(format!("new secret of codes for {name}").into(), |people| people.begin_totp(&name))?;
    let mut shown = || -> io::Result<()> {
        writeln!(screen.out, "Type this secret into the authenticator app: {}", *secret.secret)?;
        writeln!(screen.out, "or have the app read a QR code of this line: {}", *secret.uri)?;
        if screen.colour {
            write!(screen.out, "{}", *secret.qr_lines())?;
        }
        write!(screen.out, "Code that the app shows now: ")?;
        screen.out.flush()
    };
    shown().context(PRINTING)?;
    let mut code = String::new();
    io::stdin().read_line(&mut code).context("cannot read the code")?;
    let codes = console.change(format!("ask {name} for codes").into(), |people| {
        people.confirm_totp(&name, code.trim(), time::now())
    })?;
    let mut shown = || -> io::Result<()> {
        writeln!(screen.out, "Recovery codes: each lets {name} in once, for the day the phone is lost:")?;
        codes.iter().try_for_each(|code| writeln!(screen.out, "  {}", **code))?;
        screen.out.flush()
    };
    shown().context(PRINTING)?;
    screen.remark(format!("{name} is asked for a code at each login"));
    Ok(())
}

fn list(people: &[Person], format: LineFormat, screen: &mut Screen) -> anyhow::Result<()> {
    let printed = match format {
        LineFormat::Jsonl => jsonl(people, &mut screen.out),
        LineFormat::Table => table(people, screen),
    };
    printed.and_then(|()| screen.out.flush()).context("cannot write the results")
}

fn jsonl(people: &[Person], out: &mut dyn Write) -> io::Result<()> {
    people.iter().try_for_each(|person| {
        serde_json::to_writer(&mut *out, person)?;
        writeln!(out)
    })
}

fn table(people: &[Person], screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = people.iter().map(|person| {
        let state = match (person.disabled, person.must_change) {
            (true, _) => "disabled",
            (false, true) => "has to choose a password",
            (false, false) => "active",
        };
        vec![
            Cell::plain(&person.name),
            Cell::plain(person.role.name()),
            Cell::plain(state),
            Cell::plain(if person.totp { "yes" } else { "no" }),
            Cell::known(person.last_login.map(time::full)),
            Cell::plain(sees(&person.scope)),
        ]
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out, "\n{}", counted(people.len() as u64, "account"))
}

/// A scope in words.
fn sees(scope: &Scope) -> String {
    let limits = scope.limits().iter().map(|limit| {
        let trunks = limit.trunks.iter().flatten().map(|trunk| format!("trunk {trunk}"));
        let numbers = limit.numbers.iter().flatten().map(|number| format!("number {number}"));
        let [trunks, numbers] =
            [trunks.collect::<Vec<_>>(), numbers.collect()].map(|patterns| patterns.join(" or "));
        [trunks, numbers].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", and ")
    });
    let limits: Vec<String> = limits.collect();
    if limits.is_empty() { "all calls".to_owned() } else { limits.join("; ") }
}

const COLUMNS: &[Column] = &[
    Column::word("NAME", 0),
    Column::word("ROLE", 0),
    Column::word("STATE", 0),
    Column::word("CODE", 2),
    Column::word("LAST LOGIN", 3),
    Column::text("SEES", 40, 12, 1),
];
