use std::path::Path;

use ringtap_model::Nanos;

use super::*;

/// The shortest file that is right.
const SHORT: &str = "[capture]\ninterfaces = [\"eth0\"]\n";

#[test]
fn a_short_file_has_defaults_for_the_rest() {
    let config = Config::parse(SHORT).unwrap();
    assert_eq!(config.capture.interfaces, ["eth0"]);
    assert_eq!(
        Config { capture: Capture { interfaces: Vec::new(), ..config.capture }, ..config },
        Config::default()
    );
}

#[test]
fn values() {
    let text = "[capture]\nfiles = [\"a.pcap\"]\nspeed = \"max\"\nring = \"128MiB\"\nbusy_poll = \"50us\"\n\
                [engine]\nidle_limit = \"2h\"\nmax_stream_bytes = 65536\n\
                [quality]\nconcealment = true\nno_concealment = [\"192.0.2.0/24\", \"ua:Foo*\"]\n\
                [store]\nretain = \"90d\"\n[metrics]\nlisten = \"\"\n[log]\nlevel = \"debug\"\n";
    let config = Config::parse(text).unwrap();
    assert_eq!(config.capture.speed, Speed::Max);
    assert_eq!(config.capture.ring, Size(128 << 20));
    assert_eq!(config.capture.busy_poll, Span(Nanos::from_micros(50)));
    assert_eq!(config.engine.engine(&config.quality, 1, false).idle_limit, Nanos::from_secs(7_200));
    assert_eq!(config.engine.engine(&config.quality, 1, false).max_stream_bytes, 65_536);
    let receivers = config.engine.engine(&config.quality, 1, false).receivers;
    assert!(receivers.conceal && receivers.exceptions.len() == 2);
    assert_eq!(config.store.retain, Span(Nanos::from_secs(90 * 86_400)));
    assert_eq!((config.metrics.listen, config.log.level), (ListenAddress(None), LogLevel::Debug));
}

/// Wrong files, and what is said about each: its line, its key, what is wrong and what would be right.
const WRONG_FILES: &[(&str, &str)] = &[
    (
        "",
        "x.toml: [capture] interfaces: no interface and no file is set: set at least one, such as \
         [\"eth0\"]",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[quality]\nno_concealment = [\"ua:*\"]\n",
        "x.toml:4: [quality] no_concealment: [\"ua:*\"] is not a list of addresses, networks and \
         User-Agents, such as [\"192.0.2.0/24\", \"ua:Foo*\"]",
    ),
    (
        "[capture]\ninterfaces = []\n",
        "x.toml:2: [capture] interfaces: no interface and no file is set: set at least one, such as \
         [\"eth0\"]",
    ),
    (
        "[capture]\nintefaces = [\"eth0\"]\n",
        "x.toml:2: [capture] intefaces: no such key; did you mean `interfaces`?",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[spool]\nsign = \"/k\"\n",
        "x.toml:4: [spool] sign: needs `seal` or `seal_command` as well: to forget a call that is not \
         sealed, its segment is changed, which breaks the signature",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[spool]\nseal = \"/k\"\nseal_command = \"cat /k\"\n",
        "x.toml:5: [spool] seal_command: cannot be combined with `seal`: set one of the two",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[radius]\nfollow = true\nidle = \"24h\"\n[store]\nretain = \"1d\"\n",
        "x.toml:5: [radius] idle: must be at least ten minutes less than `retain` in [store], which would \
         delete sessions that go on: for example 12h",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[availability]\nservices = [\"192.0.2.0/24\"]\n",
        "x.toml:4: [availability] services: has no effect without follow = true: set both, or neither",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[availability]\nfollow = true\nafter = \"10ms\"\n",
        "x.toml:5: [availability] after: must be from 50ms to 10m, for example 500ms",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ncompress = \"gzip\"\n",
        "x.toml:4: [spool] compress: \"gzip\" is not \"none\" or \"zstd\"",
    ),
    (
        "[capture]\ncolour = 1\n",
        "x.toml:2: [capture] colour: no such key; the keys are interfaces, source, workers, cpus, \
         ring, snaplen, filter, direction, fanout, latency, busy_poll, promiscuous, \
         hardware_time, huge_pages, files, speed",
    ),
    (
        "\n[captrue]\ninterfaces = [\"eth0\"]\n",
        "x.toml:2: [captrue]: no such section; did you mean [capture]?",
    ),
    (
        "interfaces = [\"eth0\"]\n",
        "x.toml:1: interfaces: is outside of any section: write it below [capture]",
    ),
    (
        "wombat = 1\n",
        "x.toml:1: wombat: is outside of any section; the sections are [capture], [engine], [quality], \
         [identity], [radius], [availability], [intercept], [warrants], [conversations], [store], [kpi], \
         [alarms], [hooks], [journal], [spool], [retention], [metrics], [log], [process]",
    ),
    (
        "capture = 1\n",
        "x.toml:1: capture: is a section: write [capture] on a line of its own and its keys below it",
    ),
    (
        "[capture]\ninterfaces = \"eth0\"\n",
        "x.toml:2: [capture] interfaces: \"eth0\" is not a list of interfaces, such as [\"eth0\"]",
    ),
    (
        "[capture]\ninterfaces = [1]\n",
        "x.toml:2: [capture] interfaces: 1 is not a list of interfaces, such as [\"eth0\"]",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\", \"eth0\"]\n",
        "x.toml:2: [capture] interfaces: `eth0` is listed twice: remove one",
    ),
    (
        "[capture]\ninterfaces = [\"a name that is long\"]\n",
        "x.toml:2: [capture] interfaces: `a name that is long` cannot be an interface: `ip -br link` \
         lists the interfaces",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nworkers = 0\n",
        "x.toml:3: [capture] workers: 0 is not a whole number from 1 to 255, such as 2",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nworkers = \"two\"\n",
        "x.toml:3: [capture] workers: \"two\" is not a whole number from 1 to 255, such as 2",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nworkers = 2\ncpus = [1]\n",
        "x.toml:4: [capture] cpus: there are 2 workers (workers times interfaces) and 1 CPUs in the \
         list: name one for each, or none",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nworkers = 2\ncpus = [1, 1]\n",
        "x.toml:4: [capture] cpus: CPU 1 is listed twice: give each worker its own",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nring = \"64 elephants\"\n",
        "x.toml:3: [capture] ring: \"64 elephants\" is not a size, such as \"64MiB\", \"512KiB\" or a \
         number of bytes",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nring = \"64MB\"\n",
        "x.toml:3: [capture] ring: \"64MB\" is not a size, such as \"64MiB\", \"512KiB\" or a number \
         of bytes",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nring = \"1KiB\"\n",
        "x.toml:3: [capture] ring: must be from 64KiB to 16GiB, for example 64MiB",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nsnaplen = 20\n",
        "x.toml:3: [capture] snaplen: must be from 64 to 262144 bytes, for example 262144",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nbusy_poll = \"1s\"\n",
        "x.toml:3: [capture] busy_poll: must be at most 10ms, for example 50us; 0s is off",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nsource = \"pcap\"\n",
        "x.toml:3: [capture] source: \"pcap\" is not \"packet\", \"xdp\", \"xdp-zero-copy\", \
         \"xdp-copy\" or \"xdp-generic\"",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\npromiscuous = \"yes\"\n",
        "x.toml:3: [capture] promiscuous: \"yes\" is not true or false",
    ),
    (
        "[capture]\ninterfaces = [\"eth0\"]\nfiles = [\"a\"]\n",
        "x.toml:3: [capture] files: cannot be combined with `interfaces`: set one of the two",
    ),
    (
        "[capture]\nfiles = [\"a\"]\nworkers = 2\nspeed = \"max\"\n",
        "x.toml:4: [capture] speed: \"max\" needs one worker, since several would drift apart: set \
         workers to 1, or a speed",
    ),
    (
        "[capture]\ninterfaces = [\"a\", \"b\"]\nworkers = 33\n",
        "x.toml:3: [capture] workers: 66 workers (workers times interfaces) are more than 64, the \
         most allowed",
    ),
    (
        "[capture]\nfiles = [\"a\"]\nspeed = 0\n",
        "x.toml:3: [capture] speed: 0 is not \"max\" or a number above 0, such as 1 for the speed of \
         the capture",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[engine]\nmax_calls = 0\n",
        "x.toml:4: [engine] max_calls: must be from 1 to 100000000, for example 60000",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[engine]\nmax_calls = -1\n",
        "x.toml:4: [engine] max_calls: -1 is not a whole number, such as 60000",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[engine]\nidle_limit = 10\n",
        "x.toml:4: [engine] idle_limit: 10 is not a time with its unit, such as \"10s\", \"250ms\", \
         \"4h\" or \"90d\"",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[engine]\nidle_limit = \"0s\"\n",
        "x.toml:4: [engine] idle_limit: must be from 1s to 30d, for example 4h",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[engine]\nmax_stream_bytes = 1\n",
        "x.toml:4: [engine] max_stream_bytes: must be from 4KiB to 64MiB, for example 256KiB",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[store]\nqueue = 1\n",
        "x.toml:4: [store] queue: must be from 16 to 4000000 records, for example 16384",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[store]\ndirectory = 5\n",
        "x.toml:4: [store] directory: 5 is not a path, such as \"/var/lib/ringtap/records\"",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[store]\noutbox_size = \"1KiB\"\n",
        "x.toml:4: [store] outbox_size: must be at least 1MiB, for example 1GiB",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[store]\noutbox = \"/var/lib/ringtap/records\"\n",
        "x.toml:4: [store] outbox: must not be the directory of the records: set another one",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[store]\nretain = \"1h\"\n",
        "x.toml:4: [store] retain: must be at least 1d, for example 90d; 0s keeps records for ever",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\nmedia = \"5s\"\n",
        "x.toml:4: [retention] media: must be at least 1m, for example 90d; 0s is never",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\nmedia_size = \"5KiB\"\n",
        "x.toml:4: [retention] media_size: must be at least 1MiB, for example 500GiB; 0 is no limit",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\nfree = \"five\"\n",
        "x.toml:4: [retention] free: \"five\" is not a share such as \"5%\", or a size such as \"20GiB\"",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\nfree = \"5%\"\nfree_again = \"4.9%\"\n",
        "x.toml:5: [retention] free_again: must not be less than `free`, for example 5% and 7%",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[spool]\ndirectory = \"/s\"\n[retention]\ntier = \"/s/old\"\n",
        "x.toml:6: [retention] tier: must not be inside the directory of the spool, nor contain it: \
         set one on another disk",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\ntier_after = \"2d\"\n",
        "x.toml:4: [retention] tier_after: needs `tier`, where segments move to: set it, or remove \
         this key",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3:/b\"\n",
        "x.toml:4: [retention] tier: is not a bucket: write s3://, its name and a prefix, for example \
         s3://recordings/sensor-1",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3://b\"\ntier_endpoint = \
         \"http://s3.example.org\"\n",
        "x.toml:5: [retention] tier_endpoint: is not encrypted: use https, or allow http with \
         tier_http = true",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3://b\"\ntier_endpoint = \
         \"s3.example.org\"\n",
        "x.toml:5: [retention] tier_endpoint: must be a scheme, a host and a port, for example \
         https://s3.example.org:9000",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"/t\"\ntier_endpoint = \
         \"https://s3.example.org\"\n",
        "x.toml:5: [retention] tier_endpoint: needs a bucket in `tier`: set it to s3://bucket/prefix, \
         or remove this key",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[metrics]\nlisten = \"9464\"\n",
        "x.toml:4: [metrics] listen: \"9464\" is not an address and a port, such as \
         \"127.0.0.1:9464\", or \"\" for none",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[log]\nlevel = \"loud\"\n",
        "x.toml:4: [log] level: \"loud\" is not \"error\", \"warn\", \"info\" or \"debug\"",
    ),
    (
        "[capture]\nfiles = [\"a\"]\n[log]\nstatus = \"1ms\"\n",
        "x.toml:4: [log] status: must be at least 1s, for example 10s; 0s is off",
    ),
    ("[capture]\nfiles = [\"a\"]\nfiles = [\"b\"]\n", "x.toml:3: duplicate key"),
    ("[capture]\nfiles = [\"a\"\n", "x.toml:2: unclosed array, expected `]`"),
];

/// Every wrong file names its line, its key, what is wrong and what would be right.
#[test]
fn wrong_files() {
    for (text, expected) in WRONG_FILES {
        let wrong = Config::parse(text).expect_err(text).of(Path::new("x.toml"));
        assert_eq!(wrong.to_string(), *expected, "{text}");
    }
    let error = Config::load(Path::new("/nowhere/ringtap.toml"), None).unwrap_err().to_string();
    assert_eq!(
        error,
        "/nowhere/ringtap.toml does not exist: `ringtap run --print-default` prints one to start from"
    );
}

/// All mistakes of a file are named at once, in the order of their lines.
#[test]
fn every_mistake_is_named() {
    let named = |text: &str| {
        let wrong = Config::parse(text).expect_err(text).of(Path::new("x"));
        let lines: Vec<String> = wrong.to_string().lines().map(ToOwned::to_owned).collect();
        assert_eq!(lines.len(), wrong.count());
        lines.iter().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let text = "[capture]\ninterfaces = 5\nwombat = 1\nring = \"64 MB\"\n[wombat]\n[engine]\nmax_calls = -1\n\
                [[keep]]\nmos_below = \"low\"\nkeep = \"all\"\ncolour = 1\n";
    let expected = [
        "x:2 [capture] interfaces",
        "x:3 [capture] wombat",
        "x:4 [capture] ring",
        "x:5 [wombat]",
        "x:7 [engine] max_calls",
        "x:9 [[keep]] mos_below",
        "x:10 [[keep]] keep",
        "x:11 [[keep]] colour",
    ];
    assert_eq!(named(text), expected);
    let text = "[capture]\ninterfaces = [\"lo\"]\nsnaplen = 1\nring = 1\n[store]\nretain = \"1h\"\n\
                [spool]\nsign = \"/k\"\n";
    let expected = ["x:3 [capture] snaplen", "x:4 [capture] ring", "x:6 [store] retain", "x:8 [spool] sign"];
    assert_eq!(named(text), expected);
    // However many there are.
    let many: String = (0..1_000).map(|number| format!("wrong{number} = 1\n")).collect();
    assert_eq!(named(&format!("[capture]\n{many}")).len(), 50);
}

/// What a default looks like in the file is what the file gives.
#[test]
fn defaults_are_written_as_they_are_read() {
    for section in Config::SECTIONS {
        for key in section.keys {
            let (default, name) = ((key.default)(), key.name);
            let text = format!("[{}]\n{name} = {default}\n", section.name);
            let config: Config = toml::from_str(&text).unwrap();
            assert_eq!(config, Config::default(), "the default of {name} is not {default}");
        }
    }
}

/// A key that may be out of bounds says so with a range and an example that is within it.
#[test]
fn examples_are_within_bounds() {
    for (text, expected) in [
        (
            "[capture]\nfiles = [\"a\"]\n[retention]\ntier_rate = 5\n",
            "x.toml:4: [retention] tier_rate: must be at least 64KiB, for example 50MiB; 0 is no limit",
        ),
        (
            "[capture]\nfiles = [\"a\"]\n[spool]\nage = \"2m\"\n",
            "x.toml:4: [spool] age: must be from 1s to 1m, for example 10s",
        ),
    ] {
        let wrong = Config::parse(text).expect_err(text).of(Path::new("x.toml"));
        assert_eq!(wrong.to_string(), expected);
    }
    for key in Config::SECTIONS.iter().flat_map(|section| section.keys) {
        let text =
            format!("[capture]\nfiles = [\"a\"]\n[{}]\n{} = {}\n", key.section, key.name, (key.default)());
        assert!(key.section == "capture" || Config::parse(&text).is_ok(), "{text}");
    }
}

#[test]
fn the_default_file_is_right_but_for_the_interface() {
    let text = default_file().replace("interfaces = []", "interfaces = [\"eth0\"]");
    let config = Config::parse(&text).unwrap();
    assert_eq!(config.changed(&Config::default()).len(), 1);
    assert_eq!(config, Config::parse(SHORT).unwrap());
}

#[test]
fn what_changed_is_found() {
    let old = Config::parse(SHORT).unwrap();
    let new = Config::parse(&format!("{SHORT}ring = \"32MiB\"\n[log]\nlevel = \"warn\"\n")).unwrap();
    let names: Vec<_> = old.changed(&new).iter().map(|key| (key.section, key.name, key.live)).collect();
    assert_eq!(names, [("capture", "ring", false), ("log", "level", true)]);
}

#[test]
fn nothing_has_to_stay_free() {
    let parse =
        |free: &str| Config::parse(&format!("[capture]\nfiles = [\"a\"]\n[retention]\nfree = {free}\n"));
    for free in ["0", "\"0%\""] {
        assert_eq!(parse(free).unwrap().retention.free.to_string(), "0%", "{free}");
    }
    assert!(parse("5").is_err(), "5 of what");
}
