//! Where calls receive media, for the next run and from the last.

use super::StreamTable;
use crate::continued::{ContinuedCodec, ContinuedLeg, ContinuedMedia};
use crate::update::{CallRef, MediaUpdate, PayloadTypes, Side};

impl StreamTable {
    /// The media endpoints of a call, announced or learned.
    pub(crate) fn legs_of(&self, call: CallRef) -> Vec<ContinuedLeg> {
        let view = self.replicas.find(call).and_then(|slot| self.replicas.get(slot));
        let legs = view.into_iter().flat_map(|view| &view.legs);
        legs.map(|leg| ContinuedLeg {
            endpoint: leg.endpoint,
            is_caller: leg.side == Side::Caller,
            codecs: self.named(leg.types()),
        })
        .collect()
    }

    fn named(&self, types: &PayloadTypes) -> Vec<ContinuedCodec> {
        let named = types.iter().filter_map(|(payload_type, id)| {
            let codec = self.codecs.get(*id)?;
            Some(ContinuedCodec {
                payload_type: *payload_type,
                name: codec.name.to_string(),
                clock: codec.clock.0,
                channels: codec.channels,
            })
        });
        named.collect()
    }

    /// Goes on with the media of a call of the last run.
    pub(crate) fn continue_call(&mut self, media: &ContinuedMedia) {
        for side in [Side::Caller, Side::Callee] {
            let legs = media.legs.iter().filter(|leg| leg.is_caller == (side == Side::Caller));
            let ends = legs.map(|leg| (leg.endpoint, self.types_of(&leg.codecs))).collect();
            let ContinuedMedia { order, call, status, .. } = *media;
            self.apply(&MediaUpdate { order, call, status, side, ends });
        }
    }

    fn types_of(&mut self, codecs: &[ContinuedCodec]) -> PayloadTypes {
        let types = codecs.iter().filter_map(|codec| {
            let id = self.codecs.intern(codec.name.as_bytes(), codec.clock, codec.channels);
            Some((codec.payload_type, id?))
        });
        types.collect()
    }
}
