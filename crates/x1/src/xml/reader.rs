//! Reads a document.

use std::fmt;

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace as Bound, QName, ResolveResult};
use ringtap_warrant::SecretText;
use zeroize::Zeroizing;

use super::element::{Element, Namespace};
use super::writer::{COMMON, X1, XSI};

/// Why a document is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotRead {
    /// It is not UTF-8, or not well-formed.
    IllFormed,
    /// It has a DTD, an entity of its own or a processing instruction.
    NotAllowed,
    /// It is larger, deeper or more than is read.
    TooMuch,
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IllFormed => "it is no well-formed XML in UTF-8",
            Self::NotAllowed => "it has a DTD, an entity or a processing instruction",
            Self::TooMuch => "it is too large, too deep or has too many elements",
        })
    }
}

/// An element whose end has not come.
struct Open {
    element: Element,
    text: Zeroizing<String>,
}

/// Reads a document, to its root element.
pub(crate) fn read(bytes: &[u8]) -> Result<Element, NotRead> {
    if bytes.len() > MOST_BYTES {
        return Err(NotRead::TooMuch);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| NotRead::IllFormed)?;
    let mut reader = NsReader::from_str(text);
    let (mut open, mut root, mut count): (Vec<Open>, Option<Element>, usize) = (Vec::new(), None, 0);
    loop {
        match reader.read_event().map_err(|_| NotRead::IllFormed)? {
            Event::Start(start) => {
                count += 1;
                check_place(&open, root.as_ref(), count)?;
                open.push(opened(&reader, &start)?);
            }
            Event::Empty(start) => {
                count += 1;
                check_place(&open, root.as_ref(), count)?;
                let opened = opened(&reader, &start)?;
                close(&mut open, &mut root, opened)?;
            }
            Event::End(_) => {
                let closed = open.pop().ok_or(NotRead::IllFormed)?;
                close(&mut open, &mut root, closed)?;
            }
            Event::Text(text) => {
                let text = Zeroizing::new(text.xml10_content().map_err(|_| NotRead::IllFormed)?.into_owned());
                add(&mut open, &text)?;
            }
            Event::CData(text) => {
                let text = Zeroizing::new(text.xml10_content().map_err(|_| NotRead::IllFormed)?.into_owned());
                if open.is_empty() {
                    return Err(NotRead::IllFormed);
                }
                add(&mut open, &text)?;
            }
            Event::GeneralRef(reference) => {
                let resolved = resolved(&reference)?;
                if open.is_empty() {
                    return Err(NotRead::IllFormed);
                }
                add(&mut open, resolved.encode_utf8(&mut [0; 4]))?;
            }
            Event::Decl(declaration) => {
                let encoding = declaration.encoding().transpose().map_err(|_| NotRead::IllFormed)?;
                if encoding.is_some_and(|name| !name.eq_ignore_ascii_case(b"utf-8")) {
                    return Err(NotRead::IllFormed);
                }
            }
            Event::Comment(_) => {}
            Event::DocType(_) | Event::PI(_) => return Err(NotRead::NotAllowed),
            Event::Eof if open.is_empty() => return root.ok_or(NotRead::IllFormed),
            Event::Eof => return Err(NotRead::IllFormed),
        }
    }
}

fn check_place(open: &[Open], root: Option<&Element>, count: usize) -> Result<(), NotRead> {
    if open.len() >= DEEPEST || count > MOST_ELEMENTS {
        return Err(NotRead::TooMuch);
    }
    // One root.
    if root.is_some() { Err(NotRead::IllFormed) } else { Ok(()) }
}

fn opened(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Result<Open, NotRead> {
    let (namespace, name) = expanded(reader, start.name())?;
    let mut kind = None;
    for (at, attribute) in start.attributes().enumerate() {
        let attribute = attribute.map_err(|_| NotRead::IllFormed)?;
        if at >= MOST_ATTRIBUTES {
            return Err(NotRead::TooMuch);
        }
        let (resolved, local) = reader.resolver().resolve_attribute(attribute.key);
        let is_type = matches!(resolved, ResolveResult::Bound(Bound(bound)) if bound == XSI.as_bytes());
        if is_type && local.as_ref() == b"type" {
            let (namespace, name) = expanded(reader, QName(attribute.value.trim_ascii()))?;
            kind = (namespace == Namespace::X1).then_some(name);
        }
    }
    let element = Element { namespace, name, kind, text: SecretText::default(), children: Vec::new() };
    Ok(Open { element, text: Zeroizing::new(String::new()) })
}

/// Where a name belongs, and the name there.
fn expanded(reader: &NsReader<&[u8]>, name: QName<'_>) -> Result<(Namespace, String), NotRead> {
    let (resolved, local) = reader.resolver().resolve_element(name);
    let namespace = match resolved {
        ResolveResult::Bound(Bound(bound)) if bound == X1.as_bytes() => Namespace::X1,
        ResolveResult::Bound(Bound(bound)) if bound == COMMON.as_bytes() => Namespace::Common,
        ResolveResult::Bound(_) | ResolveResult::Unbound => Namespace::Other,
        ResolveResult::Unknown(_) => return Err(NotRead::IllFormed),
    };
    let local = std::str::from_utf8(local.as_ref()).map_err(|_| NotRead::IllFormed)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = local.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !begins || !local.chars().all(is_name) {
        return Err(NotRead::IllFormed);
    }
    Ok((namespace, local.to_owned()))
}

/// A character by its number, or one of the five that XML defines itself.
fn resolved(reference: &BytesRef<'_>) -> Result<char, NotRead> {
    if reference.is_char_ref() {
        let character = reference.resolve_char_ref().map_err(|_| NotRead::IllFormed)?;
        return character.ok_or(NotRead::IllFormed);
    }
    match reference.as_ref() {
        b"lt" => Ok('<'),
        b"gt" => Ok('>'),
        b"amp" => Ok('&'),
        b"apos" => Ok('\''),
        b"quot" => Ok('"'),
        _ => Err(NotRead::NotAllowed),
    }
}

fn add(open: &mut [Open], text: &str) -> Result<(), NotRead> {
    let is_character = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    if !text.chars().all(|c| is_character(c) && !matches!(c, '\u{fffe}' | '\u{ffff}')) {
        return Err(NotRead::IllFormed);
    }
    match open.last_mut() {
        Some(open) if open.text.len() + text.len() <= LONGEST_TEXT => {
            open.text.push_str(text);
            Ok(())
        }
        Some(open) if text.trim_ascii().is_empty() && open.text.trim_ascii().is_empty() => Ok(()),
        Some(_) => Err(NotRead::TooMuch),
        // Around the root.
        None if text.trim_ascii().is_empty() => Ok(()),
        None => Err(NotRead::IllFormed),
    }
}

fn close(open: &mut [Open], root: &mut Option<Element>, closed: Open) -> Result<(), NotRead> {
    let Open { mut element, text } = closed;
    let text = text.trim_ascii();
    if !element.children.is_empty() && !text.is_empty() {
        return Err(NotRead::IllFormed);
    }
    element.text = text.into();
    match open.last_mut() {
        Some(parent) => parent.element.children.push(element),
        None => *root = Some(element),
    }
    Ok(())
}

/// Bytes of a document.
pub(crate) const MOST_BYTES: usize = 256 << 10;
const MOST_ELEMENTS: usize = 8_192;
const MOST_ATTRIBUTES: usize = 16;
/// Elements within each other.
const DEEPEST: usize = 16;
/// Bytes of the text of an element.
const LONGEST_TEXT: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn x1(inner: &str) -> String {
        format!("<a xmlns='{X1}' xmlns:c='{COMMON}' xmlns:xsi='{XSI}' xmlns:x='{X1}'>{inner}</a>")
    }

    #[test]
    fn names_are_those_of_their_namespaces_whatever_their_prefixes() {
        let read = |inner: &str| read(x1(inner).as_bytes()).unwrap();
        let element = read("<x:b xsi:type='x:Kind'> t&amp;&#x41;<![CDATA[<]]> </x:b><c:d/><e xmlns=''/>");
        let [b, d, e] = &element.children[..] else { panic!("{element:?}") };
        assert!(element.is("a") && b.is("b") && !d.is("d") && !e.is("e"));
        assert_eq!((b.kind.as_deref(), &*b.text), (Some("Kind"), "t&A<"));
        assert_eq!((d.namespace, e.namespace), (Namespace::Common, Namespace::Other));
        assert_eq!(read("<b xsi:type='c:Kind'/>").children[0].kind, None);
        assert_eq!(read("<b xsi:type='Kind'/>").children[0].kind.as_deref(), Some("Kind"));
        assert_eq!(read("<b type='Kind'/>").children[0].kind, None);
    }

    #[test]
    fn what_is_not_well_formed_is_no_document() {
        let declared = |encoding: &str| format!("<?xml version='1.0' encoding='{encoding}'?>{}", x1(""));
        assert!(read(declared("UTF-8").as_bytes()).is_ok());
        for wrong in [
            String::new(),
            "text".to_owned(),
            "<a>".to_owned(),
            "<a></b>".to_owned(),
            "</a>".to_owned(),
            "<a/><b/>".to_owned(),
            "<a/>text".to_owned(),
            "<a/>&#65;".to_owned(),
            "<p:a/>".to_owned(),
            "<a b='1' b='2'/>".to_owned(),
            "<a>&#0;</a>".to_owned(),
            "<a>&#x1b;</a>".to_owned(),
            "<a>text<b/></a>".to_owned(),
            "<a>\u{1}</a>".to_owned(),
            "<1/>".to_owned(),
            declared("latin-1"),
            x1("<b xsi:type='p:Kind'/>"),
        ] {
            assert_eq!(read(wrong.as_bytes()), Err(NotRead::IllFormed), "{wrong}");
        }
        assert_eq!(read(b"<a>\xff</a>"), Err(NotRead::IllFormed));
    }

    #[test]
    fn dtds_entities_and_instructions_are_not_read() {
        for wrong in [
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
            "<a>&b;</a>",
            "<a>&nbsp;</a>",
            "<?b c?><a/>",
        ] {
            assert_eq!(read(wrong.as_bytes()), Err(NotRead::NotAllowed), "{wrong}");
        }
        // A billion laughs: none of them.
        let mut bomb = "<!DOCTYPE a [<!ENTITY b0 'ha'>".to_owned();
        for number in 1..10 {
            let before = format!("&b{};", number - 1).repeat(10);
            bomb.push_str(&format!("<!ENTITY b{number} '{before}'>"));
        }
        bomb.push_str("]><a>&b9;</a>");
        assert_eq!(read(bomb.as_bytes()), Err(NotRead::NotAllowed));
    }

    #[test]
    fn what_is_too_much_is_not_read() {
        let nested = |deep: usize| "<a>".repeat(deep) + &"</a>".repeat(deep);
        assert!(read(nested(DEEPEST).as_bytes()).is_ok());
        for much in [
            nested(DEEPEST + 1),
            nested(50_000),
            format!("<a>{}</a>", "<b/>".repeat(MOST_ELEMENTS)),
            format!("<a>{}</a>", "x".repeat(LONGEST_TEXT + 1)),
            format!("<a>{}</a>", "&#65;".repeat(LONGEST_TEXT + 1)),
            format!("<a {}/>", (0..=MOST_ATTRIBUTES).map(|at| format!("b{at}='' ")).collect::<String>()),
            format!("<a>{}</a>", " ".repeat(MOST_BYTES)),
        ] {
            assert_eq!(read(much.as_bytes()), Err(NotRead::TooMuch), "{}", &much[..40]);
        }
        assert!(read(format!("<a>{}<b/></a>", " ".repeat(LONGEST_TEXT + 1)).as_bytes()).is_ok());
    }
}
