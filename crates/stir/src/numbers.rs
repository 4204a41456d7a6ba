//! When two telephone numbers are the same: RFC 8224 section 8.3.

/// Fewer digits than this are an extension or a service: they must be equal.
const NATIONAL: usize = 7;
/// A country code has at most three digits (E.164), and a trunk prefix at most two stand in its place.
const CODE: usize = 3;

/// The digits of a number without `+` and visual separators (RFC 3966 section 5.1.1). None where something
/// else stands in it: it is a name then.
pub(crate) fn canonical(user: &str) -> Option<String> {
    let number = user.split(';').next().unwrap_or_default();
    let mut digits = String::new();
    for character in number.chars() {
        match character {
            '0'..='9' | '*' | '#' => digits.push(character),
            '+' if digits.is_empty() => {}
            '-' | '.' | '(' | ')' | ' ' => {}
            _ => return None,
        }
    }
    (!digits.is_empty()).then_some(digits)
}

/// Whether a number of the call is the one that was signed, which is written with its country code. Boxes
/// write it with prefixes of their own: with 00 or 011 in front, or with 0 or nothing in place of the country
/// code. Both are canonical.
pub(crate) fn is_same(signed: &str, of_call: &str) -> bool {
    if signed == of_call {
        return true;
    }
    let significant = of_call.strip_prefix("011").or_else(|| of_call.strip_prefix("00"));
    if significant == Some(signed) {
        return true;
    }
    let national = of_call.strip_prefix('0').unwrap_or(of_call);
    let is_long = national.len() >= NATIONAL && !national.starts_with('0');
    is_long && signed.len() <= national.len() + CODE && signed.ends_with(national)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_parameters_go_and_names_are_none() {
        assert_eq!(canonical("+49 (30) 123-456.7;phone-context=x").as_deref(), Some("49301234567"));
        assert_eq!(canonical("*21#").as_deref(), Some("*21#"));
        for name in ["alice", "", "+", "12ab", "1+2"] {
            assert_eq!(canonical(name), None, "{name}");
        }
    }

    #[test]
    fn the_same_number_with_and_without_prefixes() {
        for other in ["12155551212", "2155551212", "0012155551212", "01112155551212", "02155551212"] {
            assert!(is_same("12155551212", other), "{other}");
        }
        for other in ["12155551213", "5551212000", "551212", "1212", "912155551212", "00155551212"] {
            assert!(!is_same("12155551212", other), "{other}");
        }
        assert!(is_same("112", "112"));
        assert!(!is_same("49112", "112"));
    }
}
