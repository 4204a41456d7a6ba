//! What every message begins with (clause 6.1).

use ringtap_warrant::Uuid;

use crate::fault::Fault;
use crate::time;
use crate::xml::Fields;

/// The header of a request.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) admf: String,
    pub(crate) ne: String,
    pub(crate) version: String,
    pub(crate) transaction: Uuid,
}

impl Header {
    /// Reads it; what follows is left.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let name = |text: &str| {
            let is_right = !text.is_empty() && text.len() <= LONGEST;
            if is_right {
                Ok(text.to_owned())
            } else {
                Err(Fault::schema("an identifier is empty or too long"))
            }
        };
        let admf = name(fields.text("admfIdentifier")?)?;
        let ne = name(fields.text("neIdentifier")?)?;
        let sent = fields.text("messageTimestamp")?;
        if time::parse(sent).is_none() {
            return Err(Fault::schema("`messageTimestamp` is no time with microseconds and a zone"));
        }
        let version = name(fields.text("version")?)?;
        let transaction = fields.text("x1TransactionId")?.parse();
        let transaction = transaction.map_err(|_| Fault::schema("`x1TransactionId` is no UUID"))?;
        Ok(Self { admf, ne, version, transaction })
    }

    /// Whether its version is one whose messages have the fields that are read: `v1.x.y`, which only add
    /// fields (clause 4.5).
    pub(crate) fn is_supported(&self) -> bool {
        let mut parts = self.version.strip_prefix('v').unwrap_or_default().split('.');
        let mut number = || parts.next().and_then(|part| part.parse::<u16>().ok());
        let (major, minor, patch) = (number(), number(), number());
        major == Some(1) && minor.is_some() && patch.is_some() && parts.next().is_none()
    }
}

/// Bytes of an identifier.
const LONGEST: usize = 256;
