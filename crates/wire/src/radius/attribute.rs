//! Attributes in order, those inside containers in the place of the container.

use super::number::{Number, VENDOR_SPECIFIC};
use super::vendor::Layout;

/// Extended-Type-1 to -4: a type follows (RFC 6929 section 2.1).
const EXTENDED: std::ops::RangeInclusive<u8> = 241..=244;
/// Extended-Type-5 and -6: a type and flags follow (RFC 6929 section 2.2).
const LONG_EXTENDED: std::ops::RangeInclusive<u8> = 245..=246;

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Which it is.
    pub number: Number,
    /// Its value, without any header.
    pub value: &'a [u8],
    /// Where its value begins in the packet.
    pub at: usize,
    /// The value continues in the next attribute of the same number (RFC 6929 section 2.2, WiMAX).
    pub more: bool,
}

/// Walks the attributes of a packet.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    /// The packet.
    data: &'a [u8],
    /// Where the next attribute begins.
    at: usize,
    /// What is left inside a container.
    inside: Option<Inside<'a>>,
}

#[derive(Clone, Debug)]
struct Inside<'a> {
    vendor: u32,
    layout: Layout,
    rest: &'a [u8],
    at: usize,
}

impl<'a> Attributes<'a> {
    /// Those of `data` from `at` on.
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at, inside: None }
    }

    fn next_inside(&mut self) -> Option<Attribute<'a>> {
        let inside = self.inside.as_mut()?;
        let found = inside.layout.first(inside.rest).filter(|_| !inside.rest.is_empty());
        let Some(inner) = found else {
            self.inside = None;
            return None;
        };
        let number = Number::vendor(inside.vendor, inner.kind);
        let at = inside.at + inner.offset;
        inside.at = at + inner.value.len();
        inside.rest = inner.rest;
        Some(Attribute { number, value: inner.value, at, more: inner.more })
    }

    /// Opens a Vendor-Specific attribute. `None` where its content is in its vendor's layout, and is walked
    /// next.
    fn open_vendor(&mut self, value: &'a [u8], at: usize) -> Option<Attribute<'a>> {
        let Some((id, content)) = value.split_first_chunk() else {
            return Some(Attribute { number: Number::standard(VENDOR_SPECIFIC), value, at, more: false });
        };
        let vendor = u32::from_be_bytes(*id);
        match Layout::find(vendor, content) {
            Some(layout) => {
                self.inside = Some(Inside { vendor, layout, rest: content, at: at + id.len() });
                None
            }
            None => {
                let number = Number::vendor(vendor, 0);
                Some(Attribute { number, value: content, at: at + id.len(), more: false })
            }
        }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        loop {
            if let Some(attribute) = self.next_inside() {
                return Some(attribute);
            }
            let rest = self.data.get(self.at..)?;
            let &[kind, len] = rest.first_chunk()?;
            let value = rest.get(2..usize::from(len))?;
            let at = self.at + 2;
            // The view checked that each has two bytes or more: this ends.
            self.at += usize::from(len);
            if kind == VENDOR_SPECIFIC {
                if let Some(attribute) = self.open_vendor(value, at) {
                    return Some(attribute);
                }
                continue;
            }
            return Some(extended(kind, value, at).unwrap_or(Attribute {
                number: Number::standard(kind),
                value,
                at,
                more: false,
            }));
        }
    }
}

/// An attribute of an extended space; `None` for others, and where not even its header is whole.
fn extended(space: u8, value: &[u8], at: usize) -> Option<Attribute<'_>> {
    let header = match space {
        _ if EXTENDED.contains(&space) => 1,
        _ if LONG_EXTENDED.contains(&space) => 2,
        _ => return None,
    };
    let more = header == 2 && value.get(1)? & 0x80 != 0;
    let (kind, content, at) = (*value.first()?, value.get(header..)?, at + header);
    // Extended-Vendor-Specific: vendor, then a type of one byte (RFC 6929 section 2.4).
    if kind == VENDOR_SPECIFIC
        && let Some((&[a, b, c, d, kind], content)) = content.split_first_chunk()
    {
        let number = Number { space, vendor: u32::from_be_bytes([a, b, c, d]), kind: kind.into() };
        return Some(Attribute { number, value: content, at: at + 5, more });
    }
    Some(Attribute { number: Number::extended(space, kind), value: content, at, more })
}
