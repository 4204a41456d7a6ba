//! As much of CBOR (RFC 8949) as public keys need: maps of whole numbers to whole numbers and byte strings,
//! of known length, as CTAP2 writes them.

/// A value of such a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}

/// The map at the beginning, and how many bytes it has. None for anything else.
pub(crate) fn map(bytes: &[u8]) -> Option<(Vec<(i64, Value<'_>)>, usize)> {
    let mut rest = bytes;
    let (MAP, entries) = head(&mut rest)? else { return None };
    if entries > MOST {
        return None;
    }
    let mut map: Vec<(i64, Value<'_>)> = Vec::new();
    for _ in 0..entries {
        let Value::Number(key) = value(&mut rest)? else { return None };
        // A key that is there twice could be read in two ways.
        if map.iter().any(|(known, _)| *known == key) {
            return None;
        }
        map.push((key, value(&mut rest)?));
    }
    Some((map, bytes.len() - rest.len()))
}

fn value<'a>(rest: &mut &'a [u8]) -> Option<Value<'a>> {
    match head(rest)? {
        (UNSIGNED, number) => Some(Value::Number(i64::try_from(number).ok()?)),
        (NEGATIVE, number) => Some(Value::Number(-1 - i64::try_from(number).ok()?)),
        (BYTES, length) => {
            let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            *rest = after;
            Some(Value::Bytes(bytes))
        }
        _ => None,
    }
}

/// The major type and the argument (section 3).
fn head(rest: &mut &[u8]) -> Option<(u8, u64)> {
    let (first, after) = rest.split_first()?;
    let (length, short) = match first & 0x1f {
        short @ 0..=23 => (0, u64::from(short)),
        size @ 24..=27 => (1 << (size - 24), 0),
        // Of unknown length, or reserved.
        _ => return None,
    };
    let (argument, after) = after.split_at_checked(length)?;
    *rest = after;
    let number = argument.iter().fold(short, |number, byte| number << 8 | u64::from(*byte));
    Some((first >> 5, number))
}

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const MAP: u8 = 5;
/// Entries: keys have three to five.
const MOST: u64 = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of RFC 8949 appendix A.
    #[test]
    fn numbers_and_bytes_as_the_rfc_writes_them() {
        let written: [(&[u8], Value<'_>); 8] = [
            (&[0x17], Value::Number(23)),
            (&[0x18, 0x64], Value::Number(100)),
            (&[0x19, 0x03, 0xe8], Value::Number(1_000)),
            (&[0x1a, 0, 0x0f, 0x42, 0x40], Value::Number(1_000_000)),
            (&[0x1b, 0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0], Value::Number(1_000_000_000_000)),
            (&[0x20], Value::Number(-1)),
            (&[0x39, 0x03, 0xe7], Value::Number(-1_000)),
            (&[0x44, 1, 2, 3, 4], Value::Bytes(&[1, 2, 3, 4])),
        ];
        for (bytes, expected) in written {
            assert_eq!(value(&mut &*bytes), Some(expected), "{bytes:02x?}");
        }
        // A text, a list, a float, of unknown length, cut off, beyond 63 bits.
        for wrong in
            [&[0x61, 0x61][..], &[0x80], &[0xf9, 0, 0], &[0x5f, 0xff], &[0x44, 1, 2, 3], &[0x1b, 0xff], &[]]
        {
            assert_eq!(value(&mut &*wrong), None, "{wrong:02x?}");
        }
        assert_eq!(value(&mut &[[0x1b].as_slice(), &[0xff; 8]].concat()[..]), None);
    }

    #[test]
    fn a_map_ends_where_it_ends_and_has_each_key_once() {
        let expected = vec![(1, Value::Number(2)), (3, Value::Number(-7))];
        assert_eq!(map(&[0xa2, 0x01, 0x02, 0x03, 0x26, 0xff]), Some((expected, 5)));
        assert_eq!(map(&[0xa2, 0x01, 0x02, 0x01, 0x26]), None, "a key is there twice");
        assert_eq!(map(&[0xa2, 0x01, 0x02, 0x03]), None, "cut off");
        assert_eq!(map(&[0xa1, 0x41, 0x02, 0x03]), None, "bytes as a key");
        assert_eq!(map(&[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None, "endless");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_map_of_no_more_than_them_or_none(bytes: Vec<u8>) {
            if let Some((map, length)) = map(&bytes) {
                prop_assert!(length <= bytes.len() && map.len() <= length);
            }
        }
    }
}
