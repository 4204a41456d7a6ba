//! Tokens: expired, narrowed and invented ones.

use ringtap_access::{Credential, Error, NewToken, Refusal, Right, Rights, Role, Scope, Settings};
use ringtap_model::Nanos;

use crate::{HOME, NOW, console, console_with, seconds, settings};

fn token<'a>(name: &'a str, rights: &[Right], scope: Scope, expires: Nanos) -> NewToken<'a> {
    NewToken { person: "ana", name, rights: rights.iter().copied().collect(), scope, expires }
}

#[test]
fn a_token_never_does_more_than_its_owner_may_at_the_moment() {
    let console = console();
    let people = &console.people;
    let everything: Vec<Right> = Right::ALL.to_vec();
    let trunk = |name: &str| Scope::parse(&[name.to_owned()], &[]).unwrap();
    let (text, made) =
        people.make_token(&token("all", &everything, trunk("carrier-*"), seconds(999)), NOW).unwrap();
    assert!(text.starts_with("rt_") && text.len() == 3 + 64);
    assert_eq!(made.rights, Role::Engineer.rights(), "what the owner does not have is left out");
    let identity = people.token(&text, NOW).unwrap();
    assert_eq!(identity.credential, Credential::Token("all".to_owned()));
    assert!(identity.may(Right::Export) && !identity.may(Right::Administer));
    assert!(identity.scope.has(&["carrier-a"], &[]) && !identity.scope.has(&["pbx"], &[]));
    assert_eq!(identity.actor(HOME.parse().unwrap()).who, "ana (token all)");
    let (narrow, _) = people
        .make_token(&token("narrow", &[Right::Search], Scope::everything(), seconds(999)), NOW)
        .unwrap();
    assert_eq!(people.token(&narrow, NOW).unwrap().rights.iter().collect::<Vec<_>>(), [Right::Search]);
    // The owner gains rights: tokens do not.
    people.set_role("ana", Role::Administrator).unwrap();
    assert_eq!(people.token(&text, NOW).unwrap().rights, Role::Engineer.rights());
    // The owner loses them: so do tokens.
    people.set_role("ana", Role::Viewer).unwrap();
    assert_eq!(people.token(&text, NOW).unwrap().rights, Role::Viewer.rights());
    people.set_scope("ana", &trunk("*-a")).unwrap();
    let scope = people.token(&text, NOW).unwrap().scope;
    let seen = ["carrier-a", "carrier-b", "pbx-a"].map(|name| scope.has(&[name], &[]));
    assert_eq!(seen, [true, false, false]);
    people.set_password("ana", "another horse, another battery", true).unwrap();
    assert_eq!(people.token(&text, NOW).unwrap().rights, Rights::NONE, "a password has to be chosen first");
}

#[test]
fn expired_revoked_and_invented_tokens_and_those_of_disabled_owners_are_refused() {
    let console = console();
    let people = &console.people;
    let (text, _) =
        people.make_token(&token("one", &[Right::Search], Scope::everything(), seconds(60)), NOW).unwrap();
    assert!(people.token(&text, seconds(59)).is_ok());
    assert!(matches!(people.token(&text, seconds(60)), Err(Refusal::Expired)));
    let listed = people.tokens(Some("ANA")).unwrap();
    assert_eq!((listed.len(), listed[0].used, listed[0].expires), (1, Some(seconds(59)), seconds(60)));
    let bare = &text[3..];
    let invented = format!("rt_{}", "0".repeat(64));
    for wrong in ["", "rt_", bare, &invented, &text[..66]] {
        assert!(matches!(people.token(wrong, NOW), Err(Refusal::Unknown)), "{wrong}");
        assert!(matches!(people.session(wrong, NOW), Err(Refusal::Unknown)), "{wrong}");
    }
    assert!(matches!(people.session(&text, NOW), Err(Refusal::Unknown)), "a token is no session");
    people.set_disabled("ana", true).unwrap();
    assert!(matches!(people.token(&text, NOW), Err(Refusal::Disabled)));
    people.set_disabled("ana", false).unwrap();
    people.token(&text, NOW).unwrap();
    people.revoke_token("Ana", "One").unwrap();
    assert!(matches!(people.token(&text, NOW), Err(Refusal::Unknown)));
    assert!(matches!(people.revoke_token("ana", "one"), Err(Error::NotFound { .. })));
}

#[test]
fn tokens_expire_within_a_year_and_their_number_is_bounded() {
    let console = console_with(Settings { tokens_each: 2, ..settings() });
    let make = |name: &str, expires| {
        console.people.make_token(&token(name, &[Right::Search], Scope::everything(), expires), NOW).map(drop)
    };
    for never in [NOW, Nanos::ZERO, Nanos::MAX, NOW + settings().token_life + Nanos(1)] {
        let error = make("never", never).unwrap_err();
        assert!(
            matches!(error, Error::Expiry { .. }) && error.to_string().contains("within 366 days"),
            "{error}"
        );
    }
    make("one", NOW + settings().token_life).unwrap();
    assert!(matches!(make("ONE", seconds(9)), Err(Error::Exists { .. })));
    assert!(matches!(make("a b", seconds(9)), Err(Error::Name { .. })));
    make("two", seconds(9)).unwrap();
    assert!(make("three", seconds(9)).unwrap_err().to_string().contains("revoke"));
    // Long expired ones make room.
    let later = seconds(9 + 31 * 86_400);
    let new = token("three", &[Right::Search], Scope::everything(), later + Nanos(1_000));
    console.people.make_token(&new, later).unwrap();
    let nobody = NewToken { person: "nobody", ..new };
    assert!(matches!(console.people.make_token(&nobody, later), Err(Error::Nobody { .. })));
}
