//! A session of PPPoE before it has addresses, and what ends it.

use ringtap_model::Nanos;
use ringtap_wire::pppoe::{Control, View, Vlans};

use crate::facts::Facts;
use crate::lease::{mac_text, text};
use crate::pending::Waiting;

/// A session by its ends: access concentrators number sessions for each client. In discovery there is no
/// number yet, and in the client's first frame no concentrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinkKey {
    pub(crate) client: [u8; 6],
    pub(crate) concentrator: [u8; 6],
    pub(crate) session: u16,
    pub(crate) vlans: Vlans,
}

impl LinkKey {
    /// Of a frame that the client sent, or that the concentrator did.
    pub(crate) fn of(view: &View<'_>, is_of_client: bool) -> Self {
        let (client, concentrator) = match is_of_client {
            true => (view.src(), view.dst()),
            false => (view.dst(), view.src()),
        };
        Self { client, concentrator, session: view.session(), vlans: view.vlans() }
    }

    /// Of discovery with this concentrator, or with any.
    pub(crate) fn before(self, concentrator: Option<[u8; 6]>) -> Self {
        Self { concentrator: concentrator.unwrap_or_default(), session: 0, ..self }
    }

    /// As a record has it: concentrator, client, session id, VLANs.
    pub(crate) fn texts(&self) -> (String, String, String, Option<String>) {
        let vlans: Vec<String> = self.vlans.iter().map(|id| id.to_string()).collect();
        let vlans = (!vlans.is_empty()).then(|| format!("vlan {}", vlans.join(".")));
        (mac_text(self.concentrator), mac_text(self.client), self.session.to_string(), vlans)
    }

    /// Of those texts.
    pub(crate) fn parse(nas: &str, station: &str, session: &str, vlans: Option<&str>) -> Option<Self> {
        let ids = vlans.map_or(Some(Vec::new()), |text| {
            text.strip_prefix("vlan ")?.split('.').map(|id| id.parse().ok()).collect()
        });
        let (client, concentrator) = (mac(station)?, mac(nas)?);
        Some(Self { client, concentrator, session: session.parse().ok()?, vlans: Vlans::of(ids?) })
    }
}

/// What was heard of a session in the last minute.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) time: Nanos,
    /// Who and where the client is.
    pub(crate) facts: Facts,
    /// The name that the client asks to be let in with, and the identifier of the packet with it.
    pub(crate) asked: Option<(u8, String)>,
    /// Who asks to end which protocol, by which identifier.
    pub(crate) ending: Option<Ending>,
    /// The concentrator opened it (PADS): which end is the client is certain.
    pub(crate) is_confirmed: bool,
    /// It has an address, or is discovery alone.
    pub(crate) is_done: bool,
    /// Frames that are counted in no session yet.
    pub(crate) frames: u32,
}

/// A Terminate-Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) protocol: u16,
    pub(crate) identifier: u8,
    pub(crate) is_of_client: bool,
}

impl Ending {
    /// The request that a packet makes, or that it acknowledges.
    pub(crate) fn of(control: &Control<'_>, is_of_client: bool) -> Self {
        Self { protocol: control.protocol, identifier: control.identifier, is_of_client }
    }
}

impl Link {
    /// Adds what a frame of discovery says of the line and of the concentrator.
    pub(crate) fn learn(&mut self, view: &View<'_>) {
        let Facts { circuit, remote, nas_name, .. } = &mut self.facts;
        for (own, told) in
            [(circuit, view.circuit()), (remote, view.remote()), (nas_name, view.concentrator())]
        {
            if let Some(told) = told.and_then(text) {
                *own = Some(told);
            }
        }
    }
}

impl Waiting for Link {
    fn time(&self) -> Nanos {
        self.time
    }

    fn is_answered(&self) -> bool {
        self.is_done
    }
}

/// Of the text that [`mac_text`] writes.
fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_its_texts() {
        for vlans in [&[][..], &[7], &[100, 7]] {
            let vlans = Vlans::of(vlans.iter().copied());
            let (client, concentrator) = ([2, 0, 0x5e, 0, 0, 0xff], [2, 0, 0x5e, 0, 0, 1]);
            let key = LinkKey { client, concentrator, session: 65_535, vlans };
            let (nas, station, session, vlans) = key.texts();
            assert_eq!(LinkKey::parse(&nas, &station, &session, vlans.as_deref()), Some(key));
        }
        assert_eq!(LinkKey::parse("bng", "02:00:5e:00:00:ff", "1", None), None);
        assert_eq!(LinkKey::parse("02:00:5e:00:00:01", "02:00:5e:00:00:ff", "1", Some("eth0")), None);
    }
}
