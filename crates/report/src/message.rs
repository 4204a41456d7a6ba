//! Short labels of SIP messages.

use ringtap_wire::sip::{Message, Method, StartLine};

use crate::style::Style;

/// `INVITE (SDP)`, `re-INVITE (SDP inactive)`, `200 OK (BYE)`.
pub fn label(message: &Message<'_>) -> String {
    let (mut label, method) = match message.start() {
        StartLine::Request { method, method_text, .. } => {
            let again = method == Method::Invite && message.to().is_some_and(|to| to.tag().is_some());
            let prefix = if again { "re-" } else { "" };
            (format!("{prefix}{}", String::from_utf8_lossy(method_text)), None)
        }
        StartLine::Response { code, reason } => {
            let label = format!("{code} {}", String::from_utf8_lossy(reason));
            // Most responses are to an INVITE: only others name their method.
            (label.trim_end().to_string(), Some(message.method()).filter(|method| *method != Method::Invite))
        }
    };
    let marks: Vec<String> =
        method.map(|method| method.name().to_string()).into_iter().chain(sdp(message)).collect();
    if !marks.is_empty() {
        label.push_str(&format!(" ({})", marks.join(", ")));
    }
    label
}

/// `SDP`, with its direction unless it is `sendrecv` (RFC 3264 section 8.4: hold).
fn sdp(message: &Message<'_>) -> Option<String> {
    let held = ["inactive", "sendonly", "recvonly"];
    let mut lines = message.sdp()?.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let direction = lines.find_map(|line| {
        let attribute = line.strip_prefix(b"a=")?;
        held.iter().find(|name| attribute == name.as_bytes())
    });
    Some(direction.map_or_else(|| "SDP".to_string(), |direction| format!("SDP {direction}")))
}

/// Style of a message: a request, or a response by its code.
pub fn style(code: Option<u16>) -> Style {
    match code {
        None => Style::Bold,
        Some(100..200) => Style::Plain,
        Some(200..300) => Style::Good,
        // A challenge is a normal step of an attempt, and 487 is the expected response after a CANCEL.
        Some(300..=399 | 401 | 407 | 487) => Style::Fair,
        Some(_) => Style::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let text = text.replace('\n', "\r\n");
        label(&Message::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn labels() {
        let sdp = "Content-Type: application/sdp\n\nv=0\n";
        assert_eq!(of("INVITE sip:b@x SIP/2.0\nTo: <sip:b@x>\nCSeq: 1 INVITE\n\n"), "INVITE");
        assert_eq!(of(&format!("INVITE sip:b@x SIP/2.0\nTo: <sip:b@x>\n{sdp}")), "INVITE (SDP)");
        let hold =
            format!("INVITE sip:b@x SIP/2.0\nTo: <sip:b@x>;tag=1\n{sdp}m=audio 1 RTP/AVP 8\na=inactive\n");
        assert_eq!(of(&hold), "re-INVITE (SDP inactive)");
        assert_eq!(of("SIP/2.0 180 Ringing\nCSeq: 1 INVITE\n\n"), "180 Ringing");
        assert_eq!(of("SIP/2.0 200 OK\nCSeq: 2 BYE\n\n"), "200 OK (BYE)");
        assert_eq!(of(&format!("SIP/2.0 200 OK\nCSeq: 2 UPDATE\n{sdp}")), "200 OK (UPDATE, SDP)");
        assert_eq!(of("SIP/2.0 486 \nCSeq: 1 INVITE\n\n"), "486");
        assert_eq!(of("NEWTHING sip:b@x SIP/2.0\nCSeq: 1 NEWTHING\n\n"), "NEWTHING");
    }
}
