//! Sends frames on an interface, unchanged.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::sys::socket::{SEND, Socket};
use crate::sys::xsk::Xsk;

use super::error::Error;
use super::interface::Interface;
use super::settings::Source;
use super::xdp::{self, CHUNK, HEADROOM};

/// Sends frames on an interface, bypassing its queueing discipline, and counts the frames that the kernel
/// accepted.
///
/// A [`Tap`](super::Tap) on the same interface does not see these frames; the other end of a veth pair or
/// cable does.
///
/// ```no_run
/// use ringtap_capture::live::{Injector, Source};
///
/// # fn main() -> Result<(), ringtap_capture::live::Error> {
/// let mut injector = Injector::open("veth0", Source::Packet)?;
/// let frame = [0u8; 60];
/// let mut left: &[&[u8]] = &[&frame, &frame];
/// while !left.is_empty() {
///     left = &left[injector.send(left)?..];
/// }
/// injector.flush()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Injector {
    interface: Interface,
    backend: Backend,
    sent: Sent,
}

#[derive(Debug)]
enum Backend {
    Packet(Socket),
    Xdp(Box<Xsk>),
}

/// Running totals of an [`Injector`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the kernel accepted.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that the interface then dropped, as far as the kernel says: AF_XDP in copy mode.
    pub dropped: u64,
    /// How often the kernel had no room; the frames stayed with the caller.
    pub full: u64,
}

impl Injector {
    /// Opens an interface for sending.
    ///
    /// # Errors
    ///
    /// As for [`open`](super::open).
    pub fn open(interface: &str, source: Source) -> Result<Self, Error> {
        let interface = Interface::open(interface)?;
        let backend = match source {
            Source::Packet => Backend::Packet(packet(&interface)?),
            Source::Xdp { mode } => Backend::Xdp(Box::new(xdp::sender(&interface, mode)?)),
        };
        Ok(Self { interface, backend, sent: Sent::default() })
    }

    /// Offers frames to the kernel without waiting; returns how many it accepted, from the first on. Offer
    /// the rest again.
    ///
    /// # Errors
    ///
    /// A frame is too long for the interface, or the interface is down or gone.
    pub fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Error> {
        let sent = match &mut self.backend {
            Backend::Packet(socket) => send(socket, &self.interface, frames)?,
            Backend::Xdp(xsk) => queue(xsk, &self.interface, frames, &mut self.sent)?,
        };
        self.sent.frames += sent as u64;
        self.sent.bytes += frames.iter().take(sent).map(|frame| frame.len() as u64).sum::<u64>();
        self.sent.full += u64::from(sent < frames.len());
        Ok(sent)
    }

    /// Waits until nothing is under backend any more.
    ///
    /// # Errors
    ///
    /// The interface is down or gone.
    pub fn flush(&mut self) -> Result<(), Error> {
        // sendmmsg has passed the accepted frames to the driver.
        let Backend::Xdp(xsk) = &mut self.backend else { return Ok(()) };
        let began = Instant::now();
        loop {
            kick(xsk, &self.interface, &mut self.sent)?;
            xsk.reclaim();
            if xsk.in_flight() == 0 {
                return Ok(());
            }
            if began.elapsed() > FLUSH_TIMEOUT {
                let source = io::ErrorKind::TimedOut.into();
                return Err(Error::io(&self.interface.name, "waiting until all is sent", source));
            }
            if xsk.unsent() == 0 {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// Totals so far.
    pub fn sent(&self) -> Sent {
        self.sent
    }
}

fn packet(interface: &Interface) -> Result<Socket, Error> {
    let failed = |what| move |source| Error::io(&interface.name, what, source);
    let kind = if interface.framed { libc::SOCK_RAW } else { libc::SOCK_DGRAM };
    // Protocol 0: the socket receives nothing.
    let socket = Socket::open(libc::AF_PACKET, kind, 0).map_err(failed("opening a packet socket"))?;
    let bypass = socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32);
    bypass.map_err(failed("bypassing the queueing discipline"))?;
    socket.bind_packet(interface.index, 0).map_err(failed("binding"))?;
    Ok(socket)
}

fn send(socket: &Socket, interface: &Interface, frames: &[&[u8]]) -> Result<usize, Error> {
    let mut sent = 0;
    for part in frames.chunks(SEND) {
        match socket.send(part) {
            Ok(taken) => {
                sent += taken;
                if taken < part.len() {
                    break;
                }
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR | libc::ENOMEM) => break,
                // The frames before the bad one were sent.
                _ if sent > 0 => break,
                Some(libc::EMSGSIZE) => {
                    let length = part.first().map_or(0, |frame| frame.len());
                    let Interface { name, mtu, .. } = interface;
                    return Err(Error::Length { interface: name.clone(), length, mtu: *mtu });
                }
                _ => return Err(Error::io(&interface.name, "sending", error)),
            },
        }
    }
    Ok(sent)
}

/// Queues frames and makes the kernel send them.
fn queue(xsk: &mut Xsk, interface: &Interface, frames: &[&[u8]], sent: &mut Sent) -> Result<usize, Error> {
    let longest = (interface.mtu as usize + 14 + 4).min(CHUNK - HEADROOM);
    let fits = frames.iter().take_while(|frame| frame.len() <= longest).count();
    if let (0, Some(frame)) = (fits, frames.first()) {
        let Interface { name, mtu, .. } = interface;
        return Err(Error::Length { interface: name.clone(), length: frame.len(), mtu: *mtu });
    }
    xsk.reclaim();
    let queued = frames[..fits].iter().take_while(|frame| xsk.queue(frame)).count();
    kick(xsk, interface, sent)?;
    Ok(queued)
}

/// Makes the kernel send the queue until it accepts no more: one call sends a few dozen frames.
fn kick(xsk: &mut Xsk, interface: &Interface, sent: &mut Sent) -> Result<(), Error> {
    loop {
        let before = xsk.unsent();
        let kicked = xsk.kick();
        match kicked.as_ref().map_err(io::Error::raw_os_error) {
            Ok(()) => {}
            Err(Some(libc::EBUSY)) => sent.dropped += 1,
            Err(Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => {}
            Err(_) => {
                return kicked.map_err(|error| Error::io(&interface.name, "sending", error));
            }
        }
        let left = xsk.unsent();
        if left == 0 || left == before {
            return Ok(());
        }
    }
}

/// How long [`Injector::flush`] waits, and how often it checks.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_micros(100);
