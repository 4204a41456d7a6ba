//! Passkeys: an authenticator in software, and what others might try with its answers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use ringtap_access::{Action, Error, LoggedIn, NewPasskey, Passkey, PasskeyAttempt, Refusal, Site};
use ringtap_model::Nanos;
use sha2::{Digest, Sha256};

use crate::{Console, ELSEWHERE, HOME, NOW, PASSWORD, address, attempt, console, seconds};

const SITE: &str = "tap.example.org";
const ORIGIN: &str = "https://tap.example.org:8443";

fn origins() -> Vec<String> {
    vec![ORIGIN.to_owned()]
}

/// An authenticator with one credential, and the browser before it.
struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    handle: Vec<u8>,
    counter: u32,
}

/// What a browser hands on when somebody logs in.
#[derive(Clone)]
struct Answer {
    credential: Vec<u8>,
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
    handle: Vec<u8>,
}

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const ATTESTED: u8 = 0x40;

fn client_data(kind: &str, challenge: &str, origin: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"challenge\":\"{challenge}\",\"origin\":\"{origin}\"}}")
}

impl Authenticator {
    fn new(id: &[u8]) -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).unwrap();
        Self { key, id: id.to_vec(), handle: Vec::new(), counter: 0 }
    }

    fn data(&self, site: &str, flags: u8) -> Vec<u8> {
        [&Sha256::digest(site)[..], &[flags], &self.counter.to_be_bytes()].concat()
    }

    /// The data of its new credential: the key as COSE has it, by hand.
    fn made(&self, site: &str, flags: u8) -> Vec<u8> {
        let point = self.key.public_key().as_ref();
        let cose = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20][..],
            &point[1..33],
            &[0x22, 0x58, 0x20],
            &point[33..],
        ]
        .concat();
        let length = (self.id.len() as u16).to_be_bytes();
        [&self.data(site, flags | ATTESTED)[..], &[0; 16], &length, &self.id, &cose].concat()
    }

    /// Signs whatever it is asked to.
    fn answer(&self, client_data: &str, authenticator_data: Vec<u8>) -> Answer {
        let message = [&authenticator_data[..], &Sha256::digest(client_data)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).unwrap().as_ref().to_vec();
        Answer {
            credential: self.id.clone(),
            client_data: client_data.into(),
            authenticator_data,
            signature,
            handle: self.handle.clone(),
        }
    }

    /// As it should be.
    fn log_in(&self, challenge: &str) -> Answer {
        self.answer(&client_data("webauthn.get", challenge, ORIGIN), self.data(SITE, PRESENT | VERIFIED))
    }
}

impl Console {
    fn add_passkey(&self, authenticator: &mut Authenticator, person: &str) -> Result<Passkey, Error> {
        let request = self.people.begin_passkey(person, NOW).unwrap();
        authenticator.handle = URL_SAFE_NO_PAD.decode(&request.handle).unwrap();
        let client_data = client_data("webauthn.create", &request.challenge, ORIGIN);
        let authenticator_data = authenticator.made(SITE, PRESENT | VERIFIED);
        self.try_to_add(person, "phone", &client_data, &authenticator_data, NOW)
    }

    fn try_to_add(
        &self,
        person: &str,
        name: &str,
        client_data: &str,
        authenticator_data: &[u8],
        now: Nanos,
    ) -> Result<Passkey, Error> {
        let client_data = client_data.as_bytes();
        let new = NewPasskey { person, name, client_data, authenticator_data };
        self.people.add_passkey(&new, Site { name: SITE, origins: &origins() }, now)
    }

    fn challenge(&self, now: Nanos) -> String {
        self.people.begin_passkey_login(now).unwrap()
    }

    fn answered(&self, answer: &Answer, now: Nanos) -> Result<LoggedIn, Refusal> {
        self.answered_at(SITE, &origins(), answer, now)
    }

    fn answered_at(
        &self,
        site: &str,
        origins: &[String],
        answer: &Answer,
        now: Nanos,
    ) -> Result<LoggedIn, Refusal> {
        let Answer { credential, client_data, authenticator_data, signature, handle } = answer;
        let from = address(HOME);
        let attempt = PasskeyAttempt {
            credential,
            client_data,
            authenticator_data,
            signature,
            handle,
            from,
            agent: "Firefox",
        };
        self.people.log_in_by_passkey(&attempt, Site { name: site, origins }, &self.log, now)
    }

    /// Why the last login was refused, as the audit log has it; who that would have been.
    fn refused_because(&self) -> (String, String) {
        let (who, action, what) = self.audited().into_iter().next().unwrap();
        assert_eq!(action, Action::LoginFailed, "{what}");
        (who, what.strip_prefix("by a passkey: ").unwrap_or(&what).to_owned())
    }
}

#[test]
fn a_passkey_lets_its_owner_in_without_a_password() {
    let console = console();
    let mut authenticator = Authenticator::new(b"credential-1");
    let passkey = console.add_passkey(&mut authenticator, "Ana").unwrap();
    assert_eq!((&*passkey.name, &*passkey.site, passkey.used), ("phone", SITE, None));
    assert_eq!(console.people.find("ana").unwrap().unwrap().passkeys, 1);
    for second in [10, 20] {
        let now = seconds(second);
        let logged_in = console.answered(&authenticator.log_in(&console.challenge(now)), now).unwrap();
        assert_eq!(logged_in.identity.name, "ana");
        assert_eq!(console.people.session(&logged_in.session, now).unwrap(), logged_in.identity);
        assert_eq!(console.people.passkeys("ana").unwrap()[0].used, Some(now));
    }
    let (who, action, what) = console.audited().swap_remove(0);
    assert_eq!((&*who, action, &*what), ("ana", Action::Login, "by the passkey phone"));
    // What is known already is told to the browser, and the person stays the same.
    let again = console.people.begin_passkey("ana", NOW).unwrap();
    assert_eq!(again.known, [URL_SAFE_NO_PAD.encode(b"credential-1")]);
    assert_eq!(URL_SAFE_NO_PAD.decode(again.handle).unwrap(), authenticator.handle);
    assert!(matches!(console.people.begin_passkey("nobody", NOW), Err(Error::Nobody { .. })));
    console.people.remove_passkey("ana", passkey.number).unwrap();
    let gone = console.answered(&authenticator.log_in(&console.challenge(NOW)), NOW);
    assert!(matches!(gone, Err(Refusal::Passkey)), "{gone:?}");
}

#[test]
fn an_answer_that_is_not_to_this_question_lets_nobody_in() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    let mut root = Authenticator::new(b"root's");
    console.add_passkey(&mut ana, "ana").unwrap();
    console.add_passkey(&mut root, "root").unwrap();
    let good = PRESENT | VERIFIED;
    // A challenge of now, for something else.
    let for_creation = console.people.begin_passkey("ana", NOW).unwrap().challenge;
    assert!(matches!(console.answered(&ana.log_in(&for_creation), NOW), Err(Refusal::Passkey)));
    assert!(console.refused_because().1.contains("not here"));
    // Half an hour after each other, so that nobody has to wait for the failure before.
    let mut minute = 0;
    let mut refused = |why: &str, make: &dyn Fn(&str) -> Answer| {
        minute += 1;
        let now = NOW + Nanos::from_secs(1_800 * minute);
        let let_in = console.answered(&make(&console.challenge(now)), now);
        assert!(matches!(let_in, Err(Refusal::Passkey)), "{why}: {let_in:?}");
        let (_, told) = console.refused_because();
        assert!(told.contains(why), "{told}, not {why}");
    };
    let with = |challenge: &str, kind: &str, origin: &str, data: Vec<u8>| {
        ana.answer(&client_data(kind, challenge, origin), data)
    };
    let foreign =
        ["https://evil.example", "http://tap.example.org:8443", "https://tap.example.org", "", "null"];
    for origin in foreign {
        refused("another page", &|challenge| with(challenge, "webauthn.get", origin, ana.data(SITE, good)));
    }
    refused("another page", &|challenge| {
        let said = client_data("webauthn.get", challenge, ORIGIN).replace('}', ",\"crossOrigin\":true}");
        ana.answer(&said, ana.data(SITE, good))
    });
    refused("something else", &|challenge| with(challenge, "webauthn.create", ORIGIN, ana.data(SITE, good)));
    refused("another site", &|challenge| {
        with(challenge, "webauthn.get", ORIGIN, ana.data("evil.example", good))
    });
    for flags in [0, PRESENT, VERIFIED] {
        refused("knows the person", &|challenge| {
            with(challenge, "webauthn.get", ORIGIN, ana.data(SITE, flags))
        });
    }
    refused("contradicts", &|challenge| with(challenge, "webauthn.get", ORIGIN, ana.data(SITE, good | 0x10)));
    for wrong in ["", "AAAA", &URL_SAFE_NO_PAD.encode([7; 56])] {
        refused("not here", &|_| ana.log_in(wrong));
    }
    refused("nobody has", &|challenge| Authenticator::new(b"unknown").log_in(challenge));
    refused("somebody else", &|challenge| Answer { handle: root.handle.clone(), ..ana.log_in(challenge) });
    refused("somebody else", &|challenge| Answer { handle: Vec::new(), ..ana.log_in(challenge) });
    refused("signature", &|challenge| Answer {
        credential: ana.id.clone(),
        handle: ana.handle.clone(),
        ..root.log_in(challenge)
    });
    refused("signature", &|challenge| {
        let mut answer = ana.log_in(challenge);
        answer.signature[10] ^= 1;
        answer
    });
    refused("signature", &|challenge| Answer { signature: Vec::new(), ..ana.log_in(challenge) });
    for end in [0, 31, 36] {
        refused("cannot be read", &|challenge| {
            let mut answer = ana.log_in(challenge);
            answer.authenticator_data.truncate(end);
            answer
        });
    }
    refused("cannot be read", &|challenge| Answer { client_data: b"{".to_vec(), ..ana.log_in(challenge) });
}

#[test]
fn an_answer_is_good_once_and_for_minutes() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    console.add_passkey(&mut ana, "ana").unwrap();
    let answer = ana.log_in(&console.challenge(NOW));
    console.answered(&answer, seconds(299)).unwrap();
    assert!(matches!(console.answered(&answer, seconds(299)), Err(Refusal::Passkey)), "replayed");
    assert_eq!(console.refused_because(), ("ana".into(), "the same answer came before".into()));
    let late = ana.log_in(&console.challenge(NOW));
    assert!(matches!(console.answered(&late, seconds(300)), Err(Refusal::Passkey)), "too late");
    assert!(console.refused_because().1.contains("too long ago"));
    assert!(matches!(console.answered(&answer, seconds(300)), Err(Refusal::Passkey)), "replayed later");
}

/// Section 6.1.1: a counter that does not go on tells of a copy.
#[test]
fn a_counter_that_goes_back_lets_nobody_in() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    ana.counter = 7;
    console.add_passkey(&mut ana, "ana").unwrap();
    let mut try_with = |counter, at| {
        ana.counter = counter;
        console.answered(&ana.log_in(&console.challenge(seconds(at))), seconds(at)).is_ok()
    };
    assert!(try_with(8, 1) && try_with(100, 2));
    for (at, counter) in [(3, 100), (4, 99), (5, 0)] {
        assert!(!try_with(counter, 60 * at), "{counter}");
        assert!(console.refused_because().1.contains("counter went back"));
    }
    assert!(try_with(101, 3_600));
}

#[test]
fn a_passkey_is_of_one_name_of_the_console() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    console.add_passkey(&mut ana, "ana").unwrap();
    let (site, origin) = ("other.example.org", "https://other.example.org");
    let said = client_data("webauthn.get", &console.challenge(NOW), origin);
    let answer = ana.answer(&said, ana.data(site, PRESENT | VERIFIED));
    let let_in = console.answered_at(site, &[origin.to_owned()], &answer, NOW);
    assert!(matches!(let_in, Err(Refusal::Passkey)), "{let_in:?}");
    assert!(console.refused_because().1.contains("another name"));
}

#[test]
fn who_is_disabled_is_not_let_in_by_a_passkey() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    console.add_passkey(&mut ana, "ana").unwrap();
    console.people.set_disabled("ana", true).unwrap();
    let answer = ana.log_in(&console.challenge(NOW));
    assert!(matches!(console.answered(&answer, NOW), Err(Refusal::Disabled)));
    assert_eq!(console.refused_because().0, "ana");
}

#[test]
fn who_tries_passkeys_has_to_wait_and_nobody_else() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    console.add_passkey(&mut ana, "ana").unwrap();
    let unknown = Authenticator::new(b"unknown");
    let refused: Vec<Refusal> = (0..10)
        .map(|_| console.answered(&unknown.log_in(&console.challenge(NOW)), NOW).unwrap_err())
        .collect();
    assert!(matches!(refused[0], Refusal::Passkey) && matches!(refused[9], Refusal::Wait(_)), "{refused:?}");
    let answer = ana.log_in(&console.challenge(NOW));
    let Answer { credential, client_data, authenticator_data, signature, handle } = &answer;
    let (from, agent) = (address(ELSEWHERE), "Firefox");
    let elsewhere =
        PasskeyAttempt { credential, client_data, authenticator_data, signature, handle, from, agent };
    let site = Site { name: SITE, origins: &origins() };
    console.people.log_in_by_passkey(&elsewhere, site, &console.log, NOW).unwrap();
    console.log_in("ana", NOW);
}

#[test]
fn a_passkey_that_was_not_asked_for_is_not_added() {
    let console = console();
    let mut ana = Authenticator::new(b"ana's");
    console.add_passkey(&mut ana, "ana").unwrap();
    let known = console.add_passkey(&mut ana, "root");
    assert!(known.unwrap_err().to_string().contains("known already"), "it is ana's");

    let new = Authenticator::new(b"new");
    let made = new.made(SITE, PRESENT | VERIFIED);
    let challenge = || console.people.begin_passkey("ana", NOW).unwrap().challenge;
    let said = |challenge: &str| client_data("webauthn.create", challenge, ORIGIN);
    let refused = |why: &str, said: &str, data: &[u8], now| {
        let problem = console.try_to_add("ana", "phone", said, data, now).unwrap_err().to_string();
        assert!(problem.contains(why), "{problem}, not {why}");
    };
    let evil = client_data("webauthn.create", &challenge(), "https://evil.example");
    refused("another page", &evil, &made, NOW);
    refused("something else", &client_data("webauthn.get", &challenge(), ORIGIN), &made, NOW);
    refused("another site", &said(&challenge()), &new.made("evil.example", PRESENT | VERIFIED), NOW);
    refused("knows the person", &said(&challenge()), &new.made(SITE, PRESENT), NOW);
    refused("not here", &said(&console.challenge(NOW)), &made, NOW);
    let of_root = console.people.begin_passkey("root", NOW).unwrap().challenge;
    refused("not here", &said(&of_root), &made, NOW);
    refused("too long ago", &said(&challenge()), &made, seconds(300));
    refused("made none", &said(&challenge()), &new.data(SITE, PRESENT | VERIFIED), NOW);
    refused("made none", &said(&challenge()), &Authenticator::new(b"").made(SITE, 5), NOW);
    refused("made none", &said(&challenge()), &Authenticator::new(&[1; 1_024]).made(SITE, 5), NOW);
    refused("cannot be read", &said(&challenge()), &made[..made.len() - 1], NOW);
    for name in ["", "a\nb", &"x".repeat(65)] {
        assert!(console.try_to_add("ana", name, &said(&challenge()), &made, NOW).is_err(), "{name:?}");
    }
    let once = said(&challenge());
    console.try_to_add("ana", "second", &once, &made, NOW).unwrap();
    let third = Authenticator::new(b"third").made(SITE, PRESENT | VERIFIED);
    refused("added before", &once, &third, NOW);
}

#[test]
fn passkeys_of_one_person_are_limited_and_removed_by_their_owner_alone() {
    let console = console();
    for number in 0..16 {
        console.add_passkey(&mut Authenticator::new(&[1, number]), "ana").unwrap();
    }
    let too_many = console.add_passkey(&mut Authenticator::new(b"another"), "ana");
    assert!(too_many.unwrap_err().to_string().contains("16"));
    let of_root = console.add_passkey(&mut Authenticator::new(b"root's"), "root").unwrap();
    for wrong in [of_root.number, 0, u64::MAX] {
        let removed = console.people.remove_passkey("ana", wrong);
        assert!(matches!(removed, Err(Error::NotFound { what: "passkey", .. })), "{wrong}");
    }
    assert_eq!(console.people.remove_passkeys("ANA").unwrap(), 16);
    assert_eq!(console.people.passkeys("root").unwrap(), [of_root]);
    assert!(matches!(console.people.remove_passkeys("nobody"), Err(Error::Nobody { .. })));
}

#[test]
fn a_password_that_an_administrator_sets_removes_the_passkeys() {
    let console = console();
    let mut intruder = Authenticator::new(b"whoever had the account");
    console.add_passkey(&mut intruder, "ana").unwrap();
    let of_root = console.add_passkey(&mut Authenticator::new(b"root's"), "root").unwrap();
    console.people.set_password("ANA", "another horse, another battery", true).unwrap();
    assert_eq!(console.people.passkeys("ana").unwrap(), []);
    let answer = intruder.log_in(&console.challenge(NOW));
    assert!(matches!(console.answered(&answer, NOW), Err(Refusal::Passkey)));
    // Who changes the own password keeps them.
    let own = attempt("root", PASSWORD, HOME);
    console.people.change_password(&own, "another horse, another staple", &console.log, NOW).unwrap();
    assert_eq!(console.people.passkeys("root").unwrap(), [of_root]);
}
