//! Media that SDP (RFC 8866) announces: endpoints and their payload types.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::sdp;

use super::CallEntry;
use crate::codecs::Codecs;
use crate::table::hash::Hasher;
use crate::update::PayloadTypes;

/// Payload types of one media description.
const MAX_TYPES: usize = 32;
/// Media descriptions in one SDP, and ICE candidates of each.
const MAX_MEDIA: usize = 16;
const MAX_CANDIDATES: usize = 8;
/// Lists of payload types that are cached.
const CACHED_LISTS: usize = 64;

/// Lists of payload types seen recently: a network's telephones and gateways offer the same few lists in call after call,
/// which then share one allocation.
pub(super) struct TypeCache {
    recent: Box<[Option<(u64, PayloadTypes)>; CACHED_LISTS]>,
    hasher: Hasher,
}

impl TypeCache {
    pub(super) fn new(hasher: Hasher) -> Self {
        Self { recent: Box::new([const { None }; CACHED_LISTS]), hasher }
    }

    /// The payload types of a medium, whose `a=rtpmap` lines have these values.
    fn types_of(&mut self, media: &sdp::Media<'_>, maps: &[&[u8]], codecs: &mut Codecs) -> PayloadTypes {
        let hash = self.hasher.of((media.media_type == sdp::MediaType::Video, media.formats, maps));
        let entry = &mut self.recent[hash as usize % CACHED_LISTS];
        match entry {
            // The hash is keyed: a sender cannot construct a collision.
            Some((of, types)) if *of == hash => types.clone(),
            _ => {
                let maps = maps.iter().filter_map(|value| sdp::rtpmap(media, value));
                let types = named(media, maps, codecs);
                *entry = Some((hash, types.clone()));
                types
            }
        }
    }
}

/// A media description while its lines are read.
struct Medium<'a> {
    line: sdp::Media<'a>,
    /// Its own `c=` line: outer None without one, inner None for a host name.
    connection: Option<Option<IpAddr>>,
    maps: [&'a [u8]; MAX_TYPES],
    map_count: usize,
    candidates: Vec<Endpoint>,
}

impl<'a> Medium<'a> {
    fn new(line: sdp::Media<'a>) -> Self {
        Self { line, connection: None, maps: [&[]; MAX_TYPES], map_count: 0, candidates: Vec::new() }
    }

    fn add_map(&mut self, value: &'a [u8]) {
        if let Some(map) = self.maps.get_mut(self.map_count) {
            *map = value;
        }
        self.map_count += 1;
    }

    fn add_candidate(&mut self, candidate: &sdp::Candidate<'_>) {
        if candidate.component == 1 && self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(Endpoint::new(candidate.ip, candidate.port));
        }
    }
}

/// Endpoints where one side wants its media, each with its codecs, out of the SDP of an offer or an answer.
pub(super) fn announced(
    call: &mut CallEntry,
    body: &[u8],
    time: Nanos,
    codecs: &mut Codecs,
    cache: &mut TypeCache,
) -> Vec<(Endpoint, PayloadTypes)> {
    let mut ends = Vec::new();
    let (mut session, mut medium) = (None, None);
    let (mut sections, mut described) = (0, 0);
    for line in sdp::media_lines(body) {
        match line {
            sdp::MediaLine::Media(line) => {
                let before: Option<(usize, Medium<'_>)> = medium.take();
                if let Some((section, medium)) = before {
                    finish(medium, session, (body, section), codecs, cache, &mut ends);
                }
                if sections == sdp::MAX_MEDIA || described == MAX_MEDIA {
                    break;
                }
                if let Some(line) = line {
                    if line.port != 0 && line.is_t38() {
                        call.fax = Some(time);
                    } else if line.port != 0 {
                        medium = Some((described, Medium::new(line)));
                    }
                    described += 1;
                }
                sections += 1;
            }
            sdp::MediaLine::Connection(ip) => match &mut medium {
                Some((_, medium)) => _ = medium.connection.get_or_insert(ip),
                None if sections == 0 => _ = session.get_or_insert(ip),
                None => {}
            },
            sdp::MediaLine::Rtpmap(value) => {
                if let Some((_, medium)) = &mut medium {
                    medium.add_map(value);
                }
            }
            sdp::MediaLine::Candidate(candidate) => {
                if let Some((_, medium)) = &mut medium {
                    medium.add_candidate(&candidate);
                }
            }
        }
    }
    if let Some((section, medium)) = medium {
        finish(medium, session, (body, section), codecs, cache, &mut ends);
    }
    ends
}

/// Adds the endpoints of a complete media description, the `section`-th of `body`.
fn finish(
    medium: Medium<'_>,
    session: Option<Option<IpAddr>>,
    (body, section): (&[u8], usize),
    codecs: &mut Codecs,
    cache: &mut TypeCache,
    ends: &mut Vec<(Endpoint, PayloadTypes)>,
) {
    let Medium { line, connection, maps, map_count, candidates } = medium;
    let types = match maps.get(..map_count) {
        Some(maps) => cache.types_of(&line, maps, codecs),
        None => types_of_many(body, section, codecs),
    };
    let connection = connection.or(session).flatten().filter(|ip| !ip.is_unspecified());
    let end = connection.map(|ip| Endpoint::new(ip, line.port));
    ends.extend(end.into_iter().chain(candidates).map(|end| (end, types.clone())));
}

/// Payload types of a description with more `a=rtpmap` lines than [`MAX_TYPES`]: searched one by one.
#[cold]
fn types_of_many(body: &[u8], section: usize, codecs: &mut Codecs) -> PayloadTypes {
    let media = sdp::Sdp::parse(body).ok().and_then(|sdp| sdp.media().nth(section));
    let Some(media) = media else { return PayloadTypes::default() };
    let maps =
        media.payload_types().take(MAX_TYPES).filter_map(|number| Some((number, media.rtpmap(number)?)));
    named(&media, maps, codecs)
}

/// The payload types of a description, by the first of `maps` that names each, or by RFC 3551.
fn named<'a>(
    media: &sdp::Media<'_>,
    maps: impl Iterator<Item = (u8, sdp::Codec<'a>)>,
    codecs: &mut Codecs,
) -> PayloadTypes {
    let mut named: [Option<(u8, sdp::Codec<'_>)>; MAX_TYPES] = [None; MAX_TYPES];
    for (slot, map) in named.iter_mut().zip(maps) {
        *slot = Some(map);
    }
    let of = |number| named.iter().map_while(|map| *map).find(|map| map.0 == number).map(|map| map.1);
    media
        .payload_types()
        .take(MAX_TYPES)
        .filter_map(|number| {
            let fixed = sdp::static_payload(number);
            let codec = match of(number) {
                // Encoding names are case-insensitive (RFC 4855 section 3): `pcma` is the PCMA of RFC 3551.
                Some(codec)
                    if fixed.is_some_and(|fixed| codec.name.eq_ignore_ascii_case(fixed.0.as_bytes())) =>
                {
                    codecs.of_static(number)
                }
                Some(codec) => codecs.intern(codec.name, codec.clock, codec.channels),
                None => codecs.of_static(number),
            };
            Some((number, codec?))
        })
        .collect()
}
