//! Tasks that administration functions provision.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::order::{Delivers, Order};
use crate::state::{Destination, NewAdmf, TaskContent};
use crate::uuid::Uuid;

fn uuid(number: u32) -> Uuid {
    format!("00000000-0000-4000-8000-{number:012x}").parse().unwrap()
}

fn entry_of(identifier: &str, activates: bool) -> NewAdmf {
    let digit = if identifier == "admf-1" { "1f" } else { "2f" };
    NewAdmf {
        identifier: identifier.to_owned(),
        certificates: vec![digit.repeat(32)],
        activates,
        authority: "District Court".into(),
        legal_basis: "Act 1, section 2".into(),
        requester: "Agency A".into(),
        authorisation_country: "GB".parse().unwrap(),
        delivery_country: "GB".parse().unwrap(),
        operator: "operator".to_owned(),
        agencies: vec!["agency-a".to_owned(), "agency-b".to_owned()],
        longest_days: None,
    }
}

fn register_admf(register: &mut Register, entry: NewAdmf) -> AdmfSession {
    let hash = entry.certificates[0].clone();
    let number = register.propose_admf(&session("ana"), entry, at(0)).unwrap();
    register.confirm_admf(&session("ben"), number, at(0)).unwrap();
    register.admf_of_certificate(&hash).unwrap().unwrap()
}

/// With the destinations 1 of agency-a and 2 of agency-b.
fn with_admf(activates: bool) -> (TempDir, Register, AdmfSession) {
    let (dir, mut register) = register();
    let admf = register_admf(&mut register, entry_of("admf-1", activates));
    for (number, agency) in [(1, "agency-a"), (2, "agency-b")] {
        set_destination(&mut register, &admf, 1_000 + number, number, agency, false).unwrap();
    }
    (dir, register, admf)
}

fn set_destination(
    register: &mut Register,
    admf: &AdmfSession,
    transaction: u32,
    did: u32,
    agency: &str,
    modifies: bool,
) -> Result<(), Error> {
    let destination = Destination { agency: agency.to_owned(), details: "192.0.2.1:9992".into() };
    register.set_destination(admf, uuid(transaction), uuid(did), destination, modifies, at(0))
}

fn task(xid: u32, targets: &[&str], delivers: Delivers, ends: u64) -> NewTask {
    NewTask {
        xid: uuid(xid),
        liid: format!("LI-{xid}").parse().unwrap(),
        targets: targets.iter().map(|text| text.parse().unwrap()).collect(),
        delivers,
        begins: Some(at(1)),
        ends: Some(at(ends)),
        content: TaskContent { destinations: vec![uuid(1)], details: "as it came".into() },
    }
}

fn zebra(xid: u32) -> NewTask {
    task(xid, &["user~:zebra", "number:+441601234567"], Delivers::Both, 100)
}

fn liids(orders: &[Order]) -> Vec<String> {
    orders.iter().map(|order| order.liid.text().to_string()).collect()
}

#[test]
fn nobody_alone_registers_an_admf() {
    let (_dir, mut register) = register();
    let entry = entry_of("admf-1", true);
    let hash = entry.certificates[0].clone();
    let number = register.propose_admf(&session("ana"), entry.clone(), at(0)).unwrap();
    assert!(register.admf_of_certificate(&hash).unwrap().is_none());
    let alone = register.confirm_admf(&session("ana"), number, at(0));
    assert_eq!(refusal(alone), Refused::SamePersonForPeople);
    assert_eq!(refusal(register.confirm_admf(&session("dora"), number, at(0))), Refused::NotAnOfficer);
    let auditor = register.propose_admf(&session("dora"), entry.clone(), at(0));
    assert_eq!(refusal(auditor), Refused::NotAnOfficer);
    register.confirm_admf(&session("ben"), number, at(0)).unwrap();
    assert_eq!(refusal(register.confirm_admf(&session("cleo"), number, at(0))), Refused::NoProposal);
    let known = register.admf_of_certificate(&hash).unwrap().unwrap();
    assert_eq!(known.identifier(), "admf-1");
    // Another one is not known by the same certificate.
    let same = NewAdmf { identifier: "admf-2".to_owned(), ..entry.clone() };
    let same = refusal(register.propose_admf(&session("ana"), same, at(0)));
    assert!(matches!(same, Refused::Field { field: "certificates", .. }), "{same:?}");
    // More rights take two again.
    let more = NewAdmf { certificates: vec!["3F".repeat(32)], ..entry };
    let number = register.propose_admf(&session("cleo"), more, at(0)).unwrap();
    assert!(register.admf_of_certificate(&"3f".repeat(32)).unwrap().is_none());
    register.confirm_admf(&session("ana"), number, at(0)).unwrap();
    assert!(register.admf_of_certificate(&"3f".repeat(32)).unwrap().is_some());
    assert!(register.admf_of_certificate(&hash).unwrap().is_none(), "that of before counts no more");
    // One officer ends it.
    register.disable_admf(&session("cleo"), "admf-1", at(1)).unwrap();
    assert!(register.admf_of_certificate(&"3f".repeat(32)).unwrap().is_none());
    let ended = register.activate_task(&known, uuid(9), zebra(1), at(2));
    assert_eq!(refusal(ended), Refused::NoAdmf);
}

#[test]
fn what_an_admf_has_to_have() {
    let (_dir, mut register) = register();
    let mut field = |change: &dyn Fn(&mut NewAdmf)| {
        let mut entry = entry_of("admf-1", false);
        change(&mut entry);
        match refusal(register.propose_admf(&session("ana"), entry, at(0))) {
            Refused::Field { field, .. } => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(field(&|admf| admf.identifier = "a b".to_owned()), "identifier");
    assert_eq!(field(&|admf| admf.certificates.clear()), "certificates");
    assert_eq!(field(&|admf| admf.certificates[0].truncate(63)), "certificates");
    assert_eq!(field(&|admf| admf.agencies.clear()), "agencies");
    assert_eq!(field(&|admf| admf.agencies[0] = "a/b".to_owned()), "agencies");
    assert_eq!(field(&|admf| admf.operator.clear()), "operator");
    assert_eq!(field(&|admf| admf.longest_days = Some(0)), "longest time");
    assert_eq!(field(&|admf| admf.authority = " ".into()), "authority");
    assert_eq!(field(&|admf| admf.legal_basis = "".into()), "legal basis");
    assert_eq!(field(&|admf| admf.requester = "x".repeat(513).into()), "requester");
}

#[test]
fn a_task_waits_for_an_officer_who_has_seen_it() {
    let (_dir, mut register, admf) = with_admf(false);
    assert_eq!(register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap(), Provisioned::Waits);
    assert!(register.active(at(3)).unwrap().is_empty());
    let shown = register.task(&admf, uuid(1), "X1", at(3)).unwrap();
    assert_eq!((shown.status(), &*shown.warrant.entered_by), (Status::Draft, "admf:admf-1"));
    assert_eq!(&*shown.warrant.entered.case_number, &*format!("X1 task {}", uuid(1)));
    let hash = shown.warrant.hash();
    assert_eq!(refusal(register.approve(&session("ana"), 1, &hash, at(3))), Refused::NotSeen);
    approve(&mut register, "ana", 1, at(4)).unwrap();
    assert_eq!(liids(&register.active(at(5)).unwrap()), ["LI-1"]);
    assert_eq!(register.task(&admf, uuid(1), "X1", at(5)).unwrap().status(), Status::Active);
    register.deactivate_tasks(&admf, uuid(10), Some(uuid(1)), at(6)).unwrap();
    assert!(register.active(at(6)).unwrap().is_empty());
    assert_eq!(refusal(register.task(&admf, uuid(1), "X1", at(6))), Refused::NoTask);
    let acts = register.acts(&session("dora"), &ActQuery::default(), "audit", at(7)).unwrap();
    let own: Vec<&str> = acts.iter().filter(|act| &*act.who == "admf:admf-1").map(|act| act.act).collect();
    let expected = ["destination", "destination", "task-activate", "look", "look", "task-deactivate"];
    assert_eq!(own, expected);
    let entered = acts.iter().find(|act| act.act == "task-activate").unwrap();
    assert_eq!(entered.warrant, Some(1));
    assert_eq!(&*entered.detail, &*format!("XID {}; transaction {}", uuid(1), uuid(9)));
    assert!(!acts.iter().any(|act| act.detail.contains("zebra") || act.detail.contains("1601234567")));
}

#[test]
fn an_admf_that_activates_does_so_by_the_delegation_of_two_officers() {
    let (_dir, mut register, admf) = with_admf(true);
    assert_eq!(register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap(), Provisioned::Approved);
    assert_eq!(liids(&register.active(at(2)).unwrap()), ["LI-1"]);
    let (shown, _) = register.show(&session("dora"), 1, "audit", at(3)).unwrap();
    assert_eq!(shown.approved_by.as_deref(), Some("admf:admf-1, delegated by ana and ben"));
    // One officer ends it, and the ADMF sees that.
    register.withdraw(&session("cleo"), 1, "lifted", at(4)).unwrap();
    assert_eq!(register.task(&admf, uuid(1), "X1", at(4)).unwrap().status(), Status::Withdrawn);
    assert_eq!(refusal(register.modify_task(&admf, uuid(10), zebra(1), at(4))), Refused::Over);
    assert_eq!(refusal(register.activate_task(&admf, uuid(11), zebra(1), at(4))), Refused::XidUsed);
    register.deactivate_tasks(&admf, uuid(12), Some(uuid(1)), at(5)).unwrap();
    assert_eq!(register.activate_task(&admf, uuid(13), zebra(1), at(6)).unwrap(), Provisioned::Approved);
}

#[test]
fn a_delegation_counts_while_it_is_registered() {
    let (dir, mut register, admf) = with_admf(true);
    register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap();
    let admf = register_admf(&mut register, entry_of("admf-1", false));
    assert_eq!(register.activate_task(&admf, uuid(10), zebra(2), at(3)).unwrap(), Provisioned::Waits);
    let longer = NewTask { ends: Some(at(200)), ..zebra(1) };
    assert_eq!(register.modify_task(&admf, uuid(11), longer, at(3)).unwrap(), Provisioned::Waits);
    let orders = register.active(at(3)).unwrap();
    assert_eq!((liids(&orders), orders[0].ends), (vec!["LI-1".to_owned()], at(100)));
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    assert_eq!(register.active(at(3)).unwrap(), orders, "read again, it is what it was");
}

#[test]
fn what_is_modified_to_more_waits_and_what_is_less_counts_at_once() {
    let (_dir, mut register, admf) = with_admf(false);
    register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap();
    approve(&mut register, "ana", 1, at(2)).unwrap();
    register.begun(&"LI-1".parse().unwrap(), at(3)).unwrap();
    // Another target: what is approved goes on until another record is.
    let more = task(1, &["user~:zebra", "user~:lion"], Delivers::Both, 100);
    assert_eq!(register.modify_task(&admf, uuid(10), more.clone(), at(3)).unwrap(), Provisioned::Waits);
    let shown = register.task(&admf, uuid(1), "X1", at(3)).unwrap();
    assert!(shown.is_modification_pending && shown.warrant.id == 1, "{shown:?}");
    let targets = |register: &mut Register, time| -> Vec<usize> {
        register.active(at(time)).unwrap().iter().map(|order| order.targets.len()).collect()
    };
    assert_eq!(
        register.active(at(4)).unwrap()[0].targets,
        register.ledger.state.warrants[&1].entered.targets
    );
    // An officer refuses it: nothing waits any more.
    register.withdraw(&session("cleo"), 2, "too much", at(4)).unwrap();
    assert!(!register.task(&admf, uuid(1), "X1", at(4)).unwrap().is_modification_pending);
    // Another modification takes the place of the one that waits.
    register.modify_task(&admf, uuid(11), more, at(4)).unwrap();
    assert_eq!(register.ledger.state.warrants[&2].status(at(4)), Status::Withdrawn);
    assert_eq!(refusal(approve(&mut register, "ben", 2, at(5))), Refused::Over);
    let (waiting, _) = register.show(&session("ben"), 3, "approval", at(5)).unwrap();
    assert!(waiting.entered.case_number.ends_with(", in place of warrant 1"));
    approve(&mut register, "ben", 3, at(5)).unwrap();
    let orders = register.active(at(5)).unwrap();
    assert_eq!((liids(&orders), orders[0].targets.len()), (vec!["LI-1".to_owned()], 2));
    assert_eq!(register.ledger.state.warrants[&1].status(at(5)), Status::Withdrawn);
    assert_eq!(register.term(&orders[0].liid).unwrap(), at(5)..at(100));
    // The proof of the stop is that of the one that was replaced.
    register.begun(&orders[0].liid, at(6)).unwrap();
    let proof = StopProof { at: at(6), last_content: None, by: "order ended".to_owned() };
    register.stopped(&orders[0].liid, proof, at(6)).unwrap();
    assert_eq!(register.ledger.state.warrants[&1].stopped.len(), 1);
    // Less of it needs nobody.
    let less = task(1, &["user~:lion"], Delivers::Iri, 50);
    assert_eq!(register.modify_task(&admf, uuid(12), less, at(7)).unwrap(), Provisioned::Approved);
    assert_eq!(targets(&mut register, 7), [1]);
    let (shown, _) = register.show(&session("dora"), 4, "audit", at(7)).unwrap();
    assert_eq!(shown.approved_by.as_deref(), Some("admf:admf-1, as a part of warrant 3"));
    // And back again is more.
    let both = task(1, &["user~:lion"], Delivers::Both, 50);
    assert_eq!(register.modify_task(&admf, uuid(13), both, at(8)).unwrap(), Provisioned::Waits);
    assert!(!register.active(at(8)).unwrap()[0].delivers.content());
    // All of it ends at once, with what waits.
    register.deactivate_tasks(&admf, uuid(14), None, at(9)).unwrap();
    assert!(register.active(at(9)).unwrap().is_empty());
    assert_eq!(refusal(approve(&mut register, "ben", 5, at(9))), Refused::Over);
}

#[test]
fn a_later_end_alone_is_an_extension() {
    let (_dir, mut register, admf) = with_admf(false);
    register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap();
    approve(&mut register, "ana", 1, at(2)).unwrap();
    let longer = NewTask { ends: Some(at(200)), ..zebra(1) };
    assert_eq!(register.modify_task(&admf, uuid(10), longer.clone(), at(3)).unwrap(), Provisioned::Waits);
    assert!(register.task(&admf, uuid(1), "X1", at(3)).unwrap().is_modification_pending);
    approve(&mut register, "ben", 1, at(4)).unwrap();
    assert_eq!(register.active(at(150)).unwrap().len(), 1);
    // The same again changes nothing but what it is known by.
    let other = TaskContent { destinations: vec![uuid(1)], details: "other words".into() };
    let same = NewTask { content: other, ..longer };
    assert_eq!(register.modify_task(&admf, uuid(11), same, at(150)).unwrap(), Provisioned::Approved);
    let shown = register.task(&admf, uuid(1), "X1", at(150)).unwrap();
    assert_eq!(&*shown.warrant.task.unwrap().content.details, "other words");
    assert_eq!((shown.warrant.id, register.ledger.state.warrants.len()), (1, 1));
    // By who activates, at once.
    let (_dir, mut register, admf) = with_admf(true);
    register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap();
    let longer = NewTask { ends: Some(at(200)), ..zebra(1) };
    assert_eq!(register.modify_task(&admf, uuid(10), longer, at(3)).unwrap(), Provisioned::Approved);
    assert_eq!(register.active(at(150)).unwrap().len(), 1);
}

#[test]
fn an_admf_sees_and_changes_its_own_tasks_alone() {
    let (_dir, mut register, one) = with_admf(true);
    let other = register_admf(&mut register, entry_of("admf-2", true));
    register.activate_task(&one, uuid(9), zebra(1), at(2)).unwrap();
    assert_eq!(refusal(register.task(&other, uuid(1), "X1", at(3))), Refused::NoTask);
    assert!(register.tasks(&other, "X1", at(3)).unwrap().is_empty());
    assert!(register.destinations(&other, "X1", at(3)).unwrap().is_empty());
    assert_eq!(refusal(register.modify_task(&other, uuid(10), zebra(1), at(3))), Refused::NoTask);
    let end = register.deactivate_tasks(&other, uuid(11), Some(uuid(1)), at(3));
    assert_eq!(refusal(end), Refused::NoTask);
    register.deactivate_tasks(&other, uuid(12), None, at(3)).unwrap();
    let not_its_own = register.activate_task(&other, uuid(13), zebra(2), at(3));
    assert_eq!(refusal(not_its_own), Refused::NoDestination);
    // An officer's warrant is no task of anybody, and its identifier stays taken.
    approved(&mut register, "LI-3", 1, 100);
    let taken = register.activate_task(&one, uuid(14), zebra(3), at(3));
    assert_eq!(refusal(taken), Refused::LiidUsed);
    assert_eq!(liids(&register.active(at(4)).unwrap()), ["LI-1", "LI-3"]);
}

#[test]
fn a_transaction_changes_something_once() {
    let (dir, mut register, admf) = with_admf(true);
    register.activate_task(&admf, uuid(9), zebra(1), at(2)).unwrap();
    register.deactivate_tasks(&admf, uuid(10), Some(uuid(1)), at(3)).unwrap();
    let again = |register: &mut Register| register.activate_task(&admf, uuid(9), zebra(1), at(4));
    assert_eq!(refusal(again(&mut register)), Refused::TransactionUsed);
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    assert_eq!(refusal(again(&mut register)), Refused::TransactionUsed);
    let other = register_admf(&mut register, entry_of("admf-2", true));
    set_destination(&mut register, &other, 9, 1, "agency-a", false).unwrap();
}

#[test]
fn agencies_ends_and_destinations_are_those_that_are_registered() {
    let (_dir, mut register, admf) = with_admf(true);
    let none = NewTask { ends: None, ..zebra(1) };
    let missing = refusal(register.activate_task(&admf, uuid(9), none.clone(), at(2)));
    assert!(matches!(missing, Refused::Field { field: "end", .. }), "{missing:?}");
    let entry =
        NewAdmf { longest_days: Some(1), agencies: vec!["agency-a".to_owned()], ..entry_of("admf-1", true) };
    let admf = register_admf(&mut register, entry);
    register.activate_task(&admf, uuid(9), none, at(2)).unwrap();
    assert_eq!(register.task(&admf, uuid(1), "X1", at(2)).unwrap().warrant.entered.ends, at(86_401));
    let long = NewTask { ends: Some(at(86_402)), ..zebra(2) };
    assert_eq!(refusal(register.activate_task(&admf, uuid(10), long, at(2))), Refused::TooLong);
    let longer = NewTask { ends: Some(at(86_402)), ..zebra(1) };
    assert_eq!(refusal(register.modify_task(&admf, uuid(10), longer, at(2))), Refused::TooLong);
    let to = |dids: &[u32]| NewTask {
        content: TaskContent {
            destinations: dids.iter().map(|did| uuid(*did)).collect(),
            details: "x".into(),
        },
        ..zebra(2)
    };
    for (dids, why) in
        [(&[2][..], Refused::NotItsAgency), (&[1, 2], Refused::NotItsAgency), (&[3], Refused::NoDestination)]
    {
        assert_eq!(refusal(register.activate_task(&admf, uuid(10), to(dids), at(2))), why);
    }
    let other = set_destination(&mut register, &admf, 10, 4, "agency-b", false);
    assert_eq!(refusal(other), Refused::NotItsAgency);
    let again = set_destination(&mut register, &admf, 10, 1, "agency-a", false);
    assert_eq!(refusal(again), Refused::DestinationUsed);
    let unknown = set_destination(&mut register, &admf, 10, 4, "agency-a", true);
    assert_eq!(refusal(unknown), Refused::NoDestination);
    let moved = set_destination(&mut register, &admf, 10, 1, "agency-b", true);
    assert_eq!(refusal(moved), Refused::DestinationInUse);
    for did in [Some(uuid(1)), None] {
        let removed = register.remove_destinations(&admf, uuid(10), did, at(2));
        assert_eq!(refusal(removed), Refused::DestinationInUse);
    }
    register.remove_destinations(&admf, uuid(10), Some(uuid(2)), at(2)).unwrap();
    register.deactivate_tasks(&admf, uuid(11), None, at(3)).unwrap();
    register.remove_destinations(&admf, uuid(12), None, at(3)).unwrap();
    assert!(register.destinations(&admf, "X1", at(3)).unwrap().is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Activate { xid: u32, targets: u32, content: bool },
    Modify { xid: u32, targets: u32, content: bool, ends: u64 },
    Deactivate { xid: Option<u32> },
    Approve { by: &'static str, id: u32 },
    Withdraw { id: u32 },
    Wait,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let (xid, id) = (1..3_u32, 1..8_u32);
    let by = prop_oneof![Just("ana"), Just("ben"), Just("dora")];
    let modified = (xid.clone(), 1..8_u32, any::<bool>(), 20..60_u64);
    prop_oneof![
        3 => (xid.clone(), 1..8_u32, any::<bool>())
            .prop_map(|(xid, targets, content)| Step::Activate { xid, targets, content }),
        4 => modified
            .prop_map(|(xid, targets, content, ends)| Step::Modify { xid, targets, content, ends }),
        1 => proptest::option::of(xid).prop_map(|xid| Step::Deactivate { xid }),
        4 => (by, id.clone()).prop_map(|(by, id)| Step::Approve { by, id }),
        1 => id.prop_map(|id| Step::Withdraw { id }),
        1 => Just(Step::Wait),
        1 => Just(Step::Reopen),
    ]
}

/// A task about some of three targets.
fn some(xid: u32, targets: u32, content: bool, ends: u64) -> NewTask {
    let names = ["user~:zebra", "user~:lion", "number:+441601234567"];
    let chosen: Vec<&str> =
        (0..3).filter(|bit| targets >> bit & 1 == 1).map(|bit| names[bit as usize]).collect();
    task(xid, &chosen, if content { Delivers::Both } else { Delivers::Iri }, ends)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever an ADMF that does not activate provisions, an order in force is a part of a record that an
    /// officer has approved as it was.
    #[test]
    fn no_sequence_of_messages_brings_more_into_force_than_officers_have_approved(
        steps in vec(step(), 1..40)
    ) {
        let (dir, mut register, admf) = with_admf(false);
        let mut approved: Vec<NewWarrant> = Vec::new();
        let mut clock = 2;
        for (number, step) in steps.into_iter().enumerate() {
            let transaction = uuid(5_000 + number as u32);
            match step {
                Step::Activate { xid, targets, content } => {
                    let entered = some(xid, targets, content, 40);
                    let _ = register.activate_task(&admf, transaction, entered, at(clock));
                }
                Step::Modify { xid, targets, content, ends } => {
                    let modified = some(xid, targets, content, ends);
                    let _ = register.modify_task(&admf, transaction, modified, at(clock));
                }
                Step::Deactivate { xid } => {
                    let _ = register.deactivate_tasks(&admf, transaction, xid.map(uuid), at(clock));
                }
                Step::Approve { by, id } => {
                    if approve(&mut register, by, id, at(clock)).is_ok() {
                        prop_assert_ne!(by, "dora");
                        approved.push(register.ledger.state.warrants[&id].entered.clone());
                    }
                }
                Step::Withdraw { id } => {
                    let _ = register.withdraw(&session("cleo"), id, "lifted", at(clock));
                }
                Step::Wait => clock += 10,
                Step::Reopen => register = Register::open(dir.path(), &key()).unwrap(),
            }
            let orders = register.active(at(clock)).unwrap();
            let mut known = std::collections::BTreeSet::new();
            for order in &orders {
                prop_assert!(known.insert(order.liid.clone()), "an identifier of two orders");
                let is_approved = approved.iter().any(|whole| {
                    whole.liid == order.liid
                        && order.targets.iter().all(|target| whole.targets.contains(target))
                        && (whole.delivers.content() || !order.delivers.content())
                        && order.ends <= whole.ends
                        && order.begins >= whole.begins
                });
                prop_assert!(is_approved, "{order:?} of {approved:?}");
            }
        }
        let orders = register.active(at(clock)).unwrap();
        drop(register);
        prop_assert_eq!(Register::open(dir.path(), &key()).unwrap().active(at(clock)).unwrap(), orders);
        prop_assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none());
    }
}
