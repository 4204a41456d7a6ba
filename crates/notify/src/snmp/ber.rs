//! The encoding of SNMP messages: ASN.1 basic encoding rules (X.690) with definite lengths.

/// Universal and SNMP types (RFC 2578 section 7.1, RFC 3416 section 3).
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const TIME_TICKS: u8 = 0x43;
pub(crate) const TRAP: u8 = 0xa7;

/// A value of a type: tag, length, content.
pub(crate) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        short @ 0..128 => bytes.push(short as u8),
        long => {
            let length = long.to_be_bytes();
            let used: &[u8] = &length[length.iter().take_while(|byte| **byte == 0).count()..];
            bytes.push(0x80 | used.len() as u8);
            bytes.extend(used);
        }
    }
    bytes.extend(content);
    bytes
}

/// Several values in one.
pub(crate) fn values(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    value(tag, &parts.concat())
}

/// A whole number in as few bytes as possible, and one whose first bit is its sign.
pub(crate) fn number(tag: u8, number: u32) -> Vec<u8> {
    let bytes = i64::from(number).to_be_bytes();
    let first = (0..7).find(|at| bytes[*at] != 0 || bytes[at + 1] >= 0x80).unwrap_or(7);
    value(tag, &bytes[first..])
}

/// An object identifier of two numbers or more (X.690 section 8.19).
pub(crate) fn object(numbers: &[u32]) -> Vec<u8> {
    let (first, rest) = numbers.split_at(numbers.len().min(2));
    let first = match first {
        [one, two] => one * 40 + two,
        _ => 0,
    };
    let mut content = Vec::new();
    for number in std::iter::once(first).chain(rest.iter().copied()) {
        let groups = (0..5).rev().map(|group| (number >> (7 * group)) as u8 & 0x7f);
        let mut digits: Vec<u8> = groups.skip_while(|group| *group == 0).collect();
        if digits.is_empty() {
            digits.push(0);
        }
        let last = digits.len() - 1;
        digits[..last].iter_mut().for_each(|digit| *digit |= 0x80);
        content.extend(digits);
    }
    value(OBJECT, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_has_them() {
        for (told, bytes) in [
            (number(INTEGER, 0), vec![2, 1, 0]),
            (number(INTEGER, 127), vec![2, 1, 127]),
            (number(INTEGER, 128), vec![2, 2, 0, 128]),
            (number(INTEGER, 256), vec![2, 2, 1, 0]),
            (number(TIME_TICKS, u32::MAX), vec![0x43, 5, 0, 255, 255, 255, 255]),
            // X.690 section 8.19.5: 2.999.3 is 06 03 88 37 03; here 1.3.6.1.4.1.32473.
            (object(&[1, 3, 6, 1, 4, 1, 32473]), vec![6, 8, 43, 6, 1, 4, 1, 0x81, 0xfd, 0x59]),
            (object(&[1, 3, 0, u32::MAX]), vec![6, 7, 43, 0, 0x8f, 0xff, 0xff, 0xff, 0x7f]),
        ] {
            assert_eq!(told, bytes);
        }
        assert_eq!(value(OCTETS, &[7; 128])[..3], [4, 0x81, 128]);
        assert_eq!(value(OCTETS, &[7; 300])[..4], [4, 0x82, 1, 44]);
    }
}
