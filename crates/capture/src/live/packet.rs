//! AF_PACKET: the kernel copies each packet into a shared ring and hands over whole blocks of packets.

use std::time::{Duration, Instant};

use ringtap_model::{Frame, Nanos};

use crate::sys::ring::Blocks;
use crate::sys::socket::Socket;
use crate::sys::thread::NodePreference;

use super::block::BlockPackets;
use super::counters::{TapCounters, Timestamps};
use super::error::Error;
use super::filter::Filter;
use super::interface::Interface;
use super::settings::{BATCH, CHECK_INTERVAL, Direction, EMPTY, Fanout, Settings};
use super::{bpf, fanout};

/// One worker's socket and ring.
#[derive(Debug)]
pub(super) struct PacketTap {
    socket: Socket,
    blocks: Blocks,
    pub(super) interface: Interface,
    /// The filter, if the kernel cannot apply it.
    filter: Option<Filter>,
    counters: TapCounters,
    spin: Option<Duration>,
    /// While the interface is down: when it was last seen to exist.
    down: Option<Instant>,
    /// Number of the next frame, and the increment.
    number: u64,
    step: u64,
    warnings: Vec<String>,
}

/// One socket per worker, joined in a fan-out. Nothing is captured until all are ready.
pub(super) fn open(settings: &Settings) -> Result<Vec<PacketTap>, Error> {
    let filter = settings.filter(Interface::open(&settings.interface)?.link)?;
    let worker = |index| PacketTap::open(settings, index, filter.as_ref());
    let packets = (0..settings.workers).map(worker).collect::<Result<Vec<_>, _>>()?;
    join_fanout(settings, &packets)?;
    for packet in &packets {
        packet.begin(settings, filter.as_ref())?;
    }
    Ok(packets)
}

impl PacketTap {
    /// A bound socket with its ring, whose filter still drops everything.
    fn open(settings: &Settings, index: usize, filter: Option<&Filter>) -> Result<Self, Error> {
        let interface = Interface::open(&settings.interface)?;
        let failed = |what| move |source| Error::io(&settings.interface, what, source);
        let kind = if interface.framed { libc::SOCK_RAW } else { libc::SOCK_DGRAM };
        // Protocol 0: nothing arrives before the socket is bound to its interface.
        let socket = Socket::open(libc::AF_PACKET, kind, 0).map_err(failed("opening a packet socket"))?;
        let set = |name, value: i32, what| socket.set(libc::SOL_PACKET, name, &value).map_err(failed(what));
        socket
            .program(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &[RETURN_0])
            .map_err(failed("attaching a filter"))?;
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as i32, "asking for TPACKET_V3")?;
        // Space for a VLAN tag before each frame.
        set(libc::PACKET_RESERVE, 4, "reserving room for VLAN tags")?;
        let mut warnings = Vec::new();
        enable_timestamps(settings, &socket, &mut warnings)?;
        let blocks = create_ring(settings, &socket, &interface)?;
        if settings.ignores_outgoing(interface.loopback) {
            set(libc::PACKET_IGNORE_OUTGOING, 1, "ignoring what is sent")?;
        }
        if settings.promiscuous {
            let request = libc::packet_mreq {
                mr_ifindex: interface.index as i32,
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            socket
                .set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
                .map_err(failed("switching to promiscuous mode"))?;
        }
        socket.bind_packet(interface.index, libc::ETH_P_ALL as u16).map_err(failed("binding"))?;
        Ok(Self {
            socket,
            blocks,
            filter: filter.filter(|filter| !filter.suits_kernel()).cloned(),
            interface,
            counters: TapCounters::default(),
            spin: settings.busy_poll,
            down: None,
            number: index as u64 + 1,
            step: settings.workers as u64,
            warnings,
        })
    }

    /// Starts capturing.
    fn begin(&self, settings: &Settings, filter: Option<&Filter>) -> Result<(), Error> {
        let all = [bpf::Instruction { code: RETURN, jt: 0, jf: 0, k: settings.snaplen }];
        let program = match filter.filter(|filter| filter.suits_kernel()) {
            Some(filter) => filter.instructions(),
            None => &all,
        };
        self.socket
            .program(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
            .map_err(|source| Error::io(&settings.interface, "attaching the filter", source))?;
        // Reset the statistics.
        let _ = self.socket.get::<libc::tpacket_stats_v3>(libc::SOL_PACKET, libc::PACKET_STATISTICS);
        Ok(())
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn timestamps(&self) -> Timestamps {
        if self.counters.hardware > 0 { Timestamps::Hardware } else { Timestamps::Kernel }
    }

    // HOT: no allocation, no lock; one system call per wait, none while blocks are ready.
    pub(super) fn batch(
        &mut self,
        wait: Duration,
        mut take: impl FnMut(&[Frame<'_>]),
    ) -> Result<usize, Error> {
        if !self.blocks.is_ready() && !self.wait(wait)? {
            return Ok(0);
        }
        let longest = self.interface.longest();
        let (link, filter, counters) = (self.interface.link, self.filter.as_ref(), &mut self.counters);
        let Some((_, block)) = self.blocks.ready() else { return Ok(0) };
        let mut walk = BlockPackets::new(block);
        let mut frames = [EMPTY; BATCH];
        let (mut filled, mut given) = (0, 0);
        for packet in walk.by_ref() {
            counters.count(&packet, longest);
            if filter.is_some_and(|filter| !filter.matches_data(link, packet.wire_len, packet.data)) {
                counters.filtered += 1;
                continue;
            }
            frames[filled] = Frame {
                time: Nanos(packet.time),
                number: self.number,
                link,
                wire_len: packet.wire_len,
                data: packet.data,
            };
            self.number += self.step;
            filled += 1;
            if filled == BATCH {
                take(&frames);
                given += BATCH;
                filled = 0;
            }
        }
        if filled > 0 {
            take(&frames[..filled]);
            given += filled;
        }
        counters.damaged += u64::from(walk.damaged());
        counters.received += given as u64;
        self.blocks.release();
        Ok(given)
    }

    /// Waits for a block; false on timeout.
    fn wait(&mut self, wait: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        if let Some(spin) = self.spin {
            let spin = spin.min(wait);
            while began.elapsed() < spin {
                if self.blocks.is_ready() {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
        }
        let failed = |source| Error::io(&self.interface.name, "waiting for packets", source);
        let rest = wait.saturating_sub(began.elapsed());
        let events = self.socket.wait(rest).map_err(failed)?;
        if events.is_some_and(|events| events & libc::POLLERR != 0) {
            self.handle_error(wait.saturating_sub(began.elapsed()))?;
        }
        let ready = self.blocks.is_ready();
        match self.down {
            Some(_) if ready => self.down = None,
            // The socket reports that an interface goes down, but not that it is removed afterwards.
            Some(seen) if seen.elapsed() > CHECK_INTERVAL => {
                self.check_present()?;
                self.down = Some(Instant::now());
            }
            _ => {}
        }
        Ok(ready)
    }

    fn check_present(&self) -> Result<(), Error> {
        if self.interface.is_there() {
            return Ok(());
        }
        Err(Error::Gone { interface: self.interface.name.clone() })
    }

    /// The interface went down, which may be temporary, or was removed, which is not.
    #[cold]
    fn handle_error(&mut self, wait: Duration) -> Result<(), Error> {
        let failed = |source| Error::io(&self.interface.name, "asking for the error", source);
        let error = self.socket.error().map_err(failed)?;
        self.check_present()?;
        match error {
            Some(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.counters.downs += 1;
                self.down = Some(Instant::now());
                self.socket.wait(wait).map_err(failed)?;
                Ok(())
            }
            Some(error) => Err(Error::io(&self.interface.name, "receiving", error)),
            None => Ok(()),
        }
    }

    pub(super) fn counters(&mut self) -> TapCounters {
        // The kernel counters from the last time it was asked.
        let read = self.socket.get::<libc::tpacket_stats_v3>(libc::SOL_PACKET, libc::PACKET_STATISTICS);
        if let Ok(read) = read {
            self.counters.ring_drops += u64::from(read.tp_drops);
            self.counters.freezes += u64::from(read.tp_freeze_q_cnt);
        }
        self.counters.interface_drops = self.interface.lost();
        let (waiting, all) = self.blocks.waiting();
        self.counters.fill = waiting as f32 / all as f32;
        self.counters
    }
}

/// Enables timestamps of the NIC if requested and available; else those that the kernel takes when a packet
/// enters it.
fn enable_timestamps(settings: &Settings, socket: &Socket, warnings: &mut Vec<String>) -> Result<(), Error> {
    let name = &settings.interface;
    if settings.hardware_time {
        match socket.timestamp_in_hardware(name) {
            Ok(_) => {
                let raw = libc::SOF_TIMESTAMPING_RAW_HARDWARE as i32;
                socket
                    .set(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &raw)
                    .map_err(|source| Error::io(name, "asking for hardware time stamps", source))?;
            }
            Err(error) => warnings.push(format!(
                "`{name}` takes no time stamps in hardware ({error}): packets carry the kernel's"
            )),
        }
    }
    // Without this, the kernel takes the timestamp when it copies the packet to the ring: later, if another
    // CPU does that (RPS).
    let _ = socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32);
    Ok(())
}

fn create_ring(settings: &Settings, socket: &Socket, interface: &Interface) -> Result<Blocks, Error> {
    let (size, count) = geometry(settings.ring);
    let request = libc::tpacket_req3 {
        tp_block_size: size as u32,
        tp_block_nr: count as u32,
        tp_frame_size: FRAME as u32,
        tp_frame_nr: (size / FRAME * count) as u32,
        tp_retire_blk_tov: settings.latency.as_millis().clamp(1, 1000) as u32,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    let failed = |source: std::io::Error| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Error::io(&interface.name, "making a ring", source),
        _ => Error::Ring { interface: interface.name.clone(), mebibytes: settings.ring >> 20, source },
    };
    let _near = NodePreference::new(interface.node);
    socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request).map_err(failed)?;
    Blocks::new(socket.fd(), size, count).map_err(failed)
}

/// Size and number of the blocks of a ring of about `ring` bytes.
///
/// Blocks of 256 KiB: large enough that handing one over costs little per packet, small enough that a ring
/// has many, since at low rates each holds only the packets that arrived within the latency.
fn geometry(ring: usize) -> (usize, usize) {
    let size = (ring / 16).next_power_of_two().clamp(1 << 14, 1 << 18);
    (size, (ring / size).clamp(2, 1 << 16))
}

/// Joins the sockets in a fan-out, in their order: the first gets result 0.
fn join_fanout(settings: &Settings, packets: &[PacketTap]) -> Result<(), Error> {
    let failed = |source| Error::io(&settings.interface, "joining the workers' sockets", source);
    let [first, others @ ..] = packets else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    let mut kind = match settings.fanout {
        Fanout::Source => libc::PACKET_FANOUT_CBPF,
        Fanout::Flow => libc::PACKET_FANOUT_HASH,
        Fanout::Queue => libc::PACKET_FANOUT_QM,
    };
    if settings.ignores_outgoing(first.interface.loopback) {
        kind |= libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    }
    let option = libc::PACKET_FANOUT;
    let new = (kind | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    first.socket.set(libc::SOL_PACKET, option, &new).map_err(failed)?;
    let group = first.socket.get::<u32>(libc::SOL_PACKET, option).map_err(failed)? & 0xffff;
    if settings.fanout == Fanout::Source {
        // INVARIANT: a test builds the program.
        let program = fanout::program().expect("the program is sound");
        first
            .socket
            .program(libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, program.instructions())
            .map_err(failed)?;
    }
    for packet in others {
        packet.socket.set(libc::SOL_PACKET, option, &(kind << 16 | group)).map_err(failed)?;
    }
    Ok(())
}

impl Settings {
    /// On the loopback interface every packet is both sent and received: it would be captured twice.
    fn ignores_outgoing(&self, loopback: bool) -> bool {
        loopback || self.direction == Direction::Incoming
    }
}

/// BPF_RET | BPF_K.
const RETURN: u16 = 6;
/// Drops every packet.
const RETURN_0: bpf::Instruction = bpf::Instruction { code: RETURN, jt: 0, jf: 0, k: 0 };
/// Required by the kernel but unused in version 3.
const FRAME: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_have_many_blocks_and_the_size_asked_for() {
        for (ring, blocks) in [(64 << 20, (1 << 18, 256)), (1 << 18, (1 << 14, 16)), (1 << 16, (1 << 14, 4))]
        {
            assert_eq!(geometry(ring), blocks, "{ring}");
        }
    }
}
