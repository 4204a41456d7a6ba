//! Which orders a session or a call belongs to.

use std::collections::HashMap;

use ringtap_model::Network;

use super::{Shape, Target, TargetKind, normal};
use crate::liid::Liid;
use crate::secret_text::SecretText;

/// Finds the identifiers of the orders that are about somebody, by the names of a session or of a call.
///
/// A look-up takes as long for one target as for 100,000: a hash for each name, and for targets with a star
/// one for each length that such targets have, 253 at most. Made anew when orders change.
#[derive(Clone, Debug, Default)]
pub struct TargetIndex {
    liids: Vec<Liid>,
    /// By kind: see [`place`].
    tables: [Table; TABLES],
    networks: Vec<(Network, u32)>,
}

/// One name of a session or a call, as it was on the wire. Which headers and attributes count is decided by
/// whoever asks.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Name<'a> {
    /// User-Name of RADIUS.
    User(&'a str),
    /// Calling-Station-Id of RADIUS. Where it is a MAC address or a number, it counts as such, too.
    Calling(&'a str),
    /// Called-Station-Id of RADIUS.
    Called(&'a str),
    /// A MAC address in any notation.
    Mac(&'a str),
    /// An IMSI.
    Imsi(&'a str),
    /// An MSISDN.
    Msisdn(&'a str),
    /// An IMEI or IMEISV.
    Imei(&'a str),
    /// A SIP identity: a URI of scheme `sip`, `sips` or `tel`, with or without angle brackets; `user@host`;
    /// or a number or a user alone, as in the credentials of a request.
    Sip(&'a str),
}

impl TargetIndex {
    /// Of targets, each with the identifier of its order.
    pub fn new<'a>(targets: impl IntoIterator<Item = (&'a Target, &'a Liid)>) -> Self {
        let mut index = Self::default();
        let mut numbers = HashMap::new();
        for (target, liid) in targets {
            let number = *numbers.entry(liid).or_insert_with(|| {
                index.liids.push(liid.clone());
                index.liids.len() as u32 - 1
            });
            match (place(target.kind), target.network()) {
                (Some(place), _) => index.tables[place].add(target, number),
                (None, Some(network)) => index.networks.push((network, number)),
                // A target about addresses has a network.
                (None, None) => {}
            }
        }
        for table in &mut index.tables {
            table.beginnings.finish();
            table.endings.finish();
        }
        index
    }

    /// Whether it has no target.
    pub fn is_empty(&self) -> bool {
        self.liids.is_empty()
    }

    /// The identifiers of all orders with a target that one of the names is, each once, in their order.
    pub fn find<'n>(&self, names: impl IntoIterator<Item = Name<'n>>) -> Vec<&Liid> {
        let mut found = Vec::new();
        names.into_iter().for_each(|name| self.add_found(name, &mut found));
        found.sort_unstable();
        found.dedup();
        let mut liids: Vec<&Liid> = found.into_iter().map(|number| &self.liids[number as usize]).collect();
        liids.sort_unstable();
        liids
    }

    /// The networks that targets are about, each with the identifier of its order. A network that contains
    /// another one may be among them.
    pub fn networks(&self) -> impl Iterator<Item = (Network, &Liid)> {
        self.networks.iter().map(|(network, number)| (*network, &self.liids[*number as usize]))
    }

    /// Adds the numbers of the orders that are about the name.
    fn add_found(&self, name: Name<'_>, found: &mut Vec<u32>) {
        let mut of = |kind: TargetKind, normal: &dyn Fn() -> Option<String>| {
            let table = place(kind).map(|place| &self.tables[place]).filter(|table| !table.is_empty());
            // A text of the wire, which is everybody's: it is not wiped, as one of a target is.
            if let Some((table, text)) = table.and_then(|table| Some((table, normal()?))) {
                table.find(&text, found);
            }
        };
        match name {
            Name::User(text) => {
                if let Some(place) = place(TargetKind::User) {
                    self.tables[place].find(text, found);
                }
                self.add_users(text, found);
            }
            Name::Calling(text) => {
                of(TargetKind::Calling, &|| Some(normal::station(text)));
                let text = text.trim();
                of(TargetKind::Mac, &|| normal::unmistakable_mac(text));
                let is_mac = || normal::unmistakable_mac(text).is_some();
                of(TargetKind::Msisdn, &|| normal::number(text).filter(|_| !is_mac()));
            }
            Name::Called(text) => of(TargetKind::Called, &|| Some(normal::station(text))),
            Name::Mac(text) => of(TargetKind::Mac, &|| normal::mac(text.trim())),
            Name::Imsi(text) => of(TargetKind::Imsi, &|| normal::digits(text)),
            Name::Msisdn(text) => of(TargetKind::Msisdn, &|| normal::number(text)),
            Name::Imei(text) => of(TargetKind::Imei, &|| normal::imei(text)),
            Name::Sip(text) => {
                of(TargetKind::Sip, &|| Some(normal::sip(text)?.whole));
                of(TargetKind::Number, &|| normal::sip(text)?.number);
            }
        }
    }

    /// A user with each of its realms, and without.
    fn add_users(&self, text: &str, found: &mut Vec<u32>) {
        let Some(table) = place(TargetKind::UserAnyCase).map(|place| &self.tables[place]) else { return };
        if table.is_empty() {
            return;
        }
        let normal::UserName { bare, realms } = normal::user_name(text);
        // Two realms behind a name would be read as the realm of a target.
        if bare.contains('@') {
            return;
        }
        for realm in realms.iter().flatten() {
            table.find(&format!("{bare}@{realm}"), found);
        }
        table.find(&bare, found);
    }
}

/// The targets of one kind.
#[derive(Clone, Debug, Default)]
struct Table {
    whole: HashMap<SecretText, Vec<u32>>,
    beginnings: Pieces,
    endings: Pieces,
}

/// Beginnings or ends of texts.
#[derive(Clone, Debug, Default)]
struct Pieces {
    of: HashMap<SecretText, Vec<u32>>,
    /// In bytes, ascending, each once.
    lengths: Vec<usize>,
}

impl Table {
    fn add(&mut self, target: &Target, number: u32) {
        let map = match target.shape {
            Shape::Whole => &mut self.whole,
            Shape::Beginning => &mut self.beginnings.of,
            Shape::Ending => &mut self.endings.of,
        };
        map.entry(target.value.clone()).or_default().push(number);
    }

    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.beginnings.of.is_empty() && self.endings.of.is_empty()
    }

    fn find(&self, text: &str, found: &mut Vec<u32>) {
        let mut add = |numbers: Option<&Vec<u32>>| found.extend(numbers.into_iter().flatten());
        add(self.whole.get(text));
        for length in &self.beginnings.lengths {
            add(text.get(..*length).and_then(|piece| self.beginnings.of.get(piece)));
        }
        for length in &self.endings.lengths {
            let piece = text.len().checked_sub(*length).and_then(|from| text.get(from..));
            add(piece.and_then(|piece| self.endings.of.get(piece)));
        }
    }
}

impl Pieces {
    fn finish(&mut self) {
        self.lengths = self.of.keys().map(|piece| piece.len()).collect();
        self.lengths.sort_unstable();
        self.lengths.dedup();
    }
}

/// Where the table of a kind is; none for addresses.
fn place(kind: TargetKind) -> Option<usize> {
    Some(match kind {
        TargetKind::User => 0,
        TargetKind::UserAnyCase => 1,
        TargetKind::Calling => 2,
        TargetKind::Called => 3,
        TargetKind::Mac => 4,
        TargetKind::Imsi => 5,
        TargetKind::Msisdn => 6,
        TargetKind::Imei => 7,
        TargetKind::Sip => 8,
        TargetKind::Number => 9,
        TargetKind::Address => return None,
    })
}

/// See [`place`].
const TABLES: usize = 10;
