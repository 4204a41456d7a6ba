//! Hooks: calls that have ended, given to commands and servers. `ringtap hooks` runs them beside the daemon,
//! and reads what that has stored, so that nothing here can delay a packet.

mod transport;

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use nix::unistd::User;
use ringtap_anonymise::Tokens;
use ringtap_hook::{Hook, HookSound, HookTarget, Service, ServiceSettings};
use ringtap_notify::Pace;
use ringtap_search::Site;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::config::{Config, ConfigError, ConfigFile};
use crate::hooks::transport::{Processes, remove_left};
use crate::processes::child::{Process, Role, Start};
use crate::processes::hook_source::{HookSource, secret_of};
use crate::{logger, system};

/// Runs the hooks of a configuration until a signal arrives. Call it before there is a second thread.
///
/// # Errors
///
/// What the configuration names cannot be used, the state cannot be read or written, or the process ended
/// that starts the deliveries.
pub fn run(file: &ConfigFile, sites_of: SitesOf) -> anyhow::Result<()> {
    let config = &file.config;
    logger::level(config.log.level);
    system::forbid_dumps();
    let hooks = config.hooks();
    if hooks.is_empty() {
        bail!("{} has no [[hook]]: docs/manual/hooks.md says what one is", file.path.display());
    }
    let problems = check(file, &hooks);
    if !problems.is_empty() {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        bail!("{}", told.join("\n"));
    }
    let directory = config.hooks.directory().context("[hooks] directory is empty: name one")?;
    let user = system::user(&config.process.user)?;
    let command_user = match config.hooks.user.as_str() {
        "" => config.process.user.clone(),
        other => other.to_owned(),
    };
    system::user_of("[hooks] user", &command_user)?;
    system::directory(directory, user.as_ref()).context("[hooks] directory")?;
    let settings = settings(config, hooks.clone(), directory)?;
    let source = HookSource { hooks, command_user, user: config.process.user.clone() };
    let start = Start { role: Role::HookStarter(source), user: String::new(), log: config.log.level };
    let process = Process::start("hooks", start, None)?;
    system::give_up(user.as_ref())?;
    let _lock = lock(directory)?;
    remove_left(directory);
    warn_of_one_user(config, &settings.hooks, user.as_ref());
    let names: Vec<&str> = settings.hooks.iter().map(|hook| hook.name.as_str()).collect();
    let line = format!("{} is followed for {}", settings.records.display(), names.join(", "));
    let transport = Processes::new(config, directory, process.clone());
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let sites = config.hooks.sites.clone();
    let known = move || sites_of(&sites).map_err(|error| format!("[hooks] sites: {error:#}"));
    let service = Service::open(settings, Box::new(known), Box::new(transport))?;
    log::info!(target: "hooks", "{line}");
    service.run(|| stop.load(Ordering::Relaxed) || process.ended().is_some())?;
    let ended = process.ended();
    process.close();
    match ended {
        Some(_) => bail!("the process that starts deliveries has ended: start `ringtap hooks` again"),
        None => Ok(()),
    }
}

/// What cannot be used of what the hooks name: programs, secrets.
pub(crate) fn check(file: &ConfigFile, hooks: &[Hook]) -> Vec<ConfigError> {
    let mut problems = Vec::new();
    for (place, hook) in hooks.iter().enumerate() {
        let mut problem =
            |key, problem: String| problems.push(file.problem_of_entry("hook", place, key, problem));
        if let HookTarget::Command(command) = &hook.target {
            let program = command.program.first().map_or("", String::as_str);
            match fs::metadata(program) {
                Err(error) => problem("command", format!("`{program}` cannot be used: {error}")),
                Ok(found) if !found.is_file() || found.permissions().mode() & 0o111 == 0 => {
                    problem("command", format!("`{program}` is no program: make it one with `chmod +x`"));
                }
                Ok(found) if found.permissions().mode() & 0o002 != 0 => {
                    problem("command", format!("everybody may change `{program}`: `chmod o-w` it"));
                }
                Ok(_) => {}
            }
        }
        if let Err(error) = secret_of(hook) {
            let told = format!("{error:#}");
            problem("header_file", told.strip_prefix("header_file: ").unwrap_or(&told).to_owned());
        }
        if hook.mask
            && let Err(error) = masking_key(&file.config)
        {
            problem("mask", format!("{error:#}"));
        }
    }
    problems
}

/// Reads the networks that have names, of a console.
pub type SitesOf = fn(&Path) -> anyhow::Result<Vec<Site>>;

fn settings(config: &Config, hooks: Vec<Hook>, directory: &Path) -> anyhow::Result<ServiceSettings> {
    let host = match config.hooks.host.as_str() {
        "" => fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
        host => host.to_owned(),
    };
    let is_masked = hooks.iter().any(|hook| hook.mask);
    let pace = Pace::default();
    Ok(ServiceSettings {
        tokens: is_masked.then(|| masking_key(config).map(Tokens::new)).transpose()?,
        hooks,
        records: config.store.directory.clone(),
        spool: config.spool.directory().map(Path::to_owned),
        directory: directory.to_owned(),
        host,
        pace: (pace.first, pace.longest),
    })
}

fn masking_key(config: &Config) -> anyhow::Result<[u8; 32]> {
    let path = &config.hooks.masking_key;
    let shown = path.display();
    let bytes = fs::read(path).with_context(|| {
        format!(
            "needs the key that [hooks] masking_key names, and `{shown}` cannot be read: `ringtap console \
             serve` makes one at its first start, and any 32 bytes will do"
        )
    })?;
    let length = bytes.len();
    bytes.try_into().ok().with_context(|| format!("`{shown}` has {length} bytes instead of 32"))
}

/// Two services would deliver each call twice.
fn lock(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join("lock");
    let file = File::options().create(true).write(true).truncate(false).open(&path);
    let file = file.with_context(|| format!("[hooks] directory: `{}` cannot be written", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "another `ringtap hooks` works in {}: stop it, or name another directory",
                directory.display()
            )
        }
        Err(TryLockError::Error(error)) => Err(error).context("[hooks] directory: it cannot be locked"),
    }
}

/// A command that runs as the user whose records these are can read all of them.
fn warn_of_one_user(config: &Config, hooks: &[Hook], user: Option<&User>) {
    let has_commands = hooks.iter().any(|hook| matches!(hook.target, HookTarget::Command(_)));
    let is_same = config.hooks.user.is_empty() || user.is_some_and(|user| user.name == config.hooks.user);
    if has_commands && is_same {
        log::warn!(
            target: "hooks",
            "commands run as the user of ringtap and could read every record and recording: start `ringtap \
             hooks` as root and set [hooks] user"
        );
    }
    let needs_sound = hooks.iter().any(|hook| hook.sound != HookSound::None);
    if let Some(files) = config.spool.key_files().filter(|_| needs_sound)
        && !files.seal.as_os_str().is_empty()
        && let Err(error) = File::open(&files.seal)
    {
        log::error!(
            target: "hooks",
            "[spool] seal: `{}` cannot be read as the user of the service ({error}): calls are delivered \
             without their sound",
            files.seal.display()
        );
    }
}
