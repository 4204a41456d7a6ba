//! What packets of a flow do not change, or rarely.

use ringtap_model::Nanos;

use super::flow::SlowState;
use crate::codecs::CodecId;
use crate::table::rows::Chain;
use crate::update::Side;

/// Payload types of one stream that are counted apart.
const MAX_TYPES: usize = 4;

/// A payload type that a stream used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TypeCount {
    pub(super) payload_type: u8,
    pub(super) packets: u32,
    pub(super) codec: Option<CodecId>,
    pub(super) event: bool,
}

/// A pressed digit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digit {
    pub(crate) time: Nanos,
    pub(crate) code: u8,
}

/// What packets do not change, or rarely.
#[derive(Clone, Copy)]
pub(super) struct FlowDetails {
    pub(super) slow: SlowState,
    pub(super) serial: u64,
    /// Last RTCP of the flow.
    pub(super) rtcp: Nanos,
    /// The view of its call and the entries of its ends, [`NONE`] where there is none.
    pub(super) call: u32,
    pub(super) nodes: [u32; 2],
    pub(super) types: [TypeCount; MAX_TYPES],
    pub(super) intervals: Chain,
    pub(super) digits: Chain,
    /// Timestamp of the last telephone-event, if there was one.
    pub(super) event: u32,
    /// Codec of the payload type in use.
    pub(super) codec: Option<CodecId>,
    pub(super) score: u8,
    /// Side that sends.
    pub(super) side: Option<Side>,
}

impl FlowDetails {
    /// Of a flow that has no packet yet.
    pub(super) const NONE: Self = Self {
        slow: SlowState::NONE,
        serial: 0,
        rtcp: Nanos::ZERO,
        call: NONE,
        nodes: [NONE; 2],
        types: [TypeCount { payload_type: 0, packets: 0, codec: None, event: false }; MAX_TYPES],
        intervals: Chain::EMPTY,
        digits: Chain::EMPTY,
        event: 0,
        codec: None,
        score: 0,
        side: None,
    };

    pub(super) fn call(&self) -> Option<u32> {
        (self.call != NONE).then_some(self.call)
    }
}

pub(super) const NONE: u32 = u32::MAX;

/// Adds packets to the count of their type; past the ceiling the rarest makes room.
pub(super) fn count_type(
    types: &mut [TypeCount; MAX_TYPES],
    payload_type: u8,
    packets: u32,
    codec: Option<CodecId>,
    event: bool,
) {
    if packets == 0 {
        return;
    }
    let known = types.iter().position(|count| count.packets > 0 && count.payload_type == payload_type);
    let place = known.unwrap_or_else(|| {
        let rarest = (0..MAX_TYPES).min_by_key(|&place| types[place].packets).unwrap_or(0);
        types[rarest] = TypeCount { payload_type, ..TypeCount::default() };
        rarest
    });
    let count = &mut types[place];
    count.packets = count.packets.saturating_add(packets);
    count.codec = codec.or(count.codec);
    count.event = event;
}

/// The payload type of most packets; telephone-event and comfort noise only where there is nothing else.
pub(super) fn main_type(types: &[TypeCount], is_noise: impl Fn(&TypeCount) -> bool) -> TypeCount {
    types
        .iter()
        .copied()
        .filter(|count| count.packets > 0)
        .max_by_key(|count| (!count.event && !is_noise(count), count.packets))
        .unwrap_or_default()
}
