//! Sites: networks that have names, each for a time.

use axum::extract::State;
use axum::http::StatusCode;
use ringtap_access::{Action, Right, What};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::openapi::refusals::{Conflict, Missing};
use crate::problem::Problem;
use crate::request::{Json, Path, int64};
use crate::sites::NamedNetworks;
use crate::state::App;
use crate::viewer::Viewer;

/// Sites.
#[derive(Serialize, ToSchema)]
struct SiteList {
    /// By name and time; one that changed its networks has several entries.
    sites: Vec<SiteEntry>,
    /// The file that has them.
    #[schema(example = "/var/lib/ringtap/console/sites.json")]
    file: String,
    /// They may be changed by whoever asks.
    may_change: bool,
}

/// Networks that have a name, for a time.
#[derive(Serialize, ToSchema)]
#[schema(as = Site)]
struct SiteEntry {
    number: u64,
    /// As `site:` in a search has it; several entries may have the same.
    #[schema(example = "Lyon")]
    name: String,
    /// Networks, such as `192.0.2.0/24`.
    networks: Vec<String>,
    /// From then; null for ever before.
    from_us: Option<u64>,
    /// Until then, which is not included; null for ever after.
    until_us: Option<u64>,
}

impl From<NamedNetworks> for SiteEntry {
    fn from(entry: NamedNetworks) -> Self {
        let NamedNetworks { number, name, networks, from_us, until_us } = entry;
        Self { number, name, networks, from_us, until_us }
    }
}

/// The sites
///
/// A call is of a site if one of its addresses is in the networks that had that name when it began.
#[utoipa::path(
    get, path = "/sites", operation_id = "list_sites", tag = "about",
    responses((status = 200, description = "All sites.", body = SiteList))
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("networks of sites")?;
    Ok(Answer::of(SiteList {
        sites: app.sites.list().into_iter().map(SiteEntry::from).collect(),
        file: app.sites.path().display().to_string(),
        may_change: viewer.has(Right::Rules),
    }))
}

/// A site to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSite {
    /// 1 to 64 letters, digits, spaces, `.`, `-` and `_`.
    #[schema(example = "Lyon")]
    name: String,
    /// 1 to 32 networks, such as `192.0.2.0/24`.
    networks: Vec<String>,
    /// From then; for ever before unless it is given.
    #[serde(default, deserialize_with = "int64")]
    from_us: Option<u64>,
    /// Until then, which is not included; for ever after unless it is given.
    #[serde(default, deserialize_with = "int64")]
    until_us: Option<u64>,
}

/// Gives networks a name
///
/// A network has one name at a time. Needs the right `rules`. There may be up to 500.
#[utoipa::path(
    post, path = "/sites", operation_id = "add_site", tag = "about", request_body = NewSite,
    responses((status = 201, description = "It is added.", body = SiteEntry), Conflict)
)]
pub(crate) async fn add(
    State(app): State<App>,
    viewer: Viewer,
    Json(new): Json<NewSite>,
) -> Result<(StatusCode, Answer), Problem> {
    may_change(&viewer)?;
    let NewSite { name, networks, from_us, until_us } = new;
    let new = NamedNetworks { number: 0, name, networks, from_us, until_us };
    note(&app, &viewer, "a site is added", &new).await?;
    let added = blocking(&app, move |app| app.sites.add(new)).await?;
    Ok((StatusCode::CREATED, Answer::of(SiteEntry::from(added))))
}

/// What becomes of a site; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteChange {
    /// Another name.
    name: Option<String>,
    /// Other networks.
    networks: Option<Vec<String>>,
    /// Another beginning; null for ever before.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>)]
    from_us: Option<Option<u64>>,
    /// Another end; null for ever after.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>)]
    until_us: Option<Option<u64>>,
}

/// A number or null that is there: not the same as one that is left out.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    int64(deserializer).map(Some)
}

/// Changes a site
///
/// It changes for calls of all its time: to keep history, give it an end, and add another one. Needs the
/// right `rules`.
#[utoipa::path(
    patch, path = "/sites/{number}", operation_id = "change_site", tag = "about",
    params(("number" = u64, Path, description = "Its number.")), request_body = SiteChange,
    responses((status = 200, description = "As it is now.", body = SiteEntry), Missing, Conflict)
)]
pub(crate) async fn change(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
    Json(change): Json<SiteChange>,
) -> Result<Answer, Problem> {
    may_change(&viewer)?;
    let SiteChange { name, networks, from_us, until_us } = change;
    let changed = move |old: NamedNetworks| NamedNetworks {
        number,
        name: name.unwrap_or(old.name),
        networks: networks.unwrap_or(old.networks),
        from_us: from_us.unwrap_or(old.from_us),
        until_us: until_us.unwrap_or(old.until_us),
    };
    note(&app, &viewer, "a site is changed", &changed.clone()(app.sites.one(number)?)).await?;
    let changed = blocking(&app, move |app| app.sites.change(number, changed)).await?;
    Ok(Answer::of(SiteEntry::from(changed)))
}

/// Removes a site
///
/// No call was ever of it: to keep history, give it an end instead. Needs the right `rules`.
#[utoipa::path(
    delete, path = "/sites/{number}", operation_id = "remove_site", tag = "about",
    params(("number" = u64, Path, description = "Its number.")),
    responses((status = 204, description = "It is removed."), Missing)
)]
pub(crate) async fn remove(
    State(app): State<App>,
    viewer: Viewer,
    Path(number): Path<u64>,
) -> Result<StatusCode, Problem> {
    may_change(&viewer)?;
    note(&app, &viewer, "a site is removed", &app.sites.one(number)?).await?;
    blocking(&app, move |app| app.sites.remove(number)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn may_change(viewer: &Viewer) -> Result<(), Problem> {
    viewer.need(Right::Rules)?;
    viewer.need_everything("networks of sites")
}

/// Notes what becomes of a site.
async fn note(app: &App, viewer: &Viewer, what: &str, site: &NamedNetworks) -> Result<(), Problem> {
    let time = |us: Option<u64>| {
        us.map_or("ever".to_owned(), |us| ringtap_report::time::full(ringtap_model::Nanos::from_micros(us)))
    };
    let NamedNetworks { name, networks, from_us, until_us, .. } = site;
    let networks = networks.join(", ");
    let said = format!("{what}: {name}, {networks}, from {} until {}", time(*from_us), time(*until_us));
    app.note(viewer, Action::Change, What::from(said)).await
}

/// Does what writes a file outside of the threads that serve connections.
async fn blocking<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let shared = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&shared)).await;
    done.unwrap_or_else(|_| Err(Problem::unavailable("the sites cannot be changed: the log says why")))
}
