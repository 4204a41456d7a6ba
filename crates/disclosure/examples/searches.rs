//! How long a request takes: a number and an address, each with a few calls, among calls of ten days.
//!
//! `cargo run --release -p ringtap-disclosure --example searches [CALLS]`
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on ends")]

use std::sync::Arc;
use std::time::Instant;

use ringtap_disclosure::{Store, search};
use ringtap_model::{Call, Endpoint, Id, Nanos, Stream};
use ringtap_store::{ImportWriter, Reader, RunningSearch};
use ringtap_testing::samples::{self, START};
use ringtap_warrant::{Category, NewRequest};

fn main() {
    let calls: u64 = std::env::args().nth(1).map_or(100_000, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    for number in 0..calls {
        let (call, streams) = made(number, calls);
        writer.call(&call, &streams).unwrap();
        streams.iter().for_each(|stream| writer.stream(stream).unwrap());
    }
    writer.close().unwrap();
    let store = Store { calls: Some(Reader::open(dir.path()).unwrap()), sessions: None };
    for subject in ["number:+441600000017", "address:10.0.0.17"] {
        let request = NewRequest {
            case_number: "C".into(),
            authority: "A".into(),
            legal_basis: "L".into(),
            received: START + Nanos::from_secs(864_000),
            from: START,
            until: START + Nanos::from_secs(864_000),
            categories: vec![Category::Telephony],
            subjects: vec![subject.parse().unwrap()],
        };
        let begin = Instant::now();
        let found = search(&store, &request, 100_000, &Arc::new(RunningSearch::new())).unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        let each = seconds * 1e6 / calls as f64;
        println!("{subject}: {} of {calls} calls in {seconds:.2} s, {each:.1} us a call", found.calls.len());
    }
}

/// A call among 10,000 subscribers, with two streams.
fn made(number: u64, calls: u64) -> (Call, Vec<Stream>) {
    let begin = START + Nanos::from_secs(863_900 * number / calls);
    // As scattered as ids are, which are hashes: by their first bytes, streams are looked up.
    let id = |kind: u64| Id(u128::from(3 * number + kind).wrapping_mul(SCATTER).to_be_bytes());
    let end = |of: u64, port| {
        let of = of % 10_000;
        Endpoint::new([10, 0, (of >> 8) as u8, of as u8].into(), port)
    };
    let (caller, callee) = (number * 7_919, number * 104_729 + 1);
    let call = Call {
        id: id(1),
        call_id: format!("{number}@x"),
        src: end(caller, 5_060),
        dst: end(callee, 5_060),
        from_user: Some(format!("+44160{:07}", caller % 10_000)),
        to_user: Some(format!("+44160{:07}", callee % 10_000)),
        ruri_user: Some(format!("+44160{:07}", callee % 10_000)),
        diverted_to: Vec::new(),
        invite: Some(begin),
        streams: vec![id(2), id(3)],
        ..samples::call()
    };
    let stream = |id, src, dst| Stream {
        id,
        call: Some(call.id),
        call_id: Some(call.call_id.clone()),
        src,
        dst,
        first: begin + Nanos::from_secs(4),
        last: begin + Nanos::from_secs(64),
        ..samples::stream()
    };
    let streams = vec![
        stream(id(2), end(caller, 4_000), end(callee, 6_000)),
        stream(id(3), end(callee, 6_000), end(caller, 4_000)),
    ];
    (call, streams)
}

/// Odd, with bits all over.
const SCATTER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
