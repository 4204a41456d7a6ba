//! Who asks: an officer or an auditor.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;
use crate::state::App;
use crate::viewer::cookie;
use crate::warrants::Known;

/// An officer or an auditor, by a session of the register's own. A session of the console is none.
pub(crate) struct Officer {
    pub(crate) known: Known,
    /// Opens the session.
    pub(crate) secret: String,
}

impl Officer {
    /// Whose session a request carries. `uses`: the person does something, and is idle no longer.
    pub(crate) fn of(parts: &Parts, app: &App, uses: bool) -> Result<Self, Problem> {
        app.warrants.source()?;
        let secret = cookie(&parts.headers, app.officer_cookie_name()).ok_or_else(Problem::officer_login)?;
        Ok(Self { known: app.warrants.find(&secret, uses)?, secret })
    }
}

impl FromRequestParts<App> for Officer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Self::of(parts, app, true)
    }
}

/// The same, who only asks whether the session stands: that ends no idleness.
pub(crate) struct Idle(pub(crate) Officer);

impl FromRequestParts<App> for Idle {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Officer::of(parts, app, false).map(Self)
    }
}
