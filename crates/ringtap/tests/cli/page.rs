//! `ringtap report`: the page, its limits, and a browser that opens a hostile one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ringtap_testing::program;

use crate::built::{Built, CALL_ID, call};
use crate::run::run;

fn report(folder: &Path, name: &str, extra: &[&str]) -> (String, String) {
    let page = folder.join(format!("{name}.html"));
    let capture = folder.join("in.pcap");
    let [capture, to] = [&capture, &page].map(|path| path.to_str().expect("a UTF-8 path"));
    let arguments = ["report", capture, "--html", to];
    let run = run(arguments.iter().chain(extra));
    assert_eq!(run.status, 0, "{}", run.err);
    (fs::read_to_string(page).expect("the page is there"), run.err)
}

#[test]
fn a_page_has_its_calls_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let mut built = Built::default();
    call(&mut built);
    built.write(&folder.path().join("in.pcap"));
    let (page, told) = report(folder.path(), "whole", &["--audio"]);
    for part in [
        CALL_ID,
        "<h1>in.pcap</h1>",
        "Answered after 2.0 s, 10.1 s long, the caller hung up.",
        ">INVITE (SDP)<",
        "aria-label=\"MOS, loss and jitter",
        "8 messages as text",
        "CSeq: 1 INVITE",
        "src=\"data:audio/",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(told.contains("1 call, ") && !told.contains("not on the page"), "{told}");

    let none = report(folder.path(), "none", &["--number", "999", "--no-messages"]).0;
    assert!(!none.contains(CALL_ID) && none.contains("1 left out by the filters"));
    let page = folder.path().join("none.html");
    let again = run(["report", page.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    assert!(again.status == 2 && again.err.contains("`--force`"), "{}", again.err);
}

#[test]
fn limits_leave_calls_in_the_table_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut built = Built::default();
    for number in 0..40_u64 {
        let invite = format!(
            "INVITE sip:602@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{number}\r\n\
             From: <sip:601@a>;tag=1\r\nTo: <sip:602@b>\r\nCall-ID: call-{number}\r\nCSeq: 1 INVITE\r\n\
             X-Long: {}\r\nContent-Length: 0\r\n\r\n",
            "x".repeat(50_000)
        );
        built.sip(number * 1_000, true, &invite);
    }
    built.write(&folder.path().join("in.pcap"));
    let (page, told) = report(folder.path(), "small", &["--size-limit", "1", "--top", "30"]);
    assert!(page.len() < 1 << 20, "{}", page.len());
    assert_eq!(page.matches("<tr data-number").count(), 30, "each has its row");
    assert!(told.contains("10 calls beyond the first 30 (`--top`)"), "{told}");
    assert!(told.contains("the text of ") && page.contains("Not on this page: 10 calls beyond"), "{told}");
}

#[test]
fn an_anonymised_page_names_nobody_and_filters_by_true_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut built = Built::default();
    call(&mut built);
    built.write(&folder.path().join("in.pcap"));
    let capture = run(["analyze", "--format", "jsonl", folder.path().join("in.pcap").to_str().unwrap()]);
    let user = capture.out.split_once("\"to_user\":\"").unwrap().1.split('"').next().unwrap().to_owned();
    let (page, _) = report(folder.path(), "masked", &["--anonymise", "--to", &user]);
    assert!(page.contains("Answered after 2.0 s") && page.contains("<h1>Anonymised capture</h1>"));
    let call_id = CALL_ID.split('@').next().unwrap();
    for name in [call_id, "192.0.2.1", "in.pcap", &format!(":{user}@"), "-&gt; 192.0.2.2:5060"] {
        assert!(!page.contains(name), "{name} is in the page");
    }
    let page = folder.path().join("x.html");
    let arguments = ["--anonymise", "--audio", "--html", page.to_str().unwrap()];
    let input = folder.path().join("in.pcap");
    let refused = run(["report", input.to_str().unwrap()].iter().chain(&arguments));
    assert!(refused.status == 2 && refused.err.contains("--keep-voice"), "{}", refused.err);
}

/// What would show in the title of the page if it ran.
const SCRIPT: &str = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>\
<svg/onload=document.title='owned'>\"onfocus=document.title='owned' autofocus x=\"</title></style></script>";

#[test]
fn nothing_of_a_hostile_capture_runs_in_a_browser() {
    if !program("chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut built = Built::default();
    let message = |line: &str, tag: &str| {
        format!(
            "{line}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
             From: \"{SCRIPT}\" <sip:{SCRIPT}@a>;tag=1\r\nTo: <sip:602@b>{tag}\r\n\
             Call-ID: {SCRIPT}@x\r\nCSeq: 1 INVITE\r\nUser-Agent: {SCRIPT}\r\n\
             P-Asserted-Identity: <sip:{SCRIPT}@c>\r\nContent-Length: 0\r\n\r\n"
        )
    };
    built.sip(0, true, &message(&format!("INVITE sip:{SCRIPT}@192.0.2.2 SIP/2.0"), ""));
    built.sip(100, false, &message(&format!("SIP/2.0 486 {SCRIPT}"), ";tag=2"));
    built.write(&folder.path().join("in.pcap"));
    let (page, _) = report(folder.path(), "hostile", &[]);
    assert!(page.contains("&lt;script&gt;document.title="), "the text is shown");

    // A working search is the proof that the page's own script ran.
    let own = folder.path().join("hostile.html");
    let run = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}#c1", own.display()))
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(dom.contains("<title>in.pcap</title>"), "something else set it: {dom:.300}");
    assert!(dom.contains("<details open"), "the page's own script opens the call of the address");
    for complaint in ["CONSOLE", "Content Security Policy", "Refused"] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(complaint)).collect();
        assert!(lines.is_empty(), "{lines:?}");
    }
}
