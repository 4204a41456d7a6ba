//! What the mediation function is told of a warrant itself: HI1 notifications (TS 101 671 annex D.4).

use ringtap_model::Nanos;

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// What happened.
    pub kind: NotificationKind,
    /// When.
    pub at: Nanos,
    /// The target, or the alarm, in words: up to 256 octets, longer ones are cut.
    pub text: Option<String>,
}

/// What happened to a warrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    /// Its interception began (liActivated).
    Activated,
    /// It ended (liDeactivated).
    Deactivated,
    /// It was changed (liModified).
    Modified,
    /// Something is wrong with it, such as product that was lost (alarms-indicator).
    Alarm,
}
