//! What the meaning of a text depends on beside the text.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use ringtap_model::{Nanos, Network};

use crate::value::TimeSpan;

/// When and where a text is read, and the lists and sites that it may name.
#[derive(Clone, Debug)]
pub struct Context {
    /// The current time: what `now`, `-2h` and `yesterday` begin from.
    pub now: Nanos,
    /// The zone of times without an offset.
    pub zone: TimeZone,
    /// The values of each list, by its name without `$`.
    pub lists: BTreeMap<String, Vec<String>>,
    /// What `site:` stands for. Where they are not known, none: each name is then taken for that of a site,
    /// which no call is of, so that a text can be checked.
    pub sites: Option<Vec<Site>>,
}

/// Networks that have a name, for a time. Several may have the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The name; the case of letters makes no difference.
    pub name: String,
    /// Its networks.
    pub networks: Vec<Network>,
    /// When they have that name: calls that began then are of the site.
    pub span: TimeSpan,
}

impl Context {
    /// A context in which there are no lists and no sites.
    pub fn new(now: Nanos, zone: TimeZone) -> Self {
        Self { now, zone, lists: BTreeMap::new(), sites: Some(Vec::new()) }
    }

    /// The same in UTC.
    pub fn utc(now: Nanos) -> Self {
        Self::new(now, TimeZone::UTC)
    }
}
