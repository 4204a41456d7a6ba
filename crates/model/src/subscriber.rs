//! When two names are one subscriber's: User-Names with and without realm, station ids in any notation.

use crate::Identity;

/// A User-Name without realm and domain: `user@realm`, `REALM\\user`, `realm/user` (RFC 7542 section 2, and
/// what came before it). A name that is a realm only stays as it is.
pub fn bare_user_name(name: &str) -> &str {
    let name = name.rsplit_once(['\\', '/']).map_or(name, |(_, user)| user);
    match name.rsplit_once('@') {
        Some((user, _)) if !user.is_empty() => user,
        _ => name,
    }
}

/// Whether two User-Names are of one user: without realm, domain and case.
pub fn is_same_user(one: &str, other: &str) -> bool {
    is_same_text(bare_user_name(one), bare_user_name(other))
}

/// The letters and digits of a station id in lower case: MAC addresses and numbers are written with various
/// separators.
pub fn station_characters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Whether two station ids are of one station.
pub fn is_same_station(one: &str, other: &str) -> bool {
    station_characters(one).eq(station_characters(other))
}

impl Identity {
    /// Whether one of its names is this one: a User-Name, with its realm if one is asked for; a station id in
    /// any notation; a Chargeable-User-Identity.
    pub fn is_named(&self, name: &str) -> bool {
        let is_bare = |name: &str| bare_user_name(name).len() == name.len();
        self.names.iter().any(|own| {
            let is_realm_right = is_bare(name) || is_bare(own) || is_same_text(own, name);
            let is_station = is_same_station(own, name) && station_characters(name).next().is_some();
            is_same_user(own, name) && is_realm_right || is_station
        })
    }
}

fn is_same_text(one: &str, other: &str) -> bool {
    one.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realm_and_case_make_no_other_user() {
        for other in ["bob", "BOB", "bob@example.org", "EXAMPLE\\Bob", "example/bob"] {
            assert!(is_same_user("bob", other), "{other}");
        }
        assert!(!is_same_user("bob", "bobby"));
        assert!(!is_same_user("@example.org", "@example.com"), "an anonymous identity is its realm");
    }

    #[test]
    fn a_station_is_the_same_in_any_notation() {
        for other in ["02-00-5e-10-00-01", "0200.5E10.0001", "02005e100001"] {
            assert!(is_same_station("02:00:5E:10:00:01", other), "{other}");
        }
        assert!(!is_same_station("02:00:5E:10:00:01", "02:00:5E:10:00:02"));
    }
}
