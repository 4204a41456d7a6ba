//! Warrants, a page at a time.

use axum::extract::State;
use ringtap_model::Nanos;
use ringtap_warrant::{ListQuery, Role, SecretText, Standing, Warrant};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::officer::Officer;
use crate::answer::Answer;
use crate::problem::Problem;
use crate::request::{Bounded, Json};
use crate::state::App;

/// Which warrants.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarrantQuery {
    /// The reason, which is recorded: 1 to 1,024 bytes.
    #[schema(value_type = String, example = "what ends this week")]
    why: SecretText,
    /// Only those that have not ended.
    #[serde(default)]
    open: bool,
    /// Only those that wait for whoever asks to approve them.
    #[serde(default)]
    waits_for_me: bool,
    /// Only warrants with a lower number: for the next page, that of the last warrant of this one.
    #[serde(default)]
    before: Option<u32>,
    /// Most warrants of the answer; 100 unless it is given.
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 500)]
    limit: Option<Bounded<1, 500>>,
}

/// A page of warrants.
#[derive(Serialize, ToSchema)]
struct WarrantList {
    /// The newest first.
    warrants: Vec<WarrantLine>,
    /// How many there are on all pages.
    total: usize,
    /// Whether there are earlier ones.
    more: bool,
    /// The time by which their status counts.
    at_us: u64,
}

/// A warrant in a list: without its targets.
#[derive(Serialize, ToSchema)]
struct WarrantLine {
    /// Its number in the register.
    number: u32,
    /// `draft`, `waiting`, `active`, `ended` or `withdrawn`.
    status: &'static str,
    liid: String,
    case: String,
    begins_us: u64,
    ends_us: u64,
    /// `iri`, `content` or `both`.
    delivers: &'static str,
    entered_by: String,
    /// Null for a draft.
    approved_by: Option<String>,
    /// An extension has been entered, and not approved.
    extension_waits: bool,
    /// Whoever asks can approve the draft, or the extension.
    waits_for_me: bool,
}

/// The warrants, the newest first
///
/// It is a look, which is recorded with its reason.
#[utoipa::path(
    post, path = "/warrants/list", operation_id = "list_warrants", tag = "warrants",
    request_body = WarrantQuery,
    responses((status = 200, description = "A page of them.", body = WarrantList))
)]
pub(crate) async fn list(
    State(app): State<App>,
    officer: Officer,
    Json(wanted): Json<WarrantQuery>,
) -> Result<Answer, Problem> {
    let page = app.warrants.act(&officer.known, move |acting| {
        let WarrantQuery { why, open, waits_for_me, before, limit } = wanted;
        let name = acting.session.name().to_owned();
        let waits_for = waits_for_me.then(|| name.clone());
        let most = limit.map_or(100, Bounded::get);
        // One more tells whether there are earlier ones.
        let query = ListQuery { open, waits_for, before, most: most + 1 };
        let mut page = acting.register.list_page(acting.session, &query, &why, acting.clock)?;
        let more = page.warrants.len() > most;
        page.warrants.truncate(most);
        let line = |warrant: &Warrant| line(warrant, page.at, &name, acting.standing);
        let warrants = page.warrants.iter().map(line).collect();
        Ok(WarrantList { warrants, total: page.total, more, at_us: page.at.micros() })
    });
    Ok(Answer::of(page.await?))
}

fn line(warrant: &Warrant, at: Nanos, name: &str, standing: Standing) -> WarrantLine {
    let entered = &warrant.entered;
    WarrantLine {
        number: warrant.id,
        status: warrant.status(at).name(),
        liid: entered.liid.text().to_string(),
        case: entered.case_number.to_string(),
        begins_us: entered.begins.micros(),
        ends_us: entered.ends.micros(),
        delivers: entered.delivers.name(),
        entered_by: warrant.entered_by.to_string(),
        approved_by: warrant.approved_by.as_deref().map(str::to_owned),
        extension_waits: warrant.pending_extension().is_some(),
        waits_for_me: waits_for(warrant, at, name, standing),
    }
}

/// Whether somebody can approve something of it.
pub(super) fn waits_for(warrant: &Warrant, at: Nanos, name: &str, standing: Standing) -> bool {
    standing.role == Role::Officer && warrant.waits_for(name, at)
}
