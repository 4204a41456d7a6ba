//! How long a target may take.

use std::time::Duration;

/// To accept a connection.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// For a whole delivery.
pub(crate) const WHOLE: Duration = Duration::from_secs(15);
