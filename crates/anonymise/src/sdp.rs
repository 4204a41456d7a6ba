//! Session descriptions, RFC 8866.

use crate::mask::Mask;

impl Mask {
    /// Replaces names, addresses and keys of a session description; ports, codecs and directions stay.
    pub(crate) fn sdp(&mut self, body: &[u8], out: &mut Vec<u8>) {
        for line in body.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii_end();
            match text {
                [kind, b'=', value @ ..] => {
                    out.extend_from_slice(&[*kind, b'=']);
                    self.line(*kind, value, out);
                }
                // No line of a session description.
                _ => self.text_into(text, out),
            }
            out.extend_from_slice(&line[text.len()..]);
        }
    }

    fn line(&mut self, kind: u8, value: &[u8], out: &mut Vec<u8>) {
        match kind {
            b'v' | b't' | b'r' | b'z' | b'b' => self.sparing(value, out),
            b'm' => self.sparing(value, out),
            b'o' => self.origin(value, out),
            b'c' => self.connection(value, out),
            b's' if matches!(value.trim_ascii(), b"-" | b"") => out.extend_from_slice(value),
            b'a' => self.attribute(value, out),
            // Session name, information, URI, mail, telephone, key.
            _ => self.text_into(value, out),
        }
    }

    /// `alice 2890844526 2890842807 IN IP4 host.example.com`. The numbers stay: the second shows changes.
    fn origin(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let words: Vec<&[u8]> = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        let [user, id, version, net, family, host] = words[..] else { return self.text_into(value, out) };
        self.text_into(user, out);
        for number in [id, version] {
            out.push(b' ');
            match number.iter().all(u8::is_ascii_digit) {
                true => out.extend_from_slice(number),
                false => self.text_into(number, out),
            }
        }
        for word in [net, family] {
            out.push(b' ');
            self.sparing(word, out);
        }
        out.push(b' ');
        self.text_into(host, out);
    }

    /// `IN IP4 224.2.36.42/127`.
    fn connection(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for (index, word) in value.split(|byte| *byte == b' ').enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            if index < 2 {
                self.sparing(word, out);
                continue;
            }
            let end = word.iter().position(|byte| *byte == b'/').unwrap_or(word.len());
            self.text_into(&word[..end], out);
            out.extend(word[end..].iter().filter(|byte| byte.is_ascii_digit() || **byte == b'/'));
        }
    }

    fn attribute(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
        let (name, behind) = value.split_at(end);
        let lower = name.trim_ascii().to_ascii_lowercase();
        match name.len() <= 32 && !name.contains(&b'@') {
            true => out.extend_from_slice(name),
            false => self.text_into(name, out),
        }
        let Some(value) = behind.strip_prefix(b":") else { return };
        out.push(b':');
        match &lower[..] {
            b"candidate" | b"remote-candidates" => self.candidate(value, out),
            b"rtcp" | b"altc" | b"connection" => self.sparing(value, out),
            b"fingerprint" => self.behind(value, 1, out),
            b"crypto" => self.behind(value, 2, out),
            b"ssrc" => self.source(value, out),
            name if SECRET.iter().any(|secret| secret.as_bytes() == name) => self.text_into(value, out),
            name if PLAIN.binary_search_by(|plain| plain.as_bytes().cmp(name)).is_ok() => {
                self.sparing(value, out)
            }
            name if name.starts_with(b"t38") => self.sparing(value, out),
            _ => self.text_into(value, out),
        }
    }

    /// `foundation component transport priority address port typ type raddr address rport port` (RFC 8839
    /// section 5.1).
    fn candidate(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let mut before: &[u8] = b"";
        for (index, word) in value.split(|byte| *byte == b' ').enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            // A host may be an mDNS name; the foundation may derive from the address.
            let names = matches!(index, 0 | 4) || matches!(before, b"raddr" | b"ufrag" | b"tcptype-addr");
            match names {
                true => self.text_into(word, out),
                false => self.sparing(word, out),
            }
            before = word;
        }
    }

    /// Keeps the first words and replaces the rest.
    fn behind(&mut self, value: &[u8], words: usize, out: &mut Vec<u8>) {
        let mut ends = value.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
        let end = ends.nth(words - 1).unwrap_or(0);
        self.sparing(&value[..end], out);
        let rest = &value[end..];
        let inline: &[u8] = if rest.starts_with(b" inline:") { b" inline:" } else { b"" };
        out.extend_from_slice(inline);
        self.text_into(&rest[inline.len()..], out);
    }

    /// `12345 cname:user@host` (RFC 5576 section 4.1).
    fn source(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
        self.sparing(&value[..end], out);
        self.text_into(&value[end..], out);
    }

    /// Text that should not identify anybody; addresses, hosts and long numbers are replaced nevertheless.
    fn sparing(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for word in value.split_inclusive(|byte| *byte == b' ') {
            let dots = word.iter().filter(|byte| **byte == b'.').count();
            let colons = word.iter().filter(|byte| **byte == b':').count();
            match word.contains(&b'@') || dots >= 3 || colons >= 2 {
                true => self.text_into(word, out),
                false => out.extend_from_slice(word),
            }
        }
    }
}

/// Attributes whose values are always replaced.
const SECRET: [&str; 5] = ["ice-pwd", "ice-ufrag", "msid", "label", "key-mgmt"];

/// Attributes whose values describe media, sorted.
const PLAIN: [&str; 45] = [
    "acap",
    "acfg",
    "charset",
    "conf",
    "content",
    "cpar",
    "creq",
    "csup",
    "curr",
    "des",
    "direction",
    "end-of-candidates",
    "extmap",
    "fmtp",
    "framerate",
    "framesize",
    "gpmd",
    "group",
    "ice-options",
    "imageattr",
    "max-message-size",
    "maxprate",
    "maxptime",
    "mid",
    "mptime",
    "orient",
    "pcap",
    "pcfg",
    "pmft",
    "ptime",
    "quality",
    "rid",
    "rtcp-fb",
    "rtcp-xr",
    "rtpmap",
    "sctp-port",
    "sctpmap",
    "sendrecv",
    "setup",
    "silencesupp",
    "simulcast",
    "ssrc-group",
    "tcap",
    "type",
    "vad",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order() {
        assert!(PLAIN.is_sorted());
    }
}
