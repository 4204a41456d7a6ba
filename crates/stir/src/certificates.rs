//! The certificates of a directory, and chains to its roots.
//!
//! `DIR/roots/*` are the roots. Every other file is a certificate, followed by those that lead to a root, and
//! named like the last part of the URI in the header, or `HOST/NAME` where several hosts have one of the same
//! name. PEM and DER are read.

use std::path::{Path, PathBuf};

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("cannot read the certificates in {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds no certificate.
    #[error("{path} holds no certificate that can be read: it has to be PEM or DER; {reason}")]
    NoCertificate {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// There is no root.
    #[error("{path} holds no root certificate: put those that are trusted there")]
    NoRoots {
        /// Where they belong.
        path: PathBuf,
    },
    /// More than can be sensible.
    #[error("{path} holds more than {most} files: name the directory of the certificates alone")]
    TooMany {
        /// Which directory.
        path: PathBuf,
        /// The limit.
        most: usize,
    },
    /// The program was built without.
    #[error(
        "this program was built without the check of certificates: leave out {path}, or use another build"
    )]
    NotBuilt {
        /// What was given.
        path: PathBuf,
    },
}

/// What a certificate says of a signature.
#[cfg_attr(not(feature = "certificates"), expect(dead_code, reason = "without certificates none is known"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// By a certificate that leads to a root.
    Good,
    /// The signature does not fit.
    Bad,
    /// The certificate does not lead to a root, or not at that time.
    Untrusted,
    /// There is no such certificate.
    Unknown,
}

#[cfg(feature = "certificates")]
pub use built::Certificates;
#[cfg(not(feature = "certificates"))]
pub use left_out::Certificates;

#[cfg(not(feature = "certificates"))]
mod left_out {
    use super::{Error, Path, Signed};

    /// None: see the feature `certificates`.
    #[derive(Debug)]
    pub struct Certificates(std::convert::Infallible);

    impl Certificates {
        /// Refuses every directory.
        pub fn open(directory: &Path) -> Result<Self, Error> {
            Err(Error::NotBuilt { path: directory.to_owned() })
        }

        pub(crate) fn check(&mut self, _: &str, _: &[Vec<u8>], _: &[u8; 64], _: u64) -> Signed {
            match self.0 {}
        }
    }
}

#[cfg(feature = "certificates")]
mod built {
    use std::collections::HashMap;
    use std::fs;
    use std::time::Duration;

    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
    use webpki::ring::{ECDSA_P256_SHA256, ECDSA_P384_SHA384, RSA_PKCS1_2048_8192_SHA256};
    use webpki::{EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, anchor_from_trusted_cert};

    use super::{Error, Path, Signed};

    /// The certificates of a directory.
    #[derive(Debug)]
    pub struct Certificates {
        roots: Vec<TrustAnchor<'static>>,
        /// By `NAME` and `HOST/NAME`.
        signers: HashMap<String, Signer>,
    }

    #[derive(Debug)]
    struct Signer {
        certificate: CertificateDer<'static>,
        intermediates: Vec<CertificateDer<'static>>,
        /// Whether it leads to a root, in the hour that was last looked at.
        trusted: Option<(u64, bool)>,
    }

    impl Certificates {
        /// Reads all certificates of a directory.
        pub fn open(directory: &Path) -> Result<Self, Error> {
            let root_directory = directory.join("roots");
            let mut roots = Vec::new();
            for path in files(&root_directory)? {
                for root in read(&path)? {
                    let anchor =
                        anchor_from_trusted_cert(&root).map_err(|error| no_certificate(&path, error))?;
                    roots.push(anchor.to_owned());
                }
            }
            if roots.is_empty() {
                return Err(Error::NoRoots { path: root_directory });
            }
            let mut signers = HashMap::new();
            let mut add = |path: &Path, prefix: &str| -> Result<(), Error> {
                let mut chain = read(path)?.into_iter();
                if let (Some(certificate), Some(name)) = (chain.next(), path.file_name()) {
                    EndEntityCert::try_from(&certificate).map_err(|error| no_certificate(path, error))?;
                    let signer = Signer { certificate, intermediates: chain.collect(), trusted: None };
                    signers.insert(format!("{prefix}{}", name.to_string_lossy()), signer);
                }
                Ok(())
            };
            for path in entries(directory)?.into_iter().filter(|path| *path != root_directory) {
                match path.is_dir() {
                    true => {
                        let host = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
                        files(&path)?.iter().try_for_each(|path| add(path, &format!("{host}/")))?;
                    }
                    false => add(&path, "")?,
                }
            }
            Ok(Self { roots, signers })
        }

        /// Certificates that signatures can be checked with.
        pub fn len(&self) -> usize {
            self.signers.len()
        }

        /// Whether there is none.
        pub fn is_empty(&self) -> bool {
            self.signers.is_empty()
        }

        /// What the certificate of this URI says of a signature of one of these texts, at that time in
        /// seconds since 1970.
        pub(crate) fn check(
            &mut self,
            uri: &str,
            signed: &[Vec<u8>],
            signature: &[u8; 64],
            time: u64,
        ) -> Signed {
            let Self { roots, signers } = self;
            let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
            let path = rest.split(['?', '#']).next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let host = path.split(['/', ':']).next().unwrap_or_default().to_ascii_lowercase();
            let places = [format!("{host}/{name}"), name.to_owned()];
            let Some(place) = places.iter().find(|place| signers.contains_key(*place)) else {
                return Signed::Unknown;
            };
            let Some(signer) = signers.get_mut(place) else { return Signed::Unknown };
            if !signer.is_trusted(roots, time) {
                return Signed::Untrusted;
            }
            let Ok(certificate) = EndEntityCert::try_from(&signer.certificate) else {
                return Signed::Untrusted;
            };
            let signature = der(signature);
            let fits = signed
                .iter()
                .any(|text| certificate.verify_signature(ECDSA_P256_SHA256, text, &signature).is_ok());
            if fits { Signed::Good } else { Signed::Bad }
        }
    }

    impl Signer {
        /// Whether it leads to a root. A chain is followed once an hour of the calls' time.
        fn is_trusted(&mut self, roots: &[TrustAnchor<'_>], time: u64) -> bool {
            let hour = time / 3600;
            if let Some((known, is_trusted)) = self.trusted
                && known == hour
            {
                return is_trusted;
            }
            let at = UnixTime::since_unix_epoch(Duration::from_secs(time));
            let is_trusted = EndEntityCert::try_from(&self.certificate).is_ok_and(|certificate| {
                let chain = certificate.verify_for_usage(
                    ALGORITHMS,
                    roots,
                    &self.intermediates,
                    at,
                    AnyUsage,
                    None,
                    None,
                );
                chain.is_ok()
            });
            self.trusted = Some((hour, is_trusted));
            is_trusted
        }
    }

    /// What signatures of certificates may be made with.
    const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] =
        &[ECDSA_P256_SHA256, ECDSA_P384_SHA384, RSA_PKCS1_2048_8192_SHA256];

    /// RFC 8226 asks for no usage of its own.
    struct AnyUsage;

    impl ExtendedKeyUsageValidator for AnyUsage {
        fn validate(&self, _: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
            Ok(())
        }
    }

    /// Files of one directory, and bytes of one file.
    const MOST_FILES: usize = 10_000;
    const MOST_BYTES: u64 = 256 << 10;

    fn entries(directory: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
        let failed = |source| Error::Read { path: directory.to_owned(), source };
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                paths.push(entry.path());
            }
            if paths.len() > MOST_FILES {
                return Err(Error::TooMany { path: directory.to_owned(), most: MOST_FILES });
            }
        }
        paths.sort();
        Ok(paths)
    }

    fn files(directory: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
        Ok(entries(directory)?.into_iter().filter(|path| path.is_file()).collect())
    }

    fn no_certificate(path: &Path, reason: impl ToString) -> Error {
        Error::NoCertificate { path: path.to_owned(), reason: reason.to_string() }
    }

    fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        if fs::metadata(path).map_err(failed)?.len() > MOST_BYTES {
            return Err(no_certificate(path, "it is longer than 256 KiB"));
        }
        let bytes = fs::read(path).map_err(failed)?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) if bytes.first() == Some(&0x30) => Ok(vec![CertificateDer::from(bytes)]),
            Ok(_) => Err(no_certificate(path, "it has no CERTIFICATE")),
            Err(error) => Err(no_certificate(path, error)),
        }
    }

    /// The two numbers of a signature as ASN.1 has them (RFC 3279 section 2.2.3).
    fn der(signature: &[u8; 64]) -> Vec<u8> {
        let mut body = Vec::new();
        for number in signature.chunks(32) {
            let zeros = number.iter().take(31).take_while(|&&byte| byte == 0).count();
            let digits = &number[zeros..];
            let is_signed = digits[0] & 0x80 != 0;
            body.extend([2, (digits.len() + usize::from(is_signed)) as u8]);
            body.extend(is_signed.then_some(0));
            body.extend(digits);
        }
        [&[0x30, body.len() as u8][..], &body].concat()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn numbers_of_a_signature_are_minimal_and_never_negative() {
            let mut signature = [0; 64];
            (signature[31], signature[32]) = (5, 0x80);
            let bytes = der(&signature);
            assert_eq!(bytes[..5], [0x30, 38, 2, 1, 5]);
            assert_eq!((bytes[5..9].to_vec(), bytes.len()), (vec![2, 33, 0, 0x80], 40));
            assert_eq!(der(&[0; 64]), [0x30, 6, 2, 1, 0, 2, 1, 0]);
            assert_eq!(der(&[0xff; 64]).len(), 2 + 2 * 35);
        }
    }
}
