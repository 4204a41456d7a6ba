//! The socket for commands to the running program. Whoever may write to it decides what is recorded.
//!
//! One line of JSON each way: `{"do":"pause","call":"4f2a19@192.0.2.1"}`, and `{"ok":true,"told":"paused"}`.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use ringtap_model::{Endpoint, Nanos};
use ringtap_recorder::listening::ListenedStream;
use ringtap_recorder::policy::{CallCommand, Listened, SharedPolicy};
use ringtap_spool::Hold;
use ringtap_spool::rules::RecordingScope;
use rustix::net::sockopt::socket_peercred;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::alarm_handle::Ask;
use crate::clock_watch::{ClockWatch, shown};
use crate::connections::{self, Bounded, Peer, TIMEOUT};
use crate::retention_report::RetentionReport;
use crate::rule_book::RuleBook;
use crate::shared_status::SharedStatus;
use crate::status_report::StatusReport;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Records this much of the call from now on.
    Keep {
        /// Its Call-ID.
        call: String,
        /// A value of `keep` in the configuration.
        what: String,
    },
    /// Pauses the recording of its media.
    Pause {
        /// Its Call-ID.
        call: String,
    },
    /// Resumes it.
    Resume {
        /// Its Call-ID.
        call: String,
    },
    /// Holds it for a case once it has ended.
    Hold {
        /// Its Call-ID.
        call: String,
        /// The case.
        case: String,
        /// Whether its interception product is held.
        product: bool,
    },
    /// Writes the media of calls soon, for 15 s: somebody listens. Answered by a [`ListenAnswer`] for each,
    /// in their order, as JSON.
    Listen {
        /// Their Call-IDs.
        calls: Vec<String>,
    },
    /// The rules in effect but those that intercept, and how many calls each has decided.
    Rules,
    /// The same as a [`RuleReport`] in JSON.
    Decisions,
    /// Replaces all rules but those that intercept. Answered by a [`RuleOutcome`](crate::RuleOutcome) as
    /// JSON.
    #[serde(rename = "set_rules")]
    SetRules {
        /// The version of those that are replaced, as [`Decisions`](Self::Decisions) told it.
        version: String,
        /// Each with the keys of `[[keep]]`.
        rules: Vec<Map<String, Value>>,
        /// Only says whether that is possible.
        trial: bool,
    },
    /// What is kept, and for how long: a [`RetentionReport`] as JSON.
    Retention,
    /// The state of the daemon: a [`StatusReport`] as JSON.
    Status,
    /// Calls in progress: a [`CallList`](crate::live_calls::CallList) as JSON.
    Calls {
        /// At most so many, and never more than [`MOST_CALLS`].
        most: usize,
    },
    /// Standing alarms, as JSON lines.
    Alarms,
    /// Marks a standing alarm as known.
    Acknowledge {
        /// Its id, or the first digits of it.
        id: String,
        /// Who knows of it.
        by: String,
        /// What is done about it.
        comment: String,
    },
    /// Tells nobody of some alarms for a while.
    Silence {
        /// Names of rules, `*` standing for any text.
        rule: String,
        /// Subjects, likewise.
        subject: String,
        /// For how long.
        seconds: u64,
        /// Who says so.
        by: String,
        /// Why.
        comment: String,
    },
    /// Ends the silences of these patterns.
    Unsilence {
        /// As the silence has it.
        rule: String,
        /// As the silence has it.
        subject: String,
    },
    /// What is silent, a line each.
    Silences,
    /// Whether the system clock is trusted.
    Clock {
        /// Trusts it from now on.
        confirm: bool,
    },
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) told: String,
}

/// What becomes of listening to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenAnswer {
    /// It can be heard.
    Heard(ListenedCall),
    /// There is no such call any more.
    Ended,
    /// It cannot be heard: why.
    Refused(String),
}

/// What of a call in progress can be heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenedCall {
    /// `recorded`; `paused`: silence; `pending`: nothing until its rule is decided.
    pub state: String,
    /// Its streams that were seen since somebody listens.
    pub streams: Vec<HeardStream>,
}

/// A stream of a call that somebody listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeardStream {
    /// Who sends it.
    pub src: Endpoint,
    /// To whom.
    pub dst: Endpoint,
    /// Its SSRC.
    pub ssrc: u32,
    /// The RTP payload type of its first packet.
    pub payload_type: u8,
}

impl ListenAnswer {
    fn of(listened: Listened) -> Self {
        let stream = |stream: ListenedStream| {
            let ListenedStream { src, dst, ssrc, payload_type } = stream;
            HeardStream { src, dst, ssrc, payload_type }
        };
        match listened {
            Listened::Heard(state, streams) => Self::Heard(ListenedCall {
                state: state.name().to_owned(),
                streams: streams.into_iter().map(stream).collect(),
            }),
            Listened::Ended => Self::Ended,
            Listened::Refused(why) => Self::Refused(why),
        }
    }
}

/// Listens, once privileges are dropped and before there is a second thread. A socket left by a previous run
/// is removed.
///
/// Root would follow a link that somebody put at the path between two steps; the daemon's user cannot reach
/// more than its own files there.
pub(crate) fn listen(path: &Path) -> anyhow::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        bail!(
            "[process] control: another program listens at {}: stop it, or set another path",
            path.display()
        );
    }
    let is_socket = |meta: fs::Metadata| {
        use std::os::unix::fs::FileTypeExt;
        meta.file_type().is_socket()
    };
    if fs::symlink_metadata(path).is_ok_and(is_socket) {
        fs::remove_file(path)
            .with_context(|| format!("[process] control: cannot replace {}", path.display()))?;
    }
    // The socket has its mode from the moment when it exists. The umask is the process's, not the thread's.
    let before = umask(Mode::from_bits_truncate(0o117));
    let listener = UnixListener::bind(path);
    umask(before);
    listener.with_context(|| {
        format!(
            "[process] control: cannot listen at {}: set a path in a directory that the program's user may \
            write to",
            path.display()
        )
    })
}

/// What commands act on.
#[derive(Clone, Debug)]
pub(crate) struct ControlContext {
    pub(crate) shared_policy: Arc<SharedPolicy>,
    pub(crate) rule_book: Arc<RuleBook>,
    /// The spool's directory.
    pub(crate) spool: PathBuf,
}

/// Serves commands for as long as the process lives. Without a context, nothing is recorded.
pub(crate) fn serve(
    listener: UnixListener,
    context: Option<ControlContext>,
    clock: Arc<ClockWatch>,
    shared_status: Arc<SharedStatus>,
) -> io::Result<()> {
    let accept = |listener: &UnixListener| {
        let (connection, _) = listener.accept()?;
        let peer = peer(&connection)?;
        Ok((connection, peer))
    };
    let serve = move |bounded: &mut Bounded<'_, UnixStream>, connection: &UnixStream, peer: &Peer| {
        let process = socket_peercred(connection).map_or(0, |peer| peer.pid.as_raw_nonzero().get());
        let from = format!("{}, process {process}", peer.name);
        serve_connection(bounded, &from, context.as_ref(), (&clock, &shared_status))
    };
    let refuse = |mut connection: &UnixStream| {
        let told = "too many connections of this user: wait 5 s, and try again".to_owned();
        let _ = reply(&mut connection, &Answer { ok: false, told });
    };
    connections::serve("control", listener, accept, serve, refuse)
}

/// Who connected, as the kernel noted then. The mode of the socket lets in nobody else.
fn peer(connection: &UnixStream) -> io::Result<Peer> {
    let uid = socket_peercred(connection)?.uid;
    let is_trusted = uid.is_root() || uid.as_raw() == geteuid().as_raw();
    Ok(Peer { name: format!("user {}", uid.as_raw()), is_trusted })
}

/// Reads one line and answers it. `from` names the client in log lines.
fn serve_connection(
    connection: &mut (impl Read + Write),
    from: &str,
    context: Option<&ControlContext>,
    (clock, shared_status): (&ClockWatch, &SharedStatus),
) -> io::Result<()> {
    let line = read_line(connection)?;
    let (what, answer) = match (serde_json::from_slice::<Request>(&line), context) {
        (Err(error), _) => (None, Err(anyhow::anyhow!("cannot read the request: {error}"))),
        (Ok(request @ Request::Clock { confirm }), _) => (request.shown(), Ok(clock_state(clock, confirm))),
        (Ok(Request::Status), _) => {
            (None, serde_json::to_string(&StatusReport::of(shared_status)).map_err(Into::into))
        }
        (Ok(Request::Retention), _) => {
            (None, serde_json::to_string(&RetentionReport::of(shared_status)).map_err(Into::into))
        }
        (Ok(Request::Calls { most }), _) => {
            let calls = shared_status.calls_in_progress(most.min(MOST_CALLS));
            (None, calls.and_then(|calls| Ok(serde_json::to_string(&calls)?)))
        }
        (
            Ok(
                request @ (Request::Alarms
                | Request::Acknowledge { .. }
                | Request::Silence { .. }
                | Request::Unsilence { .. }
                | Request::Silences),
            ),
            _,
        ) => (request.shown(), alarms(&request, from, shared_status)),
        (Ok(request), context) => {
            let answer = |context| answer(&request, context);
            let none = || Err(anyhow::anyhow!("no packets are recorded: set [spool] directory"));
            (request.shown(), context.map_or_else(none, answer))
        }
    };
    let answer = match answer {
        Ok(told) => Answer { ok: true, told },
        Err(error) => Answer { ok: false, told: format!("{error:#}") },
    };
    match (what, answer.ok) {
        (None, _) => log::debug!(target: "control", "a request by {from}"),
        (Some(what), true) => log::info!(target: "control", "{what} by {from}"),
        (Some(what), false) => log::warn!(target: "control", "{what} by {from} refused: {}", answer.told),
    }
    reply(connection, &answer)
}

/// The bytes up to a line feed, the end, or the longest request.
fn read_line(connection: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut line, mut buffer) = (Vec::new(), [0; 4096]);
    while line.len() < REQUEST {
        let read = connection.read(&mut buffer)?;
        line.extend(&buffer[..read]);
        if read == 0 || buffer[..read].contains(&b'\n') {
            break;
        }
    }
    Ok(line)
}

fn reply(connection: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_string(answer)?;
    line.push('\n');
    connection.write_all(line.as_bytes())
}

impl Request {
    /// In the log. None: it changes nothing, or who reads the log must not learn what is intercepted.
    fn shown(&self) -> Option<String> {
        match self {
            Self::Keep { call, what } => Some(format!("keep {what} of {call}")),
            Self::SetRules { rules, trial: false, .. } => {
                Some(format!("set {} recording rules", rules.len()))
            }
            Self::Pause { call } => Some(format!("pause {call}")),
            Self::Resume { call } => Some(format!("resume {call}")),
            Self::Hold { call, case, product: false } => Some(format!("hold {call} for {case}")),
            Self::Clock { confirm: true } => Some("confirm the clock".to_owned()),
            Self::Acknowledge { id, .. } => Some(format!("acknowledge {id}")),
            Self::Silence { rule, subject, .. } => Some(format!("silence {rule} of {subject}")),
            Self::Unsilence { rule, subject } => Some(format!("end the silence of {rule} of {subject}")),
            Self::Hold { product: true, .. }
            | Self::Listen { .. }
            | Self::SetRules { trial: true, .. }
            | Self::Rules
            | Self::Decisions
            | Self::Retention
            | Self::Status
            | Self::Calls { .. }
            | Self::Alarms
            | Self::Silences
            | Self::Clock { confirm: false } => None,
        }
    }
}

fn answer(request: &Request, context: &ControlContext) -> anyhow::Result<String> {
    let shared_policy = &context.shared_policy;
    let (call, act) = match request {
        Request::Rules => {
            let policy = shared_policy.policy().0;
            return Ok(policy.lines().join("\n"));
        }
        Request::Decisions => {
            return Ok(serde_json::to_string(&context.rule_book.report(shared_policy))?);
        }
        Request::SetRules { version, rules, trial } => {
            let outcome = context.rule_book.change(shared_policy, version, rules, *trial)?;
            return Ok(serde_json::to_string(&outcome)?);
        }
        Request::Keep { call, what } => (call, CallCommand::Keep(what.parse::<RecordingScope>()?)),
        Request::Listen { calls } => {
            let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
            let answers: Vec<_> = shared_policy.listen(&calls)?.into_iter().map(ListenAnswer::of).collect();
            return Ok(serde_json::to_string(&answers)?);
        }
        Request::Hold { call, case, product } => return hold(context, call, case, *product),
        Request::Clock { .. }
        | Request::Status
        | Request::Retention
        | Request::Calls { .. }
        | Request::Alarms
        | Request::Acknowledge { .. }
        | Request::Silence { .. }
        | Request::Unsilence { .. }
        | Request::Silences => {
            bail!("it is no command about recordings")
        }
        Request::Pause { call } => (call, CallCommand::Pause),
        Request::Resume { call } => (call, CallCommand::Resume),
    };
    match shared_policy.command(call, act)? {
        Some(told) => Ok(told),
        None => bail!("no call in progress has the Call-ID `{call}`"),
    }
}

/// What is asked of the alarms, by whom as the kernel and they themselves say.
fn alarms(request: &Request, from: &str, shared_status: &SharedStatus) -> anyhow::Result<String> {
    let Some(alarms) = shared_status.alarms.get() else {
        bail!("no alarms are configured: add [[alarm]], or `patterns` in [alarms]")
    };
    let named = |by: &String| if by.is_empty() { from.to_owned() } else { format!("{by} ({from})") };
    alarms.ask(match request {
        Request::Acknowledge { id, by, comment } => {
            Ask::Acknowledge { id: id.clone(), by: named(by), comment: comment.clone() }
        }
        Request::Silence { rule, subject, seconds, by, comment } => Ask::Silence {
            rule: rule.clone(),
            subject: subject.clone(),
            length: Nanos::from_secs(*seconds),
            by: named(by),
            comment: comment.clone(),
        },
        Request::Unsilence { rule, subject } => {
            Ask::Unsilence { rule: rule.clone(), subject: subject.clone() }
        }
        Request::Silences => Ask::Silences,
        _ => Ask::Standing,
    })
}

/// Whether the clock is trusted, before it is confirmed.
fn clock_state(clock: &ClockWatch, confirm: bool) -> String {
    match (clock.look().step, confirm) {
        (None, _) => "the clock is trusted: what is old is deleted".to_owned(),
        (Some(step), false) => format!(
            "the clock has stepped {}: nothing is deleted by age until it returns; if it is right, add \
             `--confirm`",
            shown(step)
        ),
        (Some(_), true) => match clock.confirm() {
            Some(step) => format!("a step {} is confirmed: what is old is deleted again", shown(step)),
            None => "the clock has returned meanwhile: what is old is deleted".to_owned(),
        },
    }
}

/// Holds a call in progress; what to hold is known when it has ended.
fn hold(context: &ControlContext, call: &str, case: &str, product: bool) -> anyhow::Result<String> {
    let Some(at) = context.shared_policy.command(call, CallCommand::Time)? else {
        bail!("no call in progress has the Call-ID `{call}`");
    };
    // The time of its packets: in a replay, it is not the time of day.
    let at = Nanos(at.parse().context("cannot read the time that a worker reported")?);
    Hold::of_call_under_way(case, call, at, ringtap_report::time::now(), product).save(&context.spool)?;
    if !product {
        log::info!(target: "spool", "call {call}: will be held for {case} when it ends, by command");
    }
    Ok(format!("{call} is in progress: it will be held for {case} when it ends"))
}

/// Sends a request to the running program.
///
/// # Errors
///
/// No program listens there, or it refuses the request ([`Refused`]).
pub fn ask(path: &Path, request: &Request) -> anyhow::Result<String> {
    let reach = || {
        format!(
            "cannot reach ringtap at {}: is it running, does [process] control of its configuration name \
            this \
             path, and may you write to it?",
            path.display()
        )
    };
    let mut connection = UnixStream::connect(path).with_context(reach)?;
    connection.set_read_timeout(Some(2 * TIMEOUT)).with_context(reach)?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    connection.write_all(line.as_bytes()).with_context(reach)?;
    let mut told = String::new();
    connection.take(ANSWER).read_to_string(&mut told).with_context(reach)?;
    let answer: Answer =
        serde_json::from_str(&told).context("ringtap ended before it answered: is it still running?")?;
    if answer.ok { Ok(answer.told) } else { Err(Refused(answer.told).into()) }
}

/// The running program was reached, and refuses a request: the error of [`ask`] is one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Most calls in progress that are listed: a worker lists a thousand in some 30 ms, while its ring fills.
pub const MOST_CALLS: usize = 1_000;
/// Longest request and longest answer, in bytes. A call with its streams has some kilobytes; the longest
/// request has all recording rules.
const REQUEST: usize = 256 << 10;
const ANSWER: u64 = 64 << 20;
