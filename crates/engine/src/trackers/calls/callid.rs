//! Call-IDs as the table of calls keeps them.

/// A Call-ID: in the call's own cache lines as long as it is no longer than nearly all are.
#[derive(Clone)]
pub(crate) struct CallId {
    len: u8,
    short: [u8; SHORT],
    long: Box<[u8]>,
}

impl CallId {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT];
        match short.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Self { len: bytes.len() as u8, short, long: Box::default() }
            }
            None => Self { len: 0, short, long: bytes.into() },
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..usize::from(self.len)] } else { &self.long }
    }

    /// As text: what is no UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// Bytes that lie in the entry itself: with the length, whole words.
const SHORT: usize = 55;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_length() {
        for len in [0, 1, 54, 55, 56, 57, 255, 256, 1000] {
            let bytes: Vec<u8> = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
            let id = CallId::new(&bytes);
            assert_eq!((id.bytes(), id.text().as_bytes()), (&bytes[..], &bytes[..]));
        }
        assert_eq!(CallId::new(b"\xff").text(), "\u{fffd}");
    }
}
