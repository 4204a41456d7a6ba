//! Normal forms: the one way in which each name is compared.

use ringtap_model::filter::digits_of;
use ringtap_model::subscriber::{bare_user_name, station_characters};

/// The letters and digits of a station id in lower case.
pub(super) fn station(text: &str) -> String {
    if text.is_ascii() {
        let characters = text.bytes().filter(u8::is_ascii_alphanumeric);
        return characters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    // Lower case of some letters has marks that are none.
    station_characters(text).filter(|c| c.is_alphanumeric()).collect()
}

/// The 12 hex digits of a MAC address, in lower case: alone, or in groups of two, four or six with one
/// separator, as in `02:00:5e:10:00:01`, `02-00-5E-10-00-01`, `0200.5e10.0001`.
pub(super) fn mac(text: &str) -> Option<String> {
    // Its digits, and at most five separators.
    if !(MAC..=MAC + 5).contains(&text.len()) {
        return None;
    }
    let separator = text.chars().find(|c| matches!(c, ':' | '-' | '.'));
    let groups = || text.split(|c| Some(c) == separator);
    let group = groups().next().map_or(0, str::len);
    let is_regular = matches!(group, 2 | 4 | 6 | MAC) && groups().all(|other| other.len() == group);
    let digits: String = groups().collect::<String>().to_ascii_lowercase();
    let is_mac = is_regular && digits.len() == MAC && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_mac.then_some(digits)
}

/// As [`mac`], for a text that may as well be a telephone number: 12 decimal digits without separators are
/// one.
pub(super) fn unmistakable_mac(text: &str) -> Option<String> {
    mac(text).filter(|digits| text.len() > MAC || digits.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// The digits of a telephone number, without separators and without `+` or `00` before a country code.
pub(super) fn number(text: &str) -> Option<String> {
    digits_of(text).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Decimal digits alone, separators between them left out.
pub(super) fn digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '.' | '/')).collect();
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// The first 14 digits of an IMEI or IMEISV (3GPP TS 23.003 clause 6.2): what follows is a check digit that
/// is not transmitted, or the version of the software.
pub(super) fn imei(text: &str) -> Option<String> {
    let mut digits = digits(text)?;
    let is_right = (IMEI..=IMEI + 2).contains(&digits.len());
    digits.truncate(IMEI);
    is_right.then_some(digits)
}

/// A User-Name without case, in its parts.
pub(super) struct UserName {
    pub(super) bare: String,
    /// Behind it (`user@realm`) and before it (`realm\user`, `realm/user`).
    pub(super) realms: [Option<String>; 2],
}

/// The parts of a User-Name (RFC 7542 section 2, and what came before it).
pub(super) fn user_name(text: &str) -> UserName {
    let bare = bare_user_name(text);
    let (before, rest) = text.rsplit_once(['\\', '/']).map_or((None, text), |(b, rest)| (Some(b), rest));
    let behind = rest[bare.len().min(rest.len())..].strip_prefix('@');
    let named = |realm: Option<&str>| realm.map(str::trim).filter(|realm| !realm.is_empty()).map(lower);
    UserName { bare: lower(bare.trim()), realms: [behind, before].map(named) }
}

/// A SIP identity.
pub(super) struct SipName {
    /// `user@host`, of which one may be empty: the user as [`sip_user`] gives it, the host as [`host`].
    pub(super) whole: String,
    /// The digits of its user, where that is a telephone number.
    pub(super) number: Option<String>,
}

/// Reads a URI (RFC 3261 section 19.1.1, RFC 3966), with or without its scheme and angle brackets.
/// Passwords, ports, parameters and headers do not matter.
pub(super) fn sip(text: &str) -> Option<SipName> {
    let text = text.trim();
    let text = text.strip_prefix('<').map_or(text, |text| text.strip_suffix('>').unwrap_or(text)).trim();
    let is_scheme = |text: &&str| SCHEMES.iter().any(|scheme| text.eq_ignore_ascii_case(scheme));
    let (scheme, rest) = match text.split_once(':').filter(|(before, _)| is_scheme(before)) {
        Some((scheme, rest)) => (scheme, rest),
        None => ("", text),
    };
    let (user, place) = match split_at_sign(rest) {
        _ if scheme.eq_ignore_ascii_case(TEL) => (rest.split(['?', '@']).next().unwrap_or_default(), ""),
        Some(parts) => parts,
        // A text alone is a user; behind a scheme it is a host.
        None if scheme.is_empty() => (rest, ""),
        None => ("", rest),
    };
    let user = unescaped(user.split(':').next().unwrap_or_default());
    let number = number(&user);
    let whole = format!("{}@{}", number.clone().unwrap_or_else(|| plain_user(&user)), host(place));
    (whole.len() > 1).then_some(SipName { whole, number })
}

/// A user as digits where it is a number, otherwise as [`user_text`].
pub(super) fn sip_user(user: &str) -> String {
    let user = unescaped(user);
    number(&user).unwrap_or_else(|| plain_user(&user))
}

/// A user in lower case, since common registrars ignore the case, with one way to escape.
pub(super) fn user_text(user: &str) -> String {
    plain_user(&unescaped(user))
}

/// In lower case, with escapes for what is not visible ASCII or has a meaning in a URI or a target.
fn plain_user(user: &str) -> String {
    let mut text = String::with_capacity(user.len());
    for byte in lower(user).bytes() {
        match byte {
            b'@' | b':' | b'%' | b'<' | b'>' | b'*' => text.push_str(&format!("%{byte:02x}")),
            _ if byte.is_ascii_graphic() => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

/// User and host of what follows the scheme. The user may have `;` and `?`; a second `@` before those of the
/// host belongs to it, as those who are lenient read it.
fn split_at_sign(rest: &str) -> Option<(&str, &str)> {
    let first = rest.find('@')?;
    let tail = &rest[first..];
    let stop = tail.find([';', '?']).unwrap_or(tail.len());
    let at = first + tail[..stop].rfind('@').unwrap_or(0);
    Some((&rest[..at], &rest[at + 1..]))
}

/// The host of `host:port;parameters?headers`, in lower case, without the dot of the root.
pub(super) fn host(place: &str) -> String {
    let end = place.find([';', '?']).unwrap_or(place.len());
    let place = place[..end].trim();
    let host = match place.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        // More than one colon is an address without brackets.
        None => match place.split_once(':') {
            Some((host, port)) if !port.contains(':') => host,
            _ => place,
        },
    };
    lower(host.strip_suffix('.').unwrap_or(host))
}

/// Resolves `%` and two hex digits (RFC 3261 section 19.1.4).
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let escaped = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => Some((high << 4 | low) as u8),
            _ => None,
        };
        plain.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// In lower case.
pub(super) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Schemes that are followed by a user and a host, or by a number.
const SCHEMES: [&str; 3] = ["sip", "sips", TEL];
/// That of numbers.
const TEL: &str = "tel";
/// Hex digits of a MAC address.
const MAC: usize = 12;
/// Digits of an IMEI without check digit.
const IMEI: usize = 14;
