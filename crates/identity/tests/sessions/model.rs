//! Against a model that only keeps a list: who had an address is found by searching it backwards.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::packets::*;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// NAS, session, address: a start or an interim report.
    Has(usize, usize, usize),
    /// NAS, session.
    Stop(usize, usize),
    /// NAS.
    Restart(usize),
}

const NAS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];
const ADDRESSES: usize = 5;

fn events() -> impl Strategy<Value = Vec<Event>> {
    let has = (0..2_usize, 0..4_usize, 0..ADDRESSES).prop_map(|(nas, one, at)| Event::Has(nas, one, at));
    let stop = (0..2_usize, 0..4_usize).prop_map(|(nas, session)| Event::Stop(nas, session));
    vec(prop_oneof![6 => has, 2 => stop, 1 => (0..2_usize).prop_map(Event::Restart)], 0..60)
}

/// Who had the address after the last of these events.
fn holder(events: &[Event], address: usize) -> Option<(usize, usize)> {
    let (last, before) = events.split_last()?;
    let of_before = || holder(before, address);
    match *last {
        Event::Has(nas, session, at) if at == address => Some((nas, session)),
        // It has another address now.
        Event::Has(nas, session, _) | Event::Stop(nas, session) => {
            of_before().filter(|holder| *holder != (nas, session))
        }
        Event::Restart(nas) => of_before().filter(|holder| holder.0 != nas),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn who_had_an_address_is_what_a_list_of_all_events_says(events in events()) {
        let mut wire = Wire::new();
        let name = |nas: usize, session: usize| format!("user{session} of {nas}");
        for (second, event) in events.iter().enumerate() {
            let second = 100 * (second as u64 + 1);
            match *event {
                Event::Has(nas, session, address) => {
                    let status = if second.is_multiple_of(200) { START } else { INTERIM };
                    let attributes = [
                        v4(&format!("203.0.113.{address}")),
                        user(&name(nas, session)),
                        id(&session.to_string()),
                    ];
                    wire.accounting(second, NAS[nas], status, &attributes);
                }
                Event::Stop(nas, session) => {
                    wire.accounting(second, NAS[nas], STOP, &[id(&session.to_string())]);
                }
                Event::Restart(nas) => _ = wire.accounting(second, NAS[nas], ON, &[]),
            }
        }
        let early = wire.sessions.take();
        let records: Vec<_> = early.into_iter().chain(wire.close()).collect();
        for until in 0..=events.len() {
            for address in 0..ADDRESSES {
                let expected = holder(&events[..until], address).map(|(nas, session)| name(nas, session));
                let second = 100 * until as u64 + 50;
                let found = who(&records, &format!("203.0.113.{address}"), None, second);
                prop_assert_eq!(found, Vec::from_iter(expected), "{} after {}", address, until);
            }
        }
    }
}
