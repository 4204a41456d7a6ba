//! Capturing on the loopback, and the refusals of `live`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_testing::in_network_namespace;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::run::{ringtap, run};

/// Ports of two phones that nobody else uses on this machine, and a Call-ID of our own.
struct Phones {
    sip: [UdpSocket; 2],
    media: [UdpSocket; 2],
    call_id: String,
}

impl Phones {
    fn new() -> Self {
        let socket = || UdpSocket::bind("127.0.0.1:0").expect("a port of the loopback");
        // RTP has even ports.
        let even = || loop {
            let socket = socket();
            if socket.local_addr().expect("bound").port() % 2 == 0 {
                return socket;
            }
        };
        Self {
            sip: [socket(), socket()],
            media: [even(), even()],
            call_id: format!("live-{}@127.0.0.1", std::process::id()),
        }
    }

    fn port(socket: &UdpSocket) -> u16 {
        socket.local_addr().expect("bound").port()
    }

    fn filter(&self) -> String {
        let ports =
            self.sip.iter().chain(&self.media).map(|socket| format!("udp port {}", Self::port(socket)));
        ports.collect::<Vec<_>>().join(" or ")
    }

    fn say(&self, from: usize, start: &str, cseq: &str, tag: &str, sdp: bool) {
        let port = Self::port(&self.media[from]);
        let body = match sdp {
            true => format!(
                "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
                 m=audio {port} RTP/AVP 8\r\n"
            ),
            false => String::new(),
        };
        let message = format!(
            "{start}\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK{}\r\nFrom: <sip:221@127.0.0.1>;tag=a\r\n\
             To: <sip:602@127.0.0.1>{tag}\r\nCall-ID: {}\r\nCSeq: {cseq}\r\n\
             Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
            cseq.replace(' ', ""),
            self.call_id,
            body.len()
        );
        let to = self.sip[1 - from].local_addr().expect("bound");
        self.sip[from].send_to(message.as_bytes(), to).expect("sent");
    }

    /// An answered call with fifty packets each way, as fast as they go.
    fn talk(&self) {
        self.say(0, "INVITE sip:602@127.0.0.1 SIP/2.0", "1 INVITE", "", true);
        self.say(1, "SIP/2.0 180 Ringing", "1 INVITE", ";tag=b", false);
        self.say(1, "SIP/2.0 200 OK", "1 INVITE", ";tag=b", true);
        self.say(0, "ACK sip:602@127.0.0.1 SIP/2.0", "1 ACK", ";tag=b", false);
        for sequence in 0..50_u16 {
            for side in [0, 1] {
                let mut packet = vec![0x80, 8];
                packet.extend(sequence.to_be_bytes());
                packet.extend((u32::from(sequence) * 160).to_be_bytes());
                packet.extend([0, 0, 0, side as u8]);
                packet.extend([0xd5; 160]);
                let to = self.media[1 - side].local_addr().expect("bound");
                self.media[side].send_to(&packet, to).expect("sent");
            }
        }
        self.say(0, "BYE sip:602@127.0.0.1 SIP/2.0", "2 BYE", ";tag=b", false);
        self.say(1, "SIP/2.0 200 OK", "2 BYE", ";tag=b", false);
    }
}

#[test]
fn any_is_every_interface_of_the_namespace_that_is_up() {
    let setup = [
        "link set lo up",
        "link add v0 type veth peer name v1",
        "link set v0 up",
        "link set v1 up",
        "link add w0 type veth peer name w1",
    ];
    in_network_namespace(&setup, || {
        let any = run(["live", "-i", "any", "--records", "--duration", "1s"]);
        assert_eq!(any.status, 0, "{}", any.err);
        assert!(any.err.contains("capturing on lo, v0, v1;"), "{}", any.err);
        assert!(!any.err.contains("not captured"), "{}", any.err);
        let twice = run(["live", "-i", "any", "-i", "lo", "--records"]);
        assert!(twice.status == 2 && twice.err.contains("leave out the others"), "{}", twice.err);
    });
}

#[test]
fn a_call_on_the_loopback_is_recorded() {
    let phones = Phones::new();
    let mut child = ringtap()
        .args(["live", "-i", "lo", "--records", "--duration", "2s", "--filter", &phones.filter()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut remarks = BufReader::new(child.stderr.take().expect("piped"));
    let mut remark = String::new();
    // It says so when the ring is open: nothing is sent before.
    while !remark.contains("capturing on lo") {
        remark.clear();
        if remarks.read_line(&mut remark).expect("UTF-8") == 0 {
            _ = child.wait();
            return ringtap_testing::skip("capturing on lo", "it needs CAP_NET_RAW and libpcap");
        }
    }
    phones.talk();
    let mut out = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("UTF-8");
    let mut rest = String::new();
    remarks.read_to_string(&mut rest).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{rest}");
    let records: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let [call, one, other] = &records[..] else { panic!("{out}\n{rest}") };
    assert_eq!((&call["call_id"], &call["state"]), (&phones.call_id.clone().into(), &"completed".into()));
    assert_eq!((&call["messages"], &call["capture_drops"]), (&6.into(), &0.into()));
    for stream in [one, other] {
        assert_eq!(
            (&stream["packets"], &stream["lost"], &stream["codec"]),
            (&50.into(), &0.into(), &"PCMA".into())
        );
    }
    assert!(rest.contains("106 packets; nothing lost"), "{rest}");
}

#[test]
fn files_give_the_same_records_as_analyze() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
    let live = run(["live", "--records", demo]);
    let analyze = run(["analyze", "--format", "jsonl", demo]);
    assert_eq!((live.status, &live.out), (0, &analyze.out), "{}", live.err);
    assert_eq!(live.err, "ringtap: 7,122 packets; nothing lost\n");
    let filtered = run(["live", "--records", "--filter", "udp port 5060", demo]);
    if filtered.status == 0 {
        assert!(
            filtered.err.contains("95 packets") && !filtered.out.contains("\"type\":\"stream\""),
            "{filtered:?}"
        );
    } else {
        assert!(filtered.err.contains("libpcap"), "{filtered:?}");
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let refused = |arguments: &[&str], status: i32, word: &str| {
        let run = run([&["live"], arguments].concat());
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{run:?}");
        assert!(run.err.contains(word), "{word}: {run:?}");
    };
    refused(&[], 2, "name an interface");
    refused(&["-i", "lo"], 2, "--records");
    refused(&["-i", "lo", "in.pcap", "--records"], 2, "cannot be used with");
    refused(&["-i", "lo", "-i", "lo", "--records"], 1, "twice");
    refused(&["-i", "no-such", "--records"], 1, "no-such");
    refused(&["/no/such.pcap", "--records"], 1, "does not exist");
    refused(&["in.pcap", "--speed", "0"], 2, "above 0");
    refused(&["-i", "lo", "--records", "--duration", "1w"], 2, "10s, 5m, 2h or 7d");
}

/// A terminal: the end that a terminal program has, and the end of the programs in it.
fn terminal() -> (File, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).expect("a terminal");
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("a size");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("a terminal of our own");
    let theirs = ioctl_tiocgptpeer(&ours, flags).expect("its other end");
    (ours.into(), theirs)
}

/// The program in that terminal.
fn watch(command: &mut Command, terminal: OwnedFd) -> Child {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
    let stdio = || Stdio::from(terminal.try_clone().expect("a descriptor"));
    command.args(["live", "--speed", "0.001", demo]).env("TERM", "xterm").env_remove("NO_COLOR");
    command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().expect("the program starts")
}

/// Whether `child` ends by itself; the time is far more than it takes.
fn ends(mut child: Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().and_then(|()| child.wait()).expect("it can be killed");
    false
}

/// Without SIGHUP, as for a program that does not belong to the terminal's session, and with it.
#[test]
fn the_display_ends_with_its_terminal() {
    let mut without = Command::new(env!("CARGO_BIN_EXE_ringtap"));
    let mut with = Command::new("setsid");
    with.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_ringtap")]);
    for command in [&mut without, &mut with] {
        let (mut ours, theirs) = terminal();
        let child = watch(command, theirs);
        // It draws: the keys are read from then on.
        let (mut drawn, mut chunk) = (Vec::new(), [0; 4096]);
        while !drawn.windows(5).any(|text| text == b"calls") {
            let read = ours.read(&mut chunk).expect("a picture");
            drawn.extend_from_slice(&chunk[..read]);
        }
        drop(ours);
        assert!(ends(child), "{command:?} goes on without its terminal");
    }
}
