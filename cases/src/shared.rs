//! Where the reference captures and answers lie.

use std::path::PathBuf;

/// The folder of reference material beside the project, or what `RINGTAP_SHARED` names; None, said on
/// standard error, where it is absent.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("RINGTAP_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from);
    if folder.join("captures").is_dir() && folder.join("expected").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no reference captures in {} (RINGTAP_SHARED names another place)", folder.display());
    None
}

/// Every capture file below a folder, in order of name.
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
