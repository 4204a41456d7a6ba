//! The machine: processors, memory, clock, kernel settings, and this process's permissions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::sys;
use super::tree::Tree;

/// Properties of the machine as a whole.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Release of the kernel: `6.1.0-25-amd64`.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine.
    pub hypervisor: bool,
    /// The container of this process, if known.
    pub container: Option<String>,
    /// Online CPUs.
    pub cpus: Vec<usize>,
    /// Isolated CPUs (`isolcpus`).
    pub isolated: Vec<usize>,
    /// Whether SMT is active.
    pub smt: Option<bool>,
    /// Number of CPUs by frequency governor.
    pub governors: BTreeMap<String, usize>,
    /// Number of NUMA nodes.
    pub nodes: usize,
    /// Memory.
    pub memory: Memory,
    /// This process's limit of locked memory.
    pub locked: Option<Limit>,
    /// This process's effective capabilities as a mask.
    pub capabilities: Option<u64>,
    /// Running programs that matter for a capture: `irqbalance`, `chronyd`, `ptp4l`, ...
    pub programs: Vec<String>,
    /// The clock.
    pub clock: SystemClock,
    /// Settings and counters of the network stack.
    pub network: Network,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// Available memory.
    pub available: u64,
    /// Huge pages set aside.
    pub huge: u64,
    /// Those of them not in use.
    pub huge_free: u64,
    /// Bytes of one.
    pub huge_size: u64,
}

/// A resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// None.
    Unlimited,
    /// Bytes.
    Bytes(u64),
}

/// A capability of the process, by its bit (`include/uapi/linux/capability.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Configuring interfaces; promiscuous mode.
    NetAdmin = 12,
    /// Packet sockets.
    NetRaw = 13,
    /// Locked memory past the limit.
    IpcLock = 14,
    /// eBPF.
    Bpf = 39,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemClock {
    /// Its clock source: `tsc`.
    pub source: Option<String>,
    /// Other available clock sources.
    pub sources: Vec<String>,
    /// Whether it is synchronised.
    pub synchronised: Option<bool>,
    /// Its maximum error.
    pub error: Option<Duration>,
}

/// The network stack's settings under `/proc/sys/net/core`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Largest receive buffer of a socket, in bytes.
    pub rmem_max: Option<u64>,
    /// Maximum packets queued for a CPU by RPS or a veth.
    pub backlog: Option<u64>,
    /// Packet budget of one receive round.
    pub budget: Option<u64>,
    /// Time budget of one receive round, in microseconds.
    pub budget_usecs: Option<u64>,
    /// By CPU.
    pub softnet: Vec<Softnet>,
}

/// A line of `/proc/net/softnet_stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Packets.
    pub processed: u64,
    /// Packets dropped because the backlog was full.
    pub dropped: u64,
    /// Receive rounds that ended with work left.
    pub squeezed: u64,
}

impl Machine {
    /// Whether this process has a capability; `None` if unknown.
    pub fn has(&self, capability: Capability) -> Option<bool> {
        self.capabilities.map(|mask| mask >> capability as u32 & 1 == 1)
    }

    /// Whether a program runs.
    pub fn runs(&self, program: &str) -> bool {
        self.programs.iter().any(|name| name == program)
    }
}

/// A quarter of the memory that this process may use in bytes, which is what a program may hold for others by
/// default; 1 GiB where the kernel does not tell.
pub fn quarter_of_memory() -> usize {
    usize::try_from(allowed_memory(&Tree::new("/")) / 4)
        .ok()
        .filter(|quarter| *quarter > 0)
        .unwrap_or(1 << 30)
}

/// The machine's memory in bytes, or what a control group of this process allows, if that is less: version 2,
/// in which each group above limits too. 0 where the kernel does not tell.
fn allowed_memory(tree: &Tree) -> u64 {
    let total = memory(&tree.text("proc/meminfo").unwrap_or_default()).total;
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let groups = group.into_iter().flat_map(|group| Path::new(group).ancestors());
    let limits = groups.filter_map(|group| {
        let limit = Path::new("sys/fs/cgroup").join(group).join("memory.max");
        // "max" is no limit.
        tree.text(limit)?.trim().parse::<u64>().ok()
    });
    limits.fold(total, u64::min)
}

/// Reads the properties of the machine.
pub(crate) fn inspect(tree: &Tree) -> Machine {
    let cpu = "sys/devices/system/cpu";
    let status = tree.text("proc/self/status").unwrap_or_default();
    let capabilities = field(&status, "CapEff:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let (synchronised, error) = sys::clock().unzip();
    let clock = "sys/devices/system/clocksource/clocksource0";
    let sources = tree.text(format!("{clock}/available_clocksource")).unwrap_or_default();
    let core = |name: &str| tree.value(format!("proc/sys/net/core/{name}"));
    Machine {
        kernel: tree.text("proc/sys/kernel/osrelease"),
        hypervisor: hypervisor(tree),
        container: container(tree),
        cpus: tree.cpus(format!("{cpu}/online")),
        isolated: tree.cpus(format!("{cpu}/isolated")),
        smt: tree.value::<u8>(format!("{cpu}/smt/active")).map(|active| active == 1),
        governors: governors(tree),
        nodes: tree.cpus("sys/devices/system/node/online").len(),
        memory: memory(&tree.text("proc/meminfo").unwrap_or_default()),
        locked: locked(&tree.text("proc/self/limits").unwrap_or_default()),
        capabilities,
        programs: programs(tree),
        clock: SystemClock {
            source: tree.text(format!("{clock}/current_clocksource")),
            sources: sources.split_whitespace().map(str::to_owned).collect(),
            synchronised,
            error,
        },
        network: Network {
            rmem_max: core("rmem_max"),
            backlog: core("netdev_max_backlog"),
            budget: core("netdev_budget"),
            budget_usecs: core("netdev_budget_usecs"),
            softnet: softnet(&tree.text("proc/net/softnet_stat").unwrap_or_default()),
        },
    }
}

/// The text after a name at the start of a line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn hypervisor(tree: &Tree) -> bool {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
        || tree.exists("sys/hypervisor/type")
}

fn container(tree: &Tree) -> Option<String> {
    // systemd's note to those inside, then the marks that docker and podman leave.
    let told = tree.text("run/systemd/container").filter(|name| !name.is_empty());
    let marked = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    told.or_else(|| marked.iter().find(|(file, _)| tree.exists(file)).map(|(_, name)| (*name).to_owned()))
}

fn governors(tree: &Tree) -> BTreeMap<String, usize> {
    let policies = "sys/devices/system/cpu/cpufreq";
    let mut found = BTreeMap::new();
    for policy in tree.names(policies) {
        if let Some(governor) = tree.text(format!("{policies}/{policy}/scaling_governor")) {
            let cpus = tree.text(format!("{policies}/{policy}/affected_cpus")).unwrap_or_default();
            *found.entry(governor).or_default() += cpus.split_whitespace().count().max(1);
        }
    }
    found
}

fn memory(text: &str) -> Memory {
    let number = |name: &str| field(text, name)?.split(' ').next()?.parse::<u64>().ok();
    let kib = |name: &str| number(name).unwrap_or(0).saturating_mul(1024);
    Memory {
        total: kib("MemTotal:"),
        available: kib("MemAvailable:"),
        huge: number("HugePages_Total:").unwrap_or(0),
        huge_free: number("HugePages_Free:").unwrap_or(0),
        huge_size: kib("Hugepagesize:"),
    }
}

fn locked(text: &str) -> Option<Limit> {
    let soft = field(text, "Max locked memory")?.split_whitespace().next()?;
    if soft == "unlimited" { Some(Limit::Unlimited) } else { soft.parse().ok().map(Limit::Bytes) }
}

/// Which of [`KNOWN`] run, each once.
fn programs(tree: &Tree) -> Vec<String> {
    let processes =
        tree.names("proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let mut found: Vec<String> = processes
        .filter_map(|process| tree.text(format!("proc/{process}/comm")))
        .filter(|name| KNOWN.contains(&name.as_str()))
        .collect();
    found.sort();
    found.dedup();
    found
}

fn softnet(text: &str) -> Vec<Softnet> {
    let line = |line: &str| {
        let mut fields = line.split_whitespace().map(|field| u64::from_str_radix(field, 16).ok());
        Some(Softnet { processed: fields.next()??, dropped: fields.next()??, squeezed: fields.next()?? })
    };
    text.lines().filter_map(line).collect()
}

/// The kernel cuts names of processes to 15 bytes.
const KNOWN: [&str; 7] = ["irqbalance", "chronyd", "ntpd", "ntpsec", "systemd-timesyn", "ptp4l", "phc2sys"];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_texts_of_the_kernel_are_read() {
        let meminfo = "MemTotal:       16384 kB\nMemAvailable:    8192 kB\nHugePages_Total:      16\n\
            HugePages_Free:        9\nHugepagesize:       2048 kB\n";
        let expected =
            Memory { total: 16 << 20, available: 8 << 20, huge: 16, huge_free: 9, huge_size: 2 << 20 };
        assert_eq!(memory(meminfo), expected);
        let limits = |soft: &str| {
            format!("Limit  Soft Limit  Hard Limit  Units\nMax locked memory         {soft}   x   bytes\n")
        };
        assert_eq!(locked(&limits("8388608")), Some(Limit::Bytes(8 << 20)));
        assert_eq!(locked(&limits("unlimited")), Some(Limit::Unlimited));
        assert_eq!(locked(""), None);
        let softnet = softnet("0000000a 00000001 00000002 0 0\nffffffff 00000000 00000000\nx\n");
        assert_eq!(softnet[0], Softnet { processed: 10, dropped: 1, squeezed: 2 });
        assert_eq!((softnet.len(), softnet[1].processed), (2, 0xffff_ffff));
    }

    #[test]
    fn the_memory_of_a_container_is_that_of_its_groups() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let tree = Tree::new(folder.path());
        assert_eq!(allowed_memory(&tree), 0);
        put("proc/meminfo", "MemTotal:       16777216 kB\n");
        assert_eq!(allowed_memory(&tree), 16 << 30);
        put("proc/self/cgroup", "1:cpu:/a\n0::/system.slice/ringtap.service\n");
        put("sys/fs/cgroup/system.slice/ringtap.service/memory.max", "max\n");
        assert_eq!(allowed_memory(&tree), 16 << 30);
        put("sys/fs/cgroup/system.slice/memory.max", "4294967296\n");
        assert_eq!(allowed_memory(&tree), 4 << 30);
        put("sys/fs/cgroup/memory.max", "1073741824\n");
        assert_eq!(allowed_memory(&tree), 1 << 30);
    }

    #[test]
    fn a_laptop() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/sys/kernel/osrelease", "6.1.0-25-amd64\n");
        put("proc/cpuinfo", "flags\t\t: fpu vme hypervisor lm\n");
        put("sys/devices/system/cpu/online", "0-3\n");
        put("sys/devices/system/cpu/isolated", "\n");
        put("sys/devices/system/cpu/smt/active", "1\n");
        put("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
        put("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1\n");
        put("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n");
        put("proc/self/status", "Name:\tx\nCapEff:\t0000000000003000\n");
        put("proc/12/comm", "irqbalance\n");
        put("proc/13/comm", "bash\n");
        put("proc/sys/net/core/netdev_max_backlog", "1000\n");
        put("run/systemd/container", "lxc\n");
        let machine = inspect(&Tree::new(folder.path()));
        assert_eq!((machine.cpus.len(), machine.isolated.len(), machine.smt), (4, 0, Some(true)));
        assert_eq!(machine.governors, BTreeMap::from([("powersave".into(), 2), ("performance".into(), 1)]));
        assert!(machine.hypervisor && machine.runs("irqbalance") && !machine.runs("chronyd"));
        assert_eq!(machine.container.as_deref(), Some("lxc"));
        assert_eq!(
            (machine.has(Capability::NetRaw), machine.has(Capability::Bpf)),
            (Some(true), Some(false))
        );
        assert_eq!((machine.network.backlog, machine.network.budget), (Some(1000), None));
    }
}
