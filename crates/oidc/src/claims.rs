//! Who somebody is here, by what the provider says.

use ringtap_access::{Role, Scope, Vouched};
use serde_json::Value;

use crate::error::{Failure, FailureKind};
use crate::settings::Settings;
use crate::token::Claims;

/// Whom the claims of an ID token are about, in which role and with which calls.
pub(crate) fn vouched(claims: &Claims, settings: &Settings) -> Result<Vouched, Failure> {
    let refused = |why: String| Failure::new(FailureKind::NotPermitted, why);
    is_strong(claims, settings).map_err(refused)?;
    let name = person(claims, &settings.person).map_err(refused)?;
    let groups = settings.groups.as_deref().map(|claim| texts(find(claims, claim))).unwrap_or_default();
    let role = role(&groups, settings)
        .map_err(|()| refused(format!("none of the groups of {name} has a role here")))?;
    let scope = scope(&groups, settings)
        .map_err(|()| refused(format!("none of the groups of {name} may see any calls here")))?;
    Ok(Vouched {
        issuer: settings.issuer.clone(),
        subject: claims.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned(),
        name: name.to_owned(),
        role,
        scope,
        may_be_added: settings.add,
    })
}

/// Whether the person has proven who it is to the provider in one of the ways that are demanded.
fn is_strong(claims: &Claims, settings: &Settings) -> Result<(), String> {
    for (name, wanted) in [("acr", &settings.acr), ("amr", &settings.amr)] {
        let given = texts(claims.get(name));
        if !wanted.is_empty() && !wanted.iter().any(|wanted| given.contains(&&**wanted)) {
            return Err(format!("the login at the provider was none of `{name}` {}", wanted.join(", ")));
        }
    }
    Ok(())
}

fn person<'a>(claims: &'a Claims, claim: &str) -> Result<&'a str, String> {
    // Anybody can claim an address that nobody has verified.
    if claim == "email" && claims.get("email_verified") != Some(&Value::Bool(true)) {
        return Err("the provider does not say that it has verified the address (`email_verified`)".into());
    }
    let name = find(claims, claim).and_then(Value::as_str).filter(|name| !name.is_empty());
    name.ok_or_else(|| format!("the ID token has no claim `{claim}`: change the provider, or `person`"))
}

/// The role of the highest group; none where groups give no roles; an error if none of these does.
fn role(groups: &[&str], settings: &Settings) -> Result<Option<Role>, ()> {
    if settings.roles.is_empty() {
        return Ok(None);
    }
    let has = |role: &Role| {
        settings.roles.get(role).is_some_and(|of| of.iter().any(|group| groups.contains(&&**group)))
    };
    HIGHEST_FIRST.into_iter().find(has).map(Some).ok_or(())
}

/// The calls of the first group that is listed; none where groups limit nothing; an error if none of these is
/// listed.
fn scope(groups: &[&str], settings: &Settings) -> Result<Option<Scope>, ()> {
    if settings.scopes.is_empty() {
        return Ok(None);
    }
    let found = settings.scopes.iter().find(|of| groups.contains(&&*of.group));
    found.map(|of| Some(of.scope.clone())).ok_or(())
}

/// A claim by its name; with dots in it, a claim within others.
fn find<'a>(claims: &'a Claims, path: &str) -> Option<&'a Value> {
    let (first, rest) = match (claims.get(path), path.split_once('.')) {
        (Some(value), _) => return Some(value),
        (None, Some(parts)) => parts,
        (None, None) => return None,
    };
    find(claims.get(first)?.as_object()?, rest)
}

/// One text, or a list of some.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Who is in groups of several roles has the first of these.
const HIGHEST_FIRST: [Role; 6] =
    [Role::Administrator, Role::Officer, Role::Engineer, Role::Quality, Role::Auditor, Role::Viewer];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringtap_access::LocalLogins;
    use serde_json::json;

    use super::*;
    use crate::settings::ScopeOfGroup;

    fn settings() -> Settings {
        Settings {
            name: "Example".into(),
            issuer: "https://id.example.org".into(),
            client_id: "ringtap".into(),
            secret: None,
            address: "https://tap.example.org".into(),
            person: "preferred_username".into(),
            groups: Some("realm_access.roles".into()),
            roles: [(Role::Engineer, vec!["ops".into()]), (Role::Viewer, vec!["all".into(), "ops".into()])]
                .into(),
            scopes: Vec::new(),
            add: false,
            local_logins: LocalLogins::Everybody,
            request: Vec::new(),
            acr: Vec::new(),
            amr: Vec::new(),
            ca: None,
            patience: Duration::from_secs(1),
        }
    }

    fn of(claims: Value, settings: &Settings) -> Result<Vouched, FailureKind> {
        vouched(claims.as_object().unwrap(), settings).map_err(|failure| failure.kind)
    }

    fn ana(groups: Value) -> Value {
        json!({ "sub": "7", "preferred_username": "ana", "realm_access": { "roles": groups } })
    }

    #[test]
    fn the_role_is_that_of_the_highest_group_and_nobody_without_one_gets_in() {
        let settings = settings();
        assert_eq!(of(ana(json!(["all", "ops"])), &settings).unwrap().role, Some(Role::Engineer));
        assert_eq!(of(ana(json!("all")), &settings).unwrap().role, Some(Role::Viewer));
        for groups in [json!([]), json!(["OPS"]), json!([["ops"]]), json!({ "ops": true }), json!(null)] {
            assert_eq!(of(ana(groups.clone()), &settings), Err(FailureKind::NotPermitted), "{groups}");
        }
        let unmapped = Settings { roles: Default::default(), ..settings };
        assert_eq!(of(ana(json!([])), &unmapped).unwrap().role, None);
        // A claim may have a dot in its name.
        let flat = json!({ "sub": "7", "preferred_username": "ana", "realm_access.roles": ["ops"] });
        assert_eq!(of(flat, &self::settings()).unwrap().role, Some(Role::Engineer));
    }

    #[test]
    fn calls_are_those_of_the_first_group_that_is_listed() {
        let scope = |trunk: &str| Scope::parse(&[trunk.to_owned()], &[]).unwrap();
        let of_group = |group: &str, scope| ScopeOfGroup { group: group.into(), scope };
        let scopes = vec![of_group("ops", Scope::everything()), of_group("all", scope("tenant-7"))];
        let settings = Settings { scopes, ..settings() };
        let both = of(ana(json!(["all", "ops"])), &settings).unwrap();
        assert_eq!(both.scope, Some(Scope::everything()));
        assert_eq!(of(ana(json!(["all"])), &settings).unwrap().scope, Some(scope("tenant-7")));
        let settings = Settings { scopes: settings.scopes[..1].to_vec(), ..settings };
        assert_eq!(of(ana(json!(["all"])), &settings), Err(FailureKind::NotPermitted));
    }

    #[test]
    fn an_address_counts_only_if_it_was_verified() {
        let settings = Settings { person: "email".into(), ..settings() };
        let with = |verified: Value| {
            let mut claims = ana(json!(["ops"]));
            claims["email"] = json!("ana@example.org");
            claims["email_verified"] = verified;
            claims
        };
        assert_eq!(of(with(json!(true)), &settings).unwrap().name, "ana@example.org");
        for verified in [json!(false), json!("true"), json!(1), json!(null)] {
            assert_eq!(of(with(verified.clone()), &settings), Err(FailureKind::NotPermitted), "{verified}");
        }
        assert_eq!(of(ana(json!(["ops"])), &settings), Err(FailureKind::NotPermitted));
    }

    #[test]
    fn a_login_may_have_to_be_a_strong_one() {
        let settings = Settings { amr: vec!["mfa".into(), "hwk".into()], ..settings() };
        let with = |amr: Value| {
            let mut claims = ana(json!(["ops"]));
            claims["amr"] = amr;
            claims
        };
        assert!(of(with(json!(["pwd", "mfa"])), &settings).is_ok());
        for amr in [json!(["pwd"]), json!("mf"), json!(null)] {
            assert_eq!(of(with(amr.clone()), &settings), Err(FailureKind::NotPermitted), "{amr}");
        }
    }
}
