//! One warrant, whole.

use axum::extract::State;
use ringtap_model::Nanos;
use ringtap_warrant::{PayloadKey, Warrant};
use serde::Serialize;
use utoipa::ToSchema;

use super::Why;
use super::list::waits_for;
use super::officer::Officer;
use crate::answer::Answer;
use crate::problem::Problem;
use crate::request::{Json, Path};
use crate::sources::WarrantProduct;
use crate::state::App;
use crate::warrants::Acting;

/// A warrant, whole.
#[derive(Serialize, ToSchema)]
struct WarrantRecord {
    /// Its number in the register.
    number: u32,
    /// `draft`, `waiting`, `active`, `ended` or `withdrawn`.
    status: &'static str,
    /// The time by which the status counts.
    at_us: u64,
    /// SHA-256 of the record as it is now: approving it names it.
    hash: String,
    /// Whoever asks can approve the draft, or the extension.
    waits_for_me: bool,
    liid: String,
    case: String,
    authority: String,
    legal_basis: String,
    requester: String,
    authorisation_country: String,
    delivery_country: String,
    agency: String,
    mediation_function: Option<u32>,
    operator: String,
    begins_us: u64,
    /// With the extensions that were approved.
    ends_us: u64,
    /// `iri`, `content` or `both`.
    delivers: &'static str,
    /// How payloads are encrypted: `AES-192-CBC`, `AES-256-CBC`, or null if they are not.
    payload: Option<&'static str>,
    /// In their normal form.
    targets: Vec<String>,
    entered: ActedAt,
    /// Null for a draft.
    approved: Option<ActedAt>,
    extensions: Vec<ExtensionRecord>,
    withdrawn: Option<Remark>,
    notes: Vec<Remark>,
    /// When the service began, the last time.
    begun_us: Option<u64>,
    /// When it was noticed that it had ended.
    ended_us: Option<u64>,
    /// That the service has stopped.
    stopped: Vec<Stopped>,
    /// How often it was looked at, this time included.
    looks: u64,
    last_look: Option<ActedAt>,
    /// What the service says that it has given; null if it says nothing of it.
    product: Option<WarrantProduct>,
    /// Why that cannot be read.
    product_problem: Option<String>,
}

/// Who did something, and when.
#[derive(Serialize, ToSchema)]
struct ActedAt {
    by: String,
    at_us: u64,
}

/// What somebody said of it.
#[derive(Serialize, ToSchema)]
struct Remark {
    by: String,
    at_us: u64,
    text: String,
}

/// An extension of a warrant.
#[derive(Serialize, ToSchema)]
struct ExtensionRecord {
    ends_us: u64,
    /// The number of the order that extends it.
    reference: String,
    authority: String,
    entered_by: String,
    /// Null as long as it waits.
    approved_by: Option<String>,
}

/// That the service has stopped.
#[derive(Serialize, ToSchema)]
struct Stopped {
    at_us: u64,
    /// Null if there was no content.
    last_content_us: Option<u64>,
    /// What stopped it.
    by: String,
}

/// A warrant, whole, with the hash that its approval names
///
/// It is a look, which is recorded with its reason.
#[utoipa::path(
    post, path = "/warrants/{number}/show", operation_id = "show_warrant", tag = "warrants",
    params(("number" = u32, Path, description = "Its number in the register.")), request_body = Why,
    responses((status = 200, description = "All of it.", body = WarrantRecord))
)]
pub(crate) async fn show(
    State(app): State<App>,
    officer: Officer,
    Path(number): Path<u32>,
    Json(Why { why }): Json<Why>,
) -> Result<Answer, Problem> {
    let record = app.warrants.act(&officer.known, move |acting| {
        let (warrant, at) = acting.register.show(acting.session, number, &why, acting.clock)?;
        Ok(record(&warrant, at, &acting))
    });
    Ok(Answer::of(record.await?))
}

fn record(warrant: &Warrant, at: Nanos, acting: &Acting<'_>) -> WarrantRecord {
    let entered = &warrant.entered;
    let acted = |by: &str, at: Nanos| ActedAt { by: by.to_owned(), at_us: at.micros() };
    let remark =
        |by: &str, at: Nanos, text: &str| Remark { by: by.into(), at_us: at.micros(), text: text.into() };
    let product = acting.source.product.as_ref().map_or(Ok(None), |product| product(warrant));
    let (product, product_problem) = match product {
        Ok(product) => (product, None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    WarrantRecord {
        number: warrant.id,
        status: warrant.status(at).name(),
        at_us: at.micros(),
        hash: warrant.hash(),
        waits_for_me: waits_for(warrant, at, acting.session.name(), acting.standing),
        liid: entered.liid.text().to_string(),
        case: entered.case_number.to_string(),
        authority: entered.authority.to_string(),
        legal_basis: entered.legal_basis.to_string(),
        requester: entered.requester.to_string(),
        authorisation_country: entered.authorisation_country.to_string(),
        delivery_country: entered.delivery_country.to_string(),
        agency: entered.agency.clone(),
        mediation_function: entered.mediation_function,
        operator: entered.operator.clone(),
        begins_us: entered.begins.micros(),
        ends_us: entered.ends.micros(),
        delivers: entered.delivers.name(),
        payload: entered.payload_key.as_ref().map(cipher),
        targets: entered.targets.iter().map(|target| target.text().to_string()).collect(),
        entered: acted(&warrant.entered_by, warrant.entered_at),
        approved: warrant.approved_by.as_ref().zip(warrant.approved_at).map(|(by, at)| acted(by, at)),
        extensions: warrant.extensions().map(extension).collect(),
        withdrawn: warrant.withdrawn.as_ref().map(|(by, at, why)| remark(by, *at, why)),
        notes: warrant.notes.iter().map(|(by, at, text)| remark(by, *at, text)).collect(),
        begun_us: warrant.begun.map(Nanos::micros),
        ended_us: warrant.ended.map(Nanos::micros),
        stopped: warrant.stopped.iter().map(stopped).collect(),
        looks: warrant.looks,
        last_look: warrant.last_look.as_ref().map(|(by, at)| acted(by, *at)),
        product,
        product_problem,
    }
}

fn extension(
    (extension, entered_by, approved_by): (&ringtap_warrant::Extension, &str, Option<&str>),
) -> ExtensionRecord {
    ExtensionRecord {
        ends_us: extension.ends.micros(),
        reference: extension.reference.to_string(),
        authority: extension.authority.to_string(),
        entered_by: entered_by.to_owned(),
        approved_by: approved_by.map(str::to_owned),
    }
}

fn stopped(proof: &ringtap_warrant::StopProof) -> Stopped {
    Stopped {
        at_us: proof.at.micros(),
        last_content_us: proof.last_content.map(Nanos::micros),
        by: proof.by.clone(),
    }
}

fn cipher(key: &PayloadKey) -> &'static str {
    match key {
        PayloadKey::Aes192Cbc(_) => "AES-192-CBC",
        _ => "AES-256-CBC",
    }
}
