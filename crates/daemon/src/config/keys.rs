//! Every key of the configuration, once.

/// A key, and all that people are told of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// As it is written in the file.
    pub(crate) default: &'static str,
    /// "... is not": what it takes, with an example.
    pub(crate) right: &'static str,
    /// A reload puts it into effect.
    pub(crate) live: bool,
    pub(crate) meaning: &'static str,
}

/// The sections, and what they are about.
pub(crate) const SECTIONS: [(&str, &str); 9] = [
    ("capture", "Where packets come from."),
    (
        "engine",
        "How many calls and streams are followed at once, and how long. Memory is taken for them at the start.",
    ),
    ("store", "Where records go."),
    ("journal", "Calls under way are kept in a journal, so that a kill or a power cut does not forget them."),
    ("spool", "Packets of calls on disk, for `ringtap export`. Off until a directory is named."),
    (
        "retention",
        "How long what is in the spool stays there. Segments are deleted whole, the oldest first; calls on hold (`ringtap hold`) \
         outlive all of it. Records have a clock of their own: [store] retain.",
    ),
    ("metrics", "Figures for Prometheus."),
    ("log", "What is told on standard error, or to systemd's journal."),
    ("process", "Whom the process runs as."),
];

const COUNT: &str = "a whole number, such as 60000";
const SIZE: &str = "a size, such as \"64MiB\", \"512KiB\" or a number of bytes";
const SPAN: &str = "a time with its unit, such as \"10s\", \"250ms\", \"4h\" or \"90d\"";
const FREE: &str = "a share such as \"5%\", or a size such as \"20GiB\"";
const FLAG: &str = "true or false";

const fn key(
    section: &'static str,
    name: &'static str,
    default: &'static str,
    right: &'static str,
    meaning: &'static str,
) -> Key {
    Key { section, name, default, right, live: false, meaning }
}

/// The same key, put into effect by a reload.
const fn live(key: Key) -> Key {
    Key { live: true, ..key }
}

/// In the order of the file.
pub(crate) const KEYS: [Key; 75] = [
    key(
        "capture",
        "interfaces",
        "[]",
        "a list of interfaces, such as [\"eth0\"]",
        "Network interfaces to capture on, such as [\"eth0\", \"eth1\"].",
    ),
    key(
        "capture",
        "source",
        "\"packet\"",
        "\"packet\", \"xdp\", \"xdp-zero-copy\", \"xdp-copy\" or \"xdp-generic\"",
        "How frames are taken: `packet` is AF_PACKET with a memory-mapped ring, which works on every interface and leaves the \
         host its traffic; `xdp` is AF_XDP, for a mirror port of which the host itself needs nothing, as good as the driver can; \
         `xdp-zero-copy`, `xdp-copy` and `xdp-generic` ask for one way of it.",
    ),
    key(
        "capture",
        "workers",
        "1",
        "a whole number from 1 to 255, such as 2",
        "Threads for each interface, each with a ring of its own and its share of the packets.",
    ),
    key(
        "capture",
        "cpus",
        "[]",
        "a list of CPU numbers, such as [2, 3]",
        "CPUs that the workers are pinned to, one for each: of the first interface, then of the second, ... Best on the NUMA \
         node of the interface. Empty leaves it to the kernel.",
    ),
    key(
        "capture",
        "ring",
        "\"64MiB\"",
        SIZE,
        "Memory in which the kernel leaves frames for a worker. It bridges the moments in which the worker is late: 64 MiB \
         hold 60 ms of 10 GbE.",
    ),
    key(
        "capture",
        "snaplen",
        "262144",
        "a whole number of bytes, such as 262144",
        "Bytes kept of a frame at most. Signalling that is cut cannot be followed.",
    ),
    key(
        "capture",
        "filter",
        "\"\"",
        "a text, such as \"udp or tcp port 5060\"",
        "Frames to capture, as for tcpdump: `udp or tcp port 5060`. What it leaves out costs nothing and is not counted. \
         Empty captures all.",
    ),
    key(
        "capture",
        "direction",
        "\"both\"",
        "\"both\" or \"incoming\"",
        "`both` takes what arrives and what this host sends; `incoming` what arrives, for a mirror port.",
    ),
    key(
        "capture",
        "fanout",
        "\"source\"",
        "\"source\", \"flow\" or \"queue\"",
        "Which worker gets a packet: by its `source` address and port (best), by the kernel's hash of its `flow`, or by the \
         receive `queue` of the card.",
    ),
    key(
        "capture",
        "latency",
        "\"10ms\"",
        SPAN,
        "The longest that a packet waits in the ring for others. Shorter costs CPU.",
    ),
    key(
        "capture",
        "busy_poll",
        "\"0s\"",
        SPAN,
        "How long a worker spins on an empty ring before it sleeps, such as \"50us\". Wakes up faster, costs CPU. Zero is off.",
    ),
    key(
        "capture",
        "promiscuous",
        "true",
        FLAG,
        "Take frames that are addressed to others, as a mirror port sends them.",
    ),
    key(
        "capture",
        "hardware_time",
        "false",
        FLAG,
        "Timestamps by the network card where it can give them, else by the kernel; the status line says which there are. The \
         card's clock has to be kept in step with the system's (phc2sys).",
    ),
    key("capture", "huge_pages", "false", FLAG, "Take memory from huge pages where it is the program's own."),
    key(
        "capture",
        "files",
        "[]",
        "a list of capture files, such as [\"trunk.pcap\"]",
        "Capture files to replay instead of capturing, merged by time. The program ends after the last.",
    ),
    key(
        "capture",
        "speed",
        "1.0",
        "\"max\" or a number above 0, such as 1 for the pace of the capture",
        "How fast files are replayed: 1 is their own pace, 10 ten times that, \"max\" as fast as it goes.",
    ),
    key(
        "engine",
        "max_calls",
        "60000",
        COUNT,
        "Calls followed at once, over all workers; further ones are counted as refused.",
    ),
    key(
        "engine",
        "max_streams",
        "150000",
        COUNT,
        "Media streams followed at once; those not yet confirmed count.",
    ),
    key("engine", "max_registrations", "100000", COUNT, "Registrations followed at once."),
    key("engine", "max_messages", "10000", COUNT, "SIP MESSAGE transactions followed at once."),
    key("engine", "max_fragmented", "4096", COUNT, "Fragmented IP datagrams put together at once."),
    key("engine", "max_connections", "16384", COUNT, "TCP connections followed at once."),
    key(
        "engine",
        "max_stream_bytes",
        "\"256KiB\"",
        SIZE,
        "Bytes held back for one direction of a TCP connection.",
    ),
    key(
        "engine",
        "invite_limit",
        "\"200s\"",
        SPAN,
        "An INVITE without a final answer for this long is a timeout (RFC 3261 section 16.6, timer C, and a margin).",
    ),
    key(
        "engine",
        "idle_limit",
        "\"4h\"",
        SPAN,
        "An answered call with neither signalling nor media for this long is a timeout.",
    ),
    key(
        "engine",
        "linger",
        "\"32s\"",
        SPAN,
        "How long a released call waits for late messages and media before its record is made.",
    ),
    key(
        "engine",
        "challenge_limit",
        "\"5m\"",
        SPAN,
        "How long a challenge (401, 407) may wait for the INVITE that answers it.",
    ),
    key(
        "engine",
        "stream_idle",
        "\"5m\"",
        SPAN,
        "A stream that no signalling names ends after this much silence.",
    ),
    key(
        "engine",
        "provisional_limit",
        "\"10s\"",
        SPAN,
        "What looked like a stream and was never confirmed is forgotten after this long.",
    ),
    key("engine", "measure_sound", "true", FLAG, "Measure silence and clipping of G.711. Reads the payload."),
    key(
        "store",
        "directory",
        "\"/var/lib/ringtap/records\"",
        "a path, such as \"/var/lib/ringtap/records\"",
        "Directory of the day files, which `ringtap calls --store` searches.",
    ),
    key(
        "store",
        "queue",
        "16384",
        COUNT,
        "Records that may wait in memory for the disk, a call and its streams being one. What finds no room is dropped and \
         counted; workers never wait.",
    ),
    key(
        "store",
        "outbox",
        "\"/var/lib/ringtap/outbox\"",
        "a path, such as \"/var/lib/ringtap/outbox\"",
        "Directory of records that wait while the day files are slow, locked or away. On another disk it also helps when \
         theirs is full.",
    ),
    key("store", "outbox_size", "\"1GiB\"", SIZE, "Bytes that the outbox may take."),
    live(key(
        "store",
        "retain",
        "\"0s\"",
        SPAN,
        "Day files older than this are deleted, such as \"90d\". Zero keeps them for ever.",
    )),
    key("journal", "enabled", "true", FLAG, "Keep the journal."),
    key(
        "journal",
        "path",
        "\"/var/lib/ringtap/journal\"",
        "a path, such as \"/var/lib/ringtap/journal\"",
        "The file. Its size is bounded by the calls under way, about 1 KiB each.",
    ),
    key(
        "spool",
        "directory",
        "\"\"",
        "a path, such as \"/var/lib/ringtap/spool\", or \"\" for none",
        "Directory of the segments: ordinary capture files, which Wireshark opens, each with an index beside it. Empty keeps \
         no packets.",
    ),
    live(key(
        "spool",
        "keep",
        "\"full\"",
        "\"nothing\", \"signalling\", \"headers\", \"full\" or \"everything\"",
        "What of every call, where there are no [[keep]] rules: `nothing`; its `signalling`; also the `headers` of its media, \
         without what is said, about a quarter of the space; or all of it, `full`. `everything` keeps also every other frame \
         that passes.",
    )),
    key(
        "spool",
        "memory",
        "\"256MiB\"",
        SIZE,
        "Memory of each worker in which packets wait to be gathered and written. More makes longer pieces on the disk, 52,000 \
         calls need 1 GiB for pieces of 8 KiB, and longer pauses of the disk that lose nothing.",
    ),
    key(
        "spool",
        "age",
        "\"10s\"",
        SPAN,
        "The longest that a packet waits in memory: what a power cut may take, and how late `ringtap export` sees a call.",
    ),
    key(
        "spool",
        "undecided",
        "\"64MiB\"",
        SIZE,
        "Memory of each worker for packets of calls of which no rule can say yet whether they are kept: a rule that asks for the \
         answer or the codec still has the call from its INVITE. The oldest go when it is full: they are lost, never written.",
    ),
    live(key(
        "spool",
        "legs",
        "[\"Session-ID\"]",
        "a list of header names, such as [\"Session-ID\", \"X-CID\"], and \"numbers\"",
        "What the legs of a call have in common where they have Call-IDs of their own, for `share` of [[keep]]: the first of \
         these header fields that the first message has, else its Call-ID. `numbers` is the two numbers and the minute, for \
         systems that pass nothing on: legs on both sides of a full minute are then two calls.",
    )),
    live(key(
        "spool",
        "share_key",
        "\"\"",
        "a text, such as \"a secret of our own\"",
        "Which calls belong to a `share` hangs on it, so that nobody outside can tell. Sensors with the same one choose the \
         same calls. Empty takes another at each start, but for files that are replayed.",
    )),
    live(key(
        "spool",
        "pause_digits",
        "\"\"",
        "digits of a telephone, such as \"*7\"",
        "Who presses these digits pauses the keeping of what is said, in calls whose rule has `may_pause`. Empty is none.",
    )),
    live(key(
        "spool",
        "resume_digits",
        "\"\"",
        "digits of a telephone, such as \"*8\"",
        "Who presses these goes on. The same digits as for the pause do both in turn.",
    )),
    live(key(
        "spool",
        "pause_header",
        "\"\"",
        "a header field and its value, such as \"X-Recording: off\", or \"\" for none",
        "A message of the call with this header field pauses it, where its rule has `may_pause`.",
    )),
    live(key(
        "spool",
        "resume_header",
        "\"\"",
        "a header field and its value, such as \"X-Recording: on\", or \"\" for none",
        "A message with this one goes on.",
    )),
    key("spool", "segment", "\"60s\"", SPAN, "A segment ends after this long."),
    key("spool", "segment_size", "\"4GiB\"", SIZE, "A segment ends with this many bytes."),
    key(
        "spool",
        "compress",
        "\"none\"",
        "\"none\" or \"zstd\"",
        "Make what is kept smaller with `zstd`: signalling to a third, media by a quarter or more. Other programs cannot read the packets of a \
         segment then; `ringtap export` can.",
    ),
    key(
        "spool",
        "seal",
        "\"\"",
        "a path, such as \"/etc/ringtap/seal.key\", or \"\" for none",
        "File of the master key under which what is kept is encrypted: 64 hex digits, which `ringtap key --seal` makes, readable \
         by its owner alone. Empty encrypts nothing.",
    ),
    key(
        "spool",
        "seal_command",
        "\"\"",
        "a command, such as \"vault kv get -field=key ringtap/seal\", or \"\" for none",
        "Command that prints the master key, in place of `seal`. It is run by the shell once, at the start, before the program \
         gives up its rights.",
    ),
    key(
        "spool",
        "sign",
        "\"\"",
        "a path, such as \"/etc/ringtap/sign.pem\", or \"\" for none",
        "File of the Ed25519 key that signs each segment when it is closed, for `ringtap verify`; `ringtap key --sign` makes one. \
         Needs `seal` or `seal_command`. Empty signs nothing.",
    ),
    live(key(
        "retention",
        "signalling",
        "\"0s\"",
        SPAN,
        "Signalling older than this is deleted, such as \"90d\". Zero keeps it until the disk is short.",
    )),
    live(key(
        "retention",
        "media",
        "\"0s\"",
        SPAN,
        "Media older than this are deleted, such as \"30d\". Zero keeps them until the disk is short.",
    )),
    live(key(
        "retention",
        "product",
        "\"0s\"",
        SPAN,
        "Interception product (see `product` of [[keep]]) older than this is deleted, such as \"10d\". Zero keeps it until the disk is \
         short, and nothing else is left to be deleted.",
    )),
    live(key(
        "retention",
        "signalling_size",
        "0",
        SIZE,
        "Bytes that signalling may take, in the spool and its tier together: beyond it the oldest goes. Zero is no limit.",
    )),
    live(key("retention", "media_size", "0", SIZE, "The same of media.")),
    live(key("retention", "product_size", "0", SIZE, "The same of interception product.")),
    live(key(
        "retention",
        "free",
        "\"5%\"",
        FREE,
        "What stays free on the file system of the spool, and on that of its tier: below it the oldest segments go, of \
         signalling or media, and interception product when they are gone. Where nothing is left that may go, recording stops; calls are still recorded in the store, which has this room.",
    )),
    live(key(
        "retention",
        "free_again",
        "\"7%\"",
        FREE,
        "They go until this is free; then recording goes on as well.",
    )),
    live(key(
        "retention",
        "tier",
        "\"\"",
        "a path, such as \"/mnt/archive/ringtap\", a bucket, such as \"s3://recordings/sensor-1\", or \"\" for none",
        "Where segments move: a second directory, on a larger disk, or storage that speaks S3, as bucket and prefix. `ringtap \
         export` and the others find them there.",
    )),
    live(key(
        "retention",
        "tier_endpoint",
        "\"\"",
        "a URL, such as \"https://s3.example.org:9000\", or \"\" for AWS",
        "The server of the bucket that `tier` names: scheme, host and port. Empty is AWS.",
    )),
    live(key(
        "retention",
        "tier_region",
        "\"us-east-1\"",
        "a region, such as \"eu-central-1\"",
        "The region of the bucket. Servers other than AWS take what they were configured with, usually this one.",
    )),
    live(key(
        "retention",
        "tier_path_style",
        "true",
        FLAG,
        "Requests name the bucket in the path. False: in the host, as AWS has it.",
    )),
    live(key(
        "retention",
        "tier_http",
        "false",
        FLAG,
        "Allows an endpoint of `http://`: whoever is on the way can read what is not sealed.",
    )),
    live(key(
        "retention",
        "tier_credentials",
        "\"\"",
        "a path, such as \"/etc/ringtap/s3\", \"machine\", or \"\" for the environment",
        "File with the lines `aws_access_key_id = ...` and `aws_secret_access_key = ...`, readable by its owner alone. It is read at \
         the start, before the program gives up its rights, and on a reload where it still may be. \"machine\" asks the metadata \
         service of the cloud; empty takes AWS_ACCESS_KEY_ID and so on out of the environment.",
    )),
    live(key(
        "retention",
        "tier_rate",
        "0",
        SIZE,
        "Bytes a second that go to the bucket at most. Zero is no limit.",
    )),
    live(key(
        "retention",
        "tier_after",
        "\"0s\"",
        SPAN,
        "Segments older than this move to the tier. Zero moves them when the disk of the spool is short.",
    )),
    key(
        "metrics",
        "listen",
        "\"127.0.0.1:9464\"",
        "an address and a port, such as \"127.0.0.1:9464\", or \"\" for none",
        "Where /metrics and /health are served, to anybody who can connect. Empty serves them nowhere.",
    ),
    live(key(
        "log",
        "level",
        "\"info\"",
        "\"error\", \"warn\", \"info\" or \"debug\"",
        "The least that is worth a line.",
    )),
    live(key("log", "status", "\"10s\"", SPAN, "How often the status line is printed. Zero is never.")),
    key(
        "process",
        "user",
        "\"\"",
        "a user's name, such as \"ringtap\"",
        "The user to become once the interfaces are open, where the program was started as root. Empty stays who it is. \
         Capabilities are given up either way.",
    ),
    key(
        "process",
        "control",
        "\"\"",
        "a path, such as \"/run/ringtap/control\", or \"\" for none",
        "Socket for `ringtap keep`, `pause`, `resume` and `rules`. Who may write to it, the user of the process and its group, \
         decides what is kept. Empty is none.",
    ),
];

/// A key of a rule: its default is what is written for one that asks nothing.
const fn rule(name: &'static str, default: &'static str, right: &'static str, meaning: &'static str) -> Key {
    Key { section: "[keep]", name, default, right, live: true, meaning }
}

const NUMBERS: &str = "a list of numbers, such as [\"112\", \"+4930*\", \"@/etc/ringtap/numbers\"]";
const NETWORKS: &str = "a list of networks, such as [\"192.0.2.0/24\", \"2001:db8::1\"]";

/// Every key of a [[keep]] rule.
pub(crate) const RULE_KEYS: [Key; 14] = [
    rule(
        "name",
        "\"\"",
        "a text, such as \"emergency calls\"",
        "For people: in the log, the metrics and `ringtap rules`.",
    ),
    rule(
        "caller",
        "[]",
        NUMBERS,
        "One of the caller's numbers (From, P-Asserted-Identity) is one of these. `*` stands for anything; spaces, dashes, dots and \
         brackets do not count. `@FILE` is a file of them, one a line, `#` begins a remark.",
    ),
    rule("callee", "[]", NUMBERS, "One of the callee's (To, Request-URI)."),
    rule("number", "[]", NUMBERS, "One of either's."),
    rule(
        "trunk",
        "[]",
        NETWORKS,
        "The first message comes from or goes to one of these networks, or a later one before it is decided.",
    ),
    rule(
        "address",
        "[]",
        NETWORKS,
        "Signalling or media come from or go to one of these, as far as messages tell until the answer.",
    ),
    rule(
        "codec",
        "[]",
        "a list of codecs, such as [\"G729\", \"opus\"]",
        "The answer's description names one of these first. Names as in SDP, in any case.",
    ),
    rule(
        "answered",
        "false",
        FLAG,
        "The call is answered. Its signalling from the INVITE on is kept, and its early media.",
    ),
    rule(
        "mos_below",
        "none",
        "a MOS from 1 to 5, such as 3.6",
        "Its worst MOS is below this, which is known at the end. Until then it is on the disk; if it was better, it is erased.",
    ),
    rule(
        "share",
        "none",
        "a share from 0% to 100%, such as \"1%\"",
        "This share of the calls that match otherwise, chosen at random but the same for all legs of a call: see `legs`.",
    ),
    rule(
        "keep",
        "none",
        "\"nothing\", \"signalling\", \"headers\", \"full\" or \"everything\"",
        "What is kept of a call that matches: as in [spool]. Every rule has it.",
    ),
    rule(
        "mask_dtmf",
        "false",
        FLAG,
        "Digits that are pressed are not kept: telephone-events without their payload, INFO without its body, the record's \
         `dtmf` without digits.",
    ),
    rule("may_pause", "true", FLAG, "Those who speak may pause it by `pause_digits` or `pause_header`."),
    rule(
        "product",
        "\"\"",
        "an identifier of at most 25 letters, digits, -, _ and ., such as \"LI-2026-17\"",
        "It intercepts, for this case (a LIID): see [interception product](spool.md#interception-product). What it keeps is a copy of its \
         own; the other rules are asked as if it were not there. From its beginning on, or from the moment on at which the rule comes \
         into effect, without pauses.",
    ),
];
