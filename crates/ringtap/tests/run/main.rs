//! The daemon, run as an operator runs it: replays, signals, kills, and live on an interface of its own.
//!
//! | module | holds |
//! |---|---|
//! | `alarms` | alarms raised, cleared, known, silenced, and found again in the past |
//! | `asked` | its state and the calls in progress, as it answers |
//! | `assisted` | an assistant asks over the console |
//! | `carried` | out of the spool, whatever carried it |
//! | `checked` | what `run --check` prints, and how it ends |
//! | `console` | a console of its own, and people of several roles |
//! | `daemon` | a running ringtap, and what it left |
//! | `disk` | a small disk |
//! | `far` | segments that move to a bucket |
//! | `guarded` | who may reach the daemon, and who may read what it writes |
//! | `heard` | a call in progress, listened to through the console |
//! | `hooks` | calls that commands and servers are given |
//! | `intercepted` | product of warrants in force, in replays and on a wire, and that nothing else shows it |
//! | `interrupted` | calls that a kill cut off: recorded, held, exported, forgotten |
//! | `kept` | rules on a wire, by one worker and by two: who is kept, pauses, digits that nobody may read |
//! | `metrics` | metrics for other machines |
//! | `moto` | a server that speaks S3 |
//! | `network` | the process that speaks to the bucket |
//! | `notices` | who is told of alarms |
//! | `mediation`, `officers` | product where it arrives; a register, and who enters and approves warrants |
//! | `processes` | what each process of the daemon holds, and what it may do |
//! | `product` | interception product, and that nothing else shows it |
//! | `replayed` | from files: like `analyze`, stopped, killed, configured wrongly |
//! | `radsec_link` | a connection of RADIUS over TLS |
//! | `remote` | a probe, a sniffer that it tells whose packets are whose, and kills of both |
//! | `restarted` | calls in progress while the daemon is stopped, or killed, and started again |
//! | `retained` | clocks that run out, calls on hold, a disk that is full |
//! | `ruled` | rules that are changed over the API, by whom, and what a kill leaves of them |
//! | `rules` | what is kept by rules, and what is not there |
//! | `small` | the memory of the small profile |
//! | `talk` | calls written by hand |
//! | `wire` | on a veth pair in a network namespace: calls, loss counted to the packet, a disk that is full |

mod alarms;
mod asked;
mod assisted;
mod availability;
mod carried;
mod checked;
mod console;
mod daemon;
mod disk;
#[cfg(feature = "s3")]
mod failover_capture;
mod far;
mod guarded;
mod heard;
#[cfg(feature = "network")]
mod hooks;
mod intercepted;
mod interrupted;
mod kept;
mod lost;
#[path = "../mediation/mod.rs"]
mod mediation;
#[cfg(feature = "tls")]
mod metrics;
#[path = "../../../bucket/tests/moto/mod.rs"]
mod moto;
#[cfg(feature = "s3")]
mod network;
#[cfg(feature = "network")]
mod notices;
mod officers;
mod processes;
mod product;
#[path = "../../../identity/tests/radsec_link/mod.rs"]
mod radsec_link;
mod remote;
mod replayed;
mod restarted;
mod retained;
mod ruled;
mod rules;
mod sealed;
mod small;
mod subscribers;
mod talk;
mod wire;
