//! Mail (RFC 5321, RFC 5322).

use lettre::message::Mailbox;
use lettre::message::header::{ContentType, MIME_VERSION_1_0};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls as Protection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use zeroize::Zeroizing;

use crate::error::NotifyError;
use crate::notice::{Notice, NoticeKind};
use crate::target::{Smtp, Tls};
use crate::texts::printable;
use crate::timeouts::CONNECT;

/// Sends mail by one server.
pub(crate) struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    server: String,
    from: Mailbox,
    to: Vec<Mailbox>,
    /// This machine, as the right side of a Message-ID.
    domain: String,
    password: Option<Zeroizing<String>>,
}

impl Mailer {
    pub(crate) fn open(smtp: &Smtp, password: Option<&str>, host: &str) -> Result<Self, NotifyError> {
        let mailbox = |key: &str, text: &str| {
            let wrong = |_| NotifyError::refused(format!("{key} `{text}` is no mail address"));
            text.parse::<Mailbox>().map_err(wrong)
        };
        let protection = match smtp.tls {
            Tls::None => Protection::None,
            Tls::Starttls => Protection::Required(trusted(smtp)?),
            Tls::Implicit => Protection::Wrapper(trusted(smtp)?),
        };
        let domain = domain(host);
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&smtp.server)
            .port(smtp.port)
            .tls(protection)
            .hello_name(ClientId::Domain(domain.clone()))
            .timeout(Some(CONNECT));
        // A file ends with a line feed.
        let password = password.map(|text| Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()));
        if let Some(password) = password.as_ref().filter(|_| !smtp.user.is_empty()) {
            transport = transport.credentials(Credentials::new(smtp.user.clone(), password.to_string()));
        }
        Ok(Self {
            transport: transport.build(),
            server: smtp.server.clone(),
            from: mailbox("from", &smtp.from)?,
            to: smtp.to.iter().map(|to| mailbox("to", to)).collect::<Result<_, _>>()?,
            domain,
            password,
        })
    }

    pub(crate) async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let message = self.message(notice)?;
        self.transport.send(message).await.map(drop).map_err(|error| self.refusal(&error))
    }

    /// All mails of one alarm are one thread: each answers the one that told of its beginning.
    fn message(&self, notice: &Notice) -> Result<Message, NotifyError> {
        let alarm = &notice.alarm;
        let first = format!("<{}.raised@{}>", alarm.id, self.domain);
        let subject: String = printable(&notice.headline()).chars().take(LONGEST).collect();
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(format!("[ringtap] {subject}"))
            .header(MIME_VERSION_1_0)
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            message = message.to(to.clone());
        }
        // The same mail has the same name if it is sent twice.
        let (name, at) = (notice.kind.name(), alarm.cleared.unwrap_or(alarm.last).0);
        message = match notice.kind {
            NoticeKind::Raised => message.message_id(Some(first)),
            _ => message
                .message_id(Some(format!("<{}.{name}.{at}@{}>", alarm.id, self.domain)))
                .in_reply_to(first.clone())
                .references(first),
        };
        let body = format!("{}\n\n{}\n", printable(&alarm.text), notice.details());
        message
            .body(body)
            .map_err(|error| NotifyError::refused(format!("no mail can be made of it: {error}")))
    }

    /// What the server says is shown unless it repeats the password.
    fn refusal(&self, error: &lettre::transport::smtp::Error) -> NotifyError {
        let server = &self.server;
        if let Some(status) = error.status() {
            let code = status.to_string();
            let said = error.to_string();
            let is_secret = self.password.as_ref().is_some_and(|secret| said.contains(secret.as_str()));
            return match (error.is_permanent(), code.as_str()) {
                (true, "530" | "534" | "535" | "538") => {
                    let remedy = "correct user and password_file, and check which tls it wants";
                    NotifyError::refused(format!("{server} refuses the login ({code}): {remedy}"))
                }
                (is_permanent, _) => {
                    let shown = if is_secret { code } else { said };
                    let problem = format!("{server} answers: {shown}");
                    if is_permanent { NotifyError::refused(problem) } else { NotifyError::later(problem) }
                }
            };
        }
        NotifyError::later(format!("{server} cannot be reached: {}", root(error)))
    }
}

/// Certificates that vouch for the server.
fn trusted(smtp: &Smtp) -> Result<TlsParameters, NotifyError> {
    let mut trusted = TlsParameters::builder(smtp.server.clone());
    if let Some(path) = &smtp.ca {
        let unusable =
            |what: String| NotifyError::refused(format!("ca `{}` cannot be used: {what}", path.display()));
        let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        let roots =
            Certificate::from_pem(&pem).map_err(|_| unusable("it holds no certificate in PEM".into()))?;
        trusted = trusted.certificate_store(CertificateStore::None).add_root_certificate(roots);
    }
    trusted.build().map_err(|error| NotifyError::refused(format!("TLS cannot be used: {}", root(&error))))
}

/// The name of this machine as a domain: letters, digits, dots and dashes.
fn domain(host: &str) -> String {
    let known = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    let domain: String = host.chars().filter(known).take(100).collect();
    if domain.is_empty() { "ringtap.invalid".to_owned() } else { domain }
}

/// The innermost cause.
fn root(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    last.to_string()
}

/// Most letters of a subject.
const LONGEST: usize = 150;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::notice;

    fn mailer(host: &str) -> Mailer {
        let smtp = Smtp {
            server: "localhost".into(),
            port: 25,
            tls: Tls::None,
            user: String::new(),
            password_file: None,
            from: "ringtap <ringtap@example.org>".into(),
            to: vec!["noc@example.org".into(), "Night shift <night@example.org>".into()],
            ca: None,
        };
        let _ = rustls::crypto::ring::default_provider().install_default();
        Mailer::open(&smtp, None, host).expect("it is right")
    }

    fn written(host: &str, notice: &Notice) -> String {
        String::from_utf8(mailer(host).message(notice).expect("a mail").formatted()).expect("ASCII")
    }

    #[test]
    fn raised_and_cleared_are_one_thread() {
        let raised = written("sensor-1", &notice(NoticeKind::Raised));
        let id = "<12121212121212121212121212121212.raised@sensor-1>";
        assert!(raised.contains(&format!("Message-ID: {id}\r\n")), "{raised}");
        assert!(raised.contains("Subject: [ringtap] critical: 3.25 % of the packets"), "{raised}");
        assert!(raised.contains("\r\nCall-ID: a@192.0.2.1\r\n"), "{raised}");
        let cleared = written("sensor-1", &notice(NoticeKind::Cleared));
        assert!(cleared.contains(&format!("In-Reply-To: {id}\r\n")), "{cleared}");
        assert!(cleared.contains("Subject: [ringtap] cleared: "), "{cleared}");
    }

    #[test]
    fn no_text_begins_a_header_field() {
        for hostile in ["x\r\nBcc: a@b\r\n\r\nbody", "\nBcc: a@b", "\u{2028}Bcc: a@b", "é\r\nBcc: a@b"] {
            let mut told = notice(NoticeKind::Raised);
            told.alarm.text = hostile.into();
            told.alarm.subject = hostile.into();
            let mail = written("sensor\r\nBcc: c@d", &told);
            let (head, _) = mail.split_once("\r\n\r\n").expect("a head");
            let names: Vec<&str> = head
                .split("\r\n")
                .filter(|line| !line.starts_with([' ', '\t']))
                .filter_map(|line| line.split(':').next())
                .collect();
            assert!(!head.contains('\0') && !names.contains(&"Bcc"), "{head}");
            assert_eq!(names.len(), 8, "{names:?}");
        }
    }
}
