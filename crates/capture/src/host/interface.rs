//! One network interface.

use std::collections::BTreeMap;

use super::netdev::XdpFeatures;
use super::settings::{Channels, Coalescing, Driver, Feature, Pause, Rings, Timestamping};
use super::tree::{Tree, cpus, mask};

/// The kind of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InterfaceKind {
    /// A network card, real or virtual.
    #[default]
    Device,
    /// `lo`.
    Loopback,
    /// Software: a bridge, a veth, a VLAN, as `DEVTYPE` or the driver calls it.
    Virtual(String),
}

/// The properties of an interface.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: Option<u32>,
    /// Its kind.
    pub kind: InterfaceKind,
    /// Whether it is up.
    pub up: bool,
    /// Whether it has a carrier.
    pub carrier: Option<bool>,
    /// In Mbit/s.
    pub speed: Option<u32>,
    /// Full duplex.
    pub full_duplex: Option<bool>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Promiscuous mode.
    pub promiscuous: bool,
    /// The bridge or bond that it belongs to.
    pub master: Option<String>,
    /// Its NUMA node.
    pub numa: Option<usize>,
    /// The CPUs of that node.
    pub local_cpus: Vec<usize>,
    /// CPUs for receive packet steering (RPS), by receive queue.
    pub steered: Vec<Vec<usize>>,
    /// Its interrupts, including those of receive queues.
    pub interrupts: Vec<Interrupt>,
    /// The kernel's counters.
    pub counters: Counters,
    /// The driver's non-zero counters of lost received packets.
    pub driver_losses: Vec<(String, u64)>,
    /// The driver.
    pub driver: Option<Driver>,
    /// Descriptors.
    pub rings: Option<Rings>,
    /// Interrupt coalescing.
    pub coalescing: Option<Coalescing>,
    /// Flow control.
    pub pause: Option<Pause>,
    /// Queues.
    pub channels: Option<Channels>,
    /// Offloads.
    pub features: Vec<Feature>,
    /// Hardware timestamps.
    pub timestamping: Option<Timestamping>,
    /// XDP; `None` on kernels before 6.3.
    pub xdp: Option<XdpFeatures>,
}

impl Interface {
    /// The state of an offload; `None` if unknown.
    pub fn feature(&self, name: &str) -> Option<&Feature> {
        self.features.iter().find(|feature| feature.name == name)
    }
}

/// One interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// Its name from the driver.
    pub name: String,
    /// CPUs to which it may be routed.
    pub allowed: Vec<usize>,
    /// CPUs to which it is routed.
    pub goes_to: Vec<usize>,
    /// Its count.
    pub count: u64,
}

/// The kernel's running totals of the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets received.
    pub received: u64,
    /// Dropped by the kernel.
    pub dropped: u64,
    /// Missed because the card had no descriptor.
    pub missed: u64,
    /// Lost because the card's buffer was full.
    pub fifo: u64,
    /// With a bad checksum.
    pub crc: u64,
    /// Any error of receiving.
    pub errors: u64,
}

/// Names of all interfaces of this network namespace, sorted.
pub(crate) fn names(tree: &Tree) -> Vec<String> {
    tree.names("sys/class/net")
        .into_iter()
        .filter(|name| tree.exists(format!("sys/class/net/{name}/mtu")))
        .collect()
}

/// Reads the properties of an interface from `/sys` and `/proc`.
pub(crate) fn inspect(tree: &Tree, name: &str) -> Interface {
    let at = |entry: &str| format!("sys/class/net/{name}/{entry}");
    let flags =
        tree.text(at("flags")).and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    let flag = |bit: u32| flags.is_some_and(|flags| flags & bit != 0);
    let counter = |entry: &str| tree.value(at(&format!("statistics/{entry}"))).unwrap_or(0);
    Interface {
        name: name.to_owned(),
        index: tree.value(at("ifindex")),
        kind: kind(tree, name),
        up: flag(IFF_UP),
        carrier: tree.value::<u8>(at("carrier")).map(|carrier| carrier == 1),
        // -1 if the driver does not know.
        speed: tree
            .value::<i64>(at("speed"))
            .and_then(|speed| u32::try_from(speed).ok())
            .filter(|speed| *speed > 0),
        full_duplex: match tree.text(at("duplex")).as_deref() {
            Some("full") => Some(true),
            Some("half") => Some(false),
            _ => None,
        },
        mtu: tree.value(at("mtu")),
        promiscuous: flag(IFF_PROMISC),
        master: tree.target(at("master")),
        numa: tree.value::<i64>(at("device/numa_node")).and_then(|node| usize::try_from(node).ok()),
        local_cpus: tree.cpus(at("device/local_cpulist")),
        steered: steered(tree, name),
        interrupts: interrupts(tree, name),
        counters: Counters {
            received: counter("rx_packets"),
            dropped: counter("rx_dropped"),
            missed: counter("rx_missed_errors"),
            fifo: counter("rx_fifo_errors"),
            crc: counter("rx_crc_errors"),
            errors: counter("rx_errors"),
        },
        ..Interface::default()
    }
}

fn kind(tree: &Tree, name: &str) -> InterfaceKind {
    let at = |entry: &str| format!("sys/class/net/{name}/{entry}");
    if tree.value(at("type")) == Some(ARPHRD_LOOPBACK) {
        return InterfaceKind::Loopback;
    }
    if tree.exists(at("device")) {
        return InterfaceKind::Device;
    }
    let uevent = tree.text(at("uevent")).unwrap_or_default();
    let kind = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    InterfaceKind::Virtual(kind.unwrap_or("virtual").to_owned())
}

fn steered(tree: &Tree, name: &str) -> Vec<Vec<usize>> {
    let queues = format!("sys/class/net/{name}/queues");
    let mut queues: Vec<(usize, Vec<usize>)> = tree
        .names(&queues)
        .iter()
        .filter_map(|queue| {
            let number = queue.strip_prefix("rx-")?.parse().ok()?;
            Some((number, mask(&tree.text(format!("{queues}/{queue}/rps_cpus"))?)))
        })
        .collect();
    queues.sort();
    queues.into_iter().map(|(_, cpus)| cpus).collect()
}

/// By the device's list of message-signalled interrupts, and where it has none of its own (virtio, whose list
/// is its parent's; old cards), by name.
fn interrupts(tree: &Tree, name: &str) -> Vec<Interrupt> {
    let lists =
        ["device/msi_irqs", "device/../msi_irqs"].map(|entry| format!("sys/class/net/{name}/{entry}"));
    let own =
        lists.iter().map(|list| tree.names(list)).find(|numbers| !numbers.is_empty()).unwrap_or_default();
    let numbers: Vec<u32> = own.iter().filter_map(|number| number.parse().ok()).collect();
    let all = counted(&tree.text("proc/interrupts").unwrap_or_default());
    let named = |called: &str| {
        called == name || called.starts_with(&format!("{name}-")) || called.ends_with(&format!("@{name}"))
    };
    let mine = |number: u32, called: &str| {
        if numbers.is_empty() { named(called) } else { numbers.contains(&number) }
    };
    let interrupt = |(number, (count, called)): (u32, (u64, String))| Interrupt {
        number,
        name: called,
        allowed: cpus(&tree.text(format!("proc/irq/{number}/smp_affinity_list")).unwrap_or_default()),
        goes_to: cpus(&tree.text(format!("proc/irq/{number}/effective_affinity_list")).unwrap_or_default()),
        count,
    };
    all.into_iter().filter(|(number, (_, called))| mine(*number, called)).map(interrupt).collect()
}

/// `/proc/interrupts`: the sum over all CPUs and the name at the end of the line, by number.
fn counted(text: &str) -> BTreeMap<u32, (u64, String)> {
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |head| head.split_whitespace().count());
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let fields = rest.split_whitespace();
        let count = fields.clone().take(cpus).filter_map(|count| count.parse::<u64>().ok()).sum();
        Some((number, (count, fields.skip(cpus).last()?.to_owned())))
    };
    lines.filter_map(line).collect()
}

const IFF_UP: u32 = 1;
const IFF_PROMISC: u32 = 0x100;
const ARPHRD_LOOPBACK: u32 = 772;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_card_with_two_queues() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let own = "sys/class/net/ens1";
        for (entry, text) in [
            ("ifindex", "2\n"),
            ("type", "1\n"),
            ("flags", "0x1103\n"),
            ("carrier", "1\n"),
            ("speed", "10000\n"),
            ("duplex", "full\n"),
            ("mtu", "1500\n"),
            ("uevent", "INTERFACE=ens1\n"),
            ("device/numa_node", "1\n"),
            ("device/local_cpulist", "8-15\n"),
            ("device/msi_irqs/41", "msix\n"),
            ("device/msi_irqs/42", "msix\n"),
            ("queues/rx-0/rps_cpus", "00\n"),
            ("queues/rx-1/rps_cpus", "ff00\n"),
            ("queues/tx-0/x", ""),
            ("statistics/rx_packets", "1000\n"),
            ("statistics/rx_missed_errors", "7\n"),
        ] {
            put(root, &format!("{own}/{entry}"), text);
        }
        symlink("../br0", root.join(own).join("master")).unwrap();
        put(
            root,
            "proc/interrupts",
            "   CPU0 CPU1\n 41: 10 20 PCI-MSI 1-edge ens1-rx-0\n 42: 5 0 PCI-MSI 2-edge ens1-rx-1\n 43: 1 1 \
             PCI-MSI other\nNMI: 0 0 Non-maskable interrupts\n",
        );
        put(root, "proc/irq/41/smp_affinity_list", "0-1\n");
        put(root, "proc/irq/41/effective_affinity_list", "1\n");
        put(root, "sys/class/net/bonding_masters", "");
        let tree = Tree::new(root);
        assert_eq!(names(&tree), ["ens1"]);
        let found = inspect(&tree, "ens1");
        assert_eq!(
            (found.index, found.kind, found.up, found.promiscuous),
            (Some(2), InterfaceKind::Device, true, true)
        );
        assert_eq!((found.speed, found.full_duplex, found.mtu), (Some(10_000), Some(true), Some(1500)));
        assert_eq!((found.numa, found.local_cpus.len(), found.master.as_deref()), (Some(1), 8, Some("br0")));
        assert_eq!(found.steered, [vec![], (8..16).collect::<Vec<_>>()]);
        assert_eq!((found.counters.received, found.counters.missed, found.counters.dropped), (1000, 7, 0));
        let [first, second] = &found.interrupts[..] else { panic!("{:?}", found.interrupts) };
        assert_eq!((first.number, first.name.as_str(), first.count), (41, "ens1-rx-0", 30));
        assert_eq!((&first.allowed[..], &first.goes_to[..]), (&[0, 1][..], &[1][..]));
        assert_eq!((second.number, second.count), (42, 5));
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "sys/class/net/veth1/mtu", "1500");
        put(folder.path(), "sys/class/net/veth1/speed", "-1");
        put(folder.path(), "sys/class/net/lo/type", "772");
        let tree = Tree::new(folder.path());
        let found = inspect(&tree, "veth1");
        assert_eq!(
            (found.kind, found.speed, found.carrier),
            (InterfaceKind::Virtual("virtual".into()), None, None)
        );
        assert!(!found.up && found.interrupts.is_empty() && found.numa.is_none());
        assert_eq!(inspect(&tree, "lo").kind, InterfaceKind::Loopback);
    }
}
