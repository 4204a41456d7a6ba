//! Decodes arbitrary DHCP messages of both versions.

use ringtap_wire::dhcp::{v4, v6};

/// Decodes the bytes as a message of DHCPv4 and of DHCPv6: what is read is no longer than what is there, and
/// what follows an end of options changes nothing.
pub fn dhcp(bytes: &[u8]) {
    if let Ok(view) = v4::View::parse(bytes) {
        let mut room = [0; 1_024];
        for option in view.options() {
            let joined = view.joined(option.code, &mut room);
            assert!(
                joined.is_none_or(
                    |joined| joined.starts_with(option.value) || joined.len() > option.value.len()
                )
            );
            assert!(v4::Suboptions::new(option.value).count() <= option.value.len() / 2);
        }
        assert!(view.options().map(|option| option.value.len() + 2).sum::<usize>() <= bytes.len());
        let _ = (view.mac(), view.kind(), view.number(v4::code::LEASE_TIME), view.giaddr());
    }
    if let Ok(view) = v6::View::parse(bytes) {
        assert!(view.relays().count() <= v6::MOST_RELAYS);
        let leases = view.associations().map(|ia| ia.leases().count()).sum::<usize>();
        assert!(leases * 28 <= bytes.len());
        let _ = (view.mac(), view.status(), view.client(), view.server());
        view.relays().for_each(|relay| _ = (relay.remote(), relay.options.status()));
    }
}
