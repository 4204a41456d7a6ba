//! What the processes of hooks do: one starts the others, and each of these delivers one call and ends.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use anyhow::Context;
use nix::unistd::User;
use ringtap_hook::{Hook, HookTarget};
use ringtap_notify::{NotifyError, Poster};

use crate::config::LogLevel;
use crate::processes::channel;
use crate::processes::child::{Process, Role, Start};
use crate::processes::confinement::Confinement;
use crate::processes::hook_command;
use crate::processes::hook_exchange::{Order, answer, hook_of, order};
use crate::processes::hook_source::{HookSource, OpenHook};
use crate::processes::serving::{Work, serve_all};
use crate::system;

/// Reads the secrets. It keeps its privileges, since it starts programs as other users, and is not confined,
/// since they would be confined with it; it reads one line from whoever asks, the name of a hook.
pub(crate) fn starter(source: HookSource) -> anyhow::Result<Work> {
    let mut open = Vec::new();
    for hook in source.hooks {
        let name = format!("[[hook]] {}", hook.name);
        open.push(OpenHook::read(hook).context(name)?);
    }
    let most = open.iter().map(|open| open.hook.at_once).sum::<usize>() + SPARE;
    let (command_user, user) = (source.command_user, source.user);
    let serve = move |connection: UnixStream| {
        let name = hook_of(&connection)?;
        let Some(open) = open.iter().find(|open| open.hook.name == name) else { return Ok(()) };
        let is_command = matches!(open.hook.target, HookTarget::Command(_));
        let user = if is_command { command_user.clone() } else { user.clone() };
        let start = Start { role: Role::Hook(open.clone()), user, log: LogLevel::Warn };
        match Process::start("a hook", start, None) {
            Ok(process) => {
                process.pass(&connection)?;
                // Its own end of the connection would keep the other side from seeing that it has ended.
                drop(connection);
                process.close();
                Ok(())
            }
            Err(error) => answer(&connection, &Err(NotifyError::later(format!("{error:#}")))),
        }
    };
    Ok(Box::new(move |socket| serve_all(&socket, Arc::new(serve), most)))
}

/// Delivers one call, confined to what that needs.
pub(crate) fn deliverer(open: OpenHook, user: Option<&User>) -> anyhow::Result<Work> {
    let name = || format!("[[hook]] {}", open.hook.name);
    let poster = match &open.hook.target {
        HookTarget::Url(http) => Some(Poster::open(http, open.secret()).with_context(name)?),
        HookTarget::Command(_) => None,
    };
    system::give_up(user)?;
    if let HookTarget::Url(http) = &open.hook.target {
        let ports: Vec<u16> = http.port().into_iter().collect();
        Confinement::of_network(&ports, Vec::new()).apply(&format!("hook {}", open.hook.name))?;
    }
    Ok(Box::new(move |socket| {
        let Some(connection) = channel::accept(&socket)? else { return Ok(()) };
        let order = order(&connection)?;
        let result = match (&open.hook.target, poster) {
            (HookTarget::Command(command), _) => hook_command::run(command, &open.hook, order, &connection),
            (HookTarget::Url(_), Some(poster)) => post(&poster, &open.hook, order, &connection),
            (HookTarget::Url(_), None) => Ok(()),
        };
        Ok(answer(&connection, &result)?)
    }))
}

/// Posts the document, with the sound as a second part where there is any (RFC 7578).
fn post(poster: &Poster, hook: &Hook, order: Order, connection: &UnixStream) -> Result<(), NotifyError> {
    let Some(bytes) = order.sound_bytes else {
        return poster.post("application/json", order.document, hook.timeout);
    };
    let mut sound = Vec::new();
    if let Err(error) = connection.take(bytes).read_to_end(&mut sound) {
        return Err(NotifyError::later(format!("its sound cannot be read: {error}")));
    }
    // A document of JSON has no line that begins with it, and sound is no text.
    let boundary = format!("ringtap-{:016x}{:016x}", random(), random());
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"record\"\r\n\
         Content-Type: application/json\r\n\r\n"
    )
    .into_bytes();
    body.extend(order.document);
    body.extend(
        format!(
            "\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"sound\"; filename=\"sound.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\n"
        )
        .into_bytes(),
    );
    body.extend(sound);
    body.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
    poster.post(&format!("multipart/form-data; boundary={boundary}"), body, hook.timeout)
}

/// Chosen anew each time, so that nobody can write a call in which the boundary occurs.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// Connections that may be at their end while the next ones begin.
const SPARE: usize = 8;
