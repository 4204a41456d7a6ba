//! Properties: any acts and clocks against a plain model, and any change of the log.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{approve, approved, at, key, register, session, warrant};
use crate::register::{Register, verify};
use crate::state::Extension;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_change_of_any_bit_of_the_acts_is_found(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let (dir, mut register) = register();
        approved(&mut register, "L1", 0, 100);
        let orders = register.active(at(1)).unwrap();
        drop(register);
        let path = dir.path().join("acts");
        let mut bytes = fs::read(&path).unwrap();
        let byte = place.index(bytes.len());
        bytes[byte] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        prop_assert!(verify(dir.path(), None, &[], None).unwrap().fault.is_some());
        // Whoever opens it trusts the chain up to the head: a signature alone that is changed changes no act.
        if let Ok(mut register) = Register::open(dir.path(), &key()) {
            prop_assert_eq!(register.active(at(1)).unwrap(), orders);
        }
    }

    #[test]
    fn no_sequence_of_acts_and_clocks_makes_a_warrant_active_out_of_its_time(steps in vec(step(), 1..40)) {
        let (dir, mut register) = register();
        let mut model = Model::default();
        let mut clock = 100_i64;
        for step in steps {
            match &step {
                Step::Clock(by) => clock = (clock + by).max(0),
                Step::Restart => register = Register::open(dir.path(), &key()).unwrap(),
                _ => {}
            }
            model.seen = model.seen.max(clock);
            let done = run(&step, &mut register, clock);
            model.run(&step, done);
            let mut active: Vec<String> = register
                .active(at(clock as u64))
                .unwrap()
                .iter()
                .map(|order| order.liid.text().to_string())
                .collect();
            active.sort();
            prop_assert_eq!(active, model.active(), "{:?} at {}", step, clock);
        }
        prop_assert_eq!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault, None);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Clock(i64),
    Restart,
    Enter { by: usize, begins: u64, length: u64 },
    Approve { by: usize, which: usize },
    Extend { by: usize, which: usize, ends: u64 },
    Withdraw { by: usize, which: usize },
}

const PEOPLE: [&str; 4] = ["ana", "ben", "cleo", "dora"];

fn step() -> impl Strategy<Value = Step> {
    let by = || 0..PEOPLE.len();
    prop_oneof![
        3 => (-80_i64..120).prop_map(Step::Clock),
        1 => Just(Step::Restart),
        2 => (by(), 50..400_u64, 1..300_u64)
            .prop_map(|(by, begins, length)| Step::Enter { by, begins, length }),
        4 => (by(), 0..4_usize).prop_map(|(by, which)| Step::Approve { by, which }),
        2 => (by(), 0..4_usize, 100..900_u64).prop_map(|(by, which, ends)| Step::Extend { by, which, ends }),
        1 => (by(), 0..4_usize).prop_map(|(by, which)| Step::Withdraw { by, which }),
    ]
}

/// Whether the register did it.
fn run(step: &Step, register: &mut Register, clock: i64) -> bool {
    let now = at(clock as u64);
    let who = |by: &usize| session(PEOPLE[*by]);
    match step {
        Step::Clock(_) | Step::Restart => true,
        Step::Enter { by, begins, length } => {
            let liid = register.list(&session("dora"), "count", now).unwrap().0.len();
            let new = warrant(&format!("L{liid}"), at(*begins), at(begins + length));
            register.enter(&who(by), new, now).is_ok()
        }
        Step::Approve { by, which } => approve(register, PEOPLE[*by], *which as u32 + 1, now).is_ok(),
        Step::Extend { by, which, ends } => {
            let extension = Extension { ends: at(*ends), reference: "O".into(), authority: "Court".into() };
            register.extend(&who(by), *which as u32 + 1, extension, now).is_ok()
        }
        Step::Withdraw { by, which } => register.withdraw(&who(by), *which as u32 + 1, "reason", now).is_ok(),
    }
}

/// What was agreed, in plain words: by whom and until when.
#[derive(Default)]
struct Model {
    /// The latest clock.
    seen: i64,
    warrants: Vec<Plain>,
}

struct Plain {
    entered_by: usize,
    begins: u64,
    ends: u64,
    approved: bool,
    extension: Option<(usize, u64)>,
    withdrawn: bool,
}

impl Model {
    /// Says what has to be done and what must not be, and does it.
    fn run(&mut self, step: &Step, done: bool) {
        let now = self.seen as u64;
        let may = match step {
            Step::Clock(_) | Step::Restart => true,
            Step::Enter { by, begins, length } => {
                let may = *by != 3 && begins + length > now;
                if may {
                    let (entered_by, begins, ends) = (*by, *begins, begins + length);
                    self.warrants.push(Plain {
                        entered_by,
                        begins,
                        ends,
                        approved: false,
                        extension: None,
                        withdrawn: false,
                    });
                }
                may
            }
            Step::Approve { by, which } => self.warrants.get_mut(*which).is_some_and(|plain| {
                let is_open = *by != 3 && !plain.withdrawn && now < plain.ends;
                match plain.extension {
                    _ if !is_open => false,
                    None if !plain.approved && plain.entered_by != *by => {
                        plain.approved = true;
                        true
                    }
                    Some((other, ends)) if plain.approved && other != *by => {
                        (plain.ends, plain.extension) = (ends, None);
                        true
                    }
                    _ => false,
                }
            }),
            Step::Extend { by, which, ends } => self.warrants.get_mut(*which).is_some_and(|plain| {
                let may =
                    *by != 3 && plain.approved && !plain.withdrawn && now < plain.ends && *ends > plain.ends;
                if may {
                    plain.extension = Some((*by, *ends));
                }
                may
            }),
            Step::Withdraw { by, which } => self.warrants.get_mut(*which).is_some_and(|plain| {
                let may = *by != 3 && !plain.withdrawn && now < plain.ends;
                plain.withdrawn |= may;
                may
            }),
        };
        assert_eq!(done, may, "{step:?}");
    }

    fn active(&self) -> Vec<String> {
        let now = self.seen as u64;
        let is_active =
            |plain: &Plain| plain.approved && !plain.withdrawn && (plain.begins..plain.ends).contains(&now);
        let active = self.warrants.iter().enumerate().filter(|(_, plain)| is_active(plain));
        let mut active: Vec<String> = active.map(|(at, _)| format!("L{at}")).collect();
        active.sort();
        active
    }
}
