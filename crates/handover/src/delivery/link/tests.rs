use super::*;
use crate::delivery::batch::Entry;
use crate::{Identifiers, Liid, OperatorId, TimeFormat};

fn liid() -> Liid {
    Liid::from_text("A").unwrap()
}

fn encoder() -> Encoder {
    let identifiers = Identifiers {
        liid: liid(),
        authorisation: None,
        operator: OperatorId::new(b"o").unwrap(),
        element: None,
        delivery: None,
        point: None,
    };
    Encoder::new(identifiers, TimeFormat::MicroSeconds, None, Nanos::ZERO)
}

fn seconds(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// Batches of 100 octets, numbered from zero.
struct Product {
    next: u64,
    end: u64,
}

impl Product {
    fn next(&mut self) -> Option<(u64, Arc<Batch>)> {
        let number = self.next;
        (number < self.end).then(|| {
            self.next += 1;
            let entry = Entry { liid: liid(), cin: Cin(0), sequence: number as u32, length: 100 };
            (number, Arc::new(Batch { pdus: vec![number as u8; 100], entries: vec![entry] }))
        })
    }
}

fn link(window: u64) -> Link {
    Link::new(Pace { window, ..Pace::default() }, encoder(), 0)
}

/// Everything that is written at this time: numbers of batches, and sequence numbers of keep-alives.
fn write(link: &mut Link, now: Nanos, product: &mut Product) -> (Vec<u8>, Vec<u32>) {
    let (mut batches, mut asked) = (Vec::new(), Vec::new());
    while let Some(octets) = link.next_octets(now, || product.next()) {
        match octets {
            Octets::Batch(batch) => batches.push(batch.pdus[0]),
            Octets::Own(pdu) => asked.push(Pdu::decode(&pdu).unwrap().number.sequence),
        }
        link.written(now, true);
    }
    (batches, asked)
}

fn answer(link: &mut Link, now: Nanos, sequence: u32) {
    let mut pdu = Vec::new();
    encoder().mark(Number { cin: Cin(0), sequence }, now, Mark::KeepAliveResponse, &mut pdu).unwrap();
    link.received(now, &pdu);
}

fn connected(link: &mut Link, now: Nanos) {
    assert_eq!(link.poll(now), Action::Connect);
    link.connected(now);
    assert_eq!(link.poll(now), Action::Wait);
}

#[test]
fn a_window_is_sent_and_an_answer_opens_it() {
    let mut link = link(400);
    let mut product = Product { next: 0, end: 10 };
    connected(&mut link, seconds(0));
    // A keep-alive for each quarter of the window, and none beyond it.
    assert_eq!(write(&mut link, seconds(0), &mut product), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    answer(&mut link, seconds(1), 1);
    let (confirmed, arrived) = link.take_confirmed().unwrap();
    assert_eq!((confirmed, arrived.len()), (2, 2));
    assert_eq!(write(&mut link, seconds(1), &mut product).0, [4, 5]);
    // An answer that was not asked for, or comes twice, confirms nothing.
    answer(&mut link, seconds(1), 1);
    answer(&mut link, seconds(1), 77);
    assert!(link.take_confirmed().is_none());
    assert_eq!(link.counts.ignored, 2);
}

#[test]
fn without_product_a_keep_alive_is_sent_each_interval() {
    let mut link = link(1_000);
    let mut product = Product { next: 0, end: 0 };
    connected(&mut link, seconds(0));
    assert_eq!(link.deadline(), Some(seconds(60)));
    assert!(write(&mut link, seconds(59), &mut product).1.is_empty());
    assert_eq!(write(&mut link, seconds(60), &mut product).1, [0]);
    answer(&mut link, seconds(61), 0);
    assert_eq!(link.deadline(), Some(seconds(120)));
}

#[test]
fn a_single_batch_is_confirmed_a_second_later() {
    let mut link = link(1_000);
    let mut product = Product { next: 0, end: 1 };
    connected(&mut link, seconds(0));
    assert_eq!(write(&mut link, seconds(5), &mut product), (vec![0], vec![]));
    assert_eq!(link.deadline(), Some(seconds(6)));
    assert_eq!(write(&mut link, seconds(6), &mut product), (vec![], vec![0]));
    answer(&mut link, seconds(6), 0);
    assert_eq!(link.take_confirmed().unwrap().0, 1);
}

#[test]
fn who_does_not_answer_is_left_and_what_was_sent_comes_again() {
    let mut link = link(400);
    let mut product = Product { next: 0, end: 3 };
    connected(&mut link, seconds(0));
    write(&mut link, seconds(0), &mut product);
    assert_eq!(link.poll(seconds(29)), Action::Wait);
    assert_eq!(link.deadline(), Some(seconds(30)));
    assert_eq!(link.poll(seconds(30)), Action::Disconnect);
    assert_eq!(link.counts.silent, 1);
    assert_eq!(link.poll(seconds(30)), Action::Wait);
    assert_eq!(link.deadline(), Some(seconds(31)));
    assert_eq!(link.poll(seconds(31)), Action::Connect);
    link.connected(seconds(31));
    product.next = 0;
    assert_eq!(write(&mut link, seconds(31), &mut product).0, [0, 1, 2]);
    assert_eq!(link.counts.resent, 3);
}

#[test]
fn who_does_not_read_is_left() {
    let mut link = link(400);
    let mut product = Product { next: 0, end: 3 };
    connected(&mut link, seconds(0));
    assert!(link.next_octets(seconds(0), || product.next()).is_some());
    link.written(seconds(20), false);
    assert!(link.next_octets(seconds(20), || product.next()).is_none());
    assert_eq!(link.poll(seconds(49)), Action::Wait);
    assert_eq!(link.poll(seconds(50)), Action::Disconnect);
    assert_eq!(link.counts.silent, 1);
}

#[test]
fn waits_double_until_an_answer_comes() {
    let mut link = link(400);
    let mut now = seconds(0);
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert_eq!(link.poll(now), Action::Connect);
        link.connected(now);
        link.ended(now, Ended::Closed);
        let at = link.deadline().unwrap();
        waits.push((at.0 - now.0) / 1_000_000_000);
        now = at;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(link.poll(now), Action::Connect);
    link.connected(now);
    let mut product = Product { next: 0, end: 1 };
    write(&mut link, now, &mut product);
    now = Nanos(now.0 + 1_000_000_000);
    write(&mut link, now, &mut product);
    answer(&mut link, now, 0);
    link.ended(now, Ended::Closed);
    assert_eq!(link.deadline(), Some(Nanos(now.0 + 1_000_000_000)));
}

#[test]
fn keep_alives_of_the_peer_are_answered_and_other_pdus_ignored() {
    let mut link = link(400);
    connected(&mut link, seconds(0));
    let mut pdus = Vec::new();
    let number = Number { cin: Cin(0), sequence: 9 };
    encoder().mark(number, seconds(0), Mark::KeepAlive, &mut pdus).unwrap();
    encoder().mark(number, seconds(0), Mark::CinReset, &mut pdus).unwrap();
    // However the octets are cut.
    for octet in pdus {
        link.received(seconds(0), &[octet]);
    }
    assert_eq!(link.counts.ignored, 1);
    let Some(Octets::Own(answer)) = link.next_octets(seconds(0), || None) else { panic!("an answer") };
    let answer = Pdu::decode(&answer).unwrap();
    assert_eq!((answer.number, answer.payload), (number, PduPayload::Mark(Mark::KeepAliveResponse)));
}

#[test]
fn a_flood_of_keep_alives_is_not_answered_without_end() {
    let mut link = link(400);
    connected(&mut link, seconds(0));
    let mut pdu = Vec::new();
    encoder().mark(Number { cin: Cin(0), sequence: 9 }, seconds(0), Mark::KeepAlive, &mut pdu).unwrap();
    for _ in 0..10_000 {
        link.received(seconds(0), &pdu);
    }
    let Some(Octets::Own(answers)) = link.next_octets(seconds(0), || None) else { panic!("answers") };
    assert!(answers.len() < 2 * MOST_ANSWERS);
    assert!(link.counts.ignored > 9_000);
}

#[test]
fn garbage_ends_a_connection() {
    for garbage in [&b"GET / HTTP/1.1\r\n"[..], &[0x30, 0x80], &[0x30, 0x82, 0xff, 0xff], &[0; 50]] {
        let mut link = link(400);
        connected(&mut link, seconds(0));
        link.received(seconds(0), garbage);
        assert_eq!(link.poll(seconds(0)), Action::Disconnect, "{garbage:?}");
        assert_eq!(link.counts.garbage, 1);
        assert_eq!(link.deadline(), Some(seconds(1)));
    }
}
