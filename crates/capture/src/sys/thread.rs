//! CPU affinity and memory policy of a thread; the offset of atomic time.

use std::io;
use std::mem::{size_of, zeroed};

use super::socket::check;

/// Pins the calling thread to one CPU.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: a set of bits; all zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    if cpu >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `cpu` is within the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: 0 is the calling thread; the size is that of a set that outlives the call.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}

/// CPUs that the calling thread may run on.
pub(crate) fn cpus() -> Vec<usize> {
    // SAFETY: a set of bits; all zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: 0 is the calling thread; the kernel fills at most `size` bytes of a set that outlives the call.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut set) } < 0 {
        return Vec::new();
    }
    // SAFETY: each CPU number is within the set.
    (0..8 * size).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// While it exists, the calling thread allocates from one NUMA node if that has free memory.
#[derive(Debug)]
pub(crate) struct NodePreference(());

impl NodePreference {
    /// `None` if the node is unknown or the kernel has no NUMA: all memory is equally near then.
    pub(crate) fn new(node: Option<u32>) -> Option<Self> {
        let node = node.filter(|node| *node < 64)?;
        policy(libc::MPOL_PREFERRED, 1 << node).ok().map(|()| Self(()))
    }
}

impl Drop for NodePreference {
    fn drop(&mut self) {
        let _ = policy(libc::MPOL_DEFAULT, 0);
    }
}

fn policy(mode: i32, nodes: u64) -> io::Result<()> {
    let (mask, bits) = if nodes == 0 { (std::ptr::null(), 0) } else { (&raw const nodes, 65u64) };
    // SAFETY: the kernel reads at most `bits - 1` bits of one u64 that outlives the call.
    if unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Offset of international atomic time (TAI) from UTC in nanoseconds, in whole seconds, as the kernel knows
/// it: 0 if it was never set.
pub(crate) fn atomic_time_offset() -> u64 {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel fills one timespec that outlives the call.
        let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
        (done == 0).then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    };
    let (Some(utc), Some(atomic)) = (read(libc::CLOCK_REALTIME), read(libc::CLOCK_TAI)) else { return 0 };
    // The clocks are read one after the other, so the difference may be slightly off: round to seconds.
    let seconds = (atomic - utc + 500_000_000).div_euclid(1_000_000_000);
    u64::try_from(seconds).unwrap_or(0) * 1_000_000_000
}
