//! Files with what is entered: TOML, of which no error shows a value.

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::exit::Misuse;

/// Reads a file; `-` is standard input. `what` it holds, and which of its keys are lists, is for errors.
pub(in crate::commands) fn read<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    lists: &str,
) -> anyhow::Result<T> {
    let read = || format!("cannot read {what} in `{}`", path.display());
    let text = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()).with_context(read)?,
        _ => std::fs::read_to_string(path).with_context(read)?,
    };
    let text = Zeroizing::new(text);
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        // What else it says may have a value in it.
        let problem = match error.message() {
            message if message.starts_with("unknown field") || message.starts_with("duplicate key") => {
                message.to_owned()
            }
            _ => format!("write each key once, as `name = 'value'`; {lists}"),
        };
        Misuse(format!("{}:{line}: {problem}", path.display())).into()
    })
}
