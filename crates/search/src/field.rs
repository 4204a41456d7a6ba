//! What can be searched, and what cannot yet.

use ringtap_model::record::Name;
use ringtap_model::stream::LostAt;
use ringtap_model::{
    Attestation, CallState, Direction, IdentityStatus, NoteCode, Party, Recorded, Transport,
};

/// A field of the search language.
#[derive(Debug)]
pub struct Field {
    /// Which it is.
    pub id: FieldName,
    /// As it is written.
    pub name: &'static str,
    /// What its values are, and how they are compared.
    pub kind: Kind,
    /// What it is about.
    pub subject: Subject,
    /// What it means, in a sentence.
    pub about: &'static str,
    /// A search for it.
    pub example: &'static str,
}

/// What a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The call.
    Call,
    /// Its streams: one of them has to have it. Also within `stream(...)`.
    Streams,
    /// The call; within `stream(...)`, the stream.
    Both,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Telephone numbers and users, whole or with `*`.
    Number,
    /// Texts, whole or with `*`.
    Text,
    /// Texts to be found anywhere; whole with `*`.
    Words,
    /// Names of codecs.
    Codec,
    /// Addresses and networks.
    Host,
    /// One of these names.
    Name(&'static [Name]),
    /// Status codes: `486`, `4xx`, `400..499`.
    Code,
    /// Numbers.
    Figure(Measure),
    /// Moments.
    Time,
    /// Ids of records.
    Id,
    /// `yes` or `no`.
    Flag,
}

/// What the numbers of a field measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Things, in whole numbers.
    Count,
    /// A score such as a MOS.
    Score,
    /// Hundredths.
    Percent,
    /// A span of time; a number without a unit is seconds.
    Seconds,
    /// A span of time; a number without a unit is milliseconds.
    Millis,
}

impl Field {
    /// The field of that name, in any case of letters, or of another spelling of it.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
        let name = alias.unwrap_or(&name);
        FIELDS.iter().find(|field| field.name == name)
    }

    /// The unit of numbers that are written without one.
    pub const fn unit(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Figure(measure) => measure.unit(),
            _ => None,
        }
    }

    /// What its values are, in a word: `number`, `text`, `name`, `code`, `figure`, `time`, ...
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Number => "number",
            Kind::Text => "text",
            Kind::Words => "words",
            Kind::Codec => "codec",
            Kind::Host => "address",
            Kind::Name(_) => "name",
            Kind::Code => "code",
            Kind::Figure(Measure::Count) => "count",
            Kind::Figure(Measure::Score) => "score",
            Kind::Figure(Measure::Percent) => "percentage",
            Kind::Figure(Measure::Seconds | Measure::Millis) => "duration",
            Kind::Time => "time",
            Kind::Id => "id",
            Kind::Flag => "flag",
        }
    }

    /// The names that its values can have, where it has such.
    pub const fn names(&self) -> &'static [Name] {
        match self.kind {
            Kind::Name(names) => names,
            Kind::Flag => YES_OR_NO,
            _ => &[],
        }
    }

    /// Whether calls can be put in its order: each has one value of it, or none.
    pub const fn is_sortable(&self) -> bool {
        match self.kind {
            Kind::Code | Kind::Figure(_) => !matches!(self.subject, Subject::Streams),
            Kind::Time => !matches!(self.id, FieldName::At),
            _ => false,
        }
    }

    /// Whether values have an order: `>`, `<` and `a..b`.
    pub const fn is_ordered(&self) -> bool {
        matches!(self.kind, Kind::Code | Kind::Figure(_) | Kind::Time)
    }
}

impl Measure {
    /// The unit of a number without one.
    pub const fn unit(self) -> Option<&'static str> {
        match self {
            Self::Count | Self::Score => None,
            Self::Percent => Some("%"),
            Self::Seconds => Some("s"),
            Self::Millis => Some("ms"),
        }
    }
}

macro_rules! fields {
    ($($id:ident $name:literal $kind:expr, $subject:ident, $about:literal, $example:literal;)+) => {
        /// The fields, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FieldName {
            $(#[doc = $about] $id,)+
        }

        /// All fields, in the order in which people look for them.
        pub static FIELDS: &[Field] = &[$(Field {
            id: FieldName::$id,
            name: $name,
            kind: $kind,
            subject: Subject::$subject,
            about: $about,
            example: $example,
        },)+];
    };
}

impl FieldName {
    /// What is known of it.
    pub fn field(self) -> &'static Field {
        // The macro makes both in the same order.
        &FIELDS[self as usize]
    }
}

const COUNT: Kind = Kind::Figure(Measure::Count);
const SCORE: Kind = Kind::Figure(Measure::Score);
const PERCENT: Kind = Kind::Figure(Measure::Percent);
const SECONDS: Kind = Kind::Figure(Measure::Seconds);
const MILLIS: Kind = Kind::Figure(Measure::Millis);

fields! {
    Number "number" Kind::Number, Call,
        "Either party: caller or callee.", "number:*0138";
    From "from" Kind::Number, Call,
        "Caller: the user of From, or the asserted identity.", "from:+4420*";
    To "to" Kind::Number, Call,
        "Callee: the user of To or of the Request-URI, or a number that the call was routed on to.",
        "to:[100,101]";
    Diverted "diverted" Kind::Number, Call,
        "A number that the call was routed on to.", "diverted:*";
    Uri "uri" Kind::Text, Call,
        "SIP address, `user@host`, of From, To or the Request-URI.", "uri:alice@*";
    CallId "callid" Kind::Text, Call,
        "Call-ID.", "callid:4f2a19*";
    Ip "ip" Kind::Host, Both,
        "Address or network of the first INVITE or of a stream.", "ip:198.51.100.0/24";
    Ua "ua" Kind::Words, Call,
        "User-Agent or Server of either side.", "ua:yealink";
    Trunk "trunk" Kind::Text, Call,
        "Trunk that the call came from or was sent to: its name, or an address.", "trunk:carrier-a";
    Text "text" Kind::Words, Call,
        "Any text of the call: Call-ID, parties, reason phrase, User-Agents, trunks, state, notes.",
        "text:\"not here\"";
    State "state" Kind::Name(CallState::NAMES), Call,
        "How far the call came.", "state:[failed,timeout]";
    Code "code" Kind::Code, Call,
        "Code of the final answer to the INVITE.", "code:4xx";
    Cause "cause" COUNT, Call,
        "Q.850 cause of a Reason header.", "cause:34";
    Reason "reason" Kind::Words, Call,
        "Phrase of the final answer.", "reason:busy";
    Hangup "hangup" Kind::Name(Party::NAMES), Call,
        "Who released the call.", "hangup:network";
    Retrans "retrans" COUNT, Call,
        "SIP messages that repeat one already seen.", "retrans>3";
    Mos "mos" SCORE, Both,
        "MOS-LQ: of the worse direction; within stream(...), of the stream.", "mos<3.5";
    MosWorst "mosworst" SCORE, Both,
        "MOS-LQ of the worst 10 s.", "mosworst<3";
    Pdd "pdd" SECONDS, Call,
        "Post-dial delay: from the first INVITE to the first 18x, or 2xx.", "pdd>3s";
    Ring "ring" SECONDS, Call,
        "From the first 18x to the answer, or to the end of a call that nobody answered.", "ring>20s";
    Dur "dur" SECONDS, Both,
        "From answer to release; within stream(...), from the first packet to the last.", "dur:1m..5m";
    Codec "codec" Kind::Codec, Streams,
        "Codec of a stream.", "codec:G729";
    Ptime "ptime" MILLIS, Streams,
        "Time that one packet of a stream carries.", "ptime>20";
    Loss "loss" PERCENT, Streams,
        "Packets of a stream that were lost.", "loss>2";
    Jitter "jitter" MILLIS, Streams,
        "Mean interarrival jitter of a stream.", "jitter>30ms";
    Silence "silence" PERCENT, Streams,
        "Share of a stream's sound that is silence, where it was decoded.", "silence>90";
    Clipped "clipped" PERCENT, Streams,
        "Share of a stream's samples at the end of the scale, where it was decoded.", "clipped>1";
    Rtt "rtt" MILLIS, Streams,
        "Round trip time of a stream.", "rtt>300ms";
    LostAt "lostat" Kind::Name(LostAt::NAMES), Streams,
        "Where most of a stream's lost packets were lost.", "lostat:before_tap";
    Direction "direction" Kind::Name(Direction::NAMES), Streams,
        "Which way a stream flows.", "stream(direction:callee_to_caller loss>2)";
    Drops "drops" COUNT, Call,
        "Packets that this monitor dropped while the call lasted.", "drops>0";
    Attest "attest" Kind::Name(Attestation::NAMES), Call,
        "How the caller's operator vouches for the number (STIR/SHAKEN).", "attest:A";
    Identity "identity" Kind::Name(IdentityStatus::NAMES), Call,
        "What became of checking the Identity header.", "identity:bad_signature";
    Transport "transport" Kind::Name(Transport::NAMES), Call,
        "What carried the first message.", "transport:tcp";
    Recorded "recorded" Kind::Name(Recorded::NAMES), Call,
        "What was recorded of the call.", "recorded:full";
    Note "note" Kind::Name(NoteCode::NAMES), Both,
        "What an engineer would remark.", "note:one_way";
    Problem "problem" Kind::Flag, Both,
        "Whether there is a note of a problem: any but of a hold, a transfer or shared media.",
        "problem:yes";
    At "at" Kind::Time, Call,
        "A time at which the call was up, from its first message to its end. A call that began more than 24 \
         hours before is not found.",
        "at:15:00";
    Began "began" Kind::Time, Call,
        "When the call began.", "began:\"yesterday 15:00\"..16:00";
    Ended "ended" Kind::Time, Call,
        "When the call ended. A call that began more than 24 hours before is not found.", "ended>-10m";
    Conversation "conversation" Kind::Id, Call,
        "Conversation that the call is a leg of, by its id.",
        "conversation:0f3c5b1e9d2a4c6f8e7b0a1d2c3e4f50";
    Id "id" Kind::Id, Call,
        "Id of the record.", "id:0f3c5b1e9d2a4c6f8e7b0a1d2c3e4f50";
}

/// Other spellings of fields.
const ALIASES: [(&str, &str); 11] = [
    ("net", "ip"),
    ("caller", "from"),
    ("callee", "to"),
    ("call-id", "callid"),
    ("call_id", "callid"),
    ("duration", "dur"),
    ("conv", "conversation"),
    ("notes", "note"),
    ("problems", "problem"),
    ("useragent", "ua"),
    ("user-agent", "ua"),
];

const YES_OR_NO: &[Name] =
    &[Name { name: "yes", description: "It is so." }, Name { name: "no", description: "It is not." }];

/// Why a field that people may look for cannot be searched; none where there is no such field at all.
pub(crate) fn why_not(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "sensor" => Some("records do not say the sensor yet: all of them were made by this one"),
        "country" => Some("records do not say the country yet: search the prefix, as number:+44*"),
        name if name.starts_with("h.") => {
            Some("records do not keep header fields yet: search what they have, such as ua, reason or callid")
        }
        _ => None,
    }
}

/// Fields that no record has yet, as people would write them.
pub const UNAVAILABLE: [&str; 3] = ["sensor", "country", "h.x-..."];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_found_by_its_name() {
        for field in FIELDS {
            assert_eq!(field.id.field().name, field.name);
            assert_eq!(Field::of_name(&field.name.to_uppercase()).unwrap().id, field.id);
            assert!(field.about.ends_with('.') && field.example.contains(field.name), "{}", field.name);
        }
        for (alias, name) in ALIASES {
            assert!(FIELDS.iter().all(|field| field.name != alias), "{alias} is a field");
            assert_eq!(Field::of_name(alias).unwrap().name, name);
        }
        for name in UNAVAILABLE {
            assert!(why_not(name).is_some() && Field::of_name(name).is_none(), "{name}");
        }
    }
}
