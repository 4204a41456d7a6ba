//! People who are added and changed.

use ringtap_access::{Error, LoggedIn, NewPerson, People, Refusal, Right, Rights, Role, Scope};

use crate::{HOME, NOW, PASSWORD, attempt, console, settings};

#[test]
fn who_has_to_choose_a_password_may_do_nothing_before() {
    let console = console();
    let (role, scope) = (Role::Administrator, Scope::everything());
    let new = NewPerson { name: "new", role, scope, password: PASSWORD, must_change: true };
    console.people.add(&new, NOW).unwrap();
    let LoggedIn { identity, session, .. } = console.log_in("new", NOW);
    assert!(identity.must_change && identity.rights == Rights::NONE);
    let own = attempt("new", PASSWORD, HOME);
    let changed = console.people.change_password(&own, "another horse, another battery", &console.log, NOW);
    let changed = changed.unwrap();
    assert!(!changed.identity.must_change && changed.identity.may(Right::Administer));
    assert!(matches!(console.people.session(&session, NOW), Err(Refusal::Unknown)));
}

#[test]
fn a_disabled_person_is_out_at_once_in_every_process() {
    let console = console();
    let logged_in = console.log_in("ana", NOW);
    let other = People::open(console.dir.path(), settings()).unwrap();
    other.set_disabled("ana", true).unwrap();
    assert!(console.people.session(&logged_in.session, NOW).is_err());
    assert!(matches!(console.try_in(&attempt("ana", PASSWORD, HOME), NOW), Err(Refusal::Disabled)));
    let wrong = console.try_in(&attempt("ana", "a wrong password", HOME), NOW);
    assert!(matches!(wrong, Err(Refusal::Wrong)), "who does not know the password learns nothing");
    other.set_disabled("ana", false).unwrap();
    assert!(console.people.session(&logged_in.session, NOW).is_err(), "the session is over");
    console.log_in("ana", NOW);
}

#[test]
fn rights_and_scopes_change_at_once_for_those_who_are_logged_in() {
    let console = console();
    let session = console.log_in("ana", NOW).session;
    console.people.set_role("ana", Role::Viewer).unwrap();
    let scope = Scope::parse(&[], &["+4930*".to_owned()]).unwrap();
    console.people.set_scope("ana", &scope).unwrap();
    let identity = console.people.session(&session, NOW).unwrap();
    assert_eq!(
        (identity.role, identity.rights, &identity.scope),
        (Role::Viewer, Role::Viewer.rights(), &scope)
    );
}

#[test]
fn somebody_is_left_who_can_administer() {
    let console = console();
    let people = &console.people;
    let last = people.set_role("root", Role::Viewer).unwrap_err();
    assert!(matches!(&last, Error::LastAdministrator { name } if name == "root"), "{last}");
    assert!(matches!(people.set_disabled("ROOT", true), Err(Error::LastAdministrator { .. })));
    assert!(!people.find("root").unwrap().unwrap().disabled && people.has_administrator().unwrap());
    people.set_role("ana", Role::Administrator).unwrap();
    people.set_disabled("root", true).unwrap();
    assert!(matches!(people.set_role("ana", Role::Viewer), Err(Error::LastAdministrator { .. })));
    assert!(matches!(people.set_role("nobody", Role::Viewer), Err(Error::Nobody { .. })));
}

#[test]
fn names_are_plain_and_unique_whatever_their_case() {
    let console = console();
    let add = |name: &str| {
        let (role, scope) = (Role::Viewer, Scope::everything());
        let new = NewPerson { name, role, scope, password: PASSWORD, must_change: false };
        console.people.add(&new, NOW).map(|person| person.name)
    };
    assert_eq!(add("O.Neill-2@example.com").unwrap(), "o.neill-2@example.com");
    assert!(matches!(add("ANA"), Err(Refusal::Failed(Error::Exists { .. }))));
    let long = "x".repeat(65);
    for wrong in ["", " ana", "-ana", "a b", "аna", "a\u{202e}b", "a'--", "ana\n", &long] {
        assert!(matches!(add(wrong), Err(Refusal::Failed(Error::Name { .. }))), "{wrong:?}");
    }
    let names: Vec<String> = console.people.list().unwrap().into_iter().map(|person| person.name).collect();
    assert_eq!(names, ["ana", "o.neill-2@example.com", "root"]);
}

#[test]
fn a_file_of_another_version_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.sqlite");
    std::fs::write(&path, "something else, and long enough to be looked at as a header by SQLite").unwrap();
    let shown = People::open(dir.path(), settings()).err().unwrap().to_string();
    assert!(shown.contains("people.sqlite") && shown.contains("restore"), "{shown}");
    std::fs::remove_file(&path).unwrap();
    drop(People::open(dir.path(), settings()).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let shown = People::open(dir.path(), settings()).err().unwrap().to_string();
    assert!(shown.contains("version 7"), "{shown}");
}

/// As version 0.1.0 made it: without recovery codes.
#[test]
fn a_file_of_version_1_is_used_and_its_people_get_what_is_new() {
    let console = console();
    let path = console.dir.path().join("people.sqlite");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(
        "DROP TABLE recovery_codes; DROP TABLE passkeys; DROP TABLE provider_subjects; \
         ALTER TABLE sessions DROP COLUMN by_provider; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(file);
    let people = People::open(console.dir.path(), settings()).unwrap();
    assert_eq!(people.find("ana").unwrap().unwrap().recovery_codes, 0);
    assert_eq!(people.passkeys("ana").unwrap(), []);
    assert!(!console.log_in("ana", NOW).identity.by_provider);
    let version: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 5);
}
