//! Codes of an authenticator app: replay and guessing.

use ringtap_access::{Attempt, Error, People, Refusal};
use ringtap_model::Nanos;

use crate::{ELSEWHERE, HOME, NOW, PASSWORD, attempt, console, seconds, settings};

/// The code of a secret in base32, computed here again.
fn code(secret: &str, now: Nanos) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let bits: String = secret
        .chars()
        .map(|letter| "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(letter).unwrap())
        .map(|value| format!("{value:05b}"))
        .collect();
    let key: Vec<u8> = bits
        .as_bytes()
        .chunks_exact(8)
        .map(|bits| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap())
        .collect();
    let mut mac = Hmac::<sha1::Sha1>::new_from_slice(&key).unwrap();
    mac.update(&(now.0 / 30_000_000_000).to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let at = usize::from(hash[19] % 16);
    let number = u32::from_be_bytes(hash[at..at + 4].try_into().unwrap()) % (1 << 31);
    format!("{:06}", number % 1_000_000)
}

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
