//! Segments of a spool in storage that speaks S3: AWS, MinIO, Ceph, Garage.
//!
//! Not here: which segments go and when. It does what [`ringtap_spool::FarStorage`] asks, for one bucket and
//! one prefix.
//!
//! The one invariant: what [`Settings`] write down has no secret in it. Keys come from the environment, from
//! a file that nobody else may read, or from the machine.
//!
//! ```
//! use ringtap_bucket::{Credentials, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (bucket, prefix) = ringtap_bucket::of_url("s3://recordings/sensor-1").ok_or("no such place")?;
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
//! | `settings` | [`Settings`]: where it is, in the spool as `far/tier.toml`; [`Credentials`] |
//! | `bucket` | [`Bucket`], which asks |
//! | `part` | an object on its way |
//! | `refused` | what the place said, as a sentence |
#![forbid(unsafe_code)]

mod bucket;
mod part;
mod refused;
mod settings;

pub use bucket::Bucket;
pub use settings::{Credentials, Error, Settings, of_url};
