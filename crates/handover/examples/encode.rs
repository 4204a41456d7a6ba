//! How many packets a core encodes a second, and how long that takes against copying the same octets.
//!
//! `cargo run --release -p ringtap-handover --example encode`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that measures says what it found")]

use std::hint::black_box;
use std::time::Instant;

use ringtap_handover::{
    Cin, Content, ContentKind, CountryCode, Direction, ElementId, Encoder, Identifiers, Liid, Number,
    OperatorId, PayloadKey, TimeFormat,
};
use ringtap_model::Nanos;

fn main() {
    let identifiers = Identifiers {
        liid: Liid::from_text("LI-2026-0017").unwrap(),
        authorisation: Some(CountryCode::new("DE").unwrap()),
        operator: OperatorId::new(b"operator").unwrap(),
        element: Some(ElementId::new(b"bng-7").unwrap()),
        delivery: Some(CountryCode::new("DE").unwrap()),
        point: None,
    };
    println!("{:<34}{:>8}{:>14}{:>12}", "", "octets", "PDUs/s", "x memcpy");
    for length in [214, 1_400] {
        for kind in [ContentKind::IpPacket, ContentKind::RTP] {
            let encoder = Encoder::new(identifiers, TimeFormat::MicroSeconds, None, Nanos::ZERO);
            measure(
                &format!("{kind:?}").replace("Media { frame: Ip, protocol: Rtp }", "Rtp"),
                encoder,
                kind,
                length,
            );
        }
        let key = Some(PayloadKey::Aes192([7; 24].into()));
        let encoder = Encoder::new(identifiers, TimeFormat::MicroSeconds, key, Nanos::ZERO);
        measure("Rtp, AES-192-CBC", encoder, ContentKind::RTP, length);
        let encoder = Encoder::new(identifiers, TimeFormat::Generalized, None, Nanos::ZERO);
        measure("Rtp, GeneralizedTime", encoder, ContentKind::RTP, length);
    }
}

/// The best of seven rounds of each, in turn: what else the machine does only makes a round slower.
fn measure(what: &str, mut encoder: Encoder, kind: ContentKind, length: usize) {
    let packet = vec![0x45; length];
    let mut out = Vec::with_capacity(1 << 21);
    let mut number = Number { cin: Cin(0x1234_5678), sequence: 70_000 };
    let mut pdu = || {
        let at = Nanos(1_795_529_960_000_000_000 + u64::from(number.sequence) * 20_000);
        number.sequence += 1;
        (number, Content { at, direction: Direction::FromTarget, kind, packet: black_box(&packet) })
    };
    let (first, content) = pdu();
    encoder.content(first, &content, &mut out).unwrap();
    let one = out.clone();
    let rounds = 1_000_000 / one.len();
    let (mut encoded, mut copied) = (f64::MAX, f64::MAX);
    for _ in 0..7 {
        let mut each = |work: &mut dyn FnMut(&mut Vec<u8>)| {
            let start = Instant::now();
            for _ in 0..100 {
                out.clear();
                for _ in 0..rounds {
                    work(&mut out);
                }
                black_box(&out);
            }
            start.elapsed().as_secs_f64() / (100 * rounds) as f64
        };
        encoded = encoded.min(each(&mut |out| {
            let (number, content) = pdu();
            encoder.content(number, &content, out).unwrap();
        }));
        copied = copied.min(each(&mut |out| out.extend_from_slice(black_box(&one))));
    }
    println!("{what:<34}{:>8}{:>14.0}{:>12.2}", one.len(), 1.0 / encoded, encoded / copied);
}
