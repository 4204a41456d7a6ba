//! One measured pass by itself, for tools that watch it from outside: instruction counters, profilers.

use crate::dialog::Message;
use crate::error::Error;
use crate::load::{Load, Workload};
use crate::media::Media;
use crate::signalling::{CallMedia, Calls, Timeline};

/// A workload up to the moment at which measuring begins.
pub struct Probe(ProbeWorkload);

enum ProbeWorkload {
    Media(Box<Media>),
    Signalling(Box<(Timeline, Calls)>),
}

impl Probe {
    /// Everything before it: calls set up, tables touched.
    ///
    /// # Errors
    ///
    /// As [`crate::run`]; and for workloads that have no one pass.
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

    /// The pass. Gives media packets, SIP messages or, of whole calls, calls.
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

    /// Whether the engine has found what was put in.
    ///
    /// # Errors
    ///
    /// Where it has not.
    pub fn verify(self) -> Result<(), Error> {
        match self.0 {
            ProbeWorkload::Media(media) => media.verify(),
            ProbeWorkload::Signalling(signalling) => signalling.1.verify(&signalling.0),
        }
    }
}
