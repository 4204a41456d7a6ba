//! Attempts to register: how many, how many of them failed, and how long they took.

use ringtap_model::Nanos;

use crate::text::round;

/// A REGISTER without an answer: timer F (RFC 3261 section 17.1.2.2) and a margin.
pub(super) const ANSWER_LIMIT: Nanos = Nanos::from_secs(40);

/// The attempts of one registration, RFC 6076 sections 4.1 and 4.2: each with the challenges that it answers
/// and its repeats is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    ended: u32,
    failed: u32,
    succeeded: u32,
    /// Sum of the delays of those that succeeded, and the longest.
    delays: Nanos,
    longest: Nanos,
    newest: Option<Attempt>,
}

/// A REGISTER as an attempt sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Number of its CSeq, 0 where it cannot be read.
    pub(super) cseq: u32,
    /// Hash of its transaction: another hop has another.
    pub(super) transaction: u64,
    pub(super) has_credentials: bool,
    pub(super) time: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    began: Nanos,
    /// Its newest REGISTER, as seen first.
    request: Request,
    outcome: Outcome,
    /// Its newest REGISTER answers a challenge.
    answers_challenge: bool,
    /// Its end was told.
    is_told: bool,
}

/// An attempt that ended: the code of its answer, and the delay of one that succeeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndedAttempt {
    pub(super) code: u16,
    pub(super) delay: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// No final answer yet.
    Waiting,
    Challenged,
    Succeeded {
        delay: Nanos,
        /// The answer was seen where the REGISTER was first seen, not only on another hop.
        is_own: bool,
    },
    Redirected,
    Failed,
}

impl Attempts {
    /// A REGISTER: the first of an attempt, an answer to its challenge, a repeat, or the same on another hop.
    /// Returns the attempt before, if it ends by this and was not told.
    pub(super) fn request(&mut self, request: Request) -> Option<EndedAttempt> {
        if let Some(newest) = &mut self.newest
            && request.time.since(newest.request.time) < ANSWER_LIMIT
        {
            let Request { cseq, transaction, .. } = newest.request;
            // Some that answer a challenge forget to count.
            let is_other = (request.cseq, request.transaction) != (cseq, transaction);
            let is_answer = newest.outcome == Outcome::Challenged && request.has_credentials && is_other;
            if is_answer && request.cseq >= cseq {
                newest.request = request;
                newest.outcome = Outcome::Waiting;
                newest.answers_challenge = true;
                return None;
            }
            // A lower number comes late.
            if request.cseq <= cseq {
                return None;
            }
        }
        let before = self.unanswered();
        self.end_newest();
        self.newest = Some(Attempt {
            began: request.time,
            request,
            outcome: Outcome::Waiting,
            answers_challenge: false,
            is_told: false,
        });
        before
    }

    /// An answer to the REGISTER of that number. Returns the attempt if it ends by this.
    pub(super) fn answer(
        &mut self,
        cseq: u32,
        transaction: u64,
        code: u16,
        time: Nanos,
    ) -> Option<EndedAttempt> {
        let attempt = self.newest.as_mut().filter(|attempt| attempt.request.cseq == cseq)?;
        let before = attempt.outcome;
        let is_own = attempt.request.transaction == transaction;
        match (attempt.outcome, code) {
            (Outcome::Waiting, 300..=399) => attempt.outcome = Outcome::Redirected,
            (Outcome::Waiting, 401 | 407) => attempt.outcome = Outcome::Challenged,
            (Outcome::Waiting, 300..) => attempt.outcome = Outcome::Failed,
            (Outcome::Succeeded { is_own: true, .. }, _) => {}
            (Outcome::Waiting | Outcome::Challenged | Outcome::Succeeded { .. }, 200..=299) => {
                attempt.outcome = Outcome::Succeeded { delay: time.since(attempt.began), is_own };
            }
            _ => {}
        }
        let delay = match attempt.outcome {
            // One with wrong credentials is challenged again, and goes on.
            Outcome::Challenged if before == Outcome::Waiting && attempt.answers_challenge => None,
            Outcome::Succeeded { delay, .. } if !attempt.is_told => Some(delay),
            Outcome::Failed | Outcome::Redirected if !attempt.is_told => None,
            _ => return None,
        };
        attempt.is_told = true;
        Some(EndedAttempt { code, delay })
    }

    /// The newest attempt, if it has no final answer and none was told: no request follows.
    pub(super) fn unanswered(&self) -> Option<EndedAttempt> {
        let attempt = self.newest.as_ref().filter(|attempt| !attempt.is_told)?;
        let code = match attempt.outcome {
            Outcome::Waiting => 0,
            Outcome::Challenged => 401,
            Outcome::Succeeded { .. } | Outcome::Redirected | Outcome::Failed => return None,
        };
        Some(EndedAttempt { code, delay: None })
    }

    /// What the record tells: no request follows.
    pub(super) fn finish(mut self) -> Figures {
        self.end_newest();
        let mean = self.delays.millis_f64() / f64::from(self.succeeded.max(1));
        let has_delay = self.succeeded > 0;
        Figures {
            ended: self.ended,
            failed: self.failed,
            mean_ms: has_delay.then(|| round(mean)),
            longest_ms: has_delay.then(|| round(self.longest.millis_f64())),
        }
    }

    fn end_newest(&mut self) {
        let Some(attempt) = self.newest.take() else { return };
        self.ended = self.ended.saturating_add(1);
        match attempt.outcome {
            Outcome::Succeeded { delay, .. } => {
                self.succeeded = self.succeeded.saturating_add(1);
                self.delays += delay;
                self.longest = self.longest.max(delay);
            }
            Outcome::Redirected => {}
            Outcome::Waiting | Outcome::Challenged | Outcome::Failed => {
                self.failed = self.failed.saturating_add(1);
            }
        }
    }
}

/// The attempts of a registration that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) ended: u32,
    pub(super) failed: u32,
    /// Registration request delay, over those that succeeded.
    pub(super) mean_ms: Option<f64>,
    pub(super) longest_ms: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line each: time in ms, CSeq, branch, and `+` for a REGISTER with credentials, `-` for one without,
    /// or the code of an answer.
    fn figures(events: &[(u64, u32, u64, &str)]) -> (u32, u32, Option<f64>, Option<f64>) {
        let mut attempts = Attempts::default();
        for &(millis, cseq, transaction, what) in events {
            let time = Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis);
            match what.parse() {
                Ok(code) => _ = attempts.answer(cseq, transaction, code, time),
                Err(_) => {
                    let has_credentials = what == "+";
                    _ = attempts.request(Request { cseq, transaction, has_credentials, time });
                }
            }
        }
        let Figures { ended, failed, mean_ms, longest_ms } = attempts.finish();
        (ended, failed, mean_ms, longest_ms)
    }

    #[test]
    fn the_delay_counts_from_the_first_register_of_the_attempt() {
        let events = [(0, 1, 1, "-"), (20, 1, 1, "401"), (50, 2, 2, "+"), (90, 2, 2, "200")];
        assert_eq!(figures(&events), (1, 0, Some(90.0), Some(90.0)));
        let more = [(60_000, 3, 3, "+"), (60_030, 3, 3, "200")];
        assert_eq!(figures(&[&events[..], &more].concat()), (2, 0, Some(60.0), Some(90.0)));
    }

    #[test]
    fn repeats_and_late_copies_begin_no_attempt() {
        let events =
            [(0, 1, 1, "-"), (500, 1, 1, "-"), (600, 1, 1, "200"), (700, 1, 1, "-"), (800, 1, 1, "200")];
        assert_eq!(figures(&events), (1, 0, Some(600.0), Some(600.0)));
        let late = [(0, 1, 1, "-"), (10, 1, 1, "401"), (20, 2, 2, "+"), (30, 1, 1, "-"), (40, 2, 2, "200")];
        assert_eq!(figures(&late), (1, 0, Some(40.0), Some(40.0)));
    }

    /// The proxy's copy is answered first; what the phone waits for is the answer on its own hop.
    #[test]
    fn on_several_hops_the_answer_on_the_first_counts() {
        let hops = [(0, 1, 1, "-"), (5, 1, 9, "-"), (40, 1, 9, "200"), (45, 1, 1, "200"), (46, 1, 9, "200")];
        assert_eq!(figures(&hops), (1, 0, Some(45.0), Some(45.0)));
        // It may not pass here.
        assert_eq!(figures(&hops[..3]), (1, 0, Some(40.0), Some(40.0)));
    }

    #[test]
    fn no_answer_an_unanswered_challenge_and_a_final_failure_fail() {
        assert_eq!(figures(&[(0, 1, 1, "-")]), (1, 1, None, None));
        assert_eq!(figures(&[(0, 1, 1, "-"), (1, 1, 1, "100")]), (1, 1, None, None));
        assert_eq!(figures(&[(0, 1, 1, "-"), (1, 1, 1, "407")]), (1, 1, None, None));
        assert_eq!(figures(&[(0, 1, 1, "-"), (1, 1, 1, "403")]), (1, 1, None, None));
        // One without credentials answers no challenge, nor does one that comes a minute later.
        let again = [(0, 1, 1, "-"), (1, 1, 1, "401"), (900, 2, 2, "-"), (910, 2, 2, "401")];
        assert_eq!(figures(&again), (2, 2, None, None));
        let later = [(0, 1, 1, "-"), (1, 1, 1, "401"), (60_000, 2, 2, "+"), (60_010, 2, 2, "200")];
        assert_eq!(figures(&later), (2, 1, Some(10.0), Some(10.0)));
        // A new number while nothing was answered: the phone gave up.
        assert_eq!(
            figures(&[(0, 1, 1, "-"), (9, 2, 2, "-"), (19, 2, 2, "200")]),
            (2, 1, Some(10.0), Some(10.0))
        );
    }

    #[test]
    fn a_redirect_neither_fails_nor_has_a_delay() {
        assert_eq!(figures(&[(0, 1, 1, "-"), (5, 1, 1, "302")]), (1, 0, None, None));
    }

    #[test]
    fn a_challenge_may_be_answered_under_its_own_number() {
        let events = [(0, 1, 1, "-"), (5, 1, 1, "401"), (10, 1, 2, "+"), (15, 1, 2, "403")];
        assert_eq!(figures(&events), (1, 1, None, None));
    }

    #[test]
    fn a_stale_nonce_and_two_proxies_that_ask_are_one_attempt() {
        let events = [
            (0, 7, 1, "+"),
            (5, 7, 1, "401"),
            (10, 8, 2, "+"),
            (15, 8, 2, "407"),
            (20, 9, 3, "+"),
            (30, 9, 3, "200"),
        ];
        assert_eq!(figures(&events), (1, 0, Some(30.0), Some(30.0)));
    }
}
