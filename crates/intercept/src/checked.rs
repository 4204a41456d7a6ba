//! Whether product in files is what was signed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use ringtap_warrant::PublicKey;

use crate::manifest::{self, EVENTS, MANIFEST, Manifest, ManifestHead, NONE};

/// The product of one order in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedOrder {
    /// As in the names of its files.
    pub order: String,
    /// The number of its first manifest there: those before were handed over, or are missing.
    pub first: u64,
    /// Its newest manifest. To prove that none is missing behind it, compare it with one that was noted.
    pub head: Option<ManifestHead>,
    /// Files that are as they were signed.
    pub files: u64,
    /// Their octets.
    pub octets: u64,
    /// PDUs and frames that had no room on the disk, as the newest manifest says.
    pub lost: u64,
    /// Sets of files that the service had not finished when it ended.
    pub recovered: u64,
    /// What is not as it was signed.
    pub flaws: Vec<String>,
}

/// What was found in a directory of product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedProduct {
    /// By name.
    pub orders: Vec<CheckedOrder>,
    /// Files of events without a manifest: those that are being written.
    pub unfinished: Vec<String>,
}

/// Checks each manifest in a directory, that none is missing between two of an order, and the files that they
/// name.
///
/// # Errors
///
/// The directory cannot be read.
pub fn check_product(directory: &Path, key: &PublicKey) -> io::Result<CheckedProduct> {
    let mut orders: BTreeMap<String, CheckedOrder> = BTreeMap::new();
    let mut manifests: BTreeMap<(String, u64), (String, Manifest)> = BTreeMap::new();
    let (mut events, mut signed) = (BTreeSet::new(), BTreeSet::new());
    for (path, ending) in manifest::entries(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match ending.as_str() {
            EVENTS => drop(events.insert(name)),
            MANIFEST => {
                signed.insert(
                    path.with_extension(EVENTS).file_name().unwrap_or_default().to_string_lossy().into(),
                );
                // The name says whose it claims to be, where nothing in it can be believed.
                let claimed = name.rsplit_once('-').map_or(&*name, |(order, _)| order).to_owned();
                let read = match fs::read(&path) {
                    Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not text".to_owned()),
                    Err(error) => Err(error.to_string()),
                };
                let parsed = read.and_then(|text| {
                    Ok((manifest::sha256_of(text.as_bytes()), Manifest::parse(&text, key)?))
                });
                match parsed {
                    Ok((hash, manifest)) => {
                        let place = (manifest.order.clone(), manifest.number);
                        if manifests.insert(place, (hash, manifest)).is_some() {
                            let flaw = format!("{name}: there is another one with its number");
                            order_of(&mut orders, claimed).flaws.push(flaw);
                        }
                    }
                    Err(why) => order_of(&mut orders, claimed).flaws.push(format!("{name}: {why}")),
                }
            }
            _ => {}
        }
    }
    for (hash, manifest) in manifests.into_values() {
        check(order_of(&mut orders, manifest.order.clone()), hash, &manifest, directory);
    }
    let unfinished = events.difference(&signed).cloned().collect();
    Ok(CheckedProduct { orders: orders.into_values().collect(), unfinished })
}

fn order_of(orders: &mut BTreeMap<String, CheckedOrder>, name: String) -> &mut CheckedOrder {
    let new = CheckedOrder { order: name.clone(), ..CheckedOrder::default() };
    orders.entry(name).or_insert(new)
}

/// The next manifest of an order, in the order of their numbers.
fn check(order: &mut CheckedOrder, hash: String, manifest: &Manifest, directory: &Path) {
    let number = manifest.number;
    match &order.head {
        None => {
            order.first = number;
            if number == 1 && manifest.previous != NONE {
                order.flaws.push("manifest 1 names one before it".to_owned());
            }
        }
        Some(head) if head.number.saturating_add(1) != number => {
            let missing = match number - head.number {
                2 => format!("manifest {} is missing", head.number + 1),
                _ => format!("manifests {} to {} are missing", head.number + 1, number - 1),
            };
            order.flaws.push(missing);
        }
        Some(head) if head.hash != manifest.previous => {
            order
                .flaws
                .push(format!("manifest {number} names another one as the one before than {}", head.number));
        }
        Some(_) => {}
    }
    for listed in &manifest.files {
        match manifest::hash_file(&directory.join(&listed.name)) {
            Ok(found) if found.octets == listed.octets && manifest::hex(&found.sha256) == listed.sha256 => {
                order.files += 1;
                order.octets += found.octets;
            }
            Ok(found) => order.flaws.push(format!(
                "{}: it is not what was signed ({} octets, {} signed)",
                listed.name, found.octets, listed.octets
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                order.flaws.push(format!("{}: it is missing", listed.name));
            }
            Err(error) => order.flaws.push(format!("{}: {error}", listed.name)),
        }
    }
    order.recovered += u64::from(manifest.is_recovered);
    order.lost = manifest.lost;
    order.head = Some(ManifestHead { number, hash });
}
