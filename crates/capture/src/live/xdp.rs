//! AF_XDP: the driver puts packets into our memory before the kernel processes them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringtap_model::{Frame, Nanos};

use crate::sys::bpf::{self, Instruction};
use crate::sys::socket::Socket;
use crate::sys::thread::{NodePreference, atomic_time_offset};
use crate::sys::xsk::{Received, UmemLayout, Xsk};

use super::counters::{TapCounters, Timestamps};
use super::error::Error;
use super::filter::Filter;
use super::interface::{ETHERNET, Interface};
use super::settings::{BATCH, CHECK_INTERVAL, EMPTY, Settings, XdpMode};

/// One worker's socket on one receive queue.
#[derive(Debug)]
pub(super) struct XdpTap {
    xsk: Xsk,
    pub(super) interface: Interface,
    /// The program stays attached while any worker lives.
    _link: Arc<OwnedFd>,
    /// Marks the metadata that the program writes before a packet.
    cookie: u64,
    /// Offset from international atomic time, which the program reads, to UTC.
    offset: u64,
    filter: Option<Filter>,
    snaplen: usize,
    counters: TapCounters,
    /// Packets without the program's timestamp.
    unstamped: u64,
    spin: Option<Duration>,
    /// Whether the previous batch had packets.
    gave: bool,
    /// When the interface was last seen to exist.
    seen: Instant,
    number: u64,
    step: u64,
    warnings: Vec<String>,
}

/// One socket per queue, and the program that redirects to them.
pub(super) fn open(settings: &Settings, mode: XdpMode) -> Result<Vec<XdpTap>, Error> {
    let name = &settings.interface;
    let interface = Interface::open(name)?;
    let chunk = check(settings, &interface)?;
    let filter = settings.filter(interface.link)?;
    let chunks = (settings.ring / chunk).clamp(64, 1 << 20);
    let plan = UmemLayout {
        chunk,
        // The largest power of two that fits.
        chunks: 1 << chunks.ilog2(),
        receives: true,
        huge: settings.huge_pages,
    };
    let _near = NodePreference::new(interface.node);
    let failed = |what| move |source| Error::io(name, what, source);
    let cookie = COOKIE ^ u64::from(interface.index);
    let map = bpf::socket_map(settings.workers as u32).map_err(failed("making a map of AF_XDP sockets"))?;
    let program = bpf::load(&program(&map, Some(cookie)))
        .or_else(|_| bpf::load(&program(&map, None)))
        .map_err(failed("loading an XDP program"))?;
    let mut sockets = Vec::with_capacity(settings.workers);
    for queue in 0..settings.workers as u32 {
        let xsk = Xsk::new(&plan).map_err(|source| memory(name, settings.ring >> 20, source))?;
        bind(&xsk, &interface, queue, mode)?;
        bpf::set_socket(&map, queue, xsk.socket().fd())
            .map_err(failed("naming the socket to the program"))?;
        sockets.push(xsk);
    }
    let (link, generic) = attach(&program, &interface, mode)?;
    let link = Arc::new(link);
    let worker = |(index, xsk): (usize, Xsk)| -> Result<XdpTap, Error> {
        let mut xdp = XdpTap {
            interface: Interface::open(name)?,
            _link: link.clone(),
            cookie,
            offset: atomic_time_offset(),
            filter: filter.clone(),
            snaplen: settings.snaplen as usize,
            counters: TapCounters::default(),
            unstamped: 0,
            spin: settings.busy_poll,
            gave: false,
            seen: Instant::now(),
            number: index as u64 + 1,
            step: settings.workers as u64,
            warnings: Vec::new(),
            xsk,
        };
        xdp.collect_warnings(settings, generic);
        Ok(xdp)
    };
    sockets.into_iter().enumerate().map(worker).collect()
}

/// A socket for sending on the first queue of an interface.
pub(super) fn sender(interface: &Interface, mode: XdpMode) -> Result<Xsk, Error> {
    if interface.link != ETHERNET || interface.loopback {
        return Err(Error::Xdp {
            interface: interface.name.clone(),
            what: "it has no Ethernet driver".to_owned(),
            remedy: "use AF_PACKET there",
        });
    }
    let xsk = Xsk::new(&SENDER).map_err(|source| memory(&interface.name, SENDER_MEBIBYTES, source))?;
    bind(&xsk, interface, 0, mode)?;
    Ok(xsk)
}

/// Checks interface and settings; returns the size of a chunk that holds a frame.
fn check(settings: &Settings, interface: &Interface) -> Result<usize, Error> {
    let name = &settings.interface;
    let wrong = |what: String, remedy| Err(Error::Xdp { interface: name.clone(), what, remedy });
    if interface.link != ETHERNET || interface.loopback {
        return wrong("it has no Ethernet driver".to_owned(), "use AF_PACKET there");
    }
    let queues = Socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0).and_then(|socket| socket.queues(name));
    if let Ok(queues) = queues
        && queues as usize != settings.workers
    {
        let right = format!(
            "with AF_XDP one worker serves one receive queue, and `{name}` has {queues}; change the workers, \
                or the \
                queues with `ethtool -L {name} combined {}`",
            settings.workers
        );
        return Err(Error::Setting { name: "workers", value: settings.workers.to_string(), right });
    }
    // Besides the MTU: the kernel's headroom, an Ethernet header and two tags.
    let needed = |chunk: usize| interface.mtu as usize + 22 + HEADROOM <= chunk;
    match [2048, 4096].into_iter().find(|chunk| needed(*chunk)) {
        Some(chunk) => Ok(chunk),
        None => wrong(
            format!("its MTU is {}", interface.mtu),
            "AF_XDP takes packets of one page: lower the MTU to 3818, or use AF_PACKET",
        ),
    }
}

fn memory(name: &str, mebibytes: usize, source: std::io::Error) -> Error {
    let interface = name.to_owned();
    match source.raw_os_error() {
        Some(libc::ENOBUFS) => Error::Locked { interface, mebibytes },
        Some(libc::ENOMEM) => Error::Ring { interface, mebibytes, source },
        Some(libc::EAFNOSUPPORT) => Error::Xdp {
            interface,
            what: "the kernel was built without AF_XDP".to_owned(),
            remedy: "use AF_PACKET",
        },
        _ => Error::io(name, "opening an AF_XDP socket", source),
    }
}

fn bind(xsk: &Xsk, interface: &Interface, queue: u32, mode: XdpMode) -> Result<(), Error> {
    let copies = match mode {
        // By default the kernel tries zero copy first.
        XdpMode::Auto => 0,
        XdpMode::ZeroCopy => libc::XDP_ZEROCOPY,
        XdpMode::Copy | XdpMode::Generic => libc::XDP_COPY,
    };
    let flags = copies | libc::XDP_USE_NEED_WAKEUP;
    let mut tries = 0;
    loop {
        let Err(error) = xsk.bind(interface.index, queue, flags) else { return Ok(()) };
        // The kernel frees the queue shortly after its socket is closed.
        if error.raw_os_error() == Some(libc::EBUSY) && tries < BIND_ATTEMPTS {
            tries += 1;
            thread::sleep(BIND_RETRY);
            continue;
        }
        return Err(refused(interface, queue, mode, error));
    }
}

#[cold]
fn refused(interface: &Interface, queue: u32, mode: XdpMode, error: std::io::Error) -> Error {
    let remedy = match (error.raw_os_error(), mode) {
        (Some(libc::EPERM | libc::EACCES), _) => {
            return Error::io(&interface.name, "binding an AF_XDP socket", error);
        }
        (Some(libc::EBUSY), _) => {
            "another program uses that queue: stop it (`ss --xdp -a` lists such programs)"
        }
        (Some(libc::EINVAL), _) => {
            "it has no such receive queue: use as many workers as `ethtool -l` shows queues"
        }
        (_, XdpMode::ZeroCopy) => "the driver does not support zero copy: use the mode `auto` or `copy`",
        _ => "use AF_PACKET",
    };
    Error::Xdp {
        interface: interface.name.clone(),
        what: format!("binding to queue {queue}: {error}"),
        remedy,
    }
}

/// Attaches the program, in the driver if possible; whether it is generic.
fn attach(program: &OwnedFd, interface: &Interface, mode: XdpMode) -> Result<(OwnedFd, bool), Error> {
    let native = || bpf::attach(program, interface.index, false);
    let generic = || bpf::attach(program, interface.index, true);
    let attached = match mode {
        XdpMode::Generic => generic().map(|link| (link, true)),
        XdpMode::Copy | XdpMode::ZeroCopy => native().map(|link| (link, false)),
        XdpMode::Auto => native().map(|link| (link, false)).or_else(|error| match error.raw_os_error() {
            Some(libc::EBUSY | libc::EPERM) => Err(error),
            _ => generic().map(|link| (link, true)),
        }),
    };
    attached.map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                return Error::io(&interface.name, "attaching an XDP program", error);
            }
            Some(libc::EBUSY | libc::EEXIST) => {
                "another XDP program is attached: `ip link set dev INTERFACE xdp off`, or stop its owner"
            }
            _ => {
                "the driver does not support XDP: use the mode `generic`, or AF_PACKET, which is as fast then"
            }
        };
        Error::Xdp {
            interface: interface.name.clone(),
            what: format!("attaching a program: {error}"),
            remedy,
        }
    })
}

impl XdpTap {
    fn collect_warnings(&mut self, settings: &Settings, generic: bool) {
        let name = &settings.interface;
        let options = self.xsk.socket().get::<libc::xdp_options>(libc::SOL_XDP, libc::XDP_OPTIONS);
        let direct = options.is_ok_and(|options| options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0);
        let place = if generic { "generic" } else { "native" };
        let copies = if direct { "without copies" } else { "with a copy of each packet" };
        self.warnings.push(format!("AF_XDP on `{name}`: {place} mode, {copies}"));
        if settings.huge_pages && !self.xsk.huge() {
            self.warnings.push(format!(
                "no huge pages were free for {} MiB: `sysctl vm.nr_hugepages={}` or more",
                settings.ring >> 20,
                (settings.ring >> 21) * settings.workers
            ));
        }
        if settings.hardware_time {
            self.warnings.push("AF_XDP packets carry the kernel's time stamps, not the NIC's".to_owned());
        }
        if let Some(spin) = settings.busy_poll {
            let micros = spin.as_micros().min(i32::MAX as u128) as i32;
            let set = |name, value: i32| self.xsk.socket().set(libc::SOL_SOCKET, name, &value);
            let done = set(libc::SO_PREFER_BUSY_POLL, 1)
                .and_then(|()| set(libc::SO_BUSY_POLL, micros))
                .and_then(|()| set(SO_BUSY_POLL_BUDGET, BUDGET));
            if let Err(error) = done {
                self.warnings.push(format!("the kernel does not poll `{name}` busily ({error})"));
            }
        }
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn timestamps(&self) -> Timestamps {
        if self.unstamped > 0 { Timestamps::Arrival } else { Timestamps::Kernel }
    }

    // HOT: no allocation, no lock; one system call per wait, and one per slice where the driver asks for it.
    pub(super) fn batch(
        &mut self,
        wait: Duration,
        mut take: impl FnMut(&[Frame<'_>]),
    ) -> Result<usize, Error> {
        if !self.xsk.is_ready() && !self.wait(wait)? {
            return Ok(0);
        }
        let mut given = 0;
        for _ in 0..SLICES {
            let mut received = [Received { meta: [0; 2], data: &[] }; BATCH];
            let (count, damaged) = self.xsk.receive(&mut received);
            self.counters.damaged += damaged;
            let mut frames = [EMPTY; BATCH];
            let mut filled = 0;
            for received in &received[..count] {
                let wire_len = received.data.len() as u32;
                self.counters.bytes += u64::from(wire_len);
                let filter = self.filter.as_ref();
                if filter.is_some_and(|filter| !filter.matches_data(ETHERNET, wire_len, received.data)) {
                    self.counters.filtered += 1;
                    continue;
                }
                let time = if received.meta[1] == self.cookie {
                    received.meta[0].wrapping_sub(self.offset)
                } else {
                    self.unstamped += 1;
                    now()
                };
                let kept = received.data.len().min(self.snaplen);
                self.counters.cut += u64::from(kept < received.data.len());
                let data = &received.data[..kept];
                frames[filled] =
                    Frame { time: Nanos(time), number: self.number, link: ETHERNET, wire_len, data };
                self.number += self.step;
                filled += 1;
            }
            if filled > 0 {
                take(&frames[..filled]);
            }
            given += filled;
            self.xsk.release();
            if count + (damaged as usize) < BATCH {
                break;
            }
        }
        self.counters.received += given as u64;
        self.gave = true;
        Ok(given)
    }

    /// Waits for packets; false on timeout.
    fn wait(&mut self, wait: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        if let Some(spin) = self.spin {
            let spin = spin.min(wait);
            while began.elapsed() < spin {
                self.xsk.wake_receiver();
                if self.xsk.is_ready() {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
        }
        // At a steady rate a short sleep collects dozens of packets, whereas waiting would cost a context
        // switch for every one or two.
        if std::mem::take(&mut self.gave) && self.spin.is_none() {
            thread::sleep(POLL_INTERVAL.min(wait));
            if self.xsk.is_ready() {
                return Ok(true);
            }
        }
        let rest = wait.saturating_sub(began.elapsed());
        self.xsk
            .socket()
            .wait(rest)
            .map_err(|source| Error::io(&self.interface.name, "waiting for packets", source))?;
        if self.xsk.is_ready() {
            return Ok(true);
        }
        // An AF_XDP socket is not told that its interface is gone: it must check when idle.
        if self.seen.elapsed() > CHECK_INTERVAL {
            if !self.interface.is_there() {
                return Err(Error::Gone { interface: self.interface.name.clone() });
            }
            self.seen = Instant::now();
        }
        Ok(false)
    }

    pub(super) fn counters(&mut self) -> TapCounters {
        self.offset = atomic_time_offset();
        let read = self.xsk.socket().get::<libc::xdp_statistics>(libc::SOL_XDP, libc::XDP_STATISTICS);
        if let Ok(read) = read {
            // These are running totals. A packet without a free chunk is dropped, and in copy mode counted in
            // `rx_dropped` too.
            self.counters.ring_drops = read.rx_dropped + read.rx_ring_full;
            self.counters.freezes = read.rx_fill_ring_empty_descs;
        }
        self.counters.interface_drops = self.interface.lost();
        let (waiting, all) = self.xsk.waiting();
        self.counters.fill = waiting as f32 / all as f32;
        self.counters
    }
}

fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos() as u64)
}

/// Redirects packets to the socket of their queue, or to the kernel if there is none. Writes a timestamp
/// before each packet if the driver leaves room for metadata.
fn program(map: &OwnedFd, cookie: Option<u64>) -> Vec<Instruction> {
    use std::os::fd::AsRawFd;
    let mut code = vec![instruction(0xbf, 6, 1, 0, 0)]; // r6 = context
    if let Some(cookie) = cookie {
        code.extend([
            instruction(0xb7, 2, 0, 0, -16),         // r2 = -16
            instruction(0x85, 0, 0, 0, ADJUST_META), // makes room for metadata
            instruction(0x55, 0, 0, 10, 0),          // if there is none, redirect
            instruction(0x85, 0, 0, 0, TIME),        // r0 = time
            instruction(0x61, 1, 6, 8, 0),           // r1 = where the metadata begin
            instruction(0x61, 2, 6, 0, 0),           // r2 = where the packet begins
            instruction(0xbf, 3, 1, 0, 0),           // r3 = r1
            instruction(0x07, 3, 0, 0, 16),          // r3 += 16
            instruction(0x2d, 3, 2, 4, 0),           // if r3 > r2, redirect: the verifier asks
            instruction(0x7b, 1, 0, 0, 0),           // *r1 = time
            instruction(0x18, 4, 0, 0, cookie as u32 as i32),
            instruction(0, 0, 0, 0, (cookie >> 32) as i32), // r4 = cookie
            instruction(0x7b, 1, 4, 8, 0),                  // *(r1 + 8) = cookie
        ]);
    }
    code.extend([
        instruction(0x61, 2, 6, 16, 0),              // r2 = receive queue
        instruction(0x18, 1, 1, 0, map.as_raw_fd()), // r1 = map
        instruction(0, 0, 0, 0, 0),                  // (its second half)
        instruction(0xb7, 3, 0, 0, XDP_PASS),        // r3 = what to do without a socket
        instruction(0x85, 0, 0, 0, REDIRECT_MAP),    // r0 = redirection
        instruction(0x95, 0, 0, 0, 0),               // return r0
    ]);
    code
}

fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: from << 4 | to, offset, immediate }
}

/// Helpers of linux/bpf.h: bpf_xdp_adjust_meta, bpf_ktime_get_tai_ns, bpf_redirect_map.
const ADJUST_META: i32 = 54;
const TIME: i32 = 208;
const REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;
/// linux/socket.h; libc has no name for it everywhere.
const SO_BUSY_POLL_BUDGET: i32 = 70;
/// A value that a packet's headroom does not hold by chance.
const COOKIE: u64 = 0x7a3f_91c4_5be8_d206;
/// Bytes of a send chunk.
pub(super) const CHUNK: usize = 4096;
/// Memory layout of a sender: 4096 frames.
const SENDER: UmemLayout = UmemLayout { chunk: CHUNK, chunks: 4096, receives: false, huge: false };
const SENDER_MEBIBYTES: usize = (CHUNK * SENDER.chunks as usize) >> 20;
/// XDP_PACKET_HEADROOM.
pub(super) const HEADROOM: usize = 256;
/// Time between attempts to bind, and their number.
const BIND_RETRY: Duration = Duration::from_millis(500);
const BIND_ATTEMPTS: u32 = 6;
/// A fraction of the time that a ring covers at the line rate of 10 GbE.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// Slices that one call hands over at most, so that timers are looked at between.
const SLICES: usize = 16;

/// Packets that the kernel takes from the NIC in one round of busy polling: its default.
const BUDGET: i32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Jumps go to the instruction after the metadata are written.
    #[test]
    fn the_program_jumps_to_its_redirection() {
        let map = OwnedFd::from(std::fs::File::open("/dev/null").expect("opens"));
        let code = program(&map, Some(7));
        let target = code.len() - 6;
        for (at, instruction) in code.iter().enumerate() {
            if matches!(instruction.code, 0x55 | 0x2d) {
                assert_eq!(at + 1 + instruction.offset as usize, target);
            }
        }
        assert_eq!(program(&map, None).len(), 7);
    }
}
