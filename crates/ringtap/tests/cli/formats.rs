//! Messages as large as few write them.

use std::path::Path;

use ringtap_capture::Capture;

use crate::run::{Run, run};

fn case(name: &str) -> String {
    format!("{}/../../cases/{name}/in.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn done(run: Run) -> String {
    assert_eq!(run.status, 0, "{run:?}");
    run.out
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The INVITE has 51 segments; what is left out are six segments that open and close the connection.
#[test]
fn a_message_beyond_64_kib_is_taken_out_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (capture, out) = (case("tcp-long-message"), folder.path().join("out.pcap"));
    done(run(["extract", &capture, "--call", "long@example.com", "--pcap", text(&out)]));
    let frames = |path: &Path| Capture::open(path, None).expect("a capture").frames().owned();
    let (all, taken) = (frames(Path::new(&capture)), frames(&out));
    assert_eq!(taken.len() + 5, all.len());
    let bytes = |from: &[u8]| taken.iter().filter(|frame| frame.data.ends_with(from)).count();
    assert_eq!(bytes(b"--edge--\r\n"), 1, "the end of the message");
    let ladder = |path: &str| done(run(["call", "long@example.com", path]));
    assert_eq!(ladder(&capture), ladder(text(&out)), "the same call");
    assert!(!ladder(&capture).contains("inner@"), "{}", ladder(&capture));
}
