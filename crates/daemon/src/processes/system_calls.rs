//! The system calls that each process of the daemon needs: every other one is refused.

use std::collections::BTreeMap;

use anyhow::Context;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// Allowed calls; a rule limits the arguments.
pub(crate) type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Allows these calls in this thread, and in those that it starts. The others fail with EPERM.
pub(crate) fn allow_only(calls: Calls) -> anyhow::Result<()> {
    let arch = std::env::consts::ARCH.try_into().context("no filter for this processor")?;
    let refuse = |number| SeccompAction::Errno(u32::try_from(number).unwrap_or(1));
    // The C library falls back to `clone`, whose flags can be checked, if it hears that there is no `clone3`.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let first = SeccompFilter::new(clone3, SeccompAction::Allow, refuse(libc::ENOSYS), arch)?;
    let second = SeccompFilter::new(calls, refuse(libc::EPERM), SeccompAction::Allow, arch)?;
    for filter in [first, second] {
        let program: BpfProgram = filter.try_into()?;
        apply_filter(&program)?;
    }
    Ok(())
}

/// Memory, threads, time, and what is open already.
pub(crate) fn of_every_process() -> anyhow::Result<Calls> {
    let mut calls: Calls = BASE.iter().map(|call| (*call, Vec::new())).collect();
    // Threads, and no processes.
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    calls.insert(libc::SYS_clone, vec![rule(&[(0, Op::MaskedEq(thread), thread)])?]);
    Ok(calls)
}

/// Also files, where the file system rules allow them; connections that others make; and messages to the
/// service manager.
pub(crate) fn of_capture() -> anyhow::Result<Calls> {
    let mut calls = of_every_process()?;
    calls.extend([READING, WRITING, CAPTURE].concat().iter().map(|call| (*call, Vec::new())));
    let unix = u64::from(libc::AF_UNIX.cast_unsigned());
    let datagrams = u64::from(libc::SOCK_DGRAM.cast_unsigned());
    calls.insert(libc::SYS_socket, vec![rule(&[(0, Op::Eq, unix), (1, Op::MaskedEq(0xf), datagrams)])?]);
    calls.insert(libc::SYS_socketpair, vec![rule(&[(0, Op::Eq, unix)])?]);
    Ok(calls)
}

/// The same with connections to others, which the file system rules allow to some ports alone: for product
/// that is delivered.
pub(crate) fn of_delivery() -> anyhow::Result<Calls> {
    let mut calls = of_capture()?;
    let stream = u64::from(libc::SOCK_STREAM.cast_unsigned());
    let sockets = [libc::AF_INET, libc::AF_INET6].map(|family| {
        rule(&[(0, Op::Eq, u64::from(family.cast_unsigned())), (1, Op::MaskedEq(0xf), stream)])
    });
    let sockets: Vec<SeccompRule> = sockets.into_iter().collect::<anyhow::Result<_>>()?;
    calls.entry(libc::SYS_socket).or_default().extend(sockets);
    calls.insert(libc::SYS_connect, Vec::new());
    Ok(calls)
}

/// Also files to read, and connections to others.
pub(crate) fn of_network() -> anyhow::Result<Calls> {
    let mut calls = of_every_process()?;
    calls.extend(READING.iter().chain(NETWORK).map(|call| (*call, Vec::new())));
    let socket = |family: i32, kind: i32| {
        let (family, kind) = (u64::from(family.cast_unsigned()), u64::from(kind.cast_unsigned()));
        rule(&[(0, Op::Eq, family), (1, Op::MaskedEq(0xf), kind)])
    };
    let mut sockets = vec![socket(libc::AF_NETLINK, libc::SOCK_RAW)?];
    for family in [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX] {
        sockets.extend([socket(family, libc::SOCK_STREAM)?, socket(family, libc::SOCK_DGRAM)?]);
    }
    calls.insert(libc::SYS_socket, sockets);
    Ok(calls)
}

/// Also a program to start, and what that does until it is confined further.
pub(crate) fn of_starter() -> anyhow::Result<Calls> {
    let mut calls = of_network()?;
    calls.extend(STARTING.iter().map(|call| (*call, Vec::new())));
    Ok(calls)
}

/// Arguments that must all be so: their place, the comparison, the value.
fn rule(arguments: &[(u8, Op, u64)]) -> anyhow::Result<SeccompRule> {
    let conditions =
        arguments.iter().map(|(place, op, value)| Condition::new(*place, Length::Dword, op.clone(), *value));
    Ok(SeccompRule::new(conditions.collect::<Result<Vec<_>, _>>()?)?)
}

const BASE: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_futex,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_prctl,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_geteuid,
    libc::SYS_getuid,
    libc::SYS_getegid,
    libc::SYS_getgid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

const READING: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_readlinkat,
    libc::SYS_fadvise64,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

const WRITING: &[i64] = &[
    libc::SYS_openat2,
    libc::SYS_preadv,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_flock,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_linkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_utimensat,
    libc::SYS_umask,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
];

/// Name resolution sends its questions with `sendmmsg`.
const NETWORK: &[i64] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_prlimit64,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

const STARTING: &[i64] = &[
    libc::SYS_clone,
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pidfd_open,
    libc::SYS_getppid,
    libc::SYS_socketpair,
    libc::SYS_pipe2,
    libc::SYS_dup3,
    libc::SYS_umask,
    libc::SYS_chdir,
    libc::SYS_set_tid_address,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
];

const CAPTURE: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_pselect6,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_getcpu,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_get_mempolicy,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_getppid,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
];
