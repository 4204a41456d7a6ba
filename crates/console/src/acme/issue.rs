//! One order of a certificate, from the account to the chain.

use anyhow::{Context, bail};
use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount, NewOrder, Order, OrderStatus,
    RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};

use super::client::Client;
use super::files::Files;
use super::served::ServedCertificate;
use super::settings::AcmeSettings;

/// Has a certificate issued: its key and its chain, in PEM.
///
/// # Errors
///
/// The server does not answer, refuses, or cannot reach this console.
pub(super) async fn issue(
    settings: &AcmeSettings,
    client: &Client,
    files: &Files,
    served: &ServedCertificate,
) -> anyhow::Result<String> {
    let account = account(settings, client, files).await?;
    let names: Vec<Identifier> = settings.domains.iter().cloned().map(Identifier::Dns).collect();
    let mut order = match account.new_order(&NewOrder::new(&names)).await {
        Err(error) if is_unknown_account(&error) => {
            // The next attempt makes another one.
            files.remove_account();
            return Err(error).context("the server does not know the account any more");
        }
        ordered => ordered.context("the order is refused")?,
    };
    prove(&mut order, served).await?;
    let state = order.poll_ready(&POLLS).await.context("the names are not confirmed")?;
    if state != OrderStatus::Ready {
        bail!(
            "the names are not confirmed: the server cannot make a handshake with this console on port 443 \
             of {}; is that port led to the one that the console listens at?",
            settings.domains.join(", ")
        );
    }
    let mut params =
        CertificateParams::new(settings.domains.clone()).context("the request cannot be made")?;
    params.distinguished_name = DistinguishedName::new();
    let key = KeyPair::generate().context("a key cannot be made")?;
    let request = params.serialize_request(&key).context("the request cannot be made")?;
    order.finalize_csr(request.der()).await.context("the request for the certificate is refused")?;
    let chain = order.poll_certificate(&POLLS).await.context("no certificate is issued")?;
    Ok(format!("{}{chain}", key.serialize_pem()))
}

/// The account that there is, or a new one.
async fn account(settings: &AcmeSettings, client: &Client, files: &Files) -> anyhow::Result<Account> {
    let builder = Account::builder_with_http(Box::new(client.clone()));
    if let Some(known) = files.account(&settings.directory) {
        return builder.from_credentials(known).await.context("the account cannot be used");
    }
    let contact: Vec<String> = settings.contact.iter().map(|mail| format!("mailto:{mail}")).collect();
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let made = builder.create(&new, settings.directory.clone(), None).await;
    let (account, credentials) = made.context("the account cannot be made")?;
    files.save_account(&credentials)?;
    Ok(account)
}

fn is_unknown_account(error: &Error) -> bool {
    let Error::Api(problem) = error else { return false };
    problem.r#type.as_deref() == Some("urn:ietf:params:acme:error:accountDoesNotExist")
}

/// Shows for each name that it is this console's.
async fn prove(order: &mut Order, served: &ServedCertificate) -> anyhow::Result<()> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.context("a name cannot be confirmed")?;
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            other => bail!("a name cannot be confirmed: its authorization is {other:?}"),
        }
        let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            bail!("the server does not confirm names by TLS-ALPN-01: choose another one");
        };
        let name = challenge.identifier().to_string();
        served.prove(&name, challenge.key_authorization().digest().as_ref())?;
        challenge.set_ready().await.with_context(|| format!("{name} cannot be confirmed"))?;
    }
    Ok(())
}

/// How long the server may take for names and for the certificate.
const POLLS: RetryPolicy = RetryPolicy::new().timeout(std::time::Duration::from_secs(120));
