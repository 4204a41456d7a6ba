//! What is asked of which ACME server.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

/// An ACME server, and the names that it is asked for.
#[derive(Clone, Debug)]
pub struct AcmeSettings {
    /// The URL of its directory, such as `https://acme-v02.api.letsencrypt.org/directory`.
    pub directory: String,
    /// Where it may write to about the certificates, such as `noc@example.org`; may be empty.
    pub contact: Vec<String>,
    /// The names of the certificate.
    pub domains: Vec<String>,
    /// Who may vouch for the server itself, in PEM, in place of the system's.
    pub ca: Option<PathBuf>,
    /// The directory of the console, in which account and certificate are kept.
    pub directory_of_files: PathBuf,
    /// How long the first attempt after a failed one waits; each further one waits three times as long, up to
    /// twelve hours.
    pub patience: Duration,
}

impl AcmeSettings {
    /// Checks what is wrong whether or not the server answers.
    ///
    /// # Errors
    ///
    /// A value that cannot be right, with its option and what would be.
    pub fn check(&self) -> anyhow::Result<()> {
        let host = self.directory.strip_prefix("https://").unwrap_or_default();
        if host.is_empty() || host.starts_with('/') || host.contains([' ', '@', '#']) {
            bail!(
                "--acme `{}` is not the URL of the directory of an ACME server: write one that begins with \
                 https://, such as https://acme-v02.api.letsencrypt.org/directory",
                self.directory
            );
        }
        if self.domains.is_empty() {
            bail!(
                "--acme needs the names that the certificate is for: add `--host tap.example.org`, the name \
                 under which people ask for the page"
            );
        }
        if let Some(name) = self.domains.iter().find(|name| !is_domain(name)) {
            bail!(
                "--host `{name}` is no name that an ACME server gives a certificate for: write a domain, \
                 such as tap.example.org; addresses are reached without being named"
            );
        }
        if let Some(contact) = self.contact.iter().find(|contact| !is_mail(contact)) {
            bail!("--acme-contact `{contact}` is not an address of mail, such as noc@example.org");
        }
        Ok(())
    }
}

/// Labels of letters, digits and `-`, of which there are several, and the last is no number.
fn is_domain(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(is_known) && !label.starts_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.contains('.')
        && name.split('.').all(is_label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_mail(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
        && !text.contains([' ', ',', '?', '<', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_right_is_refused_before_the_start() {
        let right = AcmeSettings {
            directory: "https://acme.example.org/directory".into(),
            contact: vec!["noc@example.org".into()],
            domains: vec!["tap.example.org".into()],
            ca: None,
            directory_of_files: PathBuf::new(),
            patience: Duration::ZERO,
        };
        right.check().unwrap();
        let with = |change: fn(&mut AcmeSettings)| {
            let mut settings = right.clone();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(
            with(|wrong| wrong.directory = "http://acme.example.org/".into()).starts_with("--acme `http")
        );
        assert!(with(|wrong| wrong.domains.clear()).contains("add `--host"));
        for name in ["10.0.0.1", "::1", "*.example.org", "localhost", "a..b", "-a.b", "a_b.c"] {
            let settings = AcmeSettings { domains: vec![name.into()], ..right.clone() };
            assert!(settings.check().is_err(), "{name}");
        }
        assert!(with(|wrong| wrong.contact = vec!["noc".into()]).starts_with("--acme-contact `noc`"));
    }
}
