//! What this program is, and what it can be asked for.

use axum::extract::State;
use ringtap_access::Right;
use ringtap_report::time;
use ringtap_search::{FIELDS, Field};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::Viewer;

/// `GET /about`.
pub(crate) async fn about(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let reading = app.clone();
    let records = app
        .work
        .read(move |_| {
            let Some(reader) = reading.records()? else { return Ok(json!({ "days": 0 })) };
            let days = reader.days()?;
            let first = days.first().map(|day| day.start().micros());
            let last = days.last().map(|day| day.end().micros());
            Ok(json!({ "days": days.len(), "first_us": first, "last_us": last }))
        })
        .await?;
    Ok(Answer::of(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "sensor": app.sources.sensor,
        "zone": app.sources.zone.name(),
        "now_us": time::now().micros(),
        "records": records,
        "spool": app.sources.spool.is_some(),
        "live": app.sources.daemon.is_some(),
    })))
}

/// `GET /fields`: the fields of the search language.
pub(crate) async fn fields(viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let field = |field: &Field| {
        let values: Vec<Value> = field
            .names()
            .iter()
            .map(|name| json!({ "name": name.name, "about": name.description }))
            .collect();
        json!({
            "name": field.name,
            "kind": field.kind_name(),
            "unit": field.unit(),
            "about": field.about,
            "example": field.example,
            "values": values,
            "sortable": field.is_sortable(),
        })
    };
    Ok(Answer::of(Value::Array(FIELDS.iter().map(field).collect())))
}
