//! When two names are the same user's, and two numbers the same station's.

/// Whether two User-Names are of one user: without realm, domain and case. `user@realm`, `REALM\\user`,
/// `realm/user` (RFC 7542 section 2, and what came before it).
pub(crate) fn is_same_user(one: &str, other: &str) -> bool {
    let (one, other) = (bare(one), bare(other));
    one.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase))
}

fn bare(name: &str) -> &str {
    let name = name.rsplit_once(['\\', '/']).map_or(name, |(_, user)| user);
    match name.rsplit_once('@') {
        Some((user, _)) if !user.is_empty() => user,
        _ => name,
    }
}

/// Whether two station ids are of one station: MAC addresses and numbers are written with various separators.
pub(crate) fn is_same_station(one: &str, other: &str) -> bool {
    let digits = |text: &'_ str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    digits(one) == digits(other)
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
