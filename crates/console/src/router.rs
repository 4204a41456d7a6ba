//! Which request goes where.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, patch, post};

use crate::guard::guard;
use crate::page;
use crate::routes::{about, alarms, audit, call, calls, kpis, live, people, session, trunks, users, why};
use crate::state::App;

/// All routes.
pub(crate) fn routes(app: App) -> Router {
    let api = Router::new()
        .route("/session", get(session::show).post(session::login).delete(session::logout))
        .route("/about", get(about::about))
        .route("/fields", get(about::fields))
        .route("/calls", get(calls::list))
        .route("/calls/summary", get(calls::summary))
        .route("/calls/suggest", get(calls::suggest))
        .route("/calls/export", get(calls::export))
        .route("/calls/{id}", get(call::show))
        .route("/calls/{id}/ladder", get(call::ladder))
        .route("/calls/{id}/ladder.svg", get(call::svg))
        .route("/calls/{id}/packets.pcap", get(call::pcap))
        .route("/calls/{id}/sound.wav", get(call::wav))
        .route("/calls/{id}/peaks", get(call::peaks))
        .route("/live", get(live::events))
        .route("/live/calls", get(live::calls))
        .route("/kpis", get(kpis::show))
        .route("/users", get(users::list))
        .route("/users/{aor}", get(users::show))
        .route("/alarms", get(alarms::list))
        .route("/trunks", get(trunks::list))
        .route("/why", get(why::show))
        .route("/audit", get(audit::list))
        .route("/people", get(people::list).post(people::add))
        .route("/people/{name}", patch(people::change))
        .route("/tokens", get(people::tokens).post(people::make_token))
        .route("/tokens/{name}", delete(people::end_token))
        .route("/alarms/silence", post(alarms::silence))
        .route("/alarms/{id}/acknowledge", post(alarms::acknowledge));
    Router::new()
        .nest("/api/v1", api)
        .route("/open/{key}", get(session::open))
        .fallback(page::serve)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Longest body of a request.
const BODY: usize = 64 << 10;
