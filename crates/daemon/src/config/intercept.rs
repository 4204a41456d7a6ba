//! `[intercept]`: warrants in force while traffic is captured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use super::key::{Bounds, KeyProblem, MIB, section};
use super::values::{ListenAddress, Size, Span};

section! {
    /// Lawful interception: what the warrants in force are entitled to of the traffic
    /// (`docs/manual/product.md`). Nothing of it is in records, logs, metrics or status.
    #[name = "intercept"]
    pub(crate) struct Intercept {
        /// Directory of the register of warrants, which `ringtap warrant setup` makes. Empty intercepts
        /// nothing.
        #[accepts = "a path, such as \"/var/lib/ringtap/warrants\", or \"\" for none"]
        register: PathBuf = PathBuf::new(),
        /// File with the master key of the register, read at the start: an unattended restart goes on with
        /// the orders in force. Others than its owner must not be able to read it.
        #[accepts = "a path, such as \"/etc/ringtap/warrant.key\""]
        key: PathBuf = PathBuf::from("/etc/ringtap/warrant.key"),
        /// Shell command that prints the master key, in place of the file. It is run at the start.
        #[accepts = "a command, such as \"vault kv get -field=key ringtap/warrants\", or \"\" for none"]
        key_command: String = String::new(),
        /// Directory that product is written into, with mode 0700; a file system of its own, so that product
        /// takes no room from others.
        #[accepts = "a path, such as \"/var/lib/ringtap/product\""]
        product: PathBuf = PathBuf::new(),
        /// File of the mediation functions that product is delivered to as well, as `ringtap warrant product
        /// --deliver` reads it. It is read at the start. Empty writes files alone.
        #[accepts = "a path, such as \"/etc/ringtap/functions.toml\", or \"\" for none"]
        deliver: PathBuf = PathBuf::new(),
        /// Memory for the latest frames, over all workers: packets of a target from the moment at which it is
        /// one are taken from it. It is locked and never dumped. 0 turns it off: what passes in the half
        /// second before a target is known is not in its product.
        #[bounds = Bounds::at_least(MIB).zero("0 remembers no frames")]
        pub(crate) ring: Size = Size(256 << 20),
        /// Where a probe listens for sniffers, which it tells of orders and of targets' sessions. Empty tells
        /// nobody.
        listen: ListenAddress = ListenAddress(None),
        /// Names of the sniffers, as their certificates have them (DNS names of subjectAltName).
        #[accepts = "a list of names, such as [\"sniffer-1.example.org\"]"]
        sniffers: Vec<String> = Vec::new(),
        /// On a sniffer, the probe that orders and sessions come from, in place of a register. Empty is none.
        probe: ListenAddress = ListenAddress(None),
        /// Name in the probe's certificate.
        #[accepts = "a name, such as \"probe.example.org\""]
        probe_name: String = String::new(),
        /// File of the certificates of those who vouch for the other end, in PEM.
        #[accepts = "a path, such as \"/etc/ringtap/authorities.pem\""]
        authorities: PathBuf = PathBuf::new(),
        /// File of the own certificate, and those that vouch for it, in PEM.
        #[accepts = "a path, such as \"/etc/ringtap/sniffer.crt\""]
        certificate: PathBuf = PathBuf::new(),
        /// File of its private key, in PEM, readable by its owner alone.
        #[accepts = "a path, such as \"/etc/ringtap-keys/sniffer.key\""]
        certificate_key: PathBuf = PathBuf::new(),
        /// What PDUs say of where they were intercepted (`interceptionPointID` of ETSI TS 102 232-1): 1 to 8
        /// letters and digits, another one for each sniffer. Empty says nothing.
        #[accepts = "a name, such as \"EAST1\", or \"\" for none"]
        point: String = String::new(),
        /// How long product is written into the same files.
        #[bounds = Bounds::between(60_000_000_000, 86_400_000_000_000 * 7).example("1h")]
        pub(crate) rotate: Span = Span(Nanos::from_secs(3_600)),
        /// Product of one warrant that may wait for its mediation function on each interface, on the disk of
        /// `product`. What finds no room is lost to the function, and reported to it; files have it.
        #[bounds = Bounds::at_least(MIB)]
        pub(crate) buffer: Size = Size(1 << 30),
    }
}

impl Intercept {
    /// The register; None where nothing is intercepted.
    pub(crate) fn register(&self) -> Option<&Path> {
        Some(self.register.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// Whether anything is intercepted.
    fn is_on(&self) -> bool {
        self.register().is_some() || self.probe().is_some()
    }

    /// Where product goes, where anything is intercepted.
    pub(crate) fn product(&self) -> Option<&Path> {
        self.is_on().then_some(self.product.as_path())
    }

    /// The file of mediation functions.
    pub(crate) fn functions(&self) -> Option<&Path> {
        let is_used = self.is_on() && !self.deliver.as_os_str().is_empty();
        is_used.then_some(self.deliver.as_path())
    }

    /// Where a probe listens.
    pub(crate) fn listen(&self) -> Option<SocketAddr> {
        self.listen.0.filter(|_| self.register().is_some())
    }

    /// Who may ask a probe.
    pub(crate) fn sniffers(&self) -> &[String] {
        &self.sniffers
    }

    /// Where a sniffer's probe is; None elsewhere.
    pub(crate) fn probe(&self) -> Option<SocketAddr> {
        self.probe.0
    }

    /// Name in the probe's certificate.
    pub(crate) fn probe_name(&self) -> &str {
        &self.probe_name
    }

    /// Certificates of those who vouch for the other end.
    pub(crate) fn authorities(&self) -> &Path {
        &self.authorities
    }

    /// The own certificate.
    pub(crate) fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Its private key.
    pub(crate) fn certificate_key(&self) -> &Path {
        &self.certificate_key
    }

    /// What PDUs name as the point of interception.
    pub(crate) fn point(&self) -> Option<&str> {
        Some(self.point.as_str()).filter(|point| !point.is_empty())
    }

    /// The file with the master key; of a sniffer, with a key of its own.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        let is_used = self.is_on() && self.key_command.is_empty();
        is_used.then_some(self.key.as_path())
    }

    /// The command that prints it.
    pub(crate) fn key_command(&self) -> Option<&str> {
        Some(self.key_command.as_str()).filter(|command| !command.is_empty())
    }

    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        let wrong = |key, problem: &str| Err(("intercept", key, problem.to_owned()));
        if !self.is_on() {
            let is_set = !self.product.as_os_str().is_empty() || !self.deliver.as_os_str().is_empty();
            let problem = "is empty, but `product` or `deliver` is set: set it, for example \
                           /var/lib/ringtap/warrants, or remove them";
            return if is_set { wrong("register", problem) } else { Ok(()) };
        }
        if self.product.as_os_str().is_empty() {
            let problem = "is empty, but there is a `register` or a `probe`: set the directory that product \
                           is written into, for example /var/lib/ringtap/product";
            return wrong("product", problem);
        }
        if let Some(register) = self.register()
            && (self.product.starts_with(register) || register.starts_with(&self.product))
        {
            return wrong("product", "must lie apart from `register`: set another directory");
        }
        self.check_placement()
    }

    fn check_placement(&self) -> Result<(), KeyProblem> {
        let wrong = |key, problem: &str| Err(("intercept", key, problem.to_owned()));
        match (self.probe(), self.listen.0) {
            (Some(_), _) if self.register().is_some() => {
                wrong("probe", "is set beside `register`: a sniffer has no register; remove one of them")
            }
            (Some(_), Some(_)) => {
                wrong("listen", "is set beside `probe`: a sniffer tells nobody; remove one of them")
            }
            (Some(_), None) if self.probe_name.is_empty() => {
                wrong("probe_name", "is empty, but there is a `probe`: set the name in its certificate")
            }
            (None, Some(_)) if self.sniffers.is_empty() => {
                wrong("sniffers", "is empty, but there is `listen`: name the sniffers, or remove it")
            }
            (None, None) => Ok(()),
            _ => {
                let files = [
                    ("authorities", &self.authorities),
                    ("certificate", &self.certificate),
                    ("certificate_key", &self.certificate_key),
                ];
                match files.into_iter().find(|(_, file)| file.as_os_str().is_empty()) {
                    Some((key, _)) => wrong(
                        key,
                        "is empty: a probe and its sniffers know each other by \
                                                  certificates; set the path of the file",
                    ),
                    None => Ok(()),
                }
            }
        }
    }
}
