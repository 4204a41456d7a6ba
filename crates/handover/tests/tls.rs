//! TLS with certificates of both sides.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::function::{Function, Stream, assert_complete};
use common::{identifiers, nanos};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ringtap_handover::{
    BufferKey, Cin, Content, ContentKind, Delivery, Direction, HandoverError, MediationFunction, Pace, Peer,
    Product, Sent, Settings, TimeFormat, Tls, Warrant,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key in PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn server(authority: &Authority) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let (certificate, key) = authority.issue("mediation.example");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    Arc::new(config)
}

fn accept(config: &Arc<ServerConfig>, mut tcp: TcpStream) -> Option<Box<dyn Stream>> {
    let mut connection = ServerConnection::new(Arc::clone(config)).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut tcp).ok()?;
    }
    Some(Box::new(StreamOwned::new(connection, tcp)))
}

fn start(directory: &Path, address: std::net::SocketAddr, tls: Tls) -> Delivery {
    let function = MediationFunction {
        name: "agency".into(),
        hi2: None,
        hi3: Some(Peer { address, tls: Some(tls) }),
        format: TimeFormat::MicroSeconds,
        pace: Pace { confirm: Duration::from_millis(5), retry: Duration::from_millis(5), ..Pace::default() },
        keep_alive: common::keep_alive_identifiers(),
    };
    Delivery::start(&Settings {
        functions: vec![function],
        directory: directory.to_owned(),
        key: BufferKey::new([7; 32]),
        most_unwritten: 64 << 20,
        alarms: Duration::from_secs(1),
    })
    .unwrap()
}

#[test]
fn product_goes_by_tls_to_whom_both_certificates_name() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue("ringtap.example");
    let (listener, address) = Function::listener();
    let config = server(&authority);
    let function = Function::start_with(listener, vec![], move |tcp| accept(&config, tcp));
    let directory = tempfile::tempdir().unwrap();
    let pem = |authority: &Authority, name: &str| {
        Tls::from_pem(authority.pem().as_bytes(), certificate.as_bytes(), key.as_bytes(), name).unwrap()
    };

    // Neither a server of another authority nor one of another name is told anything.
    for tls in [pem(&Authority::new(), "mediation.example"), pem(&authority, "other.example")] {
        let other = tempfile::tempdir().unwrap();
        let delivery = start(other.path(), address, tls);
        let warrant = Warrant { identifiers: identifiers(), key: None, most_waiting: 1 << 20 };
        let warrant = delivery.open("agency", &warrant).unwrap();
        let content =
            Content { at: nanos(), direction: Direction::ToTarget, kind: ContentKind::RTP, packet: &[1; 99] };
        assert!(matches!(delivery.send(warrant, Cin(1), Product::Content(&content)), Sent::Accepted(_)));
        while delivery.status()[0].counts.failed == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(delivery.status()[0].counts.connections, 0);
        assert!(!delivery.stop(Duration::ZERO));
    }
    assert!(function.arrived().is_empty());

    let delivery = start(directory.path(), address, pem(&authority, "mediation.example"));
    let warrant = delivery
        .open("agency", &Warrant { identifiers: identifiers(), key: None, most_waiting: 1 << 30 })
        .unwrap();
    for _ in 0..3_000 {
        let content = Content {
            at: nanos(),
            direction: Direction::ToTarget,
            kind: ContentKind::RTP,
            packet: &[1; 999],
        };
        assert!(matches!(delivery.send(warrant, Cin(1), Product::Content(&content)), Sent::Accepted(_)));
    }
    function.wait(|arrived| arrived.len() >= 3_000);
    assert!(delivery.stop(Duration::from_secs(120)));
    assert_complete(&function.arrived(), &[((identifiers().liid, Cin(1)), 3_000)]);
}

#[test]
fn what_is_no_certificate_is_refused_with_its_reason() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue("ringtap.example");
    let (other, _) = authority.issue("ringtap.example");
    let of = |authorities: &str, certificate: &str, key: &str, name: &str| {
        let tls = Tls::from_pem(authorities.as_bytes(), certificate.as_bytes(), key.as_bytes(), name);
        match tls.unwrap_err() {
            HandoverError::Tls(text) => text,
            error => panic!("{error}"),
        }
    };
    let ca = authority.pem();
    assert!(of("", &certificate, &key, "a.example").starts_with("the authorities' certificates"));
    assert!(of(&ca, "", &key, "a.example").starts_with("our certificate"));
    assert!(of(&ca, &certificate, "", "a.example").starts_with("the key of our certificate"));
    assert!(of(&ca, &other, &key, "a.example").starts_with("our certificate and its key"));
    assert!(of(&ca, &certificate, &key, "not a name").starts_with("not a name"));
}
