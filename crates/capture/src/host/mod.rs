//! What this machine is like for a capture: its interfaces, processors, clock and disks, as a value to be
//! judged.
//!
//! Everything here is read: from `/sys` and `/proc`, and where those say nothing, by the requests that
//! `ethtool` makes too (ioctl and generic netlink), so that nothing has to be installed. Nothing is changed.
//! What cannot be known, in a container or without the right, is `None` and never a guess.
//!
//! | module | holds |
//! |---|---|
//! | `interface` | [`Interface`]: link, rings, queues, interrupts, offloads, counters |
//! | `machine` | [`Machine`]: processors, memory, clock, kernel settings, rights |
//! | `directory` | [`Directory`]: the directory that records go to |
//! | `ethtool`, `netdev` | answers of the kernel's ioctl and netlink interfaces |
//! | `tree` | `/sys` and `/proc` below a root, which in tests is a folder |

mod directory;
mod ethtool;
mod interface;
mod machine;
mod netdev;
#[expect(
    unsafe_code,
    reason = "ioctl, netlink, adjtimex and statvfs have no safe form in the standard library"
)]
mod sys;
mod tree;

pub use directory::{DayFile, Directory};
pub use ethtool::{Channels, Coalescing, Driver, Feature, Pause, Rings, Timestamping};
pub use interface::{Counters, Interface, InterfaceKind, Interrupt};
pub use machine::{Capability, Limit, Machine, Memory, Network, Softnet, SystemClock};
pub use netdev::XdpFeatures;

use std::io;
use std::path::Path;

use tree::Tree;

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The machine as a whole.
    pub machine: Machine,
    /// Its interfaces, those asked for in the order asked, else all in order of their names.
    pub interfaces: Vec<Interface>,
    /// The directory of the store, where one was named.
    pub directory: Option<Directory>,
}

impl Host {
    /// Looks at this machine. Without `interfaces`, at all that it has.
    ///
    /// An error names an interface that does not exist, or a directory that cannot be looked at.
    pub fn inspect(interfaces: &[String], store: Option<&Path>) -> Result<Self, Error> {
        let tree = Tree::new("/");
        let names = interface::names(&tree);
        if let Some(missing) = interfaces.iter().find(|name| !names.contains(name)) {
            return Err(Error::NoInterface { name: missing.clone(), names: names.join(", ") });
        }
        let wanted = if interfaces.is_empty() { &names[..] } else { interfaces };
        // Without a socket (seccomp, no network namespace) what /sys knows still counts.
        let control = sys::Control::open().ok();
        let xdp = netdev::features().unwrap_or_default();
        let interfaces = wanted.iter().map(|name| {
            let mut found = interface::inspect(&tree, name);
            if let Some(control) = &control {
                ethtool::query(control, &mut found);
            }
            found.xdp = xdp.iter().find(|(index, _)| Some(*index) == found.index).map(|(_, xdp)| *xdp);
            found
        });
        let interfaces = interfaces.collect();
        let directory = store.map(|path| directory::inspect(&tree, path)).transpose()?;
        Ok(Self { machine: machine::inspect(&tree), interfaces, directory })
    }
}

/// What was asked about does not exist.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No interface has that name.
    #[error("there is no interface `{name}`: this machine, or this network namespace, has {names}")]
    NoInterface {
        /// As it was given.
        name: String,
        /// Those there are.
        names: String,
    },
    /// The directory cannot be looked at.
    #[error("cannot look at `{path}`: {source}; create it, or name another directory")]
    Directory {
        /// As it was given.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
}
