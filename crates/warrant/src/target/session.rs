//! By what a session is named.

use ringtap_model::Identity;

use super::Name;

impl<'a> Name<'a> {
    /// The names of a session. Its record lists User-Names, then Calling-Station-Ids, or the MAC address of a
    /// lease, then who pays. The Subscriber-ID of a relay agent (RFC 3993, RFC 4580) is the operator's name for
    /// a user.
    pub fn of_session(record: &'a Identity) -> impl Iterator<Item = Self> {
        let begin = usize::from(record.user.is_some());
        let of_station = |station: &String| record.names.iter().skip(begin).position(|name| name == station);
        let users =
            record.station.as_ref().and_then(of_station).map_or(record.names.len(), |place| begin + place);
        let (users, stations) = record.names.split_at(users);
        let users = users.iter().map(|name| Name::User(name));
        let stations = stations.iter().map(|name| Name::Calling(name));
        let subscriber = record.subscriber.iter().map(|name| Name::User(name));
        let called = record.called_station.iter().map(|name| Name::Called(name));
        let imsi = record.imsi.iter().map(|name| Name::Imsi(name));
        let imei = record.imeisv.iter().map(|name| Name::Imei(name));
        users.chain(subscriber).chain(stations).chain(called).chain(imsi).chain(imei)
    }
}
