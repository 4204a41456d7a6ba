//! What a relying party of WebAuthn checks (W3C Web Authentication Level 2, sections 7.1 and 7.2).
//!
//! Not here: people, sessions, the database. Bytes and times go in; what they say, or why they are not
//! believed, comes out. Attestation is not asked for: which make an authenticator is of is nothing that a
//! console decides by, so that of CBOR nothing but a public key is read.

mod authenticator;
mod cbor;
mod challenge;
mod client_data;
mod key;

pub(crate) use authenticator::AuthenticatorData;
pub(crate) use challenge::{Challenges, Purpose};
pub(crate) use key::CredentialKey;
pub use key::PASSKEY_ALGORITHMS;

use sha2::{Digest, Sha256};

use crate::webauthn::client_data::ClientData;

/// Where passkeys are made and used.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The name in the browser's address, without a port: the relying party's id.
    pub name: &'a str,
    /// Origins of its pages, such as `https://tap.example.org:8443`.
    pub origins: &'a [String],
}

/// Why an answer of an authenticator is not believed, for the audit log.
pub(crate) type Doubt = &'static str;

/// The challenge that client data answer, if browser and authenticator were asked by this site for this.
pub(crate) fn answered(
    site: Site<'_>,
    purpose: Purpose<'_>,
    client_data: &[u8],
    data: &AuthenticatorData<'_>,
) -> Result<Vec<u8>, Doubt> {
    let client = ClientData::parse(client_data).ok_or("what the browser says cannot be read")?;
    if client.kind != purpose.client_data_type() {
        return Err("the browser was asked for something else");
    }
    if client.cross_origin || !site.origins.contains(&client.origin) {
        return Err("the browser was asked by another page");
    }
    if data.site != <[u8; 32]>::from(Sha256::digest(site.name)) {
        return Err("the authenticator was asked by another site");
    }
    if !(data.is_present && data.is_verified) {
        return Err("the authenticator does not say that it knows the person");
    }
    if data.is_backed_up && !data.can_be_backed_up {
        return Err("the authenticator contradicts itself");
    }
    Ok(client.challenge)
}

/// What an authenticator signs (section 6.3.3): its data, and the hash of what the browser says.
pub(crate) fn signed(authenticator_data: &[u8], client_data: &[u8]) -> Vec<u8> {
    [authenticator_data, Sha256::digest(client_data).as_slice()].concat()
}
