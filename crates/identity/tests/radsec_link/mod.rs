//! A connection of RADIUS over TLS between two ends of rustls, whose keys are logged as OpenSSL logs them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ringtap_testing::tcp;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, RootCertStore, ServerConfig, ServerConnection,
    SupportedCipherSuite, SupportedProtocolVersion,
};

const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 40_000);
const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 250), 2083);

/// Lines of a key log.
#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, client: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        writeln!(self.0.lock().unwrap(), "{label} {} {}", hex(client), hex(secret)).unwrap();
    }
}

/// A connection, and what passed: which end sent it, and the bytes.
pub(crate) struct Link {
    pub(crate) client: ClientConnection,
    pub(crate) server: ServerConnection,
    pub(crate) passed: Vec<(bool, Vec<u8>)>,
    keys: Arc<Lines>,
}

impl Link {
    pub(crate) fn new(version: &'static SupportedProtocolVersion, suite: SupportedCipherSuite) -> Self {
        let own = rcgen::generate_simple_self_signed(vec!["radius.example.org".to_owned()]).unwrap();
        let (certificate, key) = (own.cert.der().clone(), own.signing_key.serialize_der());
        let provider =
            Arc::new(rustls::crypto::CryptoProvider { cipher_suites: vec![suite], ..default_provider() });
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let keys = Arc::new(Lines::default());
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.key_log = Arc::clone(&keys) as _;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key).unwrap())
            .unwrap();
        let name = ServerName::try_from("radius.example.org").unwrap();
        let client = ClientConnection::new(Arc::new(client), name).unwrap();
        let server = ServerConnection::new(Arc::new(server)).unwrap();
        let mut link = Self { client, server, passed: Vec::new(), keys };
        link.settle();
        link
    }

    /// Passes on what both ends have to say.
    fn settle(&mut self) {
        loop {
            let Self { client, server, passed, .. } = self;
            let said = passed.len();
            pass(client, server, true, passed);
            pass(server, client, false, passed);
            if passed.len() == said {
                return;
            }
        }
    }

    pub(crate) fn ask(&mut self, packet: &[u8]) {
        self.client.writer().write_all(packet).unwrap();
        self.settle();
    }

    pub(crate) fn answer(&mut self, packet: &[u8]) {
        self.server.writer().write_all(packet).unwrap();
        self.settle();
    }

    /// Writes the keys into a file that nobody else may read.
    pub(crate) fn log(&self, path: &Path) {
        fs::write(path, self.keys.0.lock().unwrap().as_bytes()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// What passed, in segments of that many bytes at most.
    pub(crate) fn segments(&self, most: usize) -> Vec<Vec<u8>> {
        let mut next = [100u32, 500];
        let mut segments = vec![tcp::segment(CLIENT, SERVER, 99, tcp::SYN, &[])];
        for (is_client, bytes) in &self.passed {
            for part in bytes.chunks(most) {
                let (src, dst) = if *is_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
                let seq = &mut next[usize::from(!is_client)];
                segments.push(tcp::segment(src, dst, *seq, tcp::ACK, part));
                *seq += part.len() as u32;
            }
        }
        segments
    }
}

fn pass<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    is_client: bool,
    passed: &mut Vec<(bool, Vec<u8>)>,
) {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    if bytes.is_empty() {
        return;
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets().unwrap();
    }
    let _ = to.reader().read_to_end(&mut Vec::new());
    passed.push((is_client, bytes));
}
