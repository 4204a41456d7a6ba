//! Addresses as text, as ids are made of them, without a heap and without the machinery of formatting.

use std::fmt::Write;
use std::net::IpAddr;

use ringtap_model::Endpoint;

/// The text of an address, or of an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct AddressText {
    bytes: [u8; LONGEST],
    len: usize,
}

impl AddressText {
    /// As its `Display` writes it.
    pub(crate) fn ip(ip: IpAddr) -> Self {
        let mut text = Self { bytes: [0; LONGEST], len: 0 };
        text.add_ip(ip);
        text
    }

    /// As its `Display` writes it.
    pub(crate) fn endpoint(endpoint: Endpoint) -> Self {
        let mut text = Self { bytes: [0; LONGEST], len: 0 };
        let is_v6 = endpoint.ip.is_ipv6();
        if is_v6 {
            text.add(b'[');
        }
        text.add_ip(endpoint.ip);
        if is_v6 {
            text.add(b']');
        }
        text.add(b':');
        text.add_number(endpoint.port);
        text
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn add_ip(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => {
                for (index, octet) in ip.octets().into_iter().enumerate() {
                    if index > 0 {
                        self.add(b'.');
                    }
                    let [digits @ .., len] = OCTETS[usize::from(octet)];
                    // Three are written, and those that count are kept.
                    if let Some(place) = self.bytes.get_mut(self.len..self.len + 3) {
                        place.copy_from_slice(&digits);
                        self.len += usize::from(len);
                    }
                }
            }
            // There is room for it.
            IpAddr::V6(ip) => _ = write!(self, "{ip}"),
        }
    }

    fn add_number(&mut self, number: u16) {
        let mut power = 10_000;
        while power > number && power > 1 {
            power /= 10;
        }
        let mut rest = number;
        while power > 0 {
            self.add(b'0' + (rest / power) as u8);
            rest %= power;
            power /= 10;
        }
    }

    #[inline]
    fn add(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }
}

impl Write for AddressText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        text.bytes().for_each(|byte| self.add(byte));
        Ok(())
    }
}

/// The digits of each octet, and how many they are.
static OCTETS: [[u8; 4]; 256] = {
    let mut octets = [[0; 4]; 256];
    let mut octet = 0;
    while octet < 256 {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let len = if octet < 10 {
            1
        } else if octet < 100 {
            2
        } else {
            3
        };
        let mut at = 0;
        while at < len {
            octets[octet][at] = b'0' + digits[3 - len + at] as u8;
            at += 1;
        }
        octets[octet][3] = len as u8;
        octet += 1;
    }
    octets
};

/// An IPv6 address is 45 characters at most, brackets and port are 8 more.
const LONGEST: usize = 56;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_display_writes() {
        let ends = [
            "0.0.0.0:0",
            "255.255.255.255:65535",
            "10.200.3.99:5060",
            "1.10.100.0:1",
            "192.0.2.1:10000",
            "[::]:0",
            "[2001:db8::1:0:0:1]:65535",
            "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            "[::ffff:255.255.255.255]:40000",
        ];
        for end in ends {
            let Ok(endpoint) = end.parse::<Endpoint>() else { panic!("{end} is none") };
            assert_eq!(AddressText::endpoint(endpoint).as_bytes(), end.as_bytes());
            assert_eq!(AddressText::ip(endpoint.ip).as_bytes(), endpoint.ip.to_string().as_bytes());
        }
    }
}
