//! Texts to compare with, in which `*` stands for any characters.

use std::fmt;
use std::str::FromStr;

/// A text to match whole. `*` stands for any characters, also none; a `…` at the end, as tables shorten
/// texts, is a `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The texts between the `*`, which may be empty: one where there is no `*`.
    pieces: Vec<String>,
}

impl Pattern {
    /// A pattern that matches this text and no other, whatever characters it has.
    pub fn exact(text: &str) -> Self {
        Self { pieces: vec![text.to_owned()] }
    }

    /// A pattern that matches what begins with `text`.
    pub fn prefix(text: &str) -> Self {
        Self { pieces: vec![text.to_owned(), String::new()] }
    }

    /// A pattern of the texts between the `*`, which may have any characters and may be empty: one text
    /// matches itself alone. Without a text it matches the empty text alone.
    pub fn of_pieces(pieces: impl IntoIterator<Item = String>) -> Self {
        Self { pieces: pieces.into_iter().collect() }
    }

    /// Whether `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let [first, between @ .., last] = &self.pieces[..] else {
            return self.pieces.first().map_or("", String::as_str) == text;
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(&**last))
        else {
            return false;
        };
        // The first place of each piece is as good as any later one.
        between.iter().all(|piece| match rest.find(piece.as_str()) {
            Some(place) => {
                rest = &rest[place + piece.len()..];
                true
            }
            None => false,
        })
    }

    /// The text before the first `*`.
    pub fn head(&self) -> &str {
        self.pieces.first().map_or("", String::as_str)
    }

    /// The text after the last `*`; all of it where there is none.
    pub fn tail(&self) -> &str {
        self.pieces.last().map_or("", String::as_str)
    }

    /// Whether it has no `*`.
    pub fn is_exact(&self) -> bool {
        self.pieces.len() < 2
    }

    /// The texts between the `*`.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(String::as_str)
    }

    /// The same as a pattern of SQLite's GLOB, which knows `*`, `?` and `[`.
    pub fn glob(&self) -> String {
        let literal = |piece: &String| {
            piece.chars().fold(String::new(), |mut glob, c| {
                match c {
                    '?' | '[' | '*' => glob.extend(['[', c, ']']),
                    c => glob.push(c),
                }
                glob
            })
        };
        self.pieces.iter().map(literal).collect::<Vec<_>>().join("*")
    }

    /// The same with ASCII letters in lower case.
    pub(crate) fn lower(&self) -> Self {
        Self { pieces: self.pieces.iter().map(|piece| piece.to_ascii_lowercase()).collect() }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pieces.join("*"))
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty text matches nothing: write a text, or a part of it with `*`".to_owned());
        }
        let shortened = text.strip_suffix('…').map(|start| format!("{start}*"));
        let text = shortened.as_deref().unwrap_or(text);
        Ok(Self { pieces: text.split('*').map(str::to_owned).collect() })
    }
}

/// A text to find without regard to the case of ASCII letters: anywhere, or whole if it has a `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pattern: Pattern,
}

impl Words {
    /// The same texts as the pattern has, in any case of letters: found anywhere if it has no `*`.
    pub fn of(pattern: &Pattern) -> Self {
        Self { pattern: pattern.lower() }
    }

    /// Whether `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        match self.pattern.is_exact() {
            true => text.contains(self.pattern.head()),
            false => self.pattern.matches(&text),
        }
    }

    /// The same as a pattern of SQLite's GLOB for texts in lower case.
    pub fn glob(&self) -> String {
        let glob = self.pattern.glob();
        if self.pattern.is_exact() { format!("*{glob}*") } else { glob }
    }
}

impl FromStr for Words {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self::of(&text.parse()?))
    }
}

/// The name of a codec, in any case of letters and with or without punctuation: `G.729` is `g729`. `G711` is
/// PCMU or PCMA, which is how SDP names its two forms (RFC 3551 section 4.5.14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecName {
    names: Vec<Pattern>,
}

impl CodecName {
    /// Whether `codec`, a name as in SDP, matches.
    pub fn matches(&self, codec: &str) -> bool {
        let plain = plain(codec);
        self.names.iter().any(|name| name.matches(&plain))
    }

    /// The same as patterns of SQLite's GLOB, for names in lower case without [`PUNCTUATION`].
    pub fn globs(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(Pattern::glob)
    }
}

impl FromStr for CodecName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = match plain(text.trim()).as_str() {
            "" => return Err("write the name of a codec, such as PCMA, G729 or opus".to_owned()),
            "g711" => vec!["pcmu".parse()?, "pcma".parse()?],
            "g711u" | "g711ulaw" | "ulaw" => vec!["pcmu".parse()?],
            "g711a" | "g711alaw" | "alaw" => vec!["pcma".parse()?],
            name => vec![name.parse()?],
        };
        Ok(Self { names })
    }
}

/// What makes no difference in the name of a codec.
pub const PUNCTUATION: [char; 4] = ['.', '-', '_', ' '];

/// A codec's name without punctuation, in lower case.
fn plain(name: &str) -> String {
    let kept = |c: &char| !PUNCTUATION.contains(c);
    name.chars().filter(kept).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        pattern.parse::<Pattern>().unwrap().matches(text)
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("abc", "abc") && !matches("abc", "abcd") && !matches("abc", "ab"));
        assert!(matches("ab*", "ab") && matches("ab*", "abc") && !matches("ab*", "xab"));
        assert!(matches("*bc", "abc") && matches("*bc", "bc") && !matches("*bc", "bcd"));
        assert!(matches("a*c", "ac") && matches("a*c", "abbc") && !matches("a*c", "acd"));
        assert!(matches("*b*", "abc") && matches("*", "") && matches("**", "x"));
        assert!(matches("a*b*a", "aba") && !matches("a*a", "a"), "the ends do not overlap");
        assert!(matches("*ab*ab*", "xabab") && !matches("*ab*ab*", "xab"));
        assert!(matches("4f2a…", "4f2a19@x") && matches("é*", "été"));
        assert!("".parse::<Pattern>().is_err());
        assert!(Pattern::exact("a*").matches("a*") && !Pattern::exact("a*").matches("ab"));
    }

    #[test]
    fn words_are_found_anywhere() {
        let words = |words: &str, text| words.parse::<Words>().unwrap().matches(text);
        let agent = "Yealink SIP-T46S 66.86.0.15";
        assert!(words("yealink", agent) && words("t46s", agent) && words("Yea*66.86*", agent));
        assert!(!words("SIP*", agent) && !words("snom", agent));
    }

    #[test]
    fn codecs_are_named_as_people_write_them() {
        let is = |name: &str, codec| name.parse::<CodecName>().unwrap().matches(codec);
        assert!(is("G.729", "G729") && is("g729", "G729") && is("opus", "OPUS") && is("AMR*", "AMR-WB"));
        assert!(is("g711", "PCMU") && is("G.711", "PCMA") && is("alaw", "PCMA") && !is("alaw", "PCMU"));
        assert!(!is("AMR", "AMR-WB") && "".parse::<CodecName>().is_err());
    }
}
