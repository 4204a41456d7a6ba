//! Webhooks and Alertmanager.

use std::error::Error as _;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, StatusCode};
use ringtap_model::Alarm;
use serde_json::{Value, json};

use crate::error::NotifyError;
use crate::notice::{Notice, NoticeKind};
use crate::target::Http;
use crate::texts::time;
use crate::timeouts::CONNECT;
use crate::url::Address;

/// A client for one URL.
pub(crate) struct HttpClient {
    client: Client,
    url: String,
    /// For errors: the rest of the URL may be a secret.
    host: String,
}

impl HttpClient {
    /// Makes the client; `fields` are header fields that are sent along.
    pub(crate) fn open(http: &Http, fields: Option<&str>) -> Result<Self, NotifyError> {
        let wrong = |problem: String| NotifyError::refused(problem);
        let address = Address::parse(&http.url).map_err(|problem| wrong(format!("url {problem}")))?;
        // A redirection would send header fields elsewhere, and a proxy is not allowed for.
        let mut client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("ringtap/", env!("CARGO_PKG_VERSION")))
            .default_headers(header_fields(fields.unwrap_or_default())?);
        if let Some(path) = &http.ca {
            let unusable = |what: String| wrong(format!("ca `{}` cannot be used: {what}", path.display()));
            let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if roots.is_empty() {
                return Err(unusable("it holds no certificate in PEM".into()));
            }
            client = client.tls_certs_only(roots);
        }
        let client = client.build().map_err(|error| wrong(format!("cannot be told: {}", root(&error))))?;
        Ok(Self { client, url: http.url.clone(), host: address.host })
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, body: &Value) -> Result<(), NotifyError> {
        self.post_to(&self.url, body).await
    }

    /// Posts alarms as Alertmanager has them (`/api/v2/alerts` of its OpenAPI description).
    pub(crate) async fn post_alerts(&self, notices: &[Notice]) -> Result<(), NotifyError> {
        let url = format!("{}/api/v2/alerts", self.url.trim_end_matches('/'));
        self.post_to(&url, &notices.iter().map(alert).collect()).await
    }

    async fn post_to(&self, url: &str, body: &Value) -> Result<(), NotifyError> {
        self.post_as(url, "application/json", body.to_string().into_bytes()).await
    }

    /// Posts bytes of that media type.
    pub(crate) async fn post_bytes(&self, kind: &str, body: Vec<u8>) -> Result<(), NotifyError> {
        self.post_as(&self.url, kind, body).await
    }

    async fn post_as(&self, url: &str, kind: &str, body: Vec<u8>) -> Result<(), NotifyError> {
        let request = self.client.post(url).header(CONTENT_TYPE, kind).body(body);
        match request.send().await {
            Ok(answer) => judged(&self.host, answer.status()),
            // The texts of the error show the URL; its cause does not.
            Err(error) if error.is_builder() => Err(NotifyError::refused("url is no URL that can be used")),
            Err(error) => {
                Err(NotifyError::later(format!("{} cannot be reached: {}", self.host, root(&error))))
            }
        }
    }
}

/// What an answer means.
fn judged(host: &str, status: StatusCode) -> Result<(), NotifyError> {
    let code = status.as_u16();
    let answers = format!("{host} answers with status {code}");
    match code {
        200..=299 => Ok(()),
        300..=399 => {
            Err(NotifyError::refused(format!("{answers}, a redirection: write where it leads in url")))
        }
        401 | 403 => Err(NotifyError::refused(format!("{answers}: correct the fields in header_file"))),
        404 | 405 => Err(NotifyError::refused(format!("{answers}: correct url"))),
        408 | 425 | 429 | 500..=599 => Err(NotifyError::later(answers)),
        _ => Err(NotifyError::refused(answers)),
    }
}

/// Header fields, one a line. No error shows one of them.
fn header_fields(text: &str) -> Result<HeaderMap, NotifyError> {
    let mut fields = HeaderMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let field = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        });
        let Some((name, mut value)) = field else {
            let problem = format!(
                "line {} of header_file is no header field, such as `Authorization: Bearer ...`",
                number + 1
            );
            return Err(NotifyError::refused(problem));
        };
        value.set_sensitive(true);
        fields.append(name, value);
    }
    Ok(fields)
}

/// One alarm as Alertmanager has it. Labels say which alarm it is, and never change while it stands.
fn alert(notice: &Notice) -> Value {
    let Alarm { rule, severity, per, subject, text, raised, last, cleared, .. } = &notice.alarm;
    let mut alert = json!({
        "labels": {
            "alertname": rule,
            "severity": severity.name(),
            "rule": rule,
            "per": per,
            "subject": subject,
            "host": notice.host,
        },
        "annotations": { "summary": text, "description": notice.details() },
        "startsAt": time(*raised),
    });
    if notice.kind == NoticeKind::Cleared || cleared.is_some() {
        alert["endsAt"] = time(cleared.unwrap_or(*last)).into();
    }
    alert
}

/// The innermost cause: `Connection refused`.
fn root(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|cause| cause.source()) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::notice;

    #[test]
    fn which_answers_are_worth_another_attempt() {
        for (code, expected) in [
            (200, None),
            (202, None),
            (301, Some(false)),
            (400, Some(false)),
            (401, Some(false)),
            (429, Some(true)),
            (500, Some(true)),
            (503, Some(true)),
        ] {
            let status = StatusCode::from_u16(code).expect("a status");
            assert_eq!(judged("h", status).err().map(|error| error.is_retryable), expected, "{code}");
        }
    }

    #[test]
    fn header_fields_are_named_by_their_line_alone() {
        let fields = header_fields("# token\n\nAuthorization: Bearer abc\nX-Key:  1 \n").expect("two");
        assert_eq!((fields["authorization"].to_str().ok(), fields.len()), (Some("Bearer abc"), 2));
        let error = header_fields("\nsecret-without-a-name").expect_err("no field").to_string();
        assert!(error.contains("line 2") && !error.contains("secret-without"), "{error}");
    }

    #[test]
    fn an_alert_has_the_same_labels_until_it_ends() {
        let [raised, cleared] = [NoticeKind::Raised, NoticeKind::Cleared].map(|kind| alert(&notice(kind)));
        assert_eq!(raised["labels"], cleared["labels"]);
        assert_eq!(raised["startsAt"], "2026-11-23T08:00:00Z");
        assert_eq!((raised.get("endsAt"), &cleared["endsAt"]), (None, &"2026-11-23T08:00:20Z".into()));
    }
}
