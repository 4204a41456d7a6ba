//! Networks that have names, each for a time: `sites.json` in the directory of the people.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use anyhow::Context;
use ringtap_model::{Nanos, Network};
use ringtap_search::{Site, TimeSpan};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Networks that have a name, for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedNetworks {
    /// By which it is known in requests.
    pub(crate) number: u64,
    pub(crate) name: String,
    /// As `192.0.2.0/24`.
    pub(crate) networks: Vec<String>,
    /// From then; none for ever before.
    pub(crate) from_us: Option<u64>,
    /// Until then, which is not included; none for ever after.
    pub(crate) until_us: Option<u64>,
}

impl NamedNetworks {
    fn span(&self) -> TimeSpan {
        TimeSpan { from: self.from_us.map(Nanos::from_micros), to: self.until_us.map(Nanos::from_micros) }
    }

    /// As searches know it.
    fn known(&self) -> Option<Site> {
        let networks = self.parsed().ok()?;
        Some(Site { name: self.name.clone(), networks, span: self.span() })
    }

    fn parsed(&self) -> Result<Vec<Network>, Problem> {
        let network = |text: &String| {
            let parsed = text.trim().parse::<Network>();
            parsed.map_err(|error| Problem::request(error.to_string(), "write networks as 192.0.2.0/24"))
        };
        self.networks.iter().map(network).collect()
    }

    /// The same as it is stored, if it can be.
    fn checked(mut self) -> Result<Self, Problem> {
        self.name = self.name.trim().to_owned();
        let is_name = |letter: char| letter.is_alphanumeric() || " .-_".contains(letter);
        let length = self.name.chars().count();
        if length == 0 || length > LONGEST_NAME || !self.name.chars().all(is_name) {
            let remedy = "use 1 to 64 letters, digits, spaces, `.`, `-` and `_`";
            return Err(Problem::request("this cannot be the name of a site", remedy));
        }
        if self.networks.is_empty() || self.networks.len() > MOST_NETWORKS {
            let remedy = format!("give it 1 to {MOST_NETWORKS}; another entry of that name may have more");
            return Err(Problem::request("a site has networks", remedy));
        }
        if self.span().is_empty() {
            return Err(Problem::request("the site ends before it begins", "give it a later end, or none"));
        }
        self.networks = self.parsed()?.iter().map(written).collect();
        Ok(self)
    }

    /// A network that the other has as well, under another name at the same time.
    fn in_conflict_with(&self, other: &Self) -> Option<String> {
        let is_same = self.name.to_lowercase() == other.name.to_lowercase();
        if is_same || self.number == other.number || self.span().and(other.span()).is_empty() {
            return None;
        }
        self.networks.iter().find(|network| other.networks.contains(network)).cloned()
    }
}

/// The sites of a console as searches elsewhere know them: those of its `sites.json`; none where there is no
/// such file, or it is not for whoever asks.
///
/// # Errors
///
/// The file is no list of sites.
pub fn sites_of(file: &Path) -> anyhow::Result<Vec<Site>> {
    let hidden = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied];
    match fs::read(file) {
        Err(error) if hidden.contains(&error.kind()) => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", file.display())),
        Ok(text) => {
            let entries: Vec<NamedNetworks> = serde_json::from_slice(&text).with_context(|| {
                format!("{} is no list of sites: name `sites.json` of a console", file.display())
            })?;
            Ok(entries.iter().filter_map(NamedNetworks::known).collect())
        }
    }
}

/// All of them, and the file that they are in.
pub(crate) struct Sites {
    path: PathBuf,
    entries: Mutex<Vec<NamedNetworks>>,
}

impl Sites {
    /// Reads those of a console in this directory; none where there is no file.
    pub(crate) fn open(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join("sites.json");
        let named = || format!("the sites in {}", path.display());
        let entries = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{} cannot be read: restore the file from a copy", named()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", named())),
        };
        Ok(Self { path, entries: Mutex::new(entries) })
    }

    /// Where they are stored.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of them, by name and time.
    pub(crate) fn list(&self) -> Vec<NamedNetworks> {
        let mut entries = self.entries().clone();
        entries.sort_by_key(|entry| (entry.name.to_lowercase(), entry.from_us, entry.number));
        entries
    }

    /// As searches know them.
    pub(crate) fn known(&self) -> Vec<Site> {
        self.entries().iter().filter_map(NamedNetworks::known).collect()
    }

    /// Adds one, with a number of its own.
    pub(crate) fn add(&self, new: NamedNetworks) -> Result<NamedNetworks, Problem> {
        let mut entries = self.entries();
        if entries.len() >= MOST {
            return Err(Problem::conflict(format!(
                "there are {MOST} sites: remove some, or put their networks together"
            )));
        }
        let number = entries.iter().map(|entry| entry.number).max().unwrap_or(0) + 1;
        let new = NamedNetworks { number, ..new }.checked()?;
        let mut changed = entries.clone();
        changed.push(new.clone());
        self.replace(&mut entries, changed, &new)?;
        Ok(new)
    }

    /// Gives the one of that number other values.
    pub(crate) fn change(
        &self,
        number: u64,
        change: impl FnOnce(NamedNetworks) -> NamedNetworks,
    ) -> Result<NamedNetworks, Problem> {
        let mut entries = self.entries();
        let place = entries.iter().position(|entry| entry.number == number).ok_or_else(missing)?;
        let new = NamedNetworks { number, ..change(entries[place].clone()) }.checked()?;
        let mut changed = entries.clone();
        changed[place] = new.clone();
        self.replace(&mut entries, changed, &new)?;
        Ok(new)
    }

    /// The one of that number.
    pub(crate) fn one(&self, number: u64) -> Result<NamedNetworks, Problem> {
        self.entries().iter().find(|entry| entry.number == number).cloned().ok_or_else(missing)
    }

    /// Removes the one of that number.
    pub(crate) fn remove(&self, number: u64) -> Result<(), Problem> {
        let mut entries = self.entries();
        let left: Vec<_> = entries.iter().filter(|entry| entry.number != number).cloned().collect();
        if left.len() == entries.len() {
            return Err(missing());
        }
        self.write(&left)?;
        *entries = left;
        Ok(())
    }

    /// Writes all of them, if `new` does not contradict another one.
    fn replace(
        &self,
        entries: &mut Vec<NamedNetworks>,
        changed: Vec<NamedNetworks>,
        new: &NamedNetworks,
    ) -> Result<(), Problem> {
        let conflict = |other: &NamedNetworks| Some((other.name.clone(), new.in_conflict_with(other)?));
        if let Some((name, network)) = changed.iter().find_map(conflict) {
            return Err(Problem::conflict(format!(
                "{network} is `{name}` in that time: give that an end, or begin this one later"
            )));
        }
        self.write(&changed)?;
        *entries = changed;
        Ok(())
    }

    /// Writes the file: as it was, or whole.
    fn write(&self, entries: &[NamedNetworks]) -> Result<(), Problem> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let write = || -> anyhow::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec_pretty(entries)?)?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            fs::File::open(directory)?.sync_all()?;
            Ok(())
        };
        write().with_context(|| format!("the sites in {} cannot be written", self.path.display()))?;
        Ok(())
    }

    fn entries(&self) -> MutexGuard<'_, Vec<NamedNetworks>> {
        self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A network by its first address, so that one is always written alike.
fn written(network: &Network) -> String {
    let text = network.to_string();
    let bits = text.rsplit_once('/').map_or("", |(_, bits)| bits);
    format!("{}/{bits}", network.ends().0)
}

fn missing() -> Problem {
    Problem::not_found("there is no such site: somebody may have removed it")
}

/// Most entries.
pub(crate) const MOST: usize = 500;
/// Most networks of an entry.
pub(crate) const MOST_NETWORKS: usize = 32;
/// Characters of a name.
const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, networks: &[&str], span: (Option<u64>, Option<u64>)) -> NamedNetworks {
        let networks = networks.iter().map(|network| (*network).to_owned()).collect();
        NamedNetworks { number: 0, name: name.to_owned(), networks, from_us: span.0, until_us: span.1 }
    }

    const EVER: (Option<u64>, Option<u64>) = (None, None);

    #[test]
    fn what_is_written_is_read_back_by_name_and_time() {
        let directory = tempfile::tempdir().unwrap();
        let sites = Sites::open(directory.path()).unwrap();
        assert_eq!(sites.list(), []);
        sites.add(entry(" Paris ", &["10.2.0.0/16"], (Some(9), None))).unwrap();
        let lyon = sites.add(entry("lyon", &["10.1.0.0/16", "2001:db8::/32"], EVER)).unwrap();
        sites.add(entry("Lyon", &["10.2.0.0/16"], (None, Some(9)))).unwrap();
        let order = |sites: &Sites| {
            let of = |entry: &NamedNetworks| (entry.number, entry.name.clone());
            sites.list().iter().map(of).collect::<Vec<_>>()
        };
        let expected = [(2, "lyon".to_owned()), (3, "Lyon".to_owned()), (1, "Paris".to_owned())];
        assert_eq!(order(&sites), expected);
        let again = Sites::open(directory.path()).unwrap();
        assert_eq!((again.list(), again.known().len()), (sites.list(), 3));
        let changed = again.change(lyon.number, |old| NamedNetworks { until_us: Some(5), ..old }).unwrap();
        assert_eq!(changed, NamedNetworks { until_us: Some(5), ..lyon.clone() });
        again.remove(lyon.number).unwrap();
        assert_eq!(again.remove(lyon.number).unwrap_err().status, 404);
        assert_eq!(again.change(lyon.number, |old| old).unwrap_err().status, 404);
        assert_eq!(order(&Sites::open(directory.path()).unwrap()), expected[1..]);
        fs::write(directory.path().join("sites.json"), "no list").unwrap();
        let error = Sites::open(directory.path()).err().unwrap();
        assert!(format!("{error:#}").contains("restore the file"), "{error:#}");
    }

    #[test]
    fn what_is_no_site_and_what_contradicts_another_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let sites = Sites::open(directory.path()).unwrap();
        let many = vec!["10.0.0.0/8"; MOST_NETWORKS + 1];
        for (name, networks, span) in [
            ("", &["10.1.0.0/16"][..], EVER),
            ("a*b", &["10.1.0.0/16"], EVER),
            ("a\nb", &["10.1.0.0/16"], EVER),
            ("lyon", &[], EVER),
            ("lyon", &many, EVER),
            ("lyon", &["10.1"], EVER),
            ("lyon", &["10.1.0.0/16"], (Some(9), Some(9))),
        ] {
            assert_eq!(
                sites.add(entry(name, networks, span)).unwrap_err().status,
                400,
                "{name:?} {networks:?}"
            );
        }
        let lyon = sites.add(entry("lyon", &["10.1.0.0/16"], (None, Some(9)))).unwrap();
        let paris = entry("paris", &["10.7.0.0/16", "10.1.0.0/16"], (Some(8), None));
        let refused = sites.add(paris.clone()).unwrap_err();
        assert_eq!(refused.status, 409);
        assert!(refused.detail.contains("10.1.0.0/16 is `lyon`"), "{}", refused.detail);
        sites.add(NamedNetworks { from_us: Some(9), ..paris }).unwrap();
        let longer = sites.change(lyon.number, |old| NamedNetworks { until_us: None, ..old });
        assert_eq!(longer.unwrap_err().status, 409);
        assert_eq!(sites.one(lyon.number).unwrap(), lyon, "what is refused changes nothing");
        sites.add(entry("LYON", &["10.1.7.7/16"], (None, Some(4)))).unwrap();
        assert_eq!(sites.list()[0].networks, ["10.1.0.0/16"]);
    }
}
