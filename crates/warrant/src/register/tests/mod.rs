mod model;
mod request_model;
mod requests;
mod tasks;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use ringtap_model::Nanos;
use tempfile::TempDir;
use zeroize::Zeroizing;

use super::*;
use crate::error::{Error, Refused};
use crate::flaw::Flaw;
use crate::log::key::RegisterKey;
use crate::state::{Extension, NewWarrant, ProducedFile, Role, Status, StopProof};

const PASSPHRASE: &str = "correct horse battery";
const OTHER: &str = "another horse staple";

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(1_800_000_000 + seconds)
}

fn key() -> RegisterKey {
    RegisterKey::of(Zeroizing::new([7; 32]))
}

fn session(name: &str) -> Session {
    Session { name: name.into() }
}

/// A directory with mode 0700, whatever the umask is.
fn private() -> TempDir {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().unwrap()
}

/// A copy of a register at second 0, with the officers ana, ben and cleo and the auditor dora.
fn register() -> (TempDir, Register) {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = private();
        let mut register = Register::create(dir.path(), &key(), "ana", PASSPHRASE, at(0)).unwrap();
        let ana = session("ana");
        let people = [("ben", Role::Officer), ("cleo", Role::Officer), ("dora", Role::Auditor)];
        for (name, role) in people {
            let proposal = register.propose_person(&ana, name, role, OTHER, at(0)).unwrap();
            proposal
                .into_iter()
                .for_each(|number| register.confirm_person(&session("ben"), number, at(0)).unwrap());
            register.change_passphrase(&session(name), PASSPHRASE, at(0)).unwrap();
        }
        dir
    });
    let dir = private();
    copy(made.path(), dir.path());
    let register = Register::open(dir.path(), &key()).unwrap();
    (dir, register)
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn warrant(liid: &str, begins: Nanos, ends: Nanos) -> NewWarrant {
    NewWarrant {
        liid: liid.parse().unwrap(),
        case_number: "C-2026-17".into(),
        authority: "District Court".into(),
        legal_basis: "Act 1, section 2".into(),
        requester: "Agency A".into(),
        authorisation_country: "GB".parse().unwrap(),
        delivery_country: "GB".parse().unwrap(),
        agency: "agency-a".to_owned(),
        mediation_function: None,
        operator: "operator".to_owned(),
        begins,
        ends,
        delivers: crate::order::Delivers::Both,
        payload_key: Some("0f".repeat(24).parse().unwrap()),
        targets: vec!["user~:zebra".parse().unwrap(), "number:+441601234567".parse().unwrap()],
    }
}

/// Enters and approves one.
fn approved(register: &mut Register, liid: &str, begins: u64, ends: u64) -> u32 {
    let id = register.enter(&session("ana"), warrant(liid, at(begins), at(ends)), at(0)).unwrap();
    approve(register, "ben", id, at(0)).unwrap();
    id
}

fn approve(register: &mut Register, by: &str, id: u32, clock: Nanos) -> Result<(), Error> {
    let hash = register.show(&session(by), id, "to approve it", clock)?.0.hash();
    register.approve(&session(by), id, &hash, clock)
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refused {
    match result {
        Err(Error::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

fn kinds(register: &mut Register, clock: Nanos) -> Vec<&'static str> {
    let acts = register.acts(&session("dora"), &ActQuery::default(), "audit", clock).unwrap();
    acts.into_iter().map(|act| act.act).collect()
}

#[test]
fn two_people_and_the_whole_record_seen() {
    let (_dir, mut register) = register();
    let id = register.enter(&session("ana"), warrant("L1", at(10), at(100)), at(1)).unwrap();
    assert_eq!(refusal(approve(&mut register, "ana", id, at(2))), Refused::SamePerson);
    let hash = register.show(&session("ana"), id, "look", at(2)).unwrap().0.hash();
    assert_eq!(refusal(register.approve(&session("ben"), id, &hash, at(2))), Refused::NotSeen);
    register.show(&session("ben"), id, "to approve it", at(2)).unwrap();
    assert_eq!(refusal(register.approve(&session("ben"), id, &"0".repeat(64), at(2))), Refused::OtherHash);
    assert_eq!(refusal(register.approve(&session("dora"), id, &hash, at(2))), Refused::NotAnOfficer);
    assert!(register.active(at(11)).unwrap().is_empty());
    register.approve(&session("ben"), id, &hash, at(12)).unwrap();
    assert_eq!(refusal(approve(&mut register, "cleo", id, at(12))), Refused::NothingToApprove);
    let orders = register.active(at(12)).unwrap();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders, register.active(at(99)).unwrap());
    assert!(register.active(at(100)).unwrap().is_empty());
}

#[test]
fn an_extension_needs_two_people_again_and_a_warrant_that_has_not_ended() {
    let (_dir, mut register) = register();
    let id = approved(&mut register, "L1", 0, 100);
    let extension = |ends| Extension { ends: at(ends), reference: "O-2".into(), authority: "Court".into() };
    assert_eq!(refusal(register.extend(&session("ben"), id, extension(100), at(5))), Refused::NotLater);
    register.extend(&session("ben"), id, extension(200), at(5)).unwrap();
    assert_eq!(refusal(approve(&mut register, "ben", id, at(6))), Refused::SamePerson);
    let stale = register.show(&session("ana"), id, "look", at(6)).unwrap().0.hash();
    register.extend(&session("ben"), id, extension(300), at(7)).unwrap();
    assert_eq!(refusal(register.approve(&session("ana"), id, &stale, at(8))), Refused::OtherHash);
    approve(&mut register, "ana", id, at(8)).unwrap();
    assert_eq!(register.active(at(299)).unwrap()[0].ends, at(300));
    register.extend(&session("ben"), id, extension(400), at(299)).unwrap();
    assert_eq!(refusal(approve(&mut register, "ana", id, at(300))), Refused::Over);
    assert_eq!(refusal(register.extend(&session("ben"), id, extension(500), at(300))), Refused::Over);
    assert!(register.active(at(301)).unwrap().is_empty());
}

#[test]
fn one_officer_withdraws_at_once_and_the_service_proves_the_stop() {
    let (_dir, mut register) = register();
    let id = approved(&mut register, "L1", 0, 100);
    let liid = "L1".parse().unwrap();
    assert!(register.has_changed(at(1)));
    register.active(at(1)).unwrap();
    assert!(!register.has_changed(at(2)) && register.has_changed(at(100)));
    register.begun(&liid, at(2)).unwrap();
    register.withdraw(&session("cleo"), id, "the court has lifted it", at(3)).unwrap();
    assert!(register.active(at(3)).unwrap().is_empty());
    let proof = StopProof { at: at(4), last_content: Some(at(3)), by: "withdrawal".to_owned() };
    register.stopped(&liid, proof.clone(), at(4)).unwrap();
    assert_eq!(refusal(register.begun(&liid, at(4))), Refused::NotInForce);
    let (shown, time) = register.show(&session("dora"), id, "audit", at(5)).unwrap();
    assert_eq!((shown.status(time), &shown.stopped[..]), (Status::Withdrawn, &[proof][..]));
    assert_eq!(refusal(register.withdraw(&session("ana"), id, "again", at(5))), Refused::Over);
    // The identifier is free again.
    approved(&mut register, "L1", 6, 50);
}

#[test]
fn an_identifier_is_of_one_warrant_at_a_time() {
    let (_dir, mut register) = register();
    approved(&mut register, "L1", 0, 100);
    let again = register.enter(&session("ana"), warrant("0x4c31", at(0), at(50)), at(1));
    assert_eq!(refusal(again), Refused::LiidUsed);
    register.enter(&session("ana"), warrant("L1", at(100), at(150)), at(100)).unwrap();
}

#[test]
fn a_clock_set_back_extends_nothing_and_is_an_act() {
    let (dir, mut register) = register();
    approved(&mut register, "L1", 0, 100);
    assert_eq!(register.active(at(50)).unwrap().len(), 1);
    assert!(register.active(at(100)).unwrap().is_empty());
    assert!(register.active(at(50)).unwrap().is_empty(), "in the same run");
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    assert!(register.active(at(50)).unwrap().is_empty(), "after a restart");
    let id = approved(&mut register, "L2", 0, 200);
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    // Nothing is recorded at 199, and yet it is remembered.
    assert_eq!(register.active(at(199)).unwrap().len(), 1);
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    assert_eq!(register.active(at(60)).unwrap().len(), 1);
    assert_eq!(register.show(&session("ana"), id, "look", at(61)).unwrap().1, at(199));
    assert!(register.active(at(200)).unwrap().is_empty());
    let told = kinds(&mut register, at(200));
    assert_eq!(told.iter().filter(|kind| **kind == "clock-back").count(), 2, "{told:?}");
    assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none());
}

#[test]
fn an_end_that_passed_while_the_machine_was_off_is_recorded_at_the_first_look() {
    let (dir, mut register) = register();
    let id = approved(&mut register, "L1", 0, 100);
    drop(register);
    let mut register = Register::open(dir.path(), &key()).unwrap();
    let query = ActQuery { warrant: Some(id), ..ActQuery::default() };
    let acts = register.acts(&session("dora"), &query, "audit", at(5_000)).unwrap();
    let end = acts.iter().find(|act| act.act == "end").unwrap();
    assert!(end.time == at(5_000) && end.detail.contains("4900 s ago"), "{:?}", &*end.detail);
    assert!(register.active(at(5_001)).unwrap().is_empty());
}

#[test]
fn two_people_change_the_people_and_two_officers_remain() {
    let (_dir, mut register) = register();
    let (ana, ben, cleo) = (session("ana"), session("ben"), session("cleo"));
    let number = register.propose_to_disable(&ana, "cleo", at(1)).unwrap().unwrap();
    for by in [&ana, &cleo] {
        assert_eq!(refusal(register.confirm_person(by, number, at(1))), Refused::SamePersonForPeople);
    }
    register.confirm_person(&ben, number, at(1)).unwrap();
    assert_eq!(refusal(register.confirm_person(&ben, number, at(1))), Refused::NoProposal);
    assert_eq!(refusal(register.note(&cleo, 1, "x", at(2))), Refused::Nobody);
    assert!(matches!(register.identify("cleo", PASSPHRASE, at(2)), Err(Error::Wrong)));
    assert_eq!(refusal(register.propose_to_disable(&ana, "ben", at(2))), Refused::LastOfficers);
    let again = register.propose_person(&ana, "cleo", Role::Officer, OTHER, at(2));
    assert_eq!(refusal(again), Refused::NameUsed);
    let number = register.propose_person(&ana, "eve", Role::Officer, OTHER, at(2)).unwrap().unwrap();
    assert_eq!(refusal(register.note(&session("eve"), 1, "x", at(2))), Refused::Nobody);
    register.confirm_person(&ben, number, at(2)).unwrap();
    let eve = register.identify("eve", OTHER, at(3)).unwrap();
    assert_eq!(refusal(register.list(&eve, "look", at(3))), Refused::MustChange);
    assert_eq!(
        refusal(register.change_passphrase(&eve, OTHER, at(3))),
        Refused::Passphrase("it is the one that you have")
    );
    register.change_passphrase(&eve, PASSPHRASE, at(3)).unwrap();
    register.list(&eve, "look", at(3)).unwrap();
}

#[test]
fn an_auditor_sees_and_enters_nothing_and_a_look_has_a_reason() {
    let (_dir, mut register) = register();
    let id = approved(&mut register, "L1", 0, 100);
    let dora = session("dora");
    for refused in [
        register.enter(&dora, warrant("L2", at(0), at(9)), at(1)).map(drop),
        register.withdraw(&dora, id, "x", at(1)),
        register.note(&dora, id, "x", at(1)),
        register.propose_to_disable(&dora, "ana", at(1)).map(drop),
    ] {
        assert_eq!(refusal(refused), Refused::NotAnOfficer);
    }
    assert!(matches!(refusal(register.show(&dora, id, " ", at(1))), Refused::Field { field: "reason", .. }));
    register.show(&dora, id, "yearly audit", at(1)).unwrap();
    let query = ActQuery { who: Some("dora".to_owned()), ..ActQuery::default() };
    let acts = register.acts(&dora, &query, "audit", at(2)).unwrap();
    let told: Vec<&str> = acts.iter().map(|act| &*act.detail).collect();
    assert_eq!(told, ["changed by its owner", "show: yearly audit", "acts: audit"]);
}

#[test]
fn pages_have_the_newest_first_and_what_waits_for_an_officer_is_known() {
    let (_dir, mut register) = register();
    let ana = session("ana");
    for number in 1..=5_u64 {
        let by = if number == 4 { "ben" } else { "ana" };
        let new = warrant(&format!("L{number}"), at(0), at(100 * number));
        register.enter(&session(by), new, at(1)).unwrap();
    }
    approve(&mut register, "ben", 5, at(2)).unwrap();
    let mut listed = |query: &ListQuery, seconds| {
        let page = register.list_page(&ana, query, "look", at(seconds)).unwrap();
        (page.warrants.iter().map(|warrant| warrant.id).collect::<Vec<_>>(), page.total)
    };
    let all = ListQuery { most: 2, ..ListQuery::default() };
    assert_eq!(listed(&all, 3), (vec![5, 4], 5));
    assert_eq!(listed(&ListQuery { before: Some(2), ..all.clone() }, 3), (vec![1], 5));
    assert_eq!(listed(&ListQuery { open: true, most: 9, ..all.clone() }, 250), (vec![5, 4, 3], 3));
    let waits = |name: &str| ListQuery { waits_for: Some(name.to_owned()), most: 9, ..ListQuery::default() };
    assert_eq!(listed(&waits("ana"), 250), (vec![4], 1));
    assert_eq!(listed(&waits("ben"), 250), (vec![3], 1), "what has ended waits for nobody");
    let extension = Extension { ends: at(900), reference: "O-2".into(), authority: "Court".into() };
    register.extend(&session("ben"), 5, extension, at(251)).unwrap();
    let page = register.list_page(&ana, &waits("ana"), "look", at(252)).unwrap();
    assert_eq!(page.warrants.iter().map(|warrant| warrant.id).collect::<Vec<_>>(), [5, 4]);

    let newest = ActQuery { most: Some(2), ..ActQuery::default() };
    let acts = register.acts(&ana, &newest, "audit", at(253)).unwrap();
    let numbers: Vec<u64> = acts.iter().map(|act| act.number).collect();
    let all = register.acts(&ana, &ActQuery::default(), "audit", at(254)).unwrap().len() as u64;
    assert_eq!(numbers, [all - 3, all - 2]);
    let earlier = ActQuery { before: Some(all - 3), ..newest };
    let acts = register.acts(&ana, &earlier, "audit", at(255)).unwrap();
    assert_eq!(acts.iter().map(|act| act.number).collect::<Vec<_>>(), [all - 5, all - 4]);
}

#[test]
fn another_passphrase_is_told_from_the_one_before() {
    let (dir, mut register) = register();
    let ben = register.identify("ben", PASSPHRASE, at(1)).unwrap();
    let before = register.standing(&ben).unwrap();
    assert_eq!((before.role, before.must_change), (Role::Officer, false));
    // By another process.
    let mut other = Register::open(dir.path(), &key()).unwrap();
    other.change_passphrase(&ben, OTHER, at(2)).unwrap();
    assert_ne!(register.standing(&ben).unwrap().passphrase, before.passphrase);
    let number = other.propose_to_disable(&session("ana"), "ben", at(3)).unwrap().unwrap();
    other.confirm_person(&session("cleo"), number, at(3)).unwrap();
    assert_eq!(refusal(register.standing(&ben)), Refused::Nobody);
}

#[test]
fn wrong_passphrases_are_acts_and_have_to_wait() {
    let (dir, mut register) = register();
    for name in ["ana", "nobody"] {
        for _ in 0..3 {
            assert!(matches!(register.identify(name, OTHER, at(1)), Err(Error::Wrong)));
        }
    }
    // Also for another process.
    let mut register = Register::open(dir.path(), &key()).unwrap();
    assert!(matches!(register.identify("ana", PASSPHRASE, at(1)), Err(Error::Wait(Nanos(1_000_000_000)))));
    assert!(matches!(register.identify("nobody else", OTHER, at(1)), Err(Error::Wait(_))));
    register.identify("ben", PASSPHRASE, at(1)).unwrap();
    assert!(matches!(register.identify("ana", OTHER, at(2)), Err(Error::Wrong)));
    assert!(matches!(register.identify("ana", PASSPHRASE, at(3)), Err(Error::Wait(_))));
    let ana = register.identify("ana", PASSPHRASE, at(4)).unwrap();
    register.list(&ana, "look", at(4)).unwrap();
    assert!(
        matches!(register.identify("ana", OTHER, at(4)), Err(Error::Wrong)),
        "counted from the start again"
    );
    assert_eq!(kinds(&mut register, at(5)).iter().filter(|kind| **kind == "refused").count(), 8);
}

#[test]
fn nothing_of_a_subject_is_in_a_file_a_name_or_a_debug_text() {
    let (dir, mut register) = register();
    let id = approved(&mut register, "SECRET-LIID", 0, 100);
    let shown = register.show(&session("ana"), id, "look", at(1)).unwrap().0;
    let debug = format!("{shown:?} {register:?} {:?}", register.active(at(1)).unwrap());
    let hidden = ["zebra", "441601234567", "SECRET-LIID", "C-2026-17", &"0f".repeat(24)];
    assert!(hidden.iter().all(|text| !debug.contains(text)), "{debug}");
    let mut lengths = Vec::new();
    for entry in fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned() + &entry.file_name().to_string_lossy();
        assert!(hidden.iter().all(|hidden| !text.contains(hidden)), "{}", entry.path().display());
        if entry.file_name() == "acts" {
            lengths.extend(text.lines().skip(10).take(3).map(str::len));
        }
    }
    assert!(lengths.windows(2).all(|two| two[0] == two[1]), "{lengths:?}");
}

#[test]
fn another_key_and_open_directories_are_refused() {
    let (dir, _) = register();
    let other = RegisterKey::of(Zeroizing::new([8; 32]));
    let error = Register::open(dir.path(), &other).unwrap_err().to_string();
    assert!(error.contains("another register"), "{error}");
    assert!(Register::create(dir.path(), &key(), "ana", PASSPHRASE, at(0)).is_err());
    for file in fs::read_dir(dir.path()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o750)).unwrap();
    assert!(Register::open(dir.path(), &key()).unwrap_err().to_string().contains("chmod 700"));
    let weak = Register::create(&dir.path().join("new"), &key(), "ana", "short", at(0));
    assert!(matches!(refusal(weak), Refused::Passphrase(_)));
    assert!(!dir.path().join("new").exists());
}

#[test]
fn several_processes_write_one_chain() {
    let (dir, mut first) = register();
    let id = approved(&mut first, "L1", 0, 1_000);
    std::thread::scope(|scope| {
        for name in ["ana", "ben", "cleo"] {
            let dir = dir.path();
            scope.spawn(move || {
                let mut own = Register::open(dir, &key()).unwrap();
                (0..10).for_each(|_| own.note(&session(name), id, "note", at(5)).unwrap());
            });
        }
    });
    let notes = first.show(&session("dora"), id, "audit", at(6)).unwrap().0.notes;
    assert_eq!(notes.len(), 30);
    assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none());
}

/// Files before and after an act.
fn around_an_act() -> (TempDir, [Vec<u8>; 2], [Vec<u8>; 2]) {
    let (dir, mut register) = register();
    let id = approved(&mut register, "L1", 0, 1_000);
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let before = [read("acts"), read("head")];
    register.note(&session("ana"), id, "note", at(5)).unwrap();
    let after = [read("acts"), read("head")];
    (dir, before, after)
}

#[test]
fn a_kill_at_any_byte_of_a_write_loses_no_acknowledged_act_and_is_told() {
    let (dir, [old, old_head], [new, new_head]) = around_an_act();
    let write = |acts: &[u8], head: &[u8]| {
        fs::write(dir.path().join("acts"), acts).unwrap();
        fs::write(dir.path().join("head"), head).unwrap();
    };
    let cuts =
        (old.len()..=new.len()).filter(|cut| cut % 17 == 0 || *cut < old.len() + 4 || *cut + 20 > new.len());
    for cut in cuts {
        write(&new[..cut], &old_head);
        let verified = verify(dir.path(), None, &[], Some(&key())).unwrap();
        let is_torn = cut != old.len() && cut != new.len();
        assert_eq!((verified.fault, verified.torn), (None, is_torn), "{cut}");
        let mut register = Register::open(dir.path(), &key()).unwrap();
        let acts = register.acts(&session("dora"), &ActQuery::default(), "audit", at(6)).unwrap();
        let has = |kind| acts.iter().any(|act| act.act == kind);
        assert_eq!((has("note"), has("recovered")), (cut == new.len(), is_torn), "{cut}");
        assert!(has("approve"));
        assert!(verify(dir.path(), None, &[], Some(&key())).unwrap().fault.is_none(), "{cut}");
        // Acknowledged, and gone: not the rest of a write.
        if cut < new.len() {
            write(&new[..cut], &new_head);
            assert!(
                Register::open(dir.path(), &key()).is_err() && Register::open(dir.path(), &key()).is_err()
            );
            assert!(verify(dir.path(), None, &[], None).unwrap().fault.is_some(), "{cut}");
        }
    }
}

#[test]
fn removed_swapped_repeated_and_older_lines_are_found() {
    let (dir, [old, old_head], [new, head]) = around_an_act();
    let noted = verify(dir.path(), None, &[], None).unwrap().head.unwrap();
    let lines: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let check = |lines: &[&[u8]], head: &[u8], what: &str| {
        fs::write(dir.path().join("acts"), lines.concat()).unwrap();
        fs::write(dir.path().join("head"), head).unwrap();
        for master in [None, Some(key())] {
            let fault = verify(dir.path(), None, &[], master.as_ref()).unwrap().fault;
            assert!(fault.is_some(), "{what}");
        }
        assert!(Register::open(dir.path(), &key()).is_err(), "{what}");
    };
    for at in 0..lines.len() {
        let mut changed = lines.clone();
        changed.remove(at);
        check(&changed, &head, "removed");
        let mut changed = lines.clone();
        changed.insert(at, lines[at]);
        check(&changed, &head, "repeated");
        if at > 0 {
            let mut changed = lines.clone();
            changed.swap(at, at - 1);
            check(&changed, &head, "swapped");
        }
        check(&lines[..at], &head, "cut");
    }
    check(&lines, &[b' '; 1024], "without a head");
    // An older state whole is the present one to whoever has noted nothing.
    fs::write(dir.path().join("acts"), &old).unwrap();
    fs::write(dir.path().join("head"), &old_head).unwrap();
    assert!(verify(dir.path(), None, &[], None).unwrap().fault.is_none());
    let flaw = verify(dir.path(), None, &[noted], None).unwrap().fault.unwrap().flaw;
    assert_eq!(flaw, Flaw::Noted);
}

#[test]
fn acts_of_another_register_and_unsigned_ones_are_found() {
    let (dir, _, [new, head]) = around_an_act();
    let other = private();
    drop(Register::create(other.path(), &key(), "ana", PASSPHRASE, at(0)).unwrap());
    let foreign = fs::read(other.path().join("acts")).unwrap();
    fs::write(dir.path().join("acts"), [&new[..], &foreign].concat()).unwrap();
    fs::write(dir.path().join("head"), head).unwrap();
    assert_eq!(verify(dir.path(), None, &[], None).unwrap().fault.unwrap().flaw, Flaw::Repeated);
    fs::write(dir.path().join("acts"), foreign).unwrap();
    assert_eq!(verify(dir.path(), None, &[], None).unwrap().fault.unwrap().flaw, Flaw::Signature);
}

#[test]
fn product_of_captures_is_an_officers_act_of_a_warrant_in_force() {
    let (_dir, mut register) = register();
    let id = approved(&mut register, "L1", 10, 100);
    let liid = "L1".parse().unwrap();
    let why = "case 17";
    assert_eq!(refusal(register.captures_read(&session("ana"), &liid, why, at(9))), Refused::NotInForce);
    assert_eq!(refusal(register.captures_read(&session("dora"), &liid, why, at(11))), Refused::NotAnOfficer);
    assert!(matches!(
        refusal(register.captures_read(&session("ana"), &liid, "", at(11))),
        Refused::Field { field: "reason", .. }
    ));
    assert_eq!(register.captures_read(&session("ana"), &liid, why, at(11)).unwrap(), id);
    let file = ProducedFile { name: "L1.hi2".into(), octets: 17, sha256: "0f".repeat(32) };
    // Reading takes its time: the warrant may have ended meanwhile.
    register.produced(&session("ana"), id, vec![file.clone()], at(200)).unwrap();
    let many = vec![file.clone(); 17];
    assert_eq!(
        refusal(register.produced(&session("ana"), id, many, at(200))),
        Refused::Full("files of product")
    );
    let no_warrant = register.produced(&session("ana"), id + 1, vec![file], at(200));
    assert_eq!(refusal(no_warrant), Refused::NoWarrant);
    let acts = register.acts(&session("dora"), &ActQuery::default(), "audit", at(201)).unwrap();
    let of =
        |kind: &str| acts.iter().find(|act| act.act == kind).map(|act| (act.warrant, act.detail.to_string()));
    assert_eq!(of("captures"), Some((Some(id), why.to_owned())));
    let told = format!("L1.hi2 (17 octets, SHA-256 {})", "0f".repeat(32));
    assert_eq!(of("product"), Some((Some(id), told)));
}
