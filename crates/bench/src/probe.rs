//! A single measured pass, for external tools: instruction counters, profilers.

use crate::dialog::Message;
use crate::error::Error;
use crate::load::{Load, Workload};
use crate::media::Media;
use crate::signalling::{CallMedia, Calls, Timeline};

/// A workload that is ready to be measured.
pub struct Probe(ProbeWorkload);

enum ProbeWorkload {
    Media(Box<Media>),
    Signalling(Box<(Timeline, Calls)>),
}

impl Probe {
    /// Prepares the workload: sets up calls and touches tables.
    ///
    /// # Errors
    ///
    /// As for [`crate::run`]; and if the workload is not a single pass.
    pub fn prepare(workload: Workload, load: &Load) -> Result<Self, Error> {
        load.check(workload)?;
        let what = match workload {
            Workload::Media => {
                let mut media = Media::prepare(load)?;
                media.advance();
                return Ok(Self(ProbeWorkload::Media(Box::new(media))));
            }
            Workload::Sip => CallMedia::Sip,
            Workload::Calls => CallMedia::Calls,
            Workload::Other | Workload::Changes | Workload::Workers => {
                return Err(Error::Load("this workload is not one pass".to_owned()));
            }
        };
        let timeline = Timeline::lay_out(load, what);
        let calls = Calls::prepare(load, what, &timeline)?;
        Ok(Self(ProbeWorkload::Signalling(Box::new((timeline, calls)))))
    }

    /// Runs the pass. Returns the number of media packets, SIP messages or calls.
    pub fn pass(&mut self, workload: Workload) -> u64 {
        match &mut self.0 {
            ProbeWorkload::Media(media) => media.feed(),
            ProbeWorkload::Signalling(signalling) => {
                let (timeline, calls) = &mut **signalling;
                calls.measured(timeline);
                match workload {
                    Workload::Calls => timeline.turnover,
                    _ => timeline.turnover * Message::COUNT as u64,
                }
            }
        }
    }

    /// Checks the engine's results against the input.
    ///
    /// # Errors
    ///
    /// The results differ.
    pub fn verify(self) -> Result<(), Error> {
        match self.0 {
            ProbeWorkload::Media(media) => media.verify(),
            ProbeWorkload::Signalling(signalling) => signalling.1.verify(&signalling.0),
        }
    }
}
