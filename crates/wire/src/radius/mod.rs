//! RADIUS: who was let into a network, and which addresses it was given (RFC 2865, 2866, 2869, 5176).
//!
//! A packet is a header of 20 bytes and a list of attributes. [`View::attributes`] walks them in order, with
//! those inside Vendor-Specific (RFC 2865 section 5.26) and Extended attributes (RFC 6929) in the place of
//! their container. Nothing is allocated.
//!
//! ```
//! use ringtap_wire::radius::{View, code, number};
//!
//! let mut packet = [0; 28];
//! packet[..4].copy_from_slice(&[code::ACCESS_ACCEPT, 7, 0, 28]);
//! packet[20..].copy_from_slice(&[8, 6, 192, 0, 2, 9, 99, 2]);
//! let view = View::parse(&packet).expect("two attributes");
//! assert_eq!((view.code(), view.identifier()), (code::ACCESS_ACCEPT, 7));
//! let address = view.find(number::FRAMED_IP_ADDRESS).and_then(|attribute| attribute.ipv4());
//! assert_eq!(address, Some([192, 0, 2, 9].into()));
//! ```

mod attribute;
mod authenticator;
pub mod number;
#[cfg(test)]
mod tests;
mod value;
mod vendor;
mod view;

pub use attribute::{Attribute, Attributes};
pub use authenticator::{AuthenticatorCheck, Verdict};
pub use number::Number;
pub use value::{Tlvs, av_pair};
pub use view::{ParseError, View, code, looks_like_radius, total_len};
