//! The elements of a sequence, in their order.

use ringtap_warrant::Uuid;

use super::element::{Element, Namespace};
use crate::fault::Fault;

/// What is left of a sequence.
pub(crate) struct Fields<'a> {
    of: &'a str,
    rest: &'a [Element],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(element: &'a Element) -> Self {
        Self { of: &element.name, rest: &element.children }
    }

    /// The next element, if it is that one of X1.
    pub(crate) fn optional(&mut self, name: &str) -> Option<&'a Element> {
        self.optional_of(Namespace::X1, name)
    }

    fn optional_of(&mut self, namespace: Namespace, name: &str) -> Option<&'a Element> {
        let (first, rest) = self.rest.split_first()?;
        if first.namespace != namespace || first.name != name {
            return None;
        }
        self.rest = rest;
        Some(first)
    }

    /// The next element, which has to be that one of X1.
    pub(crate) fn required(&mut self, name: &str) -> Result<&'a Element, Fault> {
        self.required_of(Namespace::X1, name)
    }

    /// The next element, which has to be that one of TS 103 280.
    pub(crate) fn common(&mut self, name: &str) -> Result<&'a Element, Fault> {
        self.required_of(Namespace::Common, name)
    }

    fn required_of(&mut self, namespace: Namespace, name: &str) -> Result<&'a Element, Fault> {
        let of = self.of;
        let missing = || Fault::schema(format!("`{name}` is missing in `{of}`, or not in its place"));
        self.optional_of(namespace, name).ok_or_else(missing)
    }

    /// The text of the next element, which has to be that one of X1 and to have no elements.
    pub(crate) fn text(&mut self, name: &str) -> Result<&'a str, Fault> {
        leaf(self.required(name)?)
    }

    /// The UUID of the next element, which has to be that one of X1.
    pub(crate) fn uuid(&mut self, name: &str) -> Result<Uuid, Fault> {
        let wrong = |_| Fault::schema(format!("`{name}` is no UUID in lower case"));
        self.text(name)?.parse().map_err(wrong)
    }

    /// The next element, whatever it is.
    pub(crate) fn any(&mut self) -> Option<&'a Element> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Nothing follows.
    pub(crate) fn end(self) -> Result<(), Fault> {
        match self.rest.first() {
            None => Ok(()),
            Some(_) => Err(Fault::schema(format!("`{}` has an element that is not in its place", self.of))),
        }
    }
}

/// The text of an element that has no elements.
fn leaf(element: &Element) -> Result<&str, Fault> {
    let has_elements = || Fault::schema(format!("`{}` has elements where a text is expected", element.name));
    if element.children.is_empty() { Ok(&element.text) } else { Err(has_elements()) }
}
