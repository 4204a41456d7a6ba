//! `bpf(2)`: creates a map of AF_XDP sockets, loads a program, and attaches it to an interface.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// One eBPF instruction (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) code: u8,
    /// Destination register in the low four bits, source register in the high four.
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

/// The first fields of `union bpf_attr` for BPF_MAP_CREATE.
#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

/// `union bpf_attr` for BPF_MAP_UPDATE_ELEM.
#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `union bpf_attr` for BPF_PROG_LOAD, up to `expected_attach_type`.
#[repr(C)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

/// `union bpf_attr` for BPF_LINK_CREATE.
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
}

/// Creates a map from receive queue numbers to AF_XDP sockets.
pub(crate) fn socket_map(entries: u32) -> io::Result<OwnedFd> {
    let attributes = MapCreate { kind: MAP_XSK, key_size: 4, value_size: 4, max_entries: entries };
    // SAFETY: the attributes are those of this command, and hold no pointer.
    unsafe { call(MAP_CREATE, &attributes) }.map(owned)
}

/// Maps a queue number to a socket.
pub(crate) fn set_socket(map: &OwnedFd, queue: u32, socket: RawFd) -> io::Result<()> {
    let value = socket as u32;
    let attributes = MapUpdate {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const queue) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: the attributes are those of this command; key and value outlive the call and have the sizes
    // that the map was created with.
    unsafe { call(MAP_UPDATE, &attributes) }.map(drop)
}

/// Loads an XDP program; the kernel verifies it.
pub(crate) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let license = c"Apache-2.0";
    // SAFETY: a structure of integers, for which all zeros are valid.
    let mut attributes: ProgramLoad = unsafe { zeroed() };
    attributes.kind = PROGRAM_XDP;
    attributes.count = program.len() as u32;
    attributes.instructions = program.as_ptr() as u64;
    attributes.license = license.as_ptr() as u64;
    attributes.name[..7].copy_from_slice(b"ringtap");
    attributes.attach = ATTACH_XDP;
    // SAFETY: the attributes are those of this command; `count` instructions and the license outlive the
    // call, and the kernel only reads them.
    unsafe { call(PROGRAM_LOAD, &attributes) }.map(owned)
}

/// Attaches a program to an interface, in the driver or in generic mode, until the descriptor is closed.
pub(crate) fn attach(program: &OwnedFd, interface: u32, generic: bool) -> io::Result<OwnedFd> {
    let flags = if generic { XDP_SKB_MODE } else { XDP_DRIVER_MODE };
    let program = program.as_raw_fd() as u32;
    let attributes = LinkCreate { program, interface, attach: ATTACH_XDP, flags };
    // SAFETY: the attributes are those of this command, and hold no pointer.
    unsafe { call(LINK_CREATE, &attributes) }.map(owned)
}

/// # Safety
///
/// `attributes` must be those of the command, and what they point to must outlive the call.
unsafe fn call<T>(command: i32, attributes: &T) -> io::Result<i32> {
    // SAFETY: pointer and size are those of one value that outlives the call; the kernel treats the fields
    // after it as zero.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>() as u32) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: the kernel just returned this descriptor, and nothing else owns it. bpf(2) always sets
    // close-on-exec.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

// linux/bpf.h and linux/if_link.h.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const MAP_XSK: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const XDP_SKB_MODE: u32 = 1 << 1;
const XDP_DRIVER_MODE: u32 = 1 << 2;
