//! Texts that acts have.

use crate::error::Refused;

/// Refuses an empty text, and one that is too long.
pub(in crate::state) fn check_text(field: &'static str, text: &str, most: usize) -> Result<(), Refused> {
    if text.trim().is_empty() {
        return Err(Refused::Field { field, problem: "it is empty" });
    }
    if text.len() > most {
        return Err(Refused::Field { field, problem: "it is too long" });
    }
    Ok(())
}
