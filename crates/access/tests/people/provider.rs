//! Logins for which an identity provider vouches: whose account it is, and what cannot be taken over.

use ringtap_access::{
    Action, LocalLogins, LoggedIn, NewPerson, Refusal, Right, Role, Scope, Settings, Vouched, What,
};

use super::*;

const ISSUER: &str = "https://id.example.org";

fn vouched(subject: &str, name: &str) -> Vouched {
    Vouched {
        issuer: ISSUER.into(),
        subject: subject.into(),
        name: name.into(),
        role: None,
        scope: None,
        may_be_added: false,
    }
}

fn in_role(subject: &str, name: &str, role: Role) -> Vouched {
    Vouched { role: Some(role), ..vouched(subject, name) }
}

impl Console {
    fn by_provider(&self, vouched: &Vouched) -> Result<LoggedIn, Refusal> {
        let attempt = self.people.begin_provider_login(address(HOME), "Firefox", NOW)?;
        self.people.log_in_by_provider(&attempt, vouched, &self.log, NOW)
    }

    fn last(&self) -> (String, Action, String) {
        self.audited().remove(0)
    }
}

#[test]
fn a_known_person_logs_in_with_the_role_and_the_scope_that_the_provider_says() {
    let console = console();
    let first = console.by_provider(&vouched("7", "Ana")).unwrap();
    assert_eq!((&*first.identity.name, first.identity.role), ("ana", Role::Engineer));
    assert!(first.identity.by_provider && first.identity.may(Right::Export));
    assert_eq!(console.last(), ("ana".into(), Action::Login, format!("by {ISSUER}")));
    assert!(!console.log_in("ana", NOW).identity.by_provider);
    // Taken anew at every login, and for the sessions that there are.
    let scope = Scope::parse(&["carrier-a".to_owned()], &[]).unwrap();
    let less = Vouched { scope: Some(scope.clone()), ..in_role("7", "ana", Role::Viewer) };
    let second = console.by_provider(&less).unwrap();
    assert_eq!((second.identity.role, &second.identity.scope), (Role::Viewer, &scope));
    assert_eq!(console.people.session(&first.session, NOW).unwrap().role, Role::Viewer);
    assert!(console.last().2.ends_with("which changes the role from engineer"), "{:?}", console.last());
}

#[test]
fn a_name_that_the_provider_gives_to_somebody_else_opens_no_account() {
    let console = console();
    console.by_provider(&vouched("7", "ana")).unwrap();
    assert!(matches!(console.by_provider(&vouched("8", "ana")), Err(Refusal::NotPermitted)));
    assert_eq!(console.last().1, Action::LoginFailed);
    assert!(console.last().2.contains("somebody else at the provider"), "{:?}", console.last());
    // The person keeps its account, whatever it is called by now.
    assert_eq!(console.by_provider(&vouched("7", "ana.maria")).unwrap().identity.name, "ana");
    // Another provider counts from one as well.
    let other = Vouched { issuer: "https://other.example".into(), ..vouched("7", "root") };
    assert!(matches!(console.by_provider(&other), Err(Refusal::NotPermitted)));
}

#[test]
fn nobody_becomes_an_administrator_by_its_name() {
    let console = console();
    for role in [None, Some(Role::Viewer), Some(Role::Officer)] {
        let named = Vouched { role, ..vouched("9", "root") };
        assert!(matches!(console.by_provider(&named), Err(Refusal::NotPermitted)), "{role:?}");
        assert!(console.last().2.contains("administrator"), "{:?}", console.last());
    }
    let root = console.by_provider(&in_role("9", "root", Role::Administrator)).unwrap();
    assert_eq!((&*root.identity.name, root.identity.role), ("root", Role::Administrator));
    // Nor is the last one lost by what the provider says.
    let refused = console.by_provider(&in_role("9", "root", Role::Viewer)).unwrap_err();
    assert!(refused.to_string().contains("only administrator"), "{refused}");
    assert_eq!(console.people.find("root").unwrap().unwrap().role, Role::Administrator);
    assert_eq!(console.last().1, Action::LoginFailed);
}

#[test]
fn who_is_not_known_is_added_only_where_that_is_set() {
    let console = console();
    let new = in_role("11", "Bob@example.org", Role::Quality);
    for unknown in [new.clone(), Vouched { may_be_added: true, role: None, ..new.clone() }] {
        assert!(matches!(console.by_provider(&unknown), Err(Refusal::NotPermitted)));
        assert!(console.last().2.contains("nobody has this name here: Bob@example.org"));
    }
    assert_eq!(console.people.list().unwrap().len(), 2);
    let bob = console.by_provider(&Vouched { may_be_added: true, ..new.clone() }).unwrap();
    assert_eq!((&*bob.identity.name, bob.identity.role), ("bob@example.org", Role::Quality));
    assert_eq!(console.audited()[1].1, Action::People);
    assert!(console.by_provider(&new).is_ok(), "it is known from now on");
    for name in ["bob smith", "", "<script>", "a\u{0}b"] {
        let named = Vouched { may_be_added: true, ..in_role("12", name, Role::Viewer) };
        assert!(matches!(console.by_provider(&named), Err(Refusal::NotPermitted)), "{name:?}");
    }
}

#[test]
fn who_is_disabled_here_stays_out() {
    let console = console();
    let session = console.by_provider(&vouched("7", "ana")).unwrap().session;
    console.people.set_disabled("ana", true).unwrap();
    assert!(matches!(console.by_provider(&vouched("7", "ana")), Err(Refusal::Disabled)));
    assert!(matches!(console.people.session(&session, NOW), Err(Refusal::Unknown)));
}

#[test]
fn a_first_password_that_was_never_changed_is_worth_nothing_after_a_login_by_the_provider() {
    let console = console();
    let (role, scope) = (Role::Viewer, Scope::everything());
    let new = NewPerson { name: "vic", role, scope, password: PASSWORD, must_change: true };
    console.people.add(&new, NOW).unwrap();
    let vic = console.by_provider(&vouched("13", "vic")).unwrap();
    assert!(!vic.identity.must_change && vic.identity.may(Right::Search));
    assert!(matches!(console.try_in(&attempt("vic", PASSWORD, HOME), NOW), Err(Refusal::Wrong)));
    // One that was chosen stays.
    console.by_provider(&vouched("7", "ana")).unwrap();
    console.log_in("ana", NOW);
}

#[test]
fn passwords_may_be_those_of_administrators_alone() {
    let console = console_with(Settings { local_logins: LocalLogins::Administrators, ..settings() });
    console.log_in("root", NOW);
    // However often: nothing is guessed.
    for _ in 0..30 {
        let refused = console.try_in(&attempt("ana", PASSWORD, HOME), NOW);
        assert!(matches!(refused, Err(Refusal::ByProvider)), "{refused:?}");
    }
    let last = console.last();
    assert_eq!((&*last.0, last.1), ("ana", Action::LoginFailed));
    let change = console.people.change_password(
        &attempt("ana", PASSWORD, HOME),
        "another correct horse",
        &console.log,
        NOW,
    );
    assert!(matches!(change, Err(Refusal::ByProvider)), "{change:?}");
    console.by_provider(&vouched("7", "ana")).unwrap();
    // A wrong password does not say that another way is asked for.
    assert!(matches!(console.try_in(&attempt("ana", "wrong", HOME), NOW), Err(Refusal::Wrong)));
}

#[test]
fn answers_that_are_not_believed_make_their_address_wait_and_nobody_else() {
    let console = console();
    let begin = |from| console.people.begin_provider_login(address(from), "Firefox", NOW);
    let refuse = |from, counts| {
        let attempt = begin(from).unwrap();
        let why = What::from("the answer is none");
        console.people.refuse_provider_login(&attempt, why, counts, &console.log, NOW).unwrap();
    };
    // The provider's own faults do not count.
    (0..50).for_each(|_| refuse(ELSEWHERE, false));
    (0..5).for_each(|_| refuse(ELSEWHERE, true));
    assert!(matches!(begin(ELSEWHERE), Err(Refusal::Wait(_))));
    assert_eq!(console.audited().iter().filter(|entry| entry.1 == Action::LoginFailed).count(), 55);
    assert!(begin(HOME).is_ok());
    // Whom the provider vouches for and the console refuses has guessed nothing.
    for _ in 0..30 {
        assert!(matches!(console.by_provider(&vouched("14", "nobody")), Err(Refusal::NotPermitted)));
    }
    console.log_in("ana", NOW);
}
