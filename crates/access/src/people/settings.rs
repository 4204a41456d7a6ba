//! Limits of sessions, tokens and attempts to log in.

use ringtap_model::Nanos;

use crate::role::Role;

/// The limits; the default is what a console uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A session that is not used ends after this.
    pub session_idle: Nanos,
    /// Every session ends after this.
    pub session_life: Nanos,
    /// Sessions at once; the one that was not used for longest ends.
    pub sessions: usize,
    /// The same of one person.
    pub sessions_each: usize,
    /// The longest life of a token.
    pub token_life: Nanos,
    /// Tokens of one person.
    pub tokens_each: usize,
    /// Saved searches of one person.
    pub searches_each: usize,
    /// What it costs to check a password.
    pub password: PasswordCost,
    /// Attempts under one name that may fail before the next has to wait.
    pub free_of_name: u32,
    /// The same from one address, behind which there may be many people.
    pub free_of_address: u32,
    /// The first wait. Each failed attempt doubles it.
    pub first_wait: Nanos,
    /// The longest wait: nobody is locked out for longer by the attempts of others.
    pub longest_wait: Nanos,
    /// Failed attempts are forgotten after this time without another one.
    pub forget_failures: Nanos,
    /// Names and addresses whose failed attempts are counted at once.
    pub counted: usize,
    /// Who may log in by a password or a passkey of this console.
    pub local_logins: LocalLogins,
}

/// Who may log in by a password or a passkey of this console, beside an identity provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalLogins {
    /// Everybody.
    #[default]
    Everybody,
    /// Administrators, for the day on which the provider does not answer.
    Administrators,
}

impl LocalLogins {
    /// Whether it lets somebody of that role log in.
    pub(crate) fn allows(self, role: Role) -> bool {
        self == Self::Everybody || role == Role::Administrator
    }
}

/// The cost of argon2id (RFC 9106). The default is OWASP's recommendation: 19 MiB, 2 passes, 1 lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCost {
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
    /// Passwords that are checked at once, in as many times that memory.
    pub at_once: usize,
    /// Checks that may wait for their turn. Further ones are refused.
    pub waiting: usize,
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self { memory: 19 << 10, passes: 2, lanes: 1, at_once: 2, waiting: 16 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        const HOUR: u64 = 3_600;
        Self {
            session_idle: Nanos::from_secs(HOUR),
            session_life: Nanos::from_secs(12 * HOUR),
            sessions: 1_000,
            sessions_each: 16,
            token_life: Nanos::from_secs(366 * 24 * HOUR),
            tokens_each: 64,
            searches_each: 100,
            password: PasswordCost::default(),
            free_of_name: 5,
            free_of_address: 20,
            first_wait: Nanos::from_secs(1),
            longest_wait: Nanos::from_secs(900),
            forget_failures: Nanos::from_secs(24 * HOUR),
            counted: 4_096,
            local_logins: LocalLogins::default(),
        }
    }
}
