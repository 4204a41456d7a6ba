//! Confines the process that calls codec libraries, in two steps: before a library is loaded, because its
//! constructors run then, and before the first payload.

use std::collections::BTreeMap;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, apply_filter,
};

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// From now on the process can open files only to read them, and only where libraries are if the kernel has
/// Landlock; it writes none, starts nothing, connects to nobody, and has at most 512 MiB of memory. False if
/// it still could.
pub(crate) fn before_libraries() -> bool {
    let limits = [
        (Resource::As, MEMORY),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, FILES),
    ];
    // A kernel without Landlock: the filter holds without it.
    let _ = only_libraries();
    limits.into_iter().all(|(resource, most)| limit(resource, most))
        && loading().is_some_and(|calls| allow_only(calls, SeccompAction::Errno(libc::EPERM.unsigned_abs())))
}

/// From now on the process only reads and writes what is open, and allocates; any other system call ends it.
/// False if it still could do more.
pub(crate) fn before_payloads() -> bool {
    let calls = BASE.iter().map(|call| (*call, Vec::new())).collect();
    limit(Resource::Nofile, 0) && allow_only(calls, SeccompAction::KillProcess)
}

fn limit(resource: Resource, most: u64) -> bool {
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
}

fn only_libraries() -> Result<(), RulesetError> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).filter(|path| path.is_absolute());
    let readable: Vec<PathBuf> = LIBRARIES.iter().map(PathBuf::from).chain(named).collect();
    Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(&readable, AccessFs::ReadFile | AccessFs::ReadDir))?
        .restrict_self()?;
    Ok(())
}

/// Lets all others fail, or end the process. False on a processor for which there is no filter, too.
fn allow_only(calls: Calls, others: SeccompAction) -> bool {
    let Ok(arch) = std::env::consts::ARCH.try_into() else { return false };
    let filter = SeccompFilter::new(calls, others, SeccompAction::Allow, arch);
    let program: Option<BpfProgram> = filter.ok().and_then(|filter| filter.try_into().ok());
    program.is_some_and(|program| apply_filter(&program).is_ok())
}

/// What loading a library takes, and the next filter.
fn loading() -> Option<Calls> {
    let mut calls: Calls = BASE.iter().chain(LOADING).map(|call| (*call, Vec::new())).collect();
    let argument = |place, op, value| Condition::new(place, Length::Dword, op, value).ok();
    let only = |condition| SeccompRule::new(vec![condition]).ok();
    let writes = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND).cast_unsigned();
    calls.insert(libc::SYS_openat, vec![only(argument(2, Op::MaskedEq(writes.into()), 0)?)?]);
    let no_privileges = libc::PR_SET_NO_NEW_PRIVS.cast_unsigned();
    calls.insert(libc::SYS_prctl, vec![only(argument(0, Op::Eq, no_privileges.into())?)?]);
    Some(calls)
}

/// The newest Landlock whose rights are known here; an older kernel enforces what it has.
const KNOWN: ABI = ABI::V5;
/// Bytes of memory, and open files while a library is loaded.
const MEMORY: u64 = 512 << 20;
const FILES: u64 = 64;
/// Where the dynamic linker looks.
const LIBRARIES: [&str; 6] =
    ["/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];

const BASE: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mprotect,
    libc::SYS_futex,
    // The allocator's, where the kernel's page of functions cannot tell the time.
    libc::SYS_clock_gettime,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_restart_syscall,
    libc::SYS_sigaltstack,
    libc::SYS_setitimer,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_alarm,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

const LOADING: &[i64] = &[
    libc::SYS_close,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_sched_getaffinity,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_prlimit64,
    libc::SYS_seccomp,
];
