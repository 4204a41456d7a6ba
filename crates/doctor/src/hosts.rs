//! Example machines for the tests.

use std::collections::BTreeMap;
use std::time::Duration;

use ringtap_capture::host::{
    Channels, Coalescing, Counters, DayFile, Directory, Driver, Feature, Host, Interface, InterfaceKind,
    Interrupt, Limit, Machine, Memory, Network, Pause, Rings, Softnet, SystemClock, Timestamping,
    XdpFeatures,
};

fn features(on: &[&str]) -> Vec<Feature> {
    [
        "rx-gro",
        "rx-lro",
        "rx-gro-hw",
        "rx-gro-list",
        "rx-udp-gro-forwarding",
        "rx-vlan-hw-parse",
        "rx-ntuple-filter",
    ]
    .map(|name| Feature { name: name.into(), active: on.contains(&name), changeable: true })
    .into()
}

fn driver(name: &str) -> Option<Driver> {
    Some(Driver { name: name.into(), ..Driver::default() })
}

fn interrupts(name: &str, cpus: &[usize]) -> Vec<Interrupt> {
    let queue = |(index, cpu): (usize, &usize)| Interrupt {
        number: 60 + index as u32,
        name: format!("{name}-TxRx-{index}"),
        allowed: vec![*cpu],
        goes_to: vec![*cpu],
        count: 1000,
    };
    cpus.iter().enumerate().map(queue).collect()
}

fn softnet(dropped: u64, squeezed: u64) -> Vec<Softnet> {
    vec![Softnet { processed: 1_000_000, dropped, squeezed }; 2]
}

/// A server with two NUMA nodes and a well configured 10 Gbit/s card.
pub(super) fn good_server() -> Host {
    let machine = Machine {
        kernel: Some("6.12.9".into()),
        cpus: (0..16).collect(),
        isolated: (8..16).collect(),
        smt: Some(false),
        governors: BTreeMap::from([("performance".into(), 16)]),
        nodes: 2,
        memory: Memory {
            total: 64 << 30,
            available: 60 << 30,
            huge: 512,
            huge_free: 500,
            huge_size: 2 << 20,
        },
        locked: Some(Limit::Unlimited),
        capabilities: Some(1 << 12 | 1 << 13 | 1 << 14 | 1 << 39),
        programs: vec!["phc2sys".into(), "ptp4l".into()],
        clock: SystemClock {
            source: Some("tsc".into()),
            sources: vec!["tsc".into(), "hpet".into()],
            synchronised: Some(true),
            error: Some(Duration::from_micros(130)),
        },
        network: Network {
            rmem_max: Some(16 << 20),
            backlog: Some(30_000),
            budget: Some(600),
            budget_usecs: Some(8_000),
            softnet: softnet(0, 3),
        },
        ..Machine::default()
    };
    let card = Interface {
        name: "ens1f0".into(),
        index: Some(2),
        up: true,
        carrier: Some(true),
        speed: Some(10_000),
        full_duplex: Some(true),
        mtu: Some(9_000),
        numa: Some(1),
        local_cpus: (8..16).collect(),
        steered: vec![vec![]; 8],
        interrupts: interrupts("ens1f0", &[8, 9, 10, 11, 12, 13, 14, 15]),
        counters: Counters { received: 98_000_000, ..Counters::default() },
        driver: driver("i40e"),
        rings: Some(Rings { rx: 4096, rx_max: 8160, tx: 512, tx_max: 8160 }),
        coalescing: Some(Coalescing { rx_usecs: 30, rx_frames: 0, adaptive_rx: false }),
        pause: Some(Pause::default()),
        channels: Some(Channels { rx: 8, rx_max: 64, combined: true }),
        features: features(&[]),
        timestamping: Some(Timestamping { hardware: true, every_packet: true, clock: Some(0) }),
        xdp: Some(XdpFeatures { native: true, redirect: true, zero_copy: true }),
        ..Interface::default()
    };
    let directory = Directory {
        path: "/var/lib/ringtap".into(),
        file_system: Some("xfs".into()),
        mounted_at: Some("/var/lib/ringtap".into()),
        options: vec!["rw".into(), "noatime".into()],
        source: Some("/dev/nvme0n1p1".into()),
        rotational: Some(false),
        total: 1 << 40,
        free: 800 << 30,
        writable: true,
        sync: Some(Duration::from_micros(240)),
        days: vec![DayFile {
            name: "2026-11-21.sqlite".into(),
            write_ahead: true,
            size: 3 << 30,
            log: 4 << 20,
        }],
    };
    Host { machine, interfaces: vec![card], directory: Some(directory) }
}

/// The same server with default settings, on which nearly everything is wrong.
pub(super) fn bad_server() -> Host {
    let mut host = good_server();
    let machine = &mut host.machine;
    machine.kernel = Some("5.4.0-200-generic".into());
    machine.isolated.clear();
    machine.smt = Some(true);
    machine.governors = BTreeMap::from([("performance".into(), 2), ("powersave".into(), 14)]);
    machine.memory = Memory { available: 1 << 30, huge: 0, huge_free: 0, ..machine.memory };
    machine.locked = Some(Limit::Bytes(8 << 20));
    machine.capabilities = Some(0);
    machine.programs = vec!["irqbalance".into()];
    machine.clock.source = Some("hpet".into());
    machine.clock.synchronised = Some(false);
    machine.network = Network {
        rmem_max: Some(212_992),
        backlog: Some(1_000),
        budget: Some(300),
        budget_usecs: Some(2_000),
        softnet: softnet(5_000, 900),
    };
    let card = &mut host.interfaces[0];
    card.mtu = Some(1400);
    card.interrupts = interrupts("ens1f0", &[0, 0]);
    card.rings = Some(Rings { rx: 512, rx_max: 8160, tx: 512, tx_max: 8160 });
    card.coalescing = Some(Coalescing { rx_usecs: 250, rx_frames: 64, adaptive_rx: false });
    card.pause = Some(Pause { negotiated: true, rx: true, tx: true });
    card.channels = Some(Channels { rx: 1, rx_max: 64, combined: true });
    card.features =
        features(&["rx-gro", "rx-lro", "rx-udp-gro-forwarding", "rx-vlan-hw-parse", "rx-ntuple-filter"]);
    card.timestamping = Some(Timestamping { hardware: true, every_packet: false, clock: Some(0) });
    card.xdp = None;
    card.counters =
        Counters { missed: 1_204_331, crc: 17, errors: 1_204_360, dropped: 400_000, ..card.counters };
    card.driver_losses = vec![("rx_no_dma_resources".into(), 1_204_331)];
    card.master = Some("bond0".into());
    host.directory = host.directory.map(|directory| Directory {
        file_system: Some("nfs4".into()),
        source: Some("nas:/export".into()),
        options: vec!["rw".into(), "relatime".into(), "sync".into()],
        free: 500 << 20,
        sync: Some(Duration::from_millis(340)),
        rotational: None,
        days: vec![DayFile {
            name: "2026-11-21.sqlite".into(),
            write_ahead: false,
            size: 3 << 30,
            log: 900 << 20,
        }],
        ..directory
    });
    host
}

/// A virtual machine with one receive queue.
pub(super) fn guest() -> Host {
    let mut host = good_server();
    let machine = &mut host.machine;
    machine.hypervisor = true;
    machine.cpus = vec![0, 1];
    machine.isolated.clear();
    machine.governors.clear();
    machine.nodes = 1;
    machine.clock.source = Some("kvm-clock".into());
    machine.programs = vec!["chronyd".into()];
    let Interface { name, index, up, carrier, mtu, counters, .. } = host.interfaces.remove(0);
    host.interfaces = vec![Interface {
        name,
        index,
        up,
        carrier,
        mtu,
        counters,
        steered: vec![vec![]],
        interrupts: vec![Interrupt {
            number: 38,
            name: "virtio2-input.0".into(),
            allowed: vec![0, 1],
            goes_to: vec![1],
            count: 9,
        }],
        driver: driver("virtio_net"),
        rings: Some(Rings { rx: 256, rx_max: 256, tx: 256, tx_max: 256 }),
        channels: Some(Channels { rx: 1, rx_max: 1, combined: true }),
        features: features(&["rx-gro"]),
        timestamping: Some(Timestamping::default()),
        xdp: Some(XdpFeatures { native: true, redirect: true, zero_copy: false }),
        ..Interface::default()
    }];
    host.directory = None;
    host
}

/// A laptop with default settings of Debian 12 and a 1 Gbit/s card.
pub(super) fn laptop() -> Host {
    let mut host = good_server();
    let machine = &mut host.machine;
    machine.kernel = Some("6.1.0-25-amd64".into());
    machine.cpus = (0..8).collect();
    machine.isolated.clear();
    machine.smt = Some(true);
    machine.governors = BTreeMap::from([("powersave".into(), 8)]);
    machine.nodes = 1;
    machine.memory.huge = 0;
    machine.programs = vec!["systemd-timesyn".into()];
    machine.network.rmem_max = Some(212_992);
    let card = &mut host.interfaces[0];
    card.name = "enp0s31f6".into();
    card.speed = Some(1000);
    card.mtu = Some(1500);
    card.interrupts = interrupts("enp0s31f6", &[3]);
    card.interrupts[0].name = "enp0s31f6".into();
    card.driver = driver("igc");
    card.rings = Some(Rings { rx: 256, rx_max: 4096, tx: 256, tx_max: 4096 });
    card.coalescing = Some(Coalescing { rx_usecs: 3, rx_frames: 0, adaptive_rx: true });
    card.channels = Some(Channels { rx: 4, rx_max: 4, combined: true });
    card.features = features(&["rx-gro", "rx-vlan-hw-parse"]);
    card.timestamping = Some(Timestamping { hardware: true, every_packet: false, clock: Some(0) });
    card.xdp = None;
    host.directory = None;
    host
}

/// A container with a veth interface and the loopback.
pub(super) fn container() -> Host {
    let mut host = good_server();
    host.machine.container = Some("docker".into());
    host.machine.capabilities = Some(1 << 13);
    let counters = Counters { received: 12_000, ..Counters::default() };
    let common =
        Interface { up: true, counters, timestamping: Some(Timestamping::default()), ..Interface::default() };
    let veth = Interface {
        name: "eth0".into(),
        index: Some(7),
        kind: InterfaceKind::Virtual("virtual".into()),
        carrier: Some(true),
        speed: Some(10_000),
        full_duplex: Some(true),
        mtu: Some(1500),
        driver: driver("veth"),
        channels: Some(Channels { rx: 1, rx_max: 8, combined: false }),
        features: features(&["rx-vlan-hw-parse"]),
        xdp: Some(XdpFeatures { native: true, redirect: true, zero_copy: false }),
        ..common.clone()
    };
    let lo = Interface {
        name: "lo".into(),
        index: Some(1),
        kind: InterfaceKind::Loopback,
        mtu: Some(65_536),
        ..common
    };
    host.interfaces = vec![veth, lo];
    host.directory = host.directory.map(|directory| Directory {
        file_system: Some("overlay".into()),
        source: Some("overlay".into()),
        mounted_at: Some("/".into()),
        options: vec!["rw".into(), "relatime".into()],
        days: vec![],
        ..directory
    });
    host
}
