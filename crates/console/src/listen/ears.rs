//! How many listen to calls in progress, and what the daemon says of these calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use ringtap_model::Endpoint;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::sources::Refused;

/// Who listens.
#[derive(Debug, Default)]
pub(crate) struct Ears {
    listening: Arc<AtomicUsize>,
    /// Questions for the daemon: Call-IDs, and who waits for the answer.
    waiting: Mutex<Vec<(String, Sender<Answered>)>>,
    asking: Mutex<()>,
}

/// A place of somebody who listens, until it is dropped.
#[derive(Debug)]
pub(crate) struct EarPlace(Arc<AtomicUsize>);

/// What the daemon says of a call that is listened to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Told {
    pub(crate) state: String,
    pub(crate) streams: Vec<ToldStream>,
}

/// A stream of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ToldStream {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) ssrc: u32,
    pub(crate) payload_type: u8,
}

/// None if the call has ended.
type Answered = anyhow::Result<Option<Told>>;

/// What the daemon answers for one call.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Heard(Told),
    Ended,
    Refused(String),
}

impl Ears {
    /// A place, unless so many listen.
    pub(crate) fn place(&self) -> Result<EarPlace, Problem> {
        let place = EarPlace(Arc::clone(&self.listening));
        match self.listening.fetch_add(1, Ordering::AcqRel) < MOST {
            true => Ok(place),
            false => Err(Problem::busy(format!("{MOST} people listen to calls in progress already"), 10)),
        }
    }

    /// Asks the daemon about a call by `listen`, together with all who ask meanwhile: it takes few
    /// connections of one user at once, and what its workers take to answer is the same for one call
    /// and for many.
    ///
    /// # Errors
    ///
    /// It does not answer, or the call cannot be heard ([`Refused`]).
    pub(crate) fn ask(&self, call_id: &str, listen: impl Fn(&[String]) -> anyhow::Result<Value>) -> Answered {
        let (sender, answer) = channel();
        locked(&self.waiting).push((call_id.to_owned(), sender));
        let _turn = locked(&self.asking);
        // It may have been among the questions of whoever had the turn before.
        loop {
            if let Ok(answered) = answer.try_recv() {
                return answered;
            }
            let asked = first(&mut locked(&self.waiting));
            if asked.is_empty() {
                return Err(anyhow!("the daemon could not be asked"));
            }
            answer_each(asked, &listen);
        }
    }
}

/// Takes as many questions as one request has room for, at least one.
fn first(waiting: &mut Vec<(String, Sender<Answered>)>) -> Vec<(String, Sender<Answered>)> {
    let mut bytes = 0;
    let fits = waiting.iter().take_while(|(call_id, _)| {
        bytes += call_id.len();
        bytes <= LONGEST
    });
    let count = fits.count().max(1).min(waiting.len());
    waiting.drain(..count).collect()
}

fn answer_each(asked: Vec<(String, Sender<Answered>)>, listen: impl Fn(&[String]) -> anyhow::Result<Value>) {
    let (call_ids, senders): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let answers = listen(&call_ids).and_then(|told| {
        let answers: Vec<Answer> = serde_json::from_value(told).unwrap_or_default();
        match answers.len() == call_ids.len() {
            true => Ok(answers),
            false => Err(anyhow!("the daemon is of another version: its answer cannot be read")),
        }
    });
    // Whoever is gone needs no answer.
    match answers {
        Ok(answers) => senders.iter().zip(answers).for_each(|(sender, answer)| {
            let _ = sender.send(match answer {
                Answer::Heard(told) => Ok(Some(told)),
                Answer::Ended => Ok(None),
                Answer::Refused(why) => Err(Refused(why).into()),
            });
        }),
        Err(error) => senders.iter().for_each(|sender| {
            let why = format!("{error:#}");
            let _ = sender.send(Err(if error.is::<Refused>() { Refused(why).into() } else { anyhow!(why) }));
        }),
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for EarPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// People who listen at once.
const MOST: usize = 64;
/// Bytes of Call-IDs in one request; the daemon reads four times as many.
const LONGEST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_free_again_when_somebody_leaves() {
        let ears = Ears::default();
        let mut places: Vec<EarPlace> = (0..MOST).map(|_| ears.place().expect("a place")).collect();
        assert!(ears.place().is_err() && ears.place().is_err(), "and nobody who was refused has one");
        places.pop();
        assert!(ears.place().is_ok());
    }

    #[test]
    fn who_asks_meanwhile_is_answered_by_one_request() {
        let (ears, requests) = (Ears::default(), AtomicUsize::new(0));
        let answer = |call_id: &String| match &**call_id {
            "ended" => json!("ended"),
            "refused" => json!({ "refused": "it is secret" }),
            state => json!({ "heard": { "state": state, "streams": [] } }),
        };
        let listen = |call_ids: &[String]| {
            requests.fetch_add(1, Ordering::Relaxed);
            Ok(call_ids.iter().map(answer).collect())
        };
        thread::scope(|scope| {
            // Somebody else has the turn until all have asked.
            let turn = locked(&ears.asking);
            let asked = ["ended", "refused", "a", "b"].map(|id| scope.spawn(|| ears.ask(id, listen)));
            while locked(&ears.waiting).len() < asked.len() {
                thread::yield_now();
            }
            drop(turn);
            let [ended, refused, a, b] = asked.map(|asked| asked.join().unwrap());
            assert_eq!(ended.unwrap(), None);
            assert!(refused.unwrap_err().is::<Refused>());
            assert_eq!([a, b].map(|told| told.unwrap().unwrap().state), ["a", "b"]);
        });
        assert_eq!(requests.into_inner(), 1);

        let strange = |_: &[String]| Ok(json!([]));
        assert!(ears.ask("a", strange).unwrap_err().to_string().contains("another version"));
    }

    #[test]
    fn one_request_has_only_so_many_bytes() {
        let question = || ("x".repeat(LONGEST / 2), channel().0);
        let mut waiting = vec![question(), question(), question()];
        assert_eq!(first(&mut waiting).len(), 2);
        assert_eq!((first(&mut waiting).len(), first(&mut waiting).len()), (1, 0));
        waiting.push(("x".repeat(2 * LONGEST), channel().0));
        assert_eq!(first(&mut waiting).len(), 1, "or one that is longer");
    }
}
