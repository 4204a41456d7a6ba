//! Connections to another process of the daemon: one end of a pair of sockets is passed over the socket that
//! the process was started with.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Makes a connection to the process at the other end.
pub(crate) fn connect(socket: &UnixStream) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    pass(socket, &theirs)?;
    Ok(ours)
}

/// Passes a connection to the process at the other end.
pub(crate) fn pass(socket: &UnixStream, connection: &UnixStream) -> io::Result<()> {
    let passed = [connection.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next connection that the other end makes; None once it has ended.
pub(crate) fn accept(socket: &UnixStream) -> io::Result<Option<UnixStream>> {
    loop {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC);
        let ended = match got {
            Err(rustix::io::Errno::INTR) => continue,
            got => got?.bytes == 0,
        };
        let passed = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut passed) => passed.next(),
            _ => None,
        });
        match passed {
            Some(passed) => return Ok(Some(UnixStream::from(passed))),
            None if ended => return Ok(None),
            // A byte without a connection.
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn connections_are_passed_one_by_one_until_the_other_side_ends() {
        let (daemon, process) = UnixStream::pair().expect("a pair of sockets");
        let mut first = connect(&daemon).expect("a connection");
        let mut second = connect(&daemon).expect("a connection");
        (&daemon).write_all(b"?").expect("a byte");
        for (number, ours) in [(1, &mut first), (2, &mut second)] {
            let mut theirs = accept(&process).expect("it is there").expect("it goes on");
            theirs.write_all(&[number]).expect("it is open");
            let mut byte = [0];
            ours.read_exact(&mut byte).expect("it is open");
            assert_eq!(byte, [number]);
        }
        drop(daemon);
        assert!(accept(&process).expect("no error").is_none());
    }
}
