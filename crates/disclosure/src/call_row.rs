//! What is given of a call.

use ringtap_identity::Holders;
use ringtap_model::{Call, CallState, Direction, Endpoint, Id, Nanos, Protocol, Stream, Transport};
use serde::Serialize;

use crate::holder::{AddressHolder, of_endpoint};

/// A call, or an attempt: Article 5(1)(a) to (e), by the letter beside each field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallRow {
    /// The id of its record.
    pub id: Id,
    /// By what it was found: fields of this row, `address`, or `session` of a subject at one of its ends.
    pub found_by: Vec<&'static str>,
    /// (a) User part of From.
    pub calling_user: Option<String>,
    /// (a) Host part of From.
    pub calling_host: Option<String>,
    /// (a) P-Asserted-Identity.
    pub calling_identity: Option<String>,
    /// (b) User part of the Request-URI: what was dialled.
    pub dialled_user: Option<String>,
    /// (b) Its host part.
    pub dialled_host: Option<String>,
    /// (b) User part of To.
    pub called_user: Option<String>,
    /// (b) Host part of To.
    pub called_host: Option<String>,
    /// (b) Where it was routed on to, in the order seen.
    pub routed_to: Vec<String>,
    /// (c) When it was begun.
    #[serde(rename = "begin_us")]
    pub begin: Nanos,
    /// (c) When it was answered.
    #[serde(rename = "answer_us")]
    pub answer: Option<Nanos>,
    /// (c) When it ended.
    #[serde(rename = "end_us")]
    pub end: Option<Nanos>,
    /// (d) The service: protocol of its signalling.
    pub service: Protocol,
    /// (d) What carried it.
    pub transport: Transport,
    /// (d) Codecs of its media, which tell sound, video and fax apart.
    pub media: Vec<String>,
    /// How it ended; of an attempt, how it failed.
    pub outcome: CallState,
    /// Final answer of SIP, 0 when there is none.
    pub final_code: u16,
    /// Q.850 cause.
    pub cause: Option<u16>,
    /// (a), (e) The calling end.
    pub caller: End,
    /// (b), (e) The called end.
    pub callee: End,
    /// Endpoints of media of which it is not known whose they are.
    pub other_media: Vec<Endpoint>,
}

/// An end of a call, as it was seen where ringtap listens: of a call through proxies, the next of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// Address and port of its signalling.
    pub address: Endpoint,
    /// Addresses and ports of its media.
    pub media: Vec<Endpoint>,
    /// Who had these addresses then, as far as sessions tell.
    pub holders: Vec<AddressHolder>,
}

/// A call until it is known who had its addresses.
pub(crate) struct FoundCall {
    pub(crate) row: CallRow,
    /// When each endpoint of media was first used.
    pub(crate) used: Vec<(Endpoint, Nanos)>,
}

impl FoundCall {
    pub(crate) fn new(call: Call, streams: &[Stream], found_by: Vec<&'static str>) -> Self {
        let mut media: Vec<String> = streams.iter().filter_map(|stream| stream.codec.clone()).collect();
        media.sort_unstable();
        media.dedup();
        let begin = call.start().unwrap_or_default();
        let end = |address| End { address, media: Vec::new(), holders: Vec::new() };
        let mut found = Self {
            row: CallRow {
                id: call.id,
                found_by,
                calling_user: call.from_user,
                calling_host: call.from_host,
                calling_identity: call.asserted_identity,
                dialled_user: call.ruri_user,
                dialled_host: call.ruri_host,
                called_user: call.to_user,
                called_host: call.to_host,
                routed_to: call.diverted_to,
                begin,
                answer: call.answer,
                end: call.end,
                service: call.protocol,
                transport: call.transport,
                media,
                outcome: call.state,
                final_code: call.final_code,
                cause: call.cause,
                caller: end(call.src),
                callee: end(call.dst),
                other_media: Vec::new(),
            },
            used: Vec::new(),
        };
        streams.iter().for_each(|stream| found.add(stream));
        found
    }

    fn add(&mut self, stream: &Stream) {
        let CallRow { caller, callee, other_media, .. } = &mut self.row;
        let (of_src, of_dst) = match stream.direction {
            Some(Direction::CallerToCallee) => (&mut caller.media, &mut callee.media),
            Some(Direction::CalleeToCaller) => (&mut callee.media, &mut caller.media),
            None => {
                add(other_media, stream.src);
                add(other_media, stream.dst);
                return;
            }
        };
        add(of_src, stream.src);
        add(of_dst, stream.dst);
        for end in [stream.src, stream.dst] {
            if self.used.len() < 4 * MOST_MEDIA && self.used.iter().all(|(other, _)| *other != end) {
                self.used.push((end, stream.first));
            }
        }
    }

    /// The row, with who had its addresses.
    pub(crate) fn joined(mut self, holders: &Holders<'_>) -> CallRow {
        let begin = self.row.begin;
        for end in [&mut self.row.caller, &mut self.row.callee] {
            let media = end.media.iter().filter_map(|media| self.used.iter().find(|(used, _)| used == media));
            let all = std::iter::once((end.address, begin)).chain(media.copied());
            let mut found: Vec<AddressHolder> = Vec::new();
            for (endpoint, at) in all {
                for holder in of_endpoint(endpoint, at, holders) {
                    // Signalling and media of one address have the same holder.
                    let is_there = |other: &AddressHolder| {
                        (other.session, &other.network) == (holder.session, &holder.network)
                            && other.endpoint.ip == holder.endpoint.ip
                    };
                    if !found.iter().any(is_there) {
                        found.push(holder);
                    }
                }
            }
            end.holders = found;
        }
        self.row
    }
}

fn add(list: &mut Vec<Endpoint>, end: Endpoint) {
    if list.len() < MOST_MEDIA && !list.contains(&end) {
        list.push(end);
    }
}

/// Endpoints of media of one end.
const MOST_MEDIA: usize = 16;
