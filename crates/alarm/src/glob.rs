//! Names with a `*` for any text.

/// Whether a name is the pattern, in which each `*` stands for any text, none as well.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.as_bytes(), name.as_bytes());
    // What to try again after the last star, with one more byte for it.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, name) {
            ([b'*', rest @ ..], _) => {
                retry = Some((rest, name));
                pattern = rest;
            }
            ([first, rest @ ..], [byte, more @ ..]) if first == byte => (pattern, name) = (rest, more),
            ([], []) => return true,
            _ => match retry {
                Some((rest, [_, more @ ..])) => {
                    retry = Some((rest, more));
                    (pattern, name) = (rest, more);
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars() {
        for (pattern, name, expected) in [
            ("carrier-a", "carrier-a", true),
            ("carrier-a", "carrier-ab", false),
            ("carrier-*", "carrier-a", true),
            ("carrier-*", "carrier-", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*-a*b", "x-a-a-bb", true),
            ("*-a*b", "x-a-a-bc", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
