//! An identity provider: a small server that answers as it is told to, and keys made at run time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// What a page answers.
#[derive(Clone)]
pub enum Page {
    /// This, with status 200.
    Json(Value),
    /// Status, header lines and body.
    Raw(u16, String, Vec<u8>),
    /// Nothing, ever: the sender is told when the other side has gone.
    Silent(mpsc::Sender<()>),
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The path, with its query.
    pub path: String,
    /// The header of that name.
    pub authorization: Option<String>,
    /// What its body has.
    pub form: HashMap<String, String>,
}

/// The server. It ends with the process.
pub struct Server {
    /// Its URL.
    pub issuer: String,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts one that describes itself.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let (pages, asked) = (Arc::default(), Arc::default());
        let server = Self { issuer: format!("http://{address}"), pages, asked };
        let (pages, asked) = (Arc::clone(&server.pages), Arc::clone(&server.asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (pages, asked) = (Arc::clone(&pages), Arc::clone(&asked));
                thread::spawn(move || answer(stream.unwrap(), &pages, &asked));
            }
        });
        server.set(DISCOVERY, Page::Json(server.described()));
        server
    }

    /// What it says of itself.
    pub fn described(&self) -> Value {
        let at = |path| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"),
            "end_session_endpoint": at("/logout"),
        })
    }

    /// Answers requests for a path by this page from now on.
    pub fn set(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// Publishes these keys.
    pub fn publish(&self, keys: &[Value]) {
        self.set("/jwks", Page::Json(json!({ "keys": keys })));
    }

    /// Gives this ID token for any code.
    pub fn give(&self, token: &str) {
        let tokens = json!({ "id_token": token, "access_token": ACCESS, "token_type": "Bearer" });
        self.set("/token", Page::Json(tokens));
    }

    /// Requests for a path.
    pub fn asked(&self, path: &str) -> Vec<Asked> {
        self.asked.lock().unwrap().iter().filter(|asked| asked.path == path).cloned().collect()
    }
}

fn answer(stream: TcpStream, pages: &Mutex<HashMap<String, Page>>, asked: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read(&mut reader) else { return };
    let page = pages.lock().unwrap().get(&request.path).cloned();
    asked.lock().unwrap().push(request);
    let (status, headers, body) = match page {
        None => (404, String::new(), Vec::new()),
        Some(Page::Json(value)) => (200, String::new(), value.to_string().into_bytes()),
        Some(Page::Raw(status, headers, body)) => (status, headers, body),
        Some(Page::Silent(gone)) => {
            // Ends when the other side closes the connection.
            let _ = reader.read_to_end(&mut Vec::new());
            let _ = gone.send(());
            return;
        }
    };
    let head = format!(
        "HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    let stream = reader.get_mut();
    // Who has had enough closes the connection.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { path, authorization, form: pairs(&String::from_utf8(body).ok()?) })
}

/// Names and values of a form or a query.
pub fn pairs(form: &str) -> HashMap<String, String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), unescaped(value))).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// A key on P-256, made at run time.
pub struct Key {
    pair: EcdsaKeyPair,
    /// Its name.
    pub id: &'static str,
}

impl Key {
    /// Makes one.
    pub fn new(id: &'static str) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self { pair: EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap(), id }
    }

    /// As a provider publishes it.
    pub fn public(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|number| URL_SAFE_NO_PAD.encode(number));
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": self.id, "x": x, "y": y })
    }

    /// A token of that.
    pub fn sign(&self, claims: &Value) -> String {
        let signed = unsigned(&json!({ "alg": "ES256", "kid": self.id }), claims);
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Header and claims of a token.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}

/// Where it says what it is.
pub const DISCOVERY: &str = "/.well-known/openid-configuration";
/// The access token.
pub const ACCESS: &str = "access";
