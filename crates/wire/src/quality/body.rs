//! The body `application/vq-rtcpxr` (RFC 6035 section 4.6).

use super::{Metrics, number};
use crate::sip::{Message, Method};

/// Why a report was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// At the end of the call, or of a session within it.
    Session,
    /// In between.
    Interval,
    /// A threshold was crossed.
    Alert,
}

/// A quality report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VqReport<'a> {
    /// Why it was sent.
    pub kind: ReportKind,
    /// What follows the kind: `CallTerm`, or type, severity and direction of an alert. Empty if nothing does.
    pub detail: &'a [u8],
    /// Call-ID of the call that it is about.
    pub call_id: Option<&'a [u8]>,
    /// Who reports.
    pub local_id: Option<&'a [u8]>,
    /// With whom it speaks.
    pub remote_id: Option<&'a [u8]>,
    /// What the reporter received.
    pub local: Option<Metrics<'a>>,
    /// What the other side received, as it told the reporter.
    pub remote: Option<Metrics<'a>>,
}

/// The report that a PUBLISH or a NOTIFY has in its body or in a part of it.
// HOT: for other methods, one comparison.
pub fn report<'a>(message: &Message<'a>) -> Option<VqReport<'a>> {
    VqReport::parse(body(message)?)
}

/// Call-ID of the call that such a report is about.
pub fn call_id<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    let mut lines = lines(body(message)?);
    lines.find_map(|line| value(line, b"CallID")).filter(|call_id| !call_id.is_empty())
}

fn body<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    if !matches!(message.method(), Method::Publish | Method::Notify) || message.code().is_some() {
        return None;
    }
    let is_report = |kind: &[u8]| kind.eq_ignore_ascii_case(b"application/vq-rtcpxr");
    message.parts().find(|part| is_report(part.media_type())).map(|part| part.body)
}

impl<'a> VqReport<'a> {
    /// Reads a body; None if it does not begin as a report does. Lines that it does not know are left out.
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let mut lines = lines(body);
        let first = lines.find(|line| !line.is_empty())?;
        let names: [(&[u8], ReportKind); 3] = [
            (b"VQSessionReport", ReportKind::Session),
            (b"VQIntervalReport", ReportKind::Interval),
            (b"VQAlertReport", ReportKind::Alert),
        ];
        let (kind, detail) = names.iter().find_map(|(name, kind)| {
            // The colon and what follows it may be missing.
            let bare = first.eq_ignore_ascii_case(name).then_some(&b""[..]);
            Some((*kind, value(first, name).or(bare)?))
        })?;
        let mut report =
            Self { kind, detail, call_id: None, local_id: None, remote_id: None, local: None, remote: None };
        let mut is_remote = false;
        for line in lines {
            report.line(line, &mut is_remote);
        }
        Some(report)
    }

    fn line(&mut self, line: &'a [u8], is_remote: &mut bool) {
        let Some((name, content)) = split(line) else { return };
        if name.eq_ignore_ascii_case(b"CallID") {
            self.call_id = Some(content).filter(|id| !id.is_empty());
        } else if name.eq_ignore_ascii_case(b"LocalID") {
            self.local_id = Some(content).filter(|id| !id.is_empty());
        } else if name.eq_ignore_ascii_case(b"RemoteID") {
            self.remote_id = Some(content).filter(|id| !id.is_empty());
        } else if name.eq_ignore_ascii_case(b"LocalMetrics") {
            *is_remote = false;
            self.local.get_or_insert_default();
        } else if name.eq_ignore_ascii_case(b"RemoteMetrics") {
            *is_remote = true;
            self.remote.get_or_insert_default();
        } else if let Some(metrics) = if *is_remote { &mut self.remote } else { &mut self.local } {
            metrics.line(content);
        }
    }
}

impl<'a> Metrics<'a> {
    /// Pairs of name and value. Names are the same in no two lines, so the line's own does not matter.
    fn line(&mut self, content: &'a [u8]) {
        for pair in content.split(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            let Some((name, value)) = pair.iter().position(|byte| *byte == b'=').map(|at| pair.split_at(at))
            else {
                continue;
            };
            let value = value[1..].trim_ascii_start();
            let field = match name {
                b"PD" => {
                    self.codec = Some(value).filter(|codec| !codec.is_empty());
                    continue;
                }
                b"NLR" => &mut self.loss_pct,
                b"JDR" => &mut self.discard_pct,
                b"IAJ" => &mut self.jitter_ms,
                b"RTD" => &mut self.round_trip_ms,
                b"ESD" => &mut self.end_system_ms,
                b"RLQ" => &mut self.r_factor,
                b"RCQ" if self.r_factor.is_none() => &mut self.r_factor,
                b"MOSLQ" => &mut self.mos_lq,
                b"MOSCQ" => &mut self.mos_cq,
                _ => continue,
            };
            // RFC 6035 section 4.6.2 repeats what RFC 3611 has: 127 is not known.
            let limit = if matches!(name, b"RLQ" | b"RCQ" | b"MOSLQ" | b"MOSCQ") { 120.0 } else { 1e9 };
            *field = number(value).filter(|number| *number <= limit);
        }
    }
}

fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

/// Name and value of a line, around its first colon.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = line.split_at(line.iter().position(|byte| *byte == b':')?);
    Some((name.trim_ascii(), rest[1..].trim_ascii()))
}

/// The value of a line of that name.
fn value<'a>(line: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    split(line).filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in RFC 6035 section 4.7, shortened.
    const BODY: &str = "VQSessionReport: CallTerm\r\n\
        CallID: 12345678@example.com\r\n\
        LocalID: Alice <sip:alice@example.org>\r\n\
        RemoteID: Bill <sip:bill@example.net>\r\n\
        LocalAddr: IP=192.0.2.100 PORT=5000 SSRC=1a3b5c7d\r\n\
        LocalMetrics:\r\n\
        Timestamps:START=2004-10-10T18:23:43Z STOP=2004-10-01T18:26:02Z\r\n\
        SessionDesc:PT=18 PD=G729 SR=8000 FD=20 FO=20 FPP=2 PPS=50 PLC=3 SSUP=on\r\n\
        JitterBuffer:JBA=3 JBR=2 JBN=40 JBM=80 JBX=120\r\n\
        PacketLoss:NLR=5.0 JDR=2.0\r\n\
        BurstGapLoss:BLD=0 BD=0 GLD=2.0 GD=500 GMIN=16\r\n\
        Delay:RTD=200 ESD=140 SOWD=200 IAJ=2 MAJ=10\r\n\
        Signal:SL=2 NL=10 RERL=14\r\n\
        QualityEst:RLQ=90 RCQ=85 EXTRI=90 MOSLQ=3.4 MOSCQ=3.3 QoEEstAlg=P.564\r\n\
        RemoteMetrics:\r\n\
        PacketLoss: NLR=1.5 JDR=0\r\n\
        QualityEst: RCQ=127 MOSLQ=127 MOSCQ=4.1\r\n\
        DialogID:1890463548@alice.example.org\r\n";

    #[test]
    fn a_session_report_has_both_views() {
        let report = VqReport::parse(BODY.as_bytes()).unwrap();
        assert_eq!((report.kind, report.detail), (ReportKind::Session, &b"CallTerm"[..]));
        assert_eq!(report.call_id, Some(&b"12345678@example.com"[..]));
        assert_eq!(report.local_id, Some(&b"Alice <sip:alice@example.org>"[..]));
        assert_eq!(report.remote_id, Some(&b"Bill <sip:bill@example.net>"[..]));
        let local = Metrics {
            codec: Some(b"G729"),
            loss_pct: Some(5.0),
            discard_pct: Some(2.0),
            jitter_ms: Some(2.0),
            round_trip_ms: Some(200.0),
            end_system_ms: Some(140.0),
            r_factor: Some(90.0),
            mos_lq: Some(3.4),
            mos_cq: Some(3.3),
            ..Metrics::default()
        };
        assert_eq!(report.local, Some(local));
        let remote =
            Metrics { loss_pct: Some(1.5), discard_pct: Some(0.0), mos_cq: Some(4.1), ..Metrics::default() };
        assert_eq!(report.remote, Some(remote));
    }

    #[test]
    fn alerts_and_intervals_are_told_apart_and_other_texts_are_no_report() {
        let alert =
            VqReport::parse(b"VQAlertReport: Type=NLR Severity=Critical Dir=local\nCallID:1\n").unwrap();
        assert_eq!(
            (alert.kind, alert.detail),
            (ReportKind::Alert, &b"Type=NLR Severity=Critical Dir=local"[..])
        );
        assert_eq!((alert.call_id, alert.local), (Some(&b"1"[..]), None));
        let interval =
            VqReport::parse(b"\r\nvqintervalreport\r\nLocalMetrics:\r\nDelay:RTD=x;IAJ=3.5\r\n").unwrap();
        assert_eq!((interval.kind, interval.detail), (ReportKind::Interval, &b""[..]));
        let metrics = interval.local.unwrap();
        assert_eq!((metrics.round_trip_ms, metrics.jitter_ms), (None, Some(3.5)));
        for other in [&b""[..], b"VQSession", b"CallID: 1", b"VQSessionReportX: 1"] {
            assert_eq!(VqReport::parse(other), None);
        }
    }

    #[test]
    fn only_requests_of_two_methods_carry_reports() {
        let text = |method: &str, kind: &str| {
            format!(
                "{method} sip:collector@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
                 From: <sip:a@b>;tag=1\r\nTo: <sip:a@b>\r\nCall-ID: own\r\nCSeq: 1 {method}\r\n\
                 Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{BODY}",
                BODY.len()
            )
        };
        let id = |text: String| {
            Message::parse(text.as_bytes()).ok().and_then(|message| {
                assert_eq!(report(&message).and_then(|report| report.call_id), call_id(&message));
                call_id(&message).map(<[u8]>::to_vec)
            })
        };
        let kind = "application/vq-rtcpxr;version=1.0";
        assert_eq!(id(text("PUBLISH", kind)), Some(b"12345678@example.com".to_vec()));
        assert_eq!(id(text("NOTIFY", kind)), Some(b"12345678@example.com".to_vec()));
        assert_eq!(id(text("MESSAGE", kind)), None);
        assert_eq!(id(text("PUBLISH", "application/pidf+xml")), None);
    }
}
