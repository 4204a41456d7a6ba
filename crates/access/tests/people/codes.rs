//! Codes of an authenticator app: replay and guessing.

use ringtap_access::{Action, Attempt, Error, People, Refusal};
use ringtap_testing::totp::code;

use crate::{ELSEWHERE, HOME, NOW, PASSWORD, attempt, console, seconds, settings};

#[test]
fn a_code_is_needed_once_confirmed_and_works_once() {
    let console = console();
    let secret = console.people.begin_totp("Ana").unwrap();
    assert!(secret.uri.starts_with("otpauth://totp/ringtap:ana?secret="));
    // Until it is confirmed, nobody is kept out by a code that was never seen to work.
    console.log_in("ana", NOW);
    assert!(matches!(console.people.confirm_totp("ana", "000000", NOW), Err(Error::Code)));
    assert!(matches!(console.people.confirm_totp("root", &code(&secret.secret, NOW), NOW), Err(Error::Code)));
    console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    assert!(console.people.find("ana").unwrap().unwrap().totp);
    let with = |code: Option<&str>, password: &str, now| {
        let attempt = Attempt { code, ..attempt("ana", password, ELSEWHERE) };
        console.people.log_in(&attempt, &console.log, now)
    };
    assert!(matches!(with(None, "a wrong password", NOW), Err(Refusal::Wrong)));
    assert!(matches!(with(None, PASSWORD, NOW), Err(Refusal::CodeNeeded)));
    let used = code(&secret.secret, NOW);
    assert!(matches!(with(Some(&used), PASSWORD, NOW), Err(Refusal::Wrong)), "it has confirmed the secret");
    let later = seconds(60);
    let fresh = code(&secret.secret, later);
    with(Some(&fresh), PASSWORD, later).unwrap();
    // Somebody has watched it being typed.
    assert!(matches!(with(Some(&fresh), PASSWORD, later), Err(Refusal::Wrong)), "replayed");
    assert!(matches!(with(Some(&fresh), PASSWORD, seconds(89)), Err(Refusal::Wrong)), "replayed later");
    let own = Attempt { code: Some(&fresh), ..attempt("ana", PASSWORD, HOME) };
    let changed = console.people.change_password(&own, "another horse, another battery", &console.log, later);
    assert!(matches!(changed, Err(Refusal::Wrong)), "replayed elsewhere");
    console.people.remove_totp("ana").unwrap();
    console.log_in("ana", seconds(90));
}

#[test]
fn of_two_uses_of_a_code_at_once_one_is_let_in() {
    let console = console();
    let secret = console.people.begin_totp("ana").unwrap();
    console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    // Another process of the same console.
    let other = People::open(console.dir.path(), settings()).unwrap();
    for round in 1..20 {
        let now = seconds(60 * round);
        let code = code(&secret.secret, now);
        let attempt = Attempt { code: Some(&code), ..attempt("ana", PASSWORD, HOME) };
        let let_in = std::thread::scope(|scope| {
            let log = &console.log;
            let tries = [&console.people, &other, &console.people, &other]
                .map(|people| scope.spawn(move || people.log_in(&attempt, log, now).is_ok()));
            tries.into_iter().map(|thread| thread.join().unwrap()).filter(|let_in| *let_in).count()
        });
        assert_eq!(let_in, 1, "round {round}");
    }
}

#[test]
fn codes_are_not_guessed_faster_than_passwords() {
    let console = console();
    let secret = console.people.begin_totp("ana").unwrap();
    console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    let mut checked = 0;
    for guess in 0..200 {
        // Asking whether the password is right does not reset the count.
        let _ = console.try_in(&attempt("ana", PASSWORD, ELSEWHERE), seconds(guess));
        let guessed = format!("{guess:06}");
        let attempt = Attempt { code: Some(&guessed), ..attempt("ana", PASSWORD, ELSEWHERE) };
        checked += u64::from(matches!(console.try_in(&attempt, seconds(guess)), Err(Refusal::Wrong)));
    }
    assert!(checked < 14, "{checked} codes in 200 s");
}

#[test]
fn a_recovery_code_lets_in_once_and_its_use_is_in_the_audit_log() {
    let console = console();
    let secret = console.people.begin_totp("ana").unwrap();
    let codes = console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    let left = || console.people.find("ana").unwrap().unwrap().recovery_codes;
    assert_eq!((codes.len(), left()), (10, 10));
    let with = |name, code: &str, password| {
        let attempt = Attempt { code: Some(code), ..attempt(name, password, HOME) };
        console.people.log_in(&attempt, &console.log, NOW)
    };
    assert!(matches!(with("ana", &codes[0], "a wrong password"), Err(Refusal::Wrong)));
    assert_eq!(left(), 10, "a wrong password uses none up");
    with("ana", &codes[0].to_uppercase().replace('-', " "), PASSWORD).unwrap();
    assert_eq!(left(), 9);
    assert!(matches!(with("ana", &codes[0], PASSWORD), Err(Refusal::Wrong)), "used before");
    assert!(matches!(with("ana", "aaaa-bbbb-cccc", PASSWORD), Err(Refusal::Wrong)), "nobody's");
    let told: Vec<_> = console.audited().into_iter().map(|(_, action, what)| (action, what)).collect();
    assert!(told.contains(&(Action::Login, "with a recovery code".to_owned())), "{told:?}");

    // Those of another person, earlier ones, and those of an app that was removed are worth nothing.
    let root = console.people.begin_totp("root").unwrap();
    let others = console.people.confirm_totp("root", &code(&root.secret, NOW), NOW).unwrap();
    assert!(matches!(with("ana", &others[0], PASSWORD), Err(Refusal::Wrong)));
    let renewed = console.people.renew_recovery_codes("ana").unwrap();
    assert!(matches!(with("ana", &codes[1], PASSWORD), Err(Refusal::Wrong)), "replaced");
    with("ana", &renewed[1], PASSWORD).unwrap();
    console.people.remove_totp("ana").unwrap();
    assert_eq!(left(), 0);
    assert!(matches!(console.people.renew_recovery_codes("ana"), Err(Error::NoSecondFactor { .. })));
    assert!(matches!(console.people.renew_recovery_codes("nobody"), Err(Error::Nobody { .. })));
}

#[test]
fn of_two_uses_of_a_recovery_code_at_once_one_is_let_in() {
    let console = console();
    let secret = console.people.begin_totp("ana").unwrap();
    let codes = console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    let other = People::open(console.dir.path(), settings()).unwrap();
    for code in codes.iter() {
        let attempt = Attempt { code: Some(code), ..attempt("ana", PASSWORD, HOME) };
        let let_in = std::thread::scope(|scope| {
            let log = &console.log;
            let tries = [&console.people, &other]
                .map(|people| scope.spawn(move || people.log_in(&attempt, log, NOW).is_ok()));
            tries.into_iter().map(|thread| thread.join().unwrap()).filter(|let_in| *let_in).count()
        });
        assert_eq!(let_in, 1);
    }
}

/// Before what only the person may do, password and code are asked for again.
#[test]
fn who_proves_to_be_somebody_gives_password_and_code_and_guesses_are_slowed_down() {
    let console = console();
    let prove = |password, code: Option<&str>, now| {
        console.people.prove(&Attempt { code, ..attempt("ana", password, HOME) }, &console.log, now)
    };
    prove(PASSWORD, None, NOW).unwrap();
    let secret = console.people.begin_totp("ana").unwrap();
    let codes = console.people.confirm_totp("ana", &code(&secret.secret, NOW), NOW).unwrap();
    assert!(matches!(prove(PASSWORD, None, NOW), Err(Refusal::CodeNeeded)));
    let later = seconds(60);
    let fresh = code(&secret.secret, later);
    prove(PASSWORD, Some(&fresh), later).unwrap();
    assert!(matches!(prove(PASSWORD, Some(&fresh), later), Err(Refusal::Wrong)), "replayed");
    prove(PASSWORD, Some(&codes[0]), later).unwrap();
    assert_eq!(console.people.sessions(Some("ana"), later).unwrap(), [], "no session begins");
    let refused: Vec<_> = (0..8).map(|_| prove("a wrong password", None, later).unwrap_err()).collect();
    assert!(matches!(refused[0], Refusal::Wrong) && matches!(refused[7], Refusal::Wait(_)), "{refused:?}");
    let failed = console.audited().into_iter().filter(|(_, action, _)| *action == Action::LoginFailed);
    assert!(failed.count() >= 5);
}
