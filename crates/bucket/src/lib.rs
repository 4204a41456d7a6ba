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
//! | `bucket` | [`Bucket`] |
//! | `part` | uploads |
//! | `refused` | errors of the storage as sentences |
#![forbid(unsafe_code)]

mod bucket;
mod part;
mod refused;
mod settings;

pub use bucket::Bucket;
pub use settings::{Credentials, Error, Settings, of_url};
