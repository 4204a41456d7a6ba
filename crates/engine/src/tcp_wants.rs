//! What an added tracker wants of TCP.

/// Messages that an added tracker wants of TCP connections from or to one of these ports.
#[derive(Clone, Copy, Debug)]
pub struct TcpWants {
    /// Ports.
    pub ports: &'static [u16],
    /// What the next bytes of a connection are.
    pub framing: fn(&[u8]) -> TcpFraming,
}

/// What the next bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpFraming {
    /// More are needed.
    Incomplete,
    /// A message of so many bytes, at least one, which are there.
    Message(usize),
    /// No message begins here: they are thrown away, and the next segment may begin one.
    OutOfStep,
}

impl TcpWants {
    /// Whether a connection between these ports is one of them.
    #[inline]
    pub(crate) fn is_on(&self, (src, dst): (u16, u16)) -> bool {
        self.ports.contains(&src) || self.ports.contains(&dst)
    }
}
