//! Searches with nothing in the page cache.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use ringtap_model::filter::Pattern;
use ringtap_model::{Condition, Filter, Nanos};
use ringtap_store::{Error, Query, Reader};

/// The time of each search in milliseconds, by its name, with the number of calls found.
pub(crate) fn all(dir: &Path) -> Result<serde_json::Value, Error> {
    let reader = Reader::open(dir)?;
    let days = reader.days()?;
    let middle = days[days.len() / 2].start() + Nanos::from_secs(43_200);
    let sought = reader.calls(&Query { limit: 1, ..Filter(vec![Condition::Since(middle)]).into() })?;
    let Some(call) = sought.records.first() else { return Ok(serde_json::Value::Null) };
    let number = call.to_user.clone().unwrap_or_default();
    let of = |pattern: &str| pattern.parse().map(|pattern| Filter(vec![Condition::Number(pattern)]));
    let last = format!("*{}", &number[number.len().saturating_sub(6)..]);
    let begin: String = call.call_id.chars().take(10).collect();
    let mut searches = vec![
        ("call_id", Query::from(Filter::call_id(Pattern::exact(&call.call_id)))),
        ("call_id_begins", Filter::call_id(Pattern::prefix(&begin)).into()),
        ("newest_100", Query { limit: 100, newest: true, ..Query::default() }),
    ];
    searches.extend(of(&number).ok().map(|filter| ("number", filter.into())));
    searches.extend(of(&last).ok().map(|filter| ("last_six_digits", filter.into())));
    let mut times = serde_json::Map::new();
    for (name, query) in searches {
        let mut best = f64::INFINITY;
        let mut found = 0;
        for _ in 0..ROUNDS {
            forget(dir);
            let began = Instant::now();
            found = Reader::open(dir)?.calls(&query)?.records.len();
            best = best.min(began.elapsed().as_secs_f64() * 1e3);
        }
        times.insert(name.into(), serde_json::json!({ "ms": best, "found": found }));
    }
    Ok(times.into())
}

/// Drops the files from the page cache, and where that is allowed everything else.
fn forget(dir: &Path) {
    for file in fs::read_dir(dir).into_iter().flatten().flatten() {
        if let Ok(file) = File::open(file.path()) {
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
    let _ = fs::write("/proc/sys/vm/drop_caches", "3");
}

/// Searches of each kind, of which the fastest counts.
const ROUNDS: usize = 3;
