//! A small HTTP client: one connection a request, so that nothing is hidden.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Somebody with a browser.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// All headers of that name.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| &**value).collect()
    }

    pub(crate) fn kind(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            headers: vec![("host".into(), address.to_string()), ("x-ringtap".into(), "1".into())],
        }
    }

    /// With a header, in place of one of that name.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| known != name);
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// As a form of another page would send it.
    pub(crate) fn without_own_header(&self) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| known != "x-ringtap");
        client
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body))
    }

    /// The answer to a request that succeeds.
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// The data of the first event.
    pub(crate) fn first_event(&self, path: &str) -> Value {
        let mut lines = self.ask("GET", path, None).lines();
        let data = lines.find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned)).unwrap();
        serde_json::from_str(&data).unwrap()
    }

    /// A request whose answer nobody reads; its connection closes when it is dropped.
    pub(crate) fn begin(&self, path: &str) -> BufReader<TcpStream> {
        self.ask("GET", path, None)
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let mut from = self.ask(method, path, body);
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            from.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut body = Vec::new();
        from.read_to_end(&mut body).unwrap();
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { unchunked(&body) } else { body };
        Answer { status, headers, body }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request
                .push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        whole.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 2 + length + 2..];
    }
    whole
}

/// A text as part of a query.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
