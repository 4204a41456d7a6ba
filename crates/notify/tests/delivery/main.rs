//! Notices against servers of each kind, and against those that are down, slow, or refuse.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod doubles;
mod faults;
mod traps;

use std::time::{Duration, Instant};

use doubles::{Double, Protection};
use ringtap_model::{Alarm, Id, Nanos, Severity};
use ringtap_notify::{Delivery, Http, Notice, NoticeKind, Pace, Protocol, Sender, Smtp, Target, Tls};
use serde_json::Value;

fn target(protocol: Protocol) -> Target {
    Target { name: "noc".into(), protocol }
}

fn http(port: u16) -> Http {
    Http { url: format!("http://127.0.0.1:{port}"), header_file: None, ca: None }
}

fn mail(port: u16) -> Smtp {
    Smtp {
        server: "127.0.0.1".into(),
        port,
        tls: Tls::None,
        user: String::new(),
        password_file: None,
        from: "ringtap@example.org".into(),
        to: vec!["noc@example.org".into()],
        ca: None,
    }
}

/// As fast as a test may be.
fn fast() -> Pace {
    Pace {
        first: Duration::from_millis(20),
        longest: Duration::from_millis(100),
        resend: Duration::from_secs(60),
    }
}

/// A notice of the alarm of this number.
fn notice(alarm: u8, kind: NoticeKind) -> Notice {
    let raised = Nanos::from_secs(1_795_420_800 + u64::from(alarm));
    let alarm = Alarm {
        id: Id([alarm; 16]),
        rule: format!("rule {alarm}"),
        severity: Severity::Warning,
        per: "trunk".into(),
        subject: format!("carrier-{alarm}"),
        figure: "asr".into(),
        value: Some(31.5),
        worst: Some(30.0),
        threshold: 40.0,
        behind: 200,
        text: format!("31.5 % of the calls to carrier-{alarm} are answered"),
        raised,
        last: raised + Nanos::from_secs(60),
        cleared: (kind == NoticeKind::Cleared).then_some(raised + Nanos::from_secs(90)),
        calls: vec![format!("call-{alarm}@192.0.2.1")],
        acknowledged: None,
        acknowledged_by: None,
        comment: None,
        silenced_until: None,
    };
    Notice { kind, host: "sensor-1".into(), to: vec![], alarm }
}

fn open(protocol: Protocol, secret: Option<&str>) -> Sender {
    Sender::open(&target(protocol), secret, "sensor-1").unwrap()
}

fn delivery(protocol: Protocol) -> Delivery {
    Delivery::start(open(protocol, None), fast()).unwrap()
}

/// Waits until the delivery is so.
fn until(delivery: &Delivery, is_so: impl Fn(&ringtap_notify::TargetReport) -> bool) {
    let begun = Instant::now();
    while !is_so(&delivery.report()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", delivery.report());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tells of three alarms that are raised, then cleared: what the server was told.
fn three_raised_and_cleared(protocol: Protocol, double: &Double) -> Vec<String> {
    let delivery = delivery(protocol);
    let mut told = Vec::new();
    for (number, kind) in (0..).zip([NoticeKind::Raised, NoticeKind::Cleared]) {
        for alarm in 1..=3 {
            delivery.push(number * 3 + u64::from(alarm), notice(alarm, kind));
        }
        told.extend((0..3).map(|_| double.next()));
    }
    until(&delivery, |report| report.waiting.is_empty());
    assert_eq!(delivery.report().counts.delivered, 6);
    told
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn three_alarms_raised_and_cleared_reach_a_webhook() {
    let double = Double::http(0, Protection::None, |_| "204 No Content");
    let told = three_raised_and_cleared(Protocol::Webhook(http(double.port)), &double);
    for (request, (kind, alarm)) in told.iter().zip([
        ("raised", 1),
        ("raised", 2),
        ("raised", 3),
        ("cleared", 1),
        ("cleared", 2),
        ("cleared", 3),
    ]) {
        assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{request}");
        let json = body(request);
        assert_eq!((&json["kind"], &json["host"]), (&kind.into(), &"sensor-1".into()));
        // The rest is the record.
        let record: Alarm = serde_json::from_value(json).unwrap();
        let expected = if kind == "raised" { NoticeKind::Raised } else { NoticeKind::Cleared };
        assert_eq!(record, notice(alarm, expected).alarm);
    }
}

#[test]
fn three_alarms_raised_and_cleared_reach_alertmanager() {
    let double = Double::http(0, Protection::None, |_| "200 OK");
    let told = three_raised_and_cleared(Protocol::Alertmanager(http(double.port)), &double);
    let mut labels = Vec::new();
    for (at, request) in told.iter().enumerate() {
        assert!(request.starts_with("POST /api/v2/alerts HTTP/1.1\r\n"), "{request}");
        let alert = &body(request)[0];
        assert_eq!(alert["labels"]["alertname"], format!("rule {}", at % 3 + 1));
        assert_eq!(alert["labels"]["severity"], "warning");
        assert_eq!(alert["startsAt"], format!("2026-11-23T08:00:0{}Z", at % 3 + 1));
        assert_eq!(alert.get("endsAt").is_some(), at >= 3, "{alert}");
        assert!(alert["annotations"]["description"].as_str().unwrap().contains("Call-ID: call-"));
        labels.push(alert["labels"].clone());
    }
    assert_eq!(labels[..3], labels[3..]);
}

#[test]
fn three_alarms_raised_and_cleared_reach_a_mail_server() {
    let double = Double::smtp(Protection::None, |_| "250 queued");
    let told = three_raised_and_cleared(Protocol::Smtp(mail(double.port)), &double);
    for (at, mail) in told.iter().enumerate() {
        let alarm = at % 3 + 1;
        let first = format!("<{}.raised@sensor-1>", Id([alarm as u8; 16]));
        assert!(mail.contains("MAIL FROM:<ringtap@example.org>"), "{mail}");
        assert!(mail.contains("RCPT TO:<noc@example.org>"), "{mail}");
        assert!(mail.contains(&format!("Call-ID: call-{alarm}@192.0.2.1\r\n")), "{mail}");
        let (kind, field) = if at < 3 { ("warning", "Message-ID") } else { ("cleared", "In-Reply-To") };
        let sentence = format!("31.5 % of the calls to carrier-{alarm} are answered");
        let subject = mail.split("Subject: ").nth(1).unwrap().replace("\r\n ", " ");
        assert!(subject.starts_with(&format!("[ringtap] {kind}: {sentence}\r\n")), "{mail}");
        assert!(mail.contains(&format!("{field}: {first}\r\n")), "{mail}");
    }
}

#[test]
fn alertmanager_hears_of_alarms_while_they_stand() {
    let double = Double::http(0, Protection::None, |_| "200 OK");
    let pace = Pace { resend: Duration::from_millis(30), ..fast() };
    let delivery = Delivery::start(open(Protocol::Alertmanager(http(double.port)), None), pace).unwrap();
    // One from before the start, of which no other kind of target is told; one for somebody else.
    delivery.push(1, notice(1, NoticeKind::Standing));
    delivery.push(2, Notice { to: vec!["pager".into()], ..notice(2, NoticeKind::Raised) });
    for _ in 0..3 {
        let alerts = body(&double.next());
        assert_eq!((alerts.as_array().unwrap().len(), &alerts[0]["labels"]["rule"]), (1, &"rule 1".into()));
        assert_eq!(alerts[0].get("endsAt"), None);
    }
    delivery.push(3, notice(1, NoticeKind::Cleared));
    while body(&double.next())[0].get("endsAt").is_none() {}
    std::thread::sleep(pace.resend * 3);
    assert!(double.is_quiet());
    until(&delivery, |report| report.counts.delivered == 1);

    let webhook = Double::http(0, Protection::None, |_| "200 OK");
    let delivery = Delivery::start(open(Protocol::Webhook(http(webhook.port)), None), pace).unwrap();
    delivery.push(1, notice(1, NoticeKind::Standing));
    delivery.push(2, notice(2, NoticeKind::Raised));
    assert_eq!(body(&webhook.next())["rule"], "rule 2");
    until(&delivery, |report| report.waiting.is_empty());
    assert!(webhook.is_quiet());
}
