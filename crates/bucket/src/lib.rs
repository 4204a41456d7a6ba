//! Segments of a spool in storage that speaks S3: AWS, MinIO, Ceph, Garage.
//!
//! It does not decide which segments move, or when. It implements [`ringtap_spool::FarStorage`] for one
//! bucket and one prefix.
//!
//! The one invariant: what [`Settings`] write to the disk has no secret in it. Keys come from the
//! environment, from a file that nobody else may read, or from the machine.
//!
//! ```
//! use ringtap_bucket::{Credentials, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (bucket, prefix) = ringtap_bucket::of_url("s3://recordings/sensor-1").ok_or("no such bucket")?;
//! let settings = Settings {
//!     bucket,
//!     prefix,
//!     endpoint: "https://s3.example.org".into(),
//!     path_style: true,
//!     credentials: Credentials::File("/etc/ringtap/s3".into()),
//!     ..Settings::default()
//! };
//! assert_eq!(settings.url(), "s3://recordings/sensor-1");
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `settings` | [`Settings`]: where the bucket is, in the spool as `far/tier.toml`; [`Credentials`] |
//! | `keys`, `port` | [`Keys`], which [`Credentials`] name; ports that requests go to |
//! | `bucket` | [`Bucket`] |
//! | `client` | the connection of [`Bucket`] to the storage |
//! | `absent` | [`Bucket`] and [`Keys`] without the feature `s3`: it refuses |
//! | `part` | uploads |
//! | `refused` | errors of the storage as sentences |
#![forbid(unsafe_code)]

#[cfg(not(feature = "s3"))]
mod absent;
#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod client;
#[cfg(feature = "s3")]
mod keys;
#[cfg(feature = "s3")]
mod part;
#[cfg(feature = "s3")]
mod port;
#[cfg(feature = "s3")]
mod refused;
mod settings;

#[cfg(not(feature = "s3"))]
pub use absent::{Bucket, Keys};
#[cfg(feature = "s3")]
pub use bucket::Bucket;
#[cfg(feature = "s3")]
pub use keys::Keys;
pub use settings::{Credentials, Error, Settings, of_url};
