//! The description of the API as a whole, and what it says of every request alike.

use std::sync::LazyLock;

use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Components, PathItem, RefOr};

use crate::openapi::refusals::{REFUSALS, Refusal};
use crate::problem::Details;
use crate::router;

/// What is said of the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "ringtap console",
        version = "1",
        description = include_str!("document.md"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(Details)),
    tags(
        (name = "session", description = "Who is logged in."),
        (name = "about", description = "What this program is, and what it can be asked for."),
        (name = "calls", description = "Finding calls: pages, what a result is made of, and all of it."),
        (name = "call", description = "One call: its record, ladder, packets and sound."),
        (name = "retention", description = "What is kept, for how long, and by which rule."),
        (name = "live", description = "What happens now."),
        (name = "figures", description = "KPIs, trunks, users, and what distinguishes calls."),
        (name = "alarms", description = "Alarms, and what people do about them."),
        (name = "account", description = "How one logs in: one's own second factor and sessions."),
        (name = "warrants", description = "The register of warrants, for its officers and auditors: they log \
                                           in by themselves, and nobody else, administrators included, may \
                                           use any of it. Each look needs `why`, and is recorded in the \
                                           register."),
        (name = "people", description = "Who may use the console, tokens of programs, and the audit log."),
    )
)]
struct Whole;

/// The document, as `docs/api/openapi.json` has it and `GET /api/v1/openapi.json` serves it.
pub fn openapi() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
        let mut whole = Whole::openapi();
        whole.merge(router::api().into_openapi());
        for item in whole.paths.paths.values_mut() {
            finish(item);
        }
        add_common(whole.components.get_or_insert_default());
        // What is made of strings, numbers and maps of them is always JSON.
        let mut text = whole.to_pretty_json().unwrap_or_default();
        text.push('\n');
        text
    });
    &DOCUMENT
}

fn add_common(components: &mut Components) {
    for refusal in REFUSALS {
        components.responses.insert(refusal.name.to_owned(), refusal.response().into());
    }
    let session = ApiKeyValue::with_description("__Host-ringtap", SESSION_ABOUT);
    let officer = ApiKeyValue::with_description("__Host-ringtap-warrants", OFFICER_ABOUT);
    let page = ApiKeyValue::with_description("X-Ringtap", PAGE_ABOUT);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKEN_ABOUT)).build();
    for (name, scheme) in [
        (SESSION, SecurityScheme::ApiKey(ApiKey::Cookie(session))),
        (PAGE, SecurityScheme::ApiKey(ApiKey::Header(page))),
        (OFFICER, SecurityScheme::ApiKey(ApiKey::Cookie(officer))),
        (TOKEN, SecurityScheme::Http(token)),
    ] {
        components.add_security_scheme(name, scheme);
    }
}

/// Adds what requests have in common: who may send them, and how they are refused.
fn finish(item: &mut PathItem) {
    let PathItem { get, post, patch, delete, put, .. } = item;
    for (operation, writes) in [(get, false), (post, true), (patch, true), (delete, true), (put, true)] {
        if let Some(operation) = operation {
            secure(operation, writes);
        }
    }
}

fn secure(operation: &mut Operation, writes: bool) {
    // Whoever needs no login said so.
    let is_public = operation.security.is_some();
    let is_of_warrants = operation.tags.iter().flatten().any(|tag| tag == "warrants");
    let mut refusals = vec![403, 503];
    if is_of_warrants {
        // There may be no register, and whoever asks may have to wait for others.
        refusals.extend([404, 429]);
    }
    if is_public {
        operation.security =
            Some(vec![if writes { requirement(PAGE) } else { SecurityRequirement::default() }]);
    } else {
        refusals.push(401);
        let needed = if is_of_warrants {
            vec![requirement(OFFICER)]
        } else {
            vec![requirement(SESSION), requirement(TOKEN)]
        };
        let needed = needed.into_iter().map(|it| if writes { it.add(PAGE, NO_SCOPES) } else { it });
        operation.security = Some(needed.collect());
    }
    let has_body = operation.request_body.is_some();
    if has_body {
        refusals.extend([413, 415]);
    }
    if has_body || operation.parameters.iter().flatten().any(is_read) {
        refusals.push(400);
    }
    for status in refusals {
        let (status, response) = Refusal::of(status).reference();
        operation.responses.responses.entry(status).or_insert(response);
    }
}

/// Whether a parameter that cannot be read is refused: a header is as if it were not there.
fn is_read(parameter: &RefOr<Parameter>) -> bool {
    !matches!(parameter, RefOr::T(Parameter { parameter_in: ParameterIn::Header, .. }))
}

fn requirement(name: &str) -> SecurityRequirement {
    SecurityRequirement::new(name, NO_SCOPES)
}

/// Names of the security schemes.
const SESSION: &str = "session";
const TOKEN: &str = "token";
const PAGE: &str = "page";
const OFFICER: &str = "officer";
const NO_SCOPES: [&str; 0] = [];
const SESSION_ABOUT: &str = "The cookie that `POST /api/v1/session` sets. It is called `ringtap` where the \
                             console is served without TLS.";
const OFFICER_ABOUT: &str = "The cookie that `POST /api/v1/warrants/session` sets for an officer or auditor \
                             of the register. It is called `ringtap-warrants` where the console is served \
                             without TLS.";
const TOKEN_ABOUT: &str = "`Authorization: Bearer rt_...`, a token that `POST /api/v1/tokens` made. It goes \
                           before a cookie.";
const PAGE_ABOUT: &str = "`X-Ringtap: 1` with every request that changes something: no page of another \
                          origin can set it.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(openapi()).unwrap()
    }

    /// `docs/api/openapi.json` is what the code answers; `RINGTAP_BLESS=1` writes it anew.
    #[test]
    fn the_document_that_is_kept_is_that_of_the_code() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/openapi.json");
        if std::env::var_os("RINGTAP_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, openapi()).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == openapi(), "docs/api/openapi.json: write it again with RINGTAP_BLESS=1");
    }

    /// What a program is generated from: one name each, something said of each, nothing that is not there.
    #[test]
    fn every_request_has_a_name_of_its_own_and_every_reference_leads_somewhere() {
        let document = document();
        assert_eq!(document["openapi"], "3.1.0");
        let mut names = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            assert!(path.starts_with("/api/v1/"), "{path}");
            for (method, operation) in item.as_object().unwrap() {
                let place = format!("{method} {path}");
                assert!(names.insert(operation["operationId"].to_string()), "{place}: its name is taken");
                assert!(operation["summary"].is_string(), "{place}: nothing is said of it");
                assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{place}");
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    assert!(parameter["description"].is_string(), "{place}: {parameter}");
                }
                let answers = operation["responses"].as_object().unwrap();
                assert!(answers.keys().any(|status| status.starts_with('2')), "{place}");
            }
        }
        let mut missing = BTreeSet::new();
        references(&document, &mut |at| {
            if document.pointer(at.trim_start_matches('#')).is_none() {
                missing.insert(at.to_owned());
            }
        });
        assert!(missing.is_empty(), "{missing:?} is referred to, and is not there");
    }

    fn references(value: &Value, each: &mut dyn FnMut(&str)) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match value.as_str() {
                Some(at) if name == "$ref" => each(at),
                _ => references(value, each),
            }),
            Value::Array(values) => values.iter().for_each(|value| references(value, each)),
            _ => {}
        }
    }
}
