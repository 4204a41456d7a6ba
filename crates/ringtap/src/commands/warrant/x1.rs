//! `ringtap warrant x1`: tasks from administration functions.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::{FunctionFigures, ProductReport};
use ringtap_model::Nanos;
use ringtap_report::time;
use ringtap_warrant::{Liid, Register};
use ringtap_x1::{Credentials, DeliveryFigures, Figures, Function, NetworkElement, TaskFigures};

use super::register_args::RegisterArgs;
use crate::exit::{Exit, Misuse};
use crate::interrupt;
use crate::screen::Screen;

/// Serve X1: take tasks from administration functions over HTTPS (ETSI TS 103 221-1)
///
/// An ADMF that two officers have registered (`ringtap warrant admf`) provisions warrants with requests in
/// XML to `https://ADDRESS:PORT/X1/NE`, by its client certificate. A task is a draft until an officer
/// approves it (`ringtap warrant approve`), unless the two officers have registered that the ADMF activates.
/// It needs no officer at its start, and runs in a process of its own: nobody else sees what is provisioned.
/// See docs/manual/x1.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct X1 {
    /// Address and port to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8444")]
    listen: SocketAddr,
    /// The neIdentifier of this network element
    #[arg(long, value_name = "NAME")]
    ne: String,
    /// Our certificate chain, in PEM
    #[arg(long, value_name = "FILE")]
    tls_certificate: PathBuf,
    /// Its key, in PEM
    #[arg(long, value_name = "FILE")]
    tls_key: PathBuf,
    /// Who vouches for the certificates of ADMFs, in PEM
    #[arg(long, value_name = "FILE")]
    authorities: PathBuf,
    /// Mediation functions that a destination may name: the file of `[intercept] deliver`
    #[arg(long, value_name = "FILE")]
    deliver: PathBuf,
    /// Directory of the product of `ringtap run`: its `[intercept] product`
    #[arg(long, value_name = "DIR")]
    product: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant x1 --ne tap-1 --listen 192.0.2.10:8444 --tls-certificate x1.pem --tls-key x1.key \\
      --authorities admf-ca.pem --deliver /etc/ringtap/functions.toml
  curl --cert admf.pem --key admf.key --cacert ca.pem --data-binary @ping.xml \\
      -H 'Content-Type: text/xml' https://tap-1.example.org:8444/X1/NE";

impl X1 {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let is_name = |c: char| c.is_ascii_graphic();
        if self.ne.is_empty() || self.ne.len() > 64 || !self.ne.chars().all(is_name) {
            return Err(Misuse("`--ne` is 1 to 64 printable characters without spaces".to_owned()).into());
        }
        // Before privileges are dropped, with which they may not be readable.
        let key = args.key()?;
        let functions = ringtap_daemon::functions::read_functions(&self.deliver).context("--deliver")?;
        let functions = functions.into_iter().map(|function| Function {
            agency: function.name,
            hi2: function.hi2.map(|peer| peer.address),
            hi3: function.hi3.map(|peer| peer.address),
        });
        let credentials = Credentials::read(&self.tls_certificate, &self.tls_key, &self.authorities)?;
        args.become_owner()?;
        let figures = Box::new(ProductFigures { product: self.product });
        let element = NetworkElement::new(self.ne, functions.collect(), figures);
        // What is wrong with it is said now, and not to the first who asks.
        Register::open(args.dir(), &key)?;
        ringtap_daemon::log_to_stderr();
        let ready = |address: SocketAddr| {
            screen.remark(format!("X1 is at https://{address}/X1/NE"));
        };
        ringtap_x1::serve(
            self.listen,
            credentials,
            element,
            (args.dir().to_owned(), key),
            ready,
            interrupt::asked,
        )?;
        Ok(Exit::Done)
    }
}

/// What `ringtap run` leaves in the directory of product.
struct ProductFigures {
    product: Option<PathBuf>,
}

impl ProductFigures {
    fn report(&self) -> Option<ProductReport> {
        ProductReport::read(self.product.as_deref()?).ok().flatten()
    }
}

impl Figures for ProductFigures {
    fn task(&self, liid: &Liid) -> TaskFigures {
        let Some(report) = self.report() else { return TaskFigures::default() };
        let text = liid.text();
        let Some(order) = report.orders.iter().find(|order| order.liid == *text) else {
            return TaskFigures::default();
        };
        let missing = [
            (order.lost, "frames of anybody were lost: some of the task may be missing"),
            (order.unwritten, "PDUs could not be written"),
            (order.undelivered, "PDUs were not delivered, since the buffer was full"),
            (order.dropped, "sessions and calls could not be followed: too many at once"),
        ];
        let told = missing.iter().filter(|(count, _)| *count > 0);
        let mut missing: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
        missing.extend(order.not_delivered.iter().map(|_| "nothing is delivered".to_owned()));
        TaskFigures { content_octets: Some(order.octets), missing }
    }

    fn delivery(&self, agency: &str) -> DeliveryFigures {
        let functions = self.report().map(|report| report.functions).unwrap_or_default();
        let of = |interface: &str| {
            let name = format!("{agency} {interface}");
            let is_its = |function: &&FunctionFigures| function.name.eq_ignore_ascii_case(&name);
            functions.iter().find(is_its).map(|function| function.is_connected)
        };
        DeliveryFigures { hi2: of("hi2"), hi3: of("hi3") }
    }

    fn faults(&self) -> Vec<String> {
        if self.product.is_none() {
            return Vec::new();
        }
        let Some(report) = self.report() else {
            return vec!["whoever intercepts has never told how it goes".to_owned()];
        };
        let silent = time::now().since(Nanos::from_micros(report.at_us));
        let mut faults = Vec::new();
        if silent > SILENT {
            faults.push(format!("interception has told nothing for {} s", silent.0 / 1_000_000_000));
        }
        if !report.register_usable {
            faults.push("interception cannot use the register".to_owned());
        }
        faults
    }
}

/// It tells each second.
const SILENT: Nanos = Nanos::from_secs(10);
