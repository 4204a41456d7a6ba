//! Segments that move to a bucket, by the daemon, and the commands that find them there; against a server of
//! its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::daemon::{Daemon, Place, silence};
use crate::moto::{BUCKET, Moto, free_port};
use crate::replayed::{files, ringtap};

/// A sensor that keeps calls and moves them to a bucket.
pub(crate) struct Sensor {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) place: Place,
    port: u16,
    /// Further lines of `[spool]`.
    spool: String,
}

impl Sensor {
    /// With calls in its spool that are older than any clock.
    pub(crate) fn new(port: u16, spool: impl Fn(&Sensor) -> String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path());
        let mut sensor = Self { dir, place, port, spool: String::new() };
        let credentials = sensor.at("credentials");
        fs::write(&credentials, "aws_access_key_id = somebody\naws_secret_access_key = something\n").unwrap();
        fs::set_permissions(&credentials, PermissionsExt::from_mode(0o600)).unwrap();
        sensor.spool = spool(&sensor);
        sensor.configure(&files("\"max\""), "free = \"0%\"\n");
        assert_eq!(sensor.place.start().end().0, Some(0));
        sensor
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn configure(&self, capture: &str, retention: &str) {
        let path = self.place.configure(capture, "");
        let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
        let (spool, more) = (self.at("spool"), &self.spool);
        let lines =
            format!("[spool]\ndirectory = \"{spool}\"\nsegment = \"5s\"\n{more}[retention]\n{retention}");
        fs::write(&path, text + &lines).unwrap();
    }

    /// The lines that have everything move.
    pub(crate) fn moves(&self) -> String {
        let (port, credentials) = (self.port, self.at("credentials"));
        format!(
            "free = \"0%\"\ntier = \"s3://{BUCKET}/sensor-1\"\ntier_after = \"1m\"\n\
             tier_endpoint = \"http://127.0.0.1:{port}\"\n\
             tier_http = true\ntier_credentials = \"{credentials}\"\n"
        )
    }

    /// Runs while nothing happens on its network, with these lines about retention.
    pub(crate) fn tend(&mut self, retention: &str) -> Daemon {
        self.configure(&silence(self.dir.path()), retention);
        self.place.start()
    }

    /// Segments that are here.
    pub(crate) fn segments(&self) -> u64 {
        let days = fs::read_dir(self.at("spool")).unwrap().map(|day| day.unwrap().path());
        let files = days.filter(|day| day.is_dir()).flat_map(|day| fs::read_dir(day).unwrap());
        files
            .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pcap"))
            .count() as u64
    }

    /// Has everything moved.
    pub(crate) fn moved(&mut self) {
        let (lines, all) = (self.moves(), self.segments());
        let mut daemon = self.tend(&lines);
        daemon.says(" moved to s3://recordings/sensor-1");
        // Nothing is left on its way, and nothing here.
        daemon.counts("ringtap_spool_moved_segments_total", |moved| moved == all);
        daemon.counts("ringtap_spool_far_loose", |loose| loose == 0);
        let log = end(daemon);
        assert_eq!(self.segments(), 0);
        assert!(
            log.contains(&format!(
                "segments move to s3://recordings/sensor-1 at http://127.0.0.1:{}",
                self.port
            )),
            "{log}"
        );
    }

    /// Exit status, and what it says and tells.
    fn command(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    pub(crate) fn export(&self, call: &str) -> (Option<i32>, String) {
        let (records, spool, pcap) = (self.at("records"), self.at("spool"), self.at("call.pcap"));
        let export = ["export", call, "--store", &records, "--spool", &spool, "--pcap", &pcap, "--force"];
        match fs::metadata(self.at("seal.key")) {
            Ok(_) => self.command(&[&export[..], &["--key", &self.at("seal.key")]].concat()),
            Err(_) => self.command(&export),
        }
    }

    /// A call with sound in both directions, and another.
    pub(crate) fn calls(&self) -> (String, String) {
        let calls = self.place.calls();
        let one = calls.iter().find(|(_, (_, streams))| streams.len() >= 2).unwrap().0.clone();
        let other =
            calls.into_iter().filter(|(_, (_, streams))| streams.len() >= 2).find(|(call, _)| *call != one);
        (one, other.unwrap().0)
    }
}

pub(crate) fn end(daemon: Daemon) -> String {
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    log
}

#[test]
fn a_call_is_read_back_out_of_a_bucket_in_few_requests_verified_and_outlived_by_nothing_but_a_hold() {
    let Some(moto) = Moto::start() else { return };
    let mut sensor = Sensor::new(moto.port, |_| String::new());
    let (one, other) = sensor.calls();
    let (status, whole) = sensor.export(&one);
    assert_eq!(status, Some(0), "{whole}");
    let packets = fs::read(sensor.at("call.pcap")).unwrap();
    sensor.moved();
    let objects = moto.objects();
    assert!(objects.iter().all(|name| name.starts_with("sensor-1/2026-01-01/")), "{objects:?}");
    let segments = objects.iter().filter(|name| name.ends_with(".pcap")).count();
    assert!(segments > 3, "{objects:?}");
    let tier = fs::read_to_string(sensor.at("spool/far/tier.toml")).unwrap();
    assert!(tier.contains("endpoint = \"http://127.0.0.1:") && !tier.contains("something"), "{tier}");

    let (status, told) = sensor.export(&one);
    assert_eq!((status, told), (Some(0), whole.clone()));
    assert!(fs::read(sensor.at("call.pcap")).unwrap() == packets);
    // At most one request for a segment: chunks of a call lie close in so short a one. None for an index.
    let requests = moto.requests("GET", ".pcap");
    assert!((1..=segments).contains(&requests), "{requests} of {segments}");
    assert_eq!((moto.requests("GET", ".idx"), moto.requests("HEAD", "")), (0, 0));

    let spool = sensor.at("spool");
    let (status, shown) = sensor.command(&["verify", &spool]);
    assert!(status == Some(0) && shown.contains("of them in the bucket s3://recordings/sensor-1"), "{shown}");
    // A byte of a packet, far away.
    let name = objects.iter().rfind(|name| name.ends_with(".pcap")).unwrap();
    let good = moto.object(name);
    let mut bad = good.clone();
    bad[300] ^= 1;
    moto.replace(name, &bad);
    let (status, shown) = sensor.command(&["verify", &spool]);
    let segment = name.strip_prefix("sensor-1/").unwrap();
    assert!(status == Some(3) && shown.starts_with(&format!("{segment}: the packets of a chunk")), "{shown}");
    let (status, shown) = sensor.command(&["verify", "--near", &spool]);
    assert!(
        status == Some(0) && shown.contains(&format!("{segments} segments in the bucket were not read")),
        "{shown}"
    );
    moto.replace(name, &good);

    // The clock runs out for all but what is on hold.
    let case = ["--case", "K-1", "--store", &sensor.at("records"), "--spool", &spool];
    let (status, told) = sensor.command(&[&["hold", &one][..], &case].concat());
    assert!(status == Some(0) && !told.contains("no packets of it"), "{told}");
    let clocks = format!("{}signalling = \"1m\"\nmedia = \"1m\"\n", sensor.moves());
    let mut daemon = sensor.tend(&clocks);
    daemon.counts("ringtap_spool_deleted_segments_total", |deleted| deleted == segments as u64);
    daemon.counts("ringtap_spool_far_loose", |loose| loose == 0);
    let log = end(daemon);
    assert!(log.contains("older than [retention] media") && log.contains("of held calls copied"), "{log}");
    assert_eq!(moto.objects(), Vec::<String>::new());
    drop(moto);
    assert_eq!(sensor.export(&one), (Some(0), whole));
    assert!(fs::read(sensor.at("call.pcap")).unwrap() == packets);
    let (status, told) = sensor.export(&other);
    assert!(status != Some(0), "{told}");
}

#[test]
fn a_bucket_that_is_away_or_refuses_stops_nothing() {
    let port = free_port();
    let mut sensor = Sensor::new(port, |_| String::new());
    let (one, _) = sensor.calls();
    let (lines, all) = (sensor.moves(), sensor.segments());
    let mut daemon = sensor.tend(&lines);
    daemon.says("cannot move segments");
    daemon.says("Connection refused");
    daemon.says("spool_far=AWAY");
    assert_eq!(daemon.counts("ringtap_spool_far_away", |away| away == 1), 1);
    assert!(daemon.metric("ringtap_spool_far_failures_total") > 0);
    assert_eq!(sensor.export(&one).0, Some(0));
    // It comes, and trusts nobody.
    let Some(moto) = Moto::start_at(port) else { return };
    moto.trust(false);
    let failures = daemon.metric("ringtap_spool_far_failures_total");
    daemon.counts("ringtap_spool_far_failures_total", |now| now > failures);
    moto.trust(true);
    daemon.says("the bucket works again");
    daemon.counts("ringtap_spool_moved_segments_total", |moved| moved == all);
    daemon.counts("ringtap_spool_far_loose", |loose| loose == 0);
    end(daemon);
    assert_eq!(sensor.export(&one).0, Some(0));
    // Who asks with the wrong credentials, or with none, or finds nobody there, reads why.
    moto.trust(false);
    let (status, told) = sensor.export(&one);
    assert!(status == Some(1) && told.contains("the credentials are refused (InvalidAccessKeyId)"), "{told}");
    let (records, spool) = (sensor.at("records"), sensor.at("spool"));
    let (status, told) = sensor.command(&["verify", &spool]);
    assert!(status == Some(1) && told.matches("the credentials are refused").count() == 1, "{told}");
    // A hold needs nobody's leave.
    let hold = ["hold", &one, "--case", "K-1", "--store", &records, "--spool", &spool];
    let (status, told) = sensor.command(&hold);
    assert!(status == Some(0) && told.contains("not counted") && told.contains("1 call on hold"), "{told}");
    fs::set_permissions(sensor.at("credentials"), PermissionsExt::from_mode(0o644)).unwrap();
    let (status, told) = sensor.export(&one);
    assert!(status == Some(1) && told.contains("chmod 600"), "{told}");
    fs::set_permissions(sensor.at("credentials"), PermissionsExt::from_mode(0o600)).unwrap();
    drop(moto);
    let (status, told) = sensor.export(&one);
    assert!(
        status == Some(1) && told.contains("cannot be reached") && told.contains("s3://recordings"),
        "{told}"
    );
    // Nor does it start with another bucket while something lies in this one, or without credentials.
    sensor.configure(&silence(sensor.dir.path()), &sensor.moves().replace("sensor-1", "sensor-2"));
    let config = sensor.at("ringtap.toml");
    let (status, told) = ringtap(&["run", "-c", &config]);
    assert!(status == Some(1) && told.contains("sensor-1") && told.contains("sensor-2"), "{told}");
    fs::remove_file(sensor.at("credentials")).unwrap();
    sensor.configure(&silence(sensor.dir.path()), &sensor.moves());
    let (status, told) = ringtap(&["run", "-c", &config]);
    assert!(status == Some(1) && told.contains("credentials"), "{told}");
}

#[test]
fn calls_in_a_bucket_are_forgotten_sealed_or_not() {
    let Some(moto) = Moto::start() else { return };
    for sealed in [true, false] {
        let mut sensor = Sensor::new(moto.port, |sensor| {
            if !sealed {
                return String::new();
            }
            let (seal, sign) = (sensor.at("seal.key"), sensor.at("sign.pem"));
            assert_eq!(sensor.command(&["key", "--seal", &seal, "--sign", &sign]).0, Some(0));
            format!("seal = \"{seal}\"\nsign = \"{sign}\"\n")
        });
        let (one, other) = sensor.calls();
        sensor.moved();
        if sealed {
            moto.keep_versions();
        }
        let (records, spool, sign) = (sensor.at("records"), sensor.at("spool"), sensor.at("sign.pem"));
        let forget = ["forget", &one, "--store", &records, "--spool", &spool, "--yes"];
        let signed: &[&str] = if sealed { &["--sign", &sign] } else { &[] };
        let (status, told) = sensor.command(&[&forget[..], signed].concat());
        assert_eq!(status, Some(0), "{told}");
        assert_eq!(told.contains("fetched from s3://recordings/sensor-1"), !sealed, "{told}");
        assert!(told.contains("keeps older versions"), "{told}");
        let (status, told) = sensor.export(&one);
        assert!(status == Some(1) && told.contains("erased"), "{told}");
        assert_eq!(sensor.export(&other).0, Some(0));
        let (status, shown) = sensor.command(&["verify", &spool]);
        assert_eq!(status, Some(0), "{shown}");
        assert!(shown.contains("by order"), "{shown}");
        for name in moto.objects() {
            let (status, _) = moto.ask("DELETE", &format!("/{BUCKET}/{name}"), b"");
            assert_eq!(status, 204);
        }
    }
}
