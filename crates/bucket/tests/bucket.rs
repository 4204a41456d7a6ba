//! Against a server: objects come back, in parts too; errors are sentences.

mod moto;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use moto::{BUCKET, Moto, free_port};
use ringtap_bucket::{Bucket, Credentials, Keys, Settings};
use ringtap_spool::{FarError, FarStorage, UploadOutcome};

fn bucket(endpoint: String, dir: &tempfile::TempDir, change: impl FnOnce(&mut Settings)) -> Bucket {
    let file = dir.path().join("credentials");
    fs::write(&file, "aws_access_key_id = somebody\naws_secret_access_key = something\n").expect("a file");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a file");
    let mut settings = Settings {
        bucket: BUCKET.into(),
        prefix: "sensor-1".into(),
        endpoint,
        http: true,
        credentials: Credentials::File(file),
        ..Settings::default()
    };
    change(&mut settings);
    let keys = Keys::find(&settings, |_| None).expect("credentials");
    Bucket::open(settings, &keys).expect("an endpoint")
}

fn put(bucket: &Bucket, name: &str, content: &[u8]) -> Result<UploadOutcome, FarError> {
    let mut upload = bucket.upload(name, content.len() as u64)?;
    for piece in content.chunks(upload.piece()) {
        upload.put(piece.to_vec())?;
    }
    upload.finish()
}

fn sentence<T: std::fmt::Debug>(result: Result<T, FarError>) -> String {
    result.expect_err("refused").to_string()
}

#[test]
fn what_is_put_comes_back() {
    let Some(moto) = Moto::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let bucket = bucket(moto.endpoint(), &dir, |_| ());
    assert_eq!(bucket.url(), format!("s3://{BUCKET}/sensor-1"));
    // Nothing, little, and more than one part.
    let large: Vec<u8> = (0..(17 << 20) + 5u32).map(|at| (at ^ (at >> 9)) as u8).collect();
    let name = "2026-11-21/000101.250-w3-m-17.pcap";
    for content in [&[][..], b"little", &large] {
        let done = put(&bucket, name, content).expect("it is there");
        assert_eq!(done, UploadOutcome { verified: true, versioned: false }, "{}", content.len());
        assert_eq!(bucket.length(name).expect("it is there"), content.len() as u64);
    }
    assert_eq!(moto.objects(), [format!("sensor-1/{name}")]);
    assert!(moto.object(&format!("sensor-1/{name}")) == large);
    // Several close ranges are read in one request.
    let before = moto.requests("GET", ".pcap");
    let ranges = [10..20, 30..31, 0..5, 9_000_000..9_000_100];
    let read = bucket.read(name, &ranges).expect("it is there");
    for (range, bytes) in ranges.iter().zip(&read) {
        assert!(large[range.start as usize..range.end as usize] == **bytes, "{range:?}");
    }
    assert_eq!(moto.requests("GET", ".pcap") - before, 2);
    // An upload that was given up leaves nothing.
    let mut upload = bucket.upload("2026-11-21/other", large.len() as u64).expect("begun");
    upload.put(vec![0; upload.piece()]).expect("a part");
    upload.give_up();
    let (_, waiting) = moto.ask("GET", &format!("/{BUCKET}?uploads"), b"");
    assert!(!String::from_utf8_lossy(&waiting).contains("<Upload>"), "{waiting:?}");
    // A range beyond the end, and an object that does not exist.
    let end = large.len() as u64;
    assert!(bucket.read(name, &[0..1, end + 1..end + 2]).is_err());
    assert!(matches!(bucket.read("2026-11-21/other", &[0..1, 2..3]), Err(FarError::NotFound(_))));
    assert!(matches!(bucket.length("2026-11-21/other"), Err(FarError::NotFound(_))));
    let names = [name.to_owned(), "2026-11-21/other".to_owned()];
    bucket.delete(&names).expect("deleted");
    bucket.delete(&names).expect("deleted again");
    assert!(moto.objects().is_empty());
    // A bucket that keeps versions says so.
    moto.keep_versions();
    assert!(put(&bucket, name, b"kept").expect("it is there").versioned);
}

#[test]
fn a_refusal_is_a_sentence_that_says_what_to_do() {
    let Some(moto) = Moto::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let away = bucket(format!("http://127.0.0.1:{}", free_port()), &dir, |_| ());
    let told = sentence(away.read("x", &[0..1, 1..2]));
    assert!(
        told.contains("s3://recordings/sensor-1 at http://127.0.0.1") && told.contains("refused"),
        "{told}"
    );

    let other = bucket(moto.endpoint(), &dir, |settings| settings.bucket = "nobodys".into());
    for told in [sentence(put(&other, "x", b"x")), sentence(other.delete(&["x".into()]))] {
        assert!(told.contains("no such bucket"), "{told}");
    }

    moto.trust(false);
    let unknown = bucket(moto.endpoint(), &dir, |_| ());
    for told in [sentence(put(&unknown, "x", b"x")), sentence(unknown.read("x", &[0..1, 1..2]))] {
        assert!(told.contains("the credentials are refused (InvalidAccessKeyId)"), "{told}");
    }
    assert!(sentence(unknown.length("x")).contains("the credentials are refused"));
    assert!(sentence(unknown.delete(&["x".into()])).contains("the credentials are refused"));

    // Without TLS only if that is allowed.
    let plain = bucket(moto.endpoint(), &dir, |settings| settings.http = false);
    moto.trust(true);
    assert!(plain.length("x").is_err() && moto.requests("HEAD", "/x") == 1, "{:?}", plain.length("x"));
}

#[test]
fn credentials_are_looked_for_when_they_are_needed() {
    let settings = Settings {
        bucket: BUCKET.into(),
        credentials: Credentials::File("/nowhere/at/all".into()),
        ..Settings::default()
    };
    let bucket = Bucket::late(settings.clone());
    assert_eq!(bucket.url(), "s3://recordings");
    let told = sentence(bucket.length("x"));
    assert!(told.contains("/nowhere/at/all") && told.contains("spelling"), "{told}");
    assert!(Keys::find(&settings, |_| None).is_err());
    let late =
        Bucket::open(settings.clone(), &Keys::find_late(&settings, |_| None)).expect("it is not asked");
    assert_eq!(sentence(late.length("x")), told);
}
