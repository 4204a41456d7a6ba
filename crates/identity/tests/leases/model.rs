//! Against a model that keeps one holder of each address: whatever is lost, repeated or overtaken, no address
//! has two holders at a time, and the holder is the one of the model.

use std::collections::{HashMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;

use crate::messages::*;

const ADDRESSES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Ask,
    AskOther,
    Grant,
    Refuse,
    Release,
    Decline,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    kind: Kind,
    client: u8,
    address: usize,
    transaction: u8,
    seconds: u32,
    side: Side,
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let kind = prop_oneof![
        5 => Just(Kind::Ask), 1 => Just(Kind::AskOther), 8 => Just(Kind::Grant), 1 => Just(Kind::Refuse),
        2 => Just(Kind::Release), 1 => Just(Kind::Decline),
    ];
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let message = (kind, 0..3_u8, 0..ADDRESSES, 0..3_u8, 0..30_u32, side);
    let message = message.prop_map(|(kind, client, address, transaction, seconds, side)| Message {
        kind,
        client,
        address,
        transaction,
        seconds,
        side,
    });
    // Within the minute for which an exchange is remembered.
    vec(message, 0..50)
}

/// Who has which address until when.
#[derive(Default)]
struct Model {
    holders: [Option<(u8, u64)>; ADDRESSES],
    first_side: HashMap<(u8, u8, Kind), Side>,
    granted: HashMap<(u8, u8), usize>,
    asks_otherwise: HashSet<(u8, u8)>,
}

impl Model {
    fn message(&mut self, second: u64, message: Message) {
        let Message { kind, client, address, transaction, seconds, side } = message;
        let exchange = (client, transaction);
        let known = self.first_side.get(&(client, transaction, kind)).copied();
        self.first_side.entry((client, transaction, kind)).or_insert(side);
        let is_relayed = known.is_some_and(|first| first != side);
        let is_held = self.holder(address, second) == Some(client);
        match kind {
            Kind::Refuse => {}
            Kind::Grant => {
                let is_repeated = self.granted.insert(exchange, address) == Some(address);
                if is_repeated || self.asks_otherwise.contains(&exchange) {
                } else if seconds > 0 {
                    self.holders[address] = Some((client, second + u64::from(seconds)));
                } else if is_held {
                    self.holders[address] = None;
                }
            }
            _ => {
                if !is_relayed {
                    self.granted.remove(&exchange);
                    match kind {
                        Kind::Ask => _ = self.asks_otherwise.remove(&exchange),
                        _ => _ = self.asks_otherwise.insert(exchange),
                    }
                }
                if matches!(kind, Kind::Release | Kind::Decline) && known.is_none() && is_held {
                    self.holders[address] = None;
                }
            }
        }
    }

    fn holder(&self, address: usize, second: u64) -> Option<u8> {
        self.holders[address].filter(|(_, until)| second < *until).map(|(client, _)| client)
    }
}

fn send_v4(wire: &mut Wire, second: u64, message: Message) {
    let Message { client, transaction, seconds, side, .. } = message;
    let address = format!("203.0.113.{}", message.address);
    let octets = [203, 0, 113, message.address as u8];
    let new = |kind| V4::new(kind, client, transaction.into()).option(61, &[0, client, 9]);
    let message = match message.kind {
        Kind::Ask => new(REQUEST),
        Kind::AskOther => new(INFORM),
        Kind::Refuse => new(NAK),
        // Some servers return the identifier, others do not.
        Kind::Grant if client == 1 => V4::ack(client, 1, &address, seconds).option(61, &[0, client, 9]),
        Kind::Grant => V4::ack(client, 1, &address, seconds),
        Kind::Decline => new(DECLINE).option(50, &octets),
        // The model has one message of each type in a transaction.
        Kind::Release => {
            V4 { ciaddr: ["203.0.113.0", "203.0.113.1", "203.0.113.2"][message.address], ..new(RELEASE) }
        }
    };
    wire.v4_at(second, side, &V4 { transaction: transaction.into(), ..message });
}

fn send_v6(wire: &mut Wire, second: u64, message: Message) {
    let Message { client, transaction, seconds, side, .. } = message;
    let network = match message.address {
        0 => "2001:db8:7::/56",
        1 => "2001:db8::1",
        _ => "2001:db8::2",
    };
    let leases = association(&[(network, seconds)]);
    let status = option(13, &[0, 1]);
    let (kind, options) = match message.kind {
        Kind::Ask => (3, association(&[])),
        Kind::AskOther => (11, Vec::new()),
        Kind::Refuse => (7, status),
        Kind::Grant => (7, leases),
        Kind::Release => (8, leases),
        Kind::Decline => (9, leases),
    };
    let bytes = v6(kind, client, transaction, &options);
    match side {
        Side::Client => wire.v6(second, side, &bytes),
        Side::Server => wire.v6(second, side, &relayed(&bytes, &[])),
    };
}

fn agrees(
    messages: &[Message],
    send: fn(&mut Wire, u64, Message),
    addresses: [&str; ADDRESSES],
) -> Result<(), TestCaseError> {
    let (mut wire, mut model, mut expected) = (Wire::new(), Model::default(), Vec::new());
    // Leases may go on behind the last message.
    let end = messages.len() as u64 + 35;
    for second in 0..end {
        if let Some(message) = messages.get(second as usize) {
            send(&mut wire, second, *message);
            model.message(second, *message);
        }
        expected.push([0, 1, 2].map(|address| model.holder(address, second)));
    }
    wire.sessions.advance(at(end + 100));
    let early = wire.sessions.take();
    let records: Vec<_> = early.into_iter().chain(wire.close()).collect();
    for (second, holders) in expected.into_iter().enumerate() {
        for (address, holder) in addresses.into_iter().zip(holders) {
            let found = who(&records, address, second as u64);
            prop_assert_eq!(found, Vec::from_iter(holder.map(mac)), "{} in second {}", address, second);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn an_address_of_dhcpv4_has_the_holder_of_the_model(messages in messages()) {
        // One address is released in a transaction: with another one it would be another message.
        let mut released = HashMap::new();
        let messages: Vec<_> = messages.into_iter().map(|message| {
            let first = released.entry((message.client, message.transaction)).or_insert(message.address);
            if message.kind == Kind::Release { Message { address: *first, ..message } } else { message }
        }).collect();
        agrees(&messages, send_v4, ["203.0.113.0", "203.0.113.1", "203.0.113.2"])?;
    }

    #[test]
    fn an_address_or_prefix_of_dhcpv6_has_the_holder_of_the_model(messages in messages()) {
        // A refusal is a Reply, too: it is of its own transaction.
        let own = |message: Message| Message { transaction: message.transaction + 3, ..message };
        let messages: Vec<_> = messages
            .into_iter()
            .map(|message| if message.kind == Kind::Refuse { own(message) } else { message })
            .collect();
        agrees(&messages, send_v6, ["2001:db8:7:9::1", "2001:db8::1", "2001:db8::2"])?;
    }
}
