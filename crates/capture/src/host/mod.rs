//! Properties of this machine that matter for a capture: its interfaces, processors, clock and disks.
//!
//! The data come from `/sys` and `/proc`, and otherwise from the same requests as `ethtool` makes (ioctl and
//! generic netlink), so that nothing has to be installed. Nothing is changed. Unknown values (in a container,
//! or without permission) are `None`, never guesses.
//!
//! | module | holds |
//! |---|---|
//! | `interface` | [`Interface`]: link, rings, queues, interrupts, offloads, counters |
//! | `machine` | [`Machine`]: processors, memory, clock, kernel settings, rights |
//! | `directory` | [`Directory`]: the directory that records go to |
//! | `settings` | [`Driver`], [`Rings`] and other answers of a driver |
//! | `ethtool`, `netdev` | answers of the kernel's ioctl and netlink interfaces |
//! | `error` | [`Error`] |
//! | `tree` | `/sys` and `/proc` below a root, which in tests is a folder |

mod directory;
mod error;
mod ethtool;
mod interface;
mod machine;
mod netdev;
mod settings;
#[expect(
    unsafe_code,
    reason = "ioctl, netlink, adjtimex and statvfs have no safe form in the standard library"
)]
mod sys;
mod tree;

pub use directory::{DayFile, Directory};
pub use error::Error;
pub use interface::{Counters, Interface, InterfaceKind, Interrupt};
pub use machine::{Capability, Limit, Machine, Memory, Network, Softnet, SystemClock, quarter_of_memory};
pub use netdev::XdpFeatures;
pub use settings::{Channels, Coalescing, Driver, Feature, Pause, Rings, Timestamping};

use std::path::Path;

use tree::Tree;

/// All properties.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The machine as a whole.
    pub machine: Machine,
    /// The requested interfaces in order of the request, else all, sorted by name.
    pub interfaces: Vec<Interface>,
    /// The directory of the store, if one was given.
    pub directory: Option<Directory>,
}

impl Host {
    /// Inspects this machine: the given interfaces, or all if none are given.
    ///
    /// Fails if an interface does not exist or the directory cannot be inspected.
    pub fn inspect(interfaces: &[String], store: Option<&Path>) -> Result<Self, Error> {
        let tree = Tree::new("/");
        let names = interface::names(&tree);
        if let Some(missing) = interfaces.iter().find(|name| !names.contains(name)) {
            return Err(Error::NoInterface { name: missing.clone(), names: names.join(", ") });
        }
        let wanted = if interfaces.is_empty() { &names[..] } else { interfaces };
        // Without a socket (seccomp, no network namespace), /sys is still read.
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
