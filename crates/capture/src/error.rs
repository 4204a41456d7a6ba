//! Why a file could not be opened ([`Error`]), and where an opened one stopped being readable ([`Damage`]).

use std::io;

use crate::Format;

/// A file that gives no packets at all. Each message names the file and what to do about it.
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
    #[error(
        "`{path}` may not be read (permission denied): run as a user who may read it, or change its mode"
    )]
    Permission {
        /// As it was given.
        path: String,
    },
    /// No byte in it.
    #[error("`{path}` is empty: whatever wrote it ended before the first byte; capture or copy it again")]
    Empty {
        /// As it was given.
        path: String,
    },
    /// Not in one of the formats.
    #[error(
        "`{path}` is not a capture file: it begins with {begins}; \
         ringtap reads pcap, pcapng, ERF, also gzip or zstd compressed"
    )]
    NotACapture {
        /// As it was given.
        path: String,
        /// The first bytes in hex and, where it can be told, what they may be.
        begins: String,
    },
    /// The file ends before its header does.
    #[error(
        "`{path}` is cut within its {format} file header, after {size} bytes: there is no packet in it; \
         capture or copy it again"
    )]
    CutHeader {
        /// As it was given.
        path: String,
        /// What its first bytes say it is.
        format: Format,
        /// Bytes there are.
        size: u64,
    },
    /// Compressed, and not one byte could be had from it.
    #[error("`{path}` gives no packet: {what}; test it with `{tool}`, then copy it again")]
    Undecodable {
        /// As it was given.
        path: String,
        /// What is wrong with it.
        what: Flaw,
        /// The command that would say the same.
        tool: &'static str,
    },
    /// Decompressed data did not fit into the temporary directory.
    #[error(
        "`{path}` could not be unpacked into a temporary file in `{directory}`: {source}; \
         set TMPDIR to a directory with more room"
    )]
    Unpack {
        /// As it was given.
        path: String,
        /// The temporary directory.
        directory: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Anything else that the operating system refuses.
    #[error("`{path}` could not be read: {source}; check the disk or the connection that it lies on")]
    Io {
        /// As it was given.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
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

/// The place where a file stopped being readable. All packets before it were given, none after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at byte {offset}")]
pub struct Damage {
    /// Byte of the content, decompressed where it was compressed.
    pub offset: u64,
    /// What is wrong there.
    pub what: Flaw,
}

/// What can be wrong inside a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The file ends inside a record: the usual end of a capture that was killed or is still being written.
    #[error("the file ends inside a packet record")]
    Cut,
    /// A record states a length that no capture program writes.
    #[error("a packet record claims {0} bytes, more than any packet has")]
    Oversize(u32),
    /// A pcapng block or an ERF record whose length cannot be.
    #[error("a record states an impossible length of {0} bytes")]
    Length(u32),
    /// A pcapng packet on an interface that its section does not describe.
    #[error("a packet names interface {0}, which the file does not describe")]
    Interface(u32),
    /// A pcapng section header with neither of the two byte orders.
    #[error("a section header has no valid byte-order mark")]
    ByteOrder,
    /// More interfaces in one section than any capture has.
    #[error("a section describes more than {0} interfaces")]
    Interfaces(u32),
    /// gzip data that end before their trailer.
    #[error("the gzip data end too early")]
    GzipCut,
    /// gzip data that do not decode, or whose checksum is another.
    #[error("the gzip data are damaged")]
    Gzip,
    /// zstd data that end inside a frame.
    #[error("the zstd data end too early")]
    ZstdCut,
    /// zstd data that do not decode, or whose checksum is another.
    #[error("the zstd data are damaged")]
    Zstd,
    /// Something that is not compressed follows what is.
    #[error("bytes that are not compressed data follow the compressed data")]
    Trailing,
}
