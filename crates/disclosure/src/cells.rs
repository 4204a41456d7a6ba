//! Rows as cells of CSV. A list becomes the words of one cell; names are escaped as everywhere in CSV, since
//! whoever called has chosen them.

use std::io::{self, Write};

use ringtap_model::{Endpoint, Nanos};
use ringtap_report::text::shown;
use ringtap_report::{csv, time};

use crate::access_row::{AccessRow, HeldNetwork};
use crate::call_row::{CallRow, End};
use crate::holder::AddressHolder;

pub(crate) const CALLS: [&str; 37] = [
    "id",
    "found_by",
    "calling_user",
    "calling_host",
    "calling_identity",
    "dialled_user",
    "dialled_host",
    "called_user",
    "called_host",
    "routed_to",
    "begin",
    "answer",
    "end",
    "service",
    "transport",
    "media",
    "outcome",
    "final_code",
    "cause",
    "caller_address",
    "caller_media",
    "caller_subscriber",
    "caller_station",
    "caller_line",
    "caller_imsi",
    "caller_imei",
    "caller_held",
    "caller_source",
    "callee_address",
    "callee_media",
    "callee_subscriber",
    "callee_station",
    "callee_line",
    "callee_imsi",
    "callee_imei",
    "callee_held",
    "callee_source",
];

pub(crate) const ACCESSES: [&str; 25] = [
    "id",
    "found_by",
    "source",
    "log_in",
    "begun_by",
    "log_off",
    "end_cause",
    "user",
    "station",
    "called_station",
    "subscriber",
    "client_id",
    "nas",
    "nas_identifier",
    "nas_port",
    "nas_port_id",
    "circuit",
    "remote",
    "imsi",
    "imei",
    "address",
    "first_port",
    "last_port",
    "address_from",
    "address_until",
];

/// Writes a line of a call.
pub(crate) fn call(out: &mut dyn Write, row: &CallRow) -> io::Result<()> {
    let mut cells = vec![
        row.id.to_string(),
        row.found_by.join(" "),
        text(&row.calling_user),
        text(&row.calling_host),
        text(&row.calling_identity),
        text(&row.dialled_user),
        text(&row.dialled_host),
        text(&row.called_user),
        text(&row.called_host),
        words(row.routed_to.iter().map(String::as_str)),
        time::stamped(row.begin),
        moment(row.answer),
        moment(row.end),
        row.service.name().to_owned(),
        row.transport.name().to_owned(),
        words(row.media.iter().map(String::as_str)),
        row.outcome.name().to_owned(),
        row.final_code.to_string(),
        number(row.cause),
    ];
    cells.extend(end(&row.caller));
    cells.extend(end(&row.callee));
    csv::row(out, cells.iter())
}

fn end(end: &End) -> [String; 9] {
    let each = |cell: &dyn Fn(&AddressHolder) -> String| {
        let mut cells: Vec<String> = Vec::new();
        for cell in end.holders.iter().map(cell).filter(|cell| !cell.is_empty()) {
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells.join("; ")
    };
    [
        end.address.to_string(),
        endpoints(&end.media),
        each(&|holder| either([&holder.user, &holder.subscriber, &holder.remote])),
        each(&|holder| text(&holder.station)),
        each(&line),
        each(&|holder| text(&holder.imsi)),
        each(&|holder| text(&holder.imeisv)),
        each(&held),
        each(&|holder| holder.source.map_or(String::new(), |source| source.name().to_owned())),
    ]
}

/// The first that is known.
fn either(names: [&Option<String>; 3]) -> String {
    names.into_iter().find(|name| name.is_some()).map_or(String::new(), text)
}

/// Where the subscriber is connected.
fn line(holder: &AddressHolder) -> String {
    let port = holder.nas_port.map(|port| format!("port {port}"));
    let all =
        [Some(text(&Some(holder.nas.clone()))), port, holder.nas_port_id.clone(), holder.circuit.clone()];
    words(all.iter().flatten().map(String::as_str))
}

/// Which address was the subscriber's from when until when.
fn held(holder: &AddressHolder) -> String {
    let AddressHolder { network, first_port, last_port, from, until, .. } = holder;
    let ports = first_port.zip(*last_port).map(|(first, last)| format!(" ports {first}-{last}"));
    let until = until.map(|until| format!(" until {}", time::stamped(until)));
    let (ports, until) = (ports.unwrap_or_default(), until.unwrap_or_default());
    format!("{}{ports} from {}{until}", shown(network), time::stamped(*from))
}

/// Writes the lines of a session: one for each address that it had, one if it had none.
pub(crate) fn access(out: &mut dyn Write, row: &AccessRow) -> io::Result<()> {
    let cells = [
        row.id.to_string(),
        row.found_by.join(" "),
        row.source.map_or(String::new(), |source| source.name().to_owned()),
        time::stamped(row.log_in),
        row.begun_by.name().to_owned(),
        moment(row.log_off),
        row.end_cause.map_or(String::new(), |cause| cause.name().to_owned()),
        text(&row.user),
        text(&row.station),
        text(&row.called_station),
        text(&row.subscriber),
        text(&row.client_id),
        shown(&row.nas).into_owned(),
        text(&row.nas_identifier),
        number(row.nas_port),
        text(&row.nas_port_id),
        text(&row.circuit),
        text(&row.remote),
        text(&row.imsi),
        text(&row.imeisv),
    ];
    if row.addresses.is_empty() {
        let none = std::iter::repeat_n(String::new(), 5);
        return csv::row(out, cells.iter().cloned().chain(none));
    }
    row.addresses.iter().try_for_each(|held| {
        let HeldNetwork { network, first_port, last_port, from, until } = held;
        let address = [
            shown(network).into_owned(),
            number(*first_port),
            number(*last_port),
            time::stamped(*from),
            moment(*until),
        ];
        csv::row(out, cells.iter().cloned().chain(address))
    })
}

fn text(text: &Option<String>) -> String {
    text.as_ref().map_or(String::new(), |text| shown(text).into_owned())
}

fn words<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(|text| shown(text).into_owned()).collect::<Vec<_>>().join(" ")
}

fn endpoints(ends: &[Endpoint]) -> String {
    ends.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn moment(time: Option<Nanos>) -> String {
    time.map_or(String::new(), time::stamped)
}

fn number<N: ToString>(number: Option<N>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}
