//! Targets that are down, slow, refuse, or are somebody else.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_notify::{Counts, Http, NoticeKind, NotifyError, Protocol, Smtp, Snmp, Tls};

use crate::doubles::{CERTIFICATE, Double, Protection, free_port};
use crate::{delivery, http, mail, notice, open, until};

fn attempt(protocol: Protocol, secret: Option<&str>) -> Result<(), NotifyError> {
    open(protocol, secret).deliver(&notice(1, NoticeKind::Raised))
}

#[test]
fn a_target_that_is_down_is_told_once_it_is_up() {
    let port = free_port();
    let down = delivery(Protocol::Webhook(http(port)));
    down.push(1, notice(1, NoticeKind::Raised));
    until(&down, |report| report.counts.retried >= 3);
    assert_eq!(down.report().waiting, [1]);
    // The newest state alone is told.
    down.push(2, notice(1, NoticeKind::Cleared));
    let double = Double::http(port, Protection::None, |_| "200 OK");
    assert!(double.next().contains("\"kind\":\"cleared\""));
    until(&down, |report| report.waiting.is_empty());
    let Counts { delivered, refused, dropped, replaced, .. } = down.report().counts;
    assert_eq!((delivered, refused, dropped, replaced), (1, 0, 0, 1));
}

#[test]
fn a_server_error_is_tried_again_and_a_refusal_is_not() {
    let unsure =
        Double::http(0, Protection::None, |number| ["500 Oh", "503 Oh", "", "200 OK"][number.min(3)]);
    let told = delivery(Protocol::Webhook(http(unsure.port)));
    told.push(1, notice(1, NoticeKind::Raised));
    // The third connection is cut after the request.
    for _ in 0..4 {
        unsure.next();
    }
    until(&told, |report| report.waiting.is_empty());
    assert_eq!(told.report().counts, Counts { delivered: 1, retried: 3, ..Counts::default() });

    let strict = Double::http(0, Protection::None, |_| "400 Bad Request");
    let told = delivery(Protocol::Alertmanager(http(strict.port)));
    told.push(1, notice(1, NoticeKind::Cleared));
    strict.next();
    until(&told, |report| report.waiting.is_empty());
    assert_eq!(told.report().counts, Counts { refused: 1, ..Counts::default() });

    for (answer, is_retryable) in [
        ((|_| "451 4.3.0 later") as fn(usize) -> &'static str, true),
        (|_| "550 5.7.1 no such sender", false),
    ] {
        let server = Double::smtp(Protection::None, answer);
        let error = attempt(Protocol::Smtp(mail(server.port)), None).unwrap_err();
        assert_eq!(error.is_retryable, is_retryable, "{error}");
        assert!(error.to_string().contains("127.0.0.1 answers: "), "{error}");
    }
}

#[test]
fn a_target_that_says_nothing_is_given_up_after_fifteen_seconds() {
    let silent = [Double::silent(), Double::silent()];
    let slow = [Protocol::Webhook(http(silent[0].port)), Protocol::Smtp(mail(silent[1].port))];
    let attempts: Vec<_> = slow
        .into_iter()
        .map(|protocol| {
            thread::spawn(move || {
                let begun = Instant::now();
                let error = attempt(protocol, None).unwrap_err();
                assert!(error.is_retryable && error.to_string().contains("15 s"), "{error}");
                let took = begun.elapsed();
                assert!(took > Duration::from_secs(14) && took < Duration::from_secs(17), "{took:?}");
            })
        })
        .collect();
    attempts.into_iter().for_each(|attempt| attempt.join().unwrap());
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let double = Double::http(0, Protection::Tls, |_| "200 OK");
    let unknown = Http { url: format!("https://localhost:{}/x", double.port), ..http(0) };
    let error = attempt(Protocol::Webhook(unknown.clone()), None).unwrap_err();
    assert!(error.is_retryable && error.to_string().contains("certificate"), "{error}");
    assert!(double.is_quiet());
    let known = Http { ca: Some(CERTIFICATE.into()), ..unknown.clone() };
    attempt(Protocol::Webhook(known.clone()), None).unwrap();
    // The right certificate of another host.
    let other = Http { url: unknown.url.replace("localhost", "127.0.0.3"), ..known };
    let error = attempt(Protocol::Webhook(other), None).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");

    let server = Double::smtp(Protection::Tls, |_| "250 queued");
    let unknown = Smtp { server: "localhost".into(), tls: Tls::Implicit, ..mail(server.port) };
    let error = attempt(Protocol::Smtp(unknown.clone()), None).unwrap_err();
    assert!(error.is_retryable && error.to_string().contains("certificate"), "{error}");
    attempt(Protocol::Smtp(Smtp { ca: Some(CERTIFICATE.into()), ..unknown }), None).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("ca.pem");
    fs::write(&empty, "nothing").unwrap();
    for ca in [empty, dir.path().join("absent")] {
        let none = Http { url: "https://localhost/".into(), ca: Some(ca), ..http(0) };
        let target = crate::target(Protocol::Webhook(none));
        let error = ringtap_notify::Sender::open(&target, None, "h").unwrap_err();
        assert!(!error.is_retryable && error.to_string().contains("cannot be used"), "{error}");
    }
}

#[test]
fn without_starttls_no_password_is_sent() {
    let server = Double::smtp(Protection::None, |_| "250 queued");
    let login = Smtp {
        tls: Tls::Starttls,
        user: "ringtap".into(),
        password_file: Some("/x".into()),
        ..mail(server.port)
    };
    let error = attempt(Protocol::Smtp(login), Some("hunter2\n")).unwrap_err();
    assert!(error.is_retryable && !error.to_string().contains("hunter2"), "{error}");
    assert!(server.is_quiet());
}

#[test]
fn no_error_shows_a_secret() {
    let secret = "Authorization: Bearer hunter2";
    for status in ["401 hunter2", "302 Found\r\nLocation: http://127.0.0.1/hunter2", "500 hunter2"] {
        let status: &'static str = status;
        let answer: fn(usize) -> &'static str = match status.as_bytes()[0] {
            b'4' => |_| "401 hunter2",
            b'3' => |_| "302 Found\r\nLocation: http://127.0.0.1:1/hunter2",
            _ => |_| "500 hunter2",
        };
        let double = Double::http(0, Protection::None, answer);
        let url = format!("http://127.0.0.1:{}/hunter2", double.port);
        let error = attempt(Protocol::Webhook(Http { url, ..http(0) }), Some(secret)).unwrap_err();
        assert!(double.next().contains("authorization: Bearer hunter2"));
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let url = format!("http://127.0.0.1:{}/hunter2", free_port());
    let error = attempt(Protocol::Webhook(Http { url, ..http(0) }), Some(secret)).unwrap_err();
    assert!(error.to_string().contains("refused") && !error.to_string().contains("hunter2"), "{error}");

    let server = Double::smtp(Protection::Tls, |_| "250 queued");
    let login = Smtp {
        server: "localhost".into(),
        tls: Tls::Implicit,
        user: "ringtap".into(),
        password_file: Some("/x".into()),
        ca: Some(CERTIFICATE.into()),
        ..mail(server.port)
    };
    // PLAIN with this password has `d3Jvbmc` in it, which this server refuses.
    let error = attempt(Protocol::Smtp(login.clone()), Some("wrong\n")).unwrap_err();
    assert!(!error.is_retryable && error.to_string().contains("refuses the login (535)"), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    attempt(Protocol::Smtp(login), Some("right\n")).unwrap();
    assert!(server.next().contains("AUTH PLAIN "));
}

#[test]
fn a_name_that_is_not_known_is_tried_again() {
    let nowhere = Snmp {
        server: "nowhere.invalid".into(),
        port: 162,
        community: "public".into(),
        oid: ringtap_notify::Oid::default(),
    };
    let error = attempt(Protocol::Snmp(nowhere), None).unwrap_err();
    assert!(error.is_retryable && error.to_string().contains("nowhere.invalid"), "{error}");
}
