//! Errors as answers of a request. Those that any request can have are added to all of them at one place
//! (`document`); these here are named by the requests that have them.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Ref, RefOr};

/// An error that requests have in common.
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// Its name among the responses of the document.
    pub(crate) name: &'static str,
    about: &'static str,
}

impl Refusal {
    /// By its status.
    pub(crate) fn of(status: u16) -> &'static Self {
        // All that are named are in the table: a test makes the document.
        REFUSALS.iter().find(|refusal| refusal.status == status).unwrap_or(&REFUSALS[0])
    }

    /// As an answer of a request.
    pub(crate) fn reference(&self) -> (String, RefOr<Response>) {
        (self.status.to_string(), Ref::from_response_name(self.name).into())
    }

    /// In full.
    pub(crate) fn response(&self) -> Response {
        let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let mut response = ResponseBuilder::new().description(self.about).content(PROBLEM, problem);
        if self.status == 429 {
            let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
            let header = HeaderBuilder::new().schema(Some(seconds));
            response = response.header("Retry-After", header.description(Some(RETRY_AFTER)).build());
        }
        response.build()
    }
}

/// All of them.
pub(crate) const REFUSALS: &[Refusal] = &[
    Refusal {
        status: 400,
        name: "BadRequest",
        about: "The request cannot be read: `detail` says what is wrong, and `remedy` what would be right. \
                Of a search, `column` and `length` say where.",
    },
    Refusal {
        status: 401,
        name: "Unauthorized",
        about: "Nobody is logged in: the request has no session and no token, or one that has expired.",
    },
    Refusal {
        status: 403,
        name: "Forbidden",
        about: "A right is lacking, which `right` names; or only some calls may be seen, and this is counted \
                over all of them; or the request has a foreign `Host` or `Origin`, or is a write without \
                `X-Ringtap`.",
    },
    Refusal { status: 404, name: "NotFound", about: "It is not there, or not in the scope of whoever asks." },
    Refusal { status: 409, name: "Conflict", about: "It cannot be done in this state: `detail` says why." },
    Refusal { status: 413, name: "TooLarge", about: "The body is longer than 64 KiB." },
    Refusal { status: 415, name: "NotJson", about: "The body is not `application/json`." },
    Refusal {
        status: 429,
        name: "TooMany",
        about: "Too many attempts, or too much at once: try again after `Retry-After` seconds.",
    },
    Refusal {
        status: 503,
        name: "Unavailable",
        about: "Something that is needed does not answer: the daemon, the database, the spool or the audit \
                log. What cannot be noted in the audit log is not done.",
    },
];

macro_rules! refusals {
    ($($(#[$doc:meta])* $Type:ident = $status:literal;)*) => { $(
        $(#[$doc])*
        pub(crate) struct $Type;

        impl IntoResponses for $Type {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([Refusal::of($status).reference()])
            }
        }
    )* };
}

refusals! {
    /// 404.
    Missing = 404;
    /// 409.
    Conflict = 409;
    /// 429: it waits for its turn, or for the time after failed attempts.
    Busy = 429;
}

/// The media type of an error (RFC 9457).
const PROBLEM: &str = "application/problem+json";
const RETRY_AFTER: &str = "Seconds after which another attempt makes sense.";
