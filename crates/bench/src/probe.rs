//! One measured pass by itself, for tools that watch it from outside: instruction counters, profilers.

use crate::dialog::Message;
use crate::error::Error;
use crate::load::{Load, Workload};
use crate::media::Media;
use crate::signalling::{Calls, Course, What};

/// A workload up to the moment at which measuring begins.
pub struct Probe(Kind);

enum Kind {
    Media(Box<Media>),
    Signalling(Box<(Course, Calls)>),
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
                return Ok(Self(Kind::Media(Box::new(media))));
            }
            Workload::Sip => What::Sip,
            Workload::Calls => What::Calls,
            Workload::Other | Workload::Changes | Workload::Workers => {
                return Err(Error::Load("this workload is not one pass".to_owned()));
            }
        };
        let course = Course::lay_out(load, what);
        let calls = Calls::prepare(load, what, &course)?;
        Ok(Self(Kind::Signalling(Box::new((course, calls)))))
    }

    /// The pass. Gives media packets, SIP messages or, of whole calls, calls.
    pub fn pass(&mut self, workload: Workload) -> u64 {
        match &mut self.0 {
            Kind::Media(media) => media.feed(),
            Kind::Signalling(signalling) => {
                let (course, calls) = &mut **signalling;
                calls.measured(course);
                match workload {
                    Workload::Calls => course.turnover,
                    _ => course.turnover * Message::COUNT as u64,
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
            Kind::Media(media) => media.verify(),
            Kind::Signalling(signalling) => signalling.1.verify(&signalling.0),
        }
    }
}
