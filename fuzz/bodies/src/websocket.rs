//! Parses arbitrary WebSocket handshakes and frames.

use ringtap_wire::websocket::{Header, MAX_PAYLOAD, Upgrade, unmask, upgrade};

/// Parses a handshake, if there is one, and the frames after it.
pub fn websocket(bytes: &[u8]) {
    let mut at = match upgrade(bytes) {
        Upgrade::Complete(len) => {
            assert!((1..=bytes.len()).contains(&len));
            // Bytes after it change nothing, and it is recognised only when complete.
            assert_eq!(upgrade(&bytes[..len]), Upgrade::Complete(len));
            assert_eq!(upgrade(&bytes[..len - 1]), Upgrade::Incomplete);
            len
        }
        Upgrade::No | Upgrade::Incomplete => 0,
    };
    while let Some(Ok(Some(header))) = bytes.get(at..).map(Header::parse) {
        let rest = &bytes[at..];
        check(&header, rest);
        at += header.frame_len();
    }
}

fn check(header: &Header, bytes: &[u8]) {
    assert!((2..=14).contains(&header.header_len) && header.header_len <= bytes.len());
    assert!(header.payload_len <= MAX_PAYLOAD);
    assert!(!header.is_control() || header.fin && header.payload_len <= 125);
    assert_eq!(header.payload(), header.header_len..header.frame_len());
    assert_eq!(Header::parse(&bytes[..header.header_len]), Ok(Some(*header)));
    assert!(matches!(Header::parse(&bytes[..header.header_len - 1]), Ok(None) | Err(_)));
    let (Some(mask), Some(payload)) = (header.mask, bytes.get(header.payload())) else { return };
    let mut twice = payload.to_vec();
    unmask(mask, &mut twice);
    unmask(mask, &mut twice);
    assert_eq!(twice, payload);
}
