//! Whether a packet was made by somebody who knows the secret.

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};

use super::number::MESSAGE_AUTHENTICATOR;
use super::view::{View, code};

/// What became of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// There is nothing to check: a random authenticator, no Message-Authenticator, or an answer whose
    /// request is not known.
    #[default]
    Unchecked,
    /// It was made with this secret.
    Right,
    /// It was made with another secret, or the packet was changed.
    Wrong,
}

impl Verdict {
    fn of(is_right: bool) -> Self {
        if is_right { Self::Right } else { Self::Wrong }
    }
}

/// What [`View::check`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthenticatorCheck {
    /// Response Authenticator, or that of a request whose authenticator is not random.
    pub authenticator: Verdict,
    /// Message-Authenticator.
    pub message_authenticator: Verdict,
}

impl AuthenticatorCheck {
    /// Both together: wrong where either is, right where one is right and the other not wrong.
    pub fn verdict(self) -> Verdict {
        match (self.authenticator, self.message_authenticator) {
            (Verdict::Wrong, _) | (_, Verdict::Wrong) => Verdict::Wrong,
            (Verdict::Unchecked, Verdict::Unchecked) => Verdict::Unchecked,
            _ => Verdict::Right,
        }
    }
}

impl View<'_> {
    /// Checks its authenticators. `request` is the authenticator of the request that an answer belongs to.
    ///
    /// Response Authenticator: RFC 2865 section 3; accounting: RFC 2866 section 3; CoA and Disconnect: RFC
    /// 5176 section 2.3; Message-Authenticator: RFC 2869 section 5.14, RFC 5176 section 3.4.
    pub fn check(&self, secret: &[u8], request: Option<&[u8; 16]>) -> AuthenticatorCheck {
        let own = self.authenticator();
        // What stood in place of the authenticator while each was computed.
        let (digested, signed) = match self.code() {
            code::ACCESS_REQUEST | code::STATUS_SERVER | code::STATUS_CLIENT => (None, Some(own)),
            code::ACCOUNTING_REQUEST | code::DISCONNECT_REQUEST | code::COA_REQUEST => {
                (Some(&ZERO), Some(&ZERO))
            }
            _ => (request, request),
        };
        let authenticator = digested.map(|before| Verdict::of(self.digest(before, secret) == *own));
        AuthenticatorCheck {
            authenticator: authenticator.unwrap_or_default(),
            message_authenticator: signed
                .map(|before| self.check_message(before, secret))
                .unwrap_or_default(),
        }
    }

    fn digest(&self, before: &[u8; 16], secret: &[u8]) -> [u8; 16] {
        let (head, rest) = self.bytes().split_at(4);
        let mut digest = Md5::new();
        for part in [head, before, &rest[16..], secret] {
            digest.update(part);
        }
        digest.finalize().into()
    }

    fn check_message(&self, before: &[u8; 16], secret: &[u8]) -> Verdict {
        let Some(attribute) = self.find(MESSAGE_AUTHENTICATOR) else { return Verdict::Unchecked };
        if attribute.value.len() != ZERO.len() {
            return Verdict::Wrong;
        }
        let Ok(mut mac) = Hmac::<Md5>::new_from_slice(secret) else { return Verdict::Unchecked };
        let (head, rest) = self.bytes().split_at(attribute.at);
        for part in [&head[..4], before, &head[20..], &ZERO, &rest[16..]] {
            mac.update(part);
        }
        Verdict::of(mac.verify_slice(attribute.value).is_ok())
    }
}

const ZERO: [u8; 16] = [0; 16];
