//! All holds of a spool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::files::{entry_names, read_regular};
use crate::retain::deletion_lock::HOLDS;
use crate::retain::hold::{HeldRange, Hold};
use crate::segment::name::Category;

/// More holds than this are refused.
const MOST: usize = 100_000;
/// A chunk may reach its segment this late, and its packets may be a little out of order.
const MARGIN: Nanos = Nanos::from_secs(120);

/// All holds of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    all: Vec<Hold>,
    /// Spans of time by owner, and whether they are of interception product.
    owners: BTreeMap<(u64, bool), Vec<(Nanos, Nanos)>>,
}

impl Holds {
    /// Reads the holds in the spool's directory, by case.
    ///
    /// # Errors
    ///
    /// A hold cannot be read: nothing may be deleted unless all are known.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        let holds = dir.join(HOLDS);
        let mut all = Vec::new();
        let mut cases = entry_names(&holds).map_err(|error| Error::io(&holds, "read", error))?;
        cases.sort();
        for case in cases {
            let case = holds.join(case);
            let mut files = entry_names(&case).map_err(|error| Error::io(&case, "read", error))?;
            files.sort();
            for file in files.iter().filter(|file| file.ends_with(".json")) {
                let path = case.join(file);
                let bytes = read_regular(&path).map_err(|error| Error::io(&path, "read", error))?;
                let hold = serde_json::from_slice(&bytes)
                    .map_err(|error| Error::Hold { path: path.clone(), problem: error.to_string() })?;
                all.push(hold);
                if all.len() > MOST {
                    let problem = format!("there are more than {MOST}");
                    return Err(Error::Hold { path: holds, problem });
                }
            }
        }
        Ok(Self::of(all))
    }

    pub(crate) fn of(all: Vec<Hold>) -> Self {
        let mut owners: BTreeMap<(u64, bool), Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for hold in &all {
            for part in &hold.parts {
                let spans = owners.entry((part.owner, hold.product)).or_default();
                spans.push((Nanos(part.from), Nanos(part.to)));
            }
        }
        Self { all, owners }
    }

    /// All holds, by case and id.
    pub(crate) fn into_all(self) -> Vec<Hold> {
        self.all
    }

    /// All holds, by case and id.
    pub fn all(&self) -> &[Hold] {
        &self.all
    }

    /// Number of held calls; one may be held for several cases.
    pub fn calls(&self) -> usize {
        self.all.iter().map(|hold| &hold.id).collect::<BTreeSet<_>>().len()
    }

    /// Whether packets of the owner from `from` to `to`, in a segment of that category, may belong to a held
    /// call.
    pub fn is_held(&self, category: Category, owner: u64, from: Nanos, to: Nanos) -> bool {
        let spans = self.owners.get(&(owner, category == Category::Product)).into_iter().flatten();
        spans.clone().any(|(first, last)| *first <= to && from <= *last)
    }

    /// The first hold that packets of the owner from `from` to `to` may belong to.
    pub fn holding(&self, product: bool, owner: u64, from: Nanos, to: Nanos) -> Option<&Hold> {
        let holds = |part: &HeldRange| part.owner == owner && part.from <= to.0 && from.0 <= part.to;
        self.all.iter().find(|hold| hold.product == product && hold.parts.iter().any(holds))
    }

    /// The owners whose held packets may be in a segment of that category and time.
    pub(crate) fn between(&self, category: Category, from: Nanos, to: Nanos) -> Vec<u64> {
        let from = Nanos(from.0.saturating_sub(MARGIN.0));
        let owners = self.owners.keys().filter(|(_, product)| *product == (category == Category::Product));
        owners
            .map(|(owner, _)| *owner)
            .filter(|owner| self.is_held(category, *owner, from, to + MARGIN))
            .collect()
    }
}
