//! Parses configurations and requests to the control socket.

use std::fs;

use ringtap_daemon::Config;
use ringtap_daemon::control::Request;

use crate::scratch::Scratch;

thread_local! {
    static FILES: Scratch = Scratch::new(|_| ());
}

/// A configuration: it is accepted, or the error names the file and what would be right.
pub fn configuration(bytes: &[u8]) {
    FILES.with(|files| {
        let path = files.path().join("ringtap.toml");
        fs::write(&path, bytes).expect("a file of our own");
        match Config::load(&path, None) {
            Ok(config) => assert!(!ringtap_daemon::summary(&config, &path).is_empty()),
            Err(error) => assert!(error.to_string().contains("ringtap.toml"), "{error}"),
        }
        fs::remove_file(&path).expect("a file of our own");
    });
}

/// A request to the control socket: written again, it is the same.
pub fn control(bytes: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Request>(bytes) else { return };
    let text = serde_json::to_string(&request).expect("text");
    let again: Request = serde_json::from_str(&text).expect("it was written by us");
    assert_eq!(serde_json::to_string(&again).expect("text"), text);
}
