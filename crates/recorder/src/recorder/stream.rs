//! Media streams: the fast path of those whose packets are all recorded, and the slow path of the others.

use super::*;

/// A media stream.
pub(super) struct Stream {
    pub(super) track: OwnerRecording,
    /// In the engine, see [`RtpSeen::stream_slot`].
    pub(super) place: u32,
    pub(super) call: Option<CallNumber>,
    pub(super) hosts: [IpAddr; 2],
    pub(super) ssrc: u32,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// What the rules say of it where no call claims it.
    pub(super) alone: Option<CallDecision>,
    /// No packet of it will come; since when.
    pub(super) left: Option<Nanos>,
    /// RTP timestamp of the event that was taken last.
    pub(super) event: Option<u32>,
    pub(super) digits: PressedDigits,
    /// The call whose decision is pending, as is noted on the disk.
    pub(super) noted_pending: Option<CallNumber>,
}

/// The fast path of a stream: every packet is recorded whole until something else is decided. All that the
/// next packet needs fits into one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FastPath {
    /// Serial of the stream that this entry is for.
    pub(super) serial: u64,
    /// [`Recorder::version`] when it was written; not good for any other.
    pub(super) version: u64,
    /// As the engine named it.
    pub(super) call: Option<CallNumber>,
    /// None where packets take the slow path.
    pub(super) owner: Option<OwnerHandle>,
    pub(super) last: Nanos,
}

const _: () = assert!(size_of::<FastPath>() == 64);

impl FastPath {
    pub(super) const NONE: Self = Self { serial: 0, version: 0, call: None, owner: None, last: Nanos::ZERO };
}

/// Numbers that count up need no more than to be spread.
#[derive(Default)]
pub(super) struct SerialHasher(u64);

impl Hasher for SerialHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 / the golden ratio: high bits for the place, low ones for the tag.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

impl Recorder {
    /// While it stays the same, entries of the fast path stay valid.
    pub(super) fn version(&self) -> u64 {
        self.orders.table.changes() ^ self.epoch << 40
    }

    /// Records a media packet. HOT: one cache line and one copy.
    #[inline]
    pub(super) fn media(&mut self, seen: &RtpSeen<'_>, piece: &PassingPacket<'_>) {
        let version = self.version();
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize)
            && (line.serial, line.version, line.call) == (seen.serial, version, seen.call)
            && let Some(owner) = line.owner
        {
            line.last = seen.time;
            return self.output.keeper.put_bytes(owner, piece.time, piece.wire_len, piece.data);
        }
        self.media_slow_path(seen, piece, version);
    }

    /// The same where the decision about the stream has to be looked up.
    #[inline(never)]
    pub(super) fn media_slow_path(&mut self, seen: &RtpSeen<'_>, piece: &PassingPacket<'_>, version: u64) {
        let intercepts_nobody = self.intercepts_nobody();
        let Self { streams, output, orders, ruling, eraser, .. } = self;
        let stream = streams.entry(seen.serial).or_insert_with(|| Stream::new(seen));
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = decision_of(orders, ruling, stream);
        if standing.may_pause && standing.is_event(seen.payload_type) {
            stream.press(seen, orders, ruling);
        }
        if standing.provisional {
            stream.note_pending(eraser.as_mut());
        }
        if output.put(&mut stream.track, &standing, piece) {
            self.waiting.push(seen.serial);
        }
        let takes_fast_path =
            may_take_fast_path(&standing, ruling) && !stream.track.waits() && intercepts_nobody;
        let owner = stream.track.owner().filter(|_| takes_fast_path);
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize) {
            *line = FastPath { serial: seen.serial, version, call: seen.call, owner, last: seen.time };
        }
        if !intercepts_nobody {
            self.product_media(seen, piece);
        }
    }

    /// Keeps what reports say of a stream: they are kept with it, whole.
    pub(super) fn reports(&mut self, seen: &RtcpSeen<'_>, data: &[u8], wire_len: u32) {
        // Reports say nothing of what is said.
        let piece = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        self.product_reports(seen, &piece);
        let Some(stream) = self.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = decision_of(&self.orders, &self.ruling, stream);
        if standing.provisional {
            stream.note_pending(self.eraser.as_mut());
        }
        if self.output.put(&mut stream.track, &standing, &piece) {
            self.waiting.push(seen.serial);
        }
    }

    /// No packet of the stream will come.
    pub(super) fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        let now = self.now;
        self.product_leaving(serial);
        let Some(stream) = self.streams.get(&serial) else { return RecordedPackets::default() };
        if let Some(number) = stream.call.filter(|_| stream.track.waits()) {
            // It ends with its call: what is not known now will not be.
            if number.worker() == self.worker
                && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
            {
                state.facts.over = true;
                self.judge(number.slot(), None, false);
            }
        }
        let Some(stream) = self.streams.get_mut(&serial) else { return RecordedPackets::default() };
        stream.left = Some(now);
        if stream.track.waits() {
            if stream.call.is_none() {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = decision_of(&self.orders, &self.ruling, stream);
            if !matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided) {
                // Another worker has not said yet.
                return RecordedPackets::default();
            }
            if standing.provisional {
                stream.note_pending(self.eraser.as_mut());
            }
            self.output.settle(&mut stream.track, &standing);
        }
        let Some(mut stream) = self.streams.remove(&serial) else { return RecordedPackets::default() };
        if let Some(line) =
            self.fast_paths.get_mut(stream.place as usize).filter(|line| line.serial == serial)
        {
            line.owner = None;
        }
        self.output.end(&mut stream.track, now)
    }
}

impl Stream {
    pub(super) fn new(seen: &RtpSeen<'_>) -> Self {
        let RtpSeen { src, dst, ssrc, time, stream_slot: place, .. } = *seen;
        Self {
            track: OwnerRecording::new(Category::Media, of_stream(src, dst, ssrc)),
            place,
            call: None,
            hosts: [src.ip, dst.ip],
            ssrc,
            first: time,
            last: time,
            alone: None,
            left: None,
            event: None,
            digits: PressedDigits::default(),
            noted_pending: None,
        }
    }

    /// Something of it is about to be kept until its call's end tells whether it should be.
    #[cold]
    pub(super) fn note_pending(&mut self, eraser: Option<&mut Eraser>) {
        if let Some((eraser, call)) =
            eraser.zip(self.call).filter(|(_, call)| self.noted_pending != Some(*call))
        {
            self.noted_pending = Some(call);
            eraser.note_pending(PendingEntry::Begun {
                call: number(call),
                owner: self.track.key,
                from: self.first,
            });
        }
    }

    /// A telephone-event: a digit where it is a new one.
    #[cold]
    pub(super) fn press(&mut self, seen: &RtpSeen<'_>, orders: &Orders, ruling: &Ruling) {
        // Every packet of an event has its beginning as timestamp (RFC 4733 section 2.4.1.1).
        if self.event.replace(seen.timestamp) == Some(seen.timestamp) {
            return;
        }
        if let (Some(digit), Some(call)) = (digit_of_event(seen.payload), self.call) {
            let (pause, resume) = self.digits.press(digit, ruling);
            pause_or_resume(orders, call, pause, resume);
        }
    }
}

/// How a stream stands: as its call does, or alone where it has none. HOT: a load.
pub(super) fn decision_of(orders: &Orders, ruling: &Ruling, stream: &Stream) -> CallDecision {
    let known = match stream.call {
        Some(call) => orders.table.get(place(call)),
        None => stream.alone.unwrap_or_default(),
    };
    match (known.state, ruling.rules.always()) {
        (DecisionState::Unknown, Some(rule)) => CallDecision {
            state: DecisionState::Decided,
            what: rule.what,
            mask_digits: rule.mask_digits,
            ..CallDecision::default()
        },
        (DecisionState::Unknown, None) => CallDecision { what: ruling.rules.most(), ..known },
        _ => known,
    }
}

/// Whether all of every packet is kept, whatever is in it, and nobody looks for digits there.
pub(super) fn may_take_fast_path(standing: &CallDecision, ruling: &Ruling) -> bool {
    let CallDecision { state, what, paused, mask_digits, may_pause, .. } = *standing;
    let is_kept =
        matches!(state, DecisionState::UntilEnd | DecisionState::Decided) && what == RecordingScope::Full;
    let listens = may_pause && [&ruling.pause, &ruling.resume].iter().any(|switch| !switch.digits.is_empty());
    is_kept && !paused && !mask_digits && !listens
}

/// What the rules say of a stream that no call claims.
pub(super) fn alone(ruling: &Ruling, stream: &Stream) -> CallDecision {
    alone_facts(ruling, &stream.hosts, stream.ssrc, |facts| standing(&ruling.rules.decide(facts)))
}

/// Asks with what is known of a stream that no call claims.
pub(super) fn alone_facts<T>(
    ruling: &Ruling,
    ends: &[IpAddr],
    ssrc: u32,
    ask: impl FnOnce(&CallFacts<'_>) -> T,
) -> T {
    let mut hosts: Vec<String> = ends.iter().map(IpAddr::to_string).collect();
    hosts.sort();
    let parts: Vec<&[u8]> = hosts.iter().map(String::as_bytes).collect();
    let ssrc = ssrc.to_be_bytes();
    let key = ruling.hash(&[&parts[..], &[&ssrc[..]]].concat());
    ask(&CallFacts { addresses: ends, key, over: true, judged: true, ..CallFacts::default() })
}
