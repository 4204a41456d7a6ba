//! The file that says where mediation functions are.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use ringtap_handover::{
    BufferKey, Delivery, Identifiers, Liid, MediationFunction, OperatorId, Pace, Peer, Settings, TimeFormat,
    Tls,
};
use serde::Deserialize;

/// `[[function]]` tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionsFile {
    #[serde(rename = "function")]
    functions: Vec<FunctionEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionEntry {
    /// Of warrants.
    agency: String,
    /// Address and port of IRI and notices.
    hi2: Option<SocketAddr>,
    /// Address and port of content.
    hi3: Option<SocketAddr>,
    /// Identifies the operator in keep-alives.
    operator: String,
    tls: Option<TlsEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsEntry {
    /// PEM, beside the file unless absolute.
    authorities: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    /// In the function's certificate.
    name: String,
}

/// The functions of a file.
///
/// # Errors
///
/// It, or a file that it names, cannot be read; what to write instead.
pub fn read_functions(path: &Path) -> anyhow::Result<Vec<MediationFunction>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let file: FunctionsFile = toml::from_str(&text)
        .with_context(|| format!("cannot read the mediation functions in `{}`", path.display()))?;
    if file.functions.is_empty() {
        bail!("`{}` names no mediation function: add a table `[[function]]`", path.display());
    }
    file.functions.into_iter().map(|entry| entry.function(path)).collect()
}

impl FunctionEntry {
    fn function(self, file: &Path) -> anyhow::Result<MediationFunction> {
        let in_file = || format!("the function of agency `{}` in `{}`", self.agency, file.display());
        if self.hi2.is_none() && self.hi3.is_none() {
            bail!("{} has neither `hi2` nor `hi3`: say where it listens", in_file());
        }
        let tls = self.tls.as_ref().map(|tls| tls.read(file)).transpose().with_context(in_file)?;
        let peer = |address: Option<SocketAddr>| address.map(|address| Peer { address, tls: tls.clone() });
        let keep_alive = Identifiers {
            liid: Liid::new(b"keepalive")?,
            authorisation: None,
            operator: OperatorId::new(self.operator.as_bytes()).with_context(in_file)?,
            element: None,
            delivery: None,
            point: None,
        };
        Ok(MediationFunction {
            name: self.agency.clone(),
            hi2: peer(self.hi2),
            hi3: peer(self.hi3),
            format: TimeFormat::default(),
            pace: Pace::default(),
            keep_alive,
        })
    }
}

impl TlsEntry {
    fn read(&self, file: &Path) -> anyhow::Result<Tls> {
        let beside = file.parent().unwrap_or(Path::new("."));
        let read = |path: &Path| {
            let path = beside.join(path);
            fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
        };
        Ok(Tls::from_pem(
            &read(&self.authorities)?,
            &read(&self.certificate)?,
            &read(&self.key)?,
            &self.name,
        )?)
    }
}

/// Starts to deliver, with a buffer in this directory, sealed by this key.
///
/// # Errors
///
/// The buffer cannot be opened, or the thread not be started.
pub fn start_delivery(
    functions: Vec<MediationFunction>,
    directory: &Path,
    key: [u8; 32],
) -> anyhow::Result<Delivery> {
    let settings = Settings {
        functions,
        directory: directory.to_owned(),
        key: BufferKey::new(key),
        most_unwritten: 16 << 20,
        alarms: Duration::from_secs(10),
    };
    Ok(Delivery::start(&settings)?)
}
