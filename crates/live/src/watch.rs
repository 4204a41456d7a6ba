//! The engine's thread, and what it shares with the terminal's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringtap_engine::{Config, Engine};
use ringtap_model::{Id, Nanos};

use super::book::{Book, Limits, View};
use super::feed::{Fed, Feed};

/// Between two publications.
const PUBLISH: Duration = Duration::from_millis(100);
/// Between two looks at figures that change with every packet: each look at a call passes over all of them.
const FIGURES: Duration = Duration::from_secs(1);
/// The same, when others come into sight.
const SOON: Duration = Duration::from_millis(250);
/// How long to wait for packets before time is told to go on.
const WAIT: Duration = Duration::from_millis(20);
/// Calls whose figures are looked at: more than a screen shows is of no use.
const WATCHED: usize = 200;

/// What both threads hold. Each lock is held for a swap of pointers, never while something is drawn or
/// handled.
pub struct Shared {
    view: Mutex<Arc<View>>,
    requests: Mutex<ViewRequests>,
    stop: AtomicBool,
}

#[derive(Default)]
struct ViewRequests {
    /// Calls whose figures are shown.
    watched: Vec<Id>,
    /// They are others than before: their figures are wanted soon.
    watched_changed: bool,
    clear: bool,
}

impl Shared {
    /// With what is to be seen before the first packet.
    pub fn new(view: View) -> Self {
        Self { view: Mutex::new(Arc::new(view)), requests: Mutex::default(), stop: AtomicBool::new(false) }
    }

    /// What was published last.
    pub fn view(&self) -> Arc<View> {
        // A panic of the other thread leaves a whole view behind: pointers are swapped, not written.
        Arc::clone(&self.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, view: View) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    /// Asks for figures of these calls from now on.
    pub fn watch(&self, mut calls: Vec<Id>) {
        calls.truncate(WATCHED);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.watched != calls {
            requests.watched = calls;
            requests.watched_changed = true;
        }
    }

    /// Whether others are watched than at the last look.
    fn watched_changed(&self) -> bool {
        std::mem::take(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner).watched_changed)
    }

    /// Asks for all entries to be forgotten.
    pub fn clear(&self) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clear = true;
    }

    /// Asks for the end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Feeds an engine until the end of the input or until it is told to stop, and publishes what is to be seen.
pub fn follow(feed: &mut impl Feed, shared: &Shared, limits: Limits, config: Config) {
    let mut watcher = Watcher {
        engine: Engine::new(config),
        book: Book::new(limits),
        view: (*shared.view()).clone(),
        rate: Rate::new(),
    };
    let (mut published, mut figures) = (Instant::now(), Instant::now());
    let over = loop {
        if shared.stopped() {
            return;
        }
        match watcher.next_batch(feed) {
            Ok(Fed::End) => break "end of the input".to_string(),
            Ok(_) => {}
            Err(error) => break format!("{error:#}"),
        }
        if published.elapsed() >= PUBLISH {
            let with_figures =
                figures.elapsed() >= FIGURES || (figures.elapsed() >= SOON && shared.watched_changed());
            if with_figures {
                figures = Instant::now();
            }
            watcher.publish(feed, shared, with_figures);
            published = Instant::now();
        }
    };
    let Watcher { engine, book, .. } = &mut watcher;
    engine.close(&mut book.on(&[]));
    watcher.view.over = Some(over);
    while !shared.stopped() {
        watcher.publish(feed, shared, false);
        thread::sleep(PUBLISH);
    }
}

struct Watcher {
    engine: Engine,
    book: Book,
    view: View,
    rate: Rate,
}

impl Watcher {
    fn next_batch(&mut self, feed: &mut impl Feed) -> anyhow::Result<Fed> {
        let Self { engine, book, view, .. } = self;
        let fed = feed.next_batch(WAIT, &mut |frames| {
            engine.batch(frames, &mut book.on(frames));
            let last = frames.iter().map(|frame| frame.time).max();
            view.now = view.now.max(last.unwrap_or_default());
        })?;
        if fed == Fed::Nothing && feed.is_live() {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let now = Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
            engine.tick(now, &mut book.on(&[]));
            view.now = view.now.max(now);
        }
        Ok(fed)
    }

    fn publish(&mut self, feed: &mut impl Feed, shared: &Shared, figures: bool) {
        let (watched, clear) = {
            let mut requests = shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
            (if figures { requests.watched.clone() } else { Vec::new() }, std::mem::take(&mut requests.clear))
        };
        if clear {
            self.book.clear();
        }
        for id in &watched {
            if let Some((call, streams)) = self.engine.snapshot(id) {
                self.book.refresh(call, streams);
            }
        }
        if figures {
            self.view.lost = feed.lost();
            self.engine.report_external_drops(self.view.lost.iter().map(|(_, count)| count).sum());
        }
        if let Some(entries) = self.book.published() {
            self.view.entries = Arc::new(entries);
        }
        self.view.totals = self.book.totals.clone();
        self.view.counters = self.engine.counters().clone();
        self.view.under_way = self.engine.under_way();
        self.view.rate = self.rate.of(self.view.counters.frames, self.view.counters.bytes);
        shared.publish(self.view.clone());
    }
}

/// Packets and bits per second over the last second or so.
struct Rate {
    since: Instant,
    frames: u64,
    bytes: u64,
    last: (f64, f64),
}

impl Rate {
    fn new() -> Self {
        Self { since: Instant::now(), frames: 0, bytes: 0, last: (0.0, 0.0) }
    }

    fn of(&mut self, frames: u64, bytes: u64) -> (f64, f64) {
        let secs = self.since.elapsed().as_secs_f64();
        if secs >= 1.0 {
            self.last = ((frames - self.frames) as f64 / secs, (bytes - self.bytes) as f64 * 8.0 / secs);
            *self = Self { since: Instant::now(), frames, bytes, last: self.last };
        }
        self.last
    }
}
