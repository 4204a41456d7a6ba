//! How notices reach the process that tells the targets, and what it says of them: lines of JSON, a
//! connection for each exchange. Neither side believes the other: lines, their number and the time are
//! bounded.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringtap_notify::{Notice, TargetReport};
use serde::{Deserialize, Serialize};

/// A notice, and the number that reports name it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) notice: Notice,
}

/// What has become of all notices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// When the process was started, in nanoseconds: another one knows nothing of earlier notices.
    pub(crate) started: u64,
    pub(crate) reports: Vec<TargetReport>,
}

/// Sends notices, and waits for the answer.
pub(crate) fn ask(mut connection: &UnixStream, notices: &[Numbered]) -> io::Result<Answer> {
    limit(connection)?;
    for notice in notices {
        let mut line = serde_json::to_vec(notice)?;
        line.push(b'\n');
        // The other side refuses the whole connection for a longer one.
        if line.len() <= LONGEST_LINE {
            connection.write_all(&line)?;
        }
    }
    connection.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    connection.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// Reads notices until the other side has no more, and answers.
pub(crate) fn answer(
    mut connection: &UnixStream,
    push: impl Fn(u64, Notice),
    report: impl FnOnce() -> Answer,
) -> io::Result<()> {
    limit(connection)?;
    let mut reader = BufReader::new(connection);
    for _ in 0..=MOST_NOTICES {
        let mut line = Vec::new();
        reader.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return connection.write_all(&serde_json::to_vec(&report())?);
        }
        if line.last() != Some(&b'\n') {
            break;
        }
        let Numbered { number, notice } = serde_json::from_slice(&line)?;
        push(number, notice);
    }
    Err(io::ErrorKind::InvalidData.into())
}

fn limit(connection: &UnixStream) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))
}

/// Most notices in one exchange.
pub(crate) const MOST_NOTICES: usize = 4096;
const LONGEST_LINE: usize = 64 << 10;
const LONGEST_ANSWER: u64 = 4 << 20;
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    /// What becomes of these bytes.
    fn told(bytes: &[u8]) -> (usize, io::Result<()>) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let bytes = bytes.to_owned();
        let writer = thread::spawn(move || {
            // An error means that the other side has refused the rest.
            let _ = (&ours).write_all(&bytes);
            let _ = ours.shutdown(Shutdown::Write);
            ours
        });
        let number = Mutex::new(0);
        let push = |_, _| *number.lock().expect("no panic") += 1;
        let result = answer(&theirs, push, || Answer { started: 1, reports: Vec::new() });
        drop(theirs);
        drop(writer.join().expect("it ends"));
        (number.into_inner().expect("no panic"), result)
    }

    #[test]
    fn notices_arrive_with_their_numbers_and_are_answered() {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let sent: Vec<Numbered> =
            (1..4).map(|number| Numbered { number, notice: crate::notices::tests::notice(1) }).collect();
        let reports = vec![TargetReport { target: "noc".into(), waiting: vec![2], ..Default::default() }];
        let expected = Answer { started: 7, reports };
        let answered = expected.clone();
        let client = thread::spawn(move || {
            let got = Mutex::new(Vec::new());
            let push = |number, notice| got.lock().expect("no panic").push(Numbered { number, notice });
            answer(&theirs, push, || answered).expect("it is right");
            got.into_inner().expect("no panic")
        });
        assert_eq!(ask(&ours, &sent).expect("an answer"), expected);
        assert_eq!(client.join().expect("it ends"), sent);
    }

    #[test]
    fn what_is_no_notice_or_too_much_ends_the_connection() {
        assert!(matches!(told(b""), (0, Ok(()))));
        for wrong in [&b"x\n"[..], b"{}\n", b"{\"number\":1}", &[b'x'; 100_000], &[0; 10]] {
            assert!(matches!(told(wrong), (0, Err(_))));
        }
        let notice = Numbered { number: 1, notice: crate::notices::tests::notice(1) };
        let mut line = serde_json::to_vec(&notice).expect("texts and numbers");
        line.push(b'\n');
        assert!(matches!(told(&line.repeat(MOST_NOTICES)), (MOST_NOTICES, Ok(()))));
        assert!(told(&line.repeat(MOST_NOTICES + 2)).1.is_err());
    }
}
