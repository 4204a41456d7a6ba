//! What a session without an Acct-Session-Id is found by.

use crate::facts::Facts;

/// What a session without an Acct-Session-Id is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Line {
    /// The server's Class, which the NAS returns in accounting.
    Class(String, Vec<u8>),
    /// NAS, user, station, port.
    Port(String, Option<String>, Option<String>, Option<u32>, Option<String>),
}

impl Line {
    /// The lines of a packet, the surest first.
    pub(crate) fn of(nas: &str, facts: &Facts) -> Vec<Self> {
        let class = facts.class.as_ref().map(|class| Self::Class(nas.to_owned(), class.clone()));
        let (user, station) = (facts.users.first().cloned(), facts.stations.first().cloned());
        // A user's name alone may be that of many.
        let names_a_line = station.is_some() || facts.nas_port.is_some() || facts.nas_port_id.is_some();
        let port = names_a_line
            .then(|| Self::Port(nas.to_owned(), user, station, facts.nas_port, facts.nas_port_id.clone()));
        class.into_iter().chain(port).collect()
    }
}
