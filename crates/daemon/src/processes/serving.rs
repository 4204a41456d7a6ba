//! Serves the connections of the daemon in one of its processes.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::processes::channel;

/// Serves a connection.
pub(crate) type Serve = Arc<dyn Fn(UnixStream) -> io::Result<()> + Send + Sync>;

/// What a process does until the other end of its socket is closed.
pub(crate) type Work = Box<dyn FnOnce(UnixStream) -> anyhow::Result<()>>;

/// Serves each connection in a thread of its own, at most so many at once.
pub(crate) fn serve_all(socket: &UnixStream, serve: Serve, most: usize) -> anyhow::Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    while let Some(connection) = channel::accept(socket)? {
        if open.load(Ordering::Relaxed) >= most {
            log::error!(target: "run", "too many connections between the daemon's processes: one is refused");
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (serve, own) = (Arc::clone(&serve), Arc::clone(&open));
        thread::Builder::new().spawn(move || {
            if let Err(error) = serve(connection) {
                log::debug!(target: "run", "a connection between the daemon's processes failed: {error}");
            }
            own.fetch_sub(1, Ordering::Relaxed);
        })?;
    }
    Ok(())
}
