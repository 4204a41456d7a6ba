//! The page itself: files that were built from `web/` and are part of the program, each as gzip too where
//! that is shorter.

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::problem::Problem;

/// What `npm run build` made of `web/`; empty where that was not run.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Built;

/// Answers to a method that a path does not take.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::method(format!(
        "`{}` does not take {method}: `/api/v1/openapi.json` lists what it takes",
        uri.path()
    ))
}

/// Answers with a file of the page; every other path is one that the page itself reads.
pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/") {
        return Problem::not_found(format!(
            "the API has no `/{path}`: `/api/v1/openapi.json` lists what it has"
        ))
        .into_response();
    }
    if let Some(response) = answer(path, &headers) {
        return response;
    }
    if path.starts_with("assets/") {
        return Problem::not_found(format!("the page has no file `/{path}`")).into_response();
    }
    answer(INDEX, &headers).unwrap_or_else(|| {
        (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/plain; charset=utf-8")], NOT_BUILT).into_response()
    })
}

/// A file of the page, as gzip where it is there and the browser takes it.
fn answer(path: &str, headers: &HeaderMap) -> Option<Response> {
    let whole = Built::get(path)?;
    let gzip = Built::get(&format!("{path}.gz"));
    let has_gzip = gzip.is_some();
    let gzip = gzip.filter(|_| takes_gzip(headers));
    let is_gzip = gzip.is_some();
    let mut response = answer_with(gzip.unwrap_or(whole), headers);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    // The names of these files change with what is in them.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if has_gzip {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}

/// Whether the browser says that it takes gzip (RFC 9110 section 12.5.3).
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        coding.trim().eq_ignore_ascii_case("gzip") && weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)
    })
}

fn answer_with(file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag: String = file.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(file.data)),
    };
    response.headers_mut().extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
    response
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" | "webmanifest" => "application/json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

const INDEX: &str = "index.html";
const NOT_BUILT: &str = "This program was built without its page: `make build` builds it. The API answers \
                         at /api/v1.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_take_it() {
        let takes = |list: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(list));
            takes_gzip(&headers)
        };
        for list in ["gzip", "gzip, deflate, br, zstd", "br;q=1.0, GZIP;q=0.8", "identity, gzip ; q=0.001"] {
            assert!(takes(list), "{list}");
        }
        for list in ["", "br", "gzip;q=0", "gzip;q=0.000, br", "x-gzip", "gzip;q=much"] {
            assert!(!takes(list), "{list}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
