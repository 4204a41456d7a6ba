//! Identities: who was let into the network, and which addresses they had when, from
//! RADIUS, from the leases of DHCP, from PPPoE, and from a file of those that never change.
//!
//! [`Sessions`] follows requests and answers, and makes an [`Identity`](ringtap_model::Identity) of each
//! session; [`IdentityTracker`] does so in an engine. [`Holders`] tells from records who had an address and a
//! port at a time.
//!
//! Not here: the bytes of RADIUS, DHCP and PPPoE (`wire::radius`, `wire::dhcp`, `wire::pppoe`), targets.
//!
//! The one invariant: a session has an address from the packet that gave it until the packet that took it
//! away or gave it to somebody else, and its record names both.
//!
//! ```
//! use ringtap_identity::{Holders, Limits, Secrets, Sessions};
//! use ringtap_model::Nanos;
//!
//! let mut sessions = Sessions::new(Limits::default(), Secrets::default());
//! let records = sessions.close();
//! assert!(Holders::new(&records).find([192, 0, 2, 7].into(), Some(40_001), Some(Nanos::ZERO)).is_empty());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `sessions`, `table`, `session` | the sessions, how they are found, one of them |
//! | `known`, `hold` | what is known of a session, in few bytes; an address of it |
//! | `slots`, `index` | places of sessions, and the way to them by a hash |
//! | `facts`, `ports`, `report` | what a packet says: of users and addresses, of blocks of ports, of time |
//! | `limits` | how much is followed, and for how long |
//! | `sessions::output` | the records that are made of them |
//! | `configured` | ranges of a file, which begin and end with time |
//! | `sessions::leases`, `lease`, `exchange` | leases of DHCP, what a message says, and what it belongs to |
//! | `sessions::pppoe`, `link` | sessions of PPPoE, and what is heard of one before it has addresses |
//! | `pending` | requests that wait for their answers |
//! | `line`, `key` | what a session without an id is found by; hashes of what is looked for |
//! | `attempt` | somebody asked to be let in, or was refused |
//! | `glimpse` | what one packet says by itself of who gets an address |
//! | `resumed` | a session that goes on after a restart, from its record |
//! | `holders`, `prefix` | who had an address |
//! | `ranges` | addresses that never change hands, from a file |
//! | `radsec` | RADIUS over TLS, with the keys that one of its ends logs |
//! | `secrets`, `counts`, `carried` | shared secrets, figures, where a packet was seen |
//! | `tracker` | the engine's way in |
#![forbid(unsafe_code)]

mod attempt;
mod carried;
mod configured;
mod counts;
mod exchange;
mod facts;
mod glimpse;
mod hold;
mod holders;
mod index;
mod key;
mod known;
mod lease;
mod limits;
mod line;
mod link;
mod pending;
mod ports;
mod prefix;
mod radsec;
mod ranges;
mod report;
mod resumed;
mod secrets;
mod session;
mod sessions;
mod slots;
mod table;
mod tracker;

pub use attempt::Attempt;
pub use carried::Carried;
pub use counts::{Counts, DhcpCounts, PppoeCounts};
pub use glimpse::{Access, Glimpse};
pub use holders::{Holder, Holders};
pub use limits::Limits;
pub use radsec::{KeyLog, KeyLogError, TlsCounts};
pub use ranges::{WrongRanges, static_ranges};
pub use secrets::{Secrets, WrongLine, WrongSecrets};
pub use session::REFRESH;
pub use sessions::{RADIUS_PORTS, Sessions};
pub use tracker::{IdentityTracker, PORTS, TCP, is_dhcp, is_radius};
