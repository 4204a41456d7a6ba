//! By what an attempt to log in is named.

use ringtap_identity::{Attempt, Glimpse};
use ringtap_warrant::Name;

/// The names of an attempt to log in.
pub(crate) fn of_attempt(attempt: &Attempt) -> impl Iterator<Item = Name<'_>> {
    let users = attempt.users.iter().map(|name| Name::User(name));
    let stations = attempt.stations.iter().map(|name| Name::Calling(name));
    let called = attempt.called_station.iter().map(|name| Name::Called(name));
    let imsi = attempt.imsi.iter().map(|name| Name::Imsi(name));
    let imei = attempt.imeisv.iter().map(|name| Name::Imei(name));
    users.chain(stations).chain(called).chain(imsi).chain(imei)
}

/// The names in one packet.
pub(crate) fn of_glimpse(glimpse: &Glimpse) -> impl Iterator<Item = Name<'_>> {
    let users = glimpse.users.iter().map(|name| Name::User(name));
    let stations = glimpse.stations.iter().map(|name| Name::Calling(name));
    let called = glimpse.called.iter().map(|name| Name::Called(name));
    let imsi = glimpse.imsi.iter().map(|name| Name::Imsi(name));
    let imei = glimpse.imei.iter().map(|name| Name::Imei(name));
    users.chain(stations).chain(called).chain(imsi).chain(imei)
}
