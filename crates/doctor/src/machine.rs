//! The machine as a whole.

use ringtap_capture::host::{Capability, Limit, Machine};
use ringtap_report::text::counted;

use crate::report::Report;
use crate::text::{bytes, list, share};

pub(super) fn judge(machine: &Machine, report: &mut Report) {
    kernel(machine, report);
    rights(machine, report);
    processors(machine, report);
    memory(machine, report);
    clock(machine, report);
    network(machine, report);
}

fn kernel(machine: &Machine, report: &mut Report) {
    let release = machine.kernel.as_deref().unwrap_or("unknown");
    match version(release) {
        Some(version) if version < (5, 9) => {
            _ = report.warn(
                "kernel",
                release,
                "Kernels before 5.9 have no CAP_BPF, and their AF_XDP cannot share packet memory between \
                    queues: use AF_PACKET.",
            )
        }
        _ => report.good("kernel", release),
    }
    if let Some(container) = &machine.container {
        report.note(
            "container",
            format!("{container}: only the interfaces of its network namespace are visible"),
            "The card's counters, its interrupts and the CPU governor belong to the host: run `ringtap \
                doctor` there too.",
        );
    }
    if machine.hypervisor {
        report.note(
            "virtual machine",
            "a hypervisor shares the CPUs and the network",
            "Packets that the hypervisor drops or delays are not counted on this machine: check the host, \
                and the steal time in `top`.",
        );
    }
}

/// `6.1.0-25-amd64` as (6, 1).
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn rights(machine: &Machine, report: &mut Report) {
    const GRANT: &str = "setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep \"$(command -v ringtap)\"";
    match (machine.has(Capability::NetRaw), machine.has(Capability::NetAdmin)) {
        (Some(true), Some(true)) => report.good("rights", "may capture and configure interfaces"),
        (Some(true), _) => {
            _ = report
                .note(
                    "rights",
                    "may capture, but not configure interfaces (no CAP_NET_ADMIN)",
                    "Hardware timestamps and AF_XDP need it; AF_PACKET does not.",
                )
                .mend(GRANT)
        }
        (Some(false), _) => {
            _ = report
                .bad(
                    "rights",
                    "may not capture (no CAP_NET_RAW)",
                    "Opening a packet socket needs CAP_NET_RAW.",
                )
                .mend(GRANT)
        }
        (None, _) => {}
    }
    let enough =
        |limit| matches!(limit, Limit::Unlimited) || matches!(limit, Limit::Bytes(most) if most >= LOCKED);
    let exempt = machine.has(Capability::IpcLock) == Some(true);
    match machine.locked {
        Some(Limit::Bytes(most)) if !enough(Limit::Bytes(most)) && !exempt => {
            _ = report
                .warn(
                    "locked memory",
                    format!("at most {}", bytes(most)),
                    "AF_XDP locks its packet memory: opening a queue fails if the limit is lower.",
                )
                .mend("ulimit -l unlimited")
                .mend("systemctl edit ringtap   # [Service] LimitMEMLOCK=infinity")
        }
        Some(Limit::Bytes(most)) => report.good(
            "locked memory",
            format!("{}{}", bytes(most), if exempt { ", not enforced (CAP_IPC_LOCK)" } else { "" }),
        ),
        Some(Limit::Unlimited) => report.good("locked memory", "no limit"),
        None => {}
    }
}

fn processors(machine: &Machine, report: &mut Report) {
    let count = machine.cpus.len();
    let slow: Vec<String> = machine
        .governors
        .iter()
        .filter(|(name, _)| *name != "performance")
        .map(|(name, cpus)| format!("{name} on {cpus} of {count} CPUs"))
        .collect();
    if !slow.is_empty() {
        report
            .warn(
                "CPU governor",
                slow.join(", "),
                "A CPU that must first raise its clock loses packets at the start of a burst.",
            )
            .mend(
                "for f in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do echo performance > \
                    $f; done",
            );
    } else if !machine.governors.is_empty() {
        report.good("CPU governor", "performance");
    }
    if !machine.isolated.is_empty() {
        report.good(
            "CPU isolation",
            format!("CPUs {} are reserved for programs pinned to them", list(&machine.isolated)),
        );
    } else if count >= 4 {
        let last = list(&machine.cpus[count / 2..]);
        report
            .note(
                "CPU isolation",
                format!("none of {count} CPUs"),
                "Near line rate, a receive ring overflows when another program interrupts its worker for a \
                    few milliseconds.",
            )
            .mend(format!(
                "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus={last} nohz_full={last}\"' > \
                    /etc/default/grub.d/ringtap.cfg && update-grub   # then reboot"
            ));
    }
    if machine.smt == Some(true) {
        report.note(
            "SMT",
            "two threads share each core",
            "Two workers on one core slow each other down: pin each worker to a core of its own (`lscpu -e` \
                lists them).",
        );
    }
    if machine.runs("irqbalance") {
        report
            .warn(
                "irqbalance",
                "is running",
                "It moves the card's interrupts between CPUs during a capture; each move reorders packets \
                    and leaves the caches cold.",
            )
            .mend("systemctl disable --now irqbalance");
    } else {
        report.good("irqbalance", "is not running");
    }
}

fn memory(machine: &Machine, report: &mut Report) {
    let memory = machine.memory;
    if memory.huge > 0 {
        let free = format!("{} of {} free, {} each", memory.huge_free, memory.huge, bytes(memory.huge_size));
        report.good("huge pages", free);
    } else if memory.huge_size > 0 {
        report
            .note(
                "huge pages",
                "none reserved",
                "Without huge pages, address translation for tables and rings costs a few percent of the \
                    packet rate.",
            )
            .mend("sysctl -w vm.nr_hugepages=512");
    }
    if memory.total > 0 && memory.available < memory.total / 20 {
        report.warn(
            "memory",
            format!("{} of {} available", bytes(memory.available), bytes(memory.total)),
            "A machine that swaps loses packets; ringtap allocates its capture tables when it starts.",
        );
    } else if memory.total > 0 {
        report.good("memory", format!("{} of {} available", bytes(memory.available), bytes(memory.total)));
    }
}

fn clock(machine: &Machine, report: &mut Report) {
    let clock = &machine.clock;
    match clock.source.as_deref() {
        Some(slow @ ("hpet" | "acpi_pm" | "jiffies" | "pit")) => {
            let finding = report.bad(
                "clock source",
                slow,
                "Reading this clock is slow: at a million packets per second, timestamps alone take a whole \
                    CPU.",
            );
            if clock.sources.iter().any(|source| source == "tsc") {
                finding.mend("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
            }
        }
        Some(source) => report.good("clock source", source),
        None => {}
    }
    let services: Vec<&str> = TIME_SERVICES.into_iter().filter(|name| machine.runs(name)).collect();
    match clock.synchronised {
        Some(true) => {
            let by = if services.is_empty() { String::new() } else { format!(" by {}", services.join(", ")) };
            let error = clock.error.map_or(String::new(), |error| {
                format!(", error at most {:.1} ms", error.as_secs_f64() * 1e3)
            });
            report.good("clock", format!("synchronised{by}{error}"));
        }
        Some(false) if services.contains(&"ptp4l") || services.contains(&"phc2sys") => {
            _ = report.note(
                "clock",
                format!("not marked as synchronised, although {} is running", services.join(" and ")),
                "ptp4l sets only the card's clock; phc2sys sets the system clock from it: check the log of \
                    phc2sys.",
            )
        }
        Some(false) => {
            _ = report
                .warn(
                    "clock",
                    "not synchronised by NTP or PTP",
                    "Records of several machines and logs of other programs can be compared only if their \
                        clocks agree.",
                )
                .mend(if services.is_empty() {
                    "apt-get install chrony"
                } else {
                    "chronyc tracking   # or \
                        timedatectl timesync-status"
                })
        }
        None => {}
    }
}

fn network(machine: &Machine, report: &mut Report) {
    let network = &machine.network;
    let (processed, dropped, squeezed) = network.softnet.iter().fold((0_u64, 0_u64, 0_u64), |sum, cpu| {
        (
            sum.0.saturating_add(cpu.processed),
            sum.1.saturating_add(cpu.dropped),
            sum.2.saturating_add(cpu.squeezed),
        )
    });
    if let Some(backlog) = network.backlog {
        let is = format!(
            "{backlog} packets per CPU, {dropped} of {processed} dropped ({})",
            share(dropped, processed)
        );
        if dropped > 0 {
            let why = "Packets passed to a CPU by RPS or a veth wait in this queue; when it is full they \
                are dropped, and no interface counts them.";
            let command = format!(
                "sysctl -w net.core.netdev_max_backlog={}",
                backlog.saturating_mul(8).clamp(8_000, 300_000)
            );
            let much = dropped > processed / 10_000;
            if much { report.bad("kernel backlog", is, why) } else { report.warn("kernel backlog", is, why) }
                .mend(command);
        } else {
            report.good("kernel backlog", is);
        }
    }
    if let (Some(budget), Some(usecs)) = (network.budget, network.budget_usecs) {
        let is = format!("{budget} packets or {usecs} us per poll, {squeezed} polls cut short");
        // A poll that is cut short has received hundreds of packets: one cut in 10,000 packets is about one
        // poll in 30.
        if squeezed > 100 && squeezed > processed / 10_000 {
            report
                .warn(
                    "receive budget",
                    is,
                    "A poll that is cut short leaves packets in the card's ring until the next one.",
                )
                .mend(format!(
                    "sysctl -w net.core.netdev_budget={} net.core.netdev_budget_usecs={}",
                    budget.saturating_mul(2).max(600),
                    usecs.saturating_mul(2).max(8_000)
                ));
        } else {
            report.good("receive budget", is);
        }
    }
    match network.rmem_max {
        Some(most) if most < BUFFER => _ = report
            .note(
                "socket buffers",
                format!("at most {}", bytes(most)),
                "Capture rings do not use them, but sockets that receive bursts of mirrored packets (HEP) \
                    do.",
            )
            .mend(format!("sysctl -w net.core.rmem_max={}", BUFFER * 2)),
        Some(most) => report.good("socket buffers", format!("at most {}", bytes(most))),
        None => {}
    }
    if network.softnet.len() > 1 && processed > 100_000 {
        let busiest = network.softnet.iter().map(|cpu| cpu.processed).max().unwrap_or(0);
        if busiest > processed / 10 * 9 {
            report.note(
                "receiving CPUs",
                format!(
                    "one of {} received {} of all packets",
                    counted(network.softnet.len() as u64, "CPU"),
                    share(busiest, processed)
                ),
                "There is one receive queue, or all interrupts go to one CPU: see `queues` and `interrupts` \
                    of the interface.",
            );
        }
    }
}

/// One AF_XDP queue with a deep ring locks about this much memory.
const LOCKED: u64 = 64 << 20;
/// A quarter of a second at 100 Mbit/s.
const BUFFER: u64 = 4 << 20;
const TIME_SERVICES: [&str; 6] = ["chronyd", "ntpd", "ntpsec", "systemd-timesyn", "ptp4l", "phc2sys"];
