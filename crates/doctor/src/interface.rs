//! One interface.

use ringtap_capture::host::{Interface, InterfaceKind, Interrupt, Machine};
use ringtap_report::text::counted;

use crate::machine;
use crate::report::{Level, Report};
use crate::text::{list, quoted, share};

pub(super) fn judge(interface: &Interface, machine: &Machine, report: &mut Report) {
    link(interface, report);
    // The loopback has neither rings nor a cable, and its settings affect every program of this machine.
    if interface.kind != InterfaceKind::Loopback {
        rings(interface, report);
        coalescing(interface, report);
        if interface.kind == InterfaceKind::Device {
            channels(interface, machine, report);
        }
        interrupts(interface, machine, report);
        offloads(interface, report);
        pause(interface, report);
    }
    xdp(interface, machine, report);
    timestamps(interface, report);
    if machine.nodes > 1 {
        numa(interface, report);
    }
    losses(interface, report);
}

fn link(interface: &Interface, report: &mut Report) {
    let name = quoted(&interface.name);
    let driver = interface.driver.as_ref().map(|driver| driver.name.as_str()).filter(|name| !name.is_empty());
    match &interface.kind {
        InterfaceKind::Loopback => {
            _ = report.note(
                "kind",
                "the loopback",
                "It carries only what this machine sends to itself, and a capture sees each packet twice: as \
                    sent and as received.",
            )
        }
        InterfaceKind::Virtual(kind) => {
            _ = report.note(
                "kind",
                format!("virtual: {}", driver.unwrap_or(kind)),
                "It has neither a ring nor a clock: the CPU that sends a packet also receives it.",
            )
        }
        InterfaceKind::Device => report.good("driver", driver.unwrap_or("unknown").to_string()),
    }
    if !interface.up {
        report
            .bad("link", "down", "An interface that is down receives no packets.")
            .mend(format!("ip link set dev {name} up"));
    } else if interface.carrier == Some(false) {
        report.bad(
            "link",
            "no carrier",
            "There is no signal from the other end: check the cable, the transceiver, and whether the \
                mirror port is enabled.",
        );
    } else if interface.full_duplex == Some(false) {
        report
            .bad(
                "link",
                format!("{}, half duplex", speed(interface)),
                "A half-duplex link cannot carry a mirror of both directions; the other end did not \
                    negotiate.",
            )
            .mend(format!("ethtool -s {name} autoneg on"));
    } else {
        report.good("link", format!("up, {}", speed(interface)));
    }
    if let Some(mtu) = interface.mtu {
        match mtu {
            ..1500 => _ = report
                .warn(
                    "MTU",
                    format!("{mtu} bytes"),
                    "The card discards longer frames, and a mirror carries frames of every length used in \
                        the network.",
                )
                .mend(format!("ip link set dev {name} mtu 1500")),
            _ => report.good("MTU", format!("{mtu} bytes")),
        }
    }
    match interface.promiscuous {
        true => report.good("promiscuous mode", "on"),
        false if interface.kind == InterfaceKind::Loopback => {}
        false => report.good("promiscuous mode", "off; a capture turns it on while it runs"),
    }
    if let Some(master) = &interface.master {
        report.note(
            "member",
            format!("of {master}"),
            "Each packet appears here and again on that interface: capture on one of the two.",
        );
    }
}

fn speed(interface: &Interface) -> String {
    match interface.speed {
        None => "speed unknown".to_string(),
        Some(mbit) if mbit >= 1000 && mbit % 100 == 0 => format!("{} Gbit/s", f64::from(mbit) / 1e3),
        Some(mbit) => format!("{mbit} Mbit/s"),
    }
}

fn rings(interface: &Interface, report: &mut Report) {
    let Some(rings) = interface.rings else { return };
    let is = format!("{} of at most {} receive descriptors", rings.rx, rings.rx_max);
    if rings.rx < rings.rx_max.min(DEEP) {
        report
            .warn(
                "ring",
                is,
                "The ring holds packets while the CPU is busy elsewhere; when it is full, the card drops \
                    them.",
            )
            .mend(format!("ethtool -G {} rx {}", quoted(&interface.name), rings.rx_max.min(DEEP)));
    } else {
        report.good("ring", is);
    }
}

fn coalescing(interface: &Interface, report: &mut Report) {
    let Some(coalescing) = interface.coalescing else { return };
    let by_card = interface.timestamping.is_some_and(|stamps| stamps.hardware && stamps.every_packet);
    let is = match (coalescing.adaptive_rx, coalescing.rx_usecs, coalescing.rx_frames) {
        (true, ..) => "adjusted to the load by the driver".to_string(),
        (false, 0, 0 | 1) => "an interrupt for each packet".to_string(),
        (false, 0, frames) => format!("an interrupt after {frames} packets"),
        (false, usecs, 0 | 1) => format!("an interrupt {usecs} us after a packet"),
        (false, usecs, frames) => {
            format!("an interrupt {usecs} us after a packet, or after {frames} packets")
        }
    };
    let command = format!("ethtool -C {} adaptive-rx off rx-usecs 30", quoted(&interface.name));
    match coalescing.rx_usecs {
        _ if coalescing.adaptive_rx && !by_card => _ = report
            .note(
                "coalescing",
                is,
                "The kernel timestamps packets after the interrupt: a delay that varies looks like jitter \
                    of the network.",
            )
            .mend(command),
        101.. if !by_card => {
            _ = report
                .warn(
                    "coalescing",
                    is,
                    "The kernel timestamps packets after the interrupt, so this delay adds \
                        to every jitter figure.",
                )
                .mend(command)
        }
        _ => report.good("coalescing", is),
    }
}

fn channels(interface: &Interface, machine: &Machine, report: &mut Report) {
    let cpus = machine.cpus.len().max(1) as u32;
    let Some(channels) = interface.channels else { return };
    let is = format!("{} of at most {} receive queues, for {cpus} CPUs", channels.rx, channels.rx_max);
    let best = channels.rx_max.min(cpus);
    if channels.rx < best && channels.rx == 1 {
        let kind = if channels.combined { "combined" } else { "rx" };
        report
            .warn("queues", is, "One CPU serves one queue: the other CPUs cannot help.")
            .mend(format!("ethtool -L {} {kind} {best}", quoted(&interface.name)));
    } else if channels.rx_max == 1 && cpus > 1 && interface.steered.iter().all(Vec::is_empty) {
        let mask = cpu_mask(&machine.cpus);
        report
            .note(
                "queues",
                is,
                "One CPU serves the only queue; the kernel can pass packets on to other CPUs (RPS), at a \
                    cost for each packet.",
            )
            .mend(format!("echo {mask} > /sys/class/net/{}/queues/rx-0/rps_cpus", quoted(&interface.name)));
    } else {
        report.good("queues", is);
    }
}

/// A CPU mask in the kernel's format: `ff,00000001`.
fn cpu_mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(0, |last| last / 32);
    let word = |index: usize| {
        cpus.iter().filter(|cpu| **cpu / 32 == index).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let mut mask = format!("{:x}", word(words));
    for index in (0..words).rev() {
        mask.push_str(&format!(",{:08x}", word(index)));
    }
    mask
}

/// Interrupts of receive queues; a card has other interrupts for its management.
fn receiving(interface: &Interface) -> Vec<&Interrupt> {
    let other = ["config", "output", "tx-", "-tx", "async", "cmd", "misc", "event", "ctrl", "fdir", "mbx"];
    let of_queue = |interrupt: &&Interrupt| {
        let name = interrupt.name.to_ascii_lowercase();
        let both = name.contains("txrx") || name.contains("tx-rx");
        // A card with a single interrupt uses it for everything, whatever its name.
        both || !other.iter().any(|word| name.contains(word))
    };
    interface.interrupts.iter().filter(of_queue).collect()
}

fn interrupts(interface: &Interface, machine: &Machine, report: &mut Report) {
    let all = receiving(interface);
    if all.is_empty() {
        return;
    }
    let mut cpus: Vec<usize> = all
        .iter()
        .flat_map(|interrupt| match interrupt.goes_to.is_empty() {
            true => &interrupt.allowed,
            false => &interrupt.goes_to,
        })
        .copied()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    let is = format!("{}, on CPU {}", counted(all.len() as u64, "receive interrupt"), list(&cpus));
    let pin = |targets: &[usize]| -> Vec<String> {
        let target = |index: usize| targets.get(index % targets.len().max(1)).copied().unwrap_or(0);
        let command = |(index, interrupt): (usize, &&Interrupt)| {
            format!("echo {} > /proc/irq/{}/smp_affinity_list", target(index), interrupt.number)
        };
        all.iter().enumerate().map(command).collect()
    };
    let far = !interface.local_cpus.is_empty() && !cpus.iter().all(|cpu| interface.local_cpus.contains(cpu));
    if all.len() > 1 && cpus.len() == 1 && machine.cpus.len() > 1 {
        let targets = if interface.local_cpus.is_empty() { &machine.cpus } else { &interface.local_cpus };
        report
            .warn("interrupts", is, "All queues interrupt the same CPU: it saturates while the others idle.")
            .mend = pin(targets);
    } else if machine.nodes > 1 && far {
        report
            .warn(
                "interrupts",
                is,
                "A CPU of another NUMA node fetches every packet over the link between the nodes.",
            )
            .mend = pin(&interface.local_cpus);
    } else {
        report.good("interrupts", is);
    }
}

/// An offload that distorts or complicates a capture.
struct Offload {
    /// The kernel's name of the feature.
    feature: &'static str,
    /// The topic of the finding.
    topic: &'static str,
    /// The name for `ethtool -K`.
    option: &'static str,
    level: Level,
    why: &'static str,
}

const OFFLOADS: [Offload; 7] = [
    Offload {
        feature: "rx-lro",
        topic: "LRO",
        option: "lro",
        level: Level::Bad,
        why: "The card merges packets before a capture sees them: sizes, times and counts differ from those \
            on the wire.",
    },
    Offload {
        feature: "rx-gro-hw",
        topic: "hardware GRO",
        option: "rx-gro-hw",
        level: Level::Warn,
        why: "The card merges TCP segments before a capture sees them: sizes and times differ from those on \
            the wire.",
    },
    Offload {
        feature: "rx-udp-gro-forwarding",
        topic: "UDP GRO",
        option: "rx-udp-gro-forwarding",
        level: Level::Bad,
        why: "RTP packets in quick succession are merged into one: packet counts, loss and jitter are wrong.",
    },
    Offload {
        feature: "rx-gro-list",
        topic: "UDP GRO (list)",
        option: "rx-gro-list",
        level: Level::Bad,
        why: "RTP packets in quick succession are chained into one: packet counts, loss and jitter are \
            wrong.",
    },
    Offload {
        feature: "rx-gro",
        topic: "GRO",
        option: "gro",
        level: Level::Warn,
        why: "The kernel merges TCP segments before a capture sees them: sizes and times of SIP over TCP \
            differ from those on the wire.",
    },
    Offload {
        feature: "rx-vlan-hw-parse",
        topic: "VLAN offload",
        option: "rxvlan",
        level: Level::Note,
        why: "The card removes VLAN tags from frames. AF_PACKET restores them; AF_XDP cannot, and then \
            VLANs are not distinguished.",
    },
    Offload {
        feature: "rx-ntuple-filter",
        topic: "ntuple filters",
        option: "ntuple",
        level: Level::Note,
        why: "Rules in the card may direct packets to one queue or drop them: `ethtool -n` lists the rules.",
    },
];

fn offloads(interface: &Interface, report: &mut Report) {
    let mut off = Vec::new();
    for offload in &OFFLOADS {
        let Some(feature) = interface.feature(offload.feature) else { continue };
        if !feature.active {
            off.push(offload.topic);
            continue;
        }
        let is = if feature.changeable { "on" } else { "on; the driver cannot turn it off" };
        let finding = report.add(offload.level, offload.topic, is, Some(offload.why));
        if feature.changeable {
            finding.mend(format!("ethtool -K {} {} off", quoted(&interface.name), offload.option));
        }
    }
    if !off.is_empty() {
        report.good("offloads", format!("off: {}", off.join(", ")));
    }
}

fn pause(interface: &Interface, report: &mut Report) {
    let Some(pause) = interface.pause else { return };
    let is = match (pause.rx, pause.tx) {
        (true, true) => "obeyed and sent",
        (true, false) => "obeyed",
        (false, true) => "sent",
        (false, false) => return report.good("pause frames", "neither sent nor obeyed"),
    };
    let finding = report.warn(
        "pause frames",
        is,
        "A card that makes the switch wait moves the loss to the mirror port, where nobody counts it.",
    );
    finding.mend(format!("ethtool -A {} autoneg off rx off tx off", quoted(&interface.name)));
}

fn xdp(interface: &Interface, host: &Machine, report: &mut Report) {
    let driver = interface.driver.as_ref().map_or("", |driver| driver.name.as_str());
    match interface.xdp {
        Some(xdp) if xdp.zero_copy => report.good("XDP", "native, AF_XDP with zero copy"),
        Some(xdp) if xdp.native => report.good("XDP", "native, AF_XDP with a copy"),
        Some(_) if interface.kind == InterfaceKind::Loopback => {}
        Some(_) => {
            _ = report.note(
                "XDP",
                "generic only",
                "The driver has no native XDP: AF_XDP works, but is no faster than AF_PACKET here.",
            )
        }
        None if interface.kind != InterfaceKind::Device => {}
        None if NATIVE.contains(&driver) => {
            let old =
                host.kernel.as_deref().and_then(machine::version).is_some_and(|version| version < (6, 3));
            let since = if old { " (only kernels from 6.3 on report it)" } else { "" };
            report.good("XDP", format!("{driver} is known to be native, AF_XDP with zero copy{since}"));
        }
        None => {
            _ = report.note(
                "XDP",
                "not reported by this kernel",
                "Kernels from 6.3 on report what a driver supports. On this one, only a trial shows whether \
                    AF_XDP is faster than AF_PACKET.",
            )
        }
    }
}

fn timestamps(interface: &Interface, report: &mut Report) {
    let Some(stamps) = interface.timestamping else { return };
    match (stamps.hardware, stamps.every_packet) {
        (true, true) => {
            let clock = stamps.clock.map_or(String::new(), |clock| format!(", clock /dev/ptp{clock}"));
            report.good("timestamps", format!("by the card, for every packet{clock}"));
        }
        (true, false) => {
            _ = report.note(
                "timestamps",
                "by the card for PTP only, otherwise by the kernel",
                "Jitter includes the delay of the interrupt and the kernel: tens of microseconds, more under \
                    load.",
            )
        }
        // A loopback or a veth has no clock to timestamp with.
        (false, _) if interface.kind != InterfaceKind::Device => report.good("timestamps", "by the kernel"),
        (false, _) => {
            _ = report.note(
                "timestamps",
                "by the kernel",
                "Jitter includes the delay of the interrupt and the kernel: tens of microseconds, more under \
                    load.",
            )
        }
    }
}

fn numa(interface: &Interface, report: &mut Report) {
    if let Some(node) = interface.numa {
        report.note(
            "NUMA node",
            format!("{node}, CPUs {}", list(&interface.local_cpus)),
            "Workers run fastest on these CPUs: pin them there and keep other load away.",
        );
    }
}

fn losses(interface: &Interface, report: &mut Report) {
    let counters = interface.counters;
    let own: Vec<String> =
        interface.driver_losses.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let lost = counters.missed.saturating_add(counters.fifo);
    let by_driver =
        if own.is_empty() { String::new() } else { format!("; the driver counts {}", own.join(", ")) };
    if lost > 0 || !own.is_empty() {
        let share = share(lost, counters.received.saturating_add(lost));
        let is = format!(
            "{lost} of {} missed by the card ({share}){by_driver}",
            counters.received.saturating_add(lost)
        );
        let why = "Packets arrived when the ring had no free descriptor: the ring is too small, or its CPU \
            too busy. The counts are totals since boot.";
        let much = lost > counters.received / 10_000;
        let finding = if much { report.bad("losses", is, why) } else { report.warn("losses", is, why) };
        finding.mend(format!(
            "ethtool -S {} | grep -iE 'miss|drop|no_|fifo'   # twice: does it grow?",
            quoted(&interface.name)
        ));
    } else {
        report.good("losses", format!("none of {} missed by the card", counters.received));
    }
    if counters.dropped > counters.received / 1_000 && counters.dropped > 0 {
        report.note(
            "dropped",
            format!(
                "{} of {} by the kernel ({})",
                counters.dropped,
                counters.received,
                share(counters.dropped, counters.received)
            ),
            "Mostly frames of protocols that no program here receives; a capture still sees them. Drops by \
                a full backlog count here too.",
        );
    }
    if counters.crc > 0 || counters.errors > lost.saturating_add(counters.crc) {
        report.warn(
            "errors",
            format!(
                "{} frames with a wrong checksum (CRC), {} errors in total",
                counters.crc, counters.errors
            ),
            "Damaged frames are lost to the analysis: clean or replace the fibre, the cable or the \
                transceiver.",
        );
    }
}

/// More descriptors than this gain nothing: they only take up more cache.
const DEEP: u32 = 4_096;
/// Drivers that support AF_XDP with zero copy in Linux 6.1.
const NATIVE: [&str; 9] = ["i40e", "ice", "ixgbe", "igb", "igc", "mlx5_core", "nfp", "stmmac", "bnxt_en"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_many_cpus() {
        assert_eq!(cpu_mask(&[0, 1]), "3");
        assert_eq!(cpu_mask(&[0, 33]), "2,00000001");
        assert_eq!(cpu_mask(&[]), "0");
    }
}
