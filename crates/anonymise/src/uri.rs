//! URIs, parties and parameters: RFC 3261 sections 19.1, 20.10, 7.3.1; RFC 3966.

use ringtap_wire::sip::{NameAddr, Uri};

use crate::mask::Mask;

impl Mask {
    /// A list of parties: From, Contact, Route, Diversion.
    pub(crate) fn parties(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for (index, party) in split(value, b',').enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            self.party(party, out);
        }
    }

    /// One party. Commas do not separate: From and To are not lists.
    pub(crate) fn party(&mut self, value: &[u8], out: &mut Vec<u8>) {
        if value.trim_ascii() == b"*" {
            return out.push(b'*');
        }
        let Some(party) = NameAddr::parse(value) else { return self.text_into(value, out) };
        if let Some(display) = party.display {
            out.push(b'"');
            // Escaped characters are quotation marks or backslashes; they are dropped.
            let plain: Vec<u8> =
                display.iter().copied().filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
            self.text_into(&plain, out);
            out.extend_from_slice(b"\" ");
        }
        let brackets = open_bracket(value);
        if brackets {
            out.push(b'<');
        }
        self.uri(&party.uri, out);
        if brackets {
            out.push(b'>');
        }
        self.params(party.params, out);
    }

    /// Replaces a URI; its password is dropped.
    pub(crate) fn uri(&mut self, uri: &Uri<'_>, out: &mut Vec<u8>) {
        if !uri.scheme.is_empty() {
            // Malformed text may look like a scheme.
            match SCHEMES.iter().any(|known| uri.scheme.eq_ignore_ascii_case(known.as_bytes())) {
                true => out.extend_from_slice(uri.scheme),
                false => self.text_into(uri.scheme, out),
            }
            out.push(b':');
        }
        if uri.user.is_none() && uri.host.is_empty() {
            let rest = uri.raw.get(uri.scheme.len() + 1..).unwrap_or_default();
            // RFC 5031: a service does not identify anybody.
            return match rest.to_ascii_lowercase().starts_with(b"service:") {
                true => out.extend_from_slice(rest),
                false if uri.scheme.is_empty() => self.text_into(uri.raw, out),
                false => self.text_into(rest, out),
            };
        }
        if let Some(user) = uri.user {
            self.user(user, out);
            if !uri.host.is_empty() {
                out.push(b'@');
            }
        }
        let colons = uri.host.contains(&b':');
        if colons {
            out.push(b'[');
        }
        self.text_into(uri.host, out);
        if colons {
            out.push(b']');
        }
        if let Some(port) = uri.port {
            out.extend_from_slice(format!(":{port}").as_bytes());
        }
        self.params(uri.params, out);
        if !uri.headers.is_empty() {
            out.push(b'?');
            self.headers(uri.headers, out);
        }
    }

    /// A user with its parameters, if any (RFC 4694: `+1201;npdi;rn=...`).
    fn user(&mut self, user: &[u8], out: &mut Vec<u8>) {
        let end = user.iter().position(|byte| *byte == b';').unwrap_or(user.len());
        let (name, params) = user.split_at(end);
        let mut other = Vec::new();
        self.text_into(&unescaped(name), &mut other);
        escape(&other, b"-_.!~*'()&=+$,?/", out);
        self.params(params, out);
    }

    /// Headers in a URI: `?Replaces=...&Subject=...`.
    fn headers(&mut self, headers: &[u8], out: &mut Vec<u8>) {
        for (index, header) in headers.split(|byte| *byte == b'&').enumerate() {
            if index > 0 {
                out.push(b'&');
            }
            let end = header.iter().position(|byte| *byte == b'=').unwrap_or(header.len());
            let (name, value) = header.split_at(end);
            self.parameter_name(name, out);
            let Some(value) = value.strip_prefix(b"=") else { continue };
            out.push(b'=');
            let mut other = Vec::new();
            match name.eq_ignore_ascii_case(b"Replaces") {
                true => self.dialog(&unescaped(value), &mut other),
                false => self.text_into(&unescaped(value), &mut other),
            }
            escape(&other, b"-_.!~*'()[]/?:+$", out);
        }
    }

    /// A dialog identifier: a Call-ID, then parameters (RFC 3891 section 6.1).
    pub(crate) fn dialog(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
        self.text_into(&value[..end], out);
        self.params(&value[end..], out);
    }

    /// Parameters, each after a `;`.
    pub(crate) fn params(&mut self, params: &[u8], out: &mut Vec<u8>) {
        for param in split(params, b';') {
            out.push(b';');
            self.param(param, out);
        }
    }

    /// `name=value`. Values that are not known to be harmless are replaced.
    pub(crate) fn param(&mut self, param: &[u8], out: &mut Vec<u8>) {
        let end = param.iter().position(|byte| *byte == b'=').unwrap_or(param.len());
        let (name, value) = (param[..end].trim_ascii(), param[end..].strip_prefix(b"="));
        let lower = name.to_ascii_lowercase();
        self.parameter_name(name, out);
        let Some(value) = value else { return };
        out.push(b'=');
        let value = value.trim_ascii();
        match value.strip_prefix(b"\"") {
            Some(quoted) => {
                out.push(b'"');
                self.value(&lower, quoted.strip_suffix(b"\"").unwrap_or(quoted), out);
                out.push(b'"');
            }
            None => self.value(&lower, value, out),
        }
    }

    /// The name of a parameter, or of a header in a URI.
    fn parameter_name(&mut self, name: &[u8], out: &mut Vec<u8>) {
        // Malformed text may look like a name: accept only a token.
        let is_token = name.len() <= 32
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+*!".contains(byte));
        let is_feature = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"+g."));
        match is_token && (is_feature || !name.iter().any(u8::is_ascii_digit)) {
            true => out.extend_from_slice(name),
            false => self.text_into(name, out),
        }
    }

    fn value(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let known = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
        if known(&PLAIN) && is_short_token(value) {
            out.extend_from_slice(value);
        } else if name == b"branch" && value.to_ascii_lowercase().starts_with(COOKIE) {
            // RFC 3261 section 8.1.1.7: the magic cookie before the transaction's identifier.
            let (cookie, rest) = value.split_at(COOKIE.len());
            out.extend_from_slice(cookie);
            self.text_into(rest, out);
        } else if name == b"text" {
            self.phrase(value, out);
        } else if name == b"remote" {
            self.session(value, out);
        } else {
            self.text_into(value, out);
        }
    }
}

/// Up to three digits or letters and hyphens: a port, a time, a keyword.
fn is_short_token(value: &[u8]) -> bool {
    value.len() <= 24
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/'))
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() <= 6
}

/// The non-empty elements of a list, split outside quotes and brackets.
pub(crate) fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let all = rest.filter(|rest| !rest.is_empty())?;
        let (mut quoted, mut brackets, mut escaped) = (false, false, false);
        let end = all.iter().position(|&byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'<' if !quoted => brackets = true,
                b'>' if !quoted => brackets = false,
                _ => {}
            }
            byte == separator && !quoted && !brackets
        });
        rest = end.map(|end| &all[end + 1..]);
        Some(all[..end.unwrap_or(all.len())].trim_ascii())
    })
    .filter(|part| !part.is_empty())
}

/// Whether the URI is in brackets.
fn open_bracket(value: &[u8]) -> bool {
    let mut quoted = false;
    value.iter().any(|byte| {
        quoted ^= *byte == b'"';
        *byte == b'<' && !quoted
    }) || quoted && value.contains(&b'<')
}

/// Decodes escapes of RFC 3986 section 2.1, ignoring malformed ones.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        let hex = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    out
}

/// RFC 3261 section 25.1: what is neither a letter, a digit, nor one of `plain`.
fn escape(text: &[u8], plain: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            true => out.push(byte),
            false => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

const COOKIE: &[u8] = b"z9hg4bk";

/// Schemes of URIs in SIP.
const SCHEMES: [&str; 14] = [
    "sip", "sips", "tel", "urn", "im", "pres", "xmpp", "h323", "cid", "data", "mailto", "http", "https",
    "geo",
];

/// Parameters whose values are keywords and small numbers.
const PLAIN: [&str; 34] = [
    "cause",
    "comp",
    "counter",
    "duration",
    "early-only",
    "expires",
    "handling",
    "index",
    "isfocus",
    "keep",
    "lr",
    "method",
    "mode",
    "npdi",
    "ob",
    "off",
    "outbound",
    "party",
    "privacy",
    "purpose",
    "q",
    "reason",
    "refresher",
    "reg-id",
    "retry-after",
    "rport",
    "screen",
    "sigcomp",
    "transport",
    "ttl",
    "user",
    "version",
    "charset",
    "limit",
];
