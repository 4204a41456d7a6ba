//! Properties of an interface, and the losses that it reports.

use std::fs::{self, File};
use std::io::{Read, Seek};

use ringtap_model::LinkType;

use crate::sys::socket::{Socket, interface_exists, interface_index};

use super::error::Error;

/// One interface of this thread's network namespace.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) mtu: u32,
    pub(super) link: LinkType,
    /// Whether frames are captured with their link header; else from the network header on.
    pub(super) framed: bool,
    pub(super) loopback: bool,
    /// NUMA node of the device, if it has one.
    pub(super) node: Option<u32>,
    statistics: Statistics,
}

impl Interface {
    /// Opens an interface that exists and is up.
    pub(super) fn open(name: &str) -> Result<Self, Error> {
        let index = interface_index(name)
            .map_err(|_| Error::NoInterface { interface: name.to_owned(), there: names().join(", ") })?;
        let failed = |what| move |source| Error::io(name, what, source);
        let asked = Socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0)
            .or_else(|_| Socket::open(libc::AF_INET6, libc::SOCK_DGRAM, 0))
            .map_err(failed("opening a socket"))?;
        let flags = asked.flags(name).map_err(failed("asking for the flags"))?;
        if flags & libc::IFF_UP as u32 == 0 {
            return Err(Error::Down { interface: name.to_owned() });
        }
        let mtu = asked.mtu(name).map_err(failed("asking for the MTU"))?;
        let hardware = asked.hardware(name).map_err(failed("asking for the link type"))?;
        let (link, framed) =
            link(hardware).ok_or_else(|| Error::Link { interface: name.to_owned(), hardware })?;
        let node = fs::read_to_string(format!("/sys/class/net/{name}/device/numa_node")).ok();
        Ok(Self {
            name: name.to_owned(),
            index,
            mtu,
            link,
            framed,
            loopback: flags & libc::IFF_LOOPBACK as u32 != 0,
            node: node.and_then(|node| node.trim().parse().ok()),
            statistics: Statistics::open(name),
        })
    }

    /// Whether the interface still exists, under any name.
    pub(super) fn is_there(&self) -> bool {
        interface_exists(self.index)
    }

    /// Packets longer than this were merged by an offload of the NIC or the kernel.
    pub(super) fn longest(&self) -> u32 {
        // The MTU excludes the Ethernet header and two tags.
        self.mtu.saturating_add(if self.framed { 14 + 8 } else { 0 })
    }

    /// Packets that the NIC or its driver reports as lost since the interface was opened.
    pub(super) fn lost(&mut self) -> u64 {
        self.statistics.lost()
    }
}

/// The link type of the frames that a capture on an interface has, without capturing.
///
/// # Errors
///
/// There is no such interface in this thread's network namespace (the error lists those that there are), it
/// is down, or its frames cannot be read.
pub fn link_of(interface: &str) -> Result<LinkType, Error> {
    Interface::open(interface).map(|interface| interface.link)
}

/// Names of the interfaces of this thread's network namespace.
pub(super) fn names() -> Vec<String> {
    let text = fs::read_to_string(STATISTICS).unwrap_or_default();
    let mut names: Vec<_> = rows(&text).map(|(name, _)| name.to_owned()).collect();
    names.sort();
    names
}

/// The rows of /proc/net/dev: a name and its counters.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().skip(2).filter_map(|line| line.split_once(':')).map(|(name, rest)| (name.trim(), rest))
}

/// `drop` (the driver's rx_dropped and rx_missed_errors) and `fifo` of a row.
fn lost(row: &str) -> Option<u64> {
    let mut figures = row.split_ascii_whitespace().map(|figure| figure.parse::<u64>().ok());
    let (drop, fifo) = (figures.nth(3)??, figures.next()??);
    Some(drop + fifo)
}

/// The interface's row of /proc/net/dev; the open file stays in the namespace in which it was opened.
#[derive(Debug)]
struct Statistics {
    file: Option<File>,
    name: String,
    first: u64,
    last: u64,
    text: String,
}

impl Statistics {
    fn open(name: &str) -> Self {
        let file = File::open(STATISTICS).ok();
        let mut statistics = Self { file, name: name.to_owned(), first: 0, last: 0, text: String::new() };
        statistics.lost();
        statistics.first = statistics.last;
        statistics
    }

    fn lost(&mut self) -> u64 {
        self.text.clear();
        if let Some(file) = &mut self.file
            && file.rewind().is_ok()
            && file.read_to_string(&mut self.text).is_ok()
            && let Some((_, row)) = rows(&self.text).find(|(name, _)| *name == self.name)
            && let Some(lost) = lost(row)
        {
            // A reloaded driver counts from zero.
            self.first = self.first.min(lost);
            self.last = lost;
        }
        self.last - self.first
    }
}

/// The link type of received frames, and whether their link header is captured.
fn link(hardware: u16) -> Option<(LinkType, bool)> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some((ETHERNET, true)),
        libc::ARPHRD_NONE
        | RAWIP
        | libc::ARPHRD_PPP
        | libc::ARPHRD_SLIP
        | libc::ARPHRD_CSLIP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_IPGRE
        | IP6GRE
        | libc::ARPHRD_INFINIBAND => Some((RAW, false)),
        _ => None,
    }
}

/// Refers to the network namespace of the opening thread.
const STATISTICS: &str = "/proc/thread-self/net/dev";
/// LINKTYPE_ETHERNET.
pub(super) const ETHERNET: LinkType = LinkType(1);
/// LINKTYPE_RAW: begins with IPv4 or IPv6.
const RAW: LinkType = LinkType(101);
/// ARPHRD_RAWIP and ARPHRD_IP6GRE of linux/if_arp.h.
const RAWIP: u16 = 519;
const IP6GRE: u16 = 823;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_an_interface() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes\n    \
             lo:     100       2    0    0    0     0          0         0      \
             100       2    0    0    0     0       0          0\n  \
             eth0:9000000   12345    1    7    3     0          0         0        \
             0       0    0    0    0     0       0          0\n";
        let rows: Vec<_> = rows(text).map(|(name, row)| (name, lost(row))).collect();
        assert_eq!(rows, [("lo", Some(0)), ("eth0", Some(10))]);
        assert_eq!(lost(" 1 2 x"), None);
    }

    #[test]
    fn an_interface_that_is_not_there_says_which_are() {
        let message = Interface::open("nowhere0").expect_err("no such interface").to_string();
        assert!(message.starts_with("there is no interface `nowhere0`; choose one of: "), "{message}");
    }
}
