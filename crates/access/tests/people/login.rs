//! Logging in: guessing, waiting, and the record of it.

use ringtap_access::{
    Action, AuditQuery, Error, LoggedIn, PasswordCost, People, Piece, Refusal, Right, Rights, Role, Settings,
};

use crate::{ELSEWHERE, HOME, NOW, PASSWORD, attempt, console, seconds, settings};

#[test]
fn who_logs_in_has_the_rights_of_the_role_and_is_recorded() {
    let console = console();
    let LoggedIn { session, identity, expires } = console.log_in("Ana", NOW);
    assert_eq!((identity.name.as_str(), identity.role, identity.must_change), ("ana", Role::Engineer, false));
    assert!(identity.may(Right::Export) && !identity.may(Right::Listen));
    assert_eq!(console.people.session(&session, seconds(5)).unwrap(), identity);
    assert_eq!(expires, NOW + settings().session_life);
    assert_eq!(console.people.find("ANA").unwrap().unwrap().last_login, Some(NOW));
    let wrong = console.try_in(&attempt("ana", "something else", HOME), seconds(6)).unwrap_err();
    assert!(matches!(wrong, Refusal::Wrong), "{wrong}");
    let nobody = console.try_in(&attempt("hunter2 hunter2", PASSWORD, HOME), seconds(6)).unwrap_err();
    assert_eq!(nobody.to_string(), wrong.to_string());
    assert_eq!(
        console.audited(),
        [
            (String::new(), Action::LoginFailed, "nobody is called hunter2 hunter2".to_owned()),
            ("ana".to_owned(), Action::LoginFailed, wrong.to_string()),
            ("ana".to_owned(), Action::Login, String::new()),
        ]
    );
    // What may be a password in the wrong field is sealed.
    let entries = console.log.reader().read(&AuditQuery::default()).unwrap().entries;
    assert_eq!(entries[0].what.pieces()[1], Piece::Hidden);
}

/// A hundred guesses at once are a hundred guesses, and the right one among the last is refused too.
#[test]
fn guessing_is_slowed_down_also_by_many_at_once() {
    let console = console();
    let checked = std::thread::scope(|scope| {
        let guess = |at: usize| {
            let console = &console;
            scope.spawn(move || {
                let password = format!("guess {at} of a password");
                console.try_in(&attempt("ana", &password, ELSEWHERE), NOW).unwrap_err()
            })
        };
        let all: Vec<_> = (0..100).map(guess).collect();
        let refusals = all.into_iter().map(|thread| thread.join().unwrap());
        refusals.filter(|refusal| matches!(refusal, Refusal::Wrong)).count()
    });
    assert!((1..=5).contains(&checked), "{checked} passwords were checked");
    for at in 0..5 {
        let _ = console.try_in(&attempt("ana", &format!("guess {at} of a password"), ELSEWHERE), NOW);
    }
    let refusal = console.try_in(&attempt("ana", PASSWORD, ELSEWHERE), NOW).unwrap_err();
    assert_eq!(refusal.to_string(), "too many attempts failed: try again in 1 s");
    console.try_in(&attempt("ana", PASSWORD, ELSEWHERE), seconds(1)).unwrap();
    // The count begins anew.
    for _ in 0..5 {
        let refusal = console.try_in(&attempt("ana", "a wrong password", ELSEWHERE), seconds(2));
        assert!(matches!(refusal, Err(Refusal::Wrong)));
    }
}

#[test]
fn guessing_from_elsewhere_does_not_keep_an_administrator_out() {
    let console = console();
    console.log_in("root", NOW);
    let mut now = NOW;
    for _ in 0..30 {
        match console.try_in(&attempt("root", "a wrong password", ELSEWHERE), now) {
            Err(Refusal::Wait(wait)) => {
                assert!(wait <= settings().longest_wait);
                now += wait;
            }
            refusal => assert!(matches!(refusal, Err(Refusal::Wrong))),
        }
        // From an address that the person has logged in from before, at any moment.
        console.log_in("root", now);
    }
    assert!(now > seconds(3_600), "the guesser had to wait");
    // From a new place, when the guesser's wait is over.
    let _ = console.try_in(&attempt("root", "a wrong password", ELSEWHERE), now);
    let new_place = attempt("root", PASSWORD, "198.51.100.9");
    let Err(Refusal::Wait(wait)) = console.try_in(&new_place, now) else { panic!("no wait") };
    console.try_in(&new_place, now + wait).unwrap();
}

#[test]
fn a_new_password_by_an_administrator_ends_the_wait() {
    let console = console();
    for _ in 0..6 {
        let _ = console.try_in(&attempt("ana", "a wrong password", ELSEWHERE), NOW);
    }
    assert!(matches!(console.try_in(&attempt("ana", PASSWORD, ELSEWHERE), NOW), Err(Refusal::Wait(_))));
    console.people.set_password("ana", "another horse, another battery", true).unwrap();
    let refusal = console.try_in(&attempt("ana", PASSWORD, ELSEWHERE), NOW);
    assert!(matches!(refusal, Err(Refusal::Wrong)));
    let logged_in =
        console.try_in(&attempt("ana", "another horse, another battery", ELSEWHERE), NOW).unwrap();
    assert!(logged_in.identity.must_change && logged_in.identity.rights == Rights::NONE);
}

/// Otherwise the time tells which names exist. Where nobody may hash, both are told so: a name that nobody
/// has is not answered without.
#[test]
fn a_name_that_nobody_has_is_hashed_as_a_wrong_password_is() {
    let console = console();
    let password = PasswordCost { at_once: 0, waiting: 0, ..settings().password };
    let busy = People::open(console.dir.path(), Settings { password, ..settings() }).unwrap();
    for name in ["ana", "nobody"] {
        let attempt = attempt(name, "a wrong password", HOME);
        let refused = busy.log_in(&attempt, &console.log, NOW);
        assert!(matches!(refused, Err(Refusal::Busy)), "{name}: {refused:?}");
    }
}

/// A record that cannot be written refuses the action.
#[test]
fn a_login_that_cannot_be_recorded_is_refused() {
    let console = console();
    let audit = console.dir.path().join("audit");
    for name in ["head", "sign.pub"] {
        assert!(audit.join(name).exists());
    }
    // A directory lies where the file of the day should.
    std::fs::create_dir(audit.join("000000000000-2026-11-21.jsonl")).unwrap();
    let right = console.try_in(&attempt("ana", PASSWORD, HOME), NOW);
    assert!(matches!(right, Err(Refusal::Failed(Error::Io { .. }))));
    assert_eq!(console.people.sessions(None, NOW).unwrap(), []);
    let wrong = console.try_in(&attempt("ana", "a wrong password", HOME), NOW);
    assert!(matches!(wrong, Err(Refusal::Failed(Error::Io { .. }))));
}

#[test]
fn a_hash_at_another_cost_is_renewed_at_the_next_login() {
    let console = console();
    let dearer = PasswordCost { memory: 128, passes: 2, ..settings().password };
    let people = People::open(console.dir.path(), Settings { password: dearer, ..settings() }).unwrap();
    let stored = || {
        let bytes = |name: &str| std::fs::read(console.dir.path().join(name)).unwrap_or_default();
        let all = [bytes("people.sqlite"), bytes("people.sqlite-wal")].concat();
        String::from_utf8_lossy(&all).matches("m=128,t=2,p=1").count()
    };
    assert_eq!(stored(), 0);
    people.log_in(&attempt("ana", PASSWORD, HOME), &console.log, NOW).unwrap();
    assert!(stored() > 0);
    people.log_in(&attempt("ana", PASSWORD, HOME), &console.log, NOW).unwrap();
    console.log_in("ana", NOW);
}
