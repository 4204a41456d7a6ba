//! Decodes arbitrary frames of PPPoE.

use ringtap_wire::frame::link;
use ringtap_wire::pppoe::{View, is_control, protocol};

/// Decodes the bytes as a frame: what is read is no longer than what is there, and a packet of a control
/// protocol is in a frame that is told to be one of control.
pub fn pppoe(bytes: &[u8]) {
    let Ok(view) = View::parse(link::ETHERNET, bytes) else { return };
    assert!(view.tags().map(|(_, value)| value.len() + 4).sum::<usize>() <= bytes.len());
    let _ = (view.src(), view.dst(), view.session(), view.concentrator(), view.circuit(), view.remote());
    if let Some(control) = view.control() {
        assert!(control.protocol < protocol::IPCP || is_control(link::ETHERNET, bytes));
        assert!(control.options().map(|(_, value)| value.len() + 2).sum::<usize>() <= bytes.len());
        assert!(control.peer_name().is_none_or(|name| name.len() < bytes.len()));
    }
}
