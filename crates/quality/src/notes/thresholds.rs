//! Every threshold of the notes, in one table.

use ringtap_model::NoteCode;

/// A number from which on something is remarked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The note.
    pub code: NoteCode,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What has to reach it.
    pub measure: &'static str,
}

macro_rules! thresholds {
    ($($NAME:ident: $Code:ident, $value:literal $unit:literal, $measure:literal;)+) => {
        $(#[doc = $measure] pub(super) const $NAME: f64 = $value;)+

        /// The table, as `docs/manual/records.md` has it.
        pub const THRESHOLDS: &[Threshold] = &[$(
            Threshold { code: NoteCode::$Code, value: $NAME, unit: $unit, measure: $measure },
        )+];
    };
}

thresholds! {
    ONE_WAY_MS: OneWay, 5000.0 "ms", "media in the one direction after the answer";
    ONE_WAY_END_MS: OneWay, 10000.0 "ms", "media went on in the one direction after the other had ended";
    NO_AUDIO_MS: NoAudio, 5000.0 "ms", "answered time without any media; so for `signalling_only` and \
        `media_elsewhere`";
    LOSS_PCT: Loss, 1.0 "%", "packets lost, as many as 3GPP TS 23.203 allows a call (QCI 1), and";
    LOSS_MIN: Loss, 5.0 "packets", "lost";
    LOW_MOS: LowMos, 3.6 "MOS", "below, \"many users dissatisfied\" in G.109";
    LATE_PCT: LatePackets, 1.0 "%", "packets later than 500 ms";
    GAP_MS: LongGap, 1000.0 "ms", "sound that was lost in a row, or time in which none of it came";
    CLIPPED_PCT: Clipped, 1.0 "%", "samples at the end of the scale";
    SILENT_PCT: Silent, 99.0 "%", "silence";
    SILENT_MS: Silent, 10000.0 "ms", "length of the stream";
    PTIME_MS: PacketTime, 1.0 "ms", "difference from the `a=ptime` of the receiver";
    SET_UP_MS: SlowSetUp, 10000.0 "ms", "post-dial delay";
    NO_ACK: NoAck, 3.0 "times", "the answer was repeated";
    SHORT_MS: ShortCall, 3000.0 "ms", "at most this long from answer to release";
    LATE_MEDIA_MS: LateMedia, 2000.0 "ms", "from the answer to the first packet of a direction";
    DURATION_MS: DurationsDiffer, 5000.0 "ms", "difference after the answer, and";
    DURATION_PCT: DurationsDiffer, 20.0 "%", "of the longer one";
    STEADY_PCT: LongGap, 90.0 "%", "time that packets carry: below, the sender suppresses silence (DTX) and \
        is not judged by its gaps";
}
