//! Searches that people keep: whose they are, who sees them, how many there are.

use ringtap_access::{Error, NewSearch, SavedSearch, Scope, Settings};

use crate::{NOW, console, console_with, seconds, settings};

fn new<'a>(name: &'a str, query: &'a str, shared: bool) -> NewSearch<'a> {
    NewSearch { name, query, shared }
}

fn names(searches: &[SavedSearch]) -> Vec<(&str, &str)> {
    searches.iter().map(|search| (&*search.owner, &*search.name)).collect()
}

#[test]
fn a_person_sees_its_own_searches_and_what_others_share() {
    let console = console();
    let people = &console.people;
    let kept = people.save_search("ANA", &new(" Failed, carrier A ", " state:failed ", false), NOW).unwrap();
    assert_eq!((&*kept.owner, &*kept.name, &*kept.query), ("ana", "Failed, carrier A", "state:failed"));
    people.save_search("ana", &new("bad", "mos<3", true), NOW).unwrap();
    people.save_search("root", &new("all failed", "state:failed", true), NOW).unwrap();
    people.save_search("root", &new("mine", "drops>0", false), NOW).unwrap();
    let of = |name: &str| people.searches(name).unwrap();
    assert_eq!(names(&of("ana")), [("ana", "bad"), ("ana", "Failed, carrier A"), ("root", "all failed")]);
    assert_eq!(names(&of("root")), [("root", "all failed"), ("root", "mine"), ("ana", "bad")]);
    let scope = Scope::parse(&["carrier-a".to_owned()], &[]).unwrap();
    people.set_scope("ana", &scope).unwrap();
    assert_eq!(of("root")[2].owner_scope, scope);
    people.set_disabled("ana", true).unwrap();
    assert_eq!(names(&of("root")), [("root", "all failed"), ("root", "mine")]);
}

#[test]
fn nobody_reads_changes_or_removes_a_search_of_somebody_else() {
    let console = console();
    let people = &console.people;
    let kept = people.save_search("ana", &new("bad", "mos<3", true), NOW).unwrap();
    for number in [kept.number, 0, u64::MAX] {
        let own = new("mine now", "mos<2", true);
        assert!(matches!(people.search("root", number), Err(Error::NotFound { .. })), "{number}");
        assert!(matches!(people.change_search("root", number, &own, NOW), Err(Error::NotFound { .. })));
        assert!(matches!(people.remove_search("root", number), Err(Error::NotFound { .. })));
    }
    assert_eq!(people.searches("ana").unwrap(), std::slice::from_ref(&kept));
    let changed = people.change_search("ana", kept.number, &new("Bad", "mos<2", false), seconds(9)).unwrap();
    let expected = SavedSearch {
        name: "Bad".to_owned(),
        query: "mos<2".to_owned(),
        shared: false,
        saved: seconds(9),
        ..kept.clone()
    };
    assert_eq!(changed, expected, "the same name in another case is no other search");
    people.remove_search("ana", kept.number).unwrap();
    assert_eq!(people.searches("ana").unwrap(), []);
    assert!(matches!(people.remove_search("ana", kept.number), Err(Error::NotFound { .. })));
}

#[test]
fn names_are_unique_and_there_is_a_most() {
    let console = console_with(Settings { searches_each: 2, ..settings() });
    let people = &console.people;
    let one = people.save_search("ana", &new("one", "mos<3", false), NOW).unwrap();
    assert!(matches!(people.save_search("ana", &new("ONE", "x", false), NOW), Err(Error::Exists { .. })));
    people.save_search("ana", &new("two", "mos<3", false), NOW).unwrap();
    assert!(matches!(
        people.save_search("ana", &new("three", "x", false), NOW),
        Err(Error::TooManySearches { most: 2 })
    ));
    let taken = people.change_search("ana", one.number, &new("two", "x", false), NOW);
    assert!(matches!(taken, Err(Error::Exists { .. })));
    people.save_search("root", &new("one", "mos<3", false), NOW).unwrap();
    let long = "a".repeat(65);
    for (name, query) in [("", "x"), (" ", "x"), (&*long, "x"), ("a\nb", "x"), ("a", ""), ("a", " ")] {
        let refused = people.save_search("root", &new(name, query, false), NOW);
        assert!(matches!(refused, Err(Error::Search(_))), "{name:?} {query:?}");
    }
    let long = "a".repeat(4_097);
    assert!(matches!(people.save_search("root", &new("a", &long, false), NOW), Err(Error::Search(_))));
}
