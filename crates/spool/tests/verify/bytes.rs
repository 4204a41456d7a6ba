//! No byte of a spool is free: a change of any of them is found.

use std::os::unix::fs::FileExt;

use super::*;

/// A spool of one small segment, with a log of deletions.
fn small(dir: &Path, seal: bool, sign: bool) -> WriterSettings {
    let settings = WriterSettings {
        seal: seal.then(|| MasterKey::of([7; 32])),
        sign: sign.then(signer),
        span: Nanos::from_secs(60),
        ..settings(dir)
    };
    let mut writer = SpoolWriter::open(settings.clone()).expect("a spool");
    let owners = [1, 2].map(|owner| writer.begin(Category::Media, owner).expect("a place"));
    for number in 0..6u8 {
        let (data, time) = ([number; 60], START + Nanos::from_millis(u64::from(number)));
        for owner in owners {
            writer.put(owner, &Frame { time, number: 1, link: LinkType(1), wire_len: 60, data: &data });
        }
    }
    writer.close(START + Nanos::from_secs(1));
    let end = START + Nanos::from_secs(60);
    let deletions = DeletionLog::of(dir, settings.sign.clone());
    let done = forget(&[dir], None, &[2], START..end, &deletions, ORDER).expect("readable");
    assert!(done.keys + done.chunks > 0);
    settings
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[test]
fn a_change_of_any_byte_of_any_file_is_found() {
    for (seal, sign) in [(false, false), (true, false), (true, true)] {
        let dir = tempfile::tempdir().unwrap();
        let settings = small(dir.path(), seal, sign);
        let options = VerifyOptions {
            keys: settings.sign.iter().map(|signer| signer.public()).collect(),
            ..VerifyOptions::default()
        };
        let look = || verify(&[dir.path()], &options, &mut |_, _| ()).unwrap().findings;
        assert_eq!(look(), []);
        let mut kinds = Vec::new();
        for path in files(dir.path()) {
            let whole = fs::read(&path).unwrap();
            kinds.extend(path.extension().map(|kind| kind.to_string_lossy().into_owned()));
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            for (at, byte) in whole.iter().enumerate() {
                file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64).unwrap();
                let found = look();
                assert!(!found.is_empty(), "byte {at} of {}, signed: {sign}", path.display());
                file.write_all_at(&[*byte], at as u64).unwrap();
            }
        }
        kinds.sort();
        let expected: &[&str] = match (seal, sign) {
            (false, _) => &["idx", "log", "pcap"],
            (true, false) => &["idx", "keys", "log", "pcap"],
            (true, true) => &["head", "idx", "keys", "log", "open", "pcap", "seal"],
        };
        assert_eq!(kinds, expected);
        assert_eq!(look(), []);
    }
}
