//! Searches with nothing in the page cache.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtap_model::filter::Pattern;
use ringtap_model::{Condition, Filter, Nanos};
use ringtap_search::{Context, parse};
use ringtap_store::{Day, Error, Query, Reader, RunningSearch, Search};

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
    let last_six = last.trim_start_matches('*').to_owned();
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
    let day = Day::of(middle);
    for (name, text) in [
        ("page_last_six", last_six.clone()),
        ("page_last_six_at", format!("{last_six} at:\"{day} 12:00\"")),
        ("page_at", format!("at:\"{day} 12:00\"")),
        ("page_begins", "+49*".to_owned()),
        ("page_failed", "state:failed -ua:yealink".to_owned()),
        ("all_at", format!("at:\"{day} 12:00\" *")),
        ("all_columns", "pdd>3.29s -state:failed (mosworst<2 or code:503)".to_owned()),
        ("all_streams", "stream(codec:G729 loss>30) -codec:opus".to_owned()),
        ("all_of_a_day_read", format!("began:{day} text:nothing")),
    ] {
        let text = text.trim_end_matches(" *");
        times.insert(name.into(), of_language(dir, text, name.starts_with("page"))?);
    }
    times.insert("stop_ms".into(), serde_json::json!(stopped(dir)?));
    Ok(times.into())
}

/// A search in the search language, with nothing in the page cache and again: its first page, or all.
fn of_language(dir: &Path, text: &str, is_page: bool) -> Result<serde_json::Value, Error> {
    let Ok(expression) = parse(text, &Context::utc(Nanos::MAX)) else { return Ok(serde_json::Value::Null) };
    let search = Search { limit: 100, ..Search::new(expression) };
    let mut millis = Vec::new();
    let (mut found, mut looked_at) = (0, 0);
    forget(dir);
    for _ in 0..=ROUNDS {
        let (began, running) = (Instant::now(), Arc::new(RunningSearch::new()));
        let reader = Reader::open(dir)?;
        found = 0;
        if is_page {
            found = reader.page(&search, &running)?.calls.len();
        } else {
            reader.each_call(&search, false, &running, |_, _| {
                found += 1;
                ControlFlow::Continue(())
            })?;
        }
        looked_at = running.looked_at();
        millis.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let warm = millis.iter().skip(1).copied().fold(f64::INFINITY, f64::min);
    Ok(serde_json::json!({ "cold_ms": millis[0], "warm_ms": warm, "found": found, "looked_at": looked_at }))
}

/// Milliseconds from stopping a search that finds nothing until it has ended: the longest of several.
fn stopped(dir: &Path) -> Result<f64, Error> {
    let Ok(expression) = parse("reason:teapot or text:teapot", &Context::utc(Nanos::MAX)) else {
        return Ok(0.0);
    };
    let search = Search::new(expression);
    let mut longest = Duration::ZERO;
    for round in 1..=2 * ROUNDS as u64 {
        let end = Instant::now() + Duration::from_millis(37 * round);
        Reader::open(dir)?.page(&search, &Arc::new(RunningSearch::until(end)))?;
        longest = longest.max(end.elapsed());
    }
    Ok(longest.as_secs_f64() * 1e3)
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
