//! The flow: where a browser is sent, and what it brings back.

use std::sync::Arc;

use ringtap_access::Vouched;
use ringtap_model::Nanos;
use serde::Deserialize;
use tokio::sync::{Mutex, Semaphore};
use zeroize::Zeroizing;

use crate::address::{form, with_query};
use crate::cached::{AGAIN, Cached, KEYS_AGAIN};
use crate::claims;
use crate::discovery::{self, Metadata};
use crate::error::{Error, Failure, FailureKind, shown};
use crate::http::Client;
use crate::keys::{Algorithm, Keys};
use crate::pending::{Bound, LIFE, Pending};
use crate::settings::Settings;
use crate::token::{Expected, Token};

/// An identity provider. Shared between requests.
pub struct Provider {
    settings: Settings,
    client: Client,
    pending: Pending,
    metadata: Mutex<Cached<Metadata>>,
    keys: Mutex<Cached<Arc<Keys>>>,
    /// Codes that are exchanged at once: anybody may come with one.
    exchanges: Semaphore,
}

/// A login that has begun.
#[derive(Debug)]
pub struct Begun {
    /// What the browser keeps in a cookie until it comes back.
    pub cookie: Zeroizing<String>,
    /// Where it goes.
    pub location: String,
}

/// What a browser brings back from the provider (RFC 6749 section 4.1.2), which may be anything.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer {
    /// What was sent along.
    pub state: Option<String>,
    /// What a token is given for.
    pub code: Option<String>,
    /// Who answers (RFC 9207).
    pub iss: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

/// What the token endpoint answers (OpenID Connect Core 1.0, section 3.1.3.3).
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

/// Why it gives no tokens (RFC 6749 section 5.2).
#[derive(Deserialize)]
struct TokenError {
    error: String,
    error_description: Option<String>,
}

impl Provider {
    /// How long a browser has to come back.
    pub const LIFE: Nanos = LIFE;

    /// Makes what is needed to ask a provider. It is asked when the first person logs in.
    ///
    /// # Errors
    ///
    /// The certificates in `ca` cannot be used, or the program was built without the network.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            client: Client::open(settings.ca.as_deref(), settings.patience)?,
            pending: Pending::new().map_err(|error| Error::Client(error.to_string()))?,
            metadata: Mutex::default(),
            keys: Mutex::default(),
            exchanges: Semaphore::new(EXCHANGES),
            settings,
        })
    }

    /// How it is configured.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Begins a login.
    ///
    /// # Errors
    ///
    /// The provider does not say where people log in.
    pub async fn begin(&self, now: Nanos) -> Result<Begun, Failure> {
        let metadata = self.metadata(now).await?;
        let bound = self.pending.begin(now).map_err(|error| {
            Failure::unavailable(format!("the operating system gives no random bytes: {error}"))
        })?;
        let (challenge, redirect) = (bound.challenge(), self.redirect());
        let scope = std::iter::once("openid").chain(self.settings.request.iter().map(|one| &**one));
        let (scope, acr) = (scope.collect::<Vec<_>>().join(" "), self.settings.acr.join(" "));
        let mut query = vec![
            ("response_type", "code"),
            ("client_id", &*self.settings.client_id),
            ("redirect_uri", &*redirect),
            ("scope", &*scope),
            ("state", &*bound.state),
            ("nonce", &*bound.nonce),
            ("code_challenge", &*challenge),
            ("code_challenge_method", "S256"),
        ];
        if !acr.is_empty() {
            query.push(("acr_values", &*acr));
        }
        let location = with_query(&metadata.authorization_endpoint, &query);
        Ok(Begun { cookie: bound.cookie, location })
    }

    /// Whom the provider vouches for, when a browser comes back with an answer and the cookie that it got.
    ///
    /// # Errors
    ///
    /// The answer is not to a question of that browser, or it is not believed, or permits nothing here.
    pub async fn finish(
        &self,
        answer: &Answer,
        cookie: Option<&str>,
        now: Nanos,
    ) -> Result<Vouched, Failure> {
        let state = answer.state.as_deref().unwrap_or_default();
        let bound = self.pending.answered(cookie, state, now);
        let bound = bound.map_err(|why| Failure::new(FailureKind::State, why))?;
        let metadata = self.metadata(now).await?;
        self.check_issuer(answer, &metadata)?;
        if let Some(error) = &answer.error {
            let why = [Some(&**error), answer.error_description.as_deref()].into_iter().flatten();
            let why = why.map(shown).collect::<Vec<_>>().join(": ");
            return Err(Failure::new(FailureKind::Declined, format!("the provider answers: {why}")));
        }
        let code = answer.code.as_deref().ok_or_else(|| Failure::untrusted("the answer has no code"))?;
        let tokens = self.exchange(code, &bound, &metadata).await?;
        let token = Token::parse(&tokens.id_token).map_err(Failure::untrusted)?;
        let keys = self.keys(&metadata, token.key.as_deref(), token.algorithm, now).await?;
        let expected = Expected {
            issuer: &self.settings.issuer,
            client: &self.settings.client_id,
            nonce: &bound.nonce,
            access_token: tokens.access_token.as_deref(),
            now,
        };
        let claims = token.claims(&keys, &expected).map_err(Failure::untrusted)?;
        claims::vouched(&claims, &self.settings)
    }

    /// Where a browser logs out at the provider as well (OpenID Connect RP-Initiated Logout 1.0), and comes
    /// back from; none where the provider has no such page.
    ///
    /// # Errors
    ///
    /// The provider does not say whether it has one.
    pub async fn logout(&self, now: Nanos) -> Result<Option<String>, Failure> {
        let metadata = self.metadata(now).await?;
        let back = format!("{}/", self.settings.address);
        let query = [("client_id", &*self.settings.client_id), ("post_logout_redirect_uri", &*back)];
        Ok(metadata.end_session_endpoint.as_deref().map(|url| with_query(url, &query)))
    }

    /// Where the provider sends browsers back to.
    fn redirect(&self) -> String {
        format!("{}{}", self.settings.address, CALLBACK)
    }

    /// An answer of another provider is not taken to this one's token endpoint (RFC 9207 section 2.4).
    fn check_issuer(&self, answer: &Answer, metadata: &Metadata) -> Result<(), Failure> {
        match &answer.iss {
            None if !metadata.authorization_response_iss_parameter_supported => Ok(()),
            Some(issuer) if *issuer == self.settings.issuer => Ok(()),
            _ => Err(Failure::untrusted("the answer is not of this provider (`iss`)")),
        }
    }

    /// The tokens for a code (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
    async fn exchange(&self, code: &str, bound: &Bound, metadata: &Metadata) -> Result<Tokens, Failure> {
        let _place = self.exchanges.acquire().await;
        let Settings { client_id, secret, .. } = &self.settings;
        let (redirect, secret) = (self.redirect(), secret.as_deref().map(String::as_str));
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*redirect),
            ("code_verifier", &*bound.verifier),
        ];
        let mut login = None;
        match secret {
            Some(secret) if !metadata.wants_secret_in_form() => login = Some((&**client_id, secret)),
            _ => fields.push(("client_id", client_id)),
        }
        if let (None, Some(secret)) = (login, secret) {
            fields.push(("client_secret", secret));
        }
        let answered = self.client.post(&metadata.token_endpoint, form(&fields), login).await?;
        let unreadable = |error| {
            Failure::unavailable(format!("what the provider gives for the code cannot be read: {error}"))
        };
        match answered {
            (200, body) => serde_json::from_slice(&body).map_err(unreadable),
            (status, body) => Err(match serde_json::from_slice::<TokenError>(&body) {
                Ok(TokenError { error, error_description }) => {
                    let words = shown(&error_description.unwrap_or_default());
                    let why = format!("the provider refuses the code: {}: {words}", shown(&error));
                    // Of all errors, this alone is about what the browser brought.
                    let is_code = error == "invalid_grant";
                    Failure::new(if is_code { FailureKind::Untrusted } else { FailureKind::Unavailable }, why)
                }
                Err(_) => Failure::unavailable(format!("the provider answers the code with status {status}")),
            }),
        }
    }

    async fn metadata(&self, now: Nanos) -> Result<Metadata, Failure> {
        let mut cached = self.metadata.lock().await;
        if cached.fresh(now).is_none() && cached.may_fetch(AGAIN, now)? {
            let issuer = &self.settings.issuer;
            let fetched = self.client.get(&discovery::url(issuer)).await;
            cached.set(fetched.and_then(|bytes| Metadata::parse(&bytes, issuer)), now)?;
        }
        cached.fresh(now).cloned().ok_or_else(|| Failure::unavailable("the clock was put back: try again"))
    }

    /// The provider's keys, with the one that a token names. A name that is not known makes that they are
    /// fetched again, but no more often than once a minute.
    async fn keys(
        &self,
        metadata: &Metadata,
        id: Option<&str>,
        algorithm: Algorithm,
        now: Nanos,
    ) -> Result<Arc<Keys>, Failure> {
        let mut cached = self.keys.lock().await;
        let is_known = |keys: &&Arc<Keys>| keys.has(id, algorithm);
        let least = if cached.fresh(now).is_some() { KEYS_AGAIN } else { AGAIN };
        if cached.fresh(now).filter(is_known).is_none() && cached.may_fetch(least, now)? {
            let fetched = self.client.get(&metadata.jwks_uri).await;
            cached.set(fetched.and_then(|bytes| Keys::parse(&bytes)).map(Arc::new), now)?;
        }
        cached
            .fresh(now)
            .filter(is_known)
            .cloned()
            .ok_or_else(|| Failure::untrusted("the ID token names a key that the provider does not publish"))
    }
}

/// Where the provider sends browsers back to, below the console's address.
pub const CALLBACK: &str = "/login/callback";
/// Codes that are exchanged at once; more wait.
const EXCHANGES: usize = 32;
