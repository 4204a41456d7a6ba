//! Cuts a text into terms, brackets and words that join them.

use std::net::IpAddr;

use crate::error::{ParseError, Place};

/// A piece of the text, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) place: Place,
    pub(crate) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// `(`.
    Open,
    /// `stream(`.
    OpenStream,
    /// `)`.
    Close,
    /// `-` before a term, or `not`.
    Not,
    And,
    Or,
    Term(Term),
}

/// A condition as it is written, or a bare word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The field and the operator; none for a bare word.
    pub(crate) field: Option<(String, Place, Operator)>,
    /// The values; of a bare word, one.
    pub(crate) values: Vec<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `:` or `=`.
    Is,
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawValue {
    pub(crate) place: Place,
    /// What stands in quotes, and what does not, in turn.
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) text: String,
    pub(crate) is_quoted: bool,
}

impl RawValue {
    /// The whole text, without its quotes.
    pub(crate) fn text(&self) -> String {
        self.segments.iter().map(|segment| segment.text.as_str()).collect()
    }

    /// Whether a part of it is quoted.
    pub(crate) fn is_quoted(&self) -> bool {
        self.segments.iter().any(|segment| segment.is_quoted)
    }

    /// The texts between the `*` that stand outside of quotes.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let mut pieces = vec![String::new()];
        let mut push = |text: &str, is_next: bool| {
            if is_next {
                pieces.push(String::new());
            }
            if let Some(last) = pieces.last_mut() {
                last.push_str(text);
            }
        };
        for segment in &self.segments {
            if segment.is_quoted {
                push(&segment.text, false);
            } else {
                let parts = segment.text.split(['*', '…']);
                parts.enumerate().for_each(|(number, part)| push(part, number > 0));
            }
        }
        pieces
    }
}

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_spaces();
        if lexer.peek(0).is_none() {
            return Ok(tokens);
        }
        let begin = lexer.at;
        let kind = lexer.token()?;
        tokens.push(Token { place: Place::between(begin, lexer.at), kind });
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn token(&mut self) -> Result<TokenKind, ParseError> {
        let begin = self.at;
        match self.peek(0) {
            Some('(') => Ok(self.advance(1, TokenKind::Open)),
            Some(')') => Ok(self.advance(1, TokenKind::Close)),
            Some('-') if !self.is_span_ago() => {
                if self.peek(1).is_none_or(|c| c.is_whitespace() || c == ')') {
                    return Err(Place::between(begin, begin + 1).error(
                        "`-` stands alone",
                        "write it before what is to be left out, as -state:failed",
                    ));
                }
                Ok(self.advance(1, TokenKind::Not))
            }
            Some(c @ ('[' | ']' | '>' | '<' | '=' | ':')) => Err(Place::between(begin, begin + 1).error(
                format!("`{c}` has no field before it"),
                "write a field before it, as code:[486,503] or pdd>3s, or put the text into quotes",
            )),
            _ => self.word_or_term(),
        }
    }

    /// `-2h`: a time, rather than what is to be left out.
    fn is_span_ago(&self) -> bool {
        let word: String = self.chars[self.at..].iter().take_while(|c| is_plain(**c)).collect();
        let word = word.split("..").next().unwrap_or_default();
        let digits = word.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() + 1 < word.len()
            && matches!(digits, "ms" | "s" | "m" | "min" | "h" | "d" | "w")
            && !word.starts_with("--")
    }

    fn word_or_term(&mut self) -> Result<TokenKind, ParseError> {
        if let Some(field) = self.field()? {
            let values = self.values(&field)?;
            return Ok(TokenKind::Term(Term { field: Some(field), values }));
        }
        let value = self.value(false)?;
        if !value.is_quoted() {
            let next = self.peek(0);
            match value.text().to_ascii_lowercase().as_str() {
                "or" => return Ok(TokenKind::Or),
                "and" => return Ok(TokenKind::And),
                "not" => return Ok(TokenKind::Not),
                "stream" if next == Some('(') => return Ok(self.advance(1, TokenKind::OpenStream)),
                _ => {}
            }
        }
        Ok(TokenKind::Term(Term { field: None, values: vec![value] }))
    }

    /// A field and an operator; none, and nothing is passed over, where a bare word stands.
    fn field(&mut self) -> Result<Option<(String, Place, Operator)>, ParseError> {
        let begin = self.at;
        let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let name: String = self.chars[begin..].iter().take_while(|c| is_name(c)).collect();
        // All of its characters are ASCII.
        let end = begin + name.len();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || self.is_address() || is_scheme(&name) {
            return Ok(None);
        }
        self.at = end;
        if self.peek(0) == Some(':') {
            self.at += 1;
            // `mos:<3` is `mos<3`.
            let operator = self.comparison().unwrap_or(Operator::Is);
            return Ok(Some((name, Place::between(begin, end), operator)));
        }
        self.skip_spaces();
        match self.comparison() {
            Some(operator) => Ok(Some((name, Place::between(begin, end), operator))),
            None => {
                self.at = begin;
                Ok(None)
            }
        }
    }

    fn comparison(&mut self) -> Option<Operator> {
        let (operator, length) = match (self.peek(0)?, self.peek(1)) {
            ('>', Some('=')) => (Operator::AtLeast, 2),
            ('<', Some('=')) => (Operator::AtMost, 2),
            ('>', _) => (Operator::Above, 1),
            ('<', _) => (Operator::Below, 1),
            ('=', _) => (Operator::Is, 1),
            _ => return None,
        };
        self.at += length;
        Some(operator)
    }

    /// Whether an IPv6 address or network begins here.
    fn is_address(&self) -> bool {
        let word: String = self.chars[self.at..].iter().take_while(|c| is_plain(**c)).collect();
        let address = word.split('/').next().unwrap_or_default();
        address.contains(':') && address.parse::<IpAddr>().is_ok()
    }

    /// The values after an operator.
    fn values(&mut self, (name, place, _): &(String, Place, Operator)) -> Result<Vec<RawValue>, ParseError> {
        self.skip_spaces();
        if self.peek(0) != Some('[') {
            if self.peek(0).is_none_or(|c| matches!(c, ')' | ']' | '(' | ',')) {
                return Err(Place::between(place.begin, self.at.max(place.end())).error(
                    format!("`{name}` has no value"),
                    "write one behind it, in quotes if it has spaces",
                ));
            }
            return Ok(vec![self.value(false)?]);
        }
        let begin = self.at;
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.skip_spaces();
            match self.peek(0) {
                None => {
                    return Err(Place::between(begin, self.at)
                        .error("the list does not end", "write `]` behind its last value"));
                }
                Some(c @ (',' | ']' | '(' | ')' | '[')) => {
                    return Err(Place::between(self.at, self.at + 1).error(
                        format!("a value is expected, not `{c}`"),
                        "write a list as [486,503], with texts that have such characters in quotes",
                    ));
                }
                Some(_) => values.push(self.value(true)?),
            }
            self.skip_spaces();
            match self.peek(0) {
                Some(',') => self.at += 1,
                Some(']') => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(_) => {
                    return Err(Place::between(self.at, self.at + 1)
                        .error("`,` or `]` is expected", "write a list as [486,503]"));
                }
                None => {}
            }
        }
    }

    /// A value: up to a space or a bracket that is not in quotes, in a list also up to a comma.
    fn value(&mut self, in_list: bool) -> Result<RawValue, ParseError> {
        let begin = self.at;
        let mut segments: Vec<Segment> = Vec::new();
        while let Some(c) = self.peek(0) {
            if is_quote(c) {
                segments.push(self.quoted()?);
            } else if !is_plain(c) || (in_list && c == ',') {
                break;
            } else {
                match segments.last_mut() {
                    Some(Segment { text, is_quoted: false }) => text.push(c),
                    _ => segments.push(Segment { text: c.into(), is_quoted: false }),
                }
                self.at += 1;
            }
        }
        let place = Place::between(begin, self.at);
        if segments.iter().all(|segment| segment.text.is_empty()) {
            return Err(place.error(
                "an empty text matches nothing",
                "write a text, or `*` for what is there at all, as from:*",
            ));
        }
        Ok(RawValue { place, segments })
    }

    fn quoted(&mut self) -> Result<Segment, ParseError> {
        let begin = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' if self.peek(0).is_some_and(|next| next == '\\' || is_quote(next)) => {
                    text.extend(self.peek(0));
                    self.at += 1;
                }
                c if is_quote(c) => return Ok(Segment { text, is_quoted: true }),
                c => text.push(c),
            }
        }
        Err(Place::between(begin, self.at)
            .error("the quotation mark is not closed", "write another one behind the text"))
    }

    fn skip_spaces(&mut self) {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn advance(&mut self, by: usize, kind: TokenKind) -> TokenKind {
        self.at += by;
        kind
    }
}

/// Whether a character belongs to a value that is not quoted.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '(' | ')' | '[' | ']') && !is_quote(c)
}

/// Quotation marks, also those that keyboards of telephones write.
pub(crate) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„')
}

/// What stands before the `:` of a URI that is searched as it was copied.
fn is_scheme(name: &str) -> bool {
    ["sip", "sips", "tel"].iter().any(|scheme| name.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    fn shown(text: &str) -> String {
        let one = |token: TokenKind| match token {
            TokenKind::Open => "(".to_owned(),
            TokenKind::OpenStream => "stream(".to_owned(),
            TokenKind::Close => ")".to_owned(),
            TokenKind::Not => "-".to_owned(),
            TokenKind::And => "and".to_owned(),
            TokenKind::Or => "or".to_owned(),
            TokenKind::Term(term) => {
                let values: Vec<String> = term.values.iter().map(RawValue::text).collect();
                let field = term.field.map(|(name, _, operator)| format!("{name} {operator:?} "));
                format!("<{}{}>", field.unwrap_or_default(), values.join("|"))
            }
        };
        kinds(text).into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn terms() {
        for (text, tokens) in [
            ("", ""),
            ("0138 at:15:00", "<0138> <at Is 15:00>"),
            ("pdd > 3s mos:<3 loss>=2", "<pdd Above 3s> <mos Below 3> <loss AtLeast 2>"),
            ("-(a or not b)", "- ( <a> or - <b> )"),
            ("stream(codec:G729 loss>2)", "stream( <codec Is G729> <loss Above 2> )"),
            ("stream x OR AND", "<stream> <x> or and"),
            ("code:[486, 503 ] x", "<code Is 486|503> <x>"),
            ("ua:\"a \\\"b\\\\ c)\"* x", "<ua Is a \"b\\ c)*> <x>"),
            ("-2h -0138 began>-1d", "<-2h> - <0138> <began Above -1d>"),
            ("-90m..-30m -2hx", "<-90m..-30m> - <2hx>"),
            ("2001:db8::1 fe80::1/64 14:03", "<2001:db8::1> <fe80::1/64> <14:03>"),
            ("sip:alice@example.org", "<sip:alice@example.org>"),
            ("“two words” \"or\"", "<two words> <or>"),
            ("h.x-route:*", "<h.x-route Is *>"),
        ] {
            assert_eq!(shown(text), tokens, "{text}");
        }
    }

    #[test]
    fn mistakes_and_their_places() {
        for (text, column, length) in [
            ("a \"b", 3, 2),
            ("code:[486", 6, 4),
            ("code:[486,]", 11, 1),
            ("x code:", 3, 5),
            ("(mos> )", 2, 5),
            ("a [b]", 3, 1),
            ("é > 3", 3, 1),
            ("- a", 1, 1),
            ("ua:\"\"", 4, 2),
            ("code:[486 503]", 11, 1),
        ] {
            let error = tokens(text).unwrap_err();
            assert_eq!((error.column, error.length), (column, length), "{text}: {error}");
        }
    }

    #[test]
    fn stars_in_quotes_are_characters() {
        let value = |text: &str| match kinds(text).remove(0) {
            TokenKind::Term(mut term) => term.values.remove(0),
            other => panic!("{other:?}"),
        };
        assert_eq!(value("*0138").pieces(), ["", "0138"]);
        assert_eq!(value("\"*72\"").pieces(), ["*72"]);
        assert_eq!(value("*\"a b\"*c").pieces(), ["", "a b", "c"]);
        assert_eq!(value("4f2a…").pieces(), ["4f2a", ""]);
    }
}
