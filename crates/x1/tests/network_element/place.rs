//! A network element with a register, two ADMFs, and what they send.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use ringtap_model::Nanos;
use ringtap_warrant::{Liid, NewAdmf, Register, RegisterKey, Role, Session};
use ringtap_x1::{DeliveryFigures, Figures, Function, NetworkElement, TaskFigures};
use tempfile::TempDir;

pub(crate) const PASSPHRASE: &str = "correct horse battery";
pub(crate) const OTHER: &str = "another horse staple";
pub(crate) const XID: &str = "29f28e1c-f230-486a-a860-f5a784ab9172";
pub(crate) const DID: &str = "c20dfd2c-9ad0-4a11-8a8f-7b8b8e4b3d10";
/// Of admf-1, whose tasks wait for an officer, and of admf-2, which activates.
pub(crate) const ONE: &str = "1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";
pub(crate) const TWO: &str = "2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f";

pub(crate) fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(1_800_000_000 + seconds)
}

/// As if something was missing of each task, and agency-b could not be reached.
struct Five;

impl Figures for Five {
    fn task(&self, _: &Liid) -> TaskFigures {
        TaskFigures { content_octets: Some(5), missing: vec!["5 PDUs could not be written".to_owned()] }
    }

    fn delivery(&self, agency: &str) -> DeliveryFigures {
        DeliveryFigures { hi2: Some(agency != "agency-b"), hi3: None }
    }

    fn faults(&self) -> Vec<String> {
        vec!["interception has told nothing for 5 s".to_owned()]
    }
}

pub(crate) struct Place {
    pub(crate) _dir: TempDir,
    pub(crate) register: Register,
    pub(crate) element: NetworkElement,
    pub(crate) ana: Session,
    pub(crate) ben: Session,
    pub(crate) transaction: u32,
    pub(crate) clock: u64,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap();
        let digits = "07".repeat(32);
        let path = dir.path().join("key");
        std::fs::write(&path, digits).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let key = RegisterKey::read(&path).unwrap();
        let register = dir.path().join("register");
        let mut register = Register::create(&register, &key, "ana", PASSPHRASE, at(0)).unwrap();
        let ana = register.identify("ana", PASSPHRASE, at(0)).unwrap();
        register.propose_person(&ana, "ben", Role::Officer, OTHER, at(0)).unwrap();
        let ben = register.identify("ben", OTHER, at(0)).unwrap();
        register.change_passphrase(&ben, PASSPHRASE, at(0)).unwrap();
        for (identifier, certificate, activates) in [("admf-1", ONE, false), ("admf-2", TWO, true)] {
            let entry = NewAdmf {
                identifier: identifier.to_owned(),
                certificates: vec![certificate.to_owned()],
                activates,
                authority: "District Court".into(),
                legal_basis: "Act 1".into(),
                requester: "Agency A".into(),
                authorisation_country: "GB".parse().unwrap(),
                delivery_country: "GB".parse().unwrap(),
                operator: "operator".to_owned(),
                agencies: vec!["agency-a".to_owned(), "agency-b".to_owned()],
                longest_days: None,
            };
            let number = register.propose_admf(&ana, entry, at(0)).unwrap();
            register.confirm_admf(&ben, number, at(0)).unwrap();
        }
        let function = |agency: &str, hi2: &str, hi3: &str| Function {
            agency: agency.to_owned(),
            hi2: Some(hi2.parse().unwrap()),
            hi3: Some(hi3.parse().unwrap()),
        };
        let functions = vec![
            function("agency-a", "192.0.2.1:9992", "192.0.2.1:9992"),
            function("agency-b", "192.0.2.2:9992", "[2001:db8::2]:9993"),
        ];
        let element = NetworkElement::new("tap-1".to_owned(), functions, Box::new(Five));
        Self { _dir: dir, register, element, ana, ben, transaction: 0, clock: 1 }
    }

    pub(crate) fn raw(&mut self, certificate: &str, body: &str) -> String {
        let answer = self.element.answer(&mut self.register, certificate, body.as_bytes(), at(self.clock));
        assert!(!answer.has_register_failed);
        answer.body
    }

    /// The answer to one message of admf-1, without what each answer has.
    pub(crate) fn ask(&mut self, kind: &str, inner: &str) -> String {
        self.ask_as("admf-1", ONE, kind, inner)
    }

    pub(crate) fn ask_as(&mut self, admf: &str, certificate: &str, kind: &str, inner: &str) -> String {
        self.transaction += 1;
        let transaction = format!("00000000-0000-4000-8000-{:012x}", self.transaction);
        let message = message(admf, "tap-1", "v1.13.1", &transaction, kind, inner);
        let answer = self.raw(certificate, &request(&message));
        let echoed = format!("<x1TransactionId>{transaction}</x1TransactionId>");
        let (before, after) = answer.split_once(&echoed).unwrap_or_else(|| panic!("{answer}"));
        let of = format!("<admfIdentifier>{admf}</admfIdentifier><neIdentifier>tap-1</neIdentifier>");
        let time = format!("<messageTimestamp>2027-01-15T08:{:02}:{:02}", self.clock / 60, self.clock % 60);
        assert!(before.contains(&of) && before.contains(&time), "{answer}");
        assert!(before.ends_with("<version>v1.13.1</version>"), "{answer}");
        let is_error = after.contains("<errorInformation>");
        let own = if is_error { "ErrorResponse".to_owned() } else { format!("{kind}Response") };
        assert!(before.contains(&format!("<x1ResponseMessage xsi:type=\"{own}\">")), "{answer}");
        let is_named = after.contains(&format!("<requestMessageType>{kind}</requestMessageType>"));
        assert_eq!(is_error, is_named, "{answer}");
        after
            .strip_suffix("</x1ResponseMessage></X1Response>")
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    pub(crate) fn ok(&mut self, kind: &str, inner: &str) {
        assert_eq!(self.ask(kind, inner), "<oK>AcknowledgedAndCompleted</oK>", "{kind}");
    }

    /// The code of the error that one message is answered.
    pub(crate) fn code(&mut self, kind: &str, inner: &str) -> u16 {
        code(&self.ask(kind, inner))
    }

    pub(crate) fn with_destination(mut self) -> Self {
        self.ok("CreateDestination", &destination(DID, "X2andX3", "192.0.2.1", 9992));
        self
    }

    pub(crate) fn approve(&mut self, id: u32) {
        let hash = self.register.show(&self.ben, id, "approval", at(self.clock)).unwrap().0.hash();
        self.register.approve(&self.ben, id, &hash, at(self.clock)).unwrap();
    }

    pub(crate) fn status(&mut self) -> String {
        let details = self.ask("GetTaskDetails", &format!("<xId>{XID}</xId>"));
        between(&details, "<provisioningStatus>", "</provisioningStatus>").to_owned()
    }
}

pub(crate) fn code(answer: &str) -> u16 {
    between(answer, "<errorCode>", "</errorCode>").parse().unwrap()
}

pub(crate) fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
    rest.split_once(end).unwrap().0
}

pub(crate) fn message(
    admf: &str,
    ne: &str,
    version: &str,
    transaction: &str,
    kind: &str,
    inner: &str,
) -> String {
    format!(
        "<x1:x1RequestMessage xsi:type=\"x1:{kind}Request\"><x1:admfIdentifier>{admf}</x1:admfIdentifier>\
         <x1:neIdentifier>{ne}</x1:neIdentifier>\
         <x1:messageTimestamp>2027-01-15T08:00:00.000000Z</x1:messageTimestamp>\
         <x1:version>{version}</x1:version><x1:x1TransactionId>{transaction}</x1:x1TransactionId>\
         {}</x1:x1RequestMessage>",
        inner.replace("</", "</x1:").replace('<', "<x1:").replace("<x1:/x1:", "</x1:").replace("x1:c:", "c:")
    )
}

pub(crate) fn request(messages: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><x1:X1Request \
         xmlns:x1=\"http://uri.etsi.org/03221/X1/2017/10\" \
         xmlns:c=\"http://uri.etsi.org/03280/common/2017/07\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">{messages}</x1:X1Request>"
    )
}

pub(crate) fn destination(did: &str, delivery: &str, address: &str, port: u16) -> String {
    let version = if address.contains(':') { "IPv6Address" } else { "IPv4Address" };
    format!(
        "<destinationDetails><dId>{did}</dId><friendlyName>A &amp; B</friendlyName>\
         <deliveryType>{delivery}</deliveryType><deliveryAddress><ipAddressAndPort><c:address>\
         <c:{version}>{address}</c:{version}></c:address><c:port><c:TCPPort>{port}</c:TCPPort></c:port>\
         </ipAddressAndPort></deliveryAddress></destinationDetails>"
    )
}

pub(crate) const NUMBER: &str = "<e164Number>441601234567</e164Number>";
pub(crate) const END: &str = "<EndTime>2027-02-15T08:00:00.000000Z</EndTime>";

/// A task, in parts that tests change.
pub(crate) struct Details {
    pub(crate) xid: &'static str,
    pub(crate) targets: String,
    pub(crate) delivery: &'static str,
    pub(crate) dids: Vec<&'static str>,
    pub(crate) mediation: String,
    pub(crate) more: String,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            xid: XID,
            targets: format!("<targetIdentifier>{NUMBER}</targetIdentifier>"),
            delivery: "X2andX3",
            dids: vec![DID],
            mediation: mediation("LI-1", "HI2andHI3", END),
            more: String::new(),
        }
    }
}

impl Details {
    pub(crate) fn xml(&self) -> String {
        let dids: String = self.dids.iter().map(|did| format!("<dId>{did}</dId>")).collect();
        format!(
            "<taskDetails><xId>{}</xId><targetIdentifiers>{}</targetIdentifiers>\
             <deliveryType>{}</deliveryType><listOfDIDs>{dids}</listOfDIDs>{}{}</taskDetails>",
            self.xid, self.targets, self.delivery, self.mediation, self.more
        )
    }
}

pub(crate) fn mediation(liid: &str, delivery: &str, times: &str) -> String {
    format!(
        "<listOfMediationDetails><mediationDetails><LIID>{liid}</LIID>\
         <deliveryType>{delivery}</deliveryType>{times}</mediationDetails></listOfMediationDetails>"
    )
}

pub(crate) fn task() -> String {
    Details::default().xml()
}
