//! What is kept of the ACME server: the account, and the certificate with its key, for their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use instant_acme::AccountCredentials;
use ringtap_model::Nanos;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use serde_json::Value;

use crate::validity;

/// The files.
#[derive(Clone, Debug)]
pub(super) struct Files(PathBuf);

/// A certificate that was issued.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
}

impl Files {
    /// Those in the directory of the console.
    pub(super) fn of(directory: &Path) -> Self {
        Self(directory.join("acme"))
    }

    fn account_path(&self) -> PathBuf {
        self.0.join("account.json")
    }

    /// Key and chain in one file, so that no kill leaves one without the other.
    pub(super) fn certificate_path(&self) -> PathBuf {
        self.0.join("certificate.pem")
    }

    /// The account at that server, if there is one.
    pub(super) fn account(&self, directory: &str) -> Option<AccountCredentials> {
        let value: Value = serde_json::from_slice(&fs::read(self.account_path()).ok()?).ok()?;
        (value["directory"] == directory).then(|| serde_json::from_value(value).ok()).flatten()
    }

    pub(super) fn save_account(&self, account: &AccountCredentials) -> anyhow::Result<()> {
        self.save(&self.account_path(), &serde_json::to_vec(account)?)
    }

    /// One that the server does not know any more.
    pub(super) fn remove_account(&self) {
        // Where it stays, the next attempt says the same again.
        let _ = fs::remove_file(self.account_path());
    }

    /// The certificate that was issued last, if it is for all of these names.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is for others.
    pub(super) fn certificate(&self, domains: &[String]) -> anyhow::Result<Option<Issued>> {
        let path = self.certificate_path();
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
            Ok(pem) => Issued::of(&pem, domains)
                .with_context(|| format!("{} cannot be used", path.display()))
                .map(Some),
        }
    }

    pub(super) fn save_certificate(&self, pem: &[u8]) -> anyhow::Result<()> {
        self.save(&self.certificate_path(), pem)
    }

    /// Writes a file, mode 0600, in one step.
    fn save(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let draft = path.with_added_extension("new");
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, path)?;
            File::open(&self.0)?.sync_all()
        };
        write().with_context(|| {
            format!(
                "{} cannot be written: is the directory the console's, and the disk full?",
                path.display()
            )
        })
    }
}

impl Issued {
    /// Of a key and a chain in PEM.
    ///
    /// # Errors
    ///
    /// They do not belong together, or are not for all of these names.
    pub(super) fn of(pem: &[u8], domains: &[String]) -> anyhow::Result<Self> {
        let private = PrivateKeyDer::from_pem_slice(pem).context("it has no key")?;
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().context("it has no certificate")?;
        let Some(own) = chain.first() else { bail!("it has no certificate") };
        let Some((begin, end)) = validity::validity(own) else { bail!("its certificate cannot be read") };
        let parsed = webpki::EndEntityCert::try_from(own).context("its certificate cannot be read")?;
        for name in domains {
            let server = ServerName::try_from(name.as_str()).context("a name cannot be read")?;
            parsed
                .verify_is_valid_for_subject_name(&server)
                .with_context(|| format!("its certificate is not for {name}"))?;
        }
        let key = CertifiedKey::new(chain, any_supported_type(&private).context("its key cannot be used")?);
        key.keys_match().context("key and certificate do not belong together")?;
        Ok(Self { key: Arc::new(key), begin, end })
    }

    /// When it is to be renewed: a third of its lifetime before its end.
    pub(super) fn due(&self) -> Nanos {
        Nanos(self.end.0 - self.end.0.saturating_sub(self.begin.0) / 3)
    }
}
