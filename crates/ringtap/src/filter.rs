//! The filters of the command line.

use clap::Args;
use ringtap_model::filter::{CodeRange, CodecName, DurationRange, NumberPattern, Pattern, Words};
use ringtap_model::{CallState, Condition, Filter, Id, Network, NoteCode};
use ringtap_report::time::Moment;

use crate::exit::Misuse;

/// The filters of all commands that search records. A record passes if it satisfies all that are given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters (quote `*`, `<` and `>`; see docs/manual/search.md)")]
pub(crate) struct FilterArgs {
    /// Either party: `*0138` are the last digits, `+44*` the first. Separators and a leading + or 00 make no
    /// difference
    #[arg(long, value_name = "NUMBER")]
    number: Option<NumberPattern>,
    /// Caller: From's user or P-Asserted-Identity; as --number
    #[arg(long, value_name = "NUMBER")]
    from: Option<NumberPattern>,
    /// Callee: the user of To or of the Request-URI, or a number it was diverted to; as --number
    #[arg(long, value_name = "NUMBER")]
    to: Option<NumberPattern>,
    /// Call-ID, whole or with `*`
    #[arg(long, value_name = "ID")]
    call_id: Option<Pattern>,
    /// State: completed, active, failed, redirected, cancelled, timeout, ringing, trying; several with commas
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = state)]
    state: Vec<CallState>,
    /// Final code: 486, 4xx, 400-499; several with commas
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    code: Vec<CodeRange>,
    /// Began at this time or later: 2026-11-21T02:00:00Z, or "2026-11-21 02:00" or 2026-11-21 in the zone in
    /// which times are shown
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Began before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Time from answer to release, of a stream from first to last packet: '>30s', '<2m', '10s-60s'
    #[arg(long = "duration", id = "call_duration", value_name = "RANGE")]
    duration: Option<DurationRange>,
    /// Worse direction has a MOS below this; without a MOS it does not match
    #[arg(long, value_name = "MOS", value_parser = mos)]
    mos_below: Option<f64>,
    /// A stream lost more than this percentage of its packets
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    loss_above: Option<f64>,
    /// A stream has this codec: PCMA, G.729, AMR*; several with commas
    #[arg(long, value_name = "CODEC", value_delimiter = ',')]
    codec: Vec<CodecName>,
    /// Address or network of signalling or media: 192.0.2.7, 198.51.100.0/24; several with commas
    #[arg(long, value_name = "IP", value_delimiter = ',', value_parser = network)]
    ip: Vec<Network>,
    /// User-Agent or Server of either side has this text; with `*`, it is the whole text
    #[arg(long, value_name = "TEXT")]
    ua: Option<Words>,
    /// Came from or went to this trunk: a name of [[trunk]], or an address; with `*`; several with commas
    #[arg(long, value_name = "TRUNK", value_delimiter = ',')]
    trunk: Vec<Pattern>,
    /// Has a note of this code, such as one_way; several with commas: see the manual, quality
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = note)]
    note: Vec<NoteCode>,
    /// Has a note of a problem: any note but of a hold or a transfer
    #[arg(long)]
    problems: bool,
    /// Is a leg of this conversation, by the id of the record of its first leg
    #[arg(long, value_name = "ID", value_parser = id)]
    conversation: Option<Id>,
}

impl FilterArgs {
    /// The conditions.
    pub(crate) fn filter(&self) -> Filter {
        fn list<T: Clone>(all: &[T], condition: fn(Vec<T>) -> Condition) -> Option<Condition> {
            (!all.is_empty()).then(|| condition(all.to_vec()))
        }
        let conditions = [
            self.number.clone().map(Condition::Number),
            self.from.clone().map(Condition::From),
            self.to.clone().map(Condition::To),
            self.call_id.clone().map(Condition::CallId),
            list(&self.state, Condition::State),
            list(&self.code, Condition::Code),
            self.since.map(|since| Condition::Since(since.instant())),
            self.until.map(|until| Condition::Until(until.instant())),
            self.duration.map(Condition::Duration),
            self.mos_below.map(Condition::MosBelow),
            self.loss_above.map(Condition::LossAbove),
            list(&self.codec, Condition::Codec),
            list(&self.ip, Condition::Ip),
            self.ua.clone().map(Condition::UserAgent),
            list(&self.trunk, Condition::Trunk),
            list(&self.note, Condition::Note),
            self.problems.then_some(Condition::Problems),
            self.conversation.map(Condition::Conversation),
        ];
        Filter(conditions.into_iter().flatten().collect())
    }
}

/// Refuses conditions on what records named `records` do not have.
pub(crate) fn refuse_unfit(
    filter: &Filter,
    records: &str,
    fits: fn(&Condition) -> bool,
) -> Result<(), Misuse> {
    match filter.0.iter().find(|condition| !fits(condition)) {
        None => Ok(()),
        Some(unfit) => {
            let option = option(unfit);
            Err(Misuse(format!(
                "{records} have nothing that `{option}` could be compared with: leave it out"
            )))
        }
    }
}

/// The option that gives a condition.
fn option(condition: &Condition) -> &'static str {
    match condition {
        Condition::From(_) => "--from",
        Condition::To(_) => "--to",
        Condition::Number(_) => "--number",
        Condition::CallId(_) => "--call-id",
        Condition::State(_) => "--state",
        Condition::Code(_) => "--code",
        Condition::Since(_) => "--since",
        Condition::Until(_) => "--until",
        Condition::MosBelow(_) => "--mos-below",
        Condition::LossAbove(_) => "--loss-above",
        Condition::Duration(_) => "--duration",
        Condition::Codec(_) => "--codec",
        Condition::Ip(_) => "--ip",
        Condition::UserAgent(_) => "--ua",
        Condition::Trunk(_) => "--trunk",
        Condition::Note(_) => "--note",
        Condition::Problems => "--problems",
        Condition::Conversation(_) => "--conversation",
    }
}

fn id(text: &str) -> Result<Id, String> {
    text.trim().parse().map_err(|_| "an id has 32 hex digits, as `ringtap call` shows it".to_owned())
}

fn state(text: &str) -> Result<CallState, String> {
    CallState::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = CallState::ALL.iter().map(|state| state.name()).collect();
        format!("a call is one of {}", names.join(", "))
    })
}

fn note(text: &str) -> Result<NoteCode, String> {
    NoteCode::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = NoteCode::ALL.iter().map(|code| code.name()).collect();
        format!("a note is one of {}", names.join(", "))
    })
}

fn network(text: &str) -> Result<Network, String> {
    text.trim().parse().map_err(|_| "write an address or a network such as 192.0.2.0/24".to_string())
}

fn mos(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mos) if (1.0..=5.0).contains(&mos) => Ok(mos),
        _ => Err("a MOS lies between 1 and 5".to_string()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent),
        _ => Err("write a percentage from 0 to 100, such as 2.5".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ringtap_model::{Call, Id, Nanos, Note, Stream};
    use ringtap_testing::samples;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        filter: FilterArgs,
    }

    fn filter(arguments: &[&str]) -> Filter {
        let line = Line::try_parse_from(["x"].iter().chain(arguments));
        line.unwrap_or_else(|error| panic!("{error}")).filter.filter()
    }

    /// Whether the sample call, which has the sample stream, passes.
    fn passes(arguments: &[&str]) -> bool {
        let stream = samples::stream();
        filter(arguments).selects_call(&Call { streams: vec![stream.id], ..samples::call() }, &[stream])
    }

    #[test]
    fn each_option_is_a_condition() {
        // Each is satisfied, and then not, by the sample call.
        let options = [
            ("--number", "*2222", "*0138"),
            ("--number", "00420221111111", "420221"),
            ("--from", "+4202*", "+420602222222"),
            ("--to", "voicemail", "+420221111111"),
            ("--call-id", "f81d4fae-7d…", "f81d"),
            ("--state", "completed,failed", "failed"),
            ("--code", "486,2xx", "4xx"),
            ("--since", "2026-11-21 02:00", "2026-11-21 02:01"),
            ("--until", "2026-11-21 02:01", "2026-11-21 02:00"),
            ("--duration", "60s-62s", ">61.6s"),
            ("--mos-below", "4.5", "4.0"),
            ("--loss-above", "0.4%", "0.6"),
            ("--codec", "G711,opus", "G.729"),
            ("--ip", "192.0.2.0/24", "198.51.100.7,::1"),
        ];
        for (option, yes, no) in options {
            assert!(passes(&[option, yes]), "{option} {yes}");
            assert!(!passes(&[option, no]), "{option} {no}");
        }
        assert!(passes(&[]) && !filter(&[]).is_set());
        assert!(!passes(&["--state", "completed", "--code", "486"]), "all have to hold");
        let agent = Call { user_agent_callee: Some("Yealink SIP-T46S".into()), ..samples::call() };
        assert!(filter(&["--ua", "yealink"]).selects_call(&agent, &[]));
        assert!(!filter(&["--ua", "snom"]).selects_call(&agent, &[]));
        let unknown =
            Call { invite: None, trying: None, ringing: None, answer: None, end: None, ..samples::call() };
        assert!(!filter(&["--since", "1970-01-01"]).selects_call(&unknown, &[]));
        let silent = Call { mos: None, ..samples::call() };
        assert!(!filter(&["--mos-below", "5"]).selects_call(&silent, &[]));
    }

    #[test]
    fn a_span_of_time_is_half_open_and_in_microseconds() {
        let at = |nanos| Call { invite: Some(Nanos(nanos)), ..samples::call() };
        let since = Filter(vec![Condition::Since(Nanos(5_000))]);
        let until = Filter(vec![Condition::Until(Nanos(5_000))]);
        for (nanos, later) in [(4_999, false), (5_000, true), (5_001, true)] {
            assert_eq!(since.selects_call(&at(nanos), &[]), later, "{nanos}");
            assert_eq!(until.selects_call(&at(nanos), &[]), !later, "{nanos}");
        }
        // The database has 5 µs of it.
        assert!(!Filter(vec![Condition::Since(Nanos(5_500))]).selects_call(&at(5_900), &[]));
    }

    #[test]
    fn notes_are_filtered_by_code_or_all_together() {
        let fine = samples::call();
        let bad = Call { notes: vec![Note::new(NoteCode::OneWay, "x".into())], ..samples::call() };
        let one_way = filter(&["--note", "one_way,fax"]);
        assert!(one_way.selects_call(&bad, &[]) && !one_way.selects_call(&fine, &[]));
        assert!(!filter(&["--note", "fax"]).selects_call(&bad, &[]));
        let any = filter(&["--problems"]);
        assert!(any.selects_call(&bad, &[]) && !any.selects_call(&fine, &[]));
    }

    #[test]
    fn trunks_are_filtered_by_name() {
        let call = Call {
            trunk_from: Some("carrier-a".into()),
            trunk_to: Some("192.0.2.2".into()),
            ..samples::call()
        };
        for (names, passes) in
            [("carrier-a", true), ("x,carrier*", true), ("192.0.2.2", true), ("carrier", false)]
        {
            assert_eq!(filter(&["--trunk", names]).selects_call(&call, &[]), passes, "{names}");
        }
        assert!(!filter(&["--trunk", "*"]).selects_call(&samples::call(), &[]), "no trunk is known");
    }

    #[test]
    fn streams_pass_by_themselves_and_by_their_call() {
        let (stream, call) = (samples::stream(), samples::call());
        let selects = |arguments: &[&str], call| filter(arguments).selects_stream(&stream, call);
        assert!(selects(&["--codec", "g711", "--ip", "192.0.2.0/24"], None));
        assert!(selects(&["--number", "*2222", "--codec", "g711"], Some(&call)));
        assert!(!selects(&["--number", "*2222"], None), "without a call it has no number");
        assert!(!selects(&["--number", "*0138"], Some(&call)) && !selects(&["--codec", "opus"], Some(&call)));
        let other = Stream { id: Id([9; 16]), lost: 0, ..samples::stream() };
        let lossy = filter(&["--loss-above", "0.4"]);
        assert!(lossy.selects_stream(&stream, None) && !lossy.selects_stream(&other, None));
        assert!(lossy.selects_call(&call, &[other, stream.clone()]), "any stream");
    }

    #[test]
    fn registrations_and_messages_pass_by_what_they_have() {
        let (registration, message) = (samples::registration(), samples::message());
        let user = |address: &str| address.split('@').next().unwrap_or_default().to_string();
        let aor = user(&registration.aor);
        assert!(filter(&["--number", &aor, "--ip", "192.0.2.0/24"]).selects_registration(&registration));
        assert!(!filter(&["--number", "nobody"]).selects_registration(&registration));
        assert!(!filter(&["--codec", "PCMA"]).selects_registration(&registration));
        let from = user(message.from.as_deref().unwrap());
        assert!(filter(&["--from", &from]).selects_message(&message));
        assert!(!filter(&["--to", "nobody"]).selects_message(&message));
        let unfit = refuse_unfit(&filter(&["--codec", "x"]), "registrations", Condition::fits_registrations);
        assert!(unfit.unwrap_err().0.contains("`--codec`"));
        assert!(refuse_unfit(&filter(&["--code", "403"]), "x", Condition::fits_registrations).is_ok());
        assert!(refuse_unfit(&filter(&["--note", "fax"]), "x", Condition::fits_messages).is_err());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let wrong = [
            ("--number", "", "matches nothing"),
            ("--state", "answered", "completed"),
            ("--note", "oneway", "one_way"),
            ("--code", "busy", "4xx"),
            ("--duration", "30s", ">30s"),
            ("--mos-below", "6", "between 1 and 5"),
            ("--mos-below", "NaN", "between 1 and 5"),
            ("--loss-above", "-1", "percentage"),
            ("--loss-above", "100", "percentage"),
            ("--ip", "192.0.2", "192.0.2.0/24"),
        ];
        for (option, value, remedy) in wrong {
            let line = Line::try_parse_from(["x".to_string(), format!("{option}={value}")]);
            let error = line.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(remedy), "{option} {value}: {error}");
        }
    }
}
