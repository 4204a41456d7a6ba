//! Properties of scopes and rights.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_access::{Limit, Right, Rights, Role, Scope};
use ringtap_model::Call;

fn trunks() -> impl Strategy<Value = Vec<String>> {
    vec("[ab]{1,2}\\*?|\\*[ab]", 0..3)
}

fn numbers() -> impl Strategy<Value = Vec<String>> {
    vec("\\+?[12]{1,3}\\*?|\\*[12]", 0..3)
}

fn scope() -> impl Strategy<Value = Scope> {
    (trunks(), numbers()).prop_map(|(trunks, numbers)| Scope::parse(&trunks, &numbers).unwrap())
}

fn subject() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    (vec("[ab]{0,3}", 0..3), vec("(\\+|00)?[12]{0,4}|[ab]{1,2}", 0..3))
}

fn has(scope: &Scope, (trunks, numbers): &(Vec<String>, Vec<String>)) -> bool {
    let texts = |list: &[String]| list.iter().map(String::clone).collect::<Vec<_>>();
    let (trunks, numbers) = (texts(trunks), texts(numbers));
    let trunks: Vec<&str> = trunks.iter().map(String::as_str).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    scope.has(&trunks, &numbers)
}

fn rights() -> impl Strategy<Value = Rights> {
    vec(prop::sample::select(Right::ALL.to_vec()), 0..9).prop_map(|rights| rights.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What two scopes have in common is what is in both, in any order, however often.
    #[test]
    fn narrowing_is_what_is_in_both(a in scope(), b in scope(), c in scope(), subject in subject()) {
        prop_assert_eq!(has(&a.and(&b), &subject), has(&a, &subject) && has(&b, &subject));
        prop_assert_eq!(has(&a.and(&b), &subject), has(&b.and(&a), &subject));
        prop_assert_eq!(has(&a.and(&b).and(&c), &subject), has(&a.and(&b.and(&c)), &subject));
        prop_assert_eq!(a.and(&a), a.clone());
        prop_assert_eq!(Scope::everything().and(&a), a.clone());
        prop_assert_eq!(a.and(&Scope::everything()), a);
    }

    /// Nothing that a narrowed scope lets through was outside before.
    #[test]
    fn narrowing_never_widens(a in scope(), b in scope(), subject in subject()) {
        prop_assert!(!has(&a.and(&b), &subject) || has(&a, &subject));
    }

    /// A scope is the same after it was stored.
    #[test]
    fn a_scope_survives_json(a in scope(), b in scope(), subject in subject()) {
        let scope = a.and(&b);
        let text = serde_json::to_string(&scope).unwrap();
        let read: Scope = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(has(&read, &subject), has(&scope, &subject), "{}", text);
        prop_assert_eq!(read, scope);
    }

    /// Everything is in the scope of everything, and what has neither trunk nor number in no other.
    #[test]
    fn what_is_not_known_is_outside(a in scope(), subject in subject()) {
        prop_assert!(has(&Scope::everything(), &subject));
        prop_assert_eq!(has(&a, &(vec![], vec![])), a.is_everything());
    }

    /// A call is in the scope of each of its parties, and of no other number.
    #[test]
    fn a_call_is_in_the_scope_of_its_parties(users in vec("[12]{2,3}", 5), number in "[12]{2,3}") {
        let call = Call {
            from_user: Some(users[0].clone()),
            to_user: Some(users[1].clone()),
            ruri_user: Some(users[2].clone()),
            asserted_identity: Some(users[3].clone()),
            diverted_to: vec![users[4].clone()],
            trunk_from: None,
            trunk_to: Some("ab".to_owned()),
            ..ringtap_testing::samples::call()
        };
        let scope = Scope::parse(&[], std::slice::from_ref(&number)).unwrap();
        prop_assert_eq!(scope.has_call(&call), users.contains(&number));
        let both = Scope::parse(&["a*".to_owned()], std::slice::from_ref(&number)).unwrap();
        prop_assert_eq!(both.has_call(&call), users.contains(&number));
        let (trunk_from, trunk_to) = (call.trunk_to.clone(), Some("b".to_owned()));
        let turned = Call { trunk_from, trunk_to, ..call.clone() };
        prop_assert_eq!(both.has_call(&turned), users.contains(&number));
        for trunk_to in [None, Some("b".to_owned())] {
            let outside = Call { trunk_to, ..call.clone() };
            prop_assert!(!both.has_call(&outside));
        }
    }

    #[test]
    fn rights_in_common_are_those_in_both(a in rights(), b in rights()) {
        for right in Right::ALL {
            prop_assert_eq!(a.and(b).has(right), a.has(right) && b.has(right));
        }
        let text = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<Rights>(&text).unwrap(), a);
    }
}

#[test]
fn every_role_and_right_has_one_name() {
    for role in Role::ALL {
        assert_eq!(role.to_string().parse::<Role>().unwrap(), role);
        assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        assert!(role.rights().has(Right::Search), "{role}");
    }
    for right in Right::ALL {
        assert_eq!(right.to_string().parse::<Right>().unwrap(), right);
        assert_eq!(serde_json::to_string(&right).unwrap(), format!("\"{right}\""));
        assert!(Role::Administrator.rights().has(right));
        let others = Role::ALL.into_iter().filter(|role| role.rights().has(right)).count();
        assert!(others < Role::ALL.len() || right == Right::Search, "{right} is no distinction");
    }
    assert!("root".parse::<Role>().unwrap_err().contains("administrator"));
    assert!("all".parse::<Right>().unwrap_err().contains("signalling"));
}

/// `RINGTAP_BLESS=1` writes the table anew.
#[test]
fn the_manual_says_what_each_role_may_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/people.md");
    let page = std::fs::read_to_string(path).unwrap();
    let start = page.find("| right | permits |").expect("the table is there");
    let end = start + page[start..].find("\n\n").expect("the table ends") + 1;
    let mut table = "| right | permits |".to_owned();
    table.extend(Role::ALL.map(|role| format!(" {role} |")));
    table += &format!("\n|{}\n", "---|".repeat(2 + Role::ALL.len()));
    for right in Right::ALL {
        table += &format!("| `{right}` | {} |", right.meaning());
        table.extend(Role::ALL.map(|role| if role.rights().has(right) { " yes |" } else { " - |" }));
        table.push('\n');
    }
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::write(path, [&page[..start], &table, &page[end..]].concat()).unwrap();
    } else {
        assert_eq!(&page[start..end], table, "write it again with RINGTAP_BLESS=1");
    }
}

#[test]
fn a_text_that_is_no_pattern_is_named() {
    let error = Scope::parse(&[String::new()], &[]).unwrap_err().to_string();
    assert!(error.contains("trunks") && error.contains("`*`"), "{error}");
    assert!(serde_json::from_str::<Scope>(r#"[{"trunks": [""], "numbers": null}]"#).is_err());
    assert!(serde_json::from_str::<Scope>(r#"[{"trunk": ["a"]}]"#).is_err());
}

#[test]
fn a_limit_without_entries_lets_nothing_through() {
    let none = Scope::limited(Limit { trunks: Some(vec![]), numbers: None });
    assert!(!none.has(&["a"], &["1"]) && !none.is_everything());
    assert!(Scope::limited(Limit::default()).is_everything());
}
