//! What an engineer would remark of a call or a stream.

use crate::definition::{names, record};
use crate::{Direction, Nanos};

names! {
    /// What is remarked.
    pub enum NoteCode {
        /// Nothing was heard in one direction, where this tap sees both directions of other media.
        OneWay = "one_way",
        /// The call was answered and had no media, where this tap sees other media between these places.
        NoAudio = "no_audio",
        /// The call was answered and no media of any call was seen before its end.
        SignallingOnly = "signalling_only",
        /// The call was answered and media of other calls passes here, but none between these places.
        MediaElsewhere = "media_elsewhere",
        /// One direction had no media, and this tap was not seen to see both directions there.
        DirectionNotCaptured = "direction_not_captured",
        /// Packets were lost.
        Loss = "loss",
        /// The voice was rated so low that many of its hearers are dissatisfied (G.109).
        LowMos = "low_mos",
        /// Packets came too late for every jitter buffer: they count as lost in the MOS, not in `lost`.
        LatePackets = "late_packets",
        /// A long gap in the sound: packets in a row were lost, or all came late at once.
        LongGap = "long_gap",
        /// The call was a fax by T.38: its media has no MOS.
        Fax = "fax",
        /// The media was announced as encrypted.
        Encrypted = "encrypted",
        /// Much of the sound was at the end of the scale.
        Clipped = "clipped",
        /// The sound was silence throughout.
        Silent = "silent",
        /// Packets had another packet time than the receiver asked for.
        PacketTime = "packet_time",
        /// The phone took long to ring.
        SlowSetUp = "slow_set_up",
        /// The answer was repeated, and no ACK came: the callee hangs up after 32 s (RFC 3261, 13.3.1.4).
        NoAck = "no_ack",
        /// The call was released soon after its answer.
        ShortCall = "short_call",
        /// A private address was announced from behind a public one, and media or the ACK was missing.
        Nat = "nat",
        /// Media began long after the answer.
        LateMedia = "late_media",
        /// The two directions had different codecs.
        CodecsDiffer = "codecs_differ",
        /// The two directions had the same codec under different payload types.
        PayloadTypesDiffer = "payload_types_differ",
        /// The two directions had different packet times.
        PacketTimesDiffer = "packet_times_differ",
        /// The two directions lasted for different times.
        DurationsDiffer = "durations_differ",
        /// The session was not refreshed in time, and no BYE was seen (RFC 4028): the call ended then.
        SessionExpired = "session_expired",
        /// A side put the other on hold.
        Hold = "hold",
        /// A side sent the other on to somebody else, or the call took the place of another.
        Transfer = "transfer",
        /// The INVITE had no Identity header, though calls here should have one (STIR/SHAKEN).
        NoIdentity = "no_identity",
        /// Its Identity header does not hold: it vouches for nothing.
        BadIdentity = "bad_identity",
        /// The call was answered and its streams are those of another call, which announced the same
        /// endpoints: the same call before or behind a proxy that gives it another Call-ID.
        SharedMedia = "shared_media",
    }
}

impl NoteCode {
    /// Whether somebody would complain of it, or it keeps a call from being judged: all but what people do
    /// with a telephone, and media that are judged with another call.
    pub const fn is_problem(self) -> bool {
        !matches!(self, Self::Hold | Self::Transfer | Self::SharedMedia)
    }
}

record! {
    /// A remark, with its evidence.
    #[part]
    #[name = "note"]
    pub struct Note {
        /// What is remarked.
        pub code: NoteCode,
        /// The direction that it is about; null where it is about the call.
        pub direction: Option<Direction>,
        /// Since when.
        #[name = "since_us"]
        pub since: Option<Nanos>,
        /// The number that was found, in the unit of the threshold.
        pub value: Option<f64>,
        /// The threshold that it reached: they stand below.
        pub threshold: Option<f64>,
        /// The evidence in words.
        pub evidence: String,
    }
}

impl Note {
    /// A note about the call as a whole.
    pub fn new(code: NoteCode, evidence: String) -> Self {
        Self { code, direction: None, since: None, value: None, threshold: None, evidence }
    }
}
