//! Splits a Rust file into tokens.

/// A word or one character of punctuation, with its line. A literal is one token without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word or the character; `"` for text, `'` for a character or lifetime, `0` for a number.
    pub text: &'a str,
    /// Line number, from 1.
    pub line: usize,
}

/// All tokens of a file in order, without comments.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut found = Vec::new();
    while let Some(token) = lexer.next_token() {
        found.push(token);
    }
    found
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks_and_comments();
        let line = self.line;
        let rest = self.rest();
        let first = rest.chars().next()?;
        let text = match first {
            '"' => self.quoted(0),
            '\'' => self.character_or_lifetime(),
            '0'..='9' => self.number(),
            _ if is_word(first) => self.word_or_text(),
            _ => {
                self.advance(first.len_utf8());
                &rest[..first.len_utf8()]
            }
        };
        Some(Token { text, line })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.text[self.at..self.at + bytes].matches('\n').count();
        self.at += bytes;
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let comment = match &rest[blank..] {
                line if line.starts_with("//") => line.find('\n').unwrap_or(line.len()),
                block if block.starts_with("/*") => block_comment(block),
                _ => 0,
            };
            self.advance(blank + comment);
            if comment == 0 {
                return;
            }
        }
    }

    /// Reads a string literal with escapes that begins `prefix` bytes further.
    fn quoted(&mut self, prefix: usize) -> &'a str {
        let rest = self.rest().as_bytes();
        let mut end = prefix + 1;
        while end < rest.len() && rest[end] != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        self.advance((end + 1).min(rest.len()));
        "\""
    }

    /// Reads a raw string: `prefix` bytes, hashes, a quotation mark.
    fn raw(&mut self, prefix: usize, hashes: usize) -> &'a str {
        let begin = prefix + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = self.rest()[begin..].find(&end).map_or(self.rest().len(), |at| begin + at + end.len());
        self.advance(length);
        "\""
    }

    fn character_or_lifetime(&mut self) -> &'a str {
        let mut rest = self.rest()[1..].char_indices();
        let first = rest.next().map(|(_, first)| first);
        let second = rest.next();
        let length = match (first, second) {
            (Some('\\'), _) => self.rest()[3..].find('\'').map_or(self.rest().len(), |at| at + 4),
            (_, Some((at, '\''))) => at + 2,
            _ => 1 + word_length(&self.rest()[1..]),
        };
        self.advance(length);
        "'"
    }

    fn number(&mut self) -> &'a str {
        let rest = self.rest();
        let mut length = word_length(rest);
        let fraction =
            rest[length..].strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(fraction) = fraction {
            length += 1 + word_length(fraction);
        }
        self.advance(length);
        "0"
    }

    /// Reads a word, or a literal with a prefix: `b"`, `r#"`, `br"`, `c"`, `b'`.
    fn word_or_text(&mut self) -> &'a str {
        let rest = self.rest();
        let word = &rest[..word_length(rest)];
        let after = &rest[word.len()..];
        let hashes = after.len() - after.trim_start_matches('#').len();
        let is_raw = matches!(word, "r" | "br" | "cr") && after[hashes..].starts_with('"');
        match word {
            _ if is_raw => self.raw(word.len(), hashes),
            "b" | "c" if after.starts_with('"') => self.quoted(1),
            "b" if after.starts_with('\'') => {
                self.advance(1);
                self.character_or_lifetime()
            }
            _ => {
                self.advance(word.len());
                word
            }
        }
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn word_length(text: &str) -> usize {
    text.find(|character| !is_word(character)).unwrap_or(text.len())
}

/// The length of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(texts("a // { b\n/* { /* } */ } */ c /// }"), ["a", "c"]);
    }

    #[test]
    fn text_is_one_token() {
        assert_eq!(
            texts(r##"f("}\"{", b"{", r#"{"}"#, br"\", c"{")"##).join(" "),
            "f ( \" , \" , \" , \" , \" )"
        );
    }

    #[test]
    fn characters_are_not_lifetimes() {
        assert_eq!(texts(r"'{' '\'' '\u{7b}' b'{' &'a x").join(" "), "' ' ' ' & ' x");
        assert_eq!(texts("'ä' 'static").join(" "), "' '");
    }

    #[test]
    fn numbers_end_before_methods_and_ranges() {
        assert_eq!(texts("1.5 0..7 1.max 0xff_u8 1e3"), ["0", "0", ".", ".", "0", "0", ".", "max", "0", "0"]);
    }

    #[test]
    fn lines_are_counted_through_text_and_comments() {
        let lines: Vec<usize> =
            tokens("a\n\"x\ny\" /*\n*/ b\n").into_iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }
}
