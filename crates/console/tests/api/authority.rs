//! An ACME server (RFC 8555) that believes nothing: it checks signatures, nonces and addresses of requests,
//! and makes the handshake that proves a name (RFC 8737).

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, IsCa, KeyPair,
};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection, StreamOwned,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

/// The name that certificates are asked for.
pub(crate) const NAME: &str = "tap.example.org";

/// A server, until the test ends.
pub(crate) struct Authority {
    pub(crate) address: SocketAddr,
    pub(crate) state: Arc<Mutex<State>>,
    /// Vouches for the server and for what it issues, in PEM.
    pub(crate) root: String,
}

/// What it knows, and how it behaves.
pub(crate) struct State {
    /// Where names are looked for: in place of port 443 of each.
    pub(crate) console: Option<SocketAddr>,
    /// Refuses orders.
    pub(crate) refuses: bool,
    /// How many nonces it forgets as soon as it has given them.
    pub(crate) forgets: u32,
    /// How long what it issues is valid.
    pub(crate) lifetime: Duration,
    /// Certificates issued.
    pub(crate) issued: u32,
    /// Accounts made.
    pub(crate) accounts: u32,
    /// Whoever asks with a nonce that it does not know.
    pub(crate) bad_nonces: u32,
    issuer: CertifiedIssuer<'static, KeyPair>,
    base: String,
    nonces: HashSet<String>,
    account: Option<Value>,
    is_valid: bool,
    token: String,
    certificate: Option<String>,
}

impl Authority {
    /// Listens at that address; port 0 chooses one.
    pub(crate) fn start(at: SocketAddr) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let root = issuer.pem();
        let key = KeyPair::generate().unwrap();
        let own =
            CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], private)
            .unwrap();
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            console: None,
            refuses: false,
            forgets: 0,
            lifetime: Duration::from_secs(90 * 86_400),
            issued: 0,
            accounts: 0,
            bad_nonces: 0,
            issuer,
            base: format!("https://{address}"),
            nonces: HashSet::new(),
            account: None,
            is_valid: false,
            token: String::new(),
            certificate: None,
        }));
        let (config, seen) = (Arc::new(config), Arc::clone(&state));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, state) = (Arc::clone(&config), Arc::clone(&seen));
                thread::spawn(move || {
                    serve(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), &state)
                });
            }
        });
        Self { address, state, root }
    }

    pub(crate) fn directory(&self) -> String {
        format!("https://{}/directory", self.address)
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }
}

/// An answer: its status, where it is, and its body.
type Reply = (u16, Option<String>, Vec<u8>);

fn serve(stream: StreamOwned<ServerConnection, TcpStream>, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            // Whoever goes away is done.
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => break,
                Ok(_) => head.push(line.trim().to_owned()),
            }
        }
        let header = |name: &str| {
            let of = |line: &String| {
                let (known, value) = line.split_once(": ")?;
                known.eq_ignore_ascii_case(name).then(|| value.to_owned())
            };
            head.iter().find_map(of)
        };
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = head[0].split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let kind = header("content-type").unwrap_or_default();
        let (status, location, text) = match method {
            "POST" if kind == "application/jose+json" => post(path, &body, state),
            "GET" | "HEAD" => get(path, &state.lock().unwrap().base),
            _ => problem("malformed", "neither a page nor application/jose+json"),
        };
        let mut known = state.lock().unwrap();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let nonce = format!("nonce-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        if known.forgets > 0 {
            known.forgets -= 1;
        } else {
            known.nonces.insert(nonce.clone());
        }
        drop(known);
        let location = location.map(|at| format!("Location: {at}\r\n")).unwrap_or_default();
        let kind = if status < 400 { "application/json" } else { "application/problem+json" };
        let head = format!(
            "HTTP/1.1 {status} X\r\nReplay-Nonce: {nonce}\r\n{location}Content-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n",
            text.len()
        );
        let text = if method == "HEAD" { Vec::new() } else { text };
        if reader.get_mut().write_all(&[head.into_bytes(), text].concat()).is_err() {
            return;
        }
    }
}

fn get(path: &str, base: &str) -> Reply {
    let directory = json!({
        "newNonce": format!("{base}/nonce"), "newAccount": format!("{base}/account"),
        "newOrder": format!("{base}/order"), "revokeCert": format!("{base}/revoke"),
        "keyChange": format!("{base}/key"),
    });
    match path {
        "/directory" | "/nonce" => (200, None, directory.to_string().into_bytes()),
        _ => problem("malformed", "there is no such page"),
    }
}

fn problem(kind: &str, detail: &str) -> Reply {
    let said = json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": detail });
    (if kind == "rejectedIdentifier" { 403 } else { 400 }, None, said.to_string().into_bytes())
}

/// What a signed request is answered, after its signature was checked (RFC 8555 section 6.2).
fn post(path: &str, body: &[u8], state: &Mutex<State>) -> Reply {
    let mut known = state.lock().unwrap();
    let (payload, jwk) = match signed(path, body, &mut known) {
        Ok(signed) => signed,
        Err(refused) => return refused,
    };
    let base = known.base.clone();
    match path {
        "/account" => {
            assert_eq!(payload["termsOfServiceAgreed"], true);
            assert_eq!(payload["contact"], json!(["mailto:noc@example.org"]));
            known.account = jwk;
            known.accounts += 1;
            (201, Some(format!("{base}/account/1")), json!({ "status": "valid" }).to_string().into_bytes())
        }
        "/order" if known.refuses => problem("rejectedIdentifier", "not for you, says the policy"),
        "/order" => {
            assert_eq!(payload["identifiers"], json!([{ "type": "dns", "value": NAME }]));
            (known.is_valid, known.certificate) = (false, None);
            known.token = format!("token-{}", known.issued);
            (201, Some(format!("{base}/order/1")), order_of(&known))
        }
        "/order/1" => (200, None, order_of(&known)),
        "/authz" => {
            let status = if known.is_valid { "valid" } else { "pending" };
            let challenge = json!({
                "type": "tls-alpn-01", "url": format!("{base}/challenge"), "token": known.token,
                "status": status,
            });
            let name = json!({ "type": "dns", "value": NAME });
            let authorization = json!({ "status": status, "identifier": name, "challenges": [challenge] });
            (200, None, authorization.to_string().into_bytes())
        }
        "/challenge" => {
            let Some(console) = known.console else { return problem("connection", "nobody is there") };
            let digest = key_authorization(&known);
            // The handshake does not wait for other requests, and they do not wait for it.
            drop(known);
            look(console, &digest);
            let mut known = state.lock().unwrap();
            known.is_valid = true;
            let challenge = json!({
                "type": "tls-alpn-01", "url": format!("{base}/challenge"), "token": known.token,
                "status": "valid",
            });
            (200, None, challenge.to_string().into_bytes())
        }
        "/finalize" if known.is_valid => {
            known.issue(&payload);
            (200, None, order_of(&known))
        }
        "/certificate" => (200, None, known.certificate.clone().unwrap().into_bytes()),
        _ => problem("malformed", "it is not asked for that now"),
    }
}

/// The order, as it stands.
fn order_of(known: &State) -> Vec<u8> {
    let base = &known.base;
    let status = match (&known.certificate, known.is_valid) {
        (Some(_), _) => "valid",
        (None, true) => "ready",
        (None, false) => "pending",
    };
    let order = json!({
        "status": status, "identifiers": [{ "type": "dns", "value": NAME }],
        "authorizations": [format!("{base}/authz")], "finalize": format!("{base}/finalize"),
        "certificate": known.certificate.as_ref().map(|_| format!("{base}/certificate")),
    });
    order.to_string().into_bytes()
}

/// The payload, and the key where the request brings it.
fn signed(path: &str, body: &[u8], known: &mut State) -> Result<(Value, Option<Value>), Reply> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let text = |name: &str| body[name].as_str().unwrap();
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)).unwrap();
    let protected: Value = serde_json::from_slice(&bytes("protected")).unwrap();
    if !known.nonces.remove(protected["nonce"].as_str().unwrap()) {
        known.bad_nonces += 1;
        return Err(problem("badNonce", "it is not known, or was used"));
    }
    assert_eq!(
        (&protected["alg"], &protected["url"]),
        (&json!("ES256"), &json!(format!("{}{path}", known.base)))
    );
    let jwk = match (protected.get("jwk"), protected.get("kid")) {
        (Some(jwk), None) if path == "/account" => jwk.clone(),
        (None, Some(kid)) if path != "/account" => {
            assert_eq!(*kid, json!(format!("{}/account/1", known.base)));
            known.account.clone().ok_or_else(|| problem("accountDoesNotExist", "who is that?"))?
        }
        _ => return Err(problem("malformed", "a key where there is no account, else the account")),
    };
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let message = format!("{}.{}", text("protected"), text("payload"));
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(message.as_bytes(), &bytes("signature"))
        .expect("the request is signed by the key of the account");
    // An empty payload reads (section 6.3).
    Ok((serde_json::from_slice(&bytes("payload")).unwrap_or_default(), Some(jwk)))
}

/// The digest of what proves the name (section 8.1, RFC 7638).
fn key_authorization(known: &State) -> Vec<u8> {
    let jwk = known.account.as_ref().unwrap();
    let key =
        format!("{{\"crv\":{},\"kty\":{},\"x\":{},\"y\":{}}}", jwk["crv"], jwk["kty"], jwk["x"], jwk["y"]);
    let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(key));
    Sha256::digest(format!("{}.{thumbprint}", known.token)).to_vec()
}

impl State {
    fn issue(&mut self, payload: &Value) {
        let request = URL_SAFE_NO_PAD.decode(payload["csr"].as_str().unwrap()).unwrap();
        let mut request = CertificateSigningRequestParams::from_der(&request.into()).unwrap();
        let now = time::OffsetDateTime::now_utc();
        (request.params.not_before, request.params.not_after) = (now, now + self.lifetime);
        let issued = request.signed_by(&self.issuer).unwrap();
        self.certificate = Some(issued.pem());
        self.issued += 1;
    }
}

/// Makes the handshake that a certificate authority makes (RFC 8737 section 3).
fn look(console: SocketAddr, digest: &[u8]) {
    let (certificate, protocol) = handshake(console, &[b"acme-tls/1"]);
    assert_eq!(protocol.as_deref(), Some(&b"acme-tls/1"[..]));
    let (_, parsed) = X509Certificate::from_der(&certificate).unwrap();
    let names = parsed.subject_alternative_name().unwrap().unwrap();
    assert_eq!(names.value.general_names, [GeneralName::DNSName(NAME)]);
    let proof =
        parsed.extensions().iter().find(|one| one.oid.to_id_string() == "1.3.6.1.5.5.7.1.31").unwrap();
    assert!(
        proof.critical && matches!(proof.parsed_extension(), ParsedExtension::UnsupportedExtension { .. })
    );
    assert_eq!(proof.value, [&[4, 32], digest].concat());
}

/// The certificate and the protocol that somebody gets who asks for the name.
pub(crate) fn handshake(
    console: SocketAddr,
    protocols: &[&[u8]],
) -> (CertificateDer<'static>, Option<Vec<u8>>) {
    let (client, certificate) = connect(console, protocols);
    (certificate, client.conn.alpn_protocol().map(<[u8]>::to_vec))
}

/// The answer to a request, whoever the console is.
pub(crate) fn ask(console: SocketAddr, request: &str) -> String {
    let (mut client, _) = connect(console, &[b"http/1.1"]);
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // How the other ends the connection says nothing of the answer.
    let _ = client.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

type Client = StreamOwned<ClientConnection, TcpStream>;

fn connect(console: SocketAddr, protocols: &[&[u8]]) -> (Client, CertificateDer<'static>) {
    let seen = Arc::new(Seen::default());
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&seen) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let mut stream = TcpStream::connect(console).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), ServerName::try_from(NAME).unwrap()).unwrap();
    while client.is_handshaking() {
        client.complete_io(&mut stream).unwrap();
    }
    let certificate = seen.0.lock().unwrap().take().unwrap();
    (StreamOwned::new(client, stream), certificate)
}

/// Takes any certificate, if the other has its key.
#[derive(Debug, Default)]
struct Seen(Mutex<Option<CertificateDer<'static>>>);

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.0.lock().unwrap() = Some(own.clone().into_owned());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        unreachable!("only TLS 1.3 is offered")
    }

    /// By the key itself: the extension of a challenge is critical, and unknown to who checks certificates.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let (_, parsed) = X509Certificate::from_der(own).unwrap();
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        let known = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signature, &known)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
