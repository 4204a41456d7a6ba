//! Parses arbitrary session descriptions.

use ringtap_wire::sdp::{Media, Sdp, static_payload};

/// Parses the bytes as a session description, and calls every accessor.
pub fn sdp(bytes: &[u8]) {
    let Ok(sdp) = Sdp::parse(bytes) else { return };
    let _ = (sdp.connection(), sdp.direction(), sdp.attribute(b"group"), sdp.line(b't'));
    if let Some(origin) = sdp.origin() {
        let parts = origin.user.len() + origin.session_id.len() + origin.version.len() + origin.address.len();
        assert!(parts <= origin.raw.len());
    }
    let media = sdp.media().inspect(|media| check(media, bytes)).count();
    assert!(media <= ringtap_wire::sdp::MAX_MEDIA);
}

fn check(media: &Media<'_>, whole: &[u8]) {
    assert!(media.port_count > 0);
    assert!(media.lines.len() <= whole.len());
    let _ = (
        media.media_type,
        media.connection(),
        media.direction(),
        media.rtcp(),
        media.rtcp_mux(),
        media.is_t38(),
    );
    let _ = (media.is_secure(), media.label(), media.mid());
    assert!(media.ptime().is_none_or(|ms| ms.is_finite() && ms > 0.0));
    let types: Vec<u8> = media.payload_types().collect();
    assert!(types.len() <= 128 && types.iter().all(|&number| number < 128));
    for &number in &types {
        let codec = media.codec(number);
        assert!(codec.is_some() || static_payload(number).is_none());
        if let Some(codec) = codec {
            assert!(codec.clock > 0 && codec.channels > 0 && !codec.name.is_empty());
            let _ = codec.is("opus");
        }
        let _ = media.fmtp(number);
    }
    let lines = media.lines.len();
    assert!(media.candidates().count() <= lines && media.ssrcs().count() <= lines);
    for key in media.crypto() {
        assert!(!key.suite.is_empty());
        assert!(key.inline().is_none_or(|key| !format!("{key:?}").is_empty()));
        assert!(!format!("{key:?}").contains("keys"), "keys are secrets");
    }
    assert!(media.attributes(b"rtpmap").count() <= lines);
}
