//! Servers that note what they are told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A certificate for `localhost` that nobody trusts, and its key.
pub(crate) const CERTIFICATE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../ringtap/tests/run/tls/cert.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ringtap/tests/run/tls/key.pem");

/// A server in this process, and what it was told: a request, or a mail with all commands.
pub(crate) struct Double {
    pub(crate) port: u16,
    told: Receiver<String>,
}

/// A connection, with or without TLS.
trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

/// Whether connections are protected.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protection {
    None,
    Tls,
}

impl Double {
    fn start(
        port: u16,
        protection: Protection,
        serve: impl Fn(usize, &mut dyn Connection, &Sender<String>) -> Option<()> + Send + 'static,
    ) -> Self {
        // Also as 127.0.0.3, which the certificate does not name.
        let address = if protection == Protection::Tls { "0.0.0.0" } else { "127.0.0.1" };
        let listener = TcpListener::bind((address, port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, told) = channel();
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let mut connection = protected(connection.unwrap(), protection);
                // None: the other side has closed it.
                let _ = serve(number, &mut *connection, &sender);
            }
        });
        Self { port, told }
    }

    /// Speaks HTTP; `answer` is the answer to each request, by its number, or empty to cut the connection.
    pub(crate) fn http(port: u16, protection: Protection, answer: fn(usize) -> &'static str) -> Self {
        Self::start(port, protection, move |number, connection, told| {
            let mut reader = BufReader::new(connection);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
                if line == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            told.send(head + &String::from_utf8(body).unwrap()).ok()?;
            let status = answer(number);
            if !status.is_empty() {
                let connection = reader.into_inner();
                write!(connection, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .ok()?;
            }
            Some(())
        })
    }

    /// Speaks SMTP; `answer` is the answer to the mail itself, by its number.
    pub(crate) fn smtp(protection: Protection, answer: fn(usize) -> &'static str) -> Self {
        Self::start(0, protection, move |number, connection, told| {
            write!(connection, "220 double ESMTP\r\n").ok()?;
            let mut reader = BufReader::new(connection);
            let (mut all, mut in_mail) = (String::new(), false);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
                all.push_str(&line);
                let said = match (in_mail, line.split([' ', '\r']).next().unwrap_or_default()) {
                    (true, ".") => {
                        told.send(std::mem::take(&mut all)).ok()?;
                        in_mail = false;
                        answer(number)
                    }
                    (true, _) => continue,
                    (_, "EHLO") => "250-double\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME",
                    (_, "DATA") => {
                        in_mail = true;
                        "354 go on"
                    }
                    (_, "AUTH") if line.contains("d3Jvbmc") => "535 5.7.8 no: wrong",
                    (_, "QUIT") => "221 bye",
                    _ => "250 so be it",
                };
                write!(reader.get_mut(), "{said}\r\n").ok()?;
            }
        })
    }

    /// Accepts connections and says nothing.
    pub(crate) fn silent() -> Self {
        Self::start(0, Protection::None, |_, connection, _| {
            let mut bytes = [0; 4096];
            while connection.read(&mut bytes).ok()? > 0 {}
            Some(())
        })
    }

    /// What it is told next.
    pub(crate) fn next(&self) -> String {
        self.told.recv_timeout(Duration::from_secs(20)).expect("it is told something")
    }

    /// Whether it was told nothing more.
    pub(crate) fn is_quiet(&self) -> bool {
        self.told.try_recv().is_err()
    }
}

fn protected(connection: TcpStream, protection: Protection) -> Box<dyn Connection> {
    if protection == Protection::None {
        return Box::new(connection);
    }
    let certificate = CertificateDer::from_pem_file(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_file(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let session = ServerConnection::new(Arc::new(config)).unwrap();
    Box::new(StreamOwned::new(session, connection))
}

/// A port on which nobody listens.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
