//! The whole flow with a provider of the tests' own, and named attacks on it.
#![cfg(feature = "network")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod attacks;
mod rsa;

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ringtap_access::{LocalLogins, Role, Vouched};
use ringtap_model::Nanos;
use ringtap_oidc::{Answer, Begun, Failure, FailureKind, Provider, Settings};
use ringtap_testing::identity_provider::{ACCESS, DISCOVERY, Key, Page, Server, pairs};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const NOW: Nanos = Nanos::from_secs(1_795_255_200);
const ADDRESS: &str = "https://tap.example.org:8443";

fn settings(issuer: &str) -> Settings {
    Settings {
        name: "Example".into(),
        issuer: issuer.into(),
        client_id: "ring tap".into(),
        secret: Some(Zeroizing::new("s3cr&t:".into())),
        address: ADDRESS.into(),
        person: "preferred_username".into(),
        groups: Some("groups".into()),
        roles: [(Role::Engineer, vec!["voice-ops".into()])].into(),
        scopes: Vec::new(),
        add: false,
        local_logins: LocalLogins::Everybody,
        request: vec!["profile".into()],
        acr: Vec::new(),
        amr: Vec::new(),
        ca: None,
        // A machine may be slow: nothing here waits for this time.
        patience: Duration::from_secs(600),
    }
}

/// A server with a key, and a console that trusts it.
struct Case {
    server: Server,
    key: Key,
    provider: Provider,
}

impl Case {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let (server, key) = (Server::start(), Key::new("one"));
        server.publish(&[key.public()]);
        let mut settings = settings(&server.issuer);
        change(&mut settings);
        Self { provider: Provider::open(settings).unwrap(), server, key }
    }

    /// What a right token says of a login that has begun.
    fn claims(&self, begun: &Begun) -> Value {
        let now = 1_795_255_200;
        json!({
            "iss": self.server.issuer, "aud": "ring tap", "sub": "7", "iat": now, "exp": now + 300,
            "nonce": sent(begun)["nonce"], "preferred_username": "ana", "groups": ["all", "voice-ops"],
            "at_hash": URL_SAFE_NO_PAD.encode(&Sha256::digest(ACCESS)[..16]),
        })
    }

    /// The browser comes back with a code, for which the provider gives that token.
    async fn come_back(&self, begun: &Begun, token: &str) -> Result<Vouched, Failure> {
        self.server.give(token);
        self.provider.finish(&coming(begun), Some(&begun.cookie), NOW).await
    }

    /// A login in which the claims are other ones.
    async fn log_in(&self, change: impl FnOnce(&mut Value)) -> Result<Vouched, Failure> {
        let begun = self.provider.begin(NOW).await.unwrap();
        let mut claims = self.claims(&begun);
        change(&mut claims);
        self.come_back(&begun, &self.key.sign(&claims)).await
    }
}

/// What the browser was sent to the provider with.
fn sent(begun: &Begun) -> HashMap<String, String> {
    pairs(begun.location.split_once('?').unwrap().1)
}

/// What it brings back.
fn coming(begun: &Begun) -> Answer {
    let state = sent(begun)["state"].clone();
    Answer { state: Some(state), code: Some("c0de&".into()), ..Answer::default() }
}

fn kind(result: Result<Vouched, Failure>) -> FailureKind {
    result.unwrap_err().kind
}

#[tokio::test]
async fn a_person_is_vouched_for_and_the_code_is_exchanged_with_secret_and_verifier() {
    let case = Case::new();
    let begun = case.provider.begin(NOW).await.unwrap();
    assert!(begun.location.starts_with(&format!("{}/authorize?", case.server.issuer)), "{begun:?}");
    let sent = sent(&begun);
    let redirect = format!("{ADDRESS}/login/callback");
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "ring tap"),
        ("scope", "openid profile"),
        ("redirect_uri", &redirect),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(sent[name], value, "{name}");
    }
    let ana = case.come_back(&begun, &case.key.sign(&case.claims(&begun))).await.unwrap();
    let expected = Vouched {
        issuer: case.server.issuer.clone(),
        subject: "7".into(),
        name: "ana".into(),
        role: Some(Role::Engineer),
        scope: None,
        may_be_added: false,
    };
    assert_eq!(ana, expected);
    let [asked] = &case.server.asked("/token")[..] else { panic!("one request") };
    assert_eq!(asked.form["grant_type"], "authorization_code");
    assert_eq!((&asked.form["code"], &asked.form["redirect_uri"]), (&"c0de&".to_owned(), &redirect));
    let verifier = &asked.form["code_verifier"];
    assert!(verifier.len() >= 43, "{verifier}");
    assert_eq!(sent["code_challenge"], URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)));
    let login = asked.authorization.as_deref().unwrap().strip_prefix("Basic ").unwrap();
    assert_eq!(STANDARD.decode(login).unwrap(), b"ring%20tap:s3cr%26t%3A");
    assert!(!asked.form.contains_key("client_secret") && !begun.location.contains("s3cr"));
}

#[tokio::test]
async fn a_public_client_sends_its_name_and_one_that_must_sends_the_secret_in_the_form() {
    let public = Case::with(|settings| settings.secret = None);
    public.log_in(|_| {}).await.unwrap();
    let asked = &public.server.asked("/token")[0];
    assert_eq!((&*asked.form["client_id"], &asked.authorization), ("ring tap", &None));
    let form = Case::new();
    let mut described = form.server.described();
    described["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    form.server.set(DISCOVERY, Page::Json(described));
    form.log_in(|_| {}).await.unwrap();
    let asked = &form.server.asked("/token")[0];
    assert_eq!((&*asked.form["client_secret"], &asked.authorization), ("s3cr&t:", &None));
}

#[tokio::test]
async fn description_and_keys_are_asked_for_once_and_new_keys_once_a_minute() {
    let case = Case::new();
    for _ in 0..3 {
        case.log_in(|_| {}).await.unwrap();
    }
    let asked = |path| case.server.asked(path).len();
    assert_eq!((asked(DISCOVERY), asked("/jwks")), (1, 1));
    // The provider signs by another key, which it publishes.
    let other = Key::new("two");
    case.server.publish(&[case.key.public(), other.public()]);
    let at = |seconds| NOW + Nanos::from_secs(seconds);
    let by_other = async |seconds| {
        let begun = case.provider.begin(at(seconds)).await.unwrap();
        case.server.give(&other.sign(&case.claims(&begun)));
        case.provider.finish(&coming(&begun), Some(&begun.cookie), at(seconds)).await
    };
    assert_eq!(kind(by_other(59).await), FailureKind::Untrusted);
    assert_eq!(asked("/jwks"), 1);
    by_other(60).await.unwrap();
    assert_eq!(asked("/jwks"), 2);
    // A key that was withdrawn is not believed for longer than an hour.
    case.server.publish(&[]);
    case.server.set(DISCOVERY, Page::Json(case.server.described()));
    let later = at(60 + 3_600);
    let begun = case.provider.begin(later).await.unwrap();
    let mut claims = case.claims(&begun);
    claims["exp"] = json!(later.micros() / 1_000_000 + 300);
    case.server.give(&other.sign(&claims));
    let late = case.provider.finish(&coming(&begun), Some(&begun.cookie), later).await;
    assert_eq!(kind(late), FailureKind::Untrusted);
    assert_eq!((asked("/jwks"), asked(DISCOVERY)), (3, 2));
}

#[tokio::test]
async fn a_browser_can_log_out_at_the_provider_as_well() {
    let case = Case::new();
    let location = case.provider.logout(NOW).await.unwrap().unwrap();
    let (page, query) = location.split_once('?').unwrap();
    assert_eq!(page, format!("{}/logout", case.server.issuer));
    assert_eq!(pairs(query)["post_logout_redirect_uri"], format!("{ADDRESS}/"));
    let mut described = case.server.described();
    described.as_object_mut().unwrap().remove("end_session_endpoint");
    case.server.set(DISCOVERY, Page::Json(described));
    let later = NOW + Nanos::from_secs(3_600);
    assert_eq!(case.provider.logout(later).await.unwrap(), None);
}
