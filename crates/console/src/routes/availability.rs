//! Telephone services: their outages, failovers, and how available they were.

use axum::extract::State;
use ringtap_access::Right;
use ringtap_availability::{ServiceSummary, summaries};
use ringtap_model::{AffectedCall, Condition, Failover, Filter, Nanos, Outage, ServiceHour};
use ringtap_store::{Found, Query as Stored, Reader};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Answer;
use crate::openapi::records::{AffectedCallRecord, FailoverRecord, OutageRecord};
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::request::{Bounded, Query};
use crate::state::App;
use crate::viewer::Viewer;

/// Which services, and when.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// What began then or later, in microseconds since 1970.
    #[param(example = 1_795_000_000_000_000_u64)]
    #[serde(default, deserialize_with = "crate::request::int64")]
    from_us: Option<u64>,
    /// What began before then, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    until_us: Option<u64>,
    /// Only of this service: its address, with a port and a transport where one is meant.
    #[param(example = "192.0.2.1:5060/udp")]
    #[serde(default)]
    service: Option<String>,
}

/// Outages.
#[derive(Serialize, ToSchema)]
struct OutageList {
    /// The newest first.
    #[schema(value_type = Vec<OutageRecord>)]
    outages: Vec<Outage>,
    /// Whether these are all of that time; otherwise ask for those until the last of these.
    complete: bool,
}

/// Failovers.
#[derive(Serialize, ToSchema)]
struct FailoverList {
    /// The newest first.
    #[schema(value_type = Vec<FailoverRecord>)]
    failovers: Vec<Failover>,
    /// Whether these are all of that time; otherwise ask for those until the last of these.
    complete: bool,
}

/// Which calls of failovers, and how many.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedCalls {
    /// Of failovers that began then or later, in microseconds since 1970.
    #[param(example = 1_795_000_000_000_000_u64)]
    #[serde(default, deserialize_with = "crate::request::int64")]
    from_us: Option<u64>,
    /// Of failovers that began before then, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    until_us: Option<u64>,
    /// Only of the failover with this id.
    #[param(example = "0a0b0c0d0e0f00010203040506070809")]
    #[serde(default)]
    failover: Option<String>,
    /// Only those with this effect: `delayed`, `failed`, `cut`, `given_up` or `unknown`.
    #[param(example = "failed")]
    #[serde(default)]
    effect: Option<String>,
    /// So many are left out at the beginning: those of the pages before.
    #[serde(default, deserialize_with = "crate::request::int64")]
    skip: Option<u64>,
    /// Most calls of the page; 100 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, MOST>>,
}

/// Calls that failovers had an effect on.
#[derive(Serialize, ToSchema)]
struct AffectedCallList {
    /// Those of the first failover first; of one, in order of their first INVITE.
    #[schema(value_type = Vec<AffectedCallRecord>)]
    calls: Vec<AffectedCall>,
    /// Whether none follow; otherwise ask with `skip`.
    complete: bool,
}

/// How available services were.
#[derive(Serialize, ToSchema)]
struct ServiceList {
    /// In order of their first request.
    services: Vec<ServiceAvailability>,
    /// Whether these are all.
    complete: bool,
}

/// How available a service was.
#[derive(Serialize, ToSchema)]
struct ServiceAvailability {
    /// Address and port.
    service: String,
    /// Transport protocol.
    transport: String,
    /// `service`; `monitored` where it is asked by OPTIONS again and again.
    role: String,
    /// Its first request in that time, in microseconds since 1970.
    first_us: u64,
    /// The last request or answer, in microseconds since 1970.
    last_us: u64,
    /// Requests, without repeats and ACK.
    requests: u64,
    /// Of these, answered in any way.
    answered: u64,
    /// Of those, after the client had repeated the request.
    answered_late: u64,
    /// Never answered.
    unanswered: u64,
    /// Outages that ended.
    outages: u64,
    /// Time in which it is known whether it served, in milliseconds.
    observed_ms: f64,
    /// Time of which nothing is known, in milliseconds.
    unobserved_ms: f64,
    /// Time in which it served nobody, in milliseconds.
    down_ms: f64,
    /// Share of the observed time in which it served, in per cent; null where nothing was observed.
    availability_pct: Option<f64>,
}

/// Outages of services, the newest first
///
/// A service is an address, port and transport that SIP requests are sent to. Its outages are found where
/// `follow` of `[availability]` is true; those that began in the time that is given, and at most 1,000. One
/// whose `first_answer_us` is null goes on if its `last_us` is less than two minutes ago; otherwise its end
/// was not seen.
#[utoipa::path(
    get, path = "/availability/outages", operation_id = "list_outages", tag = "availability", params(Wanted),
    responses((status = 200, description = "Outages.", body = OutageList), Busy)
)]
pub(crate) async fn outages(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    let is_of = |wanted: &Wanted, outage: &Outage| {
        wanted.is_of(&format!("{}/{}", outage.service, outage.transport.name()))
    };
    let (outages, complete) =
        newest(&app, &viewer, wanted, |reader, query| reader.outages(query), is_of).await?;
    Ok(viewer.answer(&app, OutageList { outages, complete }))
}

/// Failovers, the newest first
///
/// Outages that began within ten seconds of each other, and what else was seen around them: the cause, where
/// packets tell it, and the evidence; what it did to calls, once `judged_until_us` is set. Those that began
/// in the time that is given, and at most 1,000.
#[utoipa::path(
    get, path = "/availability/failovers", operation_id = "list_failovers", tag = "availability",
    params(Wanted),
    responses((status = 200, description = "Failovers.", body = FailoverList), Busy)
)]
pub(crate) async fn failovers(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    let is_of =
        |wanted: &Wanted, failover: &Failover| failover.services.iter().any(|service| wanted.is_of(service));
    let read = |reader: &Reader, query: &Stored| reader.failovers(query);
    let (failovers, complete) = newest(&app, &viewer, wanted, read, is_of).await?;
    Ok(viewer.answer(&app, FailoverList { failovers, complete }))
}

/// Calls that failovers had an effect on
///
/// Those of failovers that began in the time that is given. What a failover did is known six minutes after
/// its end, or a quarter of an hour after its beginning if it goes on by then: from there on it has
/// `judged_until_us`, and its calls are here. A call without an effect had a gap in its media.
#[utoipa::path(
    get, path = "/availability/calls", operation_id = "list_affected_calls", tag = "availability",
    params(WantedCalls),
    responses((status = 200, description = "Calls.", body = AffectedCallList), Busy)
)]
pub(crate) async fn calls(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<WantedCalls>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("calls of failovers")?;
    let limit = wanted.limit.as_ref().map_or(100, |limit| limit.get());
    let reading = app.clone();
    let list = app
        .work
        .read(move |stop| {
            let Some(reader) = reading.records(stop)? else { return Ok((Vec::new(), true)) };
            let filter = Filter(time(wanted.from_us, wanted.until_us));
            let query = Stored { filter, limit: HOURS, newest: false };
            let found = reader.affected_calls(&query)?;
            let skip = usize::try_from(wanted.skip.unwrap_or(0)).unwrap_or(usize::MAX);
            let mut calls = found.records.into_iter().filter(|call| wanted.is_of(call)).skip(skip);
            let page: Vec<AffectedCall> = calls.by_ref().take(limit).collect();
            Ok((page, !found.cut && calls.next().is_none()))
        })
        .await?;
    let (calls, complete) = list;
    Ok(viewer.answer(&app, AffectedCallList { calls, complete }))
}

/// How available services were
///
/// Over the hours of which the time that is given has a part; without one, over all that are stored. Services
/// that never answered are not among them, nor are telephones.
#[utoipa::path(
    get, path = "/availability/services", operation_id = "list_services", tag = "availability",
    params(Wanted),
    responses((status = 200, description = "Services.", body = ServiceList), Busy)
)]
pub(crate) async fn services(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    let from_us = wanted.from_us.map(|from| from / HOUR_US * HOUR_US);
    let is_of = |wanted: &Wanted, hour: &ServiceHour| {
        wanted.is_of(&format!("{}/{}", hour.service, hour.transport.name()))
    };
    let wanted = Wanted { from_us, ..wanted };
    let (hours, complete) =
        read(&app, &viewer, wanted, |reader, query| reader.service_hours(query), is_of, HOURS).await?;
    let services = summaries(hours).into_iter().map(ServiceAvailability::from).collect();
    Ok(viewer.answer(&app, ServiceList { services, complete }))
}

/// The newest records, at most [`MOST`], and whether these are all.
async fn newest<R: Send + 'static>(
    app: &App,
    viewer: &Viewer,
    wanted: Wanted,
    read_records: fn(&Reader, &Stored) -> Result<Found<R>, ringtap_store::Error>,
    is_of: fn(&Wanted, &R) -> bool,
) -> Result<(Vec<R>, bool), Problem> {
    let (mut records, complete) = read(app, viewer, wanted, read_records, is_of, MOST).await?;
    records.reverse();
    Ok((records, complete))
}

/// The last records of a time, in its order, and whether these are all.
async fn read<R: Send + 'static>(
    app: &App,
    viewer: &Viewer,
    wanted: Wanted,
    read_records: fn(&Reader, &Stored) -> Result<Found<R>, ringtap_store::Error>,
    is_of: fn(&Wanted, &R) -> bool,
    most: usize,
) -> Result<(Vec<R>, bool), Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("outages of services")?;
    let reading = app.clone();
    app.work
        .read(move |stop| {
            let Some(reader) = reading.records(stop)? else { return Ok((Vec::new(), true)) };
            let conditions = time(wanted.from_us, wanted.until_us);
            let limit = if wanted.service.is_some() { HOURS } else { most };
            let query = Stored { filter: Filter(conditions), limit, newest: true };
            let found = read_records(&reader, &query)?;
            let mut records = found.records;
            records.retain(|record| is_of(&wanted, record));
            let left_out = records.len().saturating_sub(most);
            records.drain(..left_out);
            Ok((records, !found.cut && left_out == 0))
        })
        .await
}

fn time(from_us: Option<u64>, until_us: Option<u64>) -> Vec<Condition> {
    let from = from_us.map(|from| Condition::Since(Nanos::from_micros(from)));
    let until = until_us.map(|until| Condition::Until(Nanos::from_micros(until)));
    from.into_iter().chain(until).collect()
}

impl WantedCalls {
    fn is_of(&self, call: &AffectedCall) -> bool {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        given(&self.failover).is_none_or(|id| id == call.failover.to_string())
            && given(&self.effect).is_none_or(|effect| call.effect.as_deref() == Some(effect.as_str()))
    }
}

impl Wanted {
    /// Whether a service, `192.0.2.1:5060/udp`, or an address is meant.
    fn is_of(&self, service: &str) -> bool {
        let Some(wanted) = self.service.as_deref().filter(|wanted| !wanted.is_empty()) else { return true };
        let (endpoint, _) = service.split_once('/').unwrap_or((service, ""));
        let address = endpoint.parse::<ringtap_model::Endpoint>().map(|endpoint| endpoint.ip.to_string());
        wanted == service || wanted == endpoint || address.is_ok_and(|address| wanted == address)
    }
}

impl From<ServiceSummary> for ServiceAvailability {
    fn from(summary: ServiceSummary) -> Self {
        Self {
            service: summary.service.to_string(),
            transport: summary.transport.name().to_owned(),
            role: summary.role.name().to_owned(),
            first_us: summary.first.micros(),
            last_us: summary.last.micros(),
            requests: summary.requests,
            answered: summary.answered,
            answered_late: summary.answered_late,
            unanswered: summary.unanswered,
            outages: summary.outages,
            observed_ms: summary.observed.millis_f64(),
            unobserved_ms: summary.unobserved.millis_f64(),
            down_ms: summary.down.millis_f64(),
            availability_pct: summary.availability_pct,
        }
    }
}

/// Records in an answer.
const MOST: usize = 1_000;
/// Hours of services, and records among which those of one service are looked for.
const HOURS: usize = 200_000;
const HOUR_US: u64 = 3_600_000_000;
