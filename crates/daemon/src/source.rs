//! The source of packets: interfaces, or files to replay.

use ringtap_capture::live::{self, Pace, Tap};
use ringtap_report::text::counted;

use crate::config::{Config, Following, Speed};
use crate::intercept::InterceptStart;
use crate::shared_status::WorkerInfo;

/// The source of packets, opened before privileges are dropped.
pub(crate) struct Source {
    /// One for each worker.
    pub(crate) taps: Vec<(Tap, WorkerInfo)>,
    pub(crate) files: bool,
    /// How sessions are followed, with secrets that only root may be able to read; `None` where they are not.
    pub(crate) radius: Option<Following>,
    /// What interception needs, opened with the same rights; `None` where nothing is intercepted.
    pub(crate) intercept: Option<InterceptStart>,
}

impl Source {
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        let capture = &config.capture;
        let workers = usize::from(capture.workers.get());
        let (files, radius) = (!capture.files.is_empty(), config.radius.settings()?);
        let intercept = InterceptStart::open(config)?;
        let mut source = Self { taps: Vec::new(), files, radius, intercept };
        if source.files {
            let pace = match capture.speed {
                Speed::Max => Pace::Unbound,
                Speed::Times(times) => Pace::Times(times),
            };
            source.add("files", live::replay(&capture.files, pace, workers, Some(&capture.filter))?);
            log::info!(target: "capture", "{} to replay", counted(capture.files.len() as u64, "file"));
            return Ok(source);
        }
        for interface in &capture.interfaces {
            let taps = live::open(&capture.of_interface(interface))?;
            if let Some(tap) = taps.first() {
                let (time, workers) = (tap.timestamps().name(), counted(taps.len() as u64, "worker"));
                log::info!(
                    target: "capture",
                    "{interface}: {workers}, ring {} each, timestamps by {time}",
                    capture.ring,
                );
                tap.warnings().iter().for_each(|note| log::warn!(target: "capture", "{interface}: {note}"));
            }
            source.add(interface, taps);
        }
        Ok(source)
    }

    pub(crate) fn add(&mut self, name: &str, taps: Vec<Tap>) {
        for (index, tap) in taps.into_iter().enumerate() {
            let info = WorkerInfo { source: name.to_owned(), number: self.taps.len(), first: index == 0 };
            self.taps.push((tap, info));
        }
    }
}
