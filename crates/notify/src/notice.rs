//! What somebody is told.

use ringtap_model::Alarm;
use serde::{Deserialize, Serialize};

/// What somebody is told of one alarm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Why now.
    pub kind: NoticeKind,
    /// The machine that noticed it.
    pub host: String,
    /// Names of the targets that are told; all where it is empty.
    pub to: Vec<String>,
    /// The alarm as it is now.
    pub alarm: Alarm,
}

/// Why somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// The alarm was raised.
    Raised,
    /// It still stands, and nobody was told for a while.
    Repeated,
    /// It cleared.
    Cleared,
    /// Somebody acknowledged it.
    Acknowledged,
    /// It stands since before this process was started: for targets that forget alarms. Others were told.
    Standing,
}

impl NoticeKind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Repeated => "repeated",
            Self::Cleared => "cleared",
            Self::Acknowledged => "acknowledged",
            Self::Standing => "standing",
        }
    }
}

impl Notice {
    /// Whether a target is told of it.
    pub fn is_for(&self, target: &str) -> bool {
        self.to.is_empty() || self.to.iter().any(|name| name == target)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ringtap_model::{Id, Nanos, Severity};

    use super::*;

    pub(crate) fn notice(kind: NoticeKind) -> Notice {
        let alarm = Alarm {
            id: Id([0x12; 16]),
            rule: "loss on trunks".into(),
            severity: Severity::Critical,
            per: "trunk".into(),
            subject: "carrier-a".into(),
            figure: "loss".into(),
            value: Some(3.25),
            worst: Some(4.0),
            threshold: 1.0,
            behind: 240,
            text: "3.25 % of the packets of trunk carrier-a are lost".into(),
            raised: Nanos(1_795_420_800_000_000_000),
            last: Nanos(1_795_420_810_000_000_000),
            cleared: (kind == NoticeKind::Cleared).then_some(Nanos(1_795_420_820_000_000_000)),
            calls: vec!["a@192.0.2.1".into()],
            acknowledged: None,
            acknowledged_by: None,
            comment: None,
            silenced_until: None,
        };
        Notice { kind, host: "sensor-1".into(), to: vec![], alarm }
    }

    #[test]
    fn notices_travel_as_json() {
        let told = Notice { to: vec!["noc".into()], ..notice(NoticeKind::Acknowledged) };
        let read: Notice = serde_json::from_str(&serde_json::to_string(&told).unwrap()).unwrap();
        assert_eq!(read, told);
        assert!(told.is_for("noc") && !told.is_for("pager") && notice(NoticeKind::Raised).is_for("pager"));
    }
}
