//! Drives one link: the socket, the buffer and the clock.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use ringtap_model::Nanos;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::buffer::Buffer;
use super::link::{Action, Ended, Link, Octets};
use super::losses::LossCause;
use super::peer::{self, Connecting, Peer, Stream};
use super::shared::SharedLink;

/// One link with everything that it needs.
pub(crate) struct Driver {
    pub(crate) shared: Arc<SharedLink>,
    pub(crate) link: Link,
    pub(crate) buffer: Buffer,
    pub(crate) peer: Peer,
    connecting: Option<Connecting>,
    stream: Option<Stream>,
    /// What is being written, and how much of it was.
    out: Option<(Octets, usize)>,
    needs_flush: bool,
    input: Box<[u8]>,
    reads_first: bool,
}

enum Event {
    Product,
    Connected(io::Result<Stream>),
    Read(usize),
    Wrote(usize),
    Flushed,
    Closed,
    Time,
}

impl Driver {
    pub(crate) fn new(shared: Arc<SharedLink>, link: Link, buffer: Buffer, peer: Peer) -> Self {
        Self {
            shared,
            link,
            buffer,
            peer,
            connecting: None,
            stream: None,
            out: None,
            needs_flush: false,
            input: vec![0; 4096].into_boxed_slice(),
            reads_first: false,
        }
    }

    /// Runs until the delivery stops.
    pub(crate) async fn run(mut self) {
        loop {
            let stop = self.shared.stop.load(Ordering::Acquire);
            self.keep_product();
            let now = self.shared.clock.now();
            match self.link.poll(now) {
                Action::Connect => self.connecting = Some(peer::connect(&self.peer)),
                Action::Disconnect => self.disconnect(),
                Action::Wait => {}
            }
            self.settle();
            self.fill(now);
            self.shared.publish(&self.link);
            if stop != 0 && (now.0 >= stop || self.buffer.is_all_confirmed()) {
                return;
            }
            let deadline = [self.link.deadline().map(|at| at.0), (stop != 0).then_some(stop)];
            let wait = deadline
                .into_iter()
                .flatten()
                .min()
                .map_or(LONGEST, |at| Duration::from_nanos(at.saturating_sub(now.0)));
            let event = self.wait(wait.min(LONGEST)).await;
            self.handle(event);
        }
    }

    /// Writes what came in since the last time.
    fn keep_product(&mut self) {
        let taken = self.shared.intake().take();
        let Some((number, batch)) = taken else { return };
        let batch = Arc::new(batch);
        let shared = &self.shared;
        let result = self.buffer.append(&batch, || shared.intake().counters_before(&batch));
        self.shared.kept(number, result.is_ok());
        if let Err(error) = result {
            let place = self.buffer.directory().display();
            log::error!("lost {} PDUs: cannot write to {place}: {error}", batch.entries.len());
            self.shared.intake().lost(&batch, LossCause::Disk);
        }
    }

    /// Forgets what arrived.
    fn settle(&mut self) {
        let Some((confirmed, arrived)) = self.link.take_confirmed() else { return };
        let mut intake = self.shared.intake();
        for sent in &arrived {
            intake.arrived(&sent.batch);
        }
        drop(intake);
        if let Err(error) = self.buffer.confirm(confirmed) {
            // It is sent again after a restart, with the same numbers.
            log::warn!("cannot note what arrived in {}: {error}", self.buffer.directory().display());
        }
        let pdus = arrived.iter().map(|sent| sent.batch.entries.len() as u64).sum();
        self.shared.arrived(pdus);
    }

    /// Takes the next octets to write.
    fn fill(&mut self, now: Nanos) {
        if self.out.is_some() || self.stream.is_none() {
            return;
        }
        let Self { link, buffer, shared, .. } = self;
        let next = link.next_octets(now, || {
            loop {
                match buffer.next() {
                    Ok(next) => return next,
                    Err(skipped) => {
                        log::error!(
                            "lost {skipped} batches: {} cannot be read",
                            buffer.directory().display()
                        );
                        shared.unreadable(skipped);
                    }
                }
            }
        });
        self.out = next.map(|octets| (octets, 0));
    }

    fn handle(&mut self, event: Event) {
        let now = self.shared.clock.now();
        match event {
            Event::Product | Event::Time => {}
            Event::Connected(Ok(stream)) => {
                self.connecting = None;
                self.buffer.rewind();
                self.stream = Some(stream);
                self.link.connected(now);
                log::info!("connected to mediation function {}", self.shared.name);
            }
            Event::Connected(Err(error)) => {
                self.connecting = None;
                log::warn!("cannot connect to mediation function {}: {error}", self.shared.name);
                self.link.ended(now, Ended::NotConnected);
            }
            Event::Read(octets) => {
                self.link.received(now, &self.input[..octets]);
            }
            Event::Wrote(octets) => {
                self.needs_flush = true;
                if let Some((out, written)) = &mut self.out {
                    *written += octets;
                    let all = *written >= out.as_bytes().len();
                    self.link.written(now, all);
                    if all {
                        self.out = None;
                    }
                }
            }
            Event::Flushed => self.needs_flush = false,
            Event::Closed => {
                log::warn!("mediation function {} closed the connection", self.shared.name);
                self.link.ended(now, Ended::Closed);
                self.disconnect();
            }
        }
    }

    fn disconnect(&mut self) {
        self.connecting = None;
        self.stream = None;
        self.out = None;
        self.needs_flush = false;
    }

    async fn wait(&mut self, wait: Duration) -> Event {
        let shared = Arc::clone(&self.shared);
        let mut product = pin!(shared.woken.notified());
        let mut sleep = pin!(tokio::time::sleep_until(Instant::now() + wait));
        poll_fn(|context| {
            if product.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Product);
            }
            match self.poll_stream(context) {
                Poll::Ready(event) => Poll::Ready(event),
                Poll::Pending => poll_sleep(sleep.as_mut(), context),
            }
        })
        .await
    }

    /// Reads and writes in turn, so that a peer that sends without end is still sent to.
    fn poll_stream(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Some(connecting) = &mut self.connecting {
            return connecting.as_mut().poll(context).map(Event::Connected);
        }
        self.reads_first = !self.reads_first;
        for reads in [self.reads_first, !self.reads_first] {
            let polled = if reads { self.poll_read(context) } else { self.poll_write(context) };
            if polled.is_ready() {
                return polled;
            }
        }
        Poll::Pending
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let Some(stream) = &mut self.stream else { return Poll::Pending };
        let mut input = ReadBuf::new(&mut self.input);
        match Pin::new(stream).poll_read(context, &mut input) {
            Poll::Ready(Ok(())) if !input.filled().is_empty() => {
                Poll::Ready(Event::Read(input.filled().len()))
            }
            Poll::Ready(_) => Poll::Ready(Event::Closed),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let Some(stream) = &mut self.stream else { return Poll::Pending };
        let written = match &self.out {
            Some((out, written)) => {
                let rest = &out.as_bytes()[*written..];
                Pin::new(stream).poll_write(context, rest).map_ok(Event::Wrote)
            }
            None if self.needs_flush => Pin::new(stream).poll_flush(context).map_ok(|()| Event::Flushed),
            None => return Poll::Pending,
        };
        written.map(|written| written.unwrap_or(Event::Closed))
    }
}

fn poll_sleep(sleep: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<Event> {
    sleep.poll(context).map(|()| Event::Time)
}

/// Longest sleep.
const LONGEST: Duration = Duration::from_secs(3600);
