use ringtap_model::Transaction;
use ringtap_wire::sip::Method;

use crate::config::{Config, TRANSACTIONS};
use crate::testing::{Sip, Tap, at, request, response};

const CREDENTIALS: &str = "Proxy-Authorization: Digest username=\"alice\"";

fn message(cseq: u32) -> Sip {
    request("MESSAGE", cseq).body("text/plain", "hello")
}

fn all(config: &mut Config) {
    config.transactions = TRANSACTIONS.to_vec();
}

/// Method and final code of each.
fn outcomes(transactions: &[Transaction]) -> Vec<(&str, u16)> {
    transactions.iter().map(|transaction| (transaction.method.as_str(), transaction.code)).collect()
}

fn counted(tap: &Tap) -> Vec<(&'static str, &'static str, u64)> {
    tap.engine.counters().transactions.rows().filter(|(.., count)| *count > 0).collect()
}

#[test]
fn a_message_is_recorded_with_its_size_and_final_code_never_its_text() {
    let mut tap = Tap::new();
    tap.caller(0, message(1));
    tap.callee(50, response("100 Trying", "MESSAGE", 1));
    tap.callee(100, response("202 Accepted", "MESSAGE", 1));
    let record = &tap.close().messages[0];
    assert_eq!((record.code, record.size, record.time), (202, 5, at(0)));
    assert_eq!(
        (record.from.as_deref(), record.to.as_deref()),
        (Some("alice@example.com"), Some("bob@example.com"))
    );
    assert_eq!(record.content_type.as_deref(), Some("text/plain"));
    assert!(!format!("{record:?}").contains("hello"));
}

#[test]
fn each_sequence_number_is_a_message_of_its_own_and_hops_and_copies_are_none() {
    let mut tap = Tap::new();
    tap.caller(0, message(1));
    tap.caller(10, message(1));
    tap.udp(20, "198.51.100.1:5060", "203.0.113.1:5060", &message(1).bytes());
    tap.caller(1000, message(2));
    tap.callee(1100, response("200 OK", "MESSAGE", 2));
    let codes: Vec<u16> = tap.close().messages.iter().map(|record| record.code).collect();
    assert_eq!(codes, [0, 200]);
}

#[test]
fn a_transaction_is_recorded_when_its_time_is_over() {
    let mut tap = Tap::with(all);
    tap.caller(0, message(1));
    tap.callee(100, response("200 OK", "MESSAGE", 1));
    tap.caller(0, request("OPTIONS", 1));
    tap.wait_until(5_000);
    assert_eq!(tap.records.messages, []);
    tap.wait_until(6_000);
    assert_eq!((tap.records.messages.len(), tap.records.transactions.len()), (1, 0));
    // What comes later begins nothing.
    tap.callee(7_000, response("200 OK", "MESSAGE", 1));
    tap.wait_until(40_000);
    assert_eq!(tap.records.transactions, []);
    tap.wait_until(41_000);
    assert_eq!(outcomes(&tap.records.transactions), [("OPTIONS", 0)]);
    assert_eq!(tap.close().messages.len(), 1);
}

#[test]
fn at_the_ceiling_the_oldest_gives_way_and_what_has_no_answer_is_counted() {
    let mut tap = Tap::with(|config| config.max_messages = 2);
    (1..=3).for_each(|number| tap.caller(u64::from(number), message(number)));
    assert_eq!(tap.engine.counters().messages_evicted, 1);
    assert_eq!(tap.records.messages[0].time, at(1));
    tap.callee(10, response("200 OK", "MESSAGE", 2));
    tap.callee(11, response("200 OK", "MESSAGE", 3));
    tap.caller(20, message(4));
    assert_eq!(tap.records.messages[1].code, 200);
    assert_eq!((tap.engine.counters().messages_evicted, tap.engine.counters().messages_refused), (1, 0));
    assert_eq!(tap.close().messages.len(), 4);
}

#[test]
fn what_the_end_of_the_input_cuts_comes_in_order_of_time() {
    let mut tap = Tap::new();
    tap.caller(5000, message(1));
    tap.caller(1000, message(2));
    let times: Vec<_> = tap.close().messages.iter().map(|record| record.time).collect();
    assert_eq!(times, [at(1000), at(5000)]);
}

#[test]
fn a_subscription_and_its_notification_are_recorded_with_package_device_and_delay() {
    let mut tap = Tap::with(all);
    let subscribe = request("SUBSCRIBE", 7).header("Event: presence;id=4").header("User-Agent: phone/1");
    tap.caller(0, subscribe);
    tap.callee(30, response("202 Accepted", "SUBSCRIBE", 7));
    // The other side counts from the same number.
    tap.callee(40, request("NOTIFY", 7).header("o: presence").from("<sip:bob@example.com>;tag=b"));
    tap.caller(45, response("481 Call/Transaction Does Not Exist", "NOTIFY", 7));
    let records = tap.close().transactions;
    assert_eq!(outcomes(&records), [("SUBSCRIBE", 202), ("NOTIFY", 481)]);
    let [subscribe, notify] = &records[..] else { panic!("{records:?}") };
    assert_eq!(
        (subscribe.event.as_deref(), subscribe.user_agent.as_deref()),
        (Some("presence"), Some("phone/1"))
    );
    assert_eq!((subscribe.from.as_deref(), subscribe.delay_ms), (Some("alice@example.com"), Some(30.0)));
    assert_eq!(
        (notify.event.as_deref(), notify.delay_ms, notify.time),
        (Some("presence"), Some(5.0), at(40))
    );
    assert_eq!(notify.src.to_string(), crate::testing::CALLEE);
    assert_ne!(notify.id, subscribe.id);
}

#[test]
fn all_are_counted_and_those_that_are_asked_for_are_recorded() {
    let mut tap = Tap::with(|config| config.transactions = vec![Method::Publish]);
    for (cseq, method) in (1..).zip(["SUBSCRIBE", "NOTIFY", "OPTIONS", "PUBLISH", "MESSAGE", "REGISTER"]) {
        let status = if cseq % 2 == 0 { "200 OK" } else { "403 Forbidden" };
        tap.caller(0, request(method, cseq));
        tap.callee(10, response(status, method, cseq));
    }
    tap.caller(20, request("INFO", 9));
    tap.wait_until(50_000);
    let expected = [
        ("REGISTER", "200", 1),
        ("SUBSCRIBE", "403", 1),
        ("NOTIFY", "200", 1),
        ("OPTIONS", "403", 1),
        ("PUBLISH", "200", 1),
        ("MESSAGE", "403", 1),
    ];
    assert_eq!(counted(&tap), expected);
    let records = tap.close();
    assert_eq!((outcomes(&records.transactions), records.messages.len()), (vec![("PUBLISH", 200)], 1));
}

#[test]
fn a_challenge_that_is_answered_is_the_same_transaction() {
    let mut tap = Tap::with(all);
    tap.caller(0, request("OPTIONS", 1));
    tap.callee(10, response("401 Unauthorized", "OPTIONS", 1));
    tap.caller(
        12,
        request("OPTIONS", 2).branch("z9hG4bK2").header("Authorization: Digest username=\"alice\""),
    );
    tap.callee(20, response("407 Proxy Authentication Required", "OPTIONS", 2).branch("z9hG4bK2"));
    // Some forget to count.
    tap.caller(22, request("OPTIONS", 2).branch("z9hG4bK3").header(CREDENTIALS));
    // A repeat of the newest try answers nothing.
    tap.caller(23, request("OPTIONS", 2).branch("z9hG4bK3").header(CREDENTIALS));
    tap.callee(50, response("200 OK", "OPTIONS", 2).branch("z9hG4bK3"));
    assert_eq!(counted(&tap), []);
    let mut tap = tap;
    tap.wait_until(60_000);
    assert_eq!(counted(&tap), [("OPTIONS", "200", 1)]);
    let records = tap.close().transactions;
    assert_eq!((records.len(), records[0].time, records[0].delay_ms), (1, at(0), Some(50.0)));
}

#[test]
fn a_challenge_that_nobody_answers_is_the_outcome() {
    let mut tap = Tap::with(all);
    tap.caller(0, request("SUBSCRIBE", 1));
    tap.callee(10, response("401 Unauthorized", "SUBSCRIBE", 1));
    // Without credentials, for another method, or too late, it is another transaction.
    tap.caller(20, request("SUBSCRIBE", 2));
    tap.caller(30, request("PUBLISH", 2).header(CREDENTIALS));
    tap.caller(60_000, request("SUBSCRIBE", 2).branch("z9hG4bK9").header(CREDENTIALS));
    let records = tap.close().transactions;
    assert_eq!(outcomes(&records), [("SUBSCRIBE", 401), ("SUBSCRIBE", 0), ("PUBLISH", 0), ("SUBSCRIBE", 0)]);
}

/// Keep-alives of some devices have the same Call-ID and number for ever.
#[test]
fn the_same_number_after_its_time_is_another_transaction() {
    let mut tap = Tap::with(all);
    for second in [0, 30, 60] {
        tap.caller(1000 * second, request("OPTIONS", 1));
        tap.callee(1000 * second + 5, response("200 OK", "OPTIONS", 1));
    }
    assert_eq!(tap.close().transactions.len(), 3);
}

/// The proxy's copy is answered first; what the phone waits for is the answer on its own hop.
#[test]
fn on_several_hops_the_answer_on_the_first_counts() {
    let mut tap = Tap::with(all);
    let hop = |sip: Sip| sip.branch("z9hG4bKproxy");
    tap.caller(0, request("OPTIONS", 1));
    tap.udp(2, "198.51.100.1:5060", "203.0.113.1:5060", &hop(request("OPTIONS", 1)).bytes());
    tap.udp(10, "203.0.113.1:5060", "198.51.100.1:5060", &hop(response("500 Oops", "OPTIONS", 1)).bytes());
    tap.callee(20, response("503 Service Unavailable", "OPTIONS", 1));
    tap.udp(30, "203.0.113.1:5060", "198.51.100.1:5060", &hop(response("200 OK", "OPTIONS", 1)).bytes());
    let records = tap.close().transactions;
    assert_eq!((outcomes(&records), records[0].delay_ms), (vec![("OPTIONS", 503)], Some(20.0)));
}

/// RFC 3515: the NOTIFY of a REFER comes within the dialog of the INVITE.
#[test]
fn what_belongs_to_a_call_is_the_calls() {
    let mut tap = Tap::with(all);
    tap.caller(0, request("INVITE", 1));
    tap.callee(10, response("200 OK", "INVITE", 1));
    for (cseq, method) in [(2, "NOTIFY"), (3, "OPTIONS"), (4, "SUBSCRIBE"), (5, "PUBLISH")] {
        tap.caller(100, request(method, cseq));
        tap.callee(110, response("200 OK", method, cseq));
    }
    tap.caller(200, request("OPTIONS", 9).call_id("other"));
    let records = tap.close();
    assert_eq!((outcomes(&records.transactions), records.calls[0].0.messages), (vec![("OPTIONS", 0)], 10));
}

/// RFC 6035: a report comes under a Call-ID of its own and names that of the call.
#[test]
fn a_quality_report_is_a_transaction_of_its_own() {
    let mut tap = Tap::with(all);
    let body = "VQSessionReport: CallTerm\r\nCallID: call\r\nLocalMetrics:\r\n";
    tap.caller(0, request("PUBLISH", 1).call_id("report").body("application/vq-rtcpxr", body));
    tap.callee(10, response("200 OK", "PUBLISH", 1).call_id("report"));
    let records = tap.close().transactions;
    assert_eq!((outcomes(&records), records[0].call_id.as_str()), (vec![("PUBLISH", 200)], "report"));
}

/// A record counts with its texts.
#[test]
fn the_ceiling_of_memory_holds_for_all() {
    let mut tap = Tap::with(|config| {
        config.max_messages = 10_000;
        config.memory = 1 << 20;
        all(config);
    });
    for number in 0..2_000 {
        tap.caller(0, request("OPTIONS", number).header(&format!("User-Agent: {}", "x".repeat(250))));
    }
    let counters = tap.engine.counters();
    assert!(counters.messages_evicted > 1_500, "{}", counters.messages_evicted);
    assert_eq!(counters.messages_refused, 0);
    assert_eq!(tap.close().transactions.len(), 2_000);
}
