//! The page, and hostile text in it.

use proptest::prelude::*;
use ringtap_model::{Interval, Nanos, Note, NoteCode};
use ringtap_testing::samples::{self, START, endpoint};

use super::*;
use crate::ladder::{Band, Step, StepKind};
use crate::style::Style;
use crate::text;

/// A page with one call and one loose stream, every text of which is `label`.
fn page(label: &str) -> String {
    let text = || Some(label.to_owned());
    let note = Note::new(NoteCode::OneWay, label.into());
    let call = Call {
        call_id: label.into(),
        from_user: text(),
        from_host: text(),
        from_display: text(),
        to_user: text(),
        to_host: text(),
        ruri_user: text(),
        ruri_host: text(),
        asserted_identity: text(),
        diverted_to: vec![label.into()],
        final_reason: text(),
        user_agent_caller: text(),
        user_agent_callee: text(),
        notes: vec![note.clone()],
        ..samples::call()
    };
    let stream = Stream {
        call_id: text(),
        codec: text(),
        rtcp_cname: text(),
        mos_basis: text(),
        notes: vec![note],
        ..samples::stream()
    };
    let step = Step {
        time: START,
        src: endpoint(1, 5060),
        dst: endpoint(2, 5060),
        label: label.into(),
        style: Style::Plain,
        retransmission: false,
        kind: StepKind::Message,
    };
    let band = Band {
        src: stream.src,
        dst: stream.dst,
        first: stream.first,
        last: stream.last,
        label: label.into(),
        packets: 5,
        style: Style::Good,
        reports: Vec::new(),
    };
    let message =
        MessageText { time: START, src: endpoint(1, 5060), dst: endpoint(2, 5060), text: label.into() };
    let details = CallDetails {
        call: &call,
        streams: std::slice::from_ref(&stream),
        steps: &[step],
        bands: &[band],
        remarks: &[label.to_owned()],
        messages: &[message],
        sound: Some(&Sound::File { mime: "audio/flac", data: vec![1, 2, 3], sides: label.into() }),
    };
    let mut out = Vec::new();
    let whole = Page {
        title: label,
        about: &[label.to_owned()],
        summary: &[("Calls", label.to_owned())],
        calls: &[CallEntry::new(0, &details), CallEntry::row(1, &call, &[])],
        streams: &[stream],
        left_out: &[label.to_owned()],
    };
    write(&mut out, &whole).unwrap();
    String::from_utf8(out).unwrap()
}

/// Elements and attributes of a page, in order: what text must not change.
fn skeleton(page: &str) -> Vec<String> {
    let body = page.split_once("<body>").unwrap().1;
    let mut parts = Vec::new();
    for tag in body.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let mut name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        if tag.starts_with('/') {
            name = tag.to_owned();
        }
        // Every second piece between quotes is a value.
        let attributes: String = tag.split('"').step_by(2).collect();
        parts.push(format!("{name} {}", attributes.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")));
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    parts
}

const HOSTILE: &str = "\"'></td></pre></svg></title><script>document.title='owned'</script>\
<img src=x onerror=alert(1)><svg onload=alert(1)>&lt;\u{1b}[2J\u{202e}javascript:alert(1)";

#[test]
fn markup_from_the_wire_is_text() {
    let page = page(HOSTILE);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && !page.contains("<svg onload"), "{page}");
    assert!(page.contains("&lt;script&gt;document.title="), "it is shown");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    // Long enough that nothing is cut to another length.
    let plain = "x".repeat(HOSTILE.len());
    assert_eq!(skeleton(&page), skeleton(&self::page(&plain)));
}

#[test]
fn the_policy_names_its_own_script_and_style_and_nothing_else() {
    use base64::Engine as _;
    use sha2::{Digest, Sha256};

    let page = page("x");
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for (tag, rule) in [("style", "style-src"), ("script", "script-src")] {
        let (_, inside) = page.split_once(&format!("<{tag}>")).unwrap();
        let (inside, _) = inside.split_once(&format!("</{tag}>")).unwrap();
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(inside));
        assert!(policy.contains(&format!("{rule} 'sha256-{hash}'")), "{tag}: {policy}");
        assert_eq!(page.matches(&format!("<{tag}>")).count(), 1, "{tag}");
    }
    // What the policy would refuse must not be used.
    for refused in [" style=", " onclick", "http://www.w3.org/1999/xlink", "<link rel=\"stylesheet"] {
        assert!(!page.contains(refused), "{refused}");
    }
    let fetched = page.split("src=\"").skip(1).all(|rest| rest.starts_with("data:"));
    assert!(fetched, "nothing is fetched");
}

#[test]
fn the_page_has_what_an_engineer_asks_for() {
    let page = page("x");
    for part in [
        "Answered after 4.0 s",
        "one_way",
        "aria-label=\"MOS, loss and jitter of each 10 s",
        "data:audio/flac;base64,AQID",
        "1 message",
        "href=\"#c0\"",
        "id=\"c0\"",
        "Not on this page: x",
        "Streams without signalling",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("href=\"#c1\""), "there is no section to go to");
    assert!(page.contains("Calls without a link are in the table alone."));
}

#[test]
fn a_long_stream_has_a_bounded_chart() {
    let interval = samples::stream().intervals[0].clone();
    let intervals: Vec<Interval> = (0..20_000)
        .map(|index| Interval { start: START + Nanos::from_secs(10 * index), ..interval.clone() })
        .collect();
    let last = intervals.last().unwrap().start;
    let stream = Stream { first: START, last, intervals, ..samples::stream() };
    let body = stream::body(&stream, (START, last)).into_string();
    assert!(body.matches("<rect").count() <= 3 * 360 + 1, "{}", body.matches("<rect").count());
    assert!(body.matches("<tr>").count() <= 361 && body.contains("more intervals are in the chart alone"));
    assert!(!body.contains("NaN") && !body.contains("inf"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_leaves_the_markup_as_it_is(label in "[ -~\u{80}-\u{2fff}\n\r\t\u{0}]{0,40}") {
        let page = page(&label);
        prop_assert!(!page.chars().any(|c| text::hostile(c) && c != '\n'));
        // Where a text is cut or empty, an element more or less holds it: only whole ones of the page's own.
        let known = skeleton(&self::page(HOSTILE));
        for part in skeleton(&page) {
            let name = part.split(' ').next().unwrap_or_default();
            prop_assert!(known.iter().any(|known| known.split(' ').next() == Some(name)), "{}", part);
        }
        prop_assert_eq!(page.matches("<script").count(), 1);
    }
}
