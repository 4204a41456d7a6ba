//! A blocking HTTP server of two pages, /metrics and /health, with limits on connections, time and request
//! size.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use super::connections::{self, Peer};
use super::metrics;
use super::shared_status::SharedStatus;
use super::tls::{Guard, ReadWrite};

/// Listens, before privileges are dropped.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
}

/// Serves both pages for as long as the process lives.
pub(crate) fn serve(listener: TcpListener, guard: Guard, shared_status: Arc<SharedStatus>) -> io::Result<()> {
    let refuse = |mut connection: &TcpStream| {
        let _ = answer(&mut connection, 503, "text/plain", "too many connections\n", false);
    };
    let accept = |listener: &TcpListener| {
        let (connection, address) = listener.accept()?;
        let ip = address.ip();
        Ok((connection, Peer { name: ip.to_string(), is_trusted: ip.is_loopback() }))
    };
    connections::serve(
        "metrics",
        listener,
        accept,
        move |bounded, _, _| {
            guard.serve(bounded, |connection| serve_connection(connection, &guard, &shared_status))
        },
        refuse,
    )
}

/// Reads one request and answers it.
fn serve_connection(
    connection: &mut dyn ReadWrite,
    guard: &Guard,
    shared_status: &SharedStatus,
) -> io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = connection.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        head.extend(&buffer[..read]);
        if head.len() > REQUEST {
            return answer(connection, 431, "text/plain", "the request is longer than 8 KiB\n", false);
        }
    }
    if !guard.admits(&head) {
        return answer(
            connection,
            401,
            "text/plain",
            "the request has not the token of [metrics] token\n",
            false,
        );
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let without_body = method == "HEAD";
    if method != "GET" && !without_body {
        return answer(connection, 405, "text/plain", "only GET and HEAD are allowed\n", false);
    }
    match target.split('?').next().unwrap_or_default() {
        "/metrics" => {
            let page = metrics::page(shared_status);
            answer(connection, 200, metrics::CONTENT_TYPE, &page, without_body)
        }
        "/health" => {
            let (status, page) = health(shared_status);
            answer(connection, status, "application/json", &page, without_body)
        }
        _ => answer(
            connection,
            404,
            "text/plain",
            "not found: the pages are /metrics and /health\n",
            without_body,
        ),
    }
}

/// Status 200 while every worker reports. Waiting records are reported, but are no failure.
fn health(shared_status: &SharedStatus) -> (u16, String) {
    let store = shared_status.snapshot().store;
    let (code, status, why) = match shared_status.stalled() {
        Some(worker) => (503, "stalled", format!("worker {worker} has stopped reporting")),
        None if store.away => {
            (200, "degraded", "the day files accept no records: they wait in the outbox".to_owned())
        }
        None if store.outbox_records > 0 => (200, "degraded", "records wait in the outbox".to_owned()),
        None => (200, "ok", String::new()),
    };
    let page = serde_json::json!({
        "status": status,
        "why": (!why.is_empty()).then_some(why),
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": shared_status.started.elapsed().as_secs(),
    });
    (code, format!("{page}\n"))
}

fn answer(
    connection: &mut (impl Write + ?Sized),
    status: u16,
    kind: &str,
    body: &str,
    without_body: bool,
) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    // RFC 9110 section 11.6.1, RFC 6750 section 3.
    let challenge = if status == 401 { "WWW-Authenticate: Bearer\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\n{challenge}Content-Type: {kind}\r\nContent-Length: {}\r\nConnection: \
        close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    if !without_body {
        connection.write_all(body.as_bytes())?;
    }
    connection.flush()
}

/// Longest request, in bytes.
const REQUEST: usize = 8 << 10;
