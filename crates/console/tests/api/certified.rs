//! Certificates from an ACME server: ordered, renewed, kept, and what happens where there are none.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_console::{AcmeSettings, Security};

use crate::authority::{Authority, NAME, handshake};
use crate::server::Server;

/// Whoever waits longer waits in vain, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A console whose certificates that server issues.
fn console(directory: String, root: &str, files: &Path) -> Server {
    let ca = files.join("root.pem");
    std::fs::write(&ca, root).unwrap();
    Server::start_secured(Security::Acme(AcmeSettings {
        directory,
        contact: vec!["noc@example.org".into()],
        domains: vec![NAME.into()],
        ca: Some(ca),
        directory_of_files: files.to_owned(),
        patience: Duration::from_millis(20),
    }))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The certificate that the next connection gets.
fn served(server: &Server) -> Vec<u8> {
    handshake(server.address, &[b"http/1.1"]).0.to_vec()
}

#[test]
fn a_certificate_is_issued_kept_and_served_again_after_a_restart() {
    let files = tempfile::tempdir().unwrap();
    let authority = Authority::start(any());
    // Nonces of the first two answers are forgotten as soon as they are given: a request is made again.
    authority.set(|state| state.forgets = 2);
    let first = console(authority.directory(), &authority.root, files.path());
    authority.set(|state| state.console = Some(first.address));
    until("a certificate is issued", || authority.state.lock().unwrap().issued == 1);
    let kept = files.path().join("acme/certificate.pem");
    until("it is kept", || kept.exists());
    let own = std::fs::read(files.path().join("certificate.pem")).unwrap();
    until("it is served", || !pem_has(&own, &served(&first)));
    let certificate = served(&first);
    for name in ["account.json", "certificate.pem"] {
        let mode = std::fs::metadata(files.path().join("acme").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(authority.state.lock().unwrap().bad_nonces, 1);
    drop(first);
    let second = console(authority.directory(), &authority.root, files.path());
    assert_eq!(served(&second), certificate);
    let state = authority.state.lock().unwrap();
    assert_eq!((state.issued, state.accounts), (1, 1));
}

#[test]
fn without_the_server_the_own_certificate_is_served_until_it_is_there() {
    let files = tempfile::tempdir().unwrap();
    let authority = Authority::start(any());
    authority.set(|state| state.refuses = true);
    let server = console(authority.directory(), &authority.root, files.path());
    authority.set(|state| state.console = Some(server.address));
    let own = std::fs::read(files.path().join("certificate.pem")).unwrap();
    until("the refusal is told", || server.certificate_check().1.contains("not for you, says the policy"));
    let (ok, told) = server.certificate_check();
    assert!(!ok && told.starts_with("browsers do not trust the one"), "{told}");
    assert!(pem_has(&own, &served(&server)));
    authority.set(|state| state.refuses = false);
    until("a certificate is issued", || server.certificate_check().0);
    assert!(!pem_has(&own, &served(&server)));
    drop(server);

    // Nobody listens there, and the console is served all the same.
    let away = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind(any()).unwrap().local_addr().unwrap();
    let server = console(format!("https://{port}/directory"), &authority.root, away.path());
    until("that it is away is told", || server.certificate_check().1.contains("does not answer"));
    let own = std::fs::read(away.path().join("certificate.pem")).unwrap();
    assert!(pem_has(&own, &served(&server)));
}

#[test]
fn a_certificate_is_renewed_and_the_old_one_stays_where_that_fails() {
    let files = tempfile::tempdir().unwrap();
    let authority = Authority::start(any());
    // Its last third begins after four seconds.
    authority.set(|state| state.lifetime = Duration::from_secs(6));
    let server = console(authority.directory(), &authority.root, files.path());
    authority.set(|state| state.console = Some(server.address));
    let own = std::fs::read(files.path().join("certificate.pem")).unwrap();
    until("a certificate is issued", || !pem_has(&own, &served(&server)));
    let first = served(&server);
    until("it is renewed", || served(&server) != first);
    assert!(authority.state.lock().unwrap().issued >= 2);
    authority.set(|state| state.refuses = true);
    let last = served(&server);
    until("that it cannot be is told", || {
        server.certificate_check().1.contains("not for you, says the policy")
    });
    assert_eq!(served(&server), last);
    authority.set(|state| state.refuses = false);
    until("it is renewed again", || served(&server) != last);
}

/// Whether a file in PEM has this certificate.
fn pem_has(pem: &[u8], der: &[u8]) -> bool {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    CertificateDer::from_pem_slice(pem).unwrap().as_ref() == der
}
