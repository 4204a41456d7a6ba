//! URLs of a provider and of the console, as far as they may be used.

use std::net::IpAddr;

/// Whether somebody on the way could read or change what is sent to a URL: only HTTPS is used, and HTTP to
/// this machine itself. User names, fragments and what no URL has are refused.
///
/// # Errors
///
/// What is wrong, and what would be right.
pub(crate) fn check(url: &str) -> Result<(), String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(format!("`{url}` is no URL: write `https://` and a name"));
    };
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"\"<>\\^`{|}#@".contains(letter);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.is_empty() || !rest.chars().all(is_plain) {
        return Err(format!("`{url}` is no URL that can be used: write `https://`, a name and a path"));
    }
    match scheme {
        "https" => Ok(()),
        "http" if is_loopback(host(authority)) => Ok(()),
        _ => Err(format!("`{url}` is neither `https://`, nor `http://` on this machine")),
    }
}

/// What stands before the path: scheme, name and port.
pub(crate) fn origin(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let length = url[begin..].find(['/', '?']).unwrap_or(url.len() - begin);
    &url[..begin + length]
}

/// A name without its port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A text as part of a query or a form (`application/x-www-form-urlencoded`).
pub(crate) fn escaped(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => whole.push(char::from(byte)),
            _ => whole.push_str(&format!("%{byte:02X}")),
        }
    }
    whole
}

/// Names and values as a query or a form.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A URL with a query added to what it has.
pub(crate) fn with_query(url: &str, pairs: &[(&str, &str)]) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{}", form(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_and_this_machine_are_used_and_nothing_else() {
        for url in [
            "https://id.example.org",
            "https://id.example.org:8443/realms/voice?a=b",
            "http://127.0.0.1:8080/x",
            "http://localhost",
            "http://[::1]:1",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "http://id.example.org",
            "http://localhost.example.org",
            "http://127.0.0.1@evil.example",
            "http://127.0.0.1\\@evil.example",
            "https://user:password@id.example.org",
            "https://",
            "https:///path",
            "https://id.example.org/#part",
            "https://id.example.org/\n",
            "ftp://id.example.org",
            "file:///etc/passwd",
            "id.example.org",
            "",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
    }

    #[test]
    fn what_is_sent_cannot_add_another_parameter() {
        assert_eq!(form(&[("a", "1&b=2 +%"), ("c", "é")]), "a=1%26b%3D2%20%2B%25&c=%C3%A9");
        assert_eq!(with_query("https://x/a", &[("b", "c")]), "https://x/a?b=c");
        assert_eq!(with_query("https://x/a?d=e", &[("b", "c")]), "https://x/a?d=e&b=c");
        assert_eq!(origin("https://x:8/a?b"), "https://x:8");
        assert_eq!(origin("https://x:8"), "https://x:8");
    }
}
