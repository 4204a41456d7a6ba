//! The reference captures.

use std::path::PathBuf;

/// All capture files below a folder, sorted by name.
pub fn captures(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if [".pcap", ".pcapng", ".cap", ".erf", ".gz"].iter().any(|end| name.ends_with(end)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
