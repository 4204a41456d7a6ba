//! By what a session is named.

use ringtap_identity::Attempt;
use ringtap_model::Identity;
use ringtap_warrant::Name;

/// The names of a session. Its record lists User-Names, then Calling-Station-Ids, or the MAC address of a
/// lease, then who pays. The Subscriber-ID of a relay agent (RFC 3993, RFC 4580) is the operator's name for a
/// user.
pub(crate) fn of_session(record: &Identity) -> impl Iterator<Item = Name<'_>> {
    let begin = usize::from(record.user.is_some());
    let of_station = |station: &String| record.names.iter().skip(begin).position(|name| name == station);
    let users =
        record.station.as_ref().and_then(of_station).map_or(record.names.len(), |place| begin + place);
    let (users, stations) = record.names.split_at(users);
    let users = users.iter().map(|name| Name::User(name));
    let stations = stations.iter().map(|name| Name::Calling(name));
    let subscriber = record.subscriber.iter().map(|name| Name::User(name));
    users.chain(subscriber).chain(stations).chain(others(
        &record.called_station,
        &record.imsi,
        &record.imeisv,
    ))
}

/// The names of an attempt to log in.
pub(crate) fn of_attempt(attempt: &Attempt) -> impl Iterator<Item = Name<'_>> {
    let users = attempt.users.iter().map(|name| Name::User(name));
    let stations = attempt.stations.iter().map(|name| Name::Calling(name));
    users.chain(stations).chain(others(&attempt.called_station, &attempt.imsi, &attempt.imeisv))
}

fn others<'a>(
    called: &'a Option<String>,
    imsi: &'a Option<String>,
    imeisv: &'a Option<String>,
) -> impl Iterator<Item = Name<'a>> {
    let called = called.iter().map(|name| Name::Called(name));
    let imsi = imsi.iter().map(|name| Name::Imsi(name));
    called.chain(imsi).chain(imeisv.iter().map(|name| Name::Imei(name)))
}
