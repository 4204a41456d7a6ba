//! Who looked at what lately, so that a page that asks again and again is one entry of the audit log a
//! minute.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Views that the audit log has.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<String, Instant>>);

impl Views {
    /// Whether the audit log has none of this from the last minute.
    pub(crate) fn is_new(&self, view: &str) -> bool {
        let views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        views.get(view).is_none_or(|noted| noted.elapsed() >= AGAIN)
    }

    /// The audit log has it now.
    pub(crate) fn add(&self, view: String) {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        views.retain(|_, noted| noted.elapsed() < AGAIN);
        // Where too many look at once, each of them is noted every time.
        if views.len() < MOST {
            views.insert(view, Instant::now());
        }
    }
}

/// After this the same view is another one.
const AGAIN: Duration = Duration::from_secs(60);
/// Most views that are remembered.
const MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_new_once_and_the_table_has_a_ceiling() {
        let views = Views::default();
        assert!(views.is_new("ana 127.0.0.1 call 1"));
        views.add("ana 127.0.0.1 call 1".to_owned());
        assert!(!views.is_new("ana 127.0.0.1 call 1"));
        assert!(views.is_new("eve 127.0.0.1 call 1"));
        (0..2 * MOST).for_each(|number| views.add(number.to_string()));
        assert_eq!(views.0.lock().unwrap().len(), MOST);
        assert!(views.is_new(&(2 * MOST - 1).to_string()), "it is noted every time");
    }
}
