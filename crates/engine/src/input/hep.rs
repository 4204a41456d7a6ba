//! HEP packets, whose payload may be compressed.

use std::borrow::Cow;

use miniz_oxide::inflate;
use ringtap_wire::{hep, sip};

/// The payload of a HEP packet, of which no more than a message is unpacked; None where it cannot be.
pub(crate) fn unpacked<'a>(view: &hep::View<'a>) -> Option<Cow<'a, [u8]>> {
    let payload = view.payload();
    if !view.compressed() {
        return Some(Cow::Borrowed(payload));
    }
    let unpacked = match payload {
        // RFC 1952 section 2.3: no optional fields.
        [0x1f, 0x8b, 8, 0, _, _, _, _, _, _, deflated @ ..] => {
            inflate::decompress_to_vec_with_limit(deflated, sip::MAX_MESSAGE)
        }
        _ => inflate::decompress_to_vec_zlib_with_limit(payload, sip::MAX_MESSAGE),
    };
    unpacked.ok().map(Cow::Owned)
}
