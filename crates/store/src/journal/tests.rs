use std::process::Command;

use ringtap_model::{Endpoint, Protocol, Recorded, Transport};

use super::*;

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(1_795_262_400 + seconds)
}

fn call(number: u8) -> Call {
    let host = Endpoint::new([192, 0, 2, number].into(), 5060);
    Call {
        id: Id([number; 16]),
        call_id: format!("{number}@192.0.2.1"),
        protocol: Protocol::Sip,
        transport: Transport::Udp,
        src: host,
        dst: host,
        from_user: Some("221".into()),
        from_host: None,
        from_display: None,
        to_user: None,
        to_host: None,
        ruri_user: None,
        ruri_host: None,
        asserted_identity: None,
        diverted_to: Vec::new(),
        conversation: None,
        joins: Vec::new(),
        links: Vec::new(),
        trunk_from: None,
        trunk_to: None,
        attestation: None,
        identity_status: None,
        origination_id: None,
        state: CallState::Trying,
        final_code: 0,
        final_reason: None,
        cause: None,
        released_by: None,
        invite: Some(at(u64::from(number))),
        trying: None,
        ringing: None,
        answer: None,
        end: None,
        pdd_ms: None,
        duration_ms: None,
        sdd_ms: None,
        messages: 1,
        retransmissions: 0,
        user_agent_caller: None,
        user_agent_callee: None,
        streams: Vec::new(),
        mos: None,
        mos_worst_interval: None,
        dtmf: Vec::new(),
        capture_drops: 0,
        recorded: Recorded::None,
        recorded_packets: None,
        recorded_missing: None,
        recorded_empty: None,
        unmonitored_ms: None,
        quality_reports: Vec::new(),
        notes: Vec::new(),
        identity: None,
    }
}

fn answered(number: u8, seconds: u64) -> Call {
    Call { state: CallState::Active, answer: Some(at(seconds)), final_code: 200, ..call(number) }
}

fn records(recovered: Recovered) -> Vec<Call> {
    recovered.calls.into_iter().map(|call| call.record).collect()
}

fn recover(path: &Path) -> Vec<Call> {
    records(Journal::open(path).unwrap().1)
}

#[test]
fn what_had_begun_and_not_ended_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut journal, recovered) = Journal::open(&path).unwrap();
    assert!(recovered.calls.is_empty());
    journal.begin(at(1), &call(1)).unwrap();
    journal.begin(at(2), &call(2)).unwrap();
    journal.begin(at(3), &call(3)).unwrap();
    journal.begin(at(5), &answered(2, 5)).unwrap();
    let released = Call { state: CallState::Failed, end: Some(at(4)), ..call(4) };
    journal.begin(at(5), &released).unwrap();
    journal.end(&Id([1; 16])).unwrap();
    journal.end(&Id([9; 16])).unwrap();
    journal.mark(at(65)).unwrap();
    journal.mark(at(60)).unwrap();
    assert_eq!(journal.calls(), 3);

    let calls = recover(&path);
    let as_known = |call: Call, duration_ms| Call {
        state: CallState::Interrupted,
        end: Some(at(65)),
        duration_ms,
        ..call
    };
    let expected = [as_known(answered(2, 5), Some(60_000.0)), as_known(call(3), None), released];
    assert_eq!(calls, expected);

    // Until each is durable it is told again, with the same end, whatever the time is by then.
    let (mut journal, recovered) = Journal::open(&path).unwrap();
    assert_eq!(records(recovered), expected);
    journal.begin(at(900), &call(5)).unwrap();
    journal.end(&Id([2; 16])).unwrap();
    let calls = recover(&path);
    assert_eq!(calls[..2], expected[1..]);
    assert_eq!((calls[2].call_id.as_str(), calls[2].end), ("5@192.0.2.1", Some(at(900))));
}

/// Cut anywhere, what comes before the cut holds.
#[test]
fn torn_at_every_byte() {
    // Some thousand journals are made durable: in memory that takes no time.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = dir.path().join("journal");
    let (mut journal, _) = Journal::open(&path).unwrap();
    let mut states = vec![(0, vec![]), (journal.bytes(), vec![])];
    for (step, expected) in [("1", vec![1]), ("2", vec![1, 2]), ("1 answered", vec![1, 2]), ("-1", vec![2])] {
        match step {
            "1" => journal.begin(at(1), &call(1)),
            "2" => journal.begin(at(2), &call(2)),
            "-1" => journal.end(&Id([1; 16])).map(|()| true),
            _ => journal.begin(at(4), &answered(1, 4)),
        }
        .unwrap();
        states.push((journal.bytes(), expected));
    }
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (end, expected) = states.iter().rfind(|(end, _)| *end <= length as u64).unwrap();
        let (_, recovered) = Journal::open(&path).unwrap();
        let numbers: Vec<u8> = recovered.calls.iter().map(|call| call.record.id.0[0]).collect();
        assert_eq!(&numbers, expected, "cut at {length}");
        assert_eq!(recovered.cut, length as u64 - end, "cut at {length}");
    }
}

/// A million entries of few calls stay a small file.
#[test]
fn bounded_by_the_calls_in_progress() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut journal, _) = Journal::open(&path).unwrap();
    let mut longest = 0;
    for round in 0..3_000_u64 {
        for number in 0..10 {
            journal.begin(at(round), &call(number)).unwrap();
        }
        journal.end(&Id([3; 16])).unwrap();
        longest = longest.max(journal.bytes());
    }
    assert!(longest < SHORT + 4_096, "{longest} bytes");
    assert_eq!(journal.calls(), 9);
    assert_eq!(recover(&path).len(), 9);
    // Nothing in progress, nothing stored.
    let (mut journal, _) = Journal::open(&path).unwrap();
    (0..10).for_each(|number| journal.end(&Id([number; 16])).unwrap());
    journal.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), MAGIC);
}

fn stream(number: u8) -> CallNote {
    let end = Endpoint::new([192, 0, 2, number].into(), 4000);
    let (first, since) = (at(number.into()), at(number.into()));
    CallNote::Stream(NotedStream { src: end, dst: end, ssrc: number.into(), payload_type: 8, first, since })
}

#[test]
fn what_was_noted_of_a_call_comes_back_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut journal, _) = Journal::open(&path).unwrap();
    journal.begin(at(1), &call(1)).unwrap();
    assert!(!journal.note(&Id([2; 16]), &stream(1)).unwrap(), "of no call");
    for note in [stream(1), CallNote::Decision(1), CallNote::State(vec![1]), stream(2), CallNote::Decision(7)]
    {
        assert!(journal.note(&Id([1; 16]), &note).unwrap());
    }
    // What is known of the call later leaves the notes alone.
    journal.begin(at(2), &answered(1, 2)).unwrap();
    let expected = [stream(1), CallNote::State(vec![1]), stream(2), CallNote::Decision(7)];
    for _ in 0..2 {
        let (_, recovered) = Journal::open(&path).unwrap();
        assert_eq!((recovered.calls.len(), &recovered.calls[0].notes[..]), (1, &expected[..]));
    }
}

#[test]
fn notes_are_bounded_and_stay_when_the_file_is_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut journal, _) = Journal::open(&path).unwrap();
    journal.begin(at(1), &call(1)).unwrap();
    let noted = (0..200).filter(|number| journal.note(&Id([1; 16]), &stream(*number)).unwrap()).count();
    assert_eq!(noted, MOST_NOTES);
    let mut longest = 0;
    for round in 0..2_000_u64 {
        journal.begin(at(round), &call(2)).unwrap();
        journal.note(&Id([2; 16]), &stream(1)).unwrap();
        journal.note(&Id([2; 16]), &CallNote::Decision(1)).unwrap();
        journal.end(&Id([2; 16])).unwrap();
        longest = longest.max(journal.bytes());
    }
    assert!(longest < SHORT + 8_192, "{longest} bytes");
    let (_, recovered) = Journal::open(&path).unwrap();
    assert_eq!((recovered.calls.len(), recovered.calls[0].notes.len()), (1, MOST_NOTES));
    assert_eq!(recovered.calls[0].notes[63], stream(63));
}

/// As many calls as have room are read, and none more is entered: whoever writes the file fills no memory.
#[test]
fn calls_beyond_the_bound_are_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut journal, _) = Journal::open(&path).unwrap();
    for number in 0..10 {
        assert!(journal.begin(at(1), &call(number)).unwrap());
        assert!(journal.note(&Id([number; 16]), &stream(number)).unwrap());
    }
    let room = journal.needed / 2;
    drop(journal);
    let (mut journal, recovered) = Journal::open_up_to(&path, room).unwrap();
    assert_eq!((recovered.calls.len(), recovered.refused), (5, 10));
    assert!(!journal.begin(at(2), &call(11)).unwrap() && !journal.note(&Id([1; 16]), &stream(9)).unwrap());
    journal.end(&Id([0; 16])).unwrap();
    assert!(journal.begin(at(2), &call(11)).unwrap() && journal.needed <= room);
}

/// What another program wrote is no call: an entry under another id, one that is no JSON, a pipe.
#[test]
fn what_is_no_journal_of_calls_is_left_out_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut foreign = begin_entry(at(1), &call(1));
    foreign[9..25].fill(7);
    let mut torn = begin_entry(at(2), &call(2));
    torn.truncate(60);
    let [short, empty, unknown]: [&[u8]; 3] = [&[BEGUN, 1, 2], &[], b"?"];
    let entries = [&foreign[..], &torn, short, empty, unknown, &begin_entry(at(3), &call(3))];
    EntryFile::create(&path, MAGIC).unwrap().append(entries).unwrap();
    let calls = recover(&path);
    assert_eq!(calls.iter().map(|call| call.id.0[0]).collect::<Vec<_>>(), [3]);
    // A pipe that nobody writes to would be waited for for ever.
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(Journal::open(&pipe), Err(Error::NotOurs { .. })));
}
