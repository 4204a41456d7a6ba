//! Named attacks, each of which lets nobody in.

use std::sync::mpsc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use ringtap_testing::identity_provider::unsigned;

use super::*;

#[tokio::test]
async fn a_state_of_another_browser_is_refused_before_the_provider_is_asked() {
    let case = Case::new();
    let (mine, stranger) = (case.provider.begin(NOW).await.unwrap(), case.provider.begin(NOW).await.unwrap());
    case.server.give(&case.key.sign(&case.claims(&stranger)));
    for cookie in [None, Some(mine.cookie.as_str()), Some("nonsense"), Some("")] {
        let refused = case.provider.finish(&coming(&stranger), cookie, NOW).await;
        assert_eq!(kind(refused), FailureKind::State);
    }
    let none = Answer { state: None, ..coming(&mine) };
    assert_eq!(kind(case.provider.finish(&none, Some(&mine.cookie), NOW).await), FailureKind::State);
    assert_eq!(case.server.asked("/token").len(), 0);
}

#[tokio::test]
async fn an_answer_that_comes_a_second_time_or_too_late_is_refused() {
    let case = Case::new();
    let begun = case.provider.begin(NOW).await.unwrap();
    let token = case.key.sign(&case.claims(&begun));
    case.come_back(&begun, &token).await.unwrap();
    assert_eq!(kind(case.come_back(&begun, &token).await), FailureKind::State);
    let late = case.provider.begin(NOW).await.unwrap();
    let later = NOW + Provider::LIFE;
    let refused = case.provider.finish(&coming(&late), Some(&late.cookie), later).await;
    assert_eq!(kind(refused), FailureKind::State);
    assert_eq!(case.server.asked("/token").len(), 1);
}

#[tokio::test]
async fn a_code_that_the_provider_does_not_accept_is_refused_and_its_own_mistakes_are_not_the_browsers() {
    let case = Case::new();
    let tokens = async |status, body: &str| {
        let begun = case.provider.begin(NOW).await.unwrap();
        case.server.set("/token", Page::Raw(status, String::new(), body.as_bytes().to_vec()));
        case.provider.finish(&coming(&begun), Some(&begun.cookie), NOW).await.unwrap_err()
    };
    let replayed = tokens(400, r#"{"error":"invalid_grant","error_description":"used\r\nbefore"}"#).await;
    assert_eq!(replayed.kind, FailureKind::Untrusted);
    assert!(replayed.why.contains("invalid_grant: used  before"), "{replayed}");
    for (status, body) in [
        (401, r#"{"error":"invalid_client"}"#),
        (500, "<html>"),
        (200, "<html>"),
        (200, r#"{"access_token":"a"}"#),
    ] {
        assert_eq!(tokens(status, body).await.kind, FailureKind::Unavailable, "{body}");
    }
}

#[tokio::test]
async fn a_token_of_another_login_is_refused() {
    let case = Case::new();
    assert_eq!(kind(case.log_in(|claims| claims["nonce"] = json!("other")).await), FailureKind::Untrusted);
    let other = case.provider.begin(NOW).await.unwrap();
    let theirs = case.claims(&other);
    assert_eq!(kind(case.log_in(|claims| *claims = theirs).await), FailureKind::Untrusted);
}

#[tokio::test]
async fn a_token_for_another_client_or_of_another_issuer_or_an_expired_one_is_refused() {
    let case = Case::new();
    let mut seen = Vec::new();
    for (name, value) in [
        ("aud", json!("other")),
        ("aud", json!(["ring tap", "other"])),
        ("azp", json!("other")),
        ("iss", json!("https://other.example")),
        ("exp", json!(1_795_255_200 - 60)),
        ("iat", json!(1_795_255_200 + 61)),
        ("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
        ("sub", json!("")),
    ] {
        let refused = case.log_in(|claims| claims[name] = value.clone()).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Untrusted, "{name}: {value}");
        seen.push(refused.why);
    }
    assert!(seen.iter().all(|why| why.contains("the ID token")), "{seen:?}");
    case.log_in(|_| {}).await.unwrap();
}

#[tokio::test]
async fn a_token_that_is_not_signed_or_by_the_public_key_as_a_secret_is_refused() {
    let case = Case::new();
    let published = case.key.public().to_string();
    let begun = async || case.provider.begin(NOW).await.unwrap();
    for alg in ["none", "None", "NONE", ""] {
        let begun = begun().await;
        let token = format!("{}.", unsigned(&json!({ "alg": alg, "kid": "one" }), &case.claims(&begun)));
        assert_eq!(kind(case.come_back(&begun, &token).await), FailureKind::Untrusted, "{alg}");
    }
    for secret in [published.as_bytes(), case.key.public()["x"].as_str().unwrap().as_bytes(), b"s3cr&t:"] {
        let begun = begun().await;
        let signed = unsigned(&json!({ "alg": "HS256", "kid": "one" }), &case.claims(&begun));
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        mac.update(signed.as_bytes());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()));
        assert_eq!(kind(case.come_back(&begun, &token).await), FailureKind::Untrusted);
    }
    // Nor by the right algorithm without a signature, or with that of something else.
    let begun = begun().await;
    let token = case.key.sign(&case.claims(&begun));
    let other = case.key.sign(&json!({}));
    let (signed, _) = token.rsplit_once('.').unwrap();
    let (_, signature) = other.rsplit_once('.').unwrap();
    assert_eq!(kind(case.come_back(&begun, &format!("{signed}.{signature}")).await), FailureKind::Untrusted);
}

#[tokio::test]
async fn a_token_signed_by_a_key_that_the_provider_does_not_publish_is_refused() {
    let case = Case::new();
    for key in [Key::new("unknown"), Key::new("one")] {
        let begun = case.provider.begin(NOW).await.unwrap();
        let mut claims = case.claims(&begun);
        claims["groups"] = json!(["voice-ops"]);
        assert_eq!(
            kind(case.come_back(&begun, &key.sign(&claims)).await),
            FailureKind::Untrusted,
            "{}",
            key.id
        );
    }
    // A key within the token is somebody's, not the provider's.
    let (own, begun) = (Key::new("one"), case.provider.begin(NOW).await.unwrap());
    let header = json!({ "alg": "ES256", "kid": "one", "jwk": own.public() });
    let signed = unsigned(&header, &case.claims(&begun));
    let token = format!("{signed}.{}", own.sign(&json!({})).rsplit_once('.').unwrap().1);
    assert_eq!(kind(case.come_back(&begun, &token).await), FailureKind::Untrusted);
}

#[tokio::test]
async fn an_answer_of_another_provider_is_not_taken_to_this_one() {
    let case = Case::new();
    let mut described = case.server.described();
    described["authorization_response_iss_parameter_supported"] = json!(true);
    case.server.set(DISCOVERY, Page::Json(described));
    for iss in [None, Some("https://other.example"), Some("")] {
        let begun = case.provider.begin(NOW).await.unwrap();
        case.server.give(&case.key.sign(&case.claims(&begun)));
        let answer = Answer { iss: iss.map(str::to_owned), ..coming(&begun) };
        let refused = case.provider.finish(&answer, Some(&begun.cookie), NOW).await;
        assert_eq!(kind(refused), FailureKind::Untrusted, "{iss:?}");
    }
    assert_eq!(case.server.asked("/token").len(), 0);
    let begun = case.provider.begin(NOW).await.unwrap();
    case.server.give(&case.key.sign(&case.claims(&begun)));
    let answer = Answer { iss: Some(case.server.issuer.clone()), ..coming(&begun) };
    case.provider.finish(&answer, Some(&begun.cookie), NOW).await.unwrap();
}

#[tokio::test]
async fn a_provider_that_speaks_for_another_is_not_used() {
    let case = Case::new();
    let mut described = case.server.described();
    described["issuer"] = json!("https://accounts.example.com");
    case.server.set(DISCOVERY, Page::Json(described));
    let refused = case.provider.begin(NOW).await.unwrap_err();
    assert!(refused.why.contains("accounts.example.com"), "{refused}");
    // It is asked again after some seconds, not by each who comes.
    case.server.set(DISCOVERY, Page::Json(case.server.described()));
    assert_eq!(case.provider.begin(NOW + Nanos::from_secs(4)).await.unwrap_err(), refused);
    case.provider.begin(NOW + Nanos::from_secs(5)).await.unwrap();
    assert_eq!(case.server.asked(DISCOVERY).len(), 2);
}

#[tokio::test]
async fn who_does_not_want_to_is_told_so_and_no_code_is_exchanged() {
    let case = Case::new();
    let begun = case.provider.begin(NOW).await.unwrap();
    let error = Some("access_denied".to_owned());
    let answer = Answer { error, error_description: Some("no\u{1b}[2J".repeat(99)), ..coming(&begun) };
    let refused = case.provider.finish(&answer, Some(&begun.cookie), NOW).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Declined);
    assert!(refused.why.len() < 400 && !refused.why.contains('\u{1b}'), "{refused}");
    assert_eq!(case.server.asked("/token").len(), 0);
}

#[tokio::test]
async fn an_address_that_nobody_has_verified_names_nobody() {
    let case = Case::with(|settings| settings.person = "email".into());
    let with = async |verified: Value| {
        case.log_in(|claims| {
            claims["email"] = json!("root@example.org");
            claims["email_verified"] = verified;
        })
        .await
    };
    assert_eq!(kind(with(json!(false)).await), FailureKind::NotPermitted);
    assert_eq!(with(json!(true)).await.unwrap().name, "root@example.org");
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let case = Case::new();
    case.server.set(DISCOVERY, Page::Raw(200, String::new(), vec![b' '; 32 << 20]));
    let refused = case.provider.begin(NOW).await.unwrap_err();
    assert!(refused.why.contains("262144"), "{refused}");
}

#[tokio::test]
async fn a_redirection_is_not_followed() {
    let (case, other) = (Case::new(), Server::start());
    let begun = case.provider.begin(NOW).await.unwrap();
    let elsewhere = |path| {
        let to = format!("location: {}{path}\r\n", other.issuer);
        Page::Raw(307, to, Vec::new())
    };
    case.server.set("/token", elsewhere("/token"));
    let refused = case.provider.finish(&coming(&begun), Some(&begun.cookie), NOW).await;
    assert_eq!(kind(refused), FailureKind::Unavailable);
    case.server.set("/jwks", elsewhere("/jwks"));
    assert_eq!(kind(case.log_in(|_| {}).await), FailureKind::Unavailable);
    let fresh = Case::new();
    fresh.server.set(DISCOVERY, elsewhere(DISCOVERY));
    assert!(fresh.provider.begin(NOW).await.unwrap_err().why.contains("redirection"));
    assert!([DISCOVERY, "/token", "/jwks"].iter().all(|path| other.asked(path).is_empty()));
}

/// The provider never answers: what ends the request is that nobody waits for it any more.
#[tokio::test]
async fn a_request_to_a_slow_provider_ends_with_whoever_waits_for_it() {
    let case = Case::new();
    let (gone, told) = mpsc::channel();
    let begun = case.provider.begin(NOW).await.unwrap();
    case.server.set("/token", Page::Silent(gone));
    let answer = coming(&begun);
    let mut waiting = Box::pin(case.provider.finish(&answer, Some(&begun.cookie), NOW));
    loop {
        tokio::select! {
            biased;
            ended = &mut waiting => panic!("{ended:?}"),
            () = tokio::task::yield_now() => {}
        }
        if !case.server.asked("/token").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(waiting);
    let closed = tokio::task::spawn_blocking(move || told.recv_timeout(Duration::from_secs(120)));
    closed.await.unwrap().expect("the connection is closed");
}

/// However long the machine takes: the provider never answers.
#[tokio::test]
async fn a_provider_that_does_not_answer_is_not_waited_for_for_ever() {
    let case = Case::with(|settings| settings.patience = Duration::from_millis(50));
    let (gone, _told) = mpsc::channel();
    case.server.set(DISCOVERY, Page::Silent(gone));
    let refused = case.provider.begin(NOW).await.unwrap_err();
    assert!(refused.why.contains("took too long"), "{refused}");
}
