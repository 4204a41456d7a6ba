//! One interface.

use ringtap_capture::host::{Interface, InterfaceKind, Interrupt, Machine};
use ringtap_report::text::counted;

use crate::machine;
use crate::report::{Level, Report};
use crate::text::{list, quoted, share};

pub(super) fn judge(interface: &Interface, machine: &Machine, report: &mut Report) {
    link(interface, report);
    // The loopback has neither rings nor a cable, and what is switched there is for all programs of this
    // machine.
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
        InterfaceKind::Loopback => _ = report.note(
            "kind",
            "the loopback",
            "It carries only what this machine says to itself, and a capture sees each packet once as sent and once as received.",
        ),
        InterfaceKind::Virtual(kind) => _ = report.note(
            "kind",
            format!("virtual: {}", driver.unwrap_or(kind)),
            "It has no ring and no clock of its own: packets are received by the CPU that sends them.",
        ),
        InterfaceKind::Device => report.good("driver", driver.unwrap_or("unknown").to_string()),
    }
    if !interface.up {
        report.bad("link", "switched off", "No packet comes in.").mend(format!("ip link set dev {name} up"));
    } else if interface.carrier == Some(false) {
        report.bad(
            "link",
            "no carrier",
            "Nobody is at the other end: the cable, the transceiver, or the mirror port that is not switched on.",
        );
    } else if interface.full_duplex == Some(false) {
        report
            .bad(
                "link",
                format!("{}, half duplex", speed(interface)),
                "A mirror of two directions cannot pass one wire in turns; the other end did not negotiate.",
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
                    "Longer frames are thrown away by the card, and a mirror brings frames of any length that the network has.",
                )
                .mend(format!("ip link set dev {name} mtu 1500")),
            _ => report.good("MTU", format!("{mtu} bytes")),
        }
    }
    match interface.promiscuous {
        true => report.good("promiscuity", "on"),
        false if interface.kind == InterfaceKind::Loopback => {}
        false => report.good("promiscuity", "off; a capture switches it on for as long as it lasts"),
    }
    if let Some(master) = &interface.master {
        report.note(
            "member",
            format!("of {master}"),
            "Its packets show here as they arrive and again on the interface that it belongs to: capture on one of the two.",
        );
    }
}

fn speed(interface: &Interface) -> String {
    match interface.speed {
        None => "speed not told".to_string(),
        Some(mbit) if mbit >= 1000 && mbit % 100 == 0 => format!("{} Gbit/s", f64::from(mbit) / 1e3),
        Some(mbit) => format!("{mbit} Mbit/s"),
    }
}

fn rings(interface: &Interface, report: &mut Report) {
    let Some(rings) = interface.rings else { return };
    let is = format!("{} of at most {} descriptors to receive", rings.rx, rings.rx_max);
    if rings.rx < rings.rx_max.min(DEEP) {
        report
            .warn(
                "ring",
                is,
                "The ring holds what comes while the CPU is elsewhere; packets that find it full are lost in the card.",
            )
            .mend(format!("ethtool -G {} rx {}", quoted(&interface.name), rings.rx_max.min(DEEP)));
    } else {
        report.good("ring", is);
    }
}

fn coalescing(interface: &Interface, report: &mut Report) {
    let Some(coalescing) = interface.coalescing else { return };
    let stamped = interface.timestamping.is_some_and(|stamps| stamps.hardware && stamps.every_packet);
    let is = match (coalescing.adaptive_rx, coalescing.rx_usecs, coalescing.rx_frames) {
        (true, ..) => "adapted to the load by the driver".to_string(),
        (false, 0, 0 | 1) => "an interrupt for each packet".to_string(),
        (false, 0, frames) => format!("an interrupt after {frames} packets"),
        (false, usecs, 0 | 1) => format!("an interrupt {usecs} us after a packet"),
        (false, usecs, frames) => format!("an interrupt {usecs} us after a packet, or after {frames}"),
    };
    let mend = format!("ethtool -C {} adaptive-rx off rx-usecs 30", quoted(&interface.name));
    match coalescing.rx_usecs {
        _ if coalescing.adaptive_rx && !stamped => _ = report
            .note(
                "coalescing",
                is,
                "The kernel stamps packets after the interrupt: a delay that changes shows up as jitter that the network does not have.",
            )
            .mend(mend),
        101.. if !stamped => _ = report
            .warn("coalescing", is, "The kernel stamps packets after the interrupt, so that delay is in every jitter figure.")
            .mend(mend),
        _ => report.good("coalescing", is),
    }
}

fn channels(interface: &Interface, machine: &Machine, report: &mut Report) {
    let cpus = machine.cpus.len().max(1) as u32;
    let Some(channels) = interface.channels else { return };
    let is = format!("{} of at most {} queues to receive, for {cpus} CPUs", channels.rx, channels.rx_max);
    let best = channels.rx_max.min(cpus);
    if channels.rx < best && channels.rx == 1 {
        let kind = if channels.combined { "combined" } else { "rx" };
        report
            .warn("queues", is, "One queue is one CPU: the rest of the machine cannot help.")
            .mend(format!("ethtool -L {} {kind} {best}", quoted(&interface.name)));
    } else if channels.rx_max == 1 && cpus > 1 && interface.steered.iter().all(Vec::is_empty) {
        let mask = cpu_mask(&machine.cpus);
        report
            .note(
                "queues",
                is,
                "One queue is one CPU for receiving; the kernel can hand packets on to others (RPS), at some cost for each.",
            )
            .mend(format!("echo {mask} > /sys/class/net/{}/queues/rx-0/rps_cpus", quoted(&interface.name)));
    } else {
        report.good("queues", is);
    }
}

/// CPUs as the kernel's masks are written.
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

/// Interrupts of queues that receive; a card has others for its management.
fn receiving(interface: &Interface) -> Vec<&Interrupt> {
    let other = ["config", "output", "tx-", "-tx", "async", "cmd", "misc", "event", "ctrl", "fdir", "mbx"];
    let of_queue = |interrupt: &&Interrupt| {
        let name = interrupt.name.to_ascii_lowercase();
        let both = name.contains("txrx") || name.contains("tx-rx");
        // Without another sign, a card with one interrupt uses it for all.
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
    let is = format!("{} of receive queues, on CPU {}", counted(all.len() as u64, "interrupt"), list(&cpus));
    let pin = |places: &[usize]| -> Vec<String> {
        let place = |index: usize| places.get(index % places.len().max(1)).copied().unwrap_or(0);
        let command = |(index, interrupt): (usize, &&Interrupt)| {
            format!("echo {} > /proc/irq/{}/smp_affinity_list", place(index), interrupt.number)
        };
        all.iter().enumerate().map(command).collect()
    };
    let far = !interface.local_cpus.is_empty() && !cpus.iter().all(|cpu| interface.local_cpus.contains(cpu));
    if all.len() > 1 && cpus.len() == 1 && machine.cpus.len() > 1 {
        let places = if interface.local_cpus.is_empty() { &machine.cpus } else { &interface.local_cpus };
        report
            .warn("interrupts", is, "All queues wake the same CPU: it is full while the others idle.")
            .mend = pin(places);
    } else if machine.nodes > 1 && far {
        report
            .warn(
                "interrupts",
                is,
                "A CPU of another memory node fetches every packet over the link between the nodes.",
            )
            .mend = pin(&interface.local_cpus);
    } else {
        report.good("interrupts", is);
    }
}

/// An offload that a capture is better without.
struct Offload {
    /// In the kernel.
    feature: &'static str,
    /// In what is shown.
    topic: &'static str,
    /// For `ethtool -K`.
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
        why: "The card glues packets together before anybody sees them: sizes, times and numbers are not those of the wire.",
    },
    Offload {
        feature: "rx-gro-hw",
        topic: "hardware GRO",
        option: "rx-gro-hw",
        level: Level::Warn,
        why: "The card glues TCP segments together before anybody sees them: sizes and times are not those of the wire.",
    },
    Offload {
        feature: "rx-udp-gro-forwarding",
        topic: "UDP GRO",
        option: "rx-udp-gro-forwarding",
        level: Level::Bad,
        why: "RTP packets that follow one another closely are glued into one: packets, loss and jitter come out wrong.",
    },
    Offload {
        feature: "rx-gro-list",
        topic: "UDP GRO (list)",
        option: "rx-gro-list",
        level: Level::Bad,
        why: "RTP packets that follow one another closely are chained into one: packets, loss and jitter come out wrong.",
    },
    Offload {
        feature: "rx-gro",
        topic: "GRO",
        option: "gro",
        level: Level::Warn,
        why: "The kernel glues TCP segments together before a capture sees them: sizes and times of SIP over TCP are not those of the wire.",
    },
    Offload {
        feature: "rx-vlan-hw-parse",
        topic: "VLAN offload",
        option: "rxvlan",
        level: Level::Note,
        why: "The card takes VLAN tags out of the frames: AF_PACKET puts them back, AF_XDP cannot, and then VLANs are not told apart.",
    },
    Offload {
        feature: "rx-ntuple-filter",
        topic: "ntuple filters",
        option: "ntuple",
        level: Level::Note,
        why: "Rules in the card may send some packets to one queue or drop them: `ethtool -n` lists the rules.",
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
        let is = if feature.changeable { "on" } else { "on, and the driver does not let it be switched off" };
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
        "A card that asks the switch to wait moves the loss to the mirror port, where nobody counts it.",
    );
    finding.mend(format!("ethtool -A {} autoneg off rx off tx off", quoted(&interface.name)));
}

fn xdp(interface: &Interface, host: &Machine, report: &mut Report) {
    let driver = interface.driver.as_ref().map_or("", |driver| driver.name.as_str());
    match interface.xdp {
        Some(xdp) if xdp.zero_copy => report.good("XDP", "native, AF_XDP without a copy"),
        Some(xdp) if xdp.native => report.good("XDP", "native, AF_XDP with a copy"),
        Some(_) if interface.kind == InterfaceKind::Loopback => {}
        Some(_) => _ = report.note(
            "XDP",
            "generic only",
            "The driver cannot run it: AF_XDP works, but gains nothing over AF_PACKET here.",
        ),
        None if interface.kind != InterfaceKind::Device => {}
        None if NATIVE.contains(&driver) => {
            let old = host.kernel.as_deref().and_then(machine::version).is_some_and(|version| version < (6, 3));
            let told = if old { " (kernels before 6.3 do not tell)" } else { "" };
            report.good("XDP", format!("{driver} is known to be native, AF_XDP without a copy{told}"));
        }
        None => _ = report.note(
            "XDP",
            "not told by this kernel",
            "Kernels from 6.3 on tell what a driver can do; whether AF_XDP is faster than AF_PACKET here has to be tried.",
        ),
    }
}

fn timestamps(interface: &Interface, report: &mut Report) {
    let Some(stamps) = interface.timestamping else { return };
    match (stamps.hardware, stamps.every_packet) {
        (true, true) => {
            let clock = stamps.clock.map_or(String::new(), |clock| format!(", clock /dev/ptp{clock}"));
            report.good("timestamps", format!("by the card, for every packet{clock}"));
        }
        (true, false) => _ = report.note(
            "timestamps",
            "by the card for PTP only, else by the kernel",
            "Jitter includes what the interrupt and the kernel add: tens of microseconds, more under load.",
        ),
        // Nobody expects a clock in a loopback or a veth.
        (false, _) if interface.kind != InterfaceKind::Device => report.good("timestamps", "by the kernel"),
        (false, _) => _ = report.note(
            "timestamps",
            "by the kernel",
            "Jitter includes what the interrupt and the kernel add: tens of microseconds, more under load.",
        ),
    }
}

fn numa(interface: &Interface, report: &mut Report) {
    if let Some(node) = interface.numa {
        report.note(
            "memory node",
            format!("{node}, CPUs {}", list(&interface.local_cpus)),
            "Workers are quickest on these CPUs: pin them there, and keep other load away.",
        );
    }
}

fn losses(interface: &Interface, report: &mut Report) {
    let counters = interface.counters;
    let own: Vec<String> =
        interface.driver_losses.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let lost = counters.missed.saturating_add(counters.fifo);
    let told = if own.is_empty() { String::new() } else { format!("; the driver counts {}", own.join(", ")) };
    if lost > 0 || !own.is_empty() {
        let share = share(lost, counters.received.saturating_add(lost));
        let is = format!(
            "{lost} of {} missed by the card ({share}){told}",
            counters.received.saturating_add(lost)
        );
        let why = "Packets came and found no descriptor: the ring is too small, or its CPU too busy. These are totals since the start.";
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
            format!("{} of {} by the kernel ({})", counters.dropped, counters.received, share(counters.dropped, counters.received)),
            "Mostly frames of protocols that nobody here listens to, which a capture still sees; a full backlog counts here too.",
        );
    }
    if counters.crc > 0 || counters.errors > lost.saturating_add(counters.crc) {
        report.warn(
            "errors",
            format!("{} damaged on the way, {} errors of all kinds", counters.crc, counters.errors),
            "Damaged frames are packets lost for the analysis: clean or change the fibre, the cable, the transceiver.",
        );
    }
}

/// More descriptors gain nothing: they only spread over more cache.
const DEEP: u32 = 4_096;
/// Drivers with AF_XDP zero copy in Linux 6.1.
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
