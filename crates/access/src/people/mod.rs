//! People, their passwords, second factors, passkeys, sessions, tokens and saved searches.
//!
//! All of it is in the file `people.sqlite`, which several processes may use: what the command line changes
//! holds for the next request of the console. Passwords are hashed by argon2id, ids of sessions and tokens
//! by SHA-256; they are random, so that no slow hash is needed. Secrets of second factors are stored as they
//! are: the file has to be kept from others.

mod accounts;
mod database;
mod lockout;
mod login;
mod passkey_login;
mod passkeys;
mod password;
mod person;
mod provider_login;
mod qr;
mod recovery;
mod searches;
mod second_factor;
mod secret_text;
mod sessions;
mod settings;
mod store;
mod tokens;
mod totp;

pub use login::{Attempt, LoggedIn};
pub use passkey_login::PasskeyAttempt;
pub use passkeys::{NewPasskey, Passkey, PasskeyRequest};
pub use person::{Credential, Identity, NewPerson, Person};
pub use provider_login::{ProviderAttempt, Vouched};
pub use recovery::RecoveryCodes;
pub use searches::{NewSearch, SavedSearch};
pub use sessions::Session;
pub use settings::{LocalLogins, PasswordCost, Settings};
pub use store::People;
pub use tokens::{NewToken, Token};
pub use totp::TotpSecret;
