//! The engine's thread, and the state it shares with the terminal's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringtap_engine::{Config, Engine};
use ringtap_model::{Id, Nanos};

use super::calls::{Limits, LiveCalls, MediaFrame, View};
use super::feed::{Feed, FeedStatus};

/// Interval between two published views.
const PUBLISH: Duration = Duration::from_millis(100);
/// Interval between two updates of the watched calls' figures. Each update reads all streams of a call.
const FIGURES: Duration = Duration::from_secs(1);
/// Shorter interval, used once after the watched calls change.
const SOON: Duration = Duration::from_millis(250);
/// Longest wait for packets before the engine's clock is advanced.
const WAIT: Duration = Duration::from_millis(20);
/// Most calls whose figures are updated: more than fit a screen are not needed.
const WATCHED: usize = 200;

/// Longest wait for media packets.
const ANSWER: Duration = Duration::from_secs(5);

/// State shared by both threads. Each lock is held only to swap pointers, never while drawing or processing
/// packets.
pub struct Shared {
    view: Mutex<Arc<View>>,
    requests: Mutex<ViewRequests>,
    stop: AtomicBool,
}

#[derive(Default)]
struct ViewRequests {
    /// Calls whose figures are shown.
    watched: Vec<Id>,
    /// The watched calls changed: update their figures soon.
    watched_changed: bool,
    clear: bool,
    media: Option<MediaRequest>,
}

/// Serials of entries, and who waits for their media packets.
type MediaRequest = (Vec<u64>, SyncSender<Vec<Arc<MediaFrame>>>);

impl Shared {
    /// Starts with the view shown before the first packet.
    pub fn new(view: View) -> Self {
        Self { view: Mutex::new(Arc::new(view)), requests: Mutex::default(), stop: AtomicBool::new(false) }
    }

    /// The last published view.
    pub fn view(&self) -> Arc<View> {
        // If the other thread panics, the view is still complete: it is replaced by a pointer swap.
        Arc::clone(&self.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, view: View) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    /// Requests figures of these calls from now on.
    pub fn watch(&self, mut calls: Vec<Id>) {
        calls.truncate(WATCHED);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.watched != calls {
            requests.watched = calls;
            requests.watched_changed = true;
        }
    }

    /// Whether the watched calls changed since the last query.
    fn watched_changed(&self) -> bool {
        std::mem::take(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner).watched_changed)
    }

    /// Requests the removal of all entries.
    pub fn clear(&self) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clear = true;
    }

    /// The media packets that are kept of these entries, in the order in which they came. Waits for the other
    /// thread; `None` if that does not answer.
    pub fn media(&self, serials: Vec<u64>) -> Option<Vec<Arc<MediaFrame>>> {
        let (sender, receiver) = sync_channel(1);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).media = Some((serials, sender));
        receiver.recv_timeout(ANSWER).ok()
    }

    /// Requests the engine's thread to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Feeds an engine and publishes views, until the input ends or [`Shared::stop`] is called.
pub fn follow(feed: &mut impl Feed, shared: &Shared, limits: Limits, config: Config) {
    let mut watcher = Watcher {
        engine: Engine::new(config),
        calls: LiveCalls::new(limits),
        view: (*shared.view()).clone(),
        rate: Rate::new(),
    };
    let (mut published, mut figures) = (Instant::now(), Instant::now());
    let over = loop {
        if shared.stopped() {
            return;
        }
        match watcher.next_batch(feed) {
            Ok(FeedStatus::End) => break "end of the input".to_string(),
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
    let Watcher { engine, calls, .. } = &mut watcher;
    engine.close(&mut calls.on(&[]));
    watcher.view.over = Some(over);
    while !shared.stopped() {
        watcher.publish(feed, shared, false);
        thread::sleep(PUBLISH);
    }
}

struct Watcher {
    engine: Engine,
    calls: LiveCalls,
    view: View,
    rate: Rate,
}

impl Watcher {
    fn next_batch(&mut self, feed: &mut impl Feed) -> anyhow::Result<FeedStatus> {
        let Self { engine, calls, view, .. } = self;
        let status = feed.next_batch(WAIT, &mut |frames| {
            engine.batch(frames, &mut calls.on(frames));
            let last = frames.iter().map(|frame| frame.time).max();
            view.now = view.now.max(last.unwrap_or_default());
        })?;
        if status == FeedStatus::Nothing && feed.is_live() {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let now = Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
            engine.tick(now, &mut calls.on(&[]));
            view.now = view.now.max(now);
        }
        Ok(status)
    }

    /// Hands over the media packets that were asked for.
    fn answer(&mut self, shared: &Shared) {
        let media = shared.requests.lock().unwrap_or_else(PoisonError::into_inner).media.take();
        let Some((serials, sender)) = media else { return };
        for serial in &serials {
            // What is not on the screen may have streams that are not known yet.
            let id = self.calls.entry(*serial).and_then(|entry| Some(entry.call.as_ref()?.id));
            if let Some((call, streams)) = id.and_then(|id| self.engine.snapshot(&id)) {
                self.calls.refresh(call, streams);
            }
        }
        // Nobody waits any more if that took too long.
        let _ = sender.try_send(self.calls.media(&serials));
    }

    fn publish(&mut self, feed: &mut impl Feed, shared: &Shared, figures: bool) {
        let (watched, clear) = {
            let mut requests = shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
            (if figures { requests.watched.clone() } else { Vec::new() }, std::mem::take(&mut requests.clear))
        };
        if clear {
            self.calls.clear();
        }
        self.answer(shared);
        for id in &watched {
            if let Some((call, streams)) = self.engine.snapshot(id) {
                self.calls.refresh(call, streams);
            }
        }
        if figures {
            self.view.lost = feed.lost();
            self.engine.report_external_drops(self.view.lost.iter().map(|(_, count)| count).sum());
        }
        if let Some(entries) = self.calls.published() {
            self.view.entries = Arc::new(entries);
        }
        self.view.totals = self.calls.totals.clone();
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
