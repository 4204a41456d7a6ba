//! One `[[notify]]` as it is written.

use std::path::{Path, PathBuf};

use ringtap_notify::{Http, Oid, Protocol, Smtp, Snmp, Target, Tls};

use super::key::section;
use super::values::{MailTls, NotifyProtocol};

section! {
    /// Who is told of alarms, as it is written.
    #[name = "[notify]"]
    pub(crate) struct NotifyTarget {
        /// Its name: in [[alarm]] rules, the log and the metrics.
        #[accepts = "a text, such as \"noc\""]
        pub(super) name: String = String::new(),
        /// How it is told: `webhook`, `alertmanager`, `smtp` or `snmp`.
        kind: Option<NotifyProtocol> = None,
        /// Of a webhook, the URL that each notice is posted to; of Alertmanager, that of the server, without
        /// `/api/v2/alerts`.
        #[accepts = "a URL, such as \"https://example.org/alarms\""]
        url: String = String::new(),
        /// File of header fields that are sent to the URL, one a line, such as `Authorization: Bearer ...`,
        /// readable by its owner alone.
        #[accepts = "a path, such as \"/etc/ringtap-keys/noc\", or \"\" for none"]
        header_file: PathBuf = PathBuf::new(),
        /// File of the certificates, in PEM, that alone vouch for the server. Empty uses this machine's.
        #[accepts = "a path, such as \"/etc/ringtap/ca.pem\", or \"\" for none"]
        ca: PathBuf = PathBuf::new(),
        /// Name or address of the mail server, or of the receiver of traps.
        #[accepts = "a host, such as \"mail.example.org\""]
        server: String = String::new(),
        /// Its port. Without it, 587 with `starttls`, 465 with `tls`, 25 with `none`, and 162 for traps.
        #[accepts = "a whole number from 1 to 65535, such as 587"]
        port: Option<u32> = None,
        /// How the connection to the mail server is protected: `starttls`, `tls` or `none`. Without it,
        /// `starttls`.
        tls: Option<MailTls> = None,
        /// User at the mail server. Empty does not log in.
        #[accepts = "a text, such as \"ringtap\""]
        user: String = String::new(),
        /// File of the user's password, readable by its owner alone.
        #[accepts = "a path, such as \"/etc/ringtap-keys/mail\", or \"\" for none"]
        password_file: PathBuf = PathBuf::new(),
        /// Sender of the mails.
        #[accepts = "a mail address, such as \"ringtap@example.org\""]
        from: String = String::new(),
        /// Receivers of the mails.
        #[accepts = "a list of mail addresses, such as [\"noc@example.org\"]"]
        to: Vec<String> = Vec::new(),
        /// Community of the traps. Without it, `public`. Everybody on the way can read it.
        #[accepts = "a text, such as \"public\""]
        community: String = String::new(),
        /// What the traps and their values lie below: see `docs/RINGTAP-MIB.txt`. Without it,
        /// 1.3.6.1.4.1.32473.1.
        #[accepts = "an object identifier, such as \"1.3.6.1.4.1.32473.1\""]
        oid: String = String::new(),
    }
}

/// A mistake in an entry: the key, and how to correct it.
type Problem = (&'static str, String);

impl NotifyTarget {
    /// The file of its secret.
    pub(super) fn secret_file(&self) -> Option<PathBuf> {
        [&self.header_file, &self.password_file].into_iter().find_map(|path| named(path))
    }

    /// The target.
    pub(super) fn target(&self) -> Result<Target, Problem> {
        let sound = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(sound) {
            let problem = "must have 1 to 64 letters, digits, -, _ and ., for example \"noc\"";
            return Err(("name", problem.to_owned()));
        }
        let Some(kind) = self.kind else {
            let problem = "is missing: write \"webhook\", \"alertmanager\", \"smtp\" or \"snmp\"";
            return Err(("kind", problem.to_owned()));
        };
        self.check_effect(kind)?;
        let http =
            || Http { url: self.url.clone(), header_file: named(&self.header_file), ca: named(&self.ca) };
        let protocol = match kind {
            NotifyProtocol::Webhook => Protocol::Webhook(http()),
            NotifyProtocol::Alertmanager => Protocol::Alertmanager(http()),
            NotifyProtocol::Smtp => Protocol::Smtp(self.smtp()?),
            NotifyProtocol::Snmp => Protocol::Snmp(self.snmp()?),
        };
        let target = Target { name: self.name.clone(), protocol };
        target.check()?;
        Ok(target)
    }

    fn smtp(&self) -> Result<Smtp, Problem> {
        let (tls, port) = match self.tls.unwrap_or(MailTls::Starttls) {
            MailTls::None => (Tls::None, 25),
            MailTls::Starttls => (Tls::Starttls, 587),
            MailTls::Tls => (Tls::Implicit, 465),
        };
        Ok(Smtp {
            server: self.server.clone(),
            port: self.port(port)?,
            tls,
            user: self.user.clone(),
            password_file: named(&self.password_file),
            from: self.from.clone(),
            to: self.to.clone(),
            ca: named(&self.ca),
        })
    }

    fn snmp(&self) -> Result<Snmp, Problem> {
        let oid = match self.oid.as_str() {
            "" => Oid::default(),
            oid => oid.parse().map_err(|problem| ("oid", problem))?,
        };
        let community = if self.community.is_empty() { "public" } else { &self.community };
        Ok(Snmp { server: self.server.clone(), port: self.port(162)?, community: community.to_owned(), oid })
    }

    fn port(&self, default: u16) -> Result<u16, Problem> {
        let port = self.port.map_or(Some(default), |port| u16::try_from(port).ok());
        port.filter(|port| *port > 0)
            .ok_or(("port", format!("must be from 1 to 65535, for example {default}")))
    }

    /// A key that another kind has does nothing: somebody expects something of it.
    fn check_effect(&self, kind: NotifyProtocol) -> Result<(), Problem> {
        use NotifyProtocol::{Alertmanager, Smtp, Snmp, Webhook};
        let empty = |path: &PathBuf| path.as_os_str().is_empty();
        let keys: [(_, bool, &[NotifyProtocol]); 12] = [
            ("url", !self.url.is_empty(), &[Webhook, Alertmanager]),
            ("header_file", !empty(&self.header_file), &[Webhook, Alertmanager]),
            ("ca", !empty(&self.ca), &[Webhook, Alertmanager, Smtp]),
            ("server", !self.server.is_empty(), &[Smtp, Snmp]),
            ("port", self.port.is_some(), &[Smtp, Snmp]),
            ("tls", self.tls.is_some(), &[Smtp]),
            ("user", !self.user.is_empty(), &[Smtp]),
            ("password_file", !empty(&self.password_file), &[Smtp]),
            ("from", !self.from.is_empty(), &[Smtp]),
            ("to", !self.to.is_empty(), &[Smtp]),
            ("community", !self.community.is_empty(), &[Snmp]),
            ("oid", !self.oid.is_empty(), &[Snmp]),
        ];
        match keys.iter().find(|(_, is_set, kinds)| *is_set && !kinds.contains(&kind)) {
            Some((key, _, _)) => {
                let kind = super::key::KeyValue::written(&kind);
                Err((key, format!("has no effect with kind = {kind}: remove it")))
            }
            None => Ok(()),
        }
    }
}

fn named(path: &Path) -> Option<PathBuf> {
    (!path.as_os_str().is_empty()).then(|| path.to_owned())
}
