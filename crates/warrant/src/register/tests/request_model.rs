//! Properties: any acts of requests by anybody, with restarts and kills in between, against a plain model.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use super::requests::{answer, approve_request, request};
use super::{at, key, register, session};
use crate::register::{Register, verify};
use crate::state::{RefusalReason, RequestStatus};

#[derive(Clone, Copy, Debug)]
enum Step {
    Restart,
    /// A kill in the middle of a write: what is left of the act is cut off when the register is opened.
    Kill,
    Enter(usize),
    Approve(usize, usize),
    Search(usize, usize),
    Answer(usize, usize, usize),
    Refuse(usize, usize),
}

const PEOPLE: [&str; 4] = ["ana", "ben", "cleo", "dora"];
const AUDITOR: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let by = || 0..PEOPLE.len();
    let which = || 0..3_usize;
    prop_oneof![
        1 => Just(Step::Restart),
        1 => Just(Step::Kill),
        2 => by().prop_map(Step::Enter),
        4 => (by(), which()).prop_map(|(by, which)| Step::Approve(by, which)),
        4 => (by(), which()).prop_map(|(by, which)| Step::Search(by, which)),
        4 => (by(), which(), 0..3_usize).prop_map(|(by, which, rows)| Step::Answer(by, which, rows)),
        1 => (by(), which()).prop_map(|(by, which)| Step::Refuse(by, which)),
    ]
}

/// A request in plain words.
#[derive(Default)]
struct Plain {
    entered_by: usize,
    approved_by: Option<usize>,
    searched_by: Option<usize>,
    /// Rows of each answer.
    answers: Vec<usize>,
    refused: bool,
}

impl Plain {
    fn status(&self) -> RequestStatus {
        match (self.refused, self.answers.last(), self.approved_by) {
            (true, ..) => RequestStatus::Refused,
            (_, Some(0), _) => RequestStatus::NoData,
            (_, Some(_), _) => RequestStatus::Answered,
            (_, None, Some(_)) => RequestStatus::Approved,
            (_, None, None) => RequestStatus::Received,
        }
    }

    /// Whether it may be done, and does it.
    fn admits(&mut self, step: Step) -> bool {
        let may = match step {
            Step::Approve(by, _) => by != self.entered_by && self.approved_by.is_none() && !self.refused,
            Step::Search(..) => self.approved_by.is_some() && !self.refused,
            Step::Answer(by, ..) => {
                self.approved_by.is_some() && !self.refused && self.searched_by == Some(by)
            }
            Step::Refuse(..) => !self.refused && self.answers.is_empty(),
            Step::Enter(_) | Step::Restart | Step::Kill => true,
        };
        match step {
            _ if !may => {}
            Step::Approve(by, _) => self.approved_by = Some(by),
            Step::Search(by, _) => self.searched_by = Some(by),
            Step::Answer(_, _, rows) => {
                self.answers.push(rows);
                self.searched_by = None;
            }
            Step::Refuse(..) => self.refused = true,
            Step::Enter(_) | Step::Restart | Step::Kill => {}
        }
        may
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_acts_answers_without_two_officers(steps in vec(step(), 1..40)) {
        let (dir, mut register) = register();
        let mut model: Vec<Plain> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let clock = at(number as u64);
            if let Step::Kill = step {
                let path = dir.path().join("acts");
                let mut acts = fs::read(&path).unwrap();
                acts.extend_from_slice(b"{\"number\":99,\"sealed\":\"");
                fs::write(&path, acts).unwrap();
            }
            if matches!(step, Step::Kill | Step::Restart) {
                register = Register::open(dir.path(), &key()).unwrap();
            }
            let id = |which: usize| which as u32 + 1;
            let done = match step {
                Step::Restart | Step::Kill => true,
                Step::Enter(by) => register.enter_request(&session(PEOPLE[by]), request(), clock).is_ok(),
                Step::Approve(by, which) => {
                    approve_request(&mut register, PEOPLE[by], id(which), clock).is_ok()
                }
                Step::Search(by, which) => {
                    register.search_for_request(&session(PEOPLE[by]), id(which), clock).is_ok()
                }
                Step::Answer(by, which, rows) => {
                    let answer = answer(&[4_000, 5_000][..rows]);
                    register.answer_request(&session(PEOPLE[by]), id(which), answer, clock).is_ok()
                }
                Step::Refuse(by, which) => {
                    let (by, reason) = (session(PEOPLE[by]), RefusalReason::Unclear);
                    register.refuse_request(&by, id(which), reason, "which month?", clock).is_ok()
                }
            };
            let may = match step {
                Step::Restart | Step::Kill => true,
                Step::Enter(AUDITOR) => false,
                Step::Enter(by) => {
                    model.push(Plain { entered_by: by, ..Plain::default() });
                    true
                }
                Step::Approve(by, _) | Step::Search(by, _) | Step::Answer(by, ..) | Step::Refuse(by, _)
                    if by == AUDITOR => false,
                Step::Approve(_, which)
                | Step::Search(_, which)
                | Step::Answer(_, which, _)
                | Step::Refuse(_, which) => {
                    model.get_mut(which).is_some_and(|plain| plain.admits(step))
                }
            };
            prop_assert_eq!(done, may, "{:?}", step);
            let listed = register.list_requests(&session("dora"), "audit", clock).unwrap();
            let statuses: Vec<RequestStatus> = listed.iter().map(|request| request.status()).collect();
            prop_assert_eq!(statuses, model.iter().map(Plain::status).collect::<Vec<_>>());
            for given in listed.iter().filter(|request| !request.answers.is_empty()) {
                prop_assert!(given.approved_by.as_ref().is_some_and(|by| *by != given.entered_by));
            }
        }
        prop_assert_eq!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault, None);
    }
}
