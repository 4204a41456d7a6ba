//! Trunks and the rules of KPIs, from the configuration of `ringtap run`.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_daemon::{KpiConfig, WarrantConfig};

use crate::screen::Screen;

/// Which configuration names the trunks.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KpiArgs {
    /// Configuration with [[trunk]] and [kpi]; without this, that of `ringtap run` where there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl KpiArgs {
    /// Reads it; none if no file was named and there is none at the usual place.
    ///
    /// # Errors
    ///
    /// The named file is wrong. Of the usual one a remark says so.
    pub(crate) fn read(&self, screen: &mut Screen) -> anyhow::Result<Option<KpiConfig>> {
        if let Some(path) = &self.config {
            return Ok(Some(KpiConfig::load(path)?));
        }
        let usual = Path::new(USUAL);
        // Who may not look there has none.
        if !usual.try_exists().unwrap_or(false) {
            return Ok(None);
        }
        match KpiConfig::load(usual) {
            Ok(config) => Ok(Some(config)),
            Err(error) => {
                screen.remark(format!("trunks have no names, because {error}"));
                Ok(None)
            }
        }
    }

    /// The register of warrants that the same file names for the console.
    ///
    /// # Errors
    ///
    /// The named file is wrong. What is wrong with the usual one [`read`](Self::read) says.
    pub(crate) fn warrants(&self) -> anyhow::Result<Option<WarrantConfig>> {
        match &self.config {
            Some(path) => Ok(WarrantConfig::load(path)?),
            None => Ok(WarrantConfig::load(Path::new(USUAL)).unwrap_or_default()),
        }
    }
}

const USUAL: &str = "/etc/ringtap/ringtap.toml";
