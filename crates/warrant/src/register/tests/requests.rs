//! Requests for retained data: two people, what is recorded when, and the figures.

use super::*;
use crate::log::line::{Body, Position};
use crate::log::sealer;
use crate::state::{
    Answer, Category, DataAges, MONTH, NewRequest, RefusalReason, RequestStatistics, RequestStatus, Spread,
};

/// Received an hour before second 0, about the day before.
pub(super) fn request() -> NewRequest {
    let before = |seconds: u64| Nanos::from_secs(1_800_000_000 - seconds);
    NewRequest {
        case_number: "C-2026-18".into(),
        authority: "Police of A".into(),
        legal_basis: "Act 2, section 3; order 17".into(),
        received: before(3_600),
        from: before(90_000),
        until: before(3_600),
        categories: vec![Category::Telephony],
        subjects: vec!["number:+441601234567".parse().unwrap(), "address:203.0.113.7:40001".parse().unwrap()],
    }
}

/// With calls that began at these times, in seconds before second 0.
pub(super) fn answer(begins: &[u64]) -> Answer {
    let mut ages = DataAges::new(request().received);
    begins.iter().for_each(|before| ages.add(Nanos::from_secs(1_800_000_000 - before)));
    let file = ProducedFile { name: "calls.csv".into(), octets: 17, sha256: "0f".repeat(32) };
    Answer::new(vec![file], (begins.len() as u64, 0), &ages)
}

pub(super) fn approve_request(register: &mut Register, by: &str, id: u32, clock: Nanos) -> Result<(), Error> {
    let hash = register.show_request(&session(by), id, "to approve it", clock)?.hash();
    register.approve_request(&session(by), id, &hash, clock)
}

/// Entered, approved and searched for by ana.
fn searched(register: &mut Register) -> u32 {
    let id = register.enter_request(&session("ana"), request(), at(1)).unwrap();
    approve_request(register, "ben", id, at(2)).unwrap();
    register.search_for_request(&session("ana"), id, at(3)).unwrap();
    id
}

#[test]
fn nobody_alone_answers() {
    let (dir, mut register) = register();
    let (ana, ben) = (session("ana"), session("ben"));
    let id = register.enter_request(&ana, request(), at(1)).unwrap();
    for by in [&ana, &ben] {
        assert_eq!(refusal(register.search_for_request(by, id, at(2))), Refused::RequestNotApproved);
        let given = register.answer_request(by, id, answer(&[4_000]), at(2));
        assert_eq!(refusal(given), Refused::RequestNotApproved);
    }
    assert_eq!(refusal(approve_request(&mut register, "ana", id, at(3))), Refused::SamePerson);
    let hash = register.show_request(&ana, id, "look", at(3)).unwrap().hash();
    assert_eq!(refusal(register.approve_request(&ben, id, &hash, at(3))), Refused::NotSeen);
    register.show_request(&ben, id, "to approve it", at(3)).unwrap();
    let other = register.approve_request(&ben, id, &"0".repeat(64), at(3));
    assert_eq!(refusal(other), Refused::OtherHash);
    register.approve_request(&ben, id, &hash, at(4)).unwrap();
    assert_eq!(refusal(approve_request(&mut register, "cleo", id, at(5))), Refused::RequestApproved);
    // What is given was looked for, by whoever gives it, and that is recorded before.
    assert_eq!(refusal(register.answer_request(&ana, id, answer(&[4_000]), at(5))), Refused::NotSearched);
    register.search_for_request(&ana, id, at(6)).unwrap();
    assert_eq!(refusal(register.answer_request(&ben, id, answer(&[4_000]), at(6))), Refused::NotSearched);
    register.answer_request(&ana, id, answer(&[4_000]), at(7)).unwrap();
    assert_eq!(refusal(register.answer_request(&ana, id, answer(&[4_000]), at(8))), Refused::NotSearched);
    let shown = register.show_request(&session("dora"), id, "audit", at(9)).unwrap();
    assert_eq!((shown.status(), shown.answers.len(), shown.searches), (RequestStatus::Answered, 1, 1));
    assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none());
}

#[test]
fn an_auditor_enters_nothing_and_a_look_at_requests_has_a_reason() {
    let (_dir, mut register) = register();
    let id = searched(&mut register);
    let dora = session("dora");
    for refused in [
        register.enter_request(&dora, request(), at(4)).map(drop),
        register.approve_request(&dora, id, "", at(4)),
        register.search_for_request(&dora, id, at(4)).map(drop),
        register.answer_request(&dora, id, answer(&[4_000]), at(4)),
        register.refuse_request(&dora, id, RefusalReason::Other, "x", at(4)),
        register.note_request(&dora, id, "x", at(4)),
    ] {
        assert_eq!(refusal(refused), Refused::NotAnOfficer);
    }
    let no_reason = |refused| matches!(refused, Refused::Field { field: "reason", .. });
    assert!(no_reason(refusal(register.show_request(&dora, id, " ", at(4)))));
    assert!(no_reason(refusal(register.list_requests(&dora, "", at(4)))));
    let all = |_| Some("all".to_owned());
    assert!(no_reason(refusal(register.request_statistics(&dora, all, "", at(4)))));
    register.show_request(&dora, id, "audit 1", at(4)).unwrap();
    register.list_requests(&dora, "audit 2", at(4)).unwrap();
    register.request_statistics(&dora, all, "audit 3", at(4)).unwrap();
    let query = ActQuery { who: Some("dora".to_owned()), ..ActQuery::default() };
    let acts = register.acts(&dora, &query, "audit 4", at(5)).unwrap();
    let told: Vec<(Option<u32>, &str)> = acts.iter().skip(1).map(|act| (act.request, &*act.detail)).collect();
    let looks = [
        (Some(id), "show: audit 1"),
        (None, "requests: audit 2"),
        (None, "statistics: audit 3"),
        (None, "acts: audit 4"),
    ];
    assert_eq!(told, looks);
}

#[test]
fn acts_of_a_request_name_it_and_no_subject() {
    let (_dir, mut register) = register();
    let id = searched(&mut register);
    register.answer_request(&session("ana"), id, answer(&[4_000, 5_000]), at(4)).unwrap();
    register.note_request(&session("ben"), id, "handed over by hand", at(5)).unwrap();
    let second = register.enter_request(&session("ana"), request(), at(6)).unwrap();
    register.refuse_request(&session("ben"), second, RefusalReason::NoLegalBasis, "no order", at(7)).unwrap();
    let acts = register.acts(&session("dora"), &ActQuery::default(), "audit", at(8)).unwrap();
    let told: Vec<(&str, Option<u32>)> =
        acts.iter().filter(|act| act.request.is_some()).map(|act| (act.act, act.request)).collect();
    let first =
        ["request-enter", "look", "request-approve", "request-search", "request-answer", "request-note"];
    let expected: Vec<(&str, Option<u32>)> = first
        .into_iter()
        .map(|kind| (kind, Some(id)))
        .chain([("request-enter", Some(second)), ("request-refuse", Some(second))])
        .collect();
    assert_eq!(told, expected);
    let details: Vec<&str> = acts.iter().map(|act| &*act.detail).collect();
    assert!(details.contains(&"no-legal-basis: no order"), "{details:?}");
    let given = format!("calls 2, sessions 0: calls.csv (17 octets, SHA-256 {})", "0f".repeat(32));
    assert!(details.contains(&given.as_str()), "{details:?}");
    let all = details.join("\n");
    assert!(!all.contains("1601234567") && !all.contains("203.0.113.7"), "{all}");
    assert!(acts.iter().all(|act| act.warrant.is_none()));
}

#[test]
fn what_was_answered_or_refused_is_closed_and_an_answer_may_be_given_again() {
    let (_dir, mut register) = register();
    let (ana, ben) = (session("ana"), session("ben"));
    let id = searched(&mut register);
    register.answer_request(&ana, id, answer(&[]), at(4)).unwrap();
    let status = |register: &mut Register, id| {
        register.show_request(&session("dora"), id, "audit", at(5)).unwrap().status()
    };
    assert_eq!(status(&mut register, id), RequestStatus::NoData);
    let late = register.refuse_request(&ben, id, RefusalReason::Deleted, "gone", at(5));
    assert_eq!(refusal(late), Refused::Closed);
    register.search_for_request(&ben, id, at(6)).unwrap();
    register.answer_request(&ben, id, answer(&[4_000]), at(7)).unwrap();
    assert_eq!(status(&mut register, id), RequestStatus::Answered);
    let second = register.enter_request(&ana, request(), at(8)).unwrap();
    register.refuse_request(&ana, second, RefusalReason::Withdrawn, "by letter 2", at(9)).unwrap();
    assert_eq!(status(&mut register, second), RequestStatus::Refused);
    for refused in [
        approve_request(&mut register, "ben", second, at(10)),
        register.search_for_request(&ana, second, at(10)).map(drop),
        register.refuse_request(&ana, second, RefusalReason::Other, "again", at(10)),
    ] {
        assert_eq!(refusal(refused), Refused::Closed);
    }
    register.note_request(&ana, second, "filed", at(10)).unwrap();
    assert_eq!(refusal(register.note_request(&ana, 7, "x", at(10))), Refused::NoRequest);
    assert_eq!(refusal(register.show_request(&ana, 7, "x", at(10))), Refused::NoRequest);
}

#[test]
fn what_a_request_has_to_have() {
    let (_dir, mut register) = register();
    let mut enter = |change: &dyn Fn(&mut NewRequest)| {
        let mut new = request();
        change(&mut new);
        register.enter_request(&session("ana"), new, at(1))
    };
    let field = |result: Result<u32, Error>| match refusal(result) {
        Refused::Field { field, .. } => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(enter(&|new| new.case_number = " ".into())), "case number");
    assert_eq!(field(enter(&|new| new.authority = "x".repeat(513).into())), "authority");
    assert_eq!(field(enter(&|new| new.legal_basis = "".into())), "legal basis");
    assert_eq!(field(enter(&|new| new.received = at(2))), "time of receipt");
    assert_eq!(field(enter(&|new| new.until = new.from)), "period");
    assert_eq!(field(enter(&|new| new.until = at(2))), "period");
    assert_eq!(field(enter(&|new| new.categories.clear())), "categories");
    assert_eq!(field(enter(&|new| new.subjects.clear())), "subjects");
    let many = |new: &mut NewRequest| {
        new.subjects = (0..65).map(|number| format!("user:{number}").parse().unwrap()).collect();
    };
    assert_eq!(field(enter(&many)), "subjects");
    // Twice the same is once.
    let twice = |new: &mut NewRequest| new.subjects.extend(new.subjects.clone());
    let id = enter(&twice).unwrap();
    assert_eq!(register.show_request(&session("ana"), id, "look", at(2)).unwrap().entered.subjects.len(), 2);
}

#[test]
fn figures_that_do_not_agree_are_no_answer() {
    let (_dir, mut register) = register();
    let id = searched(&mut register);
    let wrong: [&dyn Fn(&mut Answer); 7] = [
        &|answer| answer.files.clear(),
        &|answer| answer.files = vec![answer.files[0].clone(); 17],
        &|answer| answer.files[0].sha256 = "0f".repeat(31),
        &|answer| answer.calls += 1,
        &|answer| answer.by_month.push(0),
        &|answer| answer.earliest = None,
        &|answer| answer.latest = answer.earliest.map(|earliest| Nanos(earliest.0 - 1_000)),
    ];
    for change in wrong {
        let mut changed = answer(&[4_000, 5_000]);
        change(&mut changed);
        let refused = refusal(register.answer_request(&session("ana"), id, changed, at(4)));
        assert!(matches!(refused, Refused::Field { .. }), "{refused:?}");
    }
    // None of these was taken in.
    register.answer_request(&session("ana"), id, answer(&[4_000, 5_000]), at(4)).unwrap();
}

#[test]
fn figures_by_period_name_nobody() {
    let (_dir, mut register) = register();
    let (ana, ben) = (session("ana"), session("ben"));
    let hour = Nanos::from_secs(3_600);
    // Ages of the earliest: 400 s, 1,400 s, and one of 13 months.
    for begins in [&[4_000, 3_800][..], &[5_000], &[13 * MONTH.0 / 1_000_000_000 + 3_600, 4_000], &[]] {
        let id = searched(&mut register);
        register.answer_request(&ana, id, answer(begins), at(400)).unwrap();
    }
    let refused = register.enter_request(&ana, request(), at(500)).unwrap();
    register.refuse_request(&ben, refused, RefusalReason::Deleted, "after a year", at(800)).unwrap();
    register.enter_request(&ana, request(), at(900)).unwrap();
    let old = NewRequest { received: Nanos::from_secs(1_000_000_000), ..request() };
    let old = NewRequest { from: Nanos(1), until: Nanos::from_secs(900_000_000), ..old };
    register.enter_request(&ana, old, at(900)).unwrap();
    let period = |received: Nanos| match received.0 / 1_000_000_000 {
        1_000_000_000 => Some("2001".to_owned()),
        _ => Some("2027".to_owned()),
    };
    let by_period = register.request_statistics(&session("dora"), period, "yearly report", at(901)).unwrap();
    assert_eq!(by_period["2001"], RequestStatistics { received: 1, waiting: 1, ..empty() });
    let figures = &by_period["2027"];
    assert_eq!((figures.received, figures.answered, figures.no_data, figures.waiting), (6, 3, 1, 1));
    assert_eq!(figures.refused, [(RefusalReason::Deleted, 1)].into());
    assert_eq!((figures.calls, figures.accesses), (5, 0));
    let spread = |least, median, most| Some(Spread { least, median, most });
    let seconds = Nanos::from_secs;
    assert_eq!(figures.age, spread(seconds(400), seconds(1_400), Nanos(13 * MONTH.0)));
    assert_eq!((figures.requests_by_month[0], figures.requests_by_month[13]), (2, 1));
    assert_eq!((figures.communications_by_month[0], figures.communications_by_month[13]), (4, 1));
    // Four answers at 400, the refusal at 800.
    let at = |seconds: u64| Nanos(hour.0 + seconds * 1_000_000_000);
    assert_eq!(figures.response, spread(at(400), at(400), at(800)));
    let text = serde_json::to_string(&by_period).unwrap();
    assert!(
        !text.contains("1601234567") && !text.contains("C-2026-18") && !text.contains("Police"),
        "{text}"
    );
    let none = register.request_statistics(&ben, |_| None, "look", super::at(902)).unwrap();
    assert!(none.is_empty());
}

fn empty() -> RequestStatistics {
    RequestStatistics {
        requests_by_month: vec![0; 25],
        communications_by_month: vec![0; 25],
        ..Default::default()
    }
}

#[test]
fn nothing_of_the_subject_of_a_request_is_in_a_file_or_a_debug_text() {
    let (dir, mut register) = register();
    let id = searched(&mut register);
    let shown = register.show_request(&session("ana"), id, "look", at(4)).unwrap();
    let debug = format!("{shown:?}");
    let hidden = ["1601234567", "203.0.113.7", "40001", "C-2026-18", "Police", "order 17"];
    assert!(hidden.iter().all(|text| !debug.contains(text)), "{debug}");
    for entry in fs::read_dir(dir.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(hidden.iter().filter(|hidden| hidden.len() > 5).all(|hidden| !text.contains(hidden)));
    }
}

#[test]
fn a_kill_at_any_byte_of_an_answer_loses_no_acknowledged_act() {
    let (dir, mut register) = register();
    let id = searched(&mut register);
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let [old, old_head] = [read("acts"), read("head")];
    register.answer_request(&session("ana"), id, answer(&[4_000]), at(4)).unwrap();
    let [new, new_head] = [read("acts"), read("head")];
    drop(register);
    let write = |acts: &[u8], head: &[u8]| {
        fs::write(dir.path().join("acts"), acts).unwrap();
        fs::write(dir.path().join("head"), head).unwrap();
    };
    for cut in (old.len()..=new.len()).filter(|cut| cut % 101 == 0 || *cut + 3 > new.len()) {
        write(&new[..cut], &old_head);
        let mut register = Register::open(dir.path(), &key()).unwrap();
        let shown = register.show_request(&session("dora"), id, "audit", at(5)).unwrap();
        let is_whole = cut == new.len();
        let status = if is_whole { RequestStatus::Answered } else { RequestStatus::Approved };
        // That it was searched for was acknowledged before, and is there in each case.
        assert_eq!((shown.status(), shown.searches), (status, 1), "{cut}");
        assert_eq!(shown.searched.is_some(), !is_whole, "{cut}");
        assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none(), "{cut}");
        if !is_whole {
            write(&new[..cut], &new_head);
            assert!(Register::open(dir.path(), &key()).is_err(), "{cut}");
        }
    }
}

/// Written by 0.1.0 before there were requests: with acts of each kind that a person or the service does.
#[test]
fn a_register_from_before_requests_is_read_and_goes_on() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/register/tests/register-0.1.0");
    let dir = private();
    copy(&from, dir.path());
    let verified = verify(dir.path(), None, &[], Some(&key())).unwrap();
    assert!(verified.fault.is_none() && verified.acts > 20, "{verified:?}");
    let mut register = Register::open(dir.path(), &key()).unwrap();
    let (shown, time) = register.show(&session("dora"), 1, "audit", at(20)).unwrap();
    assert_eq!((shown.status(time), shown.notes.len(), shown.stopped.len()), (Status::Withdrawn, 1, 1));
    assert!(register.list_requests(&session("dora"), "audit", at(20)).unwrap().is_empty());
    let id = searched(&mut register);
    register.answer_request(&session("ana"), id, answer(&[4_000]), at(21)).unwrap();
    assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none());
}

#[test]
fn an_act_of_a_later_version_is_named_as_such() {
    let (dir, register) = register();
    let head = verify(dir.path(), None, &[], None).unwrap().head.unwrap();
    let next = Position { number: head.number + 1, previous: head.hash };
    let text = br#"{"time_us":1800000001000000,"by":"service","what":{"of-a-later-version":{}}}"#;
    let sealed = sealer::seal(&register.ledger.keys, &next, text).unwrap();
    let body = Body { number: next.number, sealed, previous: next.previous };
    let (line, _) = body.line(&register.ledger.keys);
    let path = dir.path().join("acts");
    let acts = fs::read(&path).unwrap();
    fs::write(&path, [&acts[..], line.as_bytes()].concat()).unwrap();
    let fault = verify(dir.path(), None, &[], Some(&key())).unwrap().fault.unwrap();
    assert_eq!((fault.act, fault.flaw), (next.number, Flaw::Unknown));
    assert!(matches!(Register::open(dir.path(), &key()), Err(Error::Log { flaw: Flaw::Unknown, .. })));
}
