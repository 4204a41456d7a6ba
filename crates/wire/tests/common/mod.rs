//! Asks every accessor, so that none is left out of a test that looks for panics.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of this")]

use ringtap_wire::sdp::{Media, Sdp};
use ringtap_wire::sip::{Message, NameAddr, Uri, Via, params, unfolded};

/// Everything that a message can tell, counted.
pub fn ask_all(message: &Message<'_>) -> usize {
    let parties = [message.from(), message.to()].into_iter().flatten().chain(message.contacts());
    let mut known: usize = parties.map(|party| ask_party(&party)).sum();
    for field in message.fields() {
        known += message.headers(field.header).count();
        known += message.values(field.header).take(8).map(ask_value).sum::<usize>();
        known += usize::from(message.header_named(field.name).is_some());
        known += unfolded(field.value).count().min(1);
    }
    known += message.vias().take(8).map(|via| ask_via(&via)).sum::<usize>();
    known += message.parts().map(|part| part.media_type().len().min(1)).sum::<usize>();
    known += message.sdp().map_or(0, ask_sdp);
    known += message.request_uri().map_or(0, |uri| ask_uri(&uri));
    let single = [
        message.method().name().is_empty(),
        message.top_via().is_some(),
        message.call_id().is_some(),
        message.cseq().is_some(),
        message.code().is_some(),
        message.expires().is_some(),
        message.reason_q850().is_some(),
        message.contact_is_star(),
        message.truncated(),
        message.length_doubtful(),
        message.headers_complete(),
        format!("{message:?}{:?}", message.start()).is_empty(),
    ];
    assert!(message.raw().ends_with(message.body()) && message.raw().starts_with(message.head()));
    known + single.iter().filter(|&&yes| yes).count() + usize::from(message.headers_dropped().min(1))
}

fn ask_value(value: &[u8]) -> usize {
    let party = NameAddr::parse(value).map_or(0, |party| ask_party(&party));
    party + Via::parse(value).map_or(0, |via| ask_via(&via)) + params(value).count()
}

fn ask_party(party: &NameAddr<'_>) -> usize {
    ask_uri(&party.uri) + usize::from(party.tag().is_some()) + usize::from(party.param(b"q").is_some())
}

fn ask_uri(uri: &Uri<'_>) -> usize {
    usize::from(uri.ip().is_some()) + usize::from(uri.param(b"lr").is_some())
}

fn ask_via(via: &Via<'_>) -> usize {
    usize::from(via.ip().is_some()) + usize::from(via.received_ip().is_some())
}

/// Everything that a description can tell, counted.
pub fn ask_sdp(bytes: &[u8]) -> usize {
    let Ok(sdp) = Sdp::parse(bytes) else { return 0 };
    let session = [
        sdp.origin().is_some(),
        sdp.connection().is_some(),
        sdp.direction().is_some(),
        sdp.attribute(b"group").is_some(),
        sdp.line(b't').is_some(),
    ];
    sdp.media().map(|media| ask_media(&media)).sum::<usize>() + session.iter().filter(|&&yes| yes).count()
}

fn ask_media(media: &Media<'_>) -> usize {
    let types: Vec<u8> = media.payload_types().collect();
    assert!(types.len() <= 128 && types.iter().all(|&pt| pt < 128));
    let codecs = types.iter().filter_map(|&pt| media.codec(pt));
    let single = [
        media.connection().is_some(),
        media.rtcp().is_some(),
        media.rtcp_mux(),
        media.ptime().is_some_and(|ms| ms > 0.0),
        media.is_t38(),
        media.is_secure(),
        media.label().is_some(),
        media.mid().is_some(),
        format!("{:?}", media.direction()).is_empty(),
    ];
    codecs.inspect(|codec| assert!(codec.clock > 0 && codec.channels > 0)).count()
        + types.iter().filter(|&&pt| media.fmtp(pt).is_some()).count()
        + media.crypto().filter(|crypto| crypto.inline().is_some()).count()
        + media.candidates().count()
        + media.ssrcs().count()
        + single.iter().filter(|&&yes| yes).count()
}
