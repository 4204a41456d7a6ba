//! Which request goes where.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::guard::guard;
use crate::page;
use crate::routes::{
    about, account, alarms, assistants, audit, availability, call, calls, deletions, export, health, kpis,
    listen, live, passkeys, people, provider, recording, retention, rules, searches, sensors, session, sites,
    trunks, users, warrants, why,
};
use crate::state::App;

/// The API. Every route is in its document: `routes!` takes path and method from the description.
pub(crate) fn api() -> OpenApiRouter<App> {
    let api = OpenApiRouter::default()
        .routes(routes!(about::document))
        .routes(routes!(session::show, session::login, session::logout))
        .routes(routes!(provider::show))
        .routes(routes!(provider::begin))
        .routes(routes!(provider::end))
        .routes(routes!(about::about))
        .routes(routes!(health::show))
        .routes(routes!(health::metrics))
        .routes(routes!(about::fields))
        .routes(routes!(sites::list, sites::add))
        .routes(routes!(sites::change, sites::remove))
        .routes(routes!(calls::list))
        .routes(routes!(calls::summary))
        .routes(routes!(calls::suggest))
        .routes(routes!(searches::list, searches::add))
        .routes(routes!(searches::change, searches::remove))
        .routes(routes!(export::export))
        .routes(routes!(call::show))
        .routes(routes!(call::ladder))
        .routes(routes!(call::svg))
        .routes(routes!(call::pcap))
        .routes(routes!(call::wav))
        .routes(routes!(call::peaks))
        .routes(routes!(listen::live))
        .routes(routes!(recording::change))
        .routes(routes!(recording::hold))
        .routes(routes!(recording::release))
        .routes(routes!(recording::holds))
        .routes(routes!(retention::show))
        .routes(routes!(rules::list, rules::set))
        .routes(routes!(deletions::list))
        .routes(routes!(live::events))
        .routes(routes!(live::calls))
        .routes(routes!(sensors::list))
        .routes(routes!(kpis::show))
        .routes(routes!(users::list))
        .routes(routes!(users::show))
        .routes(routes!(alarms::list))
        .routes(routes!(alarms::silence))
        .routes(routes!(alarms::acknowledge))
        .routes(routes!(availability::outages))
        .routes(routes!(availability::failovers))
        .routes(routes!(availability::calls))
        .routes(routes!(availability::services))
        .routes(routes!(trunks::list))
        .routes(routes!(why::show))
        .routes(routes!(audit::list))
        .routes(routes!(people::list, people::add))
        .routes(routes!(people::change))
        .routes(routes!(account::remove_totp_of))
        .routes(routes!(passkeys::begin_login))
        .routes(routes!(passkeys::login))
        .routes(routes!(passkeys::remove_of))
        .routes(routes!(passkeys::list, passkeys::add))
        .routes(routes!(passkeys::begin))
        .routes(routes!(passkeys::remove))
        .routes(routes!(account::show))
        .routes(routes!(account::begin_totp))
        .routes(routes!(account::confirm_totp))
        .routes(routes!(account::remove_totp))
        .routes(routes!(account::renew_recovery_codes))
        .routes(routes!(account::sessions, account::end_other_sessions))
        .routes(routes!(account::end_session))
        .routes(routes!(people::tokens, people::make_token))
        .routes(routes!(people::end_token));
    OpenApiRouter::default().nest("/api/v1", api.merge(of_warrants()))
}

/// The register of warrants, for its officers and auditors.
fn of_warrants() -> OpenApiRouter<App> {
    use warrants::{acts, changes, list, people, record, session};
    OpenApiRouter::default()
        .routes(routes!(session::show, session::login, session::logout))
        .routes(routes!(session::passphrase))
        .routes(routes!(list::list))
        .routes(routes!(changes::enter))
        .routes(routes!(record::show))
        .routes(routes!(changes::approve))
        .routes(routes!(changes::extend))
        .routes(routes!(changes::withdraw))
        .routes(routes!(changes::note))
        .routes(routes!(acts::list))
        .routes(routes!(acts::verify))
        .routes(routes!(people::list))
        .routes(routes!(people::add))
        .routes(routes!(people::disable))
        .routes(routes!(people::confirm))
}

/// All routes.
pub(crate) fn routes(app: App) -> Router {
    Router::from(api())
        .route("/openapi.json", get(about::document))
        .route("/mcp", post(assistants::answer))
        .route("/open/{key}", get(session::open))
        .route(ringtap_oidc::CALLBACK, get(provider::callback))
        .method_not_allowed_fallback(page::wrong_method)
        .fallback(page::serve)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Longest body of a request.
const BODY: usize = 64 << 10;
