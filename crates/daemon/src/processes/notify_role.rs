//! What the two processes that tell of alarms do: one speaks to the targets, the other one starts it again.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context;
use nix::unistd::User;
use ringtap_notify::{Delivery, Pace, Sender};

use crate::config::LogLevel;
use crate::processes::child::{Process, Role, Start};
use crate::processes::confinement::Confinement;
use crate::processes::notice_exchange::{Answer, answer};
use crate::processes::notify_source::{NotifySource, OpenTarget};
use crate::processes::serving::{Work, serve_all};
use crate::processes::starter::Starter;
use crate::system;

/// Reads the secrets, drops privileges, and starts the process that uses them.
pub(crate) fn starter(source: NotifySource, user: Option<&User>, log: LogLevel) -> anyhow::Result<Work> {
    let NotifySource { targets, host } = source;
    let mut open = Vec::new();
    for target in targets {
        let name = format!("[[notify]] {}", target.name);
        open.push(OpenTarget::read(target).map_err(anyhow::Error::msg).context(name)?);
    }
    system::give_up(user)?;
    let certificates = open.iter().filter_map(|open| open.target.ca_file()).map(Path::to_owned).collect();
    Confinement::of_starter(&ports(&open), certificates).apply("starting the notifier")?;
    let start = move || {
        let role = Role::Notify { targets: open.clone(), host: host.clone() };
        Process::start(NAME, Start { role, user: String::new(), log }, None)
    };
    let mut starter = Starter::begin(NAME, start)?;
    Ok(Box::new(move |socket| starter.run(&socket)))
}

/// Makes the clients, which read certificates, then confines itself.
pub(crate) fn client(targets: &[OpenTarget], host: &str, user: Option<&User>) -> anyhow::Result<Work> {
    let mut senders = Vec::new();
    for open in targets {
        let name = || format!("[[notify]] {}", open.target.name);
        senders.push(Sender::open(&open.target, open.secret(), host).with_context(name)?);
    }
    system::give_up(user)?;
    Confinement::of_network(&ports(targets), Vec::new()).apply(NAME)?;
    Ok(Box::new(move |socket| {
        let deliveries = senders.into_iter().map(|sender| Delivery::start(sender, Pace::default()));
        let deliveries: Vec<Delivery> = deliveries.collect::<Result<_, _>>()?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started = started.as_nanos() as u64;
        let serve = move |connection| {
            let push = |number, notice: ringtap_notify::Notice| {
                deliveries.iter().for_each(|delivery| delivery.push(number, notice.clone()));
            };
            let report = || Answer { started, reports: deliveries.iter().map(Delivery::report).collect() };
            answer(&connection, push, report)
        };
        serve_all(&socket, Arc::new(serve), CONNECTIONS)
    }))
}

/// TCP ports of the targets. Landlock has no rules for UDP.
fn ports(targets: &[OpenTarget]) -> Vec<u16> {
    targets.iter().filter_map(|open| open.target.tcp_port()).collect()
}

const NAME: &str = "the notifier";
/// Connections at once: the daemon has one.
const CONNECTIONS: usize = 4;
