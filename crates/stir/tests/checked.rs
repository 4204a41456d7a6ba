//! Identity headers made and signed here, with certificates from openssl, and one that others signed.
#![expect(clippy::unwrap_used, reason = "what cannot be made fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use ringtap_model::{Attestation, Call, IdentityHeader, IdentityStatus, Nanos, NoteCode};
use ringtap_stir::{Certificates, Checker, Error, Settings};
use ringtap_testing::samples;

/// The time of the call: 2026-11-22 12:00.
const CALL: u64 = 1_795_348_800;
const CERTIFICATE: &str = "https://cert.example.org/shaken/leaf.pem";
const ORIGINATION: &str = "123e4567-e89b-12d3-a456-426655440000";

/// An authority of its own for each test, in a directory that is gone with it.
struct Authority {
    directory: tempfile::TempDir,
}

impl Authority {
    /// A root, an intermediate below it, and `leaf.pem` of that one, valid for the year 2026.
    fn new() -> Self {
        let own = Self { directory: tempfile::tempdir().unwrap() };
        let text = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nserial = serial\nnew_certs_dir = .\n\
            default_md = sha256\npolicy = any\nunique_subject = no\n[any]\ncommonName = supplied\n\
            [authority]\nbasicConstraints = critical, CA:true\n[signer]\nbasicConstraints = CA:false\n\
            1.3.6.1.5.5.7.1.26 = DER:30:08:A0:06:16:04:31:32:33:34\n\
            [req]\ndistinguished_name = name\n[name]\n";
        fs::write(own.path().join("ca.conf"), text).unwrap();
        fs::write(own.path().join("index.txt"), "").unwrap();
        fs::write(own.path().join("serial"), "1000\n").unwrap();
        fs::create_dir_all(own.path().join("certificates/roots")).unwrap();
        own.key("root");
        own.certify("root", "root", "authority", ("150101", "350101"));
        own.key("below");
        own.certify("below", "root", "authority", ("150101", "350101"));
        own.key("leaf");
        own.certify("leaf", "below", "signer", ("260101", "270101"));
        own.publish("roots/root.pem", &["root"]);
        own.publish("leaf.pem", &["leaf", "below"]);
        own
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        let output = command.args(arguments.split(' ')).current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn key(&self, name: &str) {
        self.openssl(&format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {name}.key"));
    }

    /// A certificate for the key of that name, by the authority `by`.
    fn certify(&self, name: &str, by: &str, extensions: &str, (from, to): (&str, &str)) {
        self.openssl(&format!("req -new -config ca.conf -key {name}.key -subj /CN={name} -out {name}.csr"));
        let signer = if by == name { "-selfsign".to_owned() } else { format!("-cert {by}.pem") };
        self.openssl(&format!(
            "ca -batch -config ca.conf -in {name}.csr -out {name}.pem -keyfile {by}.key {signer} -notext \
             -extensions {extensions} -startdate {from}000000Z -enddate {to}000000Z"
        ));
    }

    /// Puts certificates into one file of the directory that is checked with.
    fn publish(&self, file: &str, names: &[&str]) {
        let chain =
            names.iter().map(|name| fs::read_to_string(self.path().join(format!("{name}.pem"))).unwrap());
        let path = self.path().join("certificates").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, chain.collect::<String>()).unwrap();
    }

    fn certificates(&self) -> Certificates {
        Certificates::open(&self.path().join("certificates")).unwrap()
    }

    fn checker(&self) -> Checker {
        Checker::new(Settings { certificates: Some(self.certificates()), ..Settings::default() })
    }

    fn sign(&self, key: &str, text: &str) -> String {
        let pem = fs::read_to_string(self.path().join(format!("{key}.key"))).unwrap();
        let lines: String = pem.lines().filter(|line| !line.starts_with("--")).collect();
        let key = BASE64_STANDARD.decode(lines).unwrap();
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random).unwrap();
        BASE64_URL_SAFE_NO_PAD.encode(key.sign(&random, text.as_bytes()).unwrap())
    }

    /// A header with these claims, signed with that key.
    fn header(&self, key: &str, claims: &str) -> String {
        let token = format!(r#"{{"alg":"ES256","ppt":"shaken","typ":"passport","x5u":"{CERTIFICATE}"}}"#);
        let text = [token.as_str(), claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".");
        format!("{text}.{};info=<{CERTIFICATE}>;alg=ES256;ppt=shaken", self.sign(key, &text))
    }
}

/// Claims of a call from 49301234567 to 12155551212.
fn claims(issued: u64) -> String {
    let parties = format!(r#""dest":{{"tn":["12155551212"]}},"iat":{issued},"orig":{{"tn":"49301234567"}}"#);
    format!(r#"{{"attest":"B",{parties},"origid":"{ORIGINATION}"}}"#)
}

/// A call between those two, as its headers have them, with that Identity header.
fn call(header: &str) -> Call {
    with(Some(IdentityHeader { value: Some(header.into()), date: None }))
}

fn with(header: Option<IdentityHeader>) -> Call {
    Call {
        from_user: Some("+49301234567".into()),
        from_host: Some("example.net".into()),
        asserted_identity: None,
        to_user: Some("0012155551212".into()),
        to_host: Some("example.org".into()),
        ruri_user: None,
        ruri_host: None,
        invite: Some(Nanos::from_secs(CALL)),
        end: Some(Nanos::from_secs(CALL + 60)),
        unmonitored_ms: None,
        notes: Vec::new(),
        identity: header.map(Arc::new),
        ..samples::call()
    }
}

fn status(checker: &mut Checker, mut call: Call) -> (IdentityStatus, Option<String>) {
    checker.check(&mut call);
    assert!(call.identity.is_none());
    let note = call.notes.iter().find(|note| note.code == NoteCode::BadIdentity);
    (call.identity_status.unwrap(), note.map(|note| note.evidence.clone()))
}

#[test]
fn a_header_that_holds_is_verified_and_tells_its_attestation() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let mut checker = authority.checker();
    for issued in [CALL - 60, CALL, CALL + 60] {
        let mut call = call(&authority.header("leaf", &claims(issued)));
        checker.check(&mut call);
        assert_eq!(call.identity_status, Some(IdentityStatus::Verified), "{:?}", call.notes);
        assert_eq!(call.attestation, Some(Attestation::Partial));
        assert_eq!(call.origination_id.as_deref(), Some(ORIGINATION));
        assert_eq!(call.notes, []);
    }
    assert_eq!(checker.counts().of(IdentityStatus::Verified), 3);
}

#[test]
fn every_way_to_fail_is_told_apart() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let mut checker = authority.checker();
    let good = authority.header("leaf", &claims(CALL));
    let mut check = |header: &str| status(&mut checker, call(header));
    let is = |status, evidence: &str| {
        (status, Some(format!("the Identity header vouches for nothing: {evidence}")))
    };
    assert_eq!(
        check(&authority.header("leaf", &claims(CALL - 61))),
        is(IdentityStatus::Stale, "it was signed 61 s from the INVITE")
    );
    assert_eq!(check(&authority.header("leaf", &claims(CALL + 3600))).0, IdentityStatus::Stale);
    let other = claims(CALL).replace("12155551212", "12155551213");
    assert_eq!(
        check(&authority.header("leaf", &other)),
        is(IdentityStatus::OtherNumbers, "it was signed for another callee")
    );
    let other = claims(CALL).replace("49301234567", "49301234568");
    assert_eq!(
        check(&authority.header("leaf", &other)),
        is(IdentityStatus::OtherNumbers, "it was signed for another caller")
    );
    let by_another = authority.header("root", &claims(CALL));
    assert_eq!(
        check(&by_another),
        is(IdentityStatus::BadSignature, &format!("{CERTIFICATE} did not sign it"))
    );
    // A claim that was changed afterwards.
    let (head, rest) = good.split_once('.').unwrap();
    let (_, rest) = rest.split_once('.').unwrap();
    let changed = BASE64_URL_SAFE_NO_PAD.encode(claims(CALL).replace(r#""B""#, r#""A""#));
    assert_eq!(check(&format!("{head}.{changed}.{rest}")).0, IdentityStatus::BadSignature);
    assert_eq!(check(&good).0, IdentityStatus::Verified);
    for (header, evidence) in [
        ("nonsense", "it does not have three parts"),
        ("a.b", "it does not have three parts"),
        (&good.replace("alg=ES256", "alg=none"), "its algorithm is not ES256"),
        (&good.replace(";info=<https", ";info=<http"), "it names two certificates"),
        (&good.replacen('.', "!.", 1), "its header cannot be read"),
        (&authority.header("leaf", "{}"), "its claims cannot be read"),
        (
            &authority.header("leaf", &claims(CALL).replace(r#""B""#, r#""D""#)),
            "its attestation is not A, B or C",
        ),
        ("..AAAA;info=<x>", "its signature does not have 64 bytes"),
    ] {
        assert_eq!(check(header), is(IdentityStatus::Malformed, evidence), "{header}");
    }
}

#[test]
fn a_certificate_has_to_lead_to_a_root_at_the_time_of_the_call() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let header = authority.header("leaf", &claims(CALL));
    let untrusted = |checker: &mut Checker| {
        let (status, evidence) = status(checker, call(&header));
        evidence.is_some_and(|evidence| evidence.contains(CERTIFICATE)) && status == IdentityStatus::Untrusted
    };
    // The one between is missing.
    authority.publish("leaf.pem", &["leaf"]);
    assert!(untrusted(&mut authority.checker()));
    // It has expired, or is not yet valid.
    for dates in [("250101", "260101"), ("261201", "270101")] {
        authority.certify("leaf", "below", "signer", dates);
        authority.publish("leaf.pem", &["leaf", "below"]);
        assert!(untrusted(&mut authority.checker()), "{dates:?}");
    }
    // Another root.
    let stranger = Authority::new();
    authority.certify("leaf", "below", "signer", ("260101", "270101"));
    fs::copy(
        stranger.path().join("certificates/roots/root.pem"),
        authority.path().join("certificates/roots/root.pem"),
    )
    .unwrap();
    assert!(untrusted(&mut authority.checker()));
    // One that may only sign certificates.
    authority.publish("roots/root.pem", &["root"]);
    authority.certify("leaf", "below", "authority", ("260101", "270101"));
    authority.publish("leaf.pem", &["leaf", "below"]);
    assert!(untrusted(&mut authority.checker()));
}

#[test]
fn certificates_are_found_by_name_and_by_host_and_name() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let header = authority.header("leaf", &claims(CALL));
    let found = |checker: &mut Checker| status(checker, call(&header)).0;
    fs::remove_file(authority.path().join("certificates/leaf.pem")).unwrap();
    let mut without = authority.checker();
    assert_eq!(found(&mut without), IdentityStatus::NotChecked);
    // Date and numbers are looked at without one, too.
    let stale = authority.header("leaf", &claims(CALL - 100));
    assert_eq!(status(&mut without, call(&stale)).0, IdentityStatus::Stale);
    authority.publish("cert.example.org/leaf.pem", &["leaf", "below"]);
    assert_eq!(found(&mut authority.checker()), IdentityStatus::Verified);
    fs::remove_file(authority.path().join("certificates/cert.example.org/leaf.pem")).unwrap();
    authority.publish("other.example.org/leaf.pem", &["leaf", "below"]);
    assert_eq!(found(&mut authority.checker()), IdentityStatus::NotChecked);
    // DER has no room for the one between, so it has to come from a root of its own.
    authority.openssl("x509 -in leaf.pem -outform der -out certificates/leaf.pem");
    authority.publish("roots/below.pem", &["below"]);
    assert_eq!(found(&mut authority.checker()), IdentityStatus::Verified);
    let traversal = header.replace("/shaken/leaf.pem", "/../roots/root.pem");
    assert_eq!(status(&mut authority.checker(), call(&traversal)).0, IdentityStatus::Malformed);
}

#[test]
fn the_compact_form_is_made_of_the_calls_numbers_and_date() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let token = format!(r#"{{"alg":"ES256","typ":"passport","x5u":"{CERTIFICATE}"}}"#);
    let claims =
        format!(r#"{{"dest":{{"tn":["0012155551212"]}},"iat":{CALL},"orig":{{"tn":"49301234567"}}}}"#);
    let text = [token, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".");
    let header = format!("..{};info=<{CERTIFICATE}>;alg=ES256", authority.sign("leaf", &text));
    let dated = |date: Option<&str>| {
        with(Some(IdentityHeader { value: Some(header.as_str().into()), date: date.map(Into::into) }))
    };
    let mut checker = authority.checker();
    let date = "Sun, 22 Nov 2026 12:00:00 GMT";
    assert_eq!(status(&mut checker, dated(Some(date))), (IdentityStatus::Verified, None));
    assert_eq!(status(&mut checker, dated(None)).0, IdentityStatus::Malformed);
    assert_eq!(status(&mut checker, dated(Some("yesterday"))).0, IdentityStatus::Malformed);
    let later = dated(Some("Sun, 22 Nov 2026 12:00:01 GMT"));
    assert_eq!(status(&mut checker, later).0, IdentityStatus::BadSignature);
    let other = Call { to_user: Some("12155551213".into()), ..dated(Some(date)) };
    assert_eq!(status(&mut checker, other).0, IdentityStatus::BadSignature);
    // The asserted identity may be what was signed.
    let asserted = Call {
        from_user: Some("anonymous".into()),
        asserted_identity: Some("+49301234567".into()),
        ..dated(Some(date))
    };
    assert_eq!(status(&mut checker, asserted).0, IdentityStatus::Verified);
}

/// Appendix A of draft-ietf-stir-passport-11, with its key: the example that became that of RFC 8225.
#[test]
fn the_published_example_is_verified() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let key = "-----BEGIN EC PRIVATE KEY-----\n\
        MHcCAQEEIFeZ1R208QCvcu5GuYyMfG4W7sH4m99/7eHSDLpdYllFoAoGCCqGSM49\n\
        AwEHoUQDQgAE8HNbQd/TmvCKwPKHkMF9fScavGeH78YTU8qLS8I5HLHSSmlATLcs\n\
        lQMhNC/OhlWBYC626nIlo7XeebYS7Sb37g==\n-----END EC PRIVATE KEY-----\n";
    fs::write(authority.path().join("passport.key"), key).unwrap();
    authority.certify("passport", "below", "signer", ("150101", "160101"));
    authority.publish("passport.cer", &["passport", "below"]);
    let header = "\
        eyJhbGciOiJFUzI1NiIsInR5cCI6InBhc3Nwb3J0IiwieDV1IjoiaHR0cHM6Ly9jZXJ0LmV4YW1wbGUub3JnL3Bhc3\
        Nwb3J0LmNlciJ9.eyJkZXN0Ijp7InVyaSI6WyJzaXA6YWxpY2VAZXhhbXBsZS5jb20iXX0sImlhdCI6IjE0NDMyMDg\
        zNDUiLCJvcmlnIjp7InRuIjoiMTIxNTU1NTEyMTIifX0.rq3pjT1hoRwakEGjHCnWSwUnshd0-zJ6F1VOgFWSjHBr8\
        Qjpjlk-cpFYpFYsojNCpTzO3QfPOlckGaS6hEck7w;info=<https://cert.example.org/passport.cer>";
    let example = |to: &str| Call {
        from_user: Some("12155551212".into()),
        to_user: Some(to.into()),
        to_host: Some("Example.com".into()),
        invite: Some(Nanos::from_secs(1_443_208_350)),
        ..call(header)
    };
    assert_eq!(status(&mut authority.checker(), example("alice")), (IdentityStatus::Verified, None));
    assert_eq!(status(&mut authority.checker(), example("Alice")).0, IdentityStatus::OtherNumbers);
}

#[test]
fn what_is_missing_or_too_much_is_counted() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let authority = Authority::new();
    let settings = Settings {
        certificates: Some(authority.certificates()),
        most_per_second: 2,
        note_missing: true,
        note_broken: false,
        ..Settings::default()
    };
    let mut checker = Checker::new(settings);
    let header = authority.header("leaf", &claims(CALL));
    let statuses: Vec<_> = (0..4).map(|_| status(&mut checker, call(&header)).0).collect();
    let (verified, not_checked) = (IdentityStatus::Verified, IdentityStatus::NotChecked);
    assert_eq!(statuses, [verified, verified, not_checked, not_checked]);
    assert_eq!(checker.counts().too_many(), 2);
    // The next second has room again.
    let next = Call { end: Some(Nanos::from_secs(CALL + 61)), ..call(&header) };
    assert_eq!(status(&mut checker, next).0, verified);
    let mut none = with(None);
    checker.check(&mut none);
    let codes: Vec<_> = none.notes.iter().map(|note| note.code).collect();
    assert_eq!((none.identity_status, codes), (None, vec![NoteCode::NoIdentity]));
    assert_eq!(checker.counts().missing(), 1);
    // Of a call that went on over a restart it is not known.
    let mut restarted = Call { unmonitored_ms: Some(5.0), ..with(None) };
    checker.check(&mut restarted);
    assert_eq!((restarted.notes.len(), checker.counts().missing()), (0, 1));
    let long = with(Some(IdentityHeader::default()));
    assert_eq!(status(&mut checker, long), (not_checked, None));
    assert_eq!(status(&mut checker, call("nonsense")), (IdentityStatus::Malformed, None));
}

#[test]
fn a_directory_that_cannot_be_used_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let message = || match Certificates::open(directory.path()) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error,
    };
    assert!(matches!(message(), Error::Read { .. }));
    fs::create_dir(directory.path().join("roots")).unwrap();
    assert!(matches!(message(), Error::NoRoots { .. }));
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(directory.path().join("roots/x.pem"), damaged).unwrap();
    assert!(message().to_string().contains("roots/x.pem holds no certificate that can be read"));
    fs::write(directory.path().join("roots/x.pem"), "nothing").unwrap();
    assert!(message().to_string().ends_with("it has no CERTIFICATE"));
}
