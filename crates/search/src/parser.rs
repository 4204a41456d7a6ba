//! Terms into an expression: `or` binds less than what stands side by side, `-` and `not` bind most.

use crate::context::Context;
use crate::error::{ParseError, Place};
use crate::expression::{Condition, Expression};
use crate::field::{FIELDS, Field, Subject, why_not};
use crate::lexer::{Term, Token, TokenKind, tokens};
use crate::read::{guess, one_of, shortened, sites, values};

/// The longest text.
pub const MOST_BYTES: usize = 4_096;
/// The most conditions and values that a text can have, those of named lists not counted.
pub const MOST_TERMS: usize = 200;
/// How deep brackets and `not` can stand in each other.
pub const MOST_LEVELS: usize = 32;

/// The expression of a text. A text without a term selects all calls.
///
/// # Errors
///
/// The text cannot be read: where it is wrong, and what would be right.
pub fn parse(text: &str, context: &Context) -> Result<Expression, ParseError> {
    let whole = Place::between(0, text.chars().count());
    if text.len() > MOST_BYTES {
        return Err(whole.error(
            format!("the text is longer than {MOST_BYTES} bytes"),
            "write less, or a named list instead of its values",
        ));
    }
    let tokens = tokens(text)?;
    let mut parser =
        Parser { tokens: &tokens, at: 0, end: whole.end(), terms: 0, levels: 0, stream: None, context };
    if tokens.is_empty() {
        return Ok(Expression::default());
    }
    let expression = parser.any()?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) => Err(token.place.error("`)` closes nothing", "leave it out, or write `(` before")),
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    /// The number of characters.
    end: usize,
    terms: usize,
    levels: usize,
    /// Where the `stream(` begins that this is in.
    stream: Option<Place>,
    context: &'t Context,
}

impl<'t> Parser<'t> {
    fn any(&mut self) -> Result<Expression, ParseError> {
        let mut parts = vec![self.all()?];
        while let Some(Token { kind: TokenKind::Or, place }) = self.peek() {
            self.at += 1;
            self.expect_term(*place, "`or`")?;
            parts.push(self.all()?);
        }
        Ok(Expression::any(parts))
    }

    fn all(&mut self) -> Result<Expression, ParseError> {
        let mut parts = vec![self.one()?];
        while let Some(token) = self.peek() {
            match token.kind {
                TokenKind::Or | TokenKind::Close => break,
                TokenKind::And => {
                    self.at += 1;
                    self.expect_term(token.place, "`and`")?;
                    parts.push(self.one()?);
                }
                _ => parts.push(self.one()?),
            }
        }
        Ok(Expression::all(parts))
    }

    fn one(&mut self) -> Result<Expression, ParseError> {
        let Some(token) = self.peek() else {
            return Err(Place::between(self.end, self.end).error("a term is expected", TERM));
        };
        self.at += 1;
        let place = token.place;
        match &token.kind {
            TokenKind::Term(term) => self.term(term, place),
            TokenKind::Open => self.group(place),
            TokenKind::OpenStream => {
                if self.stream.is_some() {
                    return Err(
                        place.error("stream(...) stands within stream(...)", "write one beside the other")
                    );
                }
                self.stream = Some(place);
                let inner = self.group(place)?;
                self.stream = None;
                Ok(Expression::Stream(Box::new(inner)))
            }
            TokenKind::Not => {
                self.expect_term(place, "`not`")?;
                self.deeper(place)?;
                let inner = self.one()?;
                self.levels -= 1;
                Ok(Expression::Not(Box::new(inner)))
            }
            TokenKind::Close => Err(place.error("a term is expected before `)`", TERM)),
            TokenKind::And | TokenKind::Or => {
                Err(place
                    .error("a term is expected before it", format!("{TERM}; to find the word, quote it")))
            }
        }
    }

    /// What stands in brackets, behind the opening one.
    fn group(&mut self, open: Place) -> Result<Expression, ParseError> {
        self.deeper(open)?;
        if self.peek().is_none() {
            return Err(open.error("the bracket is not closed", "write `)` behind what belongs together"));
        }
        let inner = self.any()?;
        match self.peek() {
            Some(Token { kind: TokenKind::Close, .. }) => self.at += 1,
            _ => {
                return Err(open.error("the bracket is not closed", "write `)` behind what belongs together"));
            }
        }
        self.levels -= 1;
        Ok(inner)
    }

    fn term(&mut self, term: &Term, place: Place) -> Result<Expression, ParseError> {
        self.terms += term.values.len();
        if self.terms > MOST_TERMS {
            return Err(place.error(
                format!("there are more than {MOST_TERMS} conditions and values"),
                "write less, or a named list instead of its values",
            ));
        }
        let Some((name, name_place, operator)) = &term.field else {
            let [raw] = &term.values[..] else { return Ok(Expression::default()) };
            let guessed = guess(raw, self.context)?;
            check_stream(self.stream.is_some(), &guessed, place)?;
            return Ok(guessed);
        };
        if name.eq_ignore_ascii_case("site") {
            if self.stream.is_some() {
                let problem = "`site` is about the call, not about one stream";
                return Err(name_place.error(problem, "write it outside of stream(...)"));
            }
            return sites(*operator, *name_place, &term.values, self.context);
        }
        let Some(field) = Field::of_name(name) else { return Err(unknown(name, *name_place)) };
        let test = values(field, *operator, &term.values, self.context)?;
        let condition = Expression::Condition(Condition { field: field.id, test });
        check_stream(self.stream.is_some(), &condition, *name_place)?;
        Ok(condition)
    }

    /// What follows a word that joins terms.
    fn expect_term(&self, place: Place, word: &str) -> Result<(), ParseError> {
        match self.peek().map(|token| &token.kind) {
            None | Some(TokenKind::Close | TokenKind::Or | TokenKind::And) => Err(place.error(
                format!("a term is expected behind {word}"),
                format!("{TERM}; to find the word, quote it"),
            )),
            _ => Ok(()),
        }
    }

    fn deeper(&mut self, place: Place) -> Result<(), ParseError> {
        self.levels += 1;
        match self.levels > MOST_LEVELS {
            true => Err(place.error(
                format!("brackets and `not` stand more than {MOST_LEVELS} deep in each other"),
                "take brackets out",
            )),
            false => Ok(()),
        }
    }

    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }
}

/// Refuses what is about the call within `stream(...)`.
fn check_stream(in_stream: bool, expression: &Expression, place: Place) -> Result<(), ParseError> {
    let is_about_call = |condition: &Condition| condition.field().subject == Subject::Call;
    match expression {
        Expression::Condition(condition) if in_stream && is_about_call(condition) => Err(place.error(
            format!("`{}` is about the call, not about one stream", condition.field().name),
            "write it outside of stream(...)",
        )),
        Expression::Any(parts) | Expression::All(parts) => {
            parts.iter().try_for_each(|part| check_stream(in_stream, part, place))
        }
        _ => Ok(()),
    }
}

fn unknown(name: &str, place: Place) -> ParseError {
    let shown = shortened(name);
    if let Some(why) = why_not(name) {
        return place.error(format!("`{shown}` cannot be searched"), why);
    }
    let remedy = one_of(name, FIELDS.iter().map(|field| field.name));
    place
        .error(format!("there is no field `{shown}`"), format!("{remedy}; to find the text itself, quote it"))
}

const TERM: &str = "write a number, an address, a text or field:value";

#[cfg(test)]
mod tests;
