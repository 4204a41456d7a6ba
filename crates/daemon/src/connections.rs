//! Serves a bounded number of connections of a socket, each in a thread of its own and for a limited time.
//!
//! Nobody can lock others out: a client has a share of the connections, and the last ones are reserved for
//! those who run the daemon.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A client: what its share of the connections is counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Peer {
    /// A user, or an address.
    pub(crate) name: String,
    /// Root, the daemon's own user, or this machine: it may use the reserved connections.
    pub(crate) is_trusted: bool,
}

/// A connection whose waiting can be limited.
pub(crate) trait Connection: Send + 'static {
    /// Limits the next read and the next write.
    fn wait_at_most(&self, time: Duration) -> io::Result<()>;
}

impl Connection for UnixStream {
    fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

impl Connection for TcpStream {
    fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

/// A connection until its time is over, however its bytes trickle.
pub(crate) struct Bounded<'a, C> {
    connection: &'a C,
    deadline: Instant,
}

impl<C: Connection> Bounded<'_, C> {
    fn limit(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.connection.wait_at_most(left)
    }
}

impl<C: Connection> Read for Bounded<'_, C>
where
    for<'b> &'b C: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        let mut connection = self.connection;
        connection.read(buffer)
    }
}

impl<C: Connection> Write for Bounded<'_, C>
where
    for<'b> &'b C: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit()?;
        let mut connection = self.connection;
        connection.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Accepts connections in a thread of its own, for as long as the process lives. `serve` handles one of them
/// within [`TIMEOUT`]; `refuse` gets those above a share. `name` is the thread's name and the subject of log
/// lines.
pub(crate) fn serve<L, C>(
    name: &'static str,
    listener: L,
    accept: fn(&L) -> io::Result<(C, Peer)>,
    serve: impl Fn(&mut Bounded<'_, C>, &C, &Peer) -> io::Result<()> + Send + Sync + 'static,
    refuse: fn(&C),
) -> io::Result<()>
where
    L: Send + 'static,
    C: Connection,
{
    let (open, serve) = (Arc::new(Open::default()), Arc::new(serve));
    let accept = move || {
        loop {
            let Ok((connection, peer)) = accept(&listener) else {
                // The process may have too many open files: wait, or this loop would spin.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if !open.admit(&peer) {
                log::debug!(target: name, "too many connections of {}: one is refused", peer.name);
                refuse(&connection);
                continue;
            }
            let (serve, own, client) = (Arc::clone(&serve), Arc::clone(&open), peer.clone());
            let run = move || {
                let deadline = Instant::now() + TIMEOUT;
                let mut bounded = Bounded { connection: &connection, deadline };
                if let Err(error) = serve(&mut bounded, &connection, &client) {
                    log::debug!(target: name, "a connection of {} failed: {error}", client.name);
                }
                own.leave(&client);
            };
            if thread::Builder::new().name(name.into()).spawn(run).is_err() {
                open.leave(&peer);
            }
        }
    };
    thread::Builder::new().name(name.into()).spawn(accept).map(|_| ())
}

/// The open connections of each client.
#[derive(Debug, Default)]
struct Open(Mutex<BTreeMap<Peer, usize>>);

impl Open {
    /// Counts a connection, unless its client has its share or all are taken.
    fn admit(&self, peer: &Peer) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = open.values().sum();
        let most = if peer.is_trusted { CONNECTIONS } else { CONNECTIONS - RESERVED };
        let own = open.entry(peer.clone()).or_default();
        let admitted = all < most && *own < SHARE;
        *own += usize::from(admitted);
        open.retain(|_, count| *count > 0);
        admitted
    }

    fn leave(&self, peer: &Peer) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(peer) {
            *own -= 1;
        }
        open.retain(|_, count| *count > 0);
    }
}

/// Longest time for a request and its answer together.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Connections served at once; of one client; and reserved for trusted clients.
const CONNECTIONS: usize = 16;
const SHARE: usize = 4;
const RESERVED: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str, is_trusted: bool) -> Peer {
        Peer { name: name.to_owned(), is_trusted }
    }

    #[test]
    fn nobody_takes_more_than_a_share_and_the_last_are_reserved() {
        let open = Open::default();
        let admitted = |who: &Peer, times: usize| (0..times).filter(|_| open.admit(who)).count();
        for user in ["a", "b", "c"] {
            assert_eq!(admitted(&peer(user, false), 10), SHARE, "{user}");
        }
        assert_eq!(admitted(&peer("d", false), 10), 0);
        assert_eq!(admitted(&peer("root", true), 10), SHARE);
        open.leave(&peer("b", false));
        assert_eq!(admitted(&peer("b", false), 10), 0, "the reserve is taken, all places are too");
        open.leave(&peer("root", true));
        open.leave(&peer("a", false));
        open.leave(&peer("a", false));
        assert_eq!(admitted(&peer("d", false), 10), 0);
        for _ in 0..SHARE {
            open.leave(&peer("c", false));
        }
        assert_eq!(admitted(&peer("d", false), 10), SHARE);
        assert!(open.0.lock().expect("no thread failed").values().all(|count| *count > 0));
    }

    #[test]
    fn bytes_that_trickle_do_not_hold_a_connection_open() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let trickle = thread::spawn(move || {
            while theirs.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        });
        let deadline = Instant::now() + Duration::from_millis(50);
        let mut bounded = Bounded { connection: &ours, deadline };
        let error = io::copy(&mut bounded, &mut io::sink()).expect_err("it would go on forever");
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drop(ours);
        trickle.join().expect("it ends with the connection");
    }
}
