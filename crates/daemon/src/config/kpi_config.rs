//! What commands that compute KPIs read of the configuration.

use std::path::Path;

use ringtap_kpi::{Settings, Trunks, Zone};

use super::{Config, ConfigError};

/// What the configuration says of KPIs, for commands that compute them.
#[derive(Clone, Debug, PartialEq)]
pub struct KpiConfig {
    /// What figures depend on.
    pub settings: Settings,
    /// The zone of days and hours.
    pub zone: Zone,
    /// Groups of addresses.
    pub trunks: Trunks,
}

impl Default for KpiConfig {
    fn default() -> Self {
        Self { settings: Settings::default(), zone: Zone::UTC, trunks: Trunks::default() }
    }
}

impl KpiConfig {
    /// Reads it from a file.
    ///
    /// # Errors
    ///
    /// The mistakes in the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let config = Config::load(path, None)?;
        // Both were checked.
        let (zone, trunks) = (config.kpi.zone().unwrap_or(Zone::UTC), config.trunks().unwrap_or_default());
        Ok(Self { settings: config.kpi.settings(), zone, trunks })
    }
}
