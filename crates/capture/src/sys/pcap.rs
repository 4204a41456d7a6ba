//! libpcap, loaded when a filter expression is to be read: the program does not need it otherwise.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

/// libpcap's functions for making programs of expressions. It stays loaded.
pub(crate) struct Library {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut c_void,
    compile: unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, c_uint) -> c_int,
    free: unsafe extern "C" fn(*mut Program),
    error: unsafe extern "C" fn(*mut c_void) -> *mut c_char,
    close: unsafe extern "C" fn(*mut c_void),
}

/// `struct bpf_program` of pcap/bpf.h; its instructions have the layout of the kernel's.
#[repr(C)]
struct Program {
    length: c_uint,
    instructions: *mut libc::sock_filter,
}

impl Library {
    /// Loads libpcap; what the loader says where there is none.
    pub(crate) fn load() -> Result<Self, String> {
        let mut said = String::new();
        for name in NAMES {
            // SAFETY: a string that ends with zero; the initialisers of libpcap have no demands.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Self::of(handle).ok_or_else(|| "it lacks pcap_compile".to_owned());
            }
            if said.is_empty() {
                said = last_error();
            }
        }
        Err(said)
    }

    fn of(handle: *mut c_void) -> Option<Self> {
        let symbol = |name: &CStr| {
            // SAFETY: a handle that dlopen gave and that is never closed, and a string that ends with zero.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!symbol.is_null()).then_some(symbol)
        };
        // SAFETY: the signatures of pcap/pcap.h of libpcap since 1.0, under whose names they were looked up.
        unsafe {
            Some(Self {
                open_dead: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int, c_int) -> *mut c_void,
                >(symbol(c"pcap_open_dead")?),
                compile: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, c_uint) -> c_int,
                >(symbol(c"pcap_compile")?),
                free: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Program)>(symbol(
                    c"pcap_freecode",
                )?),
                error: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_char>(
                    symbol(c"pcap_geterr")?,
                ),
                close: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(symbol(
                    c"pcap_close",
                )?),
            })
        }
    }

    /// The program for an expression over frames of a data-link type (`DLT_`), which returns `snaplen` for
    /// those that match; what libpcap says of an expression that it refuses.
    pub(crate) fn compile(
        &self,
        expression: &str,
        link: i32,
        snaplen: u32,
    ) -> Result<Vec<libc::sock_filter>, String> {
        let text = CString::new(expression).map_err(|_| "it has a zero byte in it".to_owned())?;
        // SAFETY: two integers; gives a handle or null.
        let handle = unsafe { (self.open_dead)(link, snaplen.min(i32::MAX as u32) as c_int) };
        if handle.is_null() {
            return Err("libpcap has no memory".to_owned());
        }
        let mut program = Program { length: 0, instructions: std::ptr::null_mut() };
        // SAFETY: a living handle, a living program to be filled, a string that ends with zero.
        let done =
            unsafe { (self.compile)(handle, &raw mut program, text.as_ptr(), 1, PCAP_NETMASK_UNKNOWN) };
        let result = if done < 0 {
            // SAFETY: of a living handle, a string that ends with zero, copied before the handle is closed.
            let said = unsafe { CStr::from_ptr((self.error)(handle)) };
            Err(said.to_string_lossy().into_owned())
        } else if program.instructions.is_null() {
            Ok(Vec::new())
        } else {
            // SAFETY: so many instructions were written there; they are copied before they are freed.
            let code =
                unsafe { std::slice::from_raw_parts(program.instructions, program.length as usize) }.to_vec();
            // SAFETY: what pcap_compile filled, freed once.
            unsafe { (self.free)(&raw mut program) };
            Ok(code)
        };
        // SAFETY: the handle from above, closed once.
        unsafe { (self.close)(handle) };
        result
    }
}

fn last_error() -> String {
    // SAFETY: gives null or a string that ends with zero, of this thread, copied at once.
    unsafe {
        let said = libc::dlerror();
        if said.is_null() { String::new() } else { CStr::from_ptr(said).to_string_lossy().into_owned() }
    }
}

/// Debian's name, then that of others.
const NAMES: [&CStr; 2] = [c"libpcap.so.0.8", c"libpcap.so.1"];
const PCAP_NETMASK_UNKNOWN: c_uint = 0xffff_ffff;
