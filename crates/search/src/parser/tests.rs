use ringtap_model::Nanos;
use ringtap_testing::samples;

use super::*;
use crate::context::Site;
use crate::value::TimeSpan;

/// 2026-11-21 16:00 UTC.
fn context() -> Context {
    let mut context = Context::utc(Nanos::from_secs(1_795_276_800));
    context.lists.insert("vip".into(), vec!["*0138".into(), "+4420*".into()]);
    context.lists.insert("hosts".into(), vec!["192.0.2.7".into(), "10.1".into()]);
    let site = |name: &str, networks: &[&str], span| Site {
        name: name.to_owned(),
        networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
        span,
    };
    // 2026-11-21 00:00 UTC.
    let moved = Some(Nanos::from_secs(1_795_219_200));
    context.sites = Some(vec![
        site("Lyon", &["10.1.0.0/16", "2001:db8::/32"], TimeSpan::ALL),
        site("Paris", &["10.2.0.0/16"], TimeSpan { from: None, to: moved }),
        site("Paris", &["10.3.0.0/16"], TimeSpan { from: moved, to: None }),
    ]);
    context
}

fn read(text: &str) -> Expression {
    parse(text, &context()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(text: &str, printed: &str, words: &str) {
    let expression = read(text);
    assert_eq!(expression.to_string(), printed, "{text}");
    assert_eq!(read(printed), expression, "{text}");
    assert_eq!(expression.in_words(&context()), words, "{text}");
}

#[test]
fn bare_words_guess_their_field() {
    for (text, printed, words) in [
        ("", "", "all calls"),
        (
            "0138 at:15:00 -state:completed",
            "number:[*0138,0138*] at:2026-11-21T15:00:00Z..2026-11-21T15:01:00Z -state:completed",
            "calls from or to a number that begins or ends with 0138, up at 15:00, not completed",
        ),
        ("+4420", "number:+4420*", "calls from or to a number that begins with +4420"),
        ("*0138", "number:*0138", "calls from or to a number that ends in 0138"),
        ("tel:+44-20", "number:+44-20*", "calls from or to a number that begins with +44-20"),
        ("192.0.2", "ip:\"192.0.2.0/24\"", "calls with 192.0.2.0/24 in signalling or media"),
        ("fe80::1", "ip:\"fe80::1/128\"", "calls with fe80::1 in signalling or media"),
        (
            "sip:alice@example.org",
            "callid:alice@example.org or uri:alice@example.org",
            "calls either with Call-ID alice@example.org or with SIP address alice@example.org",
        ),
        ("4f2a19…", "callid:4f2a19*", "calls with a Call-ID that begins with 4f2a19"),
        ("yealink", "text:yealink", "calls with \"yealink\" in a text"),
        ("\"not here\"", "text:\"not here\"", "calls with \"not here\" in a text"),
        (
            "Failed one_way G.729",
            "state:failed note:one_way codec:G.729",
            "calls failed, with note one_way, with codec G.729 in a stream",
        ),
        ("problems", "problem:yes", "calls with a problem"),
        ("-problem:yes", "-problem:yes", "calls without a problem"),
        ("yesterday", "at:2026-11-20T00:00:00Z..2026-11-21T00:00:00Z", "calls up on 2026-11-20"),
        ("-2h", "at:2026-11-21T14:00:00Z..2026-11-21T16:00:00Z", "calls up from 14:00 to 16:00"),
    ] {
        check(text, printed, words);
    }
}

#[test]
fn fields_are_understood_and_read_back() {
    for (text, printed, words) in [
        (
            "began:\"yesterday 15:00\"..16:00",
            "began:2026-11-20T15:00:00Z..2026-11-20T16:00:00Z",
            "calls begun from 2026-11-20 15:00 to 16:00",
        ),
        (
            "began:-24h",
            "began:2026-11-20T16:00:00Z..2026-11-21T16:00:00Z",
            "calls begun from 2026-11-20 16:00 to 2026-11-21 16:00",
        ),
        ("ended > -10m", "ended:2026-11-21T15:50:00.000001Z..", "calls ended since 15:50:00.000001"),
        (
            "pdd>3s dur:1m..5m",
            "pdd>3s dur:60s..300s",
            "calls with post-dial delay over 3 s, with duration from 1 min to 5 min",
        ),
        (
            "code:[486,5xx] code>=400",
            "code:[486,500..599] code:400..699",
            "calls with final code 486 or from 500 to 599, with final code from 400 to 699",
        ),
        (
            "stream(codec:G729 loss>2%)",
            "stream(codec:G729 loss>2)",
            "calls with one stream with codec G729 and with loss over 2 %",
        ),
        ("from:* -to:*", "from:* -to:*", "calls with a caller, without a callee"),
        (
            "a or b c",
            "text:a or text:b text:c",
            "calls either with \"a\" in a text or with \"b\" in a text and with \"c\" in a text",
        ),
        (
            "(from:1 or to:2) not (code:486 or code:487)",
            "(from:1 or to:2) -(code:486 or code:487)",
            "calls either from 1 or to 2, neither with final code 486 nor with final code 487",
        ),
        (
            "number:$vip $hosts",
            "number:$vip ip:$hosts",
            "calls from or to one of the 2 of the list vip, \
             with one of the 2 of the list hosts in signalling or media",
        ),
        ("to:\"*72\" to:*\"*\"", "to:\"*72\" to:*\"*\"", "calls to *72, to a number that ends in *"),
        (
            "ip:192.0.2.7:5060",
            "ip:\"192.0.2.7:5060\"",
            "calls with 192.0.2.7 port 5060 in signalling or media",
        ),
        (
            "mos:<3 NET:10.1",
            "mos<3 ip:\"10.1.0.0/16\"",
            "calls with MOS below 3, with 10.1.0.0/16 in signalling or media",
        ),
        (
            "retrans:3 recorded:FULL attest:a",
            "retrans:3 recorded:full attest:A",
            "calls with count of retransmissions 3, of which was recorded: full, with attestation A",
        ),
        (
            "stream(direction:callee_to_caller) hangup:[caller,network]",
            "stream(direction:callee_to_caller) hangup:[caller,network]",
            "calls with one stream from callee to caller, released by the caller or network",
        ),
    ] {
        check(text, printed, words);
    }
}

#[test]
fn mistakes_name_place_and_remedy() {
    let deep = "(".repeat(40) + "x" + &")".repeat(40);
    let many = format!("code:[{}]", vec!["486"; 201].join(","));
    for (text, column, length, problem, remedy) in [
        ("state:failled", 7, 7, "`failled` is no value of `state`", "write failed"),
        ("x fron:1", 3, 4, "no field `fron`", "write from"),
        ("foo:bar", 1, 3, "no field `foo`", "quote it"),
        ("site:rome", 6, 4, "no such site", "one of Lyon, Paris"),
        ("site:pariss", 6, 6, "no such site", "write Paris"),
        ("site>lyon", 1, 4, "no order", "site:lyon"),
        ("stream(site:lyon)", 8, 4, "about the call", "outside"),
        ("h.x-route:a", 1, 9, "cannot be searched", "header fields"),
        ("sensor:a", 1, 6, "cannot be searched", "this one"),
        ("from>3", 6, 1, "no order", "from:+4420*"),
        ("code>[1,2]", 7, 3, "a list has no order", "one value"),
        ("mos:abc", 5, 3, "`abc` is no value", "3.5"),
        ("code:busy", 6, 4, "`busy`", "4xx"),
        ("at:25:00", 4, 5, "`25:00`", "14:03"),
        ("began:today..yesterday", 7, 16, "ends before it begins", "14:00..15:00"),
        ("dur:5m..1m", 5, 6, "ends below", "1..5"),
        ("(a or b", 1, 1, "not closed", "`)`"),
        ("a)", 2, 1, "closes nothing", "leave it out"),
        ("()", 2, 1, "before `)`", "field:value"),
        ("a or", 3, 2, "behind `or`", "quote it"),
        ("or a", 1, 2, "before it", "quote it"),
        ("a not", 3, 3, "behind `not`", "quote it"),
        ("stream(from:1)", 8, 4, "about the call", "outside"),
        ("stream(stream(loss>1))", 8, 7, "within stream", "beside"),
        ("stream(yealink)", 8, 7, "about the call", "outside"),
        ("number:$x", 8, 2, "no list `$x`", "$hosts, $vip"),
        ("ip:$vip", 4, 4, "`*0138` of the list `$vip`", "192.0.2.7"),
        ("id:12", 4, 2, "`12`", "32 hex digits"),
        ("code:[*,486]", 7, 1, "says nothing", "leave"),
        ("pdd>*", 5, 1, "cannot be compared", "pdd:*"),
        ("ip:10.1.2.3.4", 4, 10, "`10.1.2.3.4`", "192.0.2.0/24"),
        (&deep, 33, 1, "more than 32 deep", "take brackets out"),
        (&many, 1, 810, "more than 200", "named list"),
        (&"x".repeat(5_000), 1, 5_000, "longer than 4096", "less"),
    ] {
        let error = parse(text, &context()).unwrap_err();
        assert_eq!((error.column, error.length), (column, length), "{text}: {error}");
        assert!(error.problem.contains(problem) && error.remedy.contains(remedy), "{text}: {error}");
    }
}

#[test]
fn a_site_is_its_networks_at_the_time_when_they_had_the_name() {
    let lyon = "ip:[\"10.1.0.0/16\",\"2001:db8::/32\"]";
    let old = "ip:\"10.2.0.0/16\" began:..2026-11-21T00:00:00Z";
    let new = "ip:\"10.3.0.0/16\" began:2026-11-21T00:00:00Z..";
    for (text, printed) in [
        ("site:lyon", lyon.to_owned()),
        ("SITE:LYON state:failed", format!("{lyon} state:failed")),
        ("site:paris", format!("{old} or {new}")),
        ("site:p*", format!("{old} or {new}")),
        ("site:[lyon,paris] code:486", format!("({lyon} or {old} or {new}) code:486")),
        ("-site:*", format!("-({lyon} or {old} or {new})")),
    ] {
        assert_eq!(read(text), read(&printed), "{text}");
        assert_eq!(read(text).to_string(), printed, "{text}");
    }
    assert_eq!(
        read("site:paris").in_words(&context()),
        "calls either with 10.2.0.0/16 in signalling or media and begun before 00:00 \
         or with 10.3.0.0/16 in signalling or media and begun since 00:00"
    );
    let error = parse("site:lyon", &Context::utc(Nanos::ZERO)).unwrap_err();
    assert!(error.problem.contains("no network has a name"), "{error}");
    assert!(["ip:192.0.2.0/24", "page Sites"].iter().all(|part| error.remedy.contains(part)), "{error}");
}

#[test]
fn where_sites_are_not_known_any_name_can_be_one_and_mistakes_are_still_mistakes() {
    let unknown = Context { sites: None, ..context() };
    let read = parse("state:failed or site:anywhere", &unknown).unwrap();
    assert_eq!(read.matches_call(&samples::call()), Some(false));
    for mistake in ["site>lyon", "stream(site:lyon)", "site:lyon state:failled"] {
        assert!(parse(mistake, &unknown).is_err(), "{mistake}");
    }
}
