//! What the PDUs of an order say of it.

use ringtap_handover::{
    CountryCode, Identifiers, InterceptionPoint, Liid, NameError, OperatorId, PayloadKey,
};
use ringtap_warrant::{self as warrant, Order};

/// The identifiers of an order at a point, and the key of its payloads.
pub(crate) fn of_order(
    order: &Order,
    point: Option<InterceptionPoint>,
) -> Result<(Identifiers, Option<PayloadKey>), NameError> {
    let country = |code: &warrant::CountryCode| CountryCode::new(code.as_str());
    let identifiers = Identifiers {
        liid: Liid::new(order.liid.octets())?,
        authorisation: Some(country(&order.authorisation_country)?),
        operator: OperatorId::new(order.operator.as_bytes())?,
        element: None,
        delivery: Some(country(&order.delivery_country)?),
        point,
    };
    let key = match &order.payload_key {
        Some(warrant::PayloadKey::Aes192Cbc(key)) => Some(PayloadKey::Aes192(key.clone())),
        Some(warrant::PayloadKey::Aes256Cbc(key)) => Some(PayloadKey::Aes256(key.clone())),
        _ => None,
    };
    Ok((identifiers, key))
}
