//! Who asks, and what they may see.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use ringtap_access::{Action, Actor, Identity, NewEntry, Refusal, Right, What};
use ringtap_kpi::Key;
use ringtap_model::{Alarm, Call};
use ringtap_report::time;
use serde::Serialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::{App, Shared};

/// Somebody who is logged in, or a program with a token.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub(crate) identity: Identity,
    pub(crate) from: IpAddr,
    /// What proves who it is.
    proof: Proof,
}

/// What proves who somebody is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The secret of a session, from its cookie.
    Session(String),
    /// A token, from the header `Authorization`.
    Token(String),
}

impl std::fmt::Debug for Proof {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session(_) => "Session",
            Self::Token(_) => "Token",
        })
    }
}

impl Proof {
    /// What a request carries; a token goes before a session, since a program sends it on purpose.
    pub(crate) fn of(headers: &HeaderMap, cookie: &str) -> Option<Self> {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = bearer.and_then(|value| value.strip_prefix("Bearer ")) {
            return Some(Self::Token(token.trim().to_owned()));
        }
        self::cookie(headers, cookie).map(Self::Session)
    }

    /// Who that is now.
    pub(crate) fn identity(&self, app: &Shared) -> Result<Identity, Refusal> {
        match self {
            Self::Session(secret) => app.people.session(secret, time::now()),
            Self::Token(token) => app.people.token(token, time::now()),
        }
    }
}

/// The value of a cookie.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}

impl Viewer {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }

    /// Whether a token proved who it is.
    pub(crate) fn is_token(&self) -> bool {
        matches!(self.proof, Proof::Token(_))
    }

    /// Whether there is a right.
    pub(crate) fn has(&self, right: Right) -> bool {
        self.identity.may(right)
    }

    /// Refuses those without a right.
    pub(crate) fn need(&self, right: Right) -> Result<(), Problem> {
        if self.has(right) {
            return Ok(());
        }
        Err(if self.identity.must_change {
            Problem::password_first()
        } else {
            Problem::forbidden(right.name())
        })
    }

    /// Refuses those whose scope is limited, for what is counted over all calls.
    pub(crate) fn need_everything(&self, what: &str) -> Result<(), Problem> {
        match self.identity.scope.is_everything() {
            true => Ok(()),
            false => Err(Problem::scope(what)),
        }
    }

    /// Whether only some calls may be seen.
    pub(crate) fn is_limited(&self) -> bool {
        !self.identity.scope.is_everything()
    }

    /// Whether a group of calls by trunk has calls of the scope alone. What had no room for a group of its
    /// own, and calls of no known trunk, are in no limited scope.
    pub(crate) fn sees_trunk(&self, key: &Key) -> bool {
        let is_named = !key.name.is_empty() && *key.name != *ringtap_kpi::key::NONE;
        !self.is_limited() || is_named && self.identity.scope.has_trunk(&key.name)
    }

    /// Whether an alarm is of calls of the scope alone, which that of a trunk is.
    pub(crate) fn sees_alarm(&self, alarm: &Alarm) -> bool {
        let is_named = !alarm.subject.is_empty() && alarm.subject != ringtap_kpi::key::NONE;
        let is_own = || self.identity.scope.has_trunk(&alarm.subject);
        !self.is_limited() || TRUNKS.contains(&&*alarm.per) && is_named && is_own()
    }

    /// Whether a call is in the scope.
    pub(crate) fn sees(&self, call: &Call) -> bool {
        self.identity.scope.has_call(call)
    }

    /// An answer without the numbers that may not be seen.
    pub(crate) fn answer(&self, app: &Shared, value: impl Serialize) -> Answer {
        let mut value: Value = serde_json::to_value(value).unwrap_or_default();
        if !self.has(Right::Numbers) {
            app.tokens.json(&mut value);
        }
        Answer::of(value)
    }

    /// Whether session or token still stand, and still have what they had.
    pub(crate) async fn is_still_allowed(&self, app: &App) -> bool {
        let (app, proof) = (app.clone(), self.proof.clone());
        let now = tokio::task::spawn_blocking(move || proof.identity(&app)).await;
        let is_same = |now: Identity| now.rights == self.identity.rights && now.scope == self.identity.scope;
        now.is_ok_and(|now| now.is_ok_and(is_same))
    }

    /// The same, and with the same calls, for a thread that may wait.
    pub(crate) fn may_go_on(&self, app: &Shared) -> bool {
        let now = self.proof.identity(app);
        now.is_ok_and(|now| now.rights == self.identity.rights && now.scope == self.identity.scope)
    }

    /// For the audit log.
    pub(crate) fn actor(&self) -> Actor {
        self.identity.actor(self.from)
    }
}

impl App {
    /// Notes in the audit log what somebody is about to do or see. What cannot be noted is not done.
    pub(crate) async fn note(&self, viewer: &Viewer, action: Action, what: What) -> Result<(), Problem> {
        self.note_because(viewer, action, what, None).await
    }

    /// Notes that somebody looks at something, once a minute: a page that shows what goes on asks again and
    /// again.
    pub(crate) async fn note_view(&self, viewer: &Viewer, what: String) -> Result<(), Problem> {
        let seen = format!("{} {} {what}", viewer.name(), viewer.from);
        if self.views.is_new(&seen) {
            self.note(viewer, Action::View, What::from(what)).await?;
            self.views.add(seen);
        }
        Ok(())
    }

    /// The same, with the reason that was given.
    pub(crate) async fn note_because(
        &self,
        viewer: &Viewer,
        action: Action,
        what: What,
        reason: Option<String>,
    ) -> Result<(), Problem> {
        let entry = NewEntry { time: time::now(), actor: viewer.actor(), action, what, reason };
        self.append(entry).await
    }

    /// Writes an entry of the audit log.
    pub(crate) async fn append(&self, entry: NewEntry) -> Result<(), Problem> {
        let app = self.clone();
        let written = tokio::task::spawn_blocking(move || app.audit.append(&entry)).await;
        match written {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(anyhow::Error::from(error).into()),
            Err(_) => Err(Problem::unavailable("the audit log cannot be written")),
        }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let from = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip());
        let proof = Proof::of(&parts.headers, app.cookie_name()).ok_or_else(Problem::login)?;
        let (asked, of) = (app.clone(), proof.clone());
        let identity = tokio::task::spawn_blocking(move || of.identity(&asked)).await;
        match identity {
            Ok(Ok(identity)) => Ok(Self { identity, from, proof }),
            Ok(Err(refusal)) => Err(refusal.into()),
            Err(_) => Err(Problem::unavailable("sessions cannot be read")),
        }
    }
}

impl From<ringtap_access::Error> for Problem {
    /// What is wrong with a request is no failure of the console.
    fn from(error: ringtap_access::Error) -> Self {
        use ringtap_access::Error;
        let said = error.to_string();
        match error {
            Error::Nobody { .. } | Error::NotFound { .. } => Self::not_found(said),
            Error::Name { .. } | Error::Password(_) | Error::Pattern { .. } => {
                Self::request(said, "choose another one")
            }
            Error::Search(_) => Self::request(said, "send a name and a search"),
            Error::Exists { .. }
            | Error::LastAdministrator { .. }
            | Error::Code
            | Error::NoSecondFactor { .. }
            | Error::Passkey(_)
            | Error::Expiry { .. }
            | Error::TooMany { .. }
            | Error::TooManySearches { .. } => Self::conflict(said),
            _ => anyhow::Error::from(error).into(),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let said = refusal.to_string();
        match refusal {
            Refusal::Wrong | Refusal::Passkey => Self::refused_login(said, false),
            Refusal::NotPermitted => Self::refused_login(said, false),
            Refusal::ByProvider => Self::conflict(said),
            Refusal::CodeNeeded => Self::refused_login(said, true),
            Refusal::Wait(wait) => Self::busy(said, wait.0.div_ceil(1_000_000_000).max(1)),
            Refusal::Busy => Self::busy(said, 2),
            Refusal::Failed(error) => error.into(),
            _ => Self::login().saying(said),
        }
    }
}

/// What a rule of an alarm looks at one by one where that is trunks.
const TRUNKS: [&str; 3] = ["trunk", "trunk_in", "trunk_out"];

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_token_goes_before_a_cookie_and_other_cookies_are_nothing() {
        let mut headers = HeaderMap::new();
        assert_eq!(Proof::of(&headers, "ringtap"), None);
        headers.insert(COOKIE, HeaderValue::from_static("other=1; ringtap=abc; ringtap2=x"));
        assert_eq!(Proof::of(&headers, "ringtap"), Some(Proof::Session("abc".into())));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer rt_1"));
        assert_eq!(Proof::of(&headers, "ringtap"), Some(Proof::Token("rt_1".into())));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic abc"));
        assert_eq!(Proof::of(&headers, "ringtap"), Some(Proof::Session("abc".into())));
        assert_eq!(format!("{:?}", Proof::Token("secret".into())), "Token");
    }
}
