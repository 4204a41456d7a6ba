//! What was found, in figures and in words.

use crate::counts::Count;
use crate::field::Field;
use crate::sample::Sample;
use crate::significance::Shares;
use crate::value::Value;

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The field: mostly the name that records give it.
    pub field: &'static str,
    /// The value as people read it. What came from the wire stands there as it was sent.
    pub value: String,
    /// A search that finds the calls that have it. It asks for either side where the field is about one.
    pub query: String,
    /// What such calls do: `pass 198.51.100.7`.
    pub phrase: String,
}

/// A value, or a pair of values, that more of the marked calls have.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The value.
    pub value: Named,
    /// The second value of a pair.
    pub also: Option<Named>,
    /// Values that nearly the same calls have.
    pub same: Vec<Named>,
    /// Marked calls that have it.
    pub marked: u64,
    /// Marked calls of which the field is known.
    pub marked_of: u64,
    /// Others that have it.
    pub others: u64,
    /// Others of which the field is known.
    pub others_of: u64,
    /// The chance that anything stands out so far if the marks were dealt out blindly: Fisher's exact test,
    /// corrected for all values, or pairs, that could have (Bonferroni). Of a finding that is not the first,
    /// among the calls that those before it do not cover.
    pub p_value: f64,
    /// A search that finds these calls.
    pub query: String,
}

/// What distinguishes marked calls from others of the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Marked calls.
    pub marked: u64,
    /// Others that they were compared with.
    pub others: u64,
    /// Others that were left out since they were not answered, where only such calls can be marked.
    pub unanswered: u64,
    /// Marked calls and others of which pairs were counted: a fair choice where there are very many.
    pub pairs_of: (u64, u64),
    /// Values that could have stood out.
    pub values: u64,
    /// Names of the fields that were asked.
    pub fields: Vec<&'static str>,
    /// What stands out, the most telling first; nothing where nothing does.
    pub findings: Vec<Finding>,
}

impl Named {
    pub(crate) fn new(field: &Field, value: &Value) -> Self {
        Self {
            field: field.name,
            value: field.shown(value),
            query: field.query(value),
            phrase: field.phrase(value),
        }
    }
}

impl Finding {
    pub(crate) fn new(
        value: Named,
        also: Option<Named>,
        same: Vec<Named>,
        shares: Shares,
        ln_chance: f64,
    ) -> Self {
        let parts = [Some(&value), also.as_ref()].into_iter().flatten();
        let query = parts.map(|named| named.query.as_str()).collect::<Vec<_>>().join(" ");
        let Shares { marked, marked_of, others, others_of } = shares;
        // A chance that no float can hold is not none.
        let p_value = ln_chance.min(0.0).exp().max(f64::MIN_POSITIVE);
        Self { value, also, same, marked, marked_of, others, others_of, p_value, query }
    }

    /// The share of the marked that have it, in percent.
    pub fn marked_pct(&self) -> f64 {
        self.shares().marked_share() * 100.0
    }

    /// The share of the others, in percent.
    pub fn others_pct(&self) -> f64 {
        self.shares().others_share() * 100.0
    }

    /// What such calls do: `pass 198.51.100.7 and use G729`.
    pub fn phrase(&self) -> String {
        match &self.also {
            None => self.value.phrase.clone(),
            Some(also) => format!("{} and {}", self.value.phrase, also.phrase),
        }
    }

    /// The finding as a sentence: `Of 214 marked calls 209 pass 198.51.100.7; of the 9,120 others 4.1 %.`
    pub fn sentence(&self) -> String {
        let (marked, others) = (grouped(self.marked), grouped(self.others_of));
        let marked_of = counted(self.marked_of, "marked call");
        let share = match self.others {
            0 => "none".to_owned(),
            _ => percent(self.others_pct()),
        };
        format!("Of {marked_of} {marked} {}; of the {others} others {share}.", self.phrase())
    }

    fn shares(&self) -> Shares {
        let Self { marked, marked_of, others, others_of, .. } = *self;
        Shares { marked, marked_of, others, others_of }
    }
}

impl Ranking {
    pub(crate) fn new(sample: &Sample, values: u64, findings: Vec<Finding>) -> Self {
        let Count { marked, others } = sample.count();
        let fields = sample.fields.iter().map(|(field, _)| field.name).collect();
        let pairs_of = (sample.marked.rows.len() as u64, sample.others.rows.len() as u64);
        Self { marked, others, unanswered: sample.unanswered, pairs_of, values, fields, findings }
    }

    /// Whether anything is claimed.
    pub fn claims(&self) -> bool {
        !self.findings.is_empty()
    }

    /// What stands out most, or why nothing is claimed, in a sentence.
    pub fn text(&self) -> String {
        if let Some(first) = self.findings.first() {
            return first.sentence();
        }
        let marked = counted(self.marked, "marked call");
        let answered = if self.unanswered > 0 { " that were answered" } else { "" };
        match (self.marked, self.others) {
            (0, _) => "No call is marked: there is nothing to compare.".to_owned(),
            (1.., 0) => {
                format!("No other call of the same time{answered}: nothing to compare {marked} with.")
            }
            (1..5, _) => format!("{marked}: too few to tell what distinguishes them from the others."),
            _ => {
                let (others, values) = (grouped(self.others), grouped(self.values));
                format!(
                    "Nothing distinguishes the {marked} from the {others} others of the same time{answered}: \
                     {values} values of {} fields, and their pairs, were compared.",
                    self.fields.len()
                )
            }
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// A number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as people say it.
fn percent(share: f64) -> String {
    match share {
        share if share < 0.1 => "fewer than 0.1 %".to_owned(),
        share if share < 10.0 => format!("{share:.1} %"),
        share => format!("{share:.0} %"),
    }
}
