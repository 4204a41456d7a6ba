//! Replaces words and numbers: letters become letters and digits become digits, so that length and form stay.
//!
//! The replacement of a character depends on the key and on the characters before it in its word. So common
//! prefixes are preserved: `+4202*` still finds one town's numbers. Different words become different words,
//! and no character stays the same.

use std::collections::HashMap;

use crate::key::{Key, Stream};

/// Most cached replacements; when full, the cache is cleared, and replacements are computed again.
const REMEMBERED: usize = 1 << 16;

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";

/// Purposes of the key's stream.
const BEGIN: u8 = 1;
const NEXT: u8 = 2;
const SHUFFLE: u8 = 3;

pub(crate) struct Names {
    stream: Stream,
    begin: [u8; 32],
    known: HashMap<Vec<u8>, Vec<u8>>,
}

impl Names {
    pub(crate) fn new(key: &Key) -> Self {
        let stream = key.stream();
        Self { begin: stream.of(BEGIN, b"word"), stream, known: HashMap::new() }
    }

    /// Replaces a word without separators; hyphens between digits are ignored: `602-123` is `602123`.
    pub(crate) fn word(&mut self, word: &[u8], out: &mut Vec<u8>) {
        if let Some(known) = self.known.get(word) {
            out.extend_from_slice(known);
            return;
        }
        let start = out.len();
        let mut state = self.begin;
        for &byte in word {
            let lower = byte.to_ascii_lowercase();
            match byte {
                b'0'..=b'9' => out.push(self.shuffled(&state, DIGITS, byte)),
                b'a'..=b'z' => out.push(self.shuffled(&state, LETTERS, byte)),
                b'A'..=b'Z' => out.push(self.shuffled(&state, LETTERS, lower).to_ascii_uppercase()),
                // A letter for a character of another script, none for the bytes that follow its first.
                0xc0.. => out.push(LETTERS[usize::from(self.stream.of(SHUFFLE, &state)[0] ^ byte) % 26]),
                0x80.. => {}
                _ => {
                    out.push(byte);
                    continue;
                }
            }
            state = self.next(&state, lower);
        }
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.to_vec(), out[start..].to_vec());
    }

    /// The same for hexadecimal digits. Other characters stay.
    pub(crate) fn hex(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut state = self.stream.of(BEGIN, b"hex");
        for &byte in text {
            let lower = byte.to_ascii_lowercase();
            if !byte.is_ascii_hexdigit() {
                out.push(byte);
                continue;
            }
            out.push(self.shuffled(&state, HEX, lower));
            state = self.next(&state, lower);
        }
    }

    fn next(&self, state: &[u8; 32], byte: u8) -> [u8; 32] {
        let mut input = [0; 33];
        input[..32].copy_from_slice(state);
        input[32] = byte;
        self.stream.of(NEXT, &input)
    }

    /// The replacement of a character at this position: a cyclic permutation (Sattolo's algorithm), which has
    /// no fixed point.
    fn shuffled(&self, state: &[u8; 32], alphabet: &[u8], byte: u8) -> u8 {
        let random = self.stream.of(SHUFFLE, state);
        let mut shuffled = [0; 26];
        let shuffled = &mut shuffled[..alphabet.len()];
        shuffled.copy_from_slice(alphabet);
        // INVARIANT: an alphabet has at most 26 characters, the stream gives 32 bytes.
        for (at, random) in (1..alphabet.len()).rev().zip(random) {
            shuffled.swap(at, usize::from(random) % at);
        }
        let place = alphabet.iter().position(|other| *other == byte).unwrap_or(0);
        shuffled[place]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn word(names: &mut Names, word: &str) -> String {
        let mut out = Vec::new();
        names.word(word.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_short_number_has_one_of_its_own_and_none_keeps_its_own() {
        let mut names = Names::new(&Key([3; 32]));
        for length in 1..4 {
            let count = 10_usize.pow(length);
            let width = length as usize;
            let all: HashSet<String> = (0..count)
                .map(|number| {
                    let number = format!("{number:0width$}");
                    let other = word(&mut names, &number);
                    assert!(number.bytes().zip(other.bytes()).all(|(a, b)| a != b), "{number} {other}");
                    other
                })
                .collect();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn looks_stay() {
        let mut names = Names::new(&Key([3; 32]));
        assert_eq!(word(&mut names, "602-123"), {
            let plain = word(&mut names, "602123");
            format!("{}-{}", &plain[..3], &plain[3..])
        });
        assert_eq!(word(&mut names, "Alice").to_lowercase(), word(&mut names, "alice"));
        assert!(word(&mut names, "Alice").starts_with(|c: char| c.is_ascii_uppercase()));
        let mut hex = Vec::new();
        names.hex(b"ab30317f;", &mut hex);
        assert!(hex[..8].iter().all(u8::is_ascii_hexdigit) && hex[8] == b';' && !hex.starts_with(b"ab"));
    }

    #[test]
    fn another_key_gives_other_names() {
        let names = [1, 2].map(|key| word(&mut Names::new(&Key([key; 32])), "420602123456"));
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn begins_alike_as_far_as_they_do(a in "[a-z0-9]{0,12}", b in "[a-z0-9]{0,12}") {
            let mut names = Names::new(&Key([9; 32]));
            let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            let (c, d) = (word(&mut names, &a), word(&mut names, &b));
            prop_assert_eq!(common(&a, &b), common(&c, &d));
            prop_assert_eq!(a.len(), c.len());
        }
    }
}
