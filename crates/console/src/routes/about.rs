//! What this program is, and what it can be asked for.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::Right;
use ringtap_report::time;
use ringtap_search::{FIELDS, Field};
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::openapi::refusals::Busy;
use crate::page::takes_gzip;
use crate::problem::Problem;
use crate::state::{App, Form};
use crate::viewer::Viewer;

/// What this program is.
#[derive(Serialize, ToSchema)]
struct About {
    /// Of ringtap.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// The name of this machine.
    sensor: String,
    /// The zone in which hours and days of KPIs begin.
    #[schema(example = "Europe/Berlin")]
    zone: String,
    now_us: u64,
    records: RecordDays,
    /// Whether recorded packets can be read here.
    spool: bool,
    /// Whether a daemon is known; whether it answers is told by `/live`.
    live: bool,
}

/// The days of which there are records.
#[derive(Default, Serialize, ToSchema)]
struct RecordDays {
    days: usize,
    /// When the first of them begins.
    first_us: Option<u64>,
    /// When the last of them ends.
    last_us: Option<u64>,
}

/// What this program is, and of which time it has records
#[utoipa::path(
    get, path = "/about", operation_id = "about", tag = "about",
    responses((status = 200, description = "About this program.", body = About), Busy)
)]
pub(crate) async fn about(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let reading = app.clone();
    let records = app
        .work
        .read(move |stop| {
            let Some(reader) = reading.records(stop)? else { return Ok(RecordDays::default()) };
            let days = reader.days()?;
            Ok(RecordDays {
                days: days.len(),
                first_us: days.first().map(|day| day.start().micros()),
                last_us: days.last().map(|day| day.end().micros()),
            })
        })
        .await?;
    Ok(Answer::of(About {
        version: env!("CARGO_PKG_VERSION"),
        sensor: app.sources.sensor.clone(),
        zone: app.sources.zone.name().to_owned(),
        now_us: time::now().micros(),
        records,
        spool: app.sources.spool.is_some(),
        live: app.sources.daemon.is_some(),
    }))
}

/// This document
///
/// The same that `ringtap console openapi` prints. Nobody needs to be logged in.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "show_openapi", tag = "about", security(()),
    params(("If-None-Match" = Option<String>, Header, description = "The `ETag` of one that is there.")),
    responses(
        (status = 200, description = "OpenAPI 3.1.", body = Object,
            headers(("ETag" = String, description = "Another one for another document."))),
        (status = 304, description = "It is that document.")
    )
)]
pub(crate) async fn document(State(app): State<App>, headers: HeaderMap) -> Response {
    let is_gzip = takes_gzip(&headers);
    let Form { bytes, tag } = if is_gzip { &app.document.gzip } else { &app.document.whole };
    let about = [(CACHE_CONTROL, "no-cache"), (VARY, "accept-encoding")];
    let mut response = match headers.get(IF_NONE_MATCH) == Some(tag) {
        true => (StatusCode::NOT_MODIFIED, about).into_response(),
        false => (about, [(CONTENT_TYPE, "application/json")], bytes.clone()).into_response(),
    };
    response.headers_mut().insert(ETAG, tag.clone());
    if is_gzip {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// A field of the search language (docs/manual/search.md).
#[derive(Serialize, ToSchema)]
struct SearchField {
    #[schema(example = "mosworst")]
    name: &'static str,
    /// What its values are, such as `number`, `name` or `time`.
    kind: &'static str,
    unit: Option<&'static str>,
    /// What it means.
    about: &'static str,
    #[schema(example = "mosworst<3")]
    example: &'static str,
    /// The names that it can have; empty where it has no fixed set of them.
    values: Vec<SearchValue>,
    /// Whether calls can be sorted by it.
    sortable: bool,
}

/// A name that a field can have as its value.
#[derive(Serialize, ToSchema)]
struct SearchValue {
    name: &'static str,
    about: &'static str,
}

/// The fields of the search language
#[utoipa::path(
    get, path = "/fields", operation_id = "list_fields", tag = "about",
    responses((status = 200, description = "All fields.", body = Vec<SearchField>))
)]
pub(crate) async fn fields(viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let field = |field: &Field| SearchField {
        name: field.name,
        kind: field.kind_name(),
        unit: field.unit(),
        about: field.about,
        example: field.example,
        values: field
            .names()
            .iter()
            .map(|name| SearchValue { name: name.name, about: name.description })
            .collect(),
        sortable: field.is_sortable(),
    };
    Ok(Answer::of(FIELDS.iter().map(field).collect::<Vec<_>>()))
}
