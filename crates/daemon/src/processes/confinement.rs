//! Confines a process of the daemon to what it needs: files by Landlock, system calls by a seccomp filter.
//!
//! Both are in the kernel, and hold whatever the service manager allows. A kernel without one of them is
//! named in the log; the rest holds.

use std::fs::File;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use crate::config::Config;
use crate::processes::system_calls::{self, Calls};

/// What a process may do from now on.
#[derive(Debug)]
pub(crate) struct Confinement {
    /// Files and directories that it may read.
    reads: Vec<PathBuf>,
    /// Directories in which it may do everything.
    writes: Vec<PathBuf>,
    /// Programs and libraries that it may run.
    runs: Vec<PathBuf>,
    /// Ports of others that it may connect to.
    ports: Vec<u16>,
    calls: anyhow::Result<Calls>,
    /// What it tries, and must be refused.
    refused: &'static [Attempt],
}

/// What no process may do, or nearly none.
#[derive(Clone, Copy, Debug)]
enum Attempt {
    File,
    Connection,
    Program,
}

impl Confinement {
    fn of(calls: anyhow::Result<Calls>) -> Self {
        let refused = &[Attempt::File, Attempt::Connection, Attempt::Program];
        Self { reads: vec![], writes: vec![], runs: vec![], ports: vec![], calls, refused }
    }

    /// The process with the keys: no file, no program, no connection.
    pub(crate) fn of_keys() -> Self {
        Self::of(system_calls::of_every_process())
    }

    /// The process that captures and records: its own directories, its configuration and what that names.
    /// `delivers`: ports of mediation functions, to which it may connect.
    pub(crate) fn of_capture(config: &Config, path: &Path, delivers: &[u16]) -> Self {
        let heads = Some(config.spool.heads.as_path()).filter(|path| !path.as_os_str().is_empty());
        let directories = [
            config.spool.directory(),
            heads.and_then(Path::parent),
            config.spool.rules_file().and_then(Path::parent),
            config.retention.tier(),
            Some(config.store.directory.as_path()),
            Some(config.store.outbox.as_path()),
            config.journal.path.parent(),
            config.intercept.register(),
            config.intercept.product(),
        ];
        let writes = directories.into_iter().flatten().map(present).collect();
        let secrets = config.secret_files();
        let lists = config.number_files();
        let beside = std::iter::once(path).chain(lists.iter().map(PathBuf::as_path));
        let mut reads = paths(&SYSTEM);
        reads.extend(beside.map(|file| reloaded(file, &secrets)));
        reads.extend(config.capture.files.iter().cloned());
        // For the metrics: what `ringtap hooks` saves there.
        reads.extend(config.hooks_directory().filter(|path| path.is_dir()).map(Path::to_owned));
        let calls = match delivers {
            [] => system_calls::of_capture(),
            _ => system_calls::of_delivery(),
        };
        Self { reads, writes, ports: delivers.to_vec(), ..Self::of(calls) }
    }

    /// A process that speaks to others, a bucket or who is told of alarms: files that name resolution reads,
    /// and some more; connections to these ports.
    pub(crate) fn of_network(ports: &[u16], files: Vec<PathBuf>) -> Self {
        let reads = [paths(&RESOLUTION), paths(&LIBRARIES), files].concat();
        let ports = [ports, &[NAMES]].concat();
        Self { reads, ports, ..Self::of(system_calls::of_network()) }
    }

    /// The process that starts it: what it may do and needs to start, for no process may do more than the one
    /// that started it.
    pub(crate) fn of_starter(ports: &[u16], files: Vec<PathBuf>) -> Self {
        let own = Self::of_network(ports, files);
        let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().filter_map(std::env::var_os);
        let reads = [own.reads, paths(&STARTED), named.map(PathBuf::from).collect()].concat();
        let runs = [paths(&LIBRARIES), paths(&["/proc/self/exe"])].concat();
        let (writes, calls) = (paths(&["/dev/null"]), system_calls::of_starter());
        Self { reads, writes, runs, calls, refused: &[Attempt::Connection], ports: own.ports }
    }

    /// Confines this thread and those that it starts, so call it before there is a second one. What the
    /// kernel does not offer is logged; `name` is the process.
    ///
    /// # Errors
    ///
    /// The process can still do what it must not.
    pub(crate) fn apply(self, name: &str) -> anyhow::Result<()> {
        let refused = self.refused;
        match self.restrict_files() {
            Ok(RulesetStatus::FullyEnforced) => {}
            Ok(RulesetStatus::PartiallyEnforced) => log::debug!(
                target: "run",
                "the process for {name}: this kernel's Landlock lacks a part: use Linux 6.12 or later"
            ),
            Ok(RulesetStatus::NotEnforced) => log::warn!(
                target: "run",
                "the process for {name} may open every file of its user: this kernel has no Landlock; add \
                `landlock` to its list of security modules (`lsm=`)"
            ),
            Err(error) => log::warn!(
                target: "run",
                "the process for {name} may open every file of its user: Landlock refuses ({error:#})"
            ),
        }
        match self.calls.and_then(system_calls::allow_only) {
            Ok(()) => check(name, refused),
            Err(error) => log::warn!(
                target: "run",
                "the process for {name} may make every system call: the filter is refused ({error:#}); does \
                a container forbid seccomp?"
            ),
        }
        Ok(())
    }

    fn restrict_files(&self) -> anyhow::Result<RulesetStatus> {
        let all = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::Truncate;
        let all = all | AccessFs::RemoveFile | AccessFs::RemoveDir | AccessFs::MakeReg | AccessFs::MakeDir;
        let ports =
            self.ports.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
        let rules = Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(Scope::Signal)?
            .create()?
            .add_rules(path_beneath_rules(&self.reads, AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(&self.writes, all | AccessFs::Refer))?
            .add_rules(path_beneath_rules(&self.runs, AccessFs::ReadFile | AccessFs::Execute))?
            .add_rules(ports)?;
        Ok(rules.restrict_self()?.ruleset)
    }
}

/// A file that a reload reads again: its directory, because an editor may make it anew, unless a key is below
/// it too.
fn reloaded(file: &Path, secrets: &[PathBuf]) -> PathBuf {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = whole(file).parent().map_or_else(|| file.to_owned(), Path::to_owned);
    if secrets.iter().any(|secret| whole(secret).starts_with(&dir)) {
        log::warn!(
            target: "run",
            "{} is read again only if it is changed in place (`cp`, not `mv`; most editors make it anew), \
            because a key lies below its directory: put keys into a directory of their own",
            file.display()
        );
        return file.to_owned();
    }
    dir
}

/// The path, or the next directory above it that exists: it may be made later.
fn present(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|part| !part.as_os_str().is_empty() && part.exists());
    match there {
        Some(there) if there == Path::new("/") => {
            log::warn!(
                target: "run",
                "{} cannot be used before the next start: no directory above it exists now",
                path.display()
            );
            path.to_owned()
        }
        Some(there) => there.to_owned(),
        None => PathBuf::from("."),
    }
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Tries what must be refused now, and names what is not.
fn check(name: &str, refused: &[Attempt]) {
    let possible: Vec<&str> = refused.iter().filter_map(|attempt| attempt.succeeds()).collect();
    match possible.as_slice() {
        [] => log::info!(target: "run", "the process for {name} is confined"),
        open => log::warn!(target: "run", "the process for {name} is confined but for {}", open.join(", ")),
    }
}

impl Attempt {
    /// What is not refused, in words.
    fn succeeds(self) -> Option<&'static str> {
        let (words, result) = match self {
            Self::File => ("files", File::open(FOREIGN).map(drop)),
            Self::Connection => ("connections", TcpStream::connect((Ipv4Addr::LOCALHOST, DISCARD)).map(drop)),
            Self::Program => {
                let program = Command::new("/proc/self/exe").arg("--version").spawn();
                ("programs", program.and_then(|mut child| child.wait()).map(drop))
            }
        };
        let is_refused = result.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
        (!is_refused).then_some(words)
    }
}

/// The newest Landlock whose rights are known here; an older kernel enforces what it has.
const KNOWN: ABI = ABI::V6;
/// What the process that captures may read besides: times of day, its own figures and the machine's,
/// interfaces.
const SYSTEM: [&str; 10] = [
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/self",
    "/proc/meminfo",
    "/proc/sys/kernel/random/boot_id",
    "/sys/fs/cgroup",
    "/sys/class/net",
    "/sys/devices",
    "/dev/null",
    "/dev/urandom",
];
/// What the resolution of names reads. Not all of `/etc`: the keys may be there.
const RESOLUTION: [&str; 9] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ld.so.cache",
    "/run/systemd/resolve",
    "/dev/urandom",
];
/// Libraries of this program, and those that name resolution loads.
const LIBRARIES: [&str; 5] = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"];
/// What a program reads when it starts, certificates, and where name resolution may be configured anew.
const STARTED: [&str; 8] = [
    "/etc",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/share/pki",
    "/var/lib/ca-certificates",
    "/proc/self/exe",
];
/// The port of name servers.
const NAMES: u16 = 53;
/// A file that every user may read.
const FOREIGN: &str = "/etc/passwd";
/// The port of the discard service: nobody listens there.
const DISCARD: u16 = 9;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use ringtap_capture::host::quarter_of_memory;
    use ringtap_notify::{Http, Oid, Protocol, Sender, Smtp, Snmp, Target, Tls};

    use super::*;

    /// Tries in a thread of its own, which alone is confined.
    fn confined(confinement: Confinement, attempt: impl FnOnce() + Send + 'static) {
        let thread = thread::spawn(move || {
            nix::sys::prctl::set_no_new_privs().expect("Linux has it");
            confinement.apply("the test").expect("it is confined");
            let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
            assert!(status.is_empty() || status.contains("Seccomp:\t2\n"), "{status}");
            attempt();
        });
        thread.join().expect("the attempt");
    }

    fn refused<T>(result: std::io::Result<T>) {
        let kind = result.map(|_| ()).expect_err("it must be refused").kind();
        assert_eq!(kind, std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_capture_process_writes_its_own_files_and_reaches_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        let (own, foreign) = (dir.path().to_owned(), other.path().join("file"));
        fs::write(&foreign, "x").expect("a file");
        let spool = own.join("spool");
        fs::create_dir(&spool).expect("a directory");
        let memory = quarter_of_memory();
        let capture = Confinement {
            reads: paths(&SYSTEM),
            writes: vec![spool.clone()],
            ..Confinement::of(system_calls::of_capture())
        };
        confined(capture, move || {
            fs::create_dir(spool.join("day")).expect("its own directory");
            fs::write(spool.join("day/file"), "x").expect("its own directory");
            fs::rename(spool.join("day/file"), spool.join("file")).expect("its own directory");
            assert_eq!(fs::read_to_string(spool.join("file")).expect("its own file"), "x");
            fs::remove_dir(spool.join("day")).expect("its own directory");
            thread::spawn(|| ()).join().expect("threads may be started");
            UnixStream::pair().expect("connections to its own processes");
            assert_eq!(quarter_of_memory(), memory, "what tables may hold does not change");
            fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the clock is watched");
            for path in [Path::new("/etc/shadow"), Path::new(FOREIGN), &foreign] {
                refused(File::open(path));
            }
            refused(fs::write(&foreign, "y"));
            std::os::unix::fs::symlink(&foreign, spool.join("link")).expect_err("no links");
            refused(TcpStream::connect((Ipv4Addr::LOCALHOST, DISCARD)));
            refused(UnixStream::connect("/run/dbus/system_bus_socket"));
            refused(Command::new("/bin/true").spawn());
        });
        assert_eq!(fs::read_to_string(other.path().join("file")).expect("it is there"), "x");
    }

    /// It is for another disk than that of the spool and the records.
    #[test]
    fn a_capture_process_appends_to_the_file_of_heads() {
        let [own, notary] = [(), ()].map(|()| tempfile::tempdir().expect("a directory"));
        let (path, heads) = (own.path().join("ringtap.toml"), notary.path().join("heads"));
        let shown = own.path().display();
        let text = format!(
            "[capture]\ninterfaces = [\"lo\"]\n[spool]\ndirectory = \"{shown}/spool\"\nheads = \"{}\"\n\
             [store]\ndirectory = \"{shown}/records\"\noutbox = \"{shown}/outbox\"\n\
             [journal]\npath = \"{shown}/journal\"\n",
            heads.display()
        );
        fs::write(&path, text).expect("a file");
        let config = Config::load(&path, None).expect("it is right");
        confined(Confinement::of_capture(&config, &path, &[]), move || {
            File::options().append(true).create(true).open(&heads).expect("the daemon notes heads there");
        });
    }

    #[test]
    fn the_process_with_the_keys_opens_no_file_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("a file");
        confined(Confinement::of_keys(), move || {
            refused(File::open(&file));
            refused(fs::write(&file, "y"));
            refused(TcpStream::connect((Ipv4Addr::LOCALHOST, DISCARD)));
            refused(UnixStream::pair());
            refused(Command::new("/bin/true").spawn());
            thread::spawn(|| ()).join().expect("threads may be started");
        });
    }

    #[test]
    fn the_process_for_the_network_connects_to_the_ports_of_the_bucket_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("a file");
        let bucket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let other = TcpListener::bind("127.0.0.1:0").expect("a port");
        let [bucket_port, other_port] = [&bucket, &other].map(|there| there.local_addr().expect("it").port());
        confined(Confinement::of_network(&[bucket_port], vec![]), move || {
            TcpStream::connect(("localhost", bucket_port)).expect("a name is resolved, and the port allowed");
            refused(TcpStream::connect((Ipv4Addr::LOCALHOST, other_port)));
            refused(TcpListener::bind("127.0.0.1:0"));
            refused(File::open(&file));
            refused(File::open(FOREIGN));
            refused(fs::write(&file, "y"));
            refused(fs::read_dir("/etc"));
            refused(Command::new("/bin/true").spawn());
            thread::spawn(|| ()).join().expect("threads may be started");
        });
    }

    /// A server for one connection: the line that it begins with, and its answer to each line or request.
    fn double(first: &'static str, answer: fn(&str) -> &'static str) -> (u16, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it").port();
        let serve = move || {
            let (mut connection, _) = listener.accept().expect("a connection");
            connection.write_all(first.as_bytes()).expect("it is open");
            let (mut told, mut bytes) = (String::new(), [0; 4096]);
            loop {
                let read = connection.read(&mut bytes).expect("it is open");
                told.push_str(&String::from_utf8_lossy(&bytes[..read]));
                let said = answer(&told);
                if read == 0 || connection.write_all(said.as_bytes()).is_err() || said.ends_with("bye\r\n") {
                    return told;
                }
            }
        };
        (port, thread::spawn(serve))
    }

    fn sender(name: &str, protocol: Protocol) -> Sender {
        Sender::open(&Target { name: name.into(), protocol }, None, "sensor-1").expect("it is right")
    }

    /// With the system calls and files that are left, names are resolved and notices delivered.
    #[test]
    fn confined_as_it_is_the_notifier_delivers_notices() {
        let (http_port, http) = double("", |told| match told.ends_with('}') {
            true => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nbye\r\n",
            false => "",
        });
        let (mail_port, mail) = double("220 double\r\n", |told| match told {
            told if told.ends_with("QUIT\r\n") => "221 bye\r\n",
            told if told.ends_with("DATA\r\n") => "354 go on\r\n",
            told if told.contains("DATA\r\n") && !told.ends_with("\r\n.\r\n") => "",
            told if told.ends_with("\r\n") => "250 so be it\r\n",
            _ => "",
        });
        let traps = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let trap_port = traps.local_addr().expect("it").port();
        let url = format!("http://localhost:{http_port}/x");
        let smtp = Smtp {
            server: "localhost".into(),
            port: mail_port,
            tls: Tls::None,
            user: String::new(),
            password_file: None,
            from: "ringtap@example.org".into(),
            to: vec!["noc@example.org".into()],
            ca: None,
        };
        let (community, oid) = ("public".into(), Oid::default());
        let snmp = Snmp { server: "127.0.0.1".into(), port: trap_port, community, oid };
        let senders = [
            sender("webhook", Protocol::Webhook(Http { url, header_file: None, ca: None })),
            sender("mail", Protocol::Smtp(smtp)),
            sender("traps", Protocol::Snmp(snmp)),
        ];
        confined(Confinement::of_network(&[http_port, mail_port], vec![]), move || {
            for sender in senders {
                let delivered = sender.deliver(&crate::notices::tests::notice(1));
                delivered.unwrap_or_else(|error| panic!("{sender:?}: {error}"));
            }
        });
        assert!(http.join().expect("a request").contains("\"kind\":\"raised\""));
        assert!(mail.join().expect("a mail").contains("Subject: [ringtap] warning: "));
        assert!(traps.recv(&mut [0; 2048]).expect("a trap") > 100);
    }

    #[test]
    fn the_notifier_sends_traps_and_mail_and_reaches_nothing_else() {
        let [mail, other] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [mail_port, other_port] = [&mail, &other].map(|there| there.local_addr().expect("it").port());
        let traps = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let receiver = traps.local_addr().expect("it");
        let dir = tempfile::tempdir().expect("a directory");
        let secret = dir.path().join("password");
        fs::write(&secret, "x").expect("a file");
        confined(Confinement::of_network(&[mail_port], vec![]), move || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, mail_port)).expect("the port is allowed");
            refused(TcpStream::connect((Ipv4Addr::LOCALHOST, other_port)));
            let socket = UdpSocket::bind("0.0.0.0:0").expect("traps are sent from a port");
            socket.send_to(b"trap", receiver).expect("traps may be sent");
            for path in [&secret, Path::new("/etc/shadow"), Path::new(FOREIGN)] {
                refused(File::open(path));
            }
            refused(Command::new("/bin/true").spawn());
        });
        let mut bytes = [0; 8];
        assert_eq!(traps.recv(&mut bytes).expect("it was sent"), 4);
    }
}
