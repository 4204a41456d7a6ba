//! Codec names as SDP gives them, each kept once.
//!
//! Static payload types and well-known names always have a number. Other names come from anybody: up to
//! [`CEILING`] of them are remembered, and the one that was named longest ago leaves first, unless a stream
//! uses it.

mod known;

use std::num::NonZeroU32;
use std::sync::Arc;

use hashbrown::HashTable;
use ringtap_model::Hz;
use ringtap_wire::sdp;

use crate::table::hash::Hasher;
use crate::table::queues::Queues;
use known::{STATIC_TYPES, WELL_KNOWN};

/// Names besides the reserved ones that one engine remembers at once.
const CEILING: usize = 4096;
/// Longest encoding name that is kept.
const MAX_NAME: usize = 64;

/// What carries signals instead of sound: RFC 4733 events and tones, and a gateway maker's own. Timestamps
/// stand still.
const EVENTS: [&str; 3] = ["telephone-event", "tone", "X-NSE"];

/// A codec: its place in [`Codecs`], from 1, so that none costs no space, and how often the place was used
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodecId(NonZeroU32);

impl CodecId {
    /// INVARIANT: `index` is below 65,535, so that no number overflows.
    fn new(index: u32, generation: u16) -> Self {
        Self(NonZeroU32::MIN.saturating_add(u32::from(generation) << 16 | index))
    }

    /// Its index in the table that gave it.
    pub(crate) fn index(self) -> usize {
        usize::from((self.0.get() - 1) as u16)
    }

    fn generation(self) -> u16 {
        ((self.0.get() - 1) >> 16) as u16
    }
}

/// A codec as announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Codec {
    /// Encoding name as in `a=rtpmap`, or of RFC 3551.
    pub(crate) name: Arc<str>,
    pub(crate) clock: Hz,
    pub(crate) channels: u8,
    /// telephone-event: never the codec of a stream.
    pub(crate) event: bool,
    /// Comfort noise: never the codec of a stream either.
    pub(crate) noise: bool,
}

impl Codec {
    fn new((name, clock, channels): CodecName<'_>) -> Self {
        let event = EVENTS.iter().any(|event| name.eq_ignore_ascii_case(event));
        let noise = name.eq_ignore_ascii_case("CN");
        Self { name: name.into(), clock: Hz(clock), channels, event, noise }
    }

    fn is(&self, (name, clock, channels): CodecName<'_>) -> bool {
        *self.name == *name && self.clock.0 == clock && self.channels == channels
    }

    fn key(&self) -> CodecName<'_> {
        (&self.name, self.clock.0, self.channels)
    }
}

/// Encoding name, clock in Hz, channels.
type CodecName<'a> = (&'a str, u32, u8);

struct Entry {
    codec: Codec,
    generation: u16,
    /// Streams that use it; as long as there are any it stays.
    streams: u32,
}

/// What became of names for which the table was too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodecCounts {
    /// Names that found no place, since streams use all others.
    pub(crate) refused: u64,
    /// Names that gave their place to newer ones.
    pub(crate) evicted: u64,
}

/// The codecs that have a number.
pub(crate) struct Codecs {
    /// The reserved ones first.
    entries: Vec<Entry>,
    index: HashTable<u32>,
    hasher: Hasher,
    reserved: usize,
    statics: [Option<CodecId>; STATIC_TYPES],
    /// Those that no stream uses, in order of when they were last named.
    unused: Queues,
    pub(crate) counts: CodecCounts,
}

impl Codecs {
    pub(crate) fn new(hasher: Hasher) -> Self {
        let mut codecs = Self {
            entries: Vec::new(),
            index: HashTable::new(),
            hasher,
            reserved: 0,
            statics: [None; STATIC_TYPES],
            unused: Queues::new(1, 0),
            counts: CodecCounts::default(),
        };
        for payload_type in 0..STATIC_TYPES {
            let fixed = sdp::static_payload(payload_type as u8);
            codecs.statics[payload_type] =
                fixed.map(|name| codecs.find(name).unwrap_or_else(|| codecs.add(name)));
        }
        for name in WELL_KNOWN {
            if codecs.find(name).is_none() {
                codecs.add(name);
            }
        }
        codecs.reserved = codecs.entries.len();
        codecs
    }

    /// A codec; None when its place was given to another since.
    pub(crate) fn get(&self, id: CodecId) -> Option<&Codec> {
        let entry = self.entries.get(id.index()).filter(|entry| entry.generation == id.generation())?;
        Some(&entry.codec)
    }

    /// Whether it has the same number in every worker, for as long as they run.
    #[inline]
    pub(crate) fn is_reserved(&self, id: CodecId) -> bool {
        id.index() < self.reserved
    }

    /// The number of a codec; None when the name is no name or streams use all that the table holds.
    pub(crate) fn intern(&mut self, name: &[u8], clock: u32, channels: u8) -> Option<CodecId> {
        let name =
            std::str::from_utf8(name).ok().filter(|name| !name.is_empty() && name.len() <= MAX_NAME)?;
        let key = (name, clock, channels);
        if let Some(id) = self.find(key) {
            self.name_again(id);
            return Some(id);
        }
        if self.entries.len() < self.reserved + CEILING {
            let id = self.add(key);
            self.unused.push(id.index() as u32, 0);
            return Some(id);
        }
        match self.unused.oldest(0) {
            Some(oldest) => Some(self.replace(oldest, key)),
            None => {
                self.counts.refused += 1;
                None
            }
        }
    }

    /// The codec that RFC 3551 binds to a static payload type.
    pub(crate) fn of_static(&self, payload_type: u8) -> Option<CodecId> {
        self.statics.get(usize::from(payload_type)).copied().flatten()
    }

    /// An announcement names a codec by a number that was given out earlier; false when its place was given
    /// to another since.
    #[inline]
    pub(crate) fn name_again(&mut self, id: CodecId) -> bool {
        self.is_reserved(id) || self.name_other_again(id)
    }

    fn name_other_again(&mut self, id: CodecId) -> bool {
        if self.get(id).is_none() {
            return false;
        }
        if self.entries[id.index()].streams == 0 {
            self.unused.push(id.index() as u32, 0);
        }
        true
    }

    /// A stream uses `new` instead of what it used before.
    pub(crate) fn exchange(&mut self, used: &mut Option<CodecId>, new: Option<CodecId>) {
        self.acquire(new);
        self.release(std::mem::replace(used, new));
    }

    /// Another stream uses it.
    pub(crate) fn acquire(&mut self, id: Option<CodecId>) {
        let Some(id) = id.filter(|id| !self.is_reserved(*id)) else { return };
        self.unused.remove(id.index() as u32);
        self.entries[id.index()].streams += 1;
    }

    /// A stream uses it no more.
    pub(crate) fn release(&mut self, id: Option<CodecId>) {
        let Some(id) = id.filter(|id| !self.is_reserved(*id)) else { return };
        let entry = &mut self.entries[id.index()];
        entry.streams -= 1;
        if entry.streams == 0 {
            self.unused.push(id.index() as u32, 0);
        }
    }

    fn find(&self, key: CodecName<'_>) -> Option<CodecId> {
        let hash = self.hasher.of(key);
        let index = *self.index.find(hash, |index| self.entries[*index as usize].codec.is(key))?;
        Some(CodecId::new(index, self.entries[index as usize].generation))
    }

    fn add(&mut self, key: CodecName<'_>) -> CodecId {
        let index = self.entries.len() as u32;
        self.entries.push(Entry { codec: Codec::new(key), generation: 0, streams: 0 });
        self.enter(index);
        CodecId::new(index, 0)
    }

    /// Enters a codec into the index.
    fn enter(&mut self, index: u32) {
        let Self { entries, hasher, .. } = self;
        let hash = |index: &u32| hasher.of(entries[*index as usize].codec.key());
        self.index.insert_unique(hash(&index), index, hash);
    }

    /// Gives the place of a codec that no stream uses to another.
    fn replace(&mut self, index: u32, key: CodecName<'_>) -> CodecId {
        let hash = self.hasher.of(self.entries[index as usize].codec.key());
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == index) {
            entry.remove();
        }
        let entry = &mut self.entries[index as usize];
        entry.codec = Codec::new(key);
        entry.generation = entry.generation.wrapping_add(1);
        let generation = entry.generation;
        self.enter(index);
        self.unused.push(index, 0);
        self.counts.evicted += 1;
        CodecId::new(index, generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codecs() -> Codecs {
        Codecs::new(Hasher::new(1))
    }

    fn fill(codecs: &mut Codecs, prefix: &str) -> Vec<Option<CodecId>> {
        (0..CEILING).map(|number| codecs.intern(format!("{prefix}{number}").as_bytes(), 8000, 1)).collect()
    }

    #[test]
    fn a_codec_is_known_by_name_clock_and_channels() {
        let mut codecs = codecs();
        let melp = codecs.intern(b"MELP", 8000, 2);
        assert!(melp.is_some());
        assert_eq!(codecs.intern(b"MELP", 8000, 2), melp);
        for (name, clock, channels) in [(&b"MELP"[..], 8000, 1), (b"MELP", 16_000, 2), (b"Melp", 8000, 2)] {
            let other = codecs.intern(name, clock, channels);
            assert_ne!(other, melp);
            assert_eq!(other.and_then(|id| codecs.get(id)).map(|codec| codec.name.as_bytes()), Some(name));
        }
    }

    #[test]
    fn what_is_no_name_is_no_codec() {
        let mut codecs = codecs();
        for (name, is_name) in
            [(&b""[..], false), (b"\xff", false), (&[b'x'; 64], true), (&[b'x'; 65], false)]
        {
            assert_eq!(codecs.intern(name, 8000, 1).is_some(), is_name);
        }
    }

    #[test]
    fn signals_and_comfort_noise_are_marked_whatever_their_case() {
        let mut codecs = codecs();
        for (name, event, noise) in [
            ("Telephone-Event", true, false),
            ("tone", true, false),
            ("x-nse", true, false),
            ("cn", false, true),
            ("PCMA", false, false),
        ] {
            let codec = codecs.intern(name.as_bytes(), 8000, 1).and_then(|id| codecs.get(id)).unwrap();
            assert_eq!((codec.event, codec.noise), (event, noise), "{name}");
        }
        let pcma = codecs.of_static(8).and_then(|id| codecs.get(id)).unwrap();
        assert_eq!((&*pcma.name, pcma.clock), ("PCMA", Hz(8000)));
        assert_eq!((codecs.of_static(96), codecs.of_static(1)), (None, None));
    }

    #[test]
    fn invented_names_never_take_the_place_of_reserved_ones() {
        let mut codecs = codecs();
        let opus = codecs.intern(b"opus", 48_000, 2);
        assert!(opus.is_some_and(|id| codecs.is_reserved(id)));
        for round in 0..3 {
            assert!(fill(&mut codecs, &format!("r{round}-")).iter().all(Option::is_some));
        }
        assert_eq!(codecs.intern(b"opus", 48_000, 2), opus);
        let names: Vec<_> = (0..=34)
            .filter_map(|number| codecs.get(codecs.of_static(number)?))
            .map(|codec| &codec.name)
            .collect();
        assert_eq!((names.len(), &**names[0]), (26, "PCMU"));
        assert_eq!(codecs.counts, CodecCounts { refused: 0, evicted: 2 * CEILING as u64 });
        assert_eq!(codecs.entries.len(), codecs.reserved + CEILING);
    }

    #[test]
    fn the_name_that_was_used_longest_ago_leaves_first_and_its_number_means_nothing_then() {
        let mut codecs = codecs();
        let all = fill(&mut codecs, "c");
        assert_eq!(codecs.intern(b"c0", 8000, 1), all[0]);
        codecs.intern(b"new", 8000, 1);
        assert_eq!(codecs.counts.evicted, 1);
        let kept = |codecs: &Codecs, number: usize| all[number].is_some_and(|id| codecs.get(id).is_some());
        assert!(kept(&codecs, 0) && !kept(&codecs, 1) && kept(&codecs, 2));
        assert!(all[1].is_some_and(|id| !codecs.name_again(id)));
        assert_ne!(codecs.intern(b"c1", 8000, 1), all[1]);
    }

    #[test]
    fn what_streams_use_stays_and_what_finds_no_place_is_counted() {
        let mut codecs = codecs();
        let all = fill(&mut codecs, "c");
        let mut used = vec![None; CEILING];
        used.iter_mut().zip(&all).for_each(|(used, id)| codecs.exchange(used, *id));
        codecs.exchange(&mut None, all[5]);
        assert_eq!(codecs.intern(b"new", 8000, 1), None);
        assert_eq!(codecs.counts, CodecCounts { refused: 1, evicted: 0 });
        assert_eq!(codecs.intern(b"c7", 8000, 1), all[7]);
        codecs.release(all[5]);
        assert_eq!(codecs.intern(b"new", 8000, 1), None, "another stream uses it");
        codecs.release(all[5]);
        assert!(codecs.intern(b"new", 8000, 1).is_some());
        assert!(all[5].is_some_and(|id| codecs.get(id).is_none()));
    }

    #[test]
    fn well_known_names_are_given_once() {
        let codecs = codecs();
        assert!(codecs.entries.len() >= WELL_KNOWN.len());
        for entry in &codecs.entries {
            assert_eq!(codecs.entries.iter().filter(|other| other.codec == entry.codec).count(), 1);
        }
    }
}
