//! Metrics for other machines: by TLS, and for those who have the token.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::daemon::{Place, silence};
use crate::replayed::ringtap;

/// A certificate for `localhost` that nobody trusts, and its key.
const CERTIFICATE: &str = include_str!("tls/cert.pem");
const KEY: &str = include_str!("tls/key.pem");
const TOKEN: &str = "a-token-of-32-letters-and-digits";

/// Writes a file that its owner alone may read: its path as a value of the configuration.
fn secret(dir: &Path, name: &str, content: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    format!("{:?}", path.to_str().unwrap())
}

/// Asks for a page by TLS, with a header field.
fn page(port: u16, field: &str) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(25))).unwrap();
    let mut stream = StreamOwned::new(session, connection);
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n{field}\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn beyond_this_machine_metrics_need_tls_and_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let path = place.configure(&silence(dir.path()), "");
    let open = fs::read_to_string(&path).unwrap().replace("127.0.0.1:0", "0.0.0.0:0");
    let file = path.to_str().unwrap();
    let refused = |lines: &str, problem: &str| {
        fs::write(&path, open.replace("[log]", &format!("{lines}\n[log]"))).unwrap();
        let (status, told) = ringtap(&["run", "--check", "-c", file]);
        assert_eq!((status, told.contains(problem)), (Some(2), true), "{lines}: {told}");
    };
    let key = secret(dir.path(), "metrics.key", KEY);
    let token = secret(dir.path(), "metrics.token", TOKEN);
    let certificate = secret(dir.path(), "metrics.crt", CERTIFICATE);
    let tls = format!("certificate = {certificate}\ncertificate_key = {key}");
    refused("", "set certificate, certificate_key too, or listen on 127.0.0.1:0");
    refused(&format!("token = {token}"), "set certificate, certificate_key too");
    refused(&tls, "set token too");
    refused(&format!("certificate = {certificate}\ntoken = {token}"), "certificate_key: is empty");

    fs::write(&path, open.replace("[log]", &format!("{tls}\ntoken = {token}\n[log]"))).unwrap();
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let log = daemon.log();
    let port = log.split("metrics: https://0.0.0.0:").nth(1).unwrap().split('/').next().unwrap();
    let port = port.parse().unwrap();
    let seen = page(port, &format!("Authorization: Bearer {TOKEN}\r\n"));
    assert!(seen.starts_with("HTTP/1.1 200 ") && seen.contains("\nringtap_"), "{seen}");
    for field in ["", "Authorization: Bearer another-token-of-32-letters-here\r\n"] {
        let seen = page(port, field);
        assert!(seen.starts_with("HTTP/1.1 401 ") && !seen.contains("ringtap_"), "{seen}");
    }
    // Without TLS nothing is to be had.
    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(25))).unwrap();
    // In one piece, which may be refused: the daemon hangs up at the first bytes.
    let request = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    let _ = plain.write_all(request.as_bytes());
    let mut seen = Vec::new();
    let _ = plain.read_to_end(&mut seen);
    assert!(!seen.starts_with(b"HTTP"), "{seen:?}");
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
}

#[test]
fn keys_and_tokens_that_others_may_read_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let path = place.configure(&silence(dir.path()), "");
    let plain = fs::read_to_string(&path).unwrap();
    for (content, mode, problem) in [
        (TOKEN, 0o644, "chmod 600"),
        ("short", 0o600, "must hold 16 letters"),
        ("a b c d e f g h i j", 0o600, "spaces"),
    ] {
        let token = secret(dir.path(), "token", content);
        fs::set_permissions(dir.path().join("token"), PermissionsExt::from_mode(mode)).unwrap();
        fs::write(&path, plain.replace("[log]", &format!("token = {token}\n[log]"))).unwrap();
        let (status, log) = place.start().end();
        assert_eq!((status, log.contains(problem), log.contains("token")), (Some(1), true, true), "{log}");
    }
}
