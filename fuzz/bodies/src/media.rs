//! Decodes arbitrary datagrams of media ports: RTP, RTCP, STUN and TURN.

use ringtap_wire::{rtcp, rtp, stun};

/// Passes the bytes as a datagram to each parser for media ports.
pub fn media(bytes: &[u8]) {
    check_rtp(bytes, bytes.len());
    check_rtp(bytes, bytes.len() * 2);
    check_rtp(bytes, 0);
    check_rtcp(bytes);
    check_stun(bytes);
    assert!(!(rtp::looks_like_rtp(bytes) && rtcp::looks_like_rtcp(bytes)));
}

fn check_rtp(bytes: &[u8], declared: usize) {
    let Ok(view) = rtp::View::parse(bytes, declared) else { return };
    assert!(rtp::looks_like_rtp(bytes));
    let extension = view.extension().map_or(0, |extension| 4 + extension.data.len());
    let header = 12 + 4 * usize::from(view.csrc_count()) + extension;
    assert!(header + view.payload().len() <= bytes.len());
    assert!(view.payload().len() <= view.payload_len());
    assert!(header + view.payload_len() + usize::from(view.padding()) <= declared.max(bytes.len()));
    assert!(view.payload_type() < 128);
    let fields = (view.marker(), view.sequence(), view.timestamp(), view.ssrc());
    if let Ok(again) = rtp::View::parse(&bytes[..bytes.len() - view.payload().len()], bytes.len()) {
        assert_eq!(fields, (again.marker(), again.sequence(), again.timestamp(), again.ssrc()));
    }
    if let Some(event) = rtp::TelephoneEvent::parse(view.payload()) {
        assert!(event.volume < 64);
    }
}

fn check_rtcp(bytes: &[u8]) {
    let Ok(compound) = rtcp::Compound::parse(bytes) else {
        assert!(!rtcp::looks_like_rtcp(bytes));
        return;
    };
    let packets = compound.packets().inspect(check_packet).count();
    assert!((1..=bytes.len() / 4).contains(&packets) || packets == 0 && !compound.is_exact());
}

fn check_packet(packet: &rtcp::Packet<'_>) {
    use rtcp::Packet;
    match packet {
        Packet::SenderReport(report) => {
            check_reports(&report.reports);
            assert_eq!(report.ntp_middle(), (report.ntp >> 16) as u32);
        }
        Packet::ReceiverReport(report) => check_reports(&report.reports),
        Packet::Sdes(sdes) => {
            let cname = sdes.items().find(|item| item.kind == rtcp::CNAME);
            assert_eq!(cname.map(|item| (item.ssrc, item.text)), sdes.cname());
            assert!(sdes.items().all(|item| item.text.len() < 256));
        }
        Packet::Bye(bye) => assert!(bye.sources().count() < 32 && bye.reason().len() < 256),
        Packet::App(app) => assert!(app.subtype < 32),
        Packet::Feedback(feedback) => {
            assert!(feedback.format < 32 && feedback.control.len() < 1 << 18);
            assert!(feedback.sources().count() <= 1 + feedback.control.len() / 4);
            assert_eq!(rtcp::FeedbackKind::ALL[feedback.what() as usize], feedback.what());
        }
        Packet::Extended(extended) => {
            assert!(extended.voip_metrics().count() < 1 << 14);
            extended.blocks().for_each(|block| check_block(&block));
        }
        _ => {}
    }
}

fn check_block(block: &rtcp::Block<'_>) {
    use rtcp::Block;
    match block {
        Block::LossRuns(runs) | Block::DuplicateRuns(runs) => {
            assert!(runs.zeros() <= runs.len() && runs.len() <= 1 << 16 && runs.thinning < 16);
            assert!(!runs.is_empty() || runs.zeros() == 0);
        }
        Block::ReceiptTimes(times) => assert!(times.times().count() < 1 << 16 && times.thinning < 16),
        Block::Delays(delays) => assert!(delays.iter().count() < 1 << 16),
        Block::ReferenceTime(_) | Block::Summary(_) | Block::Voip(_) => {}
        Block::Other { data, .. } => assert!(data.len() < 1 << 18),
    }
}

fn check_reports(reports: &rtcp::Reports<'_>) {
    assert_eq!(reports.iter().count(), reports.len());
    assert_eq!(reports.is_empty(), reports.iter().next().is_none());
    let limit = 1 << 23;
    assert!(
        reports.len() < 32 && reports.iter().all(|report| (-limit..limit).contains(&report.cumulative_lost))
    );
}

fn check_stun(bytes: &[u8]) {
    let _ = stun::is_stun(bytes);
    if let Some(inner) = stun::relayed(bytes) {
        assert!(inner.len() + 4 <= bytes.len());
    }
}
