//! Integrity checks: PDUs that hold a hash of others, or a signature (TS 102 232-1 clause 7.2.3).

use sha2::{Digest, Sha256};

use crate::Handover;
use crate::asn1;

/// A hash over PDUs of one CIN, or a signature over such hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrityCheck {
    /// Sequence numbers of the PDUs that it is over, in their order: of data for a hash, of hashes for a
    /// signature.
    pub included: Vec<u32>,
    /// Which of the two.
    pub kind: CheckKind,
    /// What the PDUs carry: IRI or content.
    pub handover: Handover,
    /// The hash (SHA-256), or the signature over the hash.
    pub value: Vec<u8>,
}

/// What an integrity check holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// SHA-256 over whole PDUs, one after the other.
    Hash,
    /// A signature over whole PDUs with hashes, one after the other.
    Signature,
}

impl IntegrityCheck {
    pub(crate) fn to_asn1(&self) -> asn1::IntegrityCheck {
        asn1::IntegrityCheck {
            included: self.included.clone(),
            kind: match self.kind {
                CheckKind::Hash => asn1::CheckType::Hash,
                CheckKind::Signature => asn1::CheckType::Signature,
            },
            data: Some(match self.handover {
                Handover::Hi2 => asn1::DataType::Iri,
                Handover::Hi3 => asn1::DataType::Cc,
            }),
            value: self.value.clone().into(),
            algorithm: Some(asn1::HashAlgorithm::Sha256),
        }
    }
}

/// PDUs of one CIN on one handover interface, for their next check.
#[derive(Clone, Debug)]
pub struct Checked {
    handover: Handover,
    included: Vec<u32>,
    hash: Sha256,
}

impl Checked {
    /// No PDU yet.
    pub fn new(handover: Handover) -> Self {
        Self { handover, included: Vec::new(), hash: Sha256::new() }
    }

    /// Adds a PDU, whole, in the order in which it is sent. Whether a check is due, because it names enough.
    pub fn add(&mut self, sequence: u32, pdu: &[u8]) -> bool {
        self.included.push(sequence);
        self.hash.update(pdu);
        self.included.len() >= MOST_INCLUDED
    }

    /// Whether there is anything to check.
    pub fn is_empty(&self) -> bool {
        self.included.is_empty()
    }

    /// The hash of what was added; the next one starts anew.
    pub fn hash(&mut self) -> IntegrityCheck {
        let value = self.hash.finalize_reset().to_vec();
        self.check(CheckKind::Hash, value)
    }

    /// The signature by `sign` over what was added, which are PDUs with hashes: `sign` is given their
    /// SHA-256.
    ///
    /// # Errors
    /// Those of `sign`.
    pub fn signature<E>(
        &mut self,
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<IntegrityCheck, E> {
        let value = sign(&self.hash.finalize_reset())?;
        Ok(self.check(CheckKind::Signature, value))
    }

    fn check(&mut self, kind: CheckKind, value: Vec<u8>) -> IntegrityCheck {
        IntegrityCheck { included: std::mem::take(&mut self.included), kind, handover: self.handover, value }
    }
}

/// PDUs after which a check is due.
pub const MOST_INCLUDED: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_over_whole_pdus_in_their_order() {
        let mut checked = Checked::new(Handover::Hi3);
        assert!(checked.is_empty());
        assert!(!checked.add(5, b"first") && !checked.add(6, b"second"));
        let check = checked.hash();
        assert_eq!((check.included, check.kind), (vec![5, 6], CheckKind::Hash));
        assert_eq!(check.value, Sha256::digest(b"firstsecond").to_vec());
        // The next one starts anew.
        assert!(checked.is_empty());
        checked.add(7, b"third");
        assert_eq!(checked.hash().value, Sha256::digest(b"third").to_vec());
    }

    #[test]
    fn a_signature_is_over_the_hash_and_a_check_is_due_after_many() {
        let mut checked = Checked::new(Handover::Hi2);
        for sequence in 1..MOST_INCLUDED as u32 {
            assert!(!checked.add(sequence, b"pdu"));
        }
        assert!(checked.add(0, b"pdu"));
        let check = checked.signature(|hash| Ok::<_, ()>(hash.repeat(2))).unwrap();
        assert_eq!((check.included.len(), check.value.len()), (MOST_INCLUDED, 64));
        assert!(checked.signature(|_| Err(())).is_err());
    }
}
