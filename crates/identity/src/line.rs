//! What a session without an Acct-Session-Id is found by.

use crate::facts::Facts;
use crate::link::LinkKey;

/// What a session without an Acct-Session-Id is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Line<'a> {
    /// The server's Class, which the NAS returns in accounting.
    Class(&'a str, &'a [u8]),
    /// NAS, user, station, port.
    Port(&'a str, Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>),
    /// A session of PPPoE.
    Pppoe(LinkKey),
}

impl<'a> Line<'a> {
    /// The lines of a packet, the surest first.
    pub(crate) fn of(nas: &'a str, facts: &'a Facts) -> Vec<Self> {
        let class = facts.class.as_deref().map(|class| Self::Class(nas, class));
        let first = |names: &'a [String]| names.first().map(String::as_str);
        let (user, station) = (first(&facts.users), first(&facts.stations));
        let port_id = facts.nas_port_id.as_deref();
        // A user's name alone may be that of many.
        let names_a_line = station.is_some() || facts.nas_port.is_some() || port_id.is_some();
        let port = names_a_line.then_some(Self::Port(nas, user, station, facts.nas_port, port_id));
        class.into_iter().chain(port).collect()
    }

    /// That of a session of PPPoE, by what its record says.
    pub(crate) fn of_pppoe(nas: &str, facts: &Facts) -> Option<Self> {
        let (station, session) = (facts.stations.first()?, facts.session.as_ref()?);
        LinkKey::parse(nas, station, session, facts.nas_port_id.as_deref()).map(Self::Pppoe)
    }
}
