//! Tasks over X1: an ADMF of its own, in another language; hostile clients; kills; and the product of a task.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use ringtap_testing::program;
use ringtap_warrant::{Register, RegisterKey};
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::mediation::pdus;
use crate::run::{Run, file, ringtap};
use crate::warrant::{Files, OWN};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/x1_client.py");
/// Where the operator delivers to; nobody listens there.
const FUNCTION: &str = "127.0.0.1:9";
const DID: &str = "c20dfd2c-9ad0-4a11-8a8f-7b8b8e4b3d10";

/// A register with officers, certificates, and a file of mediation functions.
struct Place {
    files: Files,
}

/// The service, as it runs.
struct Service {
    child: Child,
    address: SocketAddr,
    err: BufReader<ChildStderr>,
}

impl Place {
    fn new() -> Self {
        let files = Files::with_people();
        let dir = files.folder.path();
        for ca in ["ca", "other-ca"] {
            let named = |name: &str, params: &mut CertificateParams| {
                params.distinguished_name = DistinguishedName::new();
                params.distinguished_name.push(DnType::CommonName, name);
            };
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            named(ca, &mut params);
            let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
            file(dir, &format!("{ca}.pem"), issuer.pem().as_bytes());
            for name in ["ne", "admf-1", "admf-2", "stranger"] {
                let key = KeyPair::generate().unwrap();
                let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
                named(name, &mut params);
                let certificate = params.signed_by(&key, &issuer).unwrap().pem();
                file(dir, &format!("{ca}-{name}.pem"), certificate.as_bytes());
                file(dir, &format!("{ca}-{name}.key"), key.serialize_pem().as_bytes());
            }
        }
        let functions = format!(
            "[[function]]\nagency = 'agency-a'\noperator = 'operator'\nhi2 = '{FUNCTION}'\n\
             hi3 = '{FUNCTION}'\n"
        );
        file(dir, "functions.toml", functions.as_bytes());
        Self { files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.folder.path().join(name)
    }

    /// Has two officers register an ADMF.
    fn register(&self, name: &str, activates: bool) {
        let text = format!(
            "identifier = '{name}'\ncertificates = ['ca-{name}.pem']\nactivates = {activates}\n\
             authority = 'District Court'\nlegal_basis = 'Act 1'\nrequester = 'Agency A'\n\
             authorisation_country = 'GB'\noperator = 'operator'\nagencies = ['agency-a']\n"
        );
        let path = file(self.files.folder.path(), &format!("{name}.toml"), text.as_bytes());
        let proposed = self.files.done("ana", &format!("admf propose {}", path.display()), &[OWN]);
        let number = proposed.err.trim().rsplit(' ').next().unwrap().to_owned();
        let shown = self.files.done("ben", &format!("admf confirm {number}"), &[OWN]);
        assert!(shown.err.contains("nothing was confirmed"), "{shown:?}");
        let hash = shown.out.lines().find_map(|line| line.strip_prefix("certificate")).unwrap().trim();
        self.files.refused(
            "ana",
            &format!("admf confirm {number} --certificate {hash}"),
            "another officer has to confirm it",
        );
        let other = format!("admf confirm {number} --certificate 0123456789abcdef");
        self.files.refused("ben", &other, "nothing was confirmed");
        self.files.done("ben", &format!("admf confirm {number} --certificate {}", &hash[..16]), &[OWN]);
    }

    fn serve(&self) -> Service {
        self.serve_with(&[])
    }

    fn serve_with(&self, more: &[&str]) -> Service {
        let mut command = ringtap();
        command.args(["warrant", "x1", "--ne", "tap-1", "--listen", "127.0.0.1:0"]).args(more);
        for (option, name) in [
            ("--register", "register"),
            ("--master-key", "key"),
            ("--tls-certificate", "ca-ne.pem"),
            ("--tls-key", "ca-ne.key"),
            ("--authorities", "ca.pem"),
            ("--deliver", "functions.toml"),
        ] {
            command.arg(option).arg(self.path(name));
        }
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        let address = line.split("https://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().parse().unwrap();
        Service { child, address, err }
    }

    /// The answer over TLS with that certificate, or none.
    fn post(&self, service: &Service, certificate: Option<&str>, body: &[u8]) -> io::Result<String> {
        let head = format!(
            "POST /X1/NE HTTP/1.1\r\nHost: tap-1\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        let mut stream = self.connect(service, certificate)?;
        stream.write_all(head.as_bytes())?;
        // One that is too long is not read to its end.
        let sent = stream.write_all(body).and_then(|()| stream.flush());
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        if answer.is_empty() {
            sent.and(read.map(drop))?;
        }
        Ok(answer)
    }

    fn connect(
        &self,
        service: &Service,
        certificate: Option<&str>,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let config = match certificate {
            None => config.with_no_client_auth(),
            Some(name) => {
                let own = CertificateDer::from_pem_file(self.path(&format!("{name}.pem"))).unwrap();
                let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).unwrap();
                config.with_client_auth_cert(vec![own], key).unwrap()
            }
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let stream = TcpStream::connect(service.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(StreamOwned::new(connection, stream))
    }

    fn client(&self, service: &Service, phase: &str) -> Run {
        let mut command = Command::new("python3");
        command.arg(CLIENT).arg(format!("https://{}/X1/NE", service.address));
        command.arg(self.path("ca.pem")).arg(self.path("ca-admf-1.pem")).arg(self.path("ca-admf-1.key"));
        command.args(["admf-1", "tap-1", phase, FUNCTION]).output().unwrap().into()
    }

    fn approve(&self, id: u32) {
        let shown = self.files.done("ben", &format!("show {id} --why approval"), &[OWN]).out;
        let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
        self.files.done("ben", &format!("approve {id} --hash {}", &hash[..16]), &[OWN]);
    }
}

impl Service {
    /// Ends it; what it said after its first line.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = String::new();
        self.err.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request with one message.
fn request(admf: &str, number: u32, kind: &str, inner: &str) -> Vec<u8> {
    format!(
        "<X1Request xmlns='http://uri.etsi.org/03221/X1/2017/10' \
         xmlns:c='http://uri.etsi.org/03280/common/2017/07' \
         xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><x1RequestMessage xsi:type='{kind}Request'>\
         <admfIdentifier>{admf}</admfIdentifier><neIdentifier>tap-1</neIdentifier>\
         <messageTimestamp>2026-01-01T00:00:00.000000Z</messageTimestamp><version>v1.13.1</version>\
         <x1TransactionId>00000000-0000-4000-8000-{number:012}</x1TransactionId>{inner}</x1RequestMessage>\
         </X1Request>"
    )
    .into_bytes()
}

fn destination() -> String {
    let (address, port) = FUNCTION.split_once(':').unwrap();
    format!(
        "<destinationDetails><dId>{DID}</dId><deliveryType>X2andX3</deliveryType><deliveryAddress>\
         <ipAddressAndPort><c:address><c:IPv4Address>{address}</c:IPv4Address></c:address><c:port>\
         <c:TCPPort>{port}</c:TCPPort></c:port></ipAddressAndPort></deliveryAddress></destinationDetails>"
    )
}

fn task(number: u32) -> String {
    format!(
        "<taskDetails><xId>29f28e1c-f230-486a-a860-{number:012}</xId><targetIdentifiers><targetIdentifier>\
         <imsi>234150999999999</imsi></targetIdentifier></targetIdentifiers>\
         <deliveryType>X2Only</deliveryType><listOfDIDs><dId>{DID}</dId></listOfDIDs>\
         <listOfMediationDetails><mediationDetails><LIID>LI-{number}</LIID>\
         <deliveryType>HI2Only</deliveryType><EndTime>2100-01-01T00:00:00.000000Z</EndTime>\
         </mediationDetails></listOfMediationDetails>\
         </taskDetails>"
    )
}

#[test]
fn an_admf_of_another_make_provisions_a_task_whose_product_an_officer_gets() {
    if !program("python3") {
        return;
    }
    let place = Place::new();
    place.register("admf-1", false);
    let service = place.serve();
    let client = place.client(&service, "before");
    assert_eq!(client.status, 0, "{client:?}");
    assert!(client.out.starts_with("before: "), "{client:?}");
    // The officer sees what it is, and that it rests on what two officers have registered.
    let shown = place.files.done("ben", "show 1 --why approval", &[OWN]).out;
    for line in ["admf:admf-1", "District Court", "number:441632960203", "msisdn:441632960203", "LI-X1-17"] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(shown.contains("5ae9a8d4-6b5e-4c5a-9d1f-2f3f5b3f8a01 of ADMF admf-1"), "{shown}");
    let out = place.path("product");
    let product = format!("product {DEMO} --out {} --why 'case 17'", out.display());
    place.files.refused("ana", &product, "no warrant");
    place.approve(1);
    place.files.done("ana", &product, &[OWN]);
    assert!(pdus(&out.join("LI-X1-17.hi2")).len() > 5 && pdus(&out.join("LI-X1-17.hi3")).len() > 100);
    let client = place.client(&service, "after");
    assert_eq!(client.status, 0, "{client:?}");
    place.files.refused("ana", &product.replace("/product ", "/other "), "no warrant");
    assert_eq!(service.end(), "", "nothing is said of it");
    let acts = place.files.done("dora", "acts --why audit --format jsonl", &[OWN]).out;
    assert!(acts.contains("\"task-modify\"") && acts.contains("\"task-deactivate\""), "{acts}");
    assert!(!acts.contains("441632960203"), "{acts}");
    place.files.done("dora", "verify --why audit", &[OWN]);
}

#[test]
fn nobody_without_the_certificate_of_the_admf_does_anything() {
    let place = Place::new();
    place.register("admf-1", true);
    place.register("admf-2", true);
    let service = place.serve();
    let ping = request("admf-1", 1, "Ping", "");
    assert!(place.post(&service, Some("ca-admf-1"), &ping).unwrap().contains("AcknowledgedAndCompleted"));
    for wrong in [None, Some("other-ca-admf-1")] {
        assert!(place.post(&service, wrong, &ping).is_err(), "{wrong:?}");
    }
    let create = request("admf-1", 2, "CreateDestination", &destination());
    for wrong in ["ca-admf-2", "ca-stranger"] {
        let answer = place.post(&service, Some(wrong), &create).unwrap();
        assert!(answer.contains("<errorCode>1030</errorCode>"), "{answer}");
    }
    let answer = place.post(&service, Some("ca-admf-1"), &create).unwrap();
    assert!(answer.contains("AcknowledgedAndCompleted"), "{answer}");
    // Once more, as if it had been recorded on the way.
    let again = request("admf-1", 2, "RemoveAllDestinations", "");
    let answer = place.post(&service, Some("ca-admf-1"), &again).unwrap();
    assert!(answer.contains("this transaction has changed something before"), "{answer}");
    // An officer ends what it may do, on a connection that is open as well.
    place.files.done("ana", "admf disable admf-1", &[OWN]);
    let answer = place.post(&service, Some("ca-admf-1"), &ping).unwrap();
    assert!(answer.contains("<errorCode>1030</errorCode>"), "{answer}");
    let listed = place.files.done("dora", "admf list --why audit", &[OWN]).out;
    assert!(listed.contains("disabled") && listed.contains("2 ADMFs"), "{listed}");
    assert_eq!(service.end(), "");
}

#[test]
fn hostile_requests_cost_little_and_end_nothing() {
    let place = Place::new();
    place.register("admf-1", true);
    let service = place.serve();
    let post = |body: &[u8]| place.post(&service, Some("ca-admf-1"), body).unwrap();
    let bomb = format!(
        "<!DOCTYPE a [<!ENTITY a 'ha'>{}]><X1Request>&k;</X1Request>",
        ('b'..='k')
            .map(|name| {
                let before = char::from(name as u8 - 1);
                format!("<!ENTITY {name} '{}'>", format!("&{before};").repeat(10))
            })
            .collect::<String>()
    );
    for body in [bomb.into_bytes(), "<a>".repeat(60_000).into_bytes(), vec![0xff; 200_000], Vec::new()] {
        let answer = post(&body);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains("X1TopLevelErrorResponse"),
            "{answer}"
        );
    }
    // It is not read: whoever goes on sending may find the connection closed before the answer.
    if let Ok(answer) = place.post(&service, Some("ca-admf-1"), &vec![b' '; 1 << 20]) {
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
    let mut stream = place.connect(&service, Some("ca-admf-1")).unwrap();
    stream.write_all(b"GET /X1/NE HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    // Those who send nothing keep nobody out.
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(service.address).unwrap()).collect();
    assert!(post(&request("admf-1", 1, "Ping", "")).contains("AcknowledgedAndCompleted"));
    drop(idle);
    assert_eq!(service.end(), "");
}

#[test]
fn a_kill_loses_no_task_that_was_acknowledged() {
    let place = Place::new();
    place.register("admf-1", true);
    let mut service = place.serve();
    let create = request("admf-1", 1, "CreateDestination", &destination());
    place.post(&service, Some("ca-admf-1"), &create).unwrap();
    for number in 1..=4 {
        let activate = request("admf-1", 10 + number, "ActivateTask", &task(number));
        let answer = place.post(&service, Some("ca-admf-1"), &activate).unwrap();
        assert!(answer.contains("AcknowledgedAndCompleted"), "{answer}");
        service.end();
        service = place.serve();
        let list = request("admf-1", 20, "ListAllDetails", "");
        let answer = place.post(&service, Some("ca-admf-1"), &list).unwrap();
        assert_eq!(answer.matches("<xId>").count(), number as usize, "{answer}");
    }
    // A kill while it is answered: the task is there whole, or not at all.
    for number in 5..=9 {
        let activate = request("admf-1", 10 + number, "ActivateTask", &task(number));
        let acknowledged = std::thread::scope(|scope| {
            let asked = scope.spawn(|| place.post(&service, Some("ca-admf-1"), &activate));
            std::thread::sleep(Duration::from_millis(u64::from(number - 5) * 3));
            kill_process(Pid::from_child(&service.child), Signal::KILL).unwrap();
            asked.join().unwrap().is_ok_and(|answer| answer.contains("AcknowledgedAndCompleted"))
        });
        service.end();
        service = place.serve();
        let get = format!("<xId>29f28e1c-f230-486a-a860-{number:012}</xId>");
        let get = request("admf-1", 30, "GetTaskDetails", &get);
        let answer = place.post(&service, Some("ca-admf-1"), &get).unwrap();
        let is_there = answer.contains("<provisioningStatus>complete</provisioningStatus>");
        assert!(is_there || !acknowledged && answer.contains("<errorCode>2020</errorCode>"), "{answer}");
    }
    assert_eq!(service.end(), "");
    place.files.done("dora", "verify --why audit", &[OWN]);
}

#[test]
fn an_admf_is_told_how_its_task_goes() {
    let place = Place::new();
    place.register("admf-1", true);
    let product = place.path("product");
    fs::create_dir(&product).unwrap();
    let service = place.serve_with(&["--product", product.to_str().unwrap()]);
    let ask = |number: u32, kind: &str, inner: &str| {
        place.post(&service, Some("ca-admf-1"), &request("admf-1", number, kind, inner)).unwrap()
    };
    assert!(ask(1, "GetNEStatus", "").contains("<neStatus>Faults</neStatus>"), "it never told");
    ask(2, "CreateDestination", &destination());
    ask(3, "ActivateTask", &task(1));
    let report = |ago: u64| {
        let at = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros() as u64 - ago * 1_000_000;
        let text = serde_json::json!({
            "at_us": at, "since_us": 1, "register_usable": true, "remembers_ms": null,
            "remembered_too_little": 0,
            "orders": [{
                "liid": "LI-1", "events": 1, "packets": 2, "octets": 1234, "recalled": 0, "unattributed": 0,
                "cut": 0, "dropped": 0, "lost": 0, "unwritten": 7, "undelivered": 0, "not_delivered": null,
            }],
            "functions": [{"name": "agency-a hi2", "is_connected": false, "arrived": 0, "waiting": 9}],
        });
        fs::write(product.join("report.json"), text.to_string()).unwrap();
    };
    report(0);
    assert!(ask(4, "GetNEStatus", "").contains("<neStatus>OK</neStatus>"));
    let get = "<xId>29f28e1c-f230-486a-a860-000000000001</xId>";
    let before = ask(5, "GetTaskDetails", get);
    assert!(before.contains("complete") && !before.contains("1234"), "that is another one's: {before}");
    let key = RegisterKey::read(&place.path("key")).unwrap();
    let mut register = Register::open(&place.path("register"), &key).unwrap();
    register.begun(&"LI-1".parse().unwrap(), ringtap_report::time::now()).unwrap();
    let after = ask(6, "GetTaskDetails", get);
    assert!(after.contains("<amountOfX3Data>1234</amountOfX3Data>"), "{after}");
    assert!(after.contains("7 PDUs could not be written"), "{after}");
    let destination = ask(7, "GetDestinationDetails", &format!("<dId>{DID}</dId>"));
    assert!(destination.contains("<destinationDeliveryStatus>deliveryFault<"), "{destination}");
    report(60);
    assert!(ask(8, "GetNEStatus", "").contains("interception has told nothing for 6"));
}

#[test]
fn what_is_wrong_with_its_files_is_said_at_the_start() {
    let place = Place::new();
    let start = |changed: &str, name: &str| -> Run {
        let mut command = ringtap();
        command.args(["warrant", "x1", "--ne", "tap-1", "--listen", "127.0.0.1:0"]);
        for (option, usual) in [
            ("--register", "register"),
            ("--master-key", "key"),
            ("--tls-certificate", "ca-ne.pem"),
            ("--tls-key", "ca-ne.key"),
            ("--authorities", "ca.pem"),
            ("--deliver", "functions.toml"),
        ] {
            command.arg(option).arg(place.path(if option == changed { name } else { usual }));
        }
        command.output().unwrap().into()
    };
    fs::write(place.path("empty.pem"), "").unwrap();
    for (option, name, why) in [
        ("--register", "none", "ringtap warrant setup"),
        ("--master-key", "ca-ne.pem", "chmod 600"),
        ("--tls-certificate", "ca-admf-1.pem", "does not belong to the key"),
        ("--tls-key", "functions.toml", "it must be PEM"),
        ("--authorities", "empty.pem", "nobody could connect"),
        ("--deliver", "ca.pem", "--deliver"),
    ] {
        let run = start(option, name);
        assert!(run.status != 0 && run.err.contains(why), "{option}: {run:?}");
    }
    let path: &Path = &place.path("admf.toml");
    fs::write(path, "identifier = 'admf-1'\ncertificates = ['none.pem']\n").unwrap();
    place.files.refused("ana", &format!("admf propose {}", path.display()), "admf.toml:1");
}
