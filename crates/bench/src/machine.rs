//! The machine, as far as it matters for the figures, and this process's memory.

use std::fs;

use serde::{Deserialize, Serialize};

/// The machine of a measurement. Unknown values are None.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: Option<String>,
    /// Processors that this process may use.
    pub processors: Option<usize>,
    /// Caches of the first processor, largest last: `L3 32768K`.
    pub caches: Vec<String>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Operating system and its version.
    pub kernel: Option<String>,
    /// Load average over the last minute: above 1, other programs influenced the figures.
    pub load: Option<f64>,
}

impl Machine {
    /// The current machine.
    pub fn here() -> Self {
        Self {
            processor: field("/proc/cpuinfo", "model name"),
            processors: std::thread::available_parallelism().ok().map(usize::from),
            caches: (0..8).filter_map(cache).collect(),
            memory: field("/proc/meminfo", "MemTotal").and_then(|text| kilobytes(&text)),
            kernel: line("/proc/sys/kernel/osrelease")
                .map(|release| format!("{} {release}", std::env::consts::OS)),
            load: line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }
}

/// Bytes available without swapping.
pub(crate) fn memory_free() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable").and_then(|text| kilobytes(&text))
}

/// Resident memory of this process in bytes.
pub(crate) fn resident() -> Option<u64> {
    field("/proc/self/status", "VmRSS").and_then(|text| kilobytes(&text))
}

fn cache(index: usize) -> Option<String> {
    let of = |name: &str| line(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"));
    let kind = match of("type")?.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    Some(format!("L{}{kind} {}", of("level")?, of("size")?))
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

fn kilobytes(text: &str) -> Option<u64> {
    Some(text.strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
