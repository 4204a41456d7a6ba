//! Media that SDP (RFC 8866) announces: endpoints and their payload types.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos};
use ringtap_quality::notes::MediaFacts;
use ringtap_wire::sdp;

use super::CallEntry;
use crate::codecs::Codecs;
use crate::table::hash::Hasher;
use crate::update::{PayloadTypes, Side};

/// Payload types of one media description.
const MAX_TYPES: usize = 32;
/// From here on a payload type means what SDP says (RFC 3551 section 6).
const DYNAMIC: u8 = 96;
/// RFC 3551 section 6: seven bits.
const PAYLOAD_TYPES: usize = 128;
/// Media descriptions in one SDP, and ICE candidates of each.
const MAX_MEDIA: usize = 16;
const MAX_CANDIDATES: usize = 8;
/// Lists of payload types that are cached.
const CACHED_LISTS: usize = 64;

/// Lists of payload types seen recently: a network's telephones and gateways offer the same few lists in call
/// after call, which then share one allocation.
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
            // The hash is keyed: a sender cannot construct a collision. Names may have left the table since.
            Some((of, types)) if *of == hash && types.iter().all(|(_, id)| codecs.name_again(*id)) => {
                types.clone()
            }
            _ => {
                let maps = maps.iter().filter_map(|value| sdp::rtpmap(media, value));
                let types = named_types(media, maps, codecs);
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
    /// Those after the first [`MAX_TYPES`].
    more_maps: Vec<&'a [u8]>,
    candidates: Vec<Endpoint>,
    direction: Option<sdp::Direction>,
}

impl<'a> Medium<'a> {
    fn new(line: sdp::Media<'a>) -> Self {
        let (maps, more_maps) = ([&[][..]; MAX_TYPES], Vec::new());
        let candidates = Vec::new();
        Self { line, connection: None, maps, map_count: 0, more_maps, candidates, direction: None }
    }

    fn add_map(&mut self, value: &'a [u8]) {
        match self.maps.get_mut(self.map_count) {
            Some(map) => {
                *map = value;
                self.map_count += 1;
            }
            None => self.more_maps.push(value),
        }
    }

    /// Where the side wants its sound; the unspecified address is hold as RFC 2543 had it.
    fn record(&self, session: Option<Option<IpAddr>>, side: Side, facts: &mut MediaFacts) {
        let ip = self.connection.or(session).flatten();
        if let Some(ip) = ip.filter(|_| self.line.media_type == sdp::MediaType::Audio) {
            facts.restricted |= ip.is_unspecified();
            facts.announced[side as usize] = Some(ip);
        }
    }

    fn add_candidate(&mut self, candidate: &sdp::Candidate<'_>) {
        if candidate.component == 1 && self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(Endpoint::new(candidate.ip, candidate.port));
        }
    }
}

/// Whether all media of a description are on hold: RFC 3264 section 8.4, and the older way with an address of
/// zeros.
#[derive(Default)]
struct Hold {
    /// Of the media that say nothing else.
    direction: Option<sdp::Direction>,
    held: u32,
    others: u32,
}

impl Hold {
    fn add(&mut self, medium: &Medium<'_>, session: Option<Option<IpAddr>>) {
        let direction = medium.direction.or(self.direction);
        let to = medium.connection.or(session).flatten();
        let is_held = matches!(direction, Some(sdp::Direction::SendOnly | sdp::Direction::Inactive))
            || to.is_some_and(|ip| ip.is_unspecified());
        *(if is_held { &mut self.held } else { &mut self.others }) += 1;
    }

    /// Of the medium above, or of all if there is none yet.
    fn note(&mut self, direction: sdp::Direction, medium: Option<&mut Medium<'_>>, is_of_session: bool) {
        match medium {
            Some(medium) => _ = medium.direction.get_or_insert(direction),
            None if is_of_session => _ = self.direction.get_or_insert(direction),
            None => {}
        }
    }

    fn is_on(&self) -> bool {
        self.held > 0 && self.others == 0
    }
}

/// Endpoints where one side wants its media, each with its codecs, out of the SDP of an offer or an answer.
/// Notes in the call whether that side puts the other on hold. An offer is what a request has.
pub(super) fn announced(
    call: &mut CallEntry,
    body: &[u8],
    (side, is_offer, time): (Side, bool, Nanos),
    codecs: &mut Codecs,
    cache: &mut TypeCache,
) -> Vec<(Endpoint, PayloadTypes)> {
    let mut ends = Vec::new();
    let (mut session, mut medium) = (None, None);
    let (mut sections, mut described) = (0, 0);
    let (mut secure, mut open, mut sound, mut fax) = (false, false, false, false);
    let mut hold = Hold::default();
    for line in sdp::media_lines(body) {
        match line {
            sdp::MediaLine::Media(line) => {
                let before: Option<Medium<'_>> = medium.take();
                if let Some(medium) = before {
                    medium.record(session, side, &mut call.facts);
                    hold.add(&medium, session);
                    finish(medium, session, codecs, cache, &mut ends);
                }
                if sections == sdp::MAX_MEDIA || described == MAX_MEDIA {
                    break;
                }
                if let Some(line) = line {
                    if line.port != 0 && line.is_t38() {
                        call.fax = Some(time);
                        fax = true;
                    } else if line.port != 0 {
                        *(if line.is_secure() { &mut secure } else { &mut open }) = true;
                        sound = line.media_type == sdp::MediaType::Audio;
                        medium = Some(Medium::new(line));
                    }
                    described += 1;
                }
                sections += 1;
            }
            sdp::MediaLine::Connection(ip) => match &mut medium {
                Some(medium) => _ = medium.connection.get_or_insert(ip),
                None if sections == 0 => _ = session.get_or_insert(ip),
                None => {}
            },
            sdp::MediaLine::Rtpmap(value) => {
                if let Some(medium) = &mut medium {
                    medium.add_map(value);
                }
            }
            sdp::MediaLine::Candidate(candidate) => {
                if let Some(medium) = &mut medium {
                    medium.add_candidate(&candidate);
                    call.facts.ice = true;
                }
            }
            sdp::MediaLine::Direction(direction) => {
                let of_sound = sections == 0 || sound && medium.is_some();
                call.facts.restricted |= of_sound && direction != sdp::Direction::SendRecv;
                hold.note(direction, medium.as_mut(), sections == 0);
            }
            sdp::MediaLine::Ptime(ptime) => {
                if sound && medium.is_some() {
                    call.facts.ptime[side as usize] = Some(ptime);
                }
            }
        }
    }
    if let Some(medium) = medium {
        medium.record(session, side, &mut call.facts);
        hold.add(&medium, session);
        finish(medium, session, codecs, cache, &mut ends);
    }
    call.set_held(side, hold.is_on(), is_offer, time);
    // A description that has sound as well only says that the side knows T.38.
    call.fax_by[side as usize] |= fax && !(secure || open);
    call.facts.restricted |= fax && !(secure || open);
    if secure || open {
        // An offer may have both; the answer refuses one.
        call.facts.encrypted = secure && !open;
    }
    ends
}

/// Adds the endpoints of a complete media description.
fn finish(
    medium: Medium<'_>,
    session: Option<Option<IpAddr>>,
    codecs: &mut Codecs,
    cache: &mut TypeCache,
    ends: &mut Vec<(Endpoint, PayloadTypes)>,
) {
    let Medium { line, connection, maps, map_count, more_maps, candidates, .. } = medium;
    let maps = &maps[..map_count];
    let types = if more_maps.is_empty() {
        cache.types_of(&line, maps, codecs)
    } else {
        types_of_many(&line, maps, &more_maps, codecs)
    };
    let connection = connection.or(session).flatten().filter(|ip| !ip.is_unspecified());
    let end = connection.map(|ip| Endpoint::new(ip, line.port));
    ends.extend(end.into_iter().chain(candidates).map(|end| (end, types.clone())));
}

/// Payload types of a description with more `a=rtpmap` lines than [`MAX_TYPES`]: of those lines, the first
/// for each type of its list.
#[cold]
fn types_of_many(
    media: &sdp::Media<'_>,
    maps: &[&[u8]],
    more: &[&[u8]],
    codecs: &mut Codecs,
) -> PayloadTypes {
    let mut first = [None; PAYLOAD_TYPES];
    for (number, codec) in maps.iter().chain(more).filter_map(|value| sdp::rtpmap(media, value)) {
        if let Some(place) = first.get_mut(usize::from(number)) {
            place.get_or_insert(codec);
        }
    }
    let named = |number: u8| Some((number, (*first.get(usize::from(number))?)?));
    named_types(media, media.payload_types().take(MAX_TYPES).filter_map(named), codecs)
}

/// The payload types of a description, by the first of `maps` that names each, or by RFC 3551.
fn named_types<'a>(
    media: &sdp::Media<'_>,
    maps: impl Iterator<Item = (u8, sdp::Codec<'a>)>,
    codecs: &mut Codecs,
) -> PayloadTypes {
    let mut named: [Option<(u8, sdp::Codec<'_>)>; MAX_TYPES] = [None; MAX_TYPES];
    for (slot, map) in named.iter_mut().zip(maps) {
        *slot = Some(map);
    }
    let of = |number| named.iter().map_while(|map| *map).find(|map| map.0 == number).map(|map| map.1);
    let listed = || media.payload_types().take(MAX_TYPES);
    // Some senders name telephone-event without listing its type: it means that one and no other.
    let unlisted = named.iter().map_while(|map| *map).map(|map| map.0).filter(|number| *number >= DYNAMIC);
    let unlisted = unlisted.filter(|number| listed().all(|other| other != *number));
    listed()
        .chain(unlisted)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Hop;
    use crate::testing::{CALLEE, CALLER, at, end};

    /// What an SDP of these lines announces: each endpoint with `number name/clock` of its types; and when
    /// T.38 was offered.
    fn announced_by(lines: &[&str]) -> (Vec<(String, Vec<String>)>, Option<Nanos>) {
        let hop = Hop {
            time: at(0),
            src: end(CALLER),
            dst: end(CALLEE),
            transport: ringtap_model::Transport::Udp,
            ip_id: 0,
            sender: None,
        };
        let mut call = CallEntry::new(b"a", 1, &hop, 0);
        let hasher = Hasher::new(1);
        let (mut codecs, mut cache) = (Codecs::new(hasher.clone()), TypeCache::new(hasher));
        let body = format!("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n{}\r\n", lines.join("\r\n"));
        let first =
            announced(&mut call, body.as_bytes(), (Side::Caller, true, at(5)), &mut codecs, &mut cache);
        // The second time from the cache.
        assert_eq!(
            announced(&mut call, body.as_bytes(), (Side::Caller, true, at(5)), &mut codecs, &mut cache),
            first
        );
        let name = |(number, id): &(u8, _)| {
            let codec = codecs.get(*id).expect("a codec that was just announced");
            format!("{number} {}/{}", codec.name, codec.clock.0)
        };
        let ends = first.iter().map(|(end, types)| (end.to_string(), types.iter().map(name).collect()));
        (ends.collect(), call.fax)
    }

    fn endpoints(lines: &[&str]) -> Vec<String> {
        announced_by(lines).0.into_iter().map(|(end, _)| end).collect()
    }

    fn types(lines: &[&str]) -> Vec<String> {
        let mut all = vec!["c=IN IP4 192.0.2.1"];
        all.extend(lines);
        announced_by(&all).0.remove(0).1
    }

    #[test]
    fn each_description_announces_its_port_at_its_own_address_or_at_the_sessions() {
        let lines =
            ["c=IN IP4 192.0.2.7", "m=audio 4000 RTP/AVP 0", "m=video 5000 RTP/AVP 31", "c=IN IP4 192.0.2.8"];
        assert_eq!(endpoints(&lines), ["192.0.2.7:4000", "192.0.2.8:5000"]);
        assert_eq!(endpoints(&["m=audio 4000 RTP/AVP 0"]), [""; 0]);
        assert_eq!(endpoints(&["m=audio 4000 RTP/AVP 0", "c=IN IP6 2001:db8::1"]), ["[2001:db8::1]:4000"]);
    }

    #[test]
    fn the_first_connection_line_counts_and_a_host_name_is_no_address() {
        let lines = [
            "c=IN IP4 192.0.2.7",
            "c=IN IP4 192.0.2.6",
            "m=audio 4000 RTP/AVP 0",
            "c=IN IP4 host.example.com",
        ];
        assert_eq!(endpoints(&lines), [""; 0]);
        assert_eq!(endpoints(&lines[..3]), ["192.0.2.7:4000"]);
    }

    /// RFC 3264 section 8.4 (hold of old) and section 6 (refused).
    #[test]
    fn the_unspecified_address_and_port_zero_announce_nothing() {
        assert_eq!(endpoints(&["c=IN IP4 0.0.0.0", "m=audio 4000 RTP/AVP 0"]), [""; 0]);
        assert_eq!(endpoints(&["c=IN IP4 192.0.2.7", "m=audio 0 RTP/AVP 0"]), [""; 0]);
    }

    /// RFC 8839 section 5.1: component 1 is RTP.
    #[test]
    fn up_to_eight_ice_candidates_of_rtp_are_endpoints_too() {
        let lines = [
            "c=IN IP4 192.0.2.7",
            "m=audio 4000 RTP/AVP 0",
            "a=candidate:1 1 UDP 2130706431 10.0.0.1 8998 typ host",
            "a=candidate:1 2 UDP 2130706430 10.0.0.1 8999 typ host",
        ];
        assert_eq!(endpoints(&lines), ["192.0.2.7:4000", "10.0.0.1:8998"]);
        let many: Vec<String> =
            (1..=10).map(|n| format!("a=candidate:{n} 1 UDP 1 10.0.0.{n} 9000 typ host")).collect();
        let lines: Vec<&str> = lines[..2].iter().copied().chain(many.iter().map(String::as_str)).collect();
        assert_eq!(endpoints(&lines).len(), 9);
        assert_eq!(endpoints(&["a=candidate:1 1 UDP 1 10.0.0.1 9 typ host", "c=IN IP4 192.0.2.7"]), [""; 0]);
    }

    #[test]
    fn t38_is_noted_and_announces_no_rtp() {
        let lines = ["c=IN IP4 192.0.2.7", "m=image 4400 udptl t38"];
        assert_eq!(announced_by(&lines), (Vec::new(), Some(at(5))));
        assert_eq!(announced_by(&["c=IN IP4 192.0.2.7", "m=image 0 udptl t38"]).1, None);
        assert_eq!(announced_by(&["c=IN IP4 192.0.2.7", "m=audio 4000 RTP/AVP 0"]).1, None);
    }

    #[test]
    fn sixteen_descriptions_are_read() {
        let many: Vec<String> = (0..20).map(|n| format!("m=audio {} RTP/AVP 0", 4000 + 2 * n)).collect();
        let lines: Vec<&str> =
            std::iter::once("c=IN IP4 192.0.2.7").chain(many.iter().map(String::as_str)).collect();
        assert_eq!(endpoints(&lines).len(), 16);
    }

    #[test]
    fn a_payload_type_is_named_by_its_first_rtpmap_or_by_rfc_3551() {
        let lines = ["m=audio 4000 RTP/AVP 0 96 97 18", "a=rtpmap:96 opus/48000/2", "a=rtpmap:96 G722/8000"];
        // Nothing names 97.
        assert_eq!(types(&lines), ["0 PCMU/8000", "96 opus/48000", "18 G729/8000"]);
        assert_eq!(types(&["m=audio 4000 RTP/AVP 8", "a=rtpmap:8 pcma/8000"]), ["8 PCMA/8000"]);
        assert_eq!(types(&["m=audio 4000 RTP/AVP 8", "a=rtpmap:8 G722/16000"]), ["8 G722/16000"]);
    }

    /// As SIPp announces its digits.
    #[test]
    fn a_dynamic_payload_type_is_named_without_being_listed() {
        let lines = ["m=audio 4000 RTP/AVP 8", "a=rtpmap:8 PCMA/8000", "a=rtpmap:101 telephone-event/8000"];
        assert_eq!(types(&lines), ["8 PCMA/8000", "101 telephone-event/8000"]);
        let lines = ["m=audio 4000 RTP/AVP 101 8", "a=rtpmap:101 opus/48000/2", "a=rtpmap:0 PCMU/8000"];
        assert_eq!(types(&lines), ["101 opus/48000", "8 PCMA/8000"]);
    }

    #[test]
    fn a_description_with_more_than_32_rtpmaps_still_names_the_types_of_its_list() {
        let maps: Vec<String> =
            (64..=127).map(|number| format!("a=rtpmap:{number} codec{number}/8000")).collect();
        let lines: Vec<&str> =
            std::iter::once("m=audio 4000 RTP/AVP 127 64 0").chain(maps.iter().map(String::as_str)).collect();
        assert_eq!(types(&lines), ["127 codec127/8000", "64 codec64/8000", "0 PCMU/8000"]);
        let second: Vec<&str> = std::iter::once("m=audio 4000 RTP/AVP 8").chain(lines).collect();
        let mut all = vec!["c=IN IP4 192.0.2.1"];
        all.extend(second);
        assert_eq!(announced_by(&all).0[1].1.len(), 3);
    }
}
