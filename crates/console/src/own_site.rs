//! The site that a browser makes passkeys for: the name under which the page was asked for.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use ringtap_access::Site;

use crate::guard;
use crate::hosts::without_port;
use crate::problem::Problem;
use crate::state::App;

/// The name in the browser's address, and the origins that pages under it have. It is one of the names that
/// the page is served under: others were refused before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnSite {
    /// Without a port.
    pub(crate) name: String,
    origins: Vec<String>,
}

impl OwnSite {
    fn of(host: &str, is_plain: bool) -> Result<Self, Problem> {
        let name = without_port(host).to_ascii_lowercase();
        if name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return Err(Problem::conflict(format!(
                "browsers make passkeys for names, and the console was asked for by its address, {name}: \
                 open it under a name, such as one that `--host` gives, or `localhost`"
            )));
        }
        // Without TLS of its own, there may be a proxy before it that has.
        let schemes: &[_] = if is_plain { &["https", "http"] } else { &["https"] };
        let origins = schemes.iter().map(|scheme| format!("{scheme}://{}", host.to_ascii_lowercase()));
        Ok(Self { name, origins: origins.collect() })
    }

    pub(crate) fn as_site(&self) -> Site<'_> {
        Site { name: &self.name, origins: &self.origins }
    }
}

impl FromRequestParts<App> for OwnSite {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let host = guard::host(&parts.headers, &parts.uri).unwrap_or_default();
        Self::of(host, app.is_plain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_name_and_its_origins_have_the_port() {
        let site = OwnSite::of("Tap.Example.org:8443", false).unwrap();
        assert_eq!(
            (&*site.name, site.origins),
            ("tap.example.org", vec!["https://tap.example.org:8443".into()])
        );
        let plain = OwnSite::of("localhost", true).unwrap();
        assert_eq!(plain.origins, ["https://localhost", "http://localhost"]);
        for address in ["127.0.0.1:8443", "[::1]:8443", "[2001:db8::1]", "192.0.2.7"] {
            assert!(OwnSite::of(address, false).is_err(), "{address}");
        }
    }
}
