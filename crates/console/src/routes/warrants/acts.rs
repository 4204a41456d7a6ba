//! What was done with the register, and the proof that it is as it was written.

use axum::extract::State;
use ringtap_model::Nanos;
use ringtap_warrant::{ActQuery, ActView, Error, Head, Look, PublicKey, SecretText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::officer::Officer;
use crate::answer::Answer;
use crate::problem::{FieldMistake, Problem};
use crate::request::{Bounded, Json, int64};
use crate::state::App;

/// Which acts.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ActQuery)]
pub(crate) struct WantedActs {
    /// The reason, which is recorded: 1 to 1,024 bytes.
    #[schema(value_type = String, example = "complaint 12")]
    why: SecretText,
    /// From then.
    #[serde(default, deserialize_with = "int64")]
    from_us: Option<u64>,
    /// Until then, which is not included.
    #[serde(default, deserialize_with = "int64")]
    until_us: Option<u64>,
    /// Only what this person did, or `service`.
    #[serde(default)]
    who: Option<String>,
    /// Only acts about this warrant.
    #[serde(default)]
    warrant: Option<u32>,
    /// Only acts with a lower number: for the next page, that of the last act of this one.
    #[serde(default, deserialize_with = "int64")]
    before: Option<u64>,
    /// Most acts of the answer; 100 unless it is given.
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, 1_000>>,
}

/// A page of acts.
#[derive(Serialize, ToSchema)]
struct ActList {
    /// The newest first.
    acts: Vec<ActEntry>,
    /// Whether there are earlier ones.
    more: bool,
}

/// Something that was done.
#[derive(Serialize, ToSchema)]
#[schema(as = Act)]
struct ActEntry {
    /// Its number, from 0, without gaps.
    number: u64,
    /// When, by the register.
    time_us: u64,
    /// What the clock said, where that was earlier.
    clock_us: Option<u64>,
    /// The name of a person, or `service`.
    who: String,
    /// What kind of act, such as `enter`, `approve` or `look`.
    act: &'static str,
    /// The warrant that it is about.
    warrant: Option<u32>,
    /// The request for retained data that it is about.
    request: Option<u32>,
    /// What else is to be said: neither targets nor identifiers.
    detail: String,
}

impl From<ActView> for ActEntry {
    fn from(view: ActView) -> Self {
        let ActView { number, time, clock, who, act, warrant, request, detail } = view;
        Self {
            number,
            time_us: time.micros(),
            clock_us: clock.map(Nanos::micros),
            who: who.to_string(),
            act,
            warrant,
            request,
            detail: detail.to_string(),
        }
    }
}

/// What was done with the register, the newest act first
///
/// It is a look, which is recorded with its reason.
#[utoipa::path(
    post, path = "/warrants/acts", operation_id = "list_acts", tag = "warrants", request_body = WantedActs,
    responses((status = 200, description = "A page of them.", body = ActList))
)]
pub(crate) async fn list(
    State(app): State<App>,
    officer: Officer,
    Json(wanted): Json<WantedActs>,
) -> Result<Answer, Problem> {
    let most = wanted.limit.map_or(100, Bounded::get);
    let query = ActQuery {
        since: wanted.from_us.map(Nanos::from_micros),
        until: wanted.until_us.map(Nanos::from_micros),
        who: wanted.who.filter(|who| !who.is_empty()),
        warrant: wanted.warrant,
        before: wanted.before,
        // One more tells whether there are earlier ones.
        most: Some(most + 1),
    };
    let why = wanted.why;
    let acts = app
        .warrants
        .act(&officer.known, move |acting| acting.register.acts(acting.session, &query, &why, acting.clock));
    let acts = acts.await?;
    let more = acts.len() > most;
    Ok(Answer::of(ActList { acts: acts.into_iter().rev().take(most).map(ActEntry::from).collect(), more }))
}

/// How the register is verified.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verification {
    /// The reason, which is recorded: 1 to 1,024 bytes.
    #[schema(value_type = String, example = "yearly audit")]
    why: SecretText,
    /// The public key that must have signed the acts: 64 hex digits; that of the register unless it is given.
    #[serde(default)]
    key: Option<String>,
    /// Acts that were noted elsewhere, as `head` has them: the register must still have them. 64 at most.
    #[serde(default)]
    heads: Vec<String>,
}

/// What a verification has found.
#[derive(Serialize, ToSchema)]
struct VerifiedRegister {
    /// Acts that are proven: all before the first fault.
    acts: u64,
    /// The newest of them, to be noted elsewhere: `17:` and 64 hex digits.
    head: Option<String>,
    /// The public key whose signatures were accepted.
    key: String,
    /// The last line is not complete: it is being written, or was when a power cut came.
    torn: bool,
    /// The first act that is not as it was written; null if all are.
    fault: Option<String>,
}

/// Checks every act of the register, and that none is missing
///
/// It is a look, which is recorded with its reason, if the register can still record anything.
#[utoipa::path(
    post, path = "/warrants/verify", operation_id = "verify_register", tag = "warrants",
    request_body = Verification,
    responses((status = 200, description = "What was found.", body = VerifiedRegister))
)]
pub(crate) async fn verify(
    State(app): State<App>,
    officer: Officer,
    Json(Verification { why, key, heads }): Json<Verification>,
) -> Result<Answer, Problem> {
    let (key, heads) = read(key, &heads)?;
    let verified = app
        .warrants
        .verify(move |source| ringtap_warrant::verify(&source.register, key, &heads, Some(&source.key)));
    let verified = verified.await?;
    let has_fault = verified.fault.is_some();
    let recorded = app.warrants.act(&officer.known, move |acting| {
        match acting.register.look(acting.session, Look::Verify, &why, acting.clock) {
            // A register that is not as it was written records nothing: that is what is told.
            Err(Error::Log { .. }) if has_fault => Ok(()),
            looked => looked,
        }
    });
    match recorded.await {
        Err(problem) if !(has_fault && problem.status == 503) => return Err(problem),
        _ => {}
    }
    Ok(Answer::of(VerifiedRegister {
        acts: verified.acts,
        head: verified.head.as_ref().map(ToString::to_string),
        key: verified.key.to_string(),
        torn: verified.torn,
        fault: verified.fault.as_ref().map(ToString::to_string),
    }))
}

fn read(key: Option<String>, heads: &[String]) -> Result<(Option<PublicKey>, Vec<Head>), Problem> {
    let mut mistakes = Vec::new();
    let key = key.filter(|key| !key.trim().is_empty()).and_then(|key| {
        let parsed = key.trim().parse::<PublicKey>();
        parsed
            .map_err(|_| mistakes.push(FieldMistake::of("key", "write the public key as 64 hex digits")))
            .ok()
    });
    let read = |(entry, text): (usize, &String)| {
        let mistake = |problem| FieldMistake { entry: Some(entry), ..FieldMistake::of("heads", problem) };
        text.trim().parse::<Head>().map_err(mistake)
    };
    let (mut found, most) = (Vec::new(), 64);
    if heads.len() > most {
        mistakes.push(FieldMistake::of("heads", "there are more than 64"));
    }
    for head in heads.iter().enumerate().take(most).map(read) {
        match head {
            Ok(head) => found.push(head),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok((key, found)) } else { Err(Problem::fields(mistakes)) }
}
