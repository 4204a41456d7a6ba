//! What is told of calls in progress against the records that come later: the intervals of each stream, and
//! the attempts of each registration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringtap_capture::Capture;
use ringtap_cases::shared;
use ringtap_engine::{Config, Engine, IntervalSeen, RegistrationAttempt, Sink, StreamEnd};
use ringtap_model::{Call, Message, Nanos, Registration, Stream};

/// Packets, lost, jitter and MOS of an interval.
type Figures = (u32, u32, f64, Option<f64>);

#[derive(Default)]
struct Seen {
    intervals: BTreeMap<u64, Vec<Figures>>,
    /// Delay, or code of a failure, of each attempt by address of record.
    attempts: BTreeMap<String, Vec<(u16, Option<Nanos>)>>,
    streams: Vec<(u64, Stream)>,
    registrations: Vec<Registration>,
}

impl Sink for Seen {
    const INTERVALS: bool = true;

    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        streams.into_iter().for_each(|stream| self.stream(stream));
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.streams.push((stream.serial, stream.record));
    }
    fn registration(&mut self, registration: Registration) {
        self.registrations.push(registration);
    }
    fn message(&mut self, _: Message) {}
    fn interval(&mut self, seen: &IntervalSeen<'_>) {
        let figures = (seen.packets, seen.lost, seen.jitter_ms, seen.mos);
        self.intervals.entry(seen.serial).or_default().push(figures);
    }
    fn registration_attempt(&mut self, attempt: &RegistrationAttempt<'_>) {
        self.attempts.entry(attempt.aor.to_owned()).or_default().push((attempt.code, attempt.delay));
    }
}

fn run(path: &Path) -> Option<Seen> {
    let capture = Capture::open(path, None).ok()?;
    let mut engine = Engine::new(Config::default());
    let mut seen = Seen::default();
    let owned = capture.frames().owned();
    let frames: Vec<_> = owned.iter().collect();
    for frames in frames.chunks(512) {
        engine.batch(frames, &mut seen);
    }
    engine.close(&mut seen);
    Some(seen)
}

/// Captures of the cases, and the shared ones where they are there.
fn captures() -> Vec<PathBuf> {
    let mut found = shared::captures(Path::new(env!("CARGO_MANIFEST_DIR")));
    found.extend(
        ringtap_testing::shared().iter().flat_map(|folder| shared::captures(&folder.join("captures"))),
    );
    found
}

#[test]
fn intervals_told_in_progress_are_those_of_the_record() {
    let (mut told, mut with_mos, mut as_mos) = (0, 0, 0);
    for path in captures() {
        let Some(seen) = run(&path) else { continue };
        for (serial, stream) in &seen.streams {
            let intervals = seen.intervals.get(serial).map_or(&[][..], Vec::as_slice);
            let place = format!("{} {} {}", path.display(), stream.src, stream.ssrc);
            // The last part of a stream is not told; a stream without a packet in its last part has none.
            let recorded = &stream.intervals[..intervals.len()];
            assert!(stream.intervals.len() - intervals.len() <= 1, "{place}");
            for ((packets, lost, jitter_ms, mos), recorded) in intervals.iter().zip(recorded) {
                let expected = (recorded.packets, recorded.lost, recorded.jitter_ms);
                assert_eq!((*packets, *lost, *jitter_ms), expected, "{place}");
                told += 1;
                let both = mos.zip(recorded.mos);
                with_mos += u64::from(both.is_some());
                // The mean run of losses is that of the stream so far.
                as_mos += u64::from(both.is_some_and(|(told, recorded)| (told - recorded).abs() < 0.05));
            }
        }
    }
    println!("in progress: {told} intervals, {with_mos} with a MOS, {as_mos} of them that of the record");
    assert!(told >= 10 && as_mos * 100 >= with_mos * 97 && with_mos > 0, "{told} {with_mos} {as_mos}");
}

#[test]
fn attempts_told_in_progress_are_those_of_the_record() {
    let (mut succeeded, mut failed, mut repeated) = (0, 0, 0);
    for path in captures() {
        let Some(seen) = run(&path) else { continue };
        let mut expected: BTreeMap<&str, (u32, u32, f64)> = BTreeMap::new();
        for record in &seen.registrations {
            let sum = expected.entry(&record.aor).or_default();
            sum.0 += record.attempts.unwrap_or_default();
            sum.1 += record.failed.unwrap_or_default();
            sum.2 = f64::max(sum.2, record.rrd_ms_max.unwrap_or_default());
        }
        for (aor, (attempts, failures, longest)) in expected {
            let told = seen.attempts.get(aor).map_or(&[][..], Vec::as_slice);
            let place = format!("{} {aor}: {told:?}, {attempts} attempts, {failures} failed", path.display());
            let delays: Vec<f64> =
                told.iter().filter_map(|(_, delay)| Some(delay.as_ref()?.millis_f64())).collect();
            // Redirected ones are neither.
            assert!(delays.len() as u32 <= attempts - failures, "{place}");
            assert!(told.len() as u32 >= failures + delays.len() as u32, "{place}");
            assert!(delays.iter().all(|delay| *delay <= longest + 0.001), "{place}");
            succeeded += delays.len();
            failed += failures;
            repeated += told.len() as u32 - failures - delays.len() as u32;
        }
    }
    println!("in progress: {succeeded} registered, {failed} failed, {repeated} challenged again");
    assert!(succeeded >= 5 && failed >= 3, "{succeeded} {failed} {repeated}");
}
