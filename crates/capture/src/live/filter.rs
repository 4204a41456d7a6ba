//! A filter expression in tcpdump's syntax.

use std::fmt;

use ringtap_model::{Frame, LinkType};

use crate::sys::pcap::Library;

use super::bpf::{Instruction, Program, View};
use super::error::Error;
use super::interface::ETHERNET;

/// Selects the frames that match an expression in the syntax of pcap-filter(7):
/// `udp port 5060 or net 192.0.2.0/24`.
///
/// The result is the same whether the kernel filters or this does. An expression without the word `vlan` does
/// not see the outermost VLAN tag: `udp port 5060` also selects tagged frames (the kernel removes that tag
/// before its filters run). With it, all tags are visible, as for tcpdump on files:
/// `udp port 5060 or (vlan and udp port 5060)`.
#[derive(Clone)]
pub struct Filter {
    expression: String,
    snaplen: u32,
    sees_tags: bool,
    /// A program for each link type seen so far; `None` if the expression cannot be compiled for it.
    programs: Vec<(LinkType, Option<Program>)>,
}

impl Filter {
    /// Compiles an expression for one link type; for others, programs are compiled when their first frame
    /// arrives.
    ///
    /// # Errors
    ///
    /// libpcap is not installed, or rejects the expression; the message then says from which column on.
    pub fn new(expression: &str, link: LinkType) -> Result<Self, Error> {
        Self::with_snaplen(expression, link, u32::from(u16::MAX) << 2)
    }

    /// The same, for a kernel that captures the first `snaplen` bytes of a match.
    pub(super) fn with_snaplen(expression: &str, link: LinkType, snaplen: u32) -> Result<Self, Error> {
        let expression = expression.trim();
        let library = Library::load()
            .map_err(|what| Error::FilterLibrary { expression: expression.to_owned(), what })?;
        let compile = |text: &str| library.compile(text, data_link(link), snaplen);
        let code = compile(expression).map_err(|said| Error::Filter {
            expression: expression.to_owned(),
            what: explain(expression, &said, |text| compile(text).is_ok()),
        })?;
        let program = Program::new(&code).ok_or_else(|| Error::Filter {
            expression: expression.to_owned(),
            what: format!("it compiles to {} instructions, more than the kernel accepts", code.len()),
        })?;
        Ok(Self {
            expression: expression.to_owned(),
            snaplen,
            sees_tags: words(expression).any(|(_, word)| word == "vlan"),
            programs: vec![(link, Some(program))],
        })
    }

    /// The expression, without surrounding space.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Whether the kernel, which sees frames without their outermost tag, would select the same frames.
    pub(super) fn suits_kernel(&self) -> bool {
        !self.sees_tags
    }

    /// The program for the link type given to `new`.
    pub(super) fn instructions(&self) -> &[Instruction] {
        self.programs.first().and_then(|(_, program)| program.as_ref()).map_or(&[], Program::instructions)
    }

    /// Whether the frame matches. Frames of a link type for which the expression cannot be compiled do not.
    pub fn matches(&mut self, frame: &Frame<'_>) -> bool {
        if !self.programs.iter().any(|(link, _)| *link == frame.link) {
            self.compile_for(frame.link);
        }
        self.matches_data(frame.link, frame.wire_len, frame.data)
    }

    /// The same for link types seen before.
    #[inline]
    pub(super) fn matches_data(&self, link: LinkType, wire_len: u32, data: &[u8]) -> bool {
        let program = self.programs.iter().find(|(other, _)| *other == link);
        let Some((_, Some(program))) = program else { return false };
        let mut view = View::whole(data, wire_len);
        if !self.sees_tags && link == ETHERNET && matches!(data.get(12..14), Some([0x81, 0] | [0x88, 0xa8])) {
            (view.hole, view.hole_len) = (12, 4);
        }
        program.run(&view) != 0
    }

    #[cold]
    fn compile_for(&mut self, link: LinkType) {
        let code = Library::load()
            .and_then(|library| library.compile(&self.expression, data_link(link), self.snaplen));
        self.programs.push((link, code.ok().and_then(|code| Program::new(&code))));
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter(`{}`)", self.expression)
    }
}

/// libpcap's message with the column of the error, which libpcap does not give: it follows from the longest
/// prefix that compiles.
fn explain(expression: &str, said: &str, reads: impl Fn(&str) -> bool) -> String {
    let balanced = |text: &str| {
        let count = |bracket| text.matches(bracket).count();
        text.to_owned() + &")".repeat(count('(').saturating_sub(count(')')))
    };
    let ends: Vec<usize> = words(expression).map(|(at, word)| at + word.len()).collect();
    let read =
        ends.iter().rev().find(|end| **end < expression.len() && reads(&balanced(&expression[..**end])));
    let read = read.copied().unwrap_or(0);
    let rest = expression[read..].trim_start();
    let column = expression[..expression.len() - rest.len()].chars().count() + 1;
    let said = said.strip_prefix("syntax error in filter expression: ").unwrap_or(said);
    match read {
        0 if rest.is_empty() => said.to_owned(),
        0 => format!("{said}, at column 1 on: `{rest}`"),
        _ => format!("{said}, at column {column} on: `{rest}`"),
    }
}

/// Words and brackets, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let breaks = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '!');
    text.split_inclusive(breaks)
        .scan(0, |at, part| {
            let begin = *at;
            *at += part.len();
            Some((begin, part.trim_end_matches(char::is_whitespace)))
        })
        .flat_map(|(begin, part)| {
            let bracket = part.len() - part.trim_end_matches(['(', ')', '!']).len();
            let word = part.len() - bracket;
            [(begin, &part[..word]), (begin + word, &part[word..])]
        })
        .filter(|(_, word)| !word.is_empty())
}

/// libpcap's `DLT_` for a link type of the file formats: the same number but for raw IP (pcap/dlt.h).
fn data_link(link: LinkType) -> i32 {
    match link.0 {
        101 => 12,
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;

    use super::*;

    fn filter(expression: &str) -> Option<Filter> {
        match Filter::new(expression, ETHERNET) {
            Err(Error::FilterLibrary { what, .. }) => {
                ringtap_testing::skip("libpcap", what);
                None
            }
            filter => Some(filter.unwrap_or_else(|error| panic!("{error}"))),
        }
    }

    fn message(expression: &str) -> Option<String> {
        match Filter::new(expression, ETHERNET) {
            Err(Error::FilterLibrary { .. }) => None,
            filter => Some(filter.expect_err("a wrong expression").to_string()),
        }
    }

    fn sip(tag: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend(tag);
        frame.extend([8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 7]);
        frame.extend([0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, b'x', b'x', b'x', b'x']);
        frame
    }

    fn frame(link: u16, data: &[u8]) -> Frame<'_> {
        Frame { time: Nanos(0), number: 1, link: LinkType(link), wire_len: data.len() as u32, data }
    }

    #[test]
    fn expressions_keep_what_they_describe() {
        for (expression, plain, tagged) in [
            ("udp port 5060", true, true),
            ("udp port 5061", false, false),
            ("dst net 192.0.2.0/24", true, true),
            ("tcp", false, false),
            ("vlan", false, true),
            ("vlan 7", false, false),
            ("vlan 5 and udp port 5060", false, true),
            ("greater 100", false, false),
        ] {
            let Some(mut filter) = filter(expression) else { return };
            assert_eq!(filter.matches(&frame(1, &sip(&[]))), plain, "{expression}");
            assert_eq!(filter.matches(&frame(1, &sip(&[0x81, 0, 0, 5]))), tagged, "{expression}, tagged");
        }
    }

    #[test]
    fn other_link_types_have_programs_of_their_own() {
        let Some(mut filter) = filter("udp port 5060") else { return };
        assert!(filter.matches(&frame(101, &sip(&[])[14..])));
        assert!(!filter.matches(&frame(101, &sip(&[]))));
        assert!(!filter.matches(&frame(60_000, &sip(&[]))), "libpcap knows no such link type");
    }

    #[test]
    fn a_wrong_expression_says_where() {
        let Some(said) = message("udp port 5060 und tcp") else { return };
        assert!(said.starts_with("cannot compile the filter `udp port 5060 und tcp`: "), "{said}");
        assert!(said.contains("at column 15 on: `und tcp`"), "{said}");
        let said = message("(udp or tcp) and (prt 5060)").expect("as before");
        assert!(said.contains("at column 14 on: `and (prt 5060)`"), "{said}");
        let said = message("prt 5060").expect("as before");
        assert!(said.contains("at column 1 on: `prt 5060`"), "{said}");
        let said = message("udp\0").expect("as before");
        assert!(said.contains("zero byte"), "{said}");
    }

    #[test]
    fn words_and_where_they_are() {
        let found: Vec<_> = words("(udp or !tcp) and x").collect();
        let expected =
            [(0, "("), (1, "udp"), (5, "or"), (8, "!"), (9, "tcp"), (12, ")"), (14, "and"), (18, "x")];
        assert_eq!(found, expected);
    }
}
