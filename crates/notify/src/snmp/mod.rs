//! SNMPv2c traps (RFC 3416 section 4.2.6); `docs/RINGTAP-MIB.txt` describes their values.

mod ber;

use std::time::Instant;

use tokio::net::{UdpSocket, lookup_host};

use crate::error::NotifyError;
use crate::notice::{Notice, NoticeKind};
use crate::target::Snmp;
use crate::texts::{number, printable, time};

/// Sends traps to one receiver.
pub(crate) struct Trapper {
    snmp: Snmp,
    begun: Instant,
}

impl Trapper {
    pub(crate) fn open(snmp: &Snmp) -> Self {
        Self { snmp: snmp.clone(), begun: Instant::now() }
    }

    /// Sends a trap. Nobody says whether it arrives.
    pub(crate) async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let server = self.snmp.server.as_str();
        let failed =
            |error: std::io::Error| NotifyError::later(format!("{server} cannot be sent a trap: {error}"));
        let mut found = lookup_host((server, self.snmp.port)).await.map_err(failed)?;
        let Some(receiver) = found.next() else {
            return Err(NotifyError::later(format!("{server} has no address")));
        };
        let own = if receiver.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(own).await.map_err(failed)?;
        socket.send_to(&self.trap(notice), receiver).await.map_err(failed)?;
        Ok(())
    }

    fn trap(&self, notice: &Notice) -> Vec<u8> {
        // TimeTicks are hundredths of a second, and begin again after 497 days (RFC 2578 section 7.1.8).
        let uptime = (self.begun.elapsed().as_millis() / 10) as u32;
        let base = self.snmp.oid.numbers();
        let below = |rest: &[u32]| ber::object(&[base, rest].concat());
        let trap = match notice.kind {
            NoticeKind::Raised => 1,
            NoticeKind::Repeated | NoticeKind::Standing => 2,
            NoticeKind::Cleared => 3,
            NoticeKind::Acknowledged => 4,
        };
        let mut bindings = vec![
            binding(ber::object(&SYS_UPTIME), ber::number(ber::TIME_TICKS, uptime)),
            binding(ber::object(&TRAP_OID), below(&[0, trap])),
        ];
        for (at, text) in (1..).zip(texts(notice)) {
            bindings.push(binding(below(&[1, at, 0]), ber::value(ber::OCTETS, text.as_bytes())));
        }
        let request = notice.alarm.last.0 as u32 & 0x7fff_ffff;
        let pdu = ber::values(
            ber::TRAP,
            &[
                ber::number(ber::INTEGER, request),
                ber::number(ber::INTEGER, 0),
                ber::number(ber::INTEGER, 0),
                ber::values(ber::SEQUENCE, &bindings),
            ],
        );
        let community = ber::value(ber::OCTETS, self.snmp.community.as_bytes());
        ber::values(ber::SEQUENCE, &[ber::number(ber::INTEGER, V2C), community, pdu])
    }
}

fn binding(name: Vec<u8>, value: Vec<u8>) -> Vec<u8> {
    ber::values(ber::SEQUENCE, &[name, value])
}

/// The values, in the order of the MIB. Together they fit into one packet of 1,500 bytes.
fn texts(notice: &Notice) -> Vec<String> {
    let alarm = &notice.alarm;
    let value = |value: Option<f64>| value.map(number).unwrap_or_default();
    let texts = [
        (32, alarm.id.to_string()),
        (64, alarm.rule.clone()),
        (16, alarm.severity.name().to_owned()),
        (16, alarm.per.clone()),
        (100, alarm.subject.clone()),
        (48, alarm.figure.clone()),
        (20, value(alarm.value)),
        (20, number(alarm.threshold)),
        (255, alarm.text.clone()),
        (32, time(alarm.raised)),
        (32, alarm.cleared.map(time).unwrap_or_default()),
        (64, notice.host.clone()),
        (255, alarm.calls.join(" ")),
    ];
    texts.map(|(most, text)| cut(&printable(&text), most)).into()
}

/// At most so many bytes of a text, and no part of a letter.
fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

/// sysUpTime.0 and snmpTrapOID.0 (RFC 3418).
const SYS_UPTIME: [u32; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];
const TRAP_OID: [u32; 11] = [1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0];
/// The version of SNMPv2c in a message (RFC 1901).
const V2C: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::notice;
    use crate::target::Oid;

    #[test]
    fn the_longest_trap_fits_into_one_packet() {
        let mut told = notice(NoticeKind::Raised);
        let long = "é".repeat(2000);
        for text in [
            &mut told.alarm.rule,
            &mut told.alarm.per,
            &mut told.alarm.subject,
            &mut told.alarm.figure,
            &mut told.alarm.text,
            &mut told.host,
        ] {
            text.clone_from(&long);
        }
        told.alarm.calls = vec![long; 10];
        told.alarm.value = Some(f64::MIN);
        told.alarm.threshold = f64::MAX;
        told.alarm.cleared = Some(told.alarm.last);
        let snmp = Snmp { server: "h".into(), port: 162, community: "public".into(), oid: Oid::default() };
        let length = Trapper::open(&snmp).trap(&told).len();
        assert!(length > 1000 && length <= 1400, "{length}");
    }
}
