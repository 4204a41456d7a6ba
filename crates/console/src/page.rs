//! The page itself: files that were built from `web/` and are part of the program.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
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
    if let Some(file) = Built::get(path) {
        return answer(path, file, &headers);
    }
    if path.starts_with("assets/") {
        return Problem::not_found(format!("the page has no file `/{path}`")).into_response();
    }
    match Built::get(INDEX) {
        Some(file) => answer(INDEX, file, &headers),
        None => {
            (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/plain; charset=utf-8")], NOT_BUILT).into_response()
        }
    }
}

fn answer(path: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag: String = file.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(file.data)),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    // The names of these files change with what is in them.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
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
