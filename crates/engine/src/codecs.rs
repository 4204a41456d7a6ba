//! Codec names as SDP gives them, each kept once.

use std::num::NonZeroU16;

use ringtap_model::Hz;
use ringtap_wire::sdp;

/// Different codecs that one engine remembers; names from the wire are hostile.
const CEILING: usize = 4096;
/// Longest encoding name that is kept.
const MAX_NAME: usize = 64;

/// What carries signals instead of sound: RFC 4733 events and tones, and a gateway maker's own. Timestamps
/// stand still.
const EVENTS: [&str; 3] = ["telephone-event", "tone", "X-NSE"];

/// A codec: its number in [`Codecs`], from 1, so that none costs no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodecId(NonZeroU16);

impl CodecId {
    /// Its index in the table that gave it.
    pub(crate) fn index(self) -> usize {
        usize::from(self.0.get()) - 1
    }
}

/// A codec as announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Codec {
    /// Encoding name as in `a=rtpmap`, or of RFC 3551.
    pub(crate) name: String,
    pub(crate) clock: Hz,
    pub(crate) channels: u8,
    /// telephone-event: never the codec of a stream.
    pub(crate) event: bool,
    /// Comfort noise: never the codec of a stream either.
    pub(crate) noise: bool,
}

/// Every codec seen so far.
#[derive(Default)]
pub(crate) struct Codecs(Vec<Codec>);

impl Codecs {
    pub(crate) fn get(&self, id: CodecId) -> &Codec {
        &self.0[id.index()]
    }

    /// The number of a codec; None when the name is no name or the table is full.
    pub(crate) fn intern(&mut self, name: &[u8], clock: u32, channels: u8) -> Option<CodecId> {
        let name =
            std::str::from_utf8(name).ok().filter(|name| !name.is_empty() && name.len() <= MAX_NAME)?;
        let found = self
            .0
            .iter()
            .position(|codec| codec.name == name && codec.clock.0 == clock && codec.channels == channels);
        let index = match found {
            Some(index) => index,
            None if self.0.len() < CEILING => {
                let event = EVENTS.iter().any(|event| name.eq_ignore_ascii_case(event));
                let noise = name.eq_ignore_ascii_case("CN");
                self.0.push(Codec { name: name.to_owned(), clock: Hz(clock), channels, event, noise });
                self.0.len() - 1
            }
            None => return None,
        };
        u16::try_from(index + 1).ok().and_then(NonZeroU16::new).map(CodecId)
    }

    /// A codec by its index, with that index, to tell others of.
    pub(crate) fn nth(&self, index: usize) -> Option<(u16, &Codec)> {
        Some((u16::try_from(index).ok()?, self.0.get(index)?))
    }

    /// The codec that RFC 3551 binds to a static payload type.
    pub(crate) fn of_static(&mut self, payload_type: u8) -> Option<CodecId> {
        let (name, clock, channels) = sdp::static_payload(payload_type)?;
        self.intern(name.as_bytes(), clock, channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codec_is_known_by_name_clock_and_channels() {
        let mut codecs = Codecs::default();
        let opus = codecs.intern(b"opus", 48_000, 2);
        assert!(opus.is_some());
        assert_eq!(codecs.intern(b"opus", 48_000, 2), opus);
        for (name, clock, channels) in [(&b"opus"[..], 48_000, 1), (b"opus", 16_000, 2), (b"Opus", 48_000, 2)]
        {
            assert_ne!(codecs.intern(name, clock, channels), opus);
        }
        assert_eq!(codecs.nth(3).map(|(index, codec)| (index, codec.name.as_str())), Some((3, "Opus")));
        assert!(codecs.nth(4).is_none());
    }

    #[test]
    fn what_is_no_name_is_no_codec() {
        let mut codecs = Codecs::default();
        for (name, is_name) in
            [(&b""[..], false), (b"\xff", false), (&[b'x'; 64], true), (&[b'x'; 65], false)]
        {
            assert_eq!(codecs.intern(name, 8000, 1).is_some(), is_name);
        }
    }

    #[test]
    fn signals_and_comfort_noise_are_marked_whatever_their_case() {
        let mut codecs = Codecs::default();
        for (name, event, noise) in [
            ("Telephone-Event", true, false),
            ("tone", true, false),
            ("x-nse", true, false),
            ("cn", false, true),
            ("PCMA", false, false),
        ] {
            let id = codecs.intern(name.as_bytes(), 8000, 1).unwrap();
            assert_eq!((codecs.get(id).event, codecs.get(id).noise), (event, noise), "{name}");
        }
        let pcma = codecs.of_static(8).unwrap();
        assert_eq!((codecs.get(pcma).name.as_str(), codecs.get(pcma).clock), ("PCMA", Hz(8000)));
        assert_eq!(codecs.of_static(96), None);
    }

    #[test]
    fn at_the_ceiling_only_known_codecs_have_a_number() {
        let mut codecs = Codecs::default();
        for number in 0..CEILING {
            assert!(codecs.intern(format!("codec{number}").as_bytes(), 8000, 1).is_some());
        }
        assert_eq!(codecs.intern(b"another", 8000, 1), None);
        assert!(codecs.intern(b"codec7", 8000, 1).is_some());
    }
}
