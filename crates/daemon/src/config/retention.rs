//! `[retention]`: how long recorded packets stay on the disk, and where they move.

use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use ringtap_spool::{Category, SpaceThreshold, Watermarks};

use super::country::Country;
use super::key::{Bounds, KIB, KeyProblem, MIB, MINUTE, section};
use super::values::{FreeSpace, Size, Span};

const AGE: Bounds = Bounds::at_least(MINUTE).example("90d").zero("0s is never");
const SPACE: Bounds = Bounds::at_least(MIB).example("500GiB").zero("0 is no limit");

section! {
    /// How long recorded packets stay in the spool. Segments are deleted whole, the oldest first; calls on
    /// hold (`ringtap hold`) are never deleted. Records have a limit of their own: [store] retain.
    #[name = "retention"]
    pub(crate) struct Retention {
        /// Signalling older than this is deleted, such as "90d". Zero keeps it until the disk is short.
        #[live = true]
        #[bounds = AGE]
        signalling: Span = Span(Nanos::ZERO),
        /// Media older than this are deleted, such as "30d". Zero keeps them until the disk is short.
        #[live = true]
        #[bounds = AGE]
        media: Span = Span(Nanos::ZERO),
        /// Interception product (see `product` of [[keep]]) older than this is deleted, such as "10d". Zero
        /// keeps it until the disk is short and nothing else is left to delete.
        #[live = true]
        #[bounds = AGE]
        product: Span = Span(Nanos::ZERO),
        /// Space for signalling, in the spool and its tier together: beyond it the oldest is deleted. Zero is
        /// no limit.
        #[live = true]
        #[bounds = SPACE]
        signalling_size: Size = Size(0),
        /// Space for media, in the spool and its tier together. Zero is no limit.
        #[live = true]
        #[bounds = SPACE]
        media_size: Size = Size(0),
        /// Space for interception product, in the spool and its tier together. Zero is no limit.
        #[live = true]
        #[bounds = SPACE]
        product_size: Size = Size(0),
        /// Space that stays free on the file system of the spool, and on that of its tier. Below it the
        /// oldest segments of signalling or media are deleted, and interception product when they are gone.
        /// Where nothing is left that may be deleted, the recording of packets stops; records are still
        /// written, into this space.
        #[live = true]
        pub(crate) free: FreeSpace = FreeSpace(Watermarks::default().low),
        /// Segments are deleted until this much is free; then recording resumes as well.
        #[live = true]
        free_again: FreeSpace = FreeSpace(Watermarks::default().high),
        /// Whose law says how long records and sessions are kept: it sets `retain` and `retain_sessions` in
        /// [store] where they are not, and refuses what it forbids. Which laws these are, and why you have to
        /// ask a lawyer: [disclosure](disclosure.md#how-long-data-is-there).
        #[live = true]
        pub(crate) country: Country = Country::None,
        /// Where older segments move: a second directory, on a larger disk, or a bucket and prefix of storage
        /// that speaks S3. `ringtap export` and the other commands find them there. Another bucket needs a
        /// restart.
        #[live = true]
        #[accepts = "a path, such as \"/mnt/archive/ringtap\", a bucket, such as \
                     \"s3://recordings/sensor-1\", or \"\" for none"]
        tier: PathBuf = PathBuf::new(),
        /// The server of the bucket that `tier` names: scheme, host and port. Empty is AWS.
        #[accepts = "a URL, such as \"https://s3.example.org:9000\", or \"\" for AWS"]
        tier_endpoint: String = String::new(),
        /// The region of the bucket. Servers other than AWS expect the one in their own configuration,
        /// usually this one.
        #[accepts = "a region, such as \"eu-central-1\""]
        tier_region: String = ringtap_bucket::Settings::default().region,
        /// Name the bucket in the path of a request. False: in the host, as AWS has it.
        tier_path_style: bool = ringtap_bucket::Settings::default().path_style,
        /// Allow an endpoint of `http://`: whoever is on the way can read what is not sealed.
        tier_http: bool = ringtap_bucket::Settings::default().http,
        /// File with the lines `aws_access_key_id = ...` and `aws_secret_access_key = ...`, readable by its
        /// owner alone. It is read at the start, before the program drops its privileges. "machine" asks the
        /// metadata service of the cloud; empty reads AWS_ACCESS_KEY_ID and so on from the environment.
        #[accepts = "a path, such as \"/etc/ringtap/s3\", \"machine\", or \"\" for the environment"]
        tier_credentials: String = String::new(),
        /// Bytes a second that go to the bucket at most. Zero is no limit.
        #[live = true]
        #[bounds = Bounds::at_least(64 * KIB).example("50MiB").zero("0 is no limit")]
        tier_rate: Size = Size(0),
        /// Segments older than this move to the tier. Zero moves them when the disk of the spool is short.
        #[live = true]
        #[bounds = AGE]
        tier_after: Span = Span(Nanos::ZERO),
    }
}

impl Retention {
    /// The limits of the spool.
    pub(crate) fn limits(&self) -> ringtap_spool::Limits {
        let span = |span: Span| (span.0 != Nanos::ZERO).then_some(span.0);
        let size = |size: Size| (size.0 != 0).then_some(size.0);
        ringtap_spool::Limits {
            age: Category::ALL.map(|category| match category {
                Category::Signalling => span(self.signalling),
                Category::Media => span(self.media),
                Category::Product => span(self.product),
            }),
            size: Category::ALL.map(|category| match category {
                Category::Signalling => size(self.signalling_size),
                Category::Media => size(self.media_size),
                Category::Product => size(self.product_size),
            }),
            free: Watermarks { low: self.free.0, high: self.free_again.0 },
            tier_after: span(self.tier_after),
        }
    }

    /// The directory that older segments move to, if any.
    pub(crate) fn tier(&self) -> Option<&Path> {
        (!self.tier.as_os_str().is_empty() && !self.is_far()).then_some(&*self.tier)
    }

    /// Where the credentials of the bucket are.
    pub(crate) fn credentials(&self) -> &str {
        &self.tier_credentials
    }

    /// The bucket that older segments move to, if any.
    pub(crate) fn far(&self) -> Option<ringtap_bucket::Settings> {
        let (bucket, prefix) = ringtap_bucket::of_url(self.tier.to_str()?)?;
        Some(ringtap_bucket::Settings {
            bucket,
            prefix,
            endpoint: self.tier_endpoint.trim_end_matches('/').to_owned(),
            region: self.tier_region.clone(),
            path_style: self.tier_path_style,
            http: self.tier_http,
            credentials: self.tier_credentials.clone().into(),
        })
    }

    /// Most bytes a second to upload; None without a limit.
    pub(crate) fn tier_rate(&self) -> Option<u64> {
        (self.tier_rate.0 != 0).then_some(self.tier_rate.0)
    }

    /// When segments move, and how fast, for the log.
    pub(crate) fn moves(&self) -> String {
        let when = match self.tier_after.0 {
            Nanos::ZERO => format!("when less than {} is free", self.free),
            _ => format!("when they are older than {}", self.tier_after),
        };
        match self.tier_rate() {
            None => when,
            Some(_) => format!("{when}, at most {} a second", self.tier_rate),
        }
    }

    /// Whether `tier` is meant to be a bucket.
    fn is_far(&self) -> bool {
        self.tier.to_str().is_some_and(|tier| tier.contains("://") || tier.starts_with("s3:"))
    }
}

impl Retention {
    /// Checks keys that depend on each other or on the spool's directory.
    pub(super) fn check(&self, spool: Option<&Path>) -> Result<(), KeyProblem> {
        let wrong = |key, problem: &str| Err(("retention", key, problem.to_owned()));
        match (self.free.0, self.free_again.0) {
            (SpaceThreshold::Thousandths(low), SpaceThreshold::Thousandths(high)) if high < low => {
                return wrong("free_again", "must not be less than `free`, for example 5% and 7%");
            }
            (SpaceThreshold::Bytes(low), SpaceThreshold::Bytes(high)) if high < low => {
                return wrong("free_again", "must not be less than `free`, for example 20GiB and 30GiB");
            }
            _ => self.check_far()?,
        }
        match (self.tier(), spool) {
            (Some(tier), Some(spool)) if tier.starts_with(spool) || spool.starts_with(tier) => wrong(
                "tier",
                "must not be inside the directory of the spool, nor contain it: set one on another disk",
            ),
            (None, _) if self.tier_after.0 != Nanos::ZERO && !self.is_far() => {
                wrong("tier_after", "needs `tier`, where segments move to: set it, or remove this key")
            }
            _ => Ok(()),
        }
    }

    /// Checks the keys of a bucket.
    fn check_far(&self) -> Result<(), KeyProblem> {
        let wrong = |key, problem: &str| Err(("retention", key, problem.to_owned()));
        if !self.is_far() {
            return match self.tier_endpoint.is_empty() {
                true => Ok(()),
                false => wrong(
                    "tier_endpoint",
                    "needs a bucket in `tier`: set it to s3://bucket/prefix, or remove this key",
                ),
            };
        }
        let Some(far) = self.far() else {
            return wrong(
                "tier",
                "is not a bucket: write s3://, its name and a prefix, for example s3://recordings/sensor-1",
            );
        };
        let host = match far.endpoint.split_once("://") {
            None if far.endpoint.is_empty() => "aws",
            Some(("http", _)) if !far.http => {
                let problem = "is not encrypted: use https, or allow http with tier_http = true";
                return wrong("tier_endpoint", problem);
            }
            Some(("http" | "https", host)) => host,
            _ => "",
        };
        if host.is_empty() || host.contains(['/', '?', '#', '@', ' ']) {
            return wrong(
                "tier_endpoint",
                "must be a scheme, a host and a port, for example https://s3.example.org:9000",
            );
        }
        if far.region.is_empty() {
            return wrong("tier_region", "must not be empty, for example us-east-1");
        }
        Ok(())
    }
}
