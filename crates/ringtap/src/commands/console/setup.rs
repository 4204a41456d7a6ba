//! `ringtap console setup`: the first administrator.

use anyhow::bail;
use clap::Args;
use ringtap_access::{NewPerson, People, Role, Scope, What};
use ringtap_report::time;

use super::secrets::PasswordArgs;
use crate::exit::Exit;
use crate::people_args::PeopleArgs;
use crate::screen::Screen;

/// Make the first administrator of the console
///
/// Its password is made and printed on this terminal, once; it is neither in a file nor in the journal, and
/// another one has to be chosen at the first login. Where there is no terminal, name a file with a password
/// of your own. Run it as root or as the user of the service.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Setup {
    /// Name of the administrator
    #[arg(long, value_name = "NAME", default_value = "admin")]
    name: String,
    #[command(flatten)]
    password: PasswordArgs,
    #[command(flatten)]
    people: PeopleArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap console setup
  ringtap console setup --name ana --password-file /run/secrets/console
  ringtap console setup --people ~/.local/share/ringtap/console";

impl Setup {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { name, password, people } = self;
        // Before privileges are dropped, with which the file may not be readable.
        let chosen = password.password(screen)?;
        let console = people.open()?;
        if let Some(known) = console.people.list()?.iter().find(|person| is_administrator(person)) {
            bail!(
                "the console has an administrator, {0}: log in as {0}, or give it another password with \
                 `ringtap console people password {0}`",
                known.name
            );
        }
        People::check_password(&name, &chosen.text)?;
        let (role, scope) = (Role::Administrator, Scope::everything());
        let must_change = !password.is_chosen();
        let new = NewPerson { name: &name, role, scope, password: &chosen.text, must_change };
        let what = What::from(format!("set up with {name} as administrator"));
        let person = console.change(what, |people| people.add(&new, time::now()))?;
        chosen.show(&person.name, screen)?;
        screen.remark(format!("{} can log in to the console as administrator", person.name));
        Ok(Exit::Done)
    }
}

fn is_administrator(person: &ringtap_access::Person) -> bool {
    person.role == Role::Administrator && !person.disabled
}
