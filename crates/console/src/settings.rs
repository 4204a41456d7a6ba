//! Where and how the console is served.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::server::Security;

/// How the console is served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address that is listened at.
    pub listen: SocketAddr,
    /// Names under which people ask for it, beside the address itself.
    pub hosts: Vec<String>,
    /// How connections are secured.
    pub security: Security,
    /// The directory of people, keys and the audit log.
    pub people: PathBuf,
    /// Longest time of a search.
    pub search_time: Duration,
    /// A link that logs in whoever has it; none where people log in by themselves.
    pub link: Option<Link>,
    /// Who vouches for people; none where passwords and passkeys alone do.
    pub provider: Option<ringtap_oidc::Settings>,
}

/// `/open/KEY`: logs in whoever knows the key as this person, for a console that is opened from a terminal.
/// It works as long as the console is served.
#[derive(Clone)]
pub struct Link {
    /// What nobody guesses.
    pub key: String,
    /// Name of the person.
    pub name: String,
    /// Its password.
    pub password: String,
}

impl std::fmt::Debug for Link {
    /// Without the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("name", &self.name).finish_non_exhaustive()
    }
}
