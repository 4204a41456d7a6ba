//! An attempt to log in.

use ringtap_model::Nanos;

use crate::carried::Carried;
use crate::facts::Facts;

/// Somebody asked to be let in (Access-Request), or was refused (Access-Reject).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When.
    pub at: Nanos,
    /// Number of the frame that says so.
    pub frame: u64,
    /// Refused; otherwise asked.
    pub is_refused: bool,
    /// User-Names of the request.
    pub users: Vec<String>,
    /// Calling-Station-Ids of it.
    pub stations: Vec<String>,
    /// Called-Station-Id.
    pub called_station: Option<String>,
    /// 3GPP-IMSI.
    pub imsi: Option<String>,
    /// 3GPP-IMEISV.
    pub imeisv: Option<String>,
    /// The NAS, as in the record of a session.
    pub nas: String,
    /// NAS-Identifier.
    pub nas_identifier: Option<String>,
    /// NAS-Port.
    pub nas_port: Option<u32>,
    /// NAS-Port-Id.
    pub nas_port_id: Option<String>,
}

impl Attempt {
    pub(crate) fn of(facts: &Facts, nas: String, is_refused: bool, carried: Carried) -> Self {
        Self {
            at: carried.time,
            frame: carried.frame,
            is_refused,
            users: facts.users.clone(),
            stations: facts.stations.clone(),
            called_station: facts.called.clone(),
            imsi: facts.imsi.clone(),
            imeisv: facts.imeisv.clone(),
            nas,
            nas_identifier: facts.nas_name.clone(),
            nas_port: facts.nas_port,
            nas_port_id: facts.nas_port_id.clone(),
        }
    }
}

/// Attempts that are kept until they are taken.
pub(crate) const MOST_ATTEMPTS: usize = 65_536;
