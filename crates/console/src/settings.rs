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
}
