//! libpcap, loaded only to compile a filter expression: the program does not need it otherwise.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

/// libpcap's functions for compiling expressions. The library stays loaded.
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
    /// Loads libpcap. The error is the loader's message.
    pub(crate) fn load() -> Result<Self, String> {
        let mut said = String::new();
        for name in NAMES {
            // SAFETY: the name is a terminated string; the initialisers of libpcap have no preconditions.
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
            // SAFETY: `handle` comes from dlopen and is never closed; the name is a terminated string.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!symbol.is_null()).then_some(symbol)
        };
        // SAFETY: the signatures are those of pcap/pcap.h since libpcap 1.0, each for the symbol of its name.
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

    /// Compiles an expression for frames of a data-link type (`DLT_`). The program returns `snaplen` for
    /// frames that match. The error is libpcap's message.
    pub(crate) fn compile(
        &self,
        expression: &str,
        link: i32,
        snaplen: u32,
    ) -> Result<Vec<libc::sock_filter>, String> {
        let text = CString::new(expression).map_err(|_| "it contains a zero byte".to_owned())?;
        // SAFETY: the call takes two integers and returns a handle or null.
        let handle = unsafe { (self.open_dead)(link, snaplen.min(i32::MAX as u32) as c_int) };
        if handle.is_null() {
            return Err("libpcap ran out of memory".to_owned());
        }
        let mut program = Program { length: 0, instructions: std::ptr::null_mut() };
        // SAFETY: handle and program outlive the call; the text is a terminated string.
        let done =
            unsafe { (self.compile)(handle, &raw mut program, text.as_ptr(), 1, PCAP_NETMASK_UNKNOWN) };
        let result = if done < 0 {
            // SAFETY: pcap_geterr returns a terminated string of the handle; it is copied before the handle
            // closes.
            let said = unsafe { CStr::from_ptr((self.error)(handle)) };
            Err(said.to_string_lossy().into_owned())
        } else if program.instructions.is_null() {
            Ok(Vec::new())
        } else {
            // SAFETY: pcap_compile wrote `length` instructions; they are copied before they are freed.
            let code =
                unsafe { std::slice::from_raw_parts(program.instructions, program.length as usize) }.to_vec();
            // SAFETY: pcap_compile filled this program, and it is freed once.
            unsafe { (self.free)(&raw mut program) };
            Ok(code)
        };
        // SAFETY: the handle is open, and is closed once.
        unsafe { (self.close)(handle) };
        result
    }
}

fn last_error() -> String {
    // SAFETY: dlerror returns null or a terminated string of this thread; it is copied at once.
    unsafe {
        let said = libc::dlerror();
        if said.is_null() { String::new() } else { CStr::from_ptr(said).to_string_lossy().into_owned() }
    }
}

/// The name in Debian, then in other distributions.
const NAMES: [&CStr; 2] = [c"libpcap.so.0.8", c"libpcap.so.1"];
const PCAP_NETMASK_UNKNOWN: c_uint = 0xffff_ffff;
