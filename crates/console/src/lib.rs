//! The console: an HTTP API over the records, the recorded packets and the running daemon, and the page that
//! uses it.
//!
//! Not here: the command line, the daemon and its control socket (the program hands them in as [`Sources`]),
//! who people are and what they may do (`ringtap-access`), and what a search means (`ringtap-search`).
//!
//! The one invariant: nothing is answered to a request that was not checked against the rights and the scope
//! of whoever asks, and noted in the audit log first where it has to be.
//!
//! | module | holds |
//! |---|---|
//! | [`Sources`], [`Daemon`], [`Assistants`] | where answers come from |
//! | `server` | sockets, TLS, connections |
//! | [`Settings`] | where and how it is served |
//! | `guard`, `hosts` | foreign names and pages are refused |
//! | `viewer` | who asks, and what that person may see |
//! | `mask` | the key under which numbers are hidden |
//! | `checks` | whether the console can answer |
//! | `meter` | requests and how long they took, as metrics |
//! | `acme` | certificates from an ACME server, renewed in time |
//! | `validity` | until when a certificate is valid |
//! | `recent` | what the daemon said in the last minutes |
//! | `sites` | networks that have names |
//! | `views` | what the audit log knows of already |
//! | `warrants` | the register of warrants, and sessions of its officers and auditors |
//! | `work` | what blocks: how much at once, and when it stops |
//! | `routes` | the answers, a file for each subject |
//! | `live_calls` | the calls in progress, asked for once however many look |
//! | `listen` | calls in progress that are listened to |
//! | `summary` | what a result is made of |
//! | `request` | what a request carries |
//! | `document`, `openapi` | the description of the API |
//! | `page` | the files of the page |
//! | [`Problem`] | errors, RFC 9457 |
#![forbid(unsafe_code)]

#[cfg(feature = "acme")]
mod acme;
mod answer;
mod checks;
mod document;
mod find;
mod guard;
mod hosts;
mod listen;
mod live_calls;
mod mask;
mod meter;
mod openapi;
mod order;
mod own_site;
mod page;
mod problem;
mod recent;
mod request;
mod router;
mod routes;
mod server;
mod settings;
mod sites;
mod sound_cache;
mod sources;
mod state;
mod summary;
mod validity;
mod viewer;
mod views;
mod warrants;
mod work;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;

#[cfg(feature = "acme")]
pub use acme::AcmeSettings;
pub use document::openapi;
pub use problem::Problem;
pub use server::Security;
pub use settings::{Link, Settings};
pub use sites::sites_of;
pub use sources::{
    AssistantAnswer, Assistants, AssistedPerson, Daemon, OpenSpool, ProductOf, Refused, Sources,
    WarrantFunction, WarrantProduct, WarrantSniffer, Warrants,
};

/// Serves the console until `stop` says so, which is asked several times a second. `ready` is told the
/// address once connections are accepted.
///
/// # Errors
///
/// The people, the certificate or the address cannot be used.
pub fn serve(
    settings: Settings,
    sources: Sources,
    ready: impl FnOnce(SocketAddr),
    stop: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(BLOCKING)
        .thread_name("console")
        .enable_all()
        .build()
        .context("the console cannot start its threads")?;
    runtime.block_on(async {
        let listener = server::Listener::bind(settings.listen, &settings.security, &settings.hosts).await?;
        let app = state::App::open(&settings, sources, openapi(), listener.certificate())?;
        let open_files = app.open_files.clone();
        ready(listener.address()?);
        let stopped = async {
            while !stop() {
                open_files.close_old();
                tokio::time::sleep(ASK).await;
            }
        };
        listener.serve(router::routes(app), stopped).await;
        anyhow::Ok(())
    })?;
    // Who still reads an answer has had its moment. What still runs writes nothing but whole lines of the
    // audit log.
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(())
}

/// How often the program is asked whether to stop.
const ASK: Duration = Duration::from_millis(200);
/// Threads that serve connections: what takes time has threads of its own.
const THREADS: usize = 2;
/// Threads of what takes time: searches, one call's packets, questions to the daemon.
const BLOCKING: usize = 32;
