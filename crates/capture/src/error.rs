//! Why a file could not be opened ([`Error`]), and where an opened one stopped being readable ([`Damage`]).

use std::io;

use crate::Format;

/// Why a file gives no packets at all. Each message names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such file.
    #[error("`{path}` does not exist: check the path and its spelling")]
    NotFound {
        /// As it was given.
        path: String,
    },
    /// A directory where a file was expected.
    #[error("`{path}` is a directory: name the capture files in it, for example {path}/*.pcap")]
    Directory {
        /// As it was given, without a slash at its end.
        path: String,
    },
    /// The operating system refuses to open the file.
    #[error("no permission to read `{path}`: run as a user who may read it, or change its mode")]
    Permission {
        /// As it was given.
        path: String,
    },
    /// The file is empty.
    #[error("`{path}` is empty: the program that wrote it ended too early; capture or copy it again")]
    Empty {
        /// As it was given.
        path: String,
    },
    /// Not a supported format.
    #[error(
        "`{path}` is not a capture file: it begins with {begins}; \
            ringtap reads pcap, pcapng, snoop, NetMon 2 and ERF, also gzip or zstd compressed"
    )]
    NotACapture {
        /// As it was given.
        path: String,
        /// The first bytes in hex and, if known, what they suggest.
        begins: String,
    },
    /// The file ends inside its header.
    #[error(
        "`{path}` ends inside its {format} file header, after {size} bytes, and holds no packet; \
            capture or copy it again"
    )]
    TruncatedHeader {
        /// As it was given.
        path: String,
        /// The format according to its first bytes.
        format: Format,
        /// Bytes in the file.
        size: u64,
    },
    /// Compressed, and not one byte could be decompressed.
    #[error("`{path}` holds no readable packet: {what}; test it with `{tool}`, then copy it again")]
    Undecodable {
        /// As it was given.
        path: String,
        /// What is wrong with it.
        what: DamageKind,
        /// A command that tests the file.
        tool: &'static str,
    },
    /// What a pipe gave did not fit into the temporary directory.
    #[error(
        "`{path}` could not be stored in a temporary file in `{directory}`: {source}; \
            set TMPDIR to a directory with more room"
    )]
    Store {
        /// As it was given.
        path: String,
        /// The temporary directory.
        directory: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Any other error of the operating system.
    #[error("cannot read `{path}`: {source}; check the disk or the network file system")]
    Io {
        /// As it was given.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Not even the beginning could be read.
    pub(crate) fn content(path: &str, kind: DamageKind) -> Self {
        match kind {
            DamageKind::Unreadable(kind) => Self::io(path, kind.into()),
            _ => Self::Empty { path: path.to_owned() },
        }
    }

    pub(crate) fn io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Io { path, source },
        }
    }
}

/// The offset at which a file became unreadable. All packets before it were given, none after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at byte {offset}")]
pub struct Damage {
    /// Offset in the decompressed content.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What can be wrong inside a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends inside a record: the usual end of a capture that was killed or is still being written.
    #[error("the file ends inside a packet record")]
    Truncated,
    /// A record states a length above that of any packet.
    #[error("a packet record claims {0} bytes, more than any packet has")]
    Oversize(u32),
    /// A pcapng block or a record of ERF, snoop or NetMon with an impossible length.
    #[error("a record states an impossible length of {0} bytes")]
    Length(u32),
    /// A pcapng packet on an interface that its section does not describe.
    #[error("a packet names interface {0}, which the file does not describe")]
    Interface(u32),
    /// A pcapng section header with neither of the two byte orders.
    #[error("a section header has no valid byte-order mark")]
    ByteOrder,
    /// A frame table of NetMon that is not behind the packets, or lists another number of them.
    #[error(
        "the frame table at byte {0} is not that of the packets before it; \
            `editcap -F pcapng IN OUT` may read the file by its table"
    )]
    FrameTable(u32),
    /// One section has more interfaces than any real capture.
    #[error("a section describes more than {0} interfaces")]
    Interfaces(u32),
    /// gzip data that end before their trailer.
    #[error("the gzip data end too early")]
    GzipTruncated,
    /// gzip data that do not decode, or whose checksum is wrong.
    #[error("the gzip data are damaged")]
    Gzip,
    /// zstd data that end inside a frame.
    #[error("the zstd data end too early")]
    ZstdTruncated,
    /// zstd data that do not decode, or whose checksum is wrong.
    #[error("the zstd data are damaged")]
    Zstd,
    /// More than a compressed file may unpack to.
    #[error("the compressed data unpack to more than {0} bytes; `--max-unpacked` sets this limit")]
    TooLarge(u64),
    /// Somebody truncated the file after it was opened.
    #[error("the file became shorter while it was read")]
    Shortened,
    /// The disk or the network file system failed.
    #[error("reading failed ({0}); check the disk or the network file system")]
    Unreadable(io::ErrorKind),
    /// Data that are not compressed follow the compressed data.
    #[error("other data follow the compressed data")]
    Trailing,
}
