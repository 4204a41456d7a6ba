//! Work for each byte of input. What an input makes the engine allocate is the measure here, since it is the
//! same on every machine; `bench/instructions.json` has the instructions.

use ringtap_engine::Config;

use crate::feed::{ACK, CORE, Feed, SYN, allocated, fragment, ip, live, sip};

/// Bytes that were allocated for each byte of the frames that `packets` sends.
fn allocated_for_each_byte(packets: impl FnOnce(&mut Feed)) -> usize {
    let mut feed = Feed::new(Config::default());
    let before = allocated();
    packets(&mut feed);
    (allocated() - before) / feed.bytes
}

#[test]
fn a_header_that_comes_byte_by_byte_is_not_copied_for_each_byte() {
    let each = allocated_for_each_byte(|feed| {
        feed.tcp(0, 1_000, 0, SYN, b"");
        let head = b"INVITE sip:bob@example.com SIP/2.0\r\nX: ";
        let bytes = head.iter().copied().chain(std::iter::repeat_n(b'x', 60_000));
        bytes.zip(0..).for_each(|(byte, at)| feed.tcp(u64::from(at), 1_000, 1 + at, ACK, &[byte]));
    });
    assert!(each < 10, "{each} bytes");
}

#[test]
fn a_fragment_far_from_the_start_costs_what_it_holds() {
    let each = allocated_for_each_byte(|feed| {
        for index in 0..2_000u32 {
            let source = [10, 0, (index >> 8) as u8, index as u8];
            feed.packet(u64::from(index), &fragment(7, source, 65_000, &[0; 32]));
        }
    });
    assert!(each < 20, "{each} bytes");
}

#[test]
fn a_fragment_that_is_sent_again_and_again_is_noted_so_often_and_no_more() {
    let mut feed = Feed::new(Config::default());
    let repeat =
        |feed: &mut Feed| (0..20_000).for_each(|at| feed.packet(at, &fragment(7, CORE, 0, &[0; 32])));
    repeat(&mut feed);
    let before = live();
    repeat(&mut feed);
    assert!(live() <= before, "{} bytes more", live() - before);
}

/// As many chunks of a message as fit into a frame.
#[test]
fn a_frame_of_three_thousand_chunks_costs_what_it_holds() {
    let start = sip("INVITE sip:b@example.com SIP/2.0", "a", "1 INVITE", "\r\n");
    let chunk = |tsn: u32, flags: u8, data: &[u8]| {
        let mut chunk = vec![0, flags];
        chunk.extend(((16 + data.len()) as u16).to_be_bytes());
        chunk.extend(tsn.to_be_bytes());
        chunk.extend([0; 8]);
        chunk.extend(data);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        chunk
    };
    let mut packet = vec![0x13, 0xc4, 0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 0];
    packet.extend(chunk(0, 2, start.as_bytes()));
    (1..3_000).for_each(|tsn| packet.extend(chunk(tsn, 0, b"x")));
    let each = allocated_for_each_byte(|feed| {
        (0..100).for_each(|micros| feed.packet(micros, &ip(132, [10, 0, 0, 1], CORE, &packet)));
    });
    assert!(each < 5, "{each} bytes");
}

/// What comes out depends on the input and its order alone.
#[test]
fn records_do_not_depend_on_the_seed() {
    let records = |seed| {
        let mut feed = Feed::new(Config { seed, max_calls: 100, ..Config::default() });
        for call in 0..300u64 {
            for (step, (back, start)) in
                [(false, "INVITE sip:b@example.com SIP/2.0"), (true, "SIP/2.0 486 Busy Here")]
                    .into_iter()
                    .enumerate()
            {
                if call % 3 > 0 || step == 0 {
                    let text = sip(start, &format!("call-{call}"), "1 INVITE", "\r\n");
                    feed.sip(call * 100_000 + step as u64, back, &text);
                }
            }
            let text = sip("REGISTER sip:example.com SIP/2.0", &format!("r-{call}"), "1 REGISTER", "\r\n");
            feed.sip(call * 100_000 + 5, false, &text);
        }
        let records = feed.close();
        let calls: Vec<_> = records.calls.into_iter().map(|(call, _)| call).collect();
        format!("{calls:?} {:?}", records.registrations)
    };
    let first = records(1);
    assert!(first.contains("call-299"));
    for seed in 2..10 {
        assert!(records(seed) == first, "seed {seed}");
    }
}
