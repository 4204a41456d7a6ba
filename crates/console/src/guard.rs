//! What every request must satisfy before anything is done for it, and what every answer says to a browser.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::hosts::Hosts;
use crate::problem::Problem;
use crate::state::App;

/// Refuses requests under a foreign name and writes that another page may have made, and adds the headers
/// that keep a browser from doing what this page never asks for.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.uri().path();
    let is_api = path.starts_with("/api/") || path == "/mcp";
    let is_hidden = is_of_warrants(path);
    let method = request.method().clone();
    // The pattern of the route, not the path, which may have a secret in it.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match check(&app.hosts, request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let route = route.as_ref().map(MatchedPath::as_str);
    if !is_hidden {
        app.meter.count(&method, route, response.status().as_u16(), begun.elapsed());
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if is_api && !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Whether it is for officers and auditors: how much they do is in no metric.
fn is_of_warrants(path: &str) -> bool {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    path.strip_prefix("/warrants").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check(hosts: &Hosts, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let named = host(headers, uri);
    let Some(host) = named.filter(|host| hosts.allows(host)) else {
        return Err(Problem::foreign(format!(
            "the page is not served under the name `{}`: add it to `--host`",
            named.unwrap_or_default()
        )));
    };
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let same = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.split_once("://"))
            .is_some_and(|(_, of)| of == host);
        if !same {
            return Err(Problem::foreign("the request was made by a page of another origin"));
        }
    }
    // A form or a link of another page cannot set this header, nor a token.
    let has_token = uri.path() == "/mcp" && headers.contains_key(AUTHORIZATION);
    if !has_token && !headers.contains_key("x-ringtap") {
        return Err(Problem::foreign("the header `X-Ringtap: 1` is missing: send it with every write"));
    }
    Ok(())
}

/// The name, with a port where there is one, under which the page was asked for.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| uri.authority().map(|authority| authority.as_str()))
}

/// Said with every answer.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; media-src 'self' blob:; font-src 'self'; manifest-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_other_pages_are_refused() {
        let hosts = Hosts::new("127.0.0.1:8443".parse().unwrap(), &[]);
        let headers = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            let value = |text: &str| HeaderValue::from_str(text).unwrap();
            pairs.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
        };
        let own = [("host", "localhost:8443"), ("origin", "https://localhost:8443"), ("x-ringtap", "1")];
        let foreign = [("host", "localhost:8443"), ("origin", "https://evil.example"), ("x-ringtap", "1")];
        let form = [("host", "localhost:8443")];
        let ask = |method, pairs: &[_]| {
            check(&hosts, &method, &Uri::from_static("/api/v1/session"), &headers(pairs))
        };
        assert_eq!(ask(Method::POST, &own), Ok(()));
        assert_eq!(ask(Method::GET, &form), Ok(()));
        assert!(ask(Method::POST, &foreign).is_err());
        let assistant =
            |pairs: &[_]| check(&hosts, &Method::POST, &Uri::from_static("/mcp"), &headers(pairs)).is_ok();
        let token = ("authorization", "Bearer rt_1");
        assert!(assistant(&[form[0], token]) && !assistant(&form));
        assert!(!assistant(&[form[0], token, ("origin", "https://evil.example")]));
        assert!(ask(Method::POST, &form).is_err());
        assert!(ask(Method::GET, &[("host", "evil.example")]).is_err());
    }
}
