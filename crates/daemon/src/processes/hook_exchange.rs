//! How a call reaches the process that delivers it, and what that says: a line with the name of the hook, a
//! line with the sizes of what follows, the document, the sound; then the answer, JSON. Sizes and times are
//! bounded on both sides.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringtap_hook::Sound;
use ringtap_notify::NotifyError;
use serde::{Deserialize, Serialize};

use crate::processes::child::read_line;

/// What follows.
#[derive(Debug, Serialize, Deserialize)]
struct Sizes {
    document: u64,
    /// None without sound.
    sound: Option<u64>,
}

/// What has become of a delivery.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    /// What went wrong; None if it was taken.
    problem: Option<String>,
    is_retryable: bool,
}

/// A call to deliver; its sound, if there is any, can be read from the connection once.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) document: Vec<u8>,
    pub(crate) sound_bytes: Option<u64>,
}

/// Sends a call, and waits for the answer: so long at most after it was sent.
pub(crate) fn ask(
    mut connection: &UnixStream,
    hook: &str,
    document: &[u8],
    sound: Option<Sound>,
    patience: Duration,
) -> io::Result<Result<(), NotifyError>> {
    connection.set_write_timeout(Some(WRITING))?;
    connection.set_read_timeout(Some(patience))?;
    let sizes = Sizes { document: document.len() as u64, sound: sound.as_ref().map(|sound| sound.bytes) };
    connection.write_all(format!("{hook}\n{}\n", serde_json::to_string(&sizes)?).as_bytes())?;
    connection.write_all(document)?;
    if let Some(sound) = sound {
        io::copy(&mut sound.file.take(sound.bytes), &mut connection)?;
    }
    connection.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    connection.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    let Answer { problem, is_retryable } = serde_json::from_slice(&answer)?;
    Ok(problem.map_or(Ok(()), |problem| {
        Err(if is_retryable { NotifyError::later(problem) } else { NotifyError::refused(problem) })
    }))
}

/// The name of the hook that a connection is for.
pub(crate) fn hook_of(connection: &UnixStream) -> io::Result<String> {
    connection.set_read_timeout(Some(WRITING))?;
    read_line(connection)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Reads what follows the name, up to the sound.
pub(crate) fn order(connection: &UnixStream) -> io::Result<Order> {
    connection.set_read_timeout(Some(WRITING))?;
    connection.set_write_timeout(Some(WRITING))?;
    let line = read_line(connection)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let sizes: Sizes = serde_json::from_str(&line)?;
    if sizes.document > LONGEST_DOCUMENT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut document = Vec::new();
    connection.take(sizes.document).read_to_end(&mut document)?;
    if document.len() as u64 != sizes.document {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Order { document, sound_bytes: sizes.sound })
}

/// Answers what has become of it.
pub(crate) fn answer(mut connection: &UnixStream, result: &Result<(), NotifyError>) -> io::Result<()> {
    let (problem, is_retryable) = match result {
        Ok(()) => (None, false),
        Err(error) => (Some(error.problem.clone()), error.is_retryable),
    };
    connection.write_all(&serde_json::to_vec(&Answer { problem, is_retryable })?)
}

/// A call has a few thousand streams at most.
const LONGEST_DOCUMENT: u64 = 64 << 20;
const LONGEST_ANSWER: u64 = 64 << 10;
/// How long the other side may take to read or write a piece.
const WRITING: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::thread;

    use super::*;

    #[test]
    fn a_call_arrives_with_its_sound_and_is_answered() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sound");
        std::fs::write(&path, b"RIFF").expect("a file");
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let other = thread::spawn(move || {
            assert_eq!(hook_of(&theirs).expect("a name"), "archive");
            let found = order(&theirs).expect("an order");
            assert_eq!((&*found.document, found.sound_bytes), (&b"{}"[..], Some(4)));
            let mut sound = Vec::new();
            (&theirs).take(4).read_to_end(&mut sound).expect("it is open");
            assert_eq!(sound, b"RIFF");
            answer(&theirs, &Err(NotifyError::refused("no\nthanks"))).expect("it is open");
        });
        let sound = Sound { file: File::open(path).expect("a file"), bytes: 4 };
        let told = ask(&ours, "archive", b"{}", Some(sound), WRITING).expect("an answer");
        assert_eq!(told, Err(NotifyError::refused("no thanks")));
        other.join().expect("no panic");
    }

    #[test]
    fn what_is_no_order_is_refused() {
        for wrong in ["", "x\n", "{}\n", "{\"document\":99999999999}\n", "{\"document\":3}\n{}"] {
            let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
            (&ours).write_all(wrong.as_bytes()).expect("room in the socket");
            drop(ours);
            assert!(order(&theirs).is_err(), "{wrong}");
        }
    }
}
