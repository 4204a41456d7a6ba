//! Sessions: fixation, expiry, and what ends them.

use std::os::unix::fs::PermissionsExt;

use ringtap_access::{Action, Credential, Error, LoggedIn, NewToken, Refusal, Right, Scope, Settings};
use ringtap_model::Nanos;

use crate::{HOME, NOW, PASSWORD, attempt, console, console_with, seconds, settings};

#[test]
fn each_login_has_a_session_id_of_its_own_and_no_other_lets_anybody_in() {
    let console = console();
    let (first, second) = (console.log_in("ana", NOW), console.log_in("ana", NOW));
    assert_ne!(first.session, second.session);
    assert_eq!(first.session.len(), 64, "256 bits");
    let fixed = "0".repeat(64);
    let upper = first.session.to_uppercase();
    for id in ["", "x", &fixed, &first.session[1..], &format!("{}0", *first.session), &upper] {
        assert!(matches!(console.people.session(id, NOW), Err(Refusal::Unknown)), "{id}");
    }
    console.people.end_session(number(&first)).unwrap();
    assert!(matches!(console.people.session(&first.session, NOW), Err(Refusal::Unknown)));
    console.people.session(&second.session, NOW).unwrap();
}

fn number(logged_in: &LoggedIn) -> u64 {
    match logged_in.identity.credential {
        Credential::Session(number) => number,
        Credential::Token(_) => panic!("a token"),
    }
}

/// Who has a copy of the file can use neither session nor token, nor read a password.
#[test]
fn the_file_holds_no_secret_that_lets_anybody_in() {
    let console = console();
    let logged_in = console.log_in("ana", NOW);
    let new = NewToken {
        person: "ana",
        name: "grafana",
        rights: Right::ALL.into_iter().collect(),
        scope: Scope::everything(),
        expires: seconds(60),
    };
    let (token, _) = console.people.make_token(&new, NOW).unwrap();
    for entry in std::fs::read_dir(console.dir.path()).unwrap().map(Result::unwrap) {
        if !entry.path().is_file() {
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        for secret in [logged_in.session.as_str(), &token, PASSWORD] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {:?}", entry.path());
        }
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
}

#[test]
fn sessions_end_when_idle_when_old_and_when_there_are_too_many() {
    let settings = Settings { sessions: 5, sessions_each: 3, ..settings() };
    let (idle, life) = (settings.session_idle, settings.session_life);
    let console = console_with(settings);
    let unused = console.log_in("ana", NOW);
    assert!(console.people.session(&unused.session, NOW + idle - Nanos(1_000)).is_ok());
    let unused = console.log_in("ana", NOW);
    assert!(matches!(console.people.session(&unused.session, NOW + idle), Err(Refusal::Expired)));
    assert!(matches!(console.people.session(&unused.session, NOW), Err(Refusal::Unknown)), "it is gone");
    let used = console.log_in("ana", NOW);
    let mut now = NOW;
    while now + Nanos::from_secs(600) < NOW + life {
        now += Nanos::from_secs(600);
        console.people.session(&used.session, now).unwrap();
    }
    assert!(matches!(console.people.session(&used.session, NOW + life), Err(Refusal::Expired)));
    // Of one person three: the one that was not used for longest ends.
    let of_ana: Vec<LoggedIn> = (0..3).map(|at| console.log_in("ana", seconds(100_000 + at))).collect();
    console.people.session(&of_ana[0].session, seconds(100_070)).unwrap();
    console.log_in("ana", seconds(100_080));
    let lives = |logged_in: &LoggedIn| console.people.session(&logged_in.session, seconds(100_090)).is_ok();
    assert_eq!(of_ana.iter().map(lives).collect::<Vec<_>>(), [true, false, true]);
    // Of all people five.
    for at in 0..3 {
        console.log_in("root", seconds(100_100 + at));
    }
    let listed = console.people.sessions(None, seconds(100_110)).unwrap();
    assert_eq!(
        listed.iter().map(|session| session.person.as_str()).collect::<Vec<_>>(),
        ["root", "root", "root", "ana", "ana"]
    );
    assert_eq!(console.people.sessions(Some("Ana"), seconds(100_110)).unwrap().len(), 2);
    assert_eq!((listed[0].address.as_str(), listed[0].agent.as_str()), (HOME, "Firefox"));
    assert_eq!((listed[0].began, listed[0].used), (seconds(100_102), seconds(100_102)));
    assert_eq!(console.people.sessions(None, seconds(200_000)).unwrap(), []);
}

#[test]
fn another_password_ends_every_session_and_one_login_with_the_old_one() {
    let console = console();
    let (one, other) = (console.log_in("ana", NOW), console.log_in("ana", NOW));
    let of_root = console.log_in("root", NOW);
    let own = attempt("ana", PASSWORD, HOME);
    let new = "another horse, another battery";
    let weak = console.people.change_password(&own, "short", &console.log, NOW).unwrap_err();
    assert!(matches!(weak, Refusal::Failed(Error::Password(_))), "{weak}");
    assert!(console.people.change_password(&own, PASSWORD, &console.log, NOW).is_err(), "the same");
    let wrong = attempt("ana", "a wrong password", HOME);
    assert!(matches!(console.people.change_password(&wrong, new, &console.log, NOW), Err(Refusal::Wrong)));
    assert!(console.people.session(&one.session, NOW).is_ok());
    let changed = console.people.change_password(&own, new, &console.log, NOW).unwrap();
    for ended in [&one, &other] {
        assert!(matches!(console.people.session(&ended.session, NOW), Err(Refusal::Unknown)));
    }
    console.people.session(&changed.session, NOW).unwrap();
    console.people.session(&of_root.session, NOW).unwrap();
    assert!(matches!(console.try_in(&own, NOW), Err(Refusal::Wrong)));
    console.people.set_password("ana", PASSWORD, false).unwrap();
    assert!(matches!(console.people.session(&changed.session, NOW), Err(Refusal::Unknown)));
    assert_eq!(console.audited()[1], ("ana".to_owned(), Action::People, "own password".to_owned()));
}

#[test]
fn somebody_ends_own_sessions_and_nobody_elses() {
    let console = console();
    let [first, second, third] = [0, 1, 2].map(|at| console.log_in("ana", seconds(at)));
    let root = console.log_in("root", NOW);
    let now = seconds(3);
    let listed = |person: &str| -> Vec<u64> {
        console.people.sessions(Some(person), now).unwrap().iter().map(|session| session.number).collect()
    };
    assert_eq!(listed("ana"), [number(&third), number(&second), number(&first)]);
    for wrong in [number(&root), 0, 4_711, u64::MAX] {
        let ended = console.people.end_session_of("ana", wrong);
        assert!(matches!(ended, Err(Error::NotFound { what: "session", .. })), "{wrong}");
    }
    console.people.end_session_of("ana", number(&first)).unwrap();
    assert!(matches!(console.people.session(&first.session, now), Err(Refusal::Unknown)));
    assert_eq!(console.people.end_other_sessions("ana", number(&third)).unwrap(), 1);
    assert_eq!((listed("ana"), listed("root")), (vec![number(&third)], vec![number(&root)]));
    console.people.session(&third.session, now).unwrap();
}
