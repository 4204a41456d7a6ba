//! `[radius]`: sessions of subscribers, by RADIUS, DHCP and PPPoE.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ringtap_identity::{KeyLog, Limits, REFRESH, Secrets, Sessions, static_ranges};
use ringtap_model::{Identity, Nanos};

use super::key::{Bounds, DAY, KeyProblem, MIB, section};
use super::values::{Size, Span};

section! {
    /// Sessions of subscribers from RADIUS and PPPoE, and leases of DHCP: who had which address, which
    /// `ringtap identity` asks. They are personal data: only root and the service's user can read them.
    #[name = "radius"]
    pub(crate) struct Radius {
        /// Follow sessions. The filter of `[capture]` has to let RADIUS through: usually UDP ports 1812, 1813
        /// and 3799, and TCP where it is carried by that.
        pub(crate) follow: bool = false,
        /// Follow leases of DHCP, too, which are sessions of their own. The filter of `[capture]` has to
        /// let DHCP through: UDP ports 67, 68, 546 and 547. It needs `follow`.
        dhcp: bool = false,
        /// Follow sessions of PPPoE by PPP itself, too. The filter of `[capture]` has to let its frames
        /// through: `pppoed or pppoes`. It needs `follow`.
        pppoe: bool = false,
        /// File of the secrets that clients share with their server, to check authenticators: each line has a
        /// client's address or network, a space, and its secret. Others than its owner and group must not be
        /// able to read it. It is read at the start. Empty checks none.
        #[accepts = "a path, such as \"/etc/ringtap/radius.secrets\", or \"\" for none"]
        secrets: PathBuf = PathBuf::new(),
        /// File of the keys of RADIUS over TLS, to which an end of the connections adds them
        /// (`SSLKEYLOGFILE`, or `openssl -keylogfile`); not everybody may be able to read it. It is opened at
        /// the start, and read on. The filter of `[capture]` has to let TCP port 2083 through. Empty decrypts
        /// none.
        #[accepts = "a path, such as \"/var/lib/ringtap-keys/radsec.keys\", or \"\" for none"]
        tls_keys: PathBuf = PathBuf::new(),
        /// File of ranges of addresses that never change hands, as `ringtap identity --static` reads it: they
        /// answer questions of the database, and are those of their subscriber for warrants. It is read at
        /// the start. It needs `follow`. Empty for none.
        #[accepts = "a path, such as \"/etc/ringtap/lines.toml\", or \"\" for none"]
        r#static: PathBuf = PathBuf::new(),
        /// Sessions that are followed at once. Beyond that, those silent for longest give way: their records
        /// stay as they are then.
        #[bounds = Bounds::between(1_000, 100_000_000).unit("sessions")]
        max_sessions: usize = 1_000_000,
        /// Memory that sessions may use.
        #[bounds = Bounds::at_least(MIB)]
        memory: Size = Size(4 << 30),
        /// How long nothing may be heard of a session of RADIUS or PPPoE before it has ended; three interim
        /// intervals, where they are known and shorter. A lease of DHCP ends when its time is over.
        #[bounds = Bounds::between(60_000_000_000, 30 * DAY).example("48h")]
        idle: Span = Span(Nanos::from_secs(48 * 3_600)),
    }
}

/// How sessions are followed.
#[derive(Debug, Default)]
pub(crate) struct Following {
    limits: Limits,
    secrets: Secrets,
    keys: Option<KeyLog>,
    /// What a file says of addresses that never change hands.
    pub(crate) ranges: Vec<Identity>,
    /// Leases of DHCP, too.
    pub(crate) leases: bool,
    /// PPPoE, too.
    pub(crate) pppoe: bool,
}

impl Following {
    /// A table that follows them.
    pub(crate) fn sessions(self) -> Sessions {
        let mut sessions = Sessions::new(self.limits, self.secrets).with_tls_keys(self.keys);
        if self.leases {
            sessions = sessions.following_leases();
        }
        if self.pppoe {
            sessions = sessions.following_pppoe();
        }
        sessions
    }
}

impl Radius {
    /// How sessions are followed; `None` where they are not.
    ///
    /// # Errors
    ///
    /// The secrets cannot be read, or others may read them.
    pub(crate) fn settings(&self) -> anyhow::Result<Option<Following>> {
        if !self.follow {
            return Ok(None);
        }
        let limits = Limits {
            sessions: self.max_sessions,
            memory: usize::try_from(self.memory.0).unwrap_or(usize::MAX),
            idle: self.idle.0,
            ..Limits::default()
        };
        let secrets = self.secret_file().map(|path| read(path).context("[radius] secrets")).transpose()?;
        let secrets = secrets.unwrap_or_default();
        let ranges = self.range_file().map(|path| read_ranges(path).context("[radius] static"));
        let ranges = ranges.transpose()?.unwrap_or_default();
        let keys = self.key_log().map(|path| KeyLog::open(path).context("[radius] tls_keys")).transpose()?;
        Ok(Some(Following { limits, secrets, keys, ranges, leases: self.dhcp, pppoe: self.pppoe }))
    }

    /// A session that is silent and goes on must not be deleted before it expires: its record may be as old.
    pub(super) fn check(&self, retain: Nanos) -> Result<(), KeyProblem> {
        let has_ranges = !self.r#static.as_os_str().is_empty();
        let has_keys = !self.tls_keys.as_os_str().is_empty();
        let needing =
            [("dhcp", self.dhcp), ("pppoe", self.pppoe), ("static", has_ranges), ("tls_keys", has_keys)];
        for (key, is_set) in needing {
            if is_set && !self.follow {
                let problem = "has no effect without follow = true: set both, or neither";
                return Err(("radius", key, problem.to_owned()));
            }
        }
        if self.follow && retain != Nanos::ZERO && self.idle.0 + REFRESH > retain {
            let problem = "must be at least ten minutes less than `retain` in [store], which would delete \
                           sessions that go on: for example 12h";
            return Err(("radius", "idle", problem.to_owned()));
        }
        Ok(())
    }

    /// The file with static ranges.
    pub(crate) fn range_file(&self) -> Option<&Path> {
        Some(self.r#static.as_path()).filter(|path| self.follow && !path.as_os_str().is_empty())
    }

    /// The file to which keys of TLS are added.
    pub(crate) fn key_log(&self) -> Option<&Path> {
        Some(self.tls_keys.as_path()).filter(|path| self.follow && !path.as_os_str().is_empty())
    }

    /// The file with the secrets.
    pub(crate) fn secret_file(&self) -> Option<&Path> {
        Some(self.secrets.as_path()).filter(|path| self.follow && !path.as_os_str().is_empty())
    }
}

fn read(path: &Path) -> anyhow::Result<Secrets> {
    let bytes = ringtap_spool::secrets(path)?;
    Secrets::of_file(&bytes).with_context(|| format!("cannot read the secrets in `{}`", path.display()))
}

fn read_ranges(path: &Path) -> anyhow::Result<Vec<Identity>> {
    let shown = path.display().to_string();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the ranges in `{shown}`"))?;
    static_ranges(&text, &shown).context("cannot read static ranges")
}
