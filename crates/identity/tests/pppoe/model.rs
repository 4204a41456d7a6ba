//! Against a model that keeps one holder of each address: whatever is lost or repeated, no address has two
//! holders at a time, and the holder is the one of the model.

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_testing::pppoe::*;

use crate::wire::*;
use Side::{Client, Concentrator};

const CLIENTS: u8 = 3;
const ADDRESSES: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client gets the address.
    Login(u8, usize),
    /// The concentrator acknowledges another one while the session goes on.
    Other(u8, usize),
    /// One side says that it ends the session: the client, or the concentrator.
    Terminate(u8, bool),
    Echo(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (client, address) = (0..CLIENTS, 0..ADDRESSES);
    prop_oneof![
        4 => (client.clone(), address.clone()).prop_map(|(client, at)| Step::Login(client, at)),
        2 => (client.clone(), address).prop_map(|(client, at)| Step::Other(client, at)),
        2 => (client.clone(), any::<bool>()).prop_map(|(client, ends)| Step::Terminate(client, ends)),
        1 => client.prop_map(Step::Echo),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_holder_is_the_one_of_the_model(steps in vec((step(), 1..3_usize), 0..40)) {
        let mut wire = Wire::new();
        let mut holders: [Option<u8>; ADDRESSES] = [None; ADDRESSES];
        let mut history = Vec::new();
        for (number, (step, copies)) in steps.iter().enumerate() {
            let second = 10 * number as u64;
            let mut frames = Vec::new();
            // The model: each client has one address at most.
            let mut give = |client: u8, address: Option<usize>| {
                holders.iter_mut().filter(|holder| **holder == Some(client)).for_each(|own| *own = None);
                if let Some(address) = address {
                    holders[address] = Some(client);
                }
            };
            let link = |client: u8| Link::new(client, 15);
            let octets = |address: usize| [203, 0, 113, address as u8];
            match *step {
                Step::Login(client, address) => {
                    give(client, Some(address));
                    let name = format!("user{client}");
                    let login = link(client).login(&name, octets(address), &[]);
                    login.into_iter().for_each(|frame| frames.extend(vec![frame; *copies]));
                }
                Step::Other(client, address) => {
                    let is_open = holders.contains(&Some(client));
                    if is_open {
                        holders.iter_mut().filter(|one| **one == Some(client)).for_each(|own| *own = None);
                        holders[address] = Some(client);
                        let ack = [&[3, 6][..], &octets(address)].concat();
                        frames.push(link(client).control(Concentrator, IPCP, (2, 9), &ack));
                    }
                }
                Step::Terminate(client, is_padt) => {
                    give(client, None);
                    let id = number as u8;
                    frames.push(link(client).control(Client, LCP, (5, id), &[]));
                    frames.push(match is_padt {
                        true => link(client).discovery(Client, PADT, 15, &[]),
                        false => link(client).control(Concentrator, LCP, (6, id), &[]),
                    });
                }
                Step::Echo(client) => {
                    frames.push(link(client).control(Client, LCP, (9, 1), &[0; 4]));
                }
            }
            frames.iter().for_each(|frame| _ = wire.frame(second, frame));
            history.push((second, holders));
        }
        let records = wire.close();
        for (second, holders) in history {
            for (address, holder) in holders.into_iter().enumerate() {
                let expected = holder.map(|client| format!("user{client}"));
                let expected: Vec<String> = expected.into_iter().collect();
                let found = who(&records, &format!("203.0.113.{address}"), second);
                prop_assert_eq!(found, expected, "{} at {}", address, second);
            }
        }
    }
}
