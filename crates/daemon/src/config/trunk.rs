//! `[[trunk]]`: groups of addresses with a name.

use ringtap_kpi::trunks::TrunkError;

use super::document::Document;
use super::error::ConfigError;
use super::key::section;
use super::values::NetworkPrefix;

section! {
    /// A trunk, as it is written.
    #[name = "[trunk]"]
    pub(crate) struct TrunkGroup {
        /// Its name: in records, in `ringtap kpis` and in the metrics. It must not be an address.
        #[accepts = "a text, such as \"carrier-a\""]
        pub(super) name: String = String::new(),
        /// Addresses and networks of the other side, such as its session border controllers. Where several
        /// trunks have an address, the longest prefix wins.
        pub(super) addresses: Vec<NetworkPrefix> = Vec::new(),
    }
}

/// The mistake with its line; of two entries that do not go together, the later one with the line of the
/// earlier.
pub(super) fn explained(error: &TrunkError, document: &Document<'_>) -> ConfigError {
    let (earlier, place, key) = match error {
        TrunkError::Name(place) => (None, *place, "name"),
        TrunkError::SameName(earlier, place) => (Some(*earlier), *place, "name"),
        TrunkError::SameNetwork(earlier, place, _) => (Some(*earlier), *place, "addresses"),
        TrunkError::Empty(place) => (None, *place, "addresses"),
        TrunkError::TooMany => (None, ringtap_kpi::trunks::MOST, "name"),
    };
    let mut problem = error.to_string();
    if let Some(line) = earlier.and_then(|earlier| document.line_of_entry("trunk", earlier, key)) {
        problem.push_str(&format!("; the other is on line {line}"));
    }
    document.at_entry("trunk", place, key, problem)
}
