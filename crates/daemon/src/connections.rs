//! Serves a bounded number of connections of a socket, each in a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Accepts connections in a thread of its own, for as long as the process lives. `serve` handles one of them;
/// `refuse` gets those above [`CONNECTIONS`]. `name` is the thread's name and the subject of log lines.
pub(crate) fn serve<L, C>(
    name: &'static str,
    listener: L,
    accept: fn(&L) -> io::Result<C>,
    serve: impl Fn(&C) -> io::Result<()> + Send + Sync + 'static,
    refuse: fn(&C),
) -> io::Result<()>
where
    L: Send + 'static,
    C: Send + 'static,
{
    let (open, serve) = (Arc::new(AtomicUsize::new(0)), Arc::new(serve));
    let accept = move || {
        loop {
            let Ok(connection) = accept(&listener) else {
                // The process may have too many open files: wait, or this loop would spin.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                refuse(&connection);
                continue;
            }
            let (serve, own) = (Arc::clone(&serve), Arc::clone(&open));
            let run = move || {
                if let Err(error) = serve(&connection) {
                    log::debug!(target: name, "a connection failed: {error}");
                }
                own.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().name(name.into()).spawn(run).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    thread::Builder::new().name(name.into()).spawn(accept).map(|_| ())
}

/// Longest time for a request to arrive, and for an answer to be sent.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Connections served at once.
const CONNECTIONS: usize = 16;
