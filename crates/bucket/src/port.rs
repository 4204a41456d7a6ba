//! Ports of URLs.

use crate::settings::Settings;

/// The port of the bucket's server.
pub(crate) fn of_bucket(settings: &Settings) -> u16 {
    match settings.endpoint.as_str() {
        "" => HTTPS,
        endpoint => of_url(endpoint).unwrap_or(HTTPS),
    }
}

/// The port of `scheme://user@host:port/path`, of which only the host must be there. None if it is no port.
pub(crate) fn of_url(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // An IPv6 address has colons of its own, in brackets.
    let after = host.rsplit(']').next()?;
    match (after.rsplit_once(':'), scheme) {
        (Some((_, port)), _) => port.parse().ok(),
        (None, "https") => Some(HTTPS),
        (None, scheme) if scheme.starts_with("socks") => Some(SOCKS),
        (None, _) => Some(HTTP),
    }
}

pub(crate) const HTTP: u16 = 80;
pub(crate) const HTTPS: u16 = 443;
const SOCKS: u16 = 1080;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_urls() {
        for (url, port) in [
            ("https://s3.example.org", Some(443)),
            ("https://s3.example.org:9000/", Some(9000)),
            ("http://127.0.0.1", Some(80)),
            ("http://user:word@[2001:db8::1]:8080/x?y:1", Some(8080)),
            ("https://[2001:db8::1]/", Some(443)),
            ("proxy:3128", Some(3128)),
            ("socks5://proxy", Some(1080)),
            ("http://x:99999", None),
        ] {
            assert_eq!(of_url(url), port, "{url}");
        }
        let aws = Settings::default();
        assert_eq!(of_bucket(&aws), 443);
    }
}
