//! `ringtap warrant setup`: the register and its first officer.

use clap::Args;
use ringtap_report::time;
use ringtap_warrant::Register;

use super::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Make the register and its first officer
///
/// Run it once, as root or as the user of the service. If the file of the master key is not there, it is
/// made: keep a copy where nobody else gets at it, since without the key nothing of the register can be read.
/// The first officer then adds the second one with `ringtap warrant people add`; from then on it takes two.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Setup {}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant setup --as ana
  ringtap warrant setup --as ana --register /srv/warrants --master-key /etc/ringtap/warrant.key
  ringtap warrant setup --as ana --master-key-command 'vault read -field=key secret/warrants'";

impl Setup {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let name = args.name()?;
        let mut secrets = args.secrets()?;
        let passphrase = secrets.ask_for_new(&name)?;
        ringtap_warrant::check_passphrase(&name, &passphrase)?;
        let (key, made) = args.key_or_new()?;
        args.become_owner()?;
        let register = Register::create(args.dir(), &key, &name, &passphrase, time::now())?;
        if let Some(path) = made {
            screen.remark(format!("the master key is in `{}`: keep a copy elsewhere", path.display()));
        }
        screen.remark(format!("the register is in `{}`; {name} is its first officer", args.dir().display()));
        screen.remark(format!("note the key that verifies it elsewhere: {}", register.public_key()));
        Ok(Exit::Done)
    }
}
