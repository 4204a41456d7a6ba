//! Who is told of alarms, seen from the daemon: a process of its own tells them, started before privileges
//! are dropped.

mod pending;

use std::fs;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_alarm::{Change, ChangeKind};
use ringtap_model::Alarm;
use ringtap_notify::{Counts, Notice, NoticeKind};

use crate::config::Config;
use crate::processes::child::{Process, Role, Start};
use crate::processes::notice_exchange::ask;
use crate::processes::notify_source::NotifySource;
use pending::Pending;

/// Hands notices to the process that tells the targets.
#[derive(Debug)]
pub(crate) struct Notifier {
    notices: Arc<Notices>,
    thread: Option<JoinHandle<()>>,
}

/// Notices on their way, and what became of them: shared with the metrics.
#[derive(Debug)]
pub(crate) struct Notices {
    host: String,
    process: Process,
    state: Mutex<State>,
    changed: Condvar,
}

/// What became of notices.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoticeFigures {
    /// Each target, what became of its notices, and how many wait for it.
    pub(crate) targets: Vec<(String, Counts, u64)>,
    /// Those that found no room before the process that tells the targets had them.
    pub(crate) dropped: u64,
}

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    ended: bool,
}

impl Notifier {
    /// Starts the process, if there are alarms and somebody is told of them. Its secrets are read now.
    ///
    /// # Errors
    ///
    /// A secret or a certificate cannot be read.
    pub(crate) fn start(config: &Config) -> anyhow::Result<Option<Self>> {
        let alarms = config.alarms();
        if !alarms.is_enabled() || alarms.targets.is_empty() {
            return Ok(None);
        }
        let host = match alarms.host.as_str() {
            "" => fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            host => host.to_owned(),
        };
        let source = NotifySource { targets: alarms.targets, host: host.clone() };
        let start = Start::new(Role::NotifyStarter(source), config);
        let process = Process::start("the notifier", start, None)?;
        let notices = Notices { host, process, state: Mutex::default(), changed: Condvar::new() };
        Ok(Some(Self { notices: Arc::new(notices), thread: None }))
    }

    /// Begins to hand notices over, in a thread: once this process is confined.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        let notices = Arc::clone(&self.notices);
        self.thread = Some(thread::Builder::new().name("notices".into()).spawn(move || notices.run())?);
        Ok(())
    }

    /// Where notices go.
    pub(crate) fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// Hands over what is left, gives the targets a moment, and has the process end.
    pub(crate) fn close(self) {
        self.notices.lock().ended = true;
        self.notices.changed.notify_all();
        if let Some(thread) = self.thread {
            // A panic has been logged.
            let _ = thread.join();
        }
        self.notices.process.close();
    }
}

impl Notices {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the targets of a change of an alarm. It never waits for them.
    pub(crate) fn tell(&self, change: &Change) {
        let kind = match change.kind {
            ChangeKind::Raised => NoticeKind::Raised,
            ChangeKind::Repeated => NoticeKind::Repeated,
            ChangeKind::Cleared => NoticeKind::Cleared,
            ChangeKind::Acknowledged => NoticeKind::Acknowledged,
        };
        self.send(kind, &change.alarm, &change.notify);
    }

    /// Tells targets that forget of an alarm that stands since before the start.
    pub(crate) fn tell_standing(&self, alarm: &Alarm, to: &[String]) {
        self.send(NoticeKind::Standing, alarm, to);
    }

    fn send(&self, kind: NoticeKind, alarm: &Alarm, to: &[String]) {
        let notice = Notice { kind, host: self.host.clone(), to: to.to_owned(), alarm: alarm.clone() };
        self.lock().pending.push(notice);
        self.changed.notify_all();
    }

    pub(crate) fn figures(&self) -> NoticeFigures {
        let state = self.lock();
        NoticeFigures { targets: state.pending.figures(), dropped: state.pending.dropped }
    }

    fn run(&self) {
        let (mut has_failed, mut has_ended, mut dropped) = (false, false, 0);
        loop {
            let ended = self.wait(has_failed);
            has_failed = !self.exchange();
            if !has_ended && self.process.ended().is_some() {
                has_ended = true;
                log::error!(
                    target: "notify",
                    "the notifier has ended: nobody is told of alarms until ringtap is restarted; everything \
                     else goes on"
                );
            }
            let now_dropped = self.lock().pending.dropped;
            if now_dropped > std::mem::replace(&mut dropped, now_dropped) {
                log::warn!(target: "notify", "{now_dropped} notices dropped since the start: too many wait");
            }
            if ended {
                return self.finish();
            }
        }
    }

    /// Waits for a notice, or until it is time to ask what became of others; whether the daemon ends.
    fn wait(&self, has_failed: bool) -> bool {
        let state = self.lock();
        let is_idle = |state: &mut State| !state.ended && (has_failed || !state.pending.is_anything_unsent());
        let wait = if has_failed { AGAIN } else { ASK };
        let waited = self.changed.wait_timeout_while(state, wait, is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// Hands over what the process does not have, and notes what became of the rest; whether that worked.
    fn exchange(&self) -> bool {
        // A process that was started anew needs the rest too.
        for _ in 0..2 {
            let sent = self.lock().pending.unsent();
            match self.process.connect().and_then(|connection| ask(&connection, &sent)) {
                Ok(answer) => self.lock().pending.answered(&sent, answer),
                Err(error) => {
                    log::debug!(target: "notify", "the notifier cannot be asked: {error}");
                    return false;
                }
            }
            if !self.lock().pending.is_anything_unsent() {
                break;
            }
        }
        true
    }

    /// Gives the targets a moment to take what waits.
    fn finish(&self) {
        let begun = Instant::now();
        while self.lock().pending.is_anything_waiting() && begun.elapsed() < FAREWELL {
            thread::sleep(POLL);
            if !self.exchange() {
                return;
            }
        }
    }
}

/// How often the process is asked what became of its notices.
const ASK: Duration = Duration::from_secs(10);
/// Time until another attempt, when it could not be asked.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the targets have at the end.
const FAREWELL: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(100);

#[cfg(test)]
pub(crate) mod tests {
    use ringtap_model::{Id, Nanos, Severity};

    use super::*;

    /// A notice of the alarm of this number.
    pub(crate) fn notice(alarm: u8) -> Notice {
        let alarm = Alarm {
            id: Id([alarm; 16]),
            rule: "few answers".into(),
            severity: Severity::Warning,
            per: "total".into(),
            subject: String::new(),
            figure: "asr".into(),
            value: None,
            worst: None,
            threshold: 30.0,
            behind: 200,
            text: "12 % of the calls are answered".into(),
            raised: Nanos::from_secs(1),
            last: Nanos::from_secs(2),
            cleared: None,
            calls: Vec::new(),
            acknowledged: None,
            acknowledged_by: None,
            comment: None,
            silenced_until: None,
        };
        Notice { kind: NoticeKind::Raised, host: "sensor-1".into(), to: Vec::new(), alarm }
    }
}
