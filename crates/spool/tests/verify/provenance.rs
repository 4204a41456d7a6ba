//! Whose seals count, what other places remember of a chain, and what was there before segments were signed.

use super::*;

fn faults(report: &VerifyReport) -> Vec<(&str, &Fault)> {
    report.findings.iter().map(|finding| (finding.place.as_str(), &finding.fault)).collect()
}

fn foreign_signer() -> Arc<Signer> {
    Arc::new(Signer::of(&[66; 32]))
}

/// The same traffic, signed by somebody else. It has longer chains.
fn forgery() -> Case {
    let case = Case::with(|settings| WriterSettings { sign: Some(foreign_signer()), ..settings });
    for round in 1..4 {
        let settings = WriterSettings { sign: Some(foreign_signer()), ..settings(&case.dir) };
        write(settings, START + Nanos::from_secs(100 * round), 6);
    }
    case
}

/// Makes the newest segment one that a kill left open.
fn kill(case: &Case, dir: &Path) -> Segment {
    let all = of(dir, Category::Media);
    let (before, last) = (&all[all.len() - 2], &all[all.len() - 1]);
    fs::copy(before.seal_path(&case.dir), dir.join("w0-m.head")).expect("a seal");
    fs::remove_file(last.index_path(dir)).expect("an index");
    fs::remove_file(last.seal_path(dir)).expect("a seal");
    last.clone()
}

/// The packets that are read, and the segments that are left out.
fn packets(dir: &Path, keys: &[PublicKey]) -> (usize, Vec<Segment>) {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(MasterKey::of([7; 32]));
    if !keys.is_empty() {
        reader.trust(keys).expect("a directory");
    }
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let found = reader.read(&[1, 4, 7], &segments).expect("readable");
    (found.len(), reader.foreign().cloned().collect())
}

#[test]
fn a_seal_of_another_key_does_not_shift_the_chain() {
    let (case, forgery) = (Case::new(), forgery());
    let forged = of(&forgery.dir, Category::Media).pop().expect("a segment");
    let dir = case.copied();
    let open = kill(&case, dir);
    // With a higher number than any here; also beside the segment that is open.
    for path in forged.files(&forgery.dir) {
        let to = dir.join(path.strip_prefix(&forgery.dir).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(path, to).unwrap();
    }
    fs::copy(forged.seal_path(&forgery.dir), open.seal_path(dir)).unwrap();
    write(settings(dir), START + Nanos::from_secs(1_000), 3);
    assert!(!dir.join("quarantine").exists());
    let report = look(dir);
    assert_eq!(faults(&report), [(forged.as_str(), &Fault::Key(foreign_signer().public()))]);
    assert_eq!(report.recovered, 1);
    // Nor does a head.
    let dir = case.copied();
    let open = kill(&case, dir);
    fs::copy(forgery.dir.join("w0-m.head"), dir.join("w0-m.head")).unwrap();
    write(settings(dir), START + Nanos::from_secs(1_000), 3);
    assert_eq!((look(dir).findings, look(dir).recovered), (vec![], 1));
    assert!(open.seal_path(dir).exists());
}

#[test]
fn lost_seals_are_reported_at_the_start_and_not_given_again() {
    let case = Case::new();
    let known: Vec<KnownHead> =
        look(&case.dir).heads.iter().map(|head| head.noted().parse().expect("a head")).collect();
    let all = of(&case.dir, Category::Media);
    let newest = all.len() as u64 - 1;
    let start = |dir: &Path, heads: &[KnownHead]| {
        let settings = WriterSettings { known_heads: heads.to_vec(), ..settings(dir) };
        let writer = SpoolWriter::open(settings).expect("a spool");
        let found = writer.written().disagreements();
        writer.close(START);
        found
    };
    assert_eq!(start(case.copied(), &known), []);
    for gone in 1..=all.len() {
        let dir = case.copied();
        let left = all.len() - gone;
        for path in all[left..].iter().flat_map(|segment| segment.files(dir)) {
            fs::remove_file(path).unwrap();
        }
        match left.checked_sub(1) {
            Some(last) => drop(fs::copy(all[last].seal_path(dir), dir.join("w0-m.head")).unwrap()),
            None => fs::remove_file(dir.join("w0-m.head")).unwrap(),
        }
        let found = start(dir, &known);
        let fault = Fault::CutBack { newest: left.checked_sub(1).map(|last| last as u64), number: newest };
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].place.as_str(), &found[0].fault), ("w0-m.head", &fault));
        // Whoever looks later, without a head that was noted, finds the gap.
        write(
            WriterSettings { known_heads: known.clone(), ..settings(dir) },
            START + Nanos::from_secs(1_000),
            3,
        );
        let report = look(dir);
        let gap = Fault::CutOut { from: left as u64, to: newest };
        assert!(report.findings.iter().any(|finding| finding.fault == gap), "{:?}", report.findings);
    }
    // Another history.
    let other = Case::with(|settings| WriterSettings { seal: Some(MasterKey::of([8; 32])), ..settings });
    let found = start(&other.dir, &known);
    assert_eq!(found.len(), known.len());
    assert!(found.iter().all(|finding| matches!(finding.fault, Fault::OtherSeal(_))));
}

#[test]
fn what_was_there_before_segments_were_signed_is_listed_and_read_as_unproven() {
    let plain = Case::with(|settings| WriterSettings { sign: None, ..settings });
    let dir = plain.copied();
    // One of them is a copy of a call on hold, one has moved to the second directory.
    let before = segments(dir);
    let (held, moved) = (&before[0], &before[1]);
    for (segment, to) in [(held, dir.join("held")), (moved, dir.join("tier"))] {
        fs::create_dir_all(segment.path(&to).parent().unwrap()).unwrap();
        for (from, to) in segment.files(dir).into_iter().zip(segment.files(&to)) {
            drop(fs::copy(from, to));
        }
    }
    moved.files(dir).iter().for_each(|path| drop(fs::remove_file(path)));
    let all = packets(dir, &[]).0;
    for round in 1..3 {
        write(settings(dir), START + Nanos::from_secs(100 * round), 3);
        let report = look(dir);
        assert_eq!((report.findings, report.unsigned, report.held), (vec![], before.len() as u64, 1));
        let (found, foreign) = packets(dir, &[]);
        assert!(found > all && foreign.is_empty(), "{found} of more than {all}, {foreign:?}");
        let mut reader = Reader::open(dir).unwrap();
        reader.read(&[4], &before).unwrap();
        assert_eq!(reader.unproven().count(), before.len());
    }
    // What somebody puts there later is none of them, wherever it lies.
    let name = |number: u32| before[2].as_str().replace(".pcap", &format!("{number}.pcap"));
    for (number, place) in [(7, dir.to_owned()), (8, dir.join("tier")), (9, dir.join("held"))] {
        let forged: Segment = name(number).parse().unwrap();
        fs::create_dir_all(forged.path(&place).parent().unwrap()).unwrap();
        for (from, to) in [before[2].path(dir), before[2].keys_path(dir)]
            .iter()
            .zip([forged.path(&place), forged.keys_path(&place)])
        {
            fs::copy(from, to).unwrap();
        }
    }
    assert_eq!(look(dir).findings.len(), 3, "{:?}", look(dir).findings);
    let left_out = packets(dir, &[]).1;
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    // Nor does a list that somebody changed help.
    let list = fs::read_to_string(dir.join("unsigned.list")).unwrap();
    fs::write(dir.join("unsigned.list"), list.replacen("-0.pcap", "-07.pcap", 1)).unwrap();
    assert!(faults(&look(dir)).contains(&("unsigned.list", &Fault::BadUnsignedList)));
    fs::remove_file(dir.join("unsigned.list")).unwrap();
    write(settings(dir), START + Nanos::from_secs(1_000), 3);
    assert!(!dir.join("unsigned.list").exists());
}

#[test]
fn who_signs_a_forgery_himself_or_removes_the_heads_makes_no_evidence() {
    let (case, forgery) = (Case::new(), forgery());
    let whole = packets(&case.dir, &[]).0;
    let own = [signer().public()];
    let forged = of(&forgery.dir, Category::Media).pop().expect("a segment");
    // Under a worker of his own, with a chain.
    let dir = case.copied();
    let to: Segment = forged.as_str().replace("-w0-", "-w9-").parse().unwrap();
    fs::create_dir_all(to.path(dir).parent().unwrap()).unwrap();
    for (from, to) in forged.files(&forgery.dir).iter().zip(to.files(dir)) {
        fs::copy(from, to).unwrap();
    }
    fs::copy(forgery.dir.join("w0-m.head"), dir.join("w9-m.head")).unwrap();
    assert_eq!(packets(dir, &own), (whole, vec![to.clone()]));
    assert_eq!(Reader::open(dir).unwrap().head_signers().len(), 2);
    // Without heads and lists the spool is signed all the same.
    let dir = case.copied();
    for name in ["w0-m", "w0-s", "w0-p"] {
        fs::remove_file(dir.join(name).with_extension("head")).unwrap();
        fs::remove_file(dir.join(name).with_extension("open")).unwrap();
    }
    fs::create_dir_all(forged.path(dir).parent().unwrap()).unwrap();
    fs::copy(forged.path(&forgery.dir), forged.path(dir)).unwrap();
    assert_eq!(packets(dir, &[]), (whole, vec![forged.clone()]));
}

/// Segments in the second directory, and stubs of segments in far storage.
#[test]
fn forgeries_elsewhere_are_findings_and_left_out() {
    let case = Case::new();
    let plain = Case::with(|settings| WriterSettings { sign: None, seal: None, ..settings });
    let whole = packets(&case.dir, &[]).0;
    let from = &of(&plain.dir, Category::Media)[1];
    let forged: Segment = from.as_str().replace("-m-1", "-m-99").parse().unwrap();
    for place in ["tier", "far"] {
        let dir = case.copied();
        let there = dir.join(place);
        fs::create_dir_all(forged.path(&there).parent().unwrap()).unwrap();
        match place {
            "far" => {
                let stub = r#"{"bytes":1000,"all":2000,"link":1,"crc":0,"versioned":false}"#;
                fs::write(forged.path(&there).with_extension("far"), stub).unwrap();
            }
            _ => drop(fs::copy(from.path(&plain.dir), forged.path(&there)).unwrap()),
        }
        fs::copy(from.index_path(&plain.dir), forged.index_path(&there)).unwrap();
        let options = VerifyOptions { keys: vec![signer().public()], near: true, ..VerifyOptions::default() };
        let report = verify(&[dir], &options, &mut |_, _| ()).unwrap();
        assert!(faults(&report).contains(&(forged.as_str(), &Fault::Unsealed)), "{:?}", report.findings);
        assert_eq!(packets(dir, &[]), (whole, vec![forged.clone()]), "{place}");
    }
}

/// Also after a kill, and with another master key; seals of the old keys still count.
#[test]
fn a_new_signing_key_goes_on_where_the_old_one_ended() {
    let case = Case::new();
    let dir = case.copied();
    let open = kill(&case, dir);
    let new = Arc::new(Signer::of(&[5; 32]));
    let settings = WriterSettings {
        sign: Some(Arc::clone(&new)),
        known_signers: vec![signer().public()],
        ..settings(dir)
    };
    let start = START + Nanos::from_secs(1_000);
    write(WriterSettings { seal: Some(MasterKey::of([7; 32])), ..settings.clone() }, start, 3);
    // The list of open segments names the old key from now on.
    let later = start + Nanos::from_secs(100);
    let settings = WriterSettings { known_signers: Vec::new(), ..settings };
    write(WriterSettings { seal: Some(MasterKey::of([9; 32])), ..settings }, later, 3);
    let check = |keys: &[PublicKey]| {
        let options = VerifyOptions { keys: keys.to_vec(), ..VerifyOptions::default() };
        verify(&[dir], &options, &mut |_, _| ()).unwrap()
    };
    let report = check(&[signer().public(), new.public()]);
    assert_eq!((faults(&report), report.recovered), (vec![], 1));
    assert!(open.seal_path(dir).exists() && !check(&[new.public()]).findings.is_empty());
    let mut reader = Reader::open(dir).unwrap();
    let all = reader.between(Nanos::ZERO, Nanos::MAX).unwrap();
    let mut found = Vec::new();
    for key in [7, 9] {
        reader.add_key(MasterKey::of([key; 32]));
        found.push(reader.read(&[1, 4, 7], &all).unwrap().len());
    }
    assert!(found[0] > 0 && found[1] > found[0] && reader.foreign().next().is_none(), "{found:?}");
}
