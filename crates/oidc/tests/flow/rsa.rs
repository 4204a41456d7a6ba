//! Keys and signatures of RSA, made by OpenSSL: another program than the one that verifies them.

use std::path::Path;
use std::process::Command;

use ringtap_testing::identity_provider::unsigned;

use super::*;

/// Runs OpenSSL in that directory.
fn openssl(dir: &Path, arguments: &str) -> Vec<u8> {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The key of that directory, as a provider publishes it.
fn public(dir: &Path, bits: u32) -> Value {
    openssl(dir, &format!("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:{bits} -out key.pem"));
    let modulus = String::from_utf8(openssl(dir, "rsa -in key.pem -noout -modulus")).unwrap();
    let digits = modulus.trim().strip_prefix("Modulus=").unwrap();
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
    let n = URL_SAFE_NO_PAD.encode(bytes.collect::<Vec<_>>());
    json!({ "kty": "RSA", "kid": "rsa", "n": n, "e": "AQAB" })
}

fn signed(dir: &Path, algorithm: &str, claims: &Value) -> String {
    let signed = unsigned(&json!({ "alg": algorithm, "kid": "rsa" }), claims);
    std::fs::write(dir.join("signed"), &signed).unwrap();
    let padding = match algorithm {
        "PS256" => " -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32",
        _ => "",
    };
    let signature = openssl(dir, &format!("dgst -sha256 -sign key.pem{padding} signed"));
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn signatures_of_openssl_are_believed_and_none_of_a_short_key_or_the_other_padding() {
    if !ringtap_testing::program("openssl") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (bits, is_believed) in [(2_048, true), (3_072, true), (1_024, false)] {
        let case = Case::new();
        case.server.publish(&[public(dir.path(), bits)]);
        for algorithm in ["RS256", "PS256"] {
            let begun = case.provider.begin(NOW).await.unwrap();
            let token = signed(dir.path(), algorithm, &case.claims(&begun));
            let vouched = case.come_back(&begun, &token).await;
            assert_eq!(vouched.is_ok(), is_believed, "{algorithm}, {bits}: {vouched:?}");
            // The same bytes under the name of the other algorithm.
            let begun = case.provider.begin(NOW).await.unwrap();
            let other = if algorithm == "RS256" { "PS256" } else { "RS256" };
            let token = signed(dir.path(), algorithm, &case.claims(&begun));
            let (_, signature) = token.rsplit_once('.').unwrap();
            let header = json!({ "alg": other, "kid": "rsa" });
            let renamed = format!("{}.{signature}", unsigned(&header, &case.claims(&begun)));
            assert_eq!(kind(case.come_back(&begun, &renamed).await), FailureKind::Untrusted, "{other}");
        }
    }
}
