use ringtap_model::filter::NumberPattern;
use ringtap_model::subscriber::{is_same_station, is_same_user};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::liid::Liid;

fn target(text: &str) -> Target {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn liid(number: usize) -> Liid {
    format!("L{number}").parse().unwrap()
}

fn matches(text: &str, name: Name<'_>) -> bool {
    let (target, liid) = (target(text), liid(0));
    !TargetIndex::new([(&target, &liid)]).find([name]).is_empty()
}

#[test]
fn a_target_is_printed_in_its_normal_form() {
    for (text, normal) in [
        ("user:Alice@example.org", "user:Alice@example.org"),
        ("user~:Alice", "user~:alice"),
        ("user~:EXAMPLE\\Alice", "user~:alice@example"),
        ("calling:00-11-22-33-44-FF", "calling:0011223344ff"),
        ("called: apn.example ", "called:apnexample"),
        ("mac:0200.5E10.0001", "mac:02:00:5e:10:00:01"),
        ("imsi:234 15 1234567890", "imsi:234151234567890"),
        ("msisdn:+44 1601 234567", "msisdn:441601234567"),
        ("msisdn:00441601234567", "msisdn:441601234567"),
        // 3GPP TS 23.003 has no example; 490154203237518 is the usual one of the Luhn digit.
        ("imei:490154203237518", "imei:49015420323751"),
        ("imei:4901542032375101", "imei:49015420323751"),
        ("imei:490154203237510", "imei:49015420323751"),
        ("address:203.0.113.7/24", "address:203.0.113.0/24"),
        ("address:203.0.113.7", "address:203.0.113.7/32"),
        ("address:2001:DB8::1/56", "address:2001:db8::/56"),
        ("address:::ffff:203.0.113.7", "address:203.0.113.7/32"),
        ("sip:Alice@Example.ORG.", "sip:alice@example.org"),
        ("sip:+441601234567@example.org", "sip:441601234567@example.org"),
        ("sip:alice@*", "sip:alice@*"),
        ("sip:*@Example.org", "sip:*@example.org"),
        ("sip:*00441@example.org", "sip:*00441@example.org"),
        ("sip:alice@example.*", "sip:alice@example.*"),
        ("number:+44160*", "number:44160*"),
        ("number:0160-123*", "number:0160123*"),
        ("number:*0044", "number:*0044"),
    ] {
        let target = target(text);
        assert_eq!(target.text().as_str(), normal);
        assert_eq!(target.text().parse(), Ok(target.clone()), "{text}");
        assert!(!format!("{target:?}").contains(&normal[7..]), "{target:?}");
    }
}

#[test]
fn what_is_no_target() {
    let long = format!("user:{}", "a".repeat(254));
    for text in [
        "",
        "alice",
        "users:alice",
        "user:",
        "user: ",
        "user:a\nb",
        &long,
        "user~:@example.org",
        "user~:a@b@c",
        "user~:A\\alice@b",
        "calling:--",
        "mac:02:00:5e:10:00",
        "mac:02:00:5e:10:00:0g",
        "mac:02:005e:10:0001",
        "imsi:12345",
        "imsi:1234567890123456",
        "imsi:23415x",
        "msisdn:alice",
        "msisdn:4416012345678901",
        "imei:490154203237517",
        "imei:4901542032375",
        "address:203.0.113.0/15",
        "address:0.0.0.0/0",
        "address:::ffff:0.0.0.0/96",
        "address:2001:db8::/31",
        "address:example.org",
        "sip:alice",
        "sip:@example.org",
        "sip:alice@",
        "sip:*",
        "sip:*@a",
        "sip:*6789",
        "sip:*alice*",
        "sip:al*ce@example.org",
        "number:*",
        "number:44*",
        "number:alice",
        "number:*123*",
        "number:1*2",
    ] {
        assert!(text.parse::<Target>().is_err(), "{text}");
    }
    for kind in TargetKind::ALL {
        let error = format!("{}:*zebra*@@", kind.name())
            .parse::<Target>()
            .map_or_else(|e| e.to_string(), |_| String::new());
        assert!(!error.contains("zebra"), "{error}");
    }
}

#[test]
fn users_to_the_letter_or_whatever_the_realm() {
    assert!(matches("user:alice@example.org", Name::User("alice@example.org")));
    assert!(!matches("user:alice@example.org", Name::User("Alice@example.org")));
    for same in ["alice", "ALICE", "alice@a.example", "A\\Alice", "a/alice", "b\\alice@a"] {
        assert!(matches("user~:alice", Name::User(same)), "{same}");
    }
    for same in ["alice@EXAMPLE.org", "example.org\\Alice", "example.org/alice", "x\\alice@example.org"] {
        assert!(matches("user~:alice@example.org", Name::User(same)), "{same}");
    }
    for other in ["alice", "alice@example.com", "alice@example.org@example.com", "bob@example.org"] {
        assert!(!matches("user~:alice@example.org", Name::User(other)), "{other}");
    }
}

#[test]
fn a_station_counts_as_what_it_is_written_as() {
    for same in ["02:00:5e:10:00:01", "02-00-5E-10-00-01", "0200.5e10.0001", "02005E100001"] {
        assert!(matches("mac:02:00:5e:10:00:01", Name::Mac(same)), "{same}");
        assert!(matches("mac:02:00:5e:10:00:01", Name::Calling(same)), "{same}");
        assert!(matches("calling:02:00:5e:10:00:01", Name::Calling(same)), "{same}");
    }
    assert!(matches("msisdn:+442079460138", Name::Calling("00442079460138")));
    assert!(matches("msisdn:+442079460138", Name::Calling("442079460138")));
    assert!(!matches("mac:44:20:79:46:01:38", Name::Calling("442079460138")), "that is a number");
    assert!(matches("mac:44:20:79:46:01:38", Name::Mac("442079460138")));
    assert!(!matches("msisdn:1122334455", Name::Calling("00-11-22-33-44-55")), "that is a MAC address");
    assert!(!matches("calling:alice", Name::Called("alice")));
    assert!(matches("imei:49015420323751", Name::Imei("4901542032375101")));
    assert!(matches("imei:49015420323751", Name::Imei("490154203237510")), "a spare digit is 0");
    assert!(matches("imsi:234151234567890", Name::Imsi("234151234567890")));
}

#[test]
fn identities_of_sip_in_any_notation() {
    for same in [
        "sip:alice@example.org",
        "sips:ALICE@EXAMPLE.org:5061;transport=tls",
        "<sip:alice:secret@example.org>",
        "alice@example.org.",
        "sip:%61lice@example.org?Subject=x@y",
        "sip:alice@example.org;maddr=a@b",
    ] {
        for text in ["sip:alice@example.org", "sip:alice@*", "sip:ali*", "sip:*ce@example.org", "sip:*.org"] {
            assert!(matches(text, Name::Sip(same)), "{text} {same}");
        }
    }
    for other in ["sip:alice@example.com", "sip:alice@example.org@evil.example", "sip:alice%40example.org@x"]
    {
        assert!(!matches("sip:alice@example.org", Name::Sip(other)), "{other}");
    }
    assert!(!matches("sip:alice@*", Name::Sip("sip:alice%40example.org@x")));
    assert!(
        matches("sip:Élise@a", Name::Sip("sip:%C3%A9lise@a"))
            && matches("sip:a%2Ab@a", Name::Sip("sip:a*b@a"))
    );
    assert!(matches("sip:alice@2001:db8::1", Name::Sip("sip:alice@[2001:DB8::1]:5060")));
    assert!(matches("sip:alice@*", Name::Sip("alice")), "credentials may have no realm");
    assert!(!matches("sip:*org", Name::Sip("georg")), "a user is no host");
    assert!(matches("sip:*@example.org", Name::Sip("sip:example.org")));
    for same in [
        "tel:+44-1601-234567",
        "sip:00441601234567@192.0.2.1;user=phone",
        "sip:+441601234567;npdi=yes@[2001:db8::1]:5060",
        "+44 (1601) 234567",
        "sip:%2B441601234567@a",
    ] {
        for text in ["number:+441601234567", "number:00441601*", "number:*4567"] {
            assert!(matches(text, Name::Sip(same)), "{text} {same}");
        }
    }
    assert!(!matches("number:+441601234567", Name::Sip("sip:01601234567@a")), "national is another");
    assert!(!matches("number:*4567", Name::Sip("sip:alice4567@a")));
    assert!(matches("sip:+441601234567@a", Name::Sip("sip:00441601234567@A")));
}

#[test]
fn addresses_are_listed_for_others_to_index() {
    let targets = ["address:203.0.113.0/24", "address:203.0.113.7", "user:a", "address:2001:db8::/56"];
    let targets: Vec<(Target, Liid)> =
        targets.iter().enumerate().map(|(at, text)| (target(text), liid(at))).collect();
    let index = TargetIndex::new(targets.iter().map(|(target, liid)| (target, liid)));
    let listed: Vec<(String, Liid)> =
        index.networks().map(|(network, liid)| (network.to_string(), liid.clone())).collect();
    let expected = [("203.0.113.0/24", 0), ("203.0.113.7/32", 1), ("2001:db8::/56", 3)];
    assert_eq!(listed, expected.map(|(text, at)| (text.to_owned(), liid(at))));
    assert_eq!(target("address:203.0.113.9/28").prefix(), Some(("203.0.113.0".parse().unwrap(), 28)));
}

#[test]
fn an_order_is_found_once_however_many_of_its_targets_match() {
    let (one, two) = (liid(1), liid(2));
    let targets = [target("sip:alice@*"), target("sip:alice@example.org"), target("user~:alice")];
    let index = TargetIndex::new(targets.iter().flat_map(|target| [(target, &two), (target, &one)]));
    let names = [Name::Sip("sip:alice@example.org"), Name::User("alice")];
    assert_eq!(index.find(names), [&one, &two]);
    assert!(TargetIndex::default().is_empty() && TargetIndex::default().find(names).is_empty());
}

/// Users and hosts of a few letters, so that many are alike.
fn user() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abAB]{1,4}",
        "[+]?[1-3]{3,6}",
        "00[1-3]{3,6}",
        "0[1-3]{3,5}",
        "[1-3]{2} [1-3]{1,3}",
        "[1-3]{2}-0[1-3]{1,3}"
    ]
}

fn host() -> impl Strategy<Value = String> {
    "[abAB]{1,3}[.][ab]{1,2}"
}

/// Compares without an index, and as the documentation says.
fn is_about(text: &str, name: &Who) -> bool {
    let (kind, value) = text.split_once(':').unwrap();
    let star = |pattern: &str, text: &str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => text.ends_with(end),
        (_, Some(beginning)) => text.starts_with(beginning),
        _ => text == pattern,
    };
    let plain = |user: &str| ringtap_model::filter::digits_of(user).unwrap_or(user.to_lowercase());
    match (kind, name) {
        ("user", Who::User(user, realm)) => {
            *value == realm.as_ref().map_or(user.clone(), |r| format!("{user}@{r}"))
        }
        ("user~", Who::User(user, realm)) => match value.split_once('@') {
            Some((u, r)) => {
                is_same_user(u, user) && realm.as_ref().is_some_and(|realm| is_same_user(r, realm))
            }
            None => is_same_user(value, user),
        },
        ("calling", Who::Station(station)) => is_same_station(value, station),
        ("number", Who::Sip(user, _)) => {
            let pattern: NumberPattern = value.parse().unwrap();
            let digits = ringtap_model::filter::digits_of(user);
            digits.is_some_and(|digits| pattern.digits().is_some_and(|pattern| pattern.matches(&digits)))
        }
        ("sip", Who::Sip(user, host)) => star(value, &format!("{}@{}", plain(user), host.to_lowercase())),
        _ => false,
    }
}

#[derive(Clone, Debug)]
enum Who {
    User(String, Option<String>),
    Station(String),
    Sip(String, String),
}

fn targets() -> impl Strategy<Value = String> {
    let digits = || "[1-3]{3,6}";
    let normal_user = || prop_oneof!["[ab]{1,4}", "[1-3]{3,6}", "0[1-3]{3,5}"];
    let normal_host = || "[ab]{1,3}[.][ab]{1,2}";
    prop_oneof![
        (user(), host()).prop_map(|(user, host)| format!("user:{user}@{host}")),
        user().prop_map(|user| format!("user~:{user}")),
        (user(), host()).prop_map(|(user, host)| format!("user~:{user}@{host}")),
        user().prop_map(|user| format!("calling:{user}")),
        (select(vec!["", "+", "00", "0"]), digits())
            .prop_map(|(pre, digits)| format!("number:{pre}{digits}")),
        (select(vec!["", "+", "00", "0"]), digits())
            .prop_map(|(pre, digits)| format!("number:{pre}{digits}*")),
        "0{0,2}[1-3]{3,4}".prop_map(|digits| format!("number:*{digits}")),
        (normal_user(), normal_host()).prop_map(|(user, host)| format!("sip:{user}@{host}")),
        (normal_user(), 3..8_usize, normal_host()).prop_map(|(user, cut, host)| {
            let mut whole = format!("{user}@{host}");
            whole.truncate(cut);
            format!("sip:{whole}*")
        }),
        (normal_user(), 0..3_usize, normal_host())
            .prop_map(|(user, from, host)| format!("sip:*{}@{host}", user.get(from..).unwrap_or_default())),
    ]
}

fn names() -> impl Strategy<Value = Who> {
    prop_oneof![
        (user(), proptest::option::of(host())).prop_map(|(user, realm)| Who::User(user, realm)),
        user().prop_map(Who::Station),
        (user(), host()).prop_map(|(user, host)| Who::Sip(user, host)),
    ]
}

proptest! {
    #[test]
    fn the_index_finds_what_comparing_with_each_target_finds(
        texts in vec(targets(), 1..40),
        names in vec(names(), 1..20),
    ) {
        let targets: Vec<(String, Target, Liid)> = texts
            .into_iter()
            .enumerate()
            .filter_map(|(at, text)| Some((text.clone(), text.parse().ok()?, liid(at))))
            .collect();
        let index = TargetIndex::new(targets.iter().map(|(_, target, liid)| (target, liid)));
        for name in names {
            let text = match &name {
                Who::User(user, None) | Who::Station(user) => user.clone(),
                Who::User(user, Some(realm)) => format!("{user}@{realm}"),
                Who::Sip(user, host) => format!("<sip:{user}@{host}:5060;x=y>"),
            };
            let found = index.find([match name {
                Who::User(..) => Name::User(&text),
                Who::Station(_) => Name::Calling(&text),
                Who::Sip(..) => Name::Sip(&text),
            }]);
            let mut expected: Vec<&Liid> =
                targets.iter().filter(|(text, ..)| is_about(text, &name)).map(|(.., liid)| liid).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected, "{:?}", name);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_and_printed_as_it_is_read(
        kind in select(TargetKind::ALL.to_vec()),
        value in prop_oneof![
            ".{0,40}",
            "[*]?([ab1.:%\\[\\]/ *]|%[0-9a-f]{2}|%c3%89|É|00|[+]){0,6}(@[a.:*\\[\\]]{0,5})?",
        ],
    ) {
        if let Ok(target) = format!("{}:{value}", kind.name()).parse::<Target>() {
            prop_assert_eq!(target.text().parse(), Ok(target.clone()));
            prop_assert_eq!(target.network().is_some(), kind == TargetKind::Address);
        }
    }

    #[test]
    fn any_name_can_be_looked_for(value in ".{0,40}") {
        let liid = liid(0);
        let targets = ["sip:ab*", "sip:*@a", "number:123*", "user~:a", "mac:02:00:5e:10:00:01", "msisdn:123"];
        let targets: Vec<Target> = targets.iter().filter_map(|text| text.parse().ok()).collect();
        let index = TargetIndex::new(targets.iter().map(|target| (target, &liid)));
        let v = value.as_str();
        let names =
            [Name::User(v), Name::Calling(v), Name::Called(v), Name::Mac(v), Name::Imei(v), Name::Sip(v)];
        prop_assert!(index.find(names).len() <= 1);
    }
}
