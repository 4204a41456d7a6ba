//! By what calls are found at once: Call-IDs and numbers, in the table `keys`.
//!
//! A key is a letter and a text: `c` and the Call-ID, `f` and a number, `b` and the number backwards, so that
//! its last digits are found like the first. A number is stored as its digits, without separators and without
//! `+` or `00`; where it was written otherwise, and where it is no number, also as it was written. Texts are
//! cut. A search by keys may find too much, never too little.

use ringtap_cpu::crc32c;
use ringtap_model::Call;
use ringtap_model::filter::{NumberPattern, Pattern, digits_of};

/// Keys that are not stored yet, each with the row of its call and its part of the day.
#[derive(Debug, Default)]
pub(crate) struct PendingKeys {
    texts: Vec<u8>,
    /// Part of the day, where its text is, and the row of its call.
    keys: Vec<(u8, usize, usize, i64)>,
}

impl PendingKeys {
    /// Adds the keys of a call.
    pub(crate) fn add(&mut self, call: &Call, part: u8, row: i64) {
        of_call(call, |key| {
            let begin = self.texts.len();
            self.texts.extend_from_slice(key);
            self.keys.push((part, begin, self.texts.len(), row));
        });
    }

    /// Passes all keys in their order, and forgets them. Inserted in order, they touch each page once.
    pub(crate) fn drain<E>(
        &mut self,
        mut each: impl FnMut(u8, &[u8], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { texts, keys } = self;
        keys.sort_unstable_by(|a, b| (a.0, &texts[a.1..a.2], a.3).cmp(&(b.0, &texts[b.1..b.2], b.3)));
        keys.dedup_by(|a, b| (a.0, &texts[a.1..a.2], a.3) == (b.0, &texts[b.1..b.2], b.3));
        let passed = keys.iter().try_for_each(|&(part, begin, end, row)| each(part, &texts[begin..end], row));
        keys.clear();
        texts.clear();
        passed
    }
}

/// Passes the keys of a call; some may come twice.
pub(crate) fn of_call(call: &Call, mut each: impl FnMut(&[u8])) {
    let mut key = Vec::with_capacity(40);
    call_id(call.call_id.as_bytes(), &mut key);
    each(&key);
    let named = [&call.from_user, &call.to_user, &call.ruri_user, &call.asserted_identity];
    let users = named.into_iter().flatten().chain(&call.diverted_to);
    let mut before: [&str; 2] = ["", ""];
    for user in users {
        // Most calls have the same number in To and the Request-URI.
        if !user.is_empty() && before.contains(&user.as_str()) {
            continue;
        }
        before = [user, before[0]];
        let digits = digits_of(user);
        let mut text = |text: &str| {
            forwards(text.as_bytes(), &mut key);
            each(&key);
            backwards(text.as_bytes(), &mut key);
            each(&key);
        };
        let is_plain = digits.as_deref().is_some_and(|digits| {
            user.strip_suffix(digits).is_some_and(|prefix| matches!(prefix, "" | "+" | "00"))
        });
        if !is_plain {
            text(user);
        }
        digits.iter().for_each(|digits| text(digits));
    }
}

fn call_id(text: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.push(CALL_ID);
    key.extend(&text[..text.len().min(CALL_ID_HEAD)]);
    if text.len() > CALL_ID_HEAD {
        key.extend(crc32c(0, text).to_be_bytes());
    }
}

fn forwards(text: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.push(FORWARDS);
    key.extend(&text[..text.len().min(NUMBER_HEAD)]);
}

fn backwards(text: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.push(BACKWARDS);
    key.extend(text.iter().rev().take(LONGEST));
}

/// Which keys to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probes {
    /// All; the pattern says too little.
    None,
    /// Those from one key to another, both included.
    Ranges(Vec<(Vec<u8>, Vec<u8>)>),
    /// All numbers that have one of these texts in them, backwards; or that were cut.
    Scan(Vec<Vec<u8>>),
}

/// The keys of calls whose Call-ID matches.
pub(crate) fn of_call_id(pattern: &Pattern) -> Probes {
    let head = pattern.head().as_bytes();
    let mut low = Vec::new();
    if pattern.is_exact() {
        call_id(head, &mut low);
        return Probes::Ranges(vec![(low.clone(), low)]);
    }
    if head.is_empty() {
        return Probes::None;
    }
    low.push(CALL_ID);
    low.extend(&head[..head.len().min(CALL_ID_HEAD)]);
    Probes::Ranges(vec![(low.clone(), beyond(low))])
}

/// The keys of calls with a number that matches.
pub(crate) fn of_number(pattern: &NumberPattern) -> Probes {
    let (written, digits) = (pattern.written(), pattern.digits());
    let both = || std::iter::once(written).chain(digits);
    let is_head = written.is_exact() || !matches!(written.head(), "0" | "00" | "+");
    let is_head = is_head && both().all(|pattern| !pattern.head().is_empty());
    let is_tail = both().all(|pattern| !pattern.tail().is_empty());
    let mut ranges = match (is_head, is_tail) {
        (_, true) if !is_head || written.tail().len() >= written.head().len() => tails(written, digits),
        (true, _) => heads(written, digits),
        _ => return Probes::Scan(pieces(written, digits)),
    };
    ranges.sort();
    ranges.dedup();
    Probes::Ranges(ranges)
}

/// What is stored without `+` or `00` may end as the pattern does if these are put before it.
fn tails(written: &Pattern, digits: Option<&Pattern>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut ranges: Vec<_> = std::iter::once(written)
        .chain(digits)
        .map(|pattern| range(backwards, pattern.tail(), pattern.is_exact()))
        .collect();
    let rests = ["+", "0", "00"].into_iter().filter_map(|prefix| written.tail().strip_prefix(prefix));
    ranges.extend(rests.filter(|rest| !rest.is_empty()).map(|rest| range(backwards, rest, true)));
    ranges
}

/// The same of how it begins.
fn heads(written: &Pattern, digits: Option<&Pattern>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut ranges: Vec<_> = std::iter::once(written)
        .chain(digits)
        .map(|pattern| range(forwards, pattern.head(), pattern.is_exact()))
        .collect();
    let rests = ["+", "00"].into_iter().filter_map(|prefix| written.head().strip_prefix(prefix));
    ranges
        .extend(rests.filter(|rest| !rest.is_empty()).map(|rest| range(forwards, rest, written.is_exact())));
    ranges
}

fn range(key: impl Fn(&[u8], &mut Vec<u8>), text: &str, exact: bool) -> (Vec<u8>, Vec<u8>) {
    let mut low = Vec::new();
    key(text.as_bytes(), &mut low);
    let high = if exact { low.clone() } else { beyond(low.clone()) };
    (low, high)
}

/// Behind every key that begins so.
fn beyond(mut key: Vec<u8>) -> Vec<u8> {
    key.extend([0xff; 5]);
    key
}

/// The longest text of each pattern that a number has to have, backwards; none if one of them has no text.
fn pieces(written: &Pattern, digits: Option<&Pattern>) -> Vec<Vec<u8>> {
    // The number may be stored without its `+` or `00`.
    let written =
        written.pieces().map(|piece| piece.trim_start_matches(['+', '0'])).max_by_key(|piece| piece.len());
    let digits = digits.map(|digits| digits.pieces().max_by_key(|piece| piece.len()).unwrap_or_default());
    let pieces: Vec<Vec<u8>> =
        written.into_iter().chain(digits).map(|piece| piece.bytes().rev().collect()).collect();
    if pieces.iter().any(Vec::is_empty) { Vec::new() } else { pieces }
}

const CALL_ID: u8 = b'c';
const FORWARDS: u8 = b'f';
pub(crate) const BACKWARDS: u8 = b'b';
/// Bytes of a Call-ID that are stored; of a longer one also its CRC-32C.
const CALL_ID_HEAD: usize = 16;
/// First bytes of a number that are stored: whole numbers are found by their end.
const NUMBER_HEAD: usize = 6;
/// Last bytes of a number that are stored.
pub(crate) const LONGEST: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_testing::samples;

    use super::*;

    fn keys(user: &str, call_id: &str) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let call = Call {
            call_id: call_id.into(),
            from_user: Some(user.into()),
            to_user: None,
            ruri_user: None,
            diverted_to: vec![],
            ..samples::call()
        };
        of_call(&call, |key| keys.push(key.to_vec()));
        keys
    }

    fn finds(probes: &Probes, keys: &[Vec<u8>]) -> bool {
        match probes {
            Probes::None => true,
            Probes::Ranges(ranges) => {
                keys.iter().any(|key| ranges.iter().any(|(low, high)| low <= key && key <= high))
            }
            Probes::Scan(pieces) => keys.iter().filter(|key| key[0] == BACKWARDS).any(|key| {
                pieces.is_empty()
                    || key.len() > LONGEST
                    || pieces.iter().any(|piece| key.windows(piece.len()).any(|window| window == piece))
            }),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Whatever a pattern matches, its probes find.
        #[test]
        fn nothing_is_missed(
            user in "(\\+|00|0|%2B|)[0-9]{0,4}[-. ]?[0-9a]{0,3}(;x)?",
            pattern in "(\\*|\\+|00|0|%2B|)[0-9]{0,3}[-.*]?[0-9a*]{1,4}",
            begin in 0_usize..12,
            length in 0_usize..12,
            around in prop::sample::select(vec![("", ""), ("*", ""), ("", "*"), ("*", "*")]),
        ) {
            let keys = keys(&user, "x");
            let end = (begin + length).min(user.len());
            let part = user.get(begin.min(end)..end).unwrap_or_default();
            let part = format!("{}{part}{}", around.0, around.1);
            for text in [pattern, part] {
                let Ok(pattern) = text.parse::<NumberPattern>() else { continue };
                if pattern.matches(&user) {
                    prop_assert!(finds(&of_number(&pattern), &keys), "{text} misses {user}");
                }
            }
        }

        #[test]
        fn no_call_id_is_missed(call_id in "[a-cä]{0,30}", length in 0_usize..40, tail in "[a-c]?") {
            let keys = keys("", &call_id);
            let head: String = call_id.chars().take(length).collect();
            for text in [format!("{head}*{tail}"), call_id.clone()] {
                let Ok(pattern) = text.parse::<Pattern>() else { continue };
                prop_assert!(!pattern.matches(&call_id) || finds(&of_call_id(&pattern), &keys), "{text}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut_and_found() {
        let user = "1".repeat(40) + "end";
        let keys = keys(&user, &"c".repeat(300));
        assert!(keys.iter().all(|key| key.len() <= 1 + LONGEST), "{keys:?}");
        for pattern in [user.clone(), format!("*{user}"), "*end".into(), "1111*".into(), "*1e*".into()] {
            assert!(finds(&of_number(&pattern.parse().unwrap()), &keys), "{pattern}");
        }
    }

    /// A whole number and its last digits are looked up, and no other number is read.
    #[test]
    fn what_is_looked_up() {
        let ranges = |text: &str| match of_number(&text.parse().unwrap()) {
            Probes::Ranges(ranges) => ranges,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            ranges("*0138"),
            [
                (b"b8310".to_vec(), b"b8310\xff\xff\xff\xff\xff".to_vec()),
                (b"b831".to_vec(), b"b831".to_vec())
            ]
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
        );
        assert_eq!(ranges("442079460138"), [(b"b831064970244".to_vec(), b"b831064970244".to_vec())]);
        assert_eq!(ranges("+4420*").len(), 2);
        assert_eq!(of_number(&"*7946*".parse().unwrap()), Probes::Scan(vec![b"6497".to_vec(); 2]));
        assert_eq!(of_number(&"0*".parse().unwrap()), Probes::Scan(vec![]));
    }
}
