//! Who is told.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::url::Address;

/// Who is told. It holds no secret: those are in a file that it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// A name for people: in rules, the log and the metrics.
    pub name: String,
    /// How it is told.
    pub protocol: Protocol,
}

/// How somebody is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// An HTTP POST for each notice.
    Webhook(Http),
    /// Prometheus' Alertmanager, version 2 of its API.
    Alertmanager(Http),
    /// Mail.
    Smtp(Smtp),
    /// SNMPv2c traps (RFC 3416).
    Snmp(Snmp),
}

/// A server that speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http {
    /// `https://host:port/path`; of Alertmanager without `/api/v2/alerts`.
    pub url: String,
    /// File of header fields that are sent along, one a line: `Authorization: Bearer ...`.
    pub header_file: Option<PathBuf>,
    /// Certificates in PEM that vouch for the server; those of this machine where None.
    pub ca: Option<PathBuf>,
}

/// A server that takes mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smtp {
    /// Name or address.
    pub server: String,
    /// TCP port.
    pub port: u16,
    /// How the connection is protected.
    pub tls: Tls,
    /// User name; none where it is empty.
    pub user: String,
    /// File of the password.
    pub password_file: Option<PathBuf>,
    /// Sender: `ringtap@example.org` or `ringtap <ringtap@example.org>`.
    pub from: String,
    /// Receivers, in the same form.
    pub to: Vec<String>,
    /// As in [`Http::ca`].
    pub ca: Option<PathBuf>,
}

/// How a connection for mail is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tls {
    /// Not at all.
    None,
    /// The server must offer STARTTLS (RFC 3207).
    Starttls,
    /// TLS from the beginning (RFC 8314).
    Implicit,
}

/// A receiver of traps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snmp {
    /// Name or address.
    pub server: String,
    /// UDP port.
    pub port: u16,
    /// Community: everybody on the way can read it.
    pub community: String,
    /// What the traps and their values lie below.
    pub oid: Oid,
}

/// An object identifier, such as `1.3.6.1.4.1.32473.1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(Vec<u32>);

impl Oid {
    /// Its numbers: two or more.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }
}

impl Default for Oid {
    /// Of the arc for documentation (RFC 5612), which no vendor has: see `docs/RINGTAP-MIB.txt`.
    fn default() -> Self {
        Self(vec![1, 3, 6, 1, 4, 1, 32473, 1])
    }
}

impl std::str::FromStr for Oid {
    type Err = String;

    /// Two to sixty numbers; the first is 0, 1 or 2, and the second below 40 (X.690 section 8.19.4).
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no object identifier, such as 1.3.6.1.4.1.32473.1");
        let number = |part: &str| part.parse::<u32>().ok().filter(|_| !part.starts_with('+'));
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        let is_sound =
            |numbers: &Vec<u32>| (2..=60).contains(&numbers.len()) && numbers[0] <= 2 && numbers[1] < 40;
        numbers.filter(is_sound).map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Oid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.to_string()
    }
}

impl std::fmt::Display for Oid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// A mistake in a target: the key of the configuration, and how to correct it.
pub type TargetProblem = (&'static str, String);

impl Target {
    /// The file of its secret, if it has one: header fields, or a password.
    pub fn secret_file(&self) -> Option<&Path> {
        match &self.protocol {
            Protocol::Webhook(http) | Protocol::Alertmanager(http) => http.header_file.as_deref(),
            Protocol::Smtp(smtp) => smtp.password_file.as_deref(),
            Protocol::Snmp(_) => None,
        }
    }

    /// The file of the certificates that it trusts, if it names one.
    pub fn ca_file(&self) -> Option<&Path> {
        match &self.protocol {
            Protocol::Webhook(http) | Protocol::Alertmanager(http) => http.ca.as_deref(),
            Protocol::Smtp(smtp) => smtp.ca.as_deref(),
            Protocol::Snmp(_) => None,
        }
    }

    /// The TCP port that it is reached at; None where it is told by UDP.
    pub fn tcp_port(&self) -> Option<u16> {
        match &self.protocol {
            Protocol::Webhook(http) | Protocol::Alertmanager(http) => http.port(),
            Protocol::Smtp(smtp) => Some(smtp.port),
            Protocol::Snmp(_) => None,
        }
    }

    /// Whether it forgets alarms that it does not hear of again and again.
    pub fn forgets(&self) -> bool {
        matches!(self.protocol, Protocol::Alertmanager(_))
    }

    /// What is wrong with its values, before any file is read.
    ///
    /// # Errors
    ///
    /// The key, and how to correct it.
    pub fn check(&self) -> Result<(), TargetProblem> {
        match &self.protocol {
            Protocol::Webhook(http) | Protocol::Alertmanager(http) => http.check(),
            Protocol::Smtp(smtp) => smtp.check(),
            Protocol::Snmp(snmp) => snmp.check(),
        }
    }
}

impl Http {
    /// The TCP port that it is reached at, if its URL is right.
    pub fn port(&self) -> Option<u16> {
        Address::parse(&self.url).ok().map(|address| address.port)
    }

    /// What is wrong with its values, before any file is read.
    ///
    /// # Errors
    ///
    /// The key, and how to correct it.
    pub fn check(&self) -> Result<(), TargetProblem> {
        let address = Address::parse(&self.url).map_err(|problem| ("url", problem))?;
        if !address.tls && self.header_file.is_some() && !address.is_this_machine() {
            let problem = "is sent without TLS, so that others on the way can read it: write https in url";
            return Err(("header_file", problem.to_owned()));
        }
        if !address.tls && self.ca.is_some() {
            return Err(("ca", "has no effect without TLS: write https in url, or remove it".to_owned()));
        }
        Ok(())
    }
}

impl Smtp {
    fn check(&self) -> Result<(), TargetProblem> {
        let wrong = |key, problem: &str| Err((key, problem.to_owned()));
        check_host("server", &self.server)?;
        match (self.user.is_empty(), &self.password_file, self.tls) {
            (true, Some(_), _) => return wrong("user", "is missing: set it beside password_file"),
            (false, None, _) => return wrong("password_file", "is missing: set it beside user"),
            (false, Some(_), Tls::None) => {
                let problem =
                    "\"none\" would show the password to others on the way: set \"starttls\" or \"tls\"";
                return wrong("tls", problem);
            }
            _ => {}
        }
        if self.ca.is_some() && self.tls == Tls::None {
            return wrong(
                "ca",
                "has no effect without TLS: set tls to \"starttls\" or \"tls\", or remove it",
            );
        }
        if self.to.is_empty() {
            return wrong("to", "is empty: write who is told, such as [\"noc@example.org\"]");
        }
        for (key, address) in std::iter::once(("from", &self.from)).chain(self.to.iter().map(|to| ("to", to)))
        {
            if !is_mailbox(address) {
                let problem = format!("`{address}` is no mail address, such as ringtap@example.org");
                return Err((key, problem));
            }
        }
        Ok(())
    }
}

impl Snmp {
    fn check(&self) -> Result<(), TargetProblem> {
        check_host("server", &self.server)?;
        match self.community.is_empty() || self.community.len() > 255 {
            true => Err(("community", "must have 1 to 255 letters, such as \"public\"".to_owned())),
            false => Ok(()),
        }
    }
}

fn check_host(key: &'static str, host: &str) -> Result<(), TargetProblem> {
    let example = "write a name or an address, such as \"mail.example.org\"; the port has a key of its own";
    match host.is_empty() {
        true => Err((key, format!("is missing: {example}"))),
        false if !crate::url::is_host(host) => Err((key, format!("`{host}` is no host: {example}"))),
        false => Ok(()),
    }
}

/// What looks like `name@host` or `Name <name@host>`; the library that sends mail parses it in full.
fn is_mailbox(text: &str) -> bool {
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text,
    };
    let sound = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|letter| letter.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-[]:".contains(letter))
    };
    address.rsplit_once('@').is_some_and(|(user, host)| sound(user) && sound(host))
        && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(url: &str) -> Http {
        Http { url: url.into(), header_file: None, ca: None }
    }

    fn mail() -> Smtp {
        Smtp {
            server: "mail.example.org".into(),
            port: 587,
            tls: Tls::Starttls,
            user: String::new(),
            password_file: None,
            from: "ringtap <ringtap@example.org>".into(),
            to: vec!["noc@example.org".into()],
            ca: None,
        }
    }

    #[test]
    fn secrets_are_not_sent_for_all_to_see() {
        let with = |url: &str| Http { header_file: Some("/x".into()), ..http(url) };
        assert_eq!(with("https://example.org/x").check(), Ok(()));
        assert_eq!(with("http://127.0.0.1:9093").check(), Ok(()));
        assert_eq!(with("http://example.org/x").check().unwrap_err().0, "header_file");
        let login = Smtp { user: "u".into(), password_file: Some("/x".into()), ..mail() };
        assert_eq!(login.check(), Ok(()));
        assert_eq!(Smtp { tls: Tls::None, ..login.clone() }.check().unwrap_err().0, "tls");
        assert_eq!(Smtp { user: String::new(), ..login.clone() }.check().unwrap_err().0, "user");
        assert_eq!(Smtp { password_file: None, ..login }.check().unwrap_err().0, "password_file");
    }

    #[test]
    fn mistakes_name_their_key() {
        for (from, right) in [
            ("ringtap@example.org", true),
            ("Ring Tap <r@[192.0.2.1]>", true),
            ("ringtap", false),
            ("a@b\r\nBcc: c@d", false),
            ("a b@c", false),
            ("<a@b", false),
        ] {
            assert_eq!(Smtp { from: from.into(), ..mail() }.check().is_ok(), right, "{from}");
        }
        assert_eq!(Smtp { to: vec![], ..mail() }.check().unwrap_err().0, "to");
        assert_eq!(Smtp { server: "mail:25".into(), ..mail() }.check().unwrap_err().0, "server");
        assert_eq!(http("ftp://x").check().unwrap_err().0, "url");
        let trap = Snmp { server: "h".into(), port: 162, community: String::new(), oid: Oid::default() };
        assert_eq!(trap.check().unwrap_err().0, "community");
    }

    #[test]
    fn object_identifiers() {
        assert_eq!("1.3.6.1.4.1.32473.1".parse(), Ok(Oid::default()));
        for wrong in ["", "1", "3.1", "1.40", "1.3.x", "1..3", ".1.3", "1.3.+6", "1.3.4294967296"] {
            assert!(wrong.parse::<Oid>().is_err(), "{wrong}");
        }
    }
}
