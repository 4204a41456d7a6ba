//! Writes a document.

use quick_xml::escape::escape;
use zeroize::Zeroizing;

use super::element::{Element, Namespace};

/// A document that grows. Its memory is overwritten when it is dropped.
pub(crate) struct Writer(Zeroizing<String>);

impl Writer {
    /// With the declaration alone.
    pub(crate) fn document() -> Self {
        Self(Zeroizing::new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned()))
    }

    /// Opens a root element, with the namespaces.
    pub(crate) fn root(&mut self, name: &str) {
        let namespaces = format!("xmlns=\"{X1}\" xmlns:c=\"{COMMON}\" xmlns:xsi=\"{XSI}\"");
        self.0.push_str(&format!("<{name} {namespaces}>"));
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &str) {
        self.0.push_str(&format!("<{name}>"));
    }

    /// Opens an element of that type.
    pub(crate) fn open_of(&mut self, name: &str, kind: &str) {
        self.0.push_str(&format!("<{name} xsi:type=\"{kind}\">"));
    }

    /// Closes it.
    pub(crate) fn close(&mut self, name: &str) {
        self.0.push_str(&format!("</{name}>"));
    }

    /// An element with a text.
    pub(crate) fn leaf(&mut self, name: &str, text: &str) {
        self.open(name);
        self.text(text);
        self.close(name);
    }

    fn text(&mut self, text: &str) {
        let escaped = Zeroizing::new(escape(text).into_owned());
        // Whoever reads it takes one that is not escaped for the end of a line.
        for (at, part) in escaped.split('\r').enumerate() {
            self.0.push_str(if at > 0 { "&#13;" } else { "" });
            self.0.push_str(part);
        }
    }

    /// An element with what `inner` writes.
    pub(crate) fn with(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        self.open(name);
        inner(self);
        self.close(name);
    }

    /// An element as it was read, as a root.
    pub(crate) fn element(&mut self, element: &Element) {
        self.tag(element, true);
    }

    fn tag(&mut self, element: &Element, is_root: bool) {
        let prefix = match element.namespace {
            Namespace::X1 => "x:",
            Namespace::Common => "c:",
            Namespace::Other => "",
        };
        let name = format!("{prefix}{}", element.name);
        self.0.push_str(&format!("<{name}"));
        if is_root {
            self.0.push_str(&format!(" xmlns:x=\"{X1}\" xmlns:c=\"{COMMON}\" xmlns:xsi=\"{XSI}\""));
        }
        if let Some(kind) = &element.kind {
            self.0.push_str(&format!(" xsi:type=\"x:{kind}\""));
        }
        self.0.push('>');
        self.text(&element.text);
        element.children.iter().for_each(|child| self.tag(child, false));
        self.close(&name);
    }

    /// The document.
    pub(crate) fn finish(mut self) -> String {
        std::mem::take(&mut *self.0)
    }
}

/// The namespace of TS 103 221-1.
pub(crate) const X1: &str = "http://uri.etsi.org/03221/X1/2017/10";
/// That of TS 103 280.
pub(crate) const COMMON: &str = "http://uri.etsi.org/03280/common/2017/07";
/// That of `xsi:type`.
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
