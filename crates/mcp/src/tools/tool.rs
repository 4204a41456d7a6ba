//! What a tool is, and how its arguments are read.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::refusal::Refusal;
use crate::request::Request;
use crate::schema::shared;

/// A tool: what it is called, what it takes and gives, and how it answers.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) arguments: fn() -> Value,
    pub(super) answer: fn() -> Value,
    /// It adds up all calls, whoever may see them.
    pub(crate) counts_all: bool,
    pub(crate) run: fn(&Request, JsonObject) -> Result<Value, Refusal>,
}

impl Definition {
    /// As a client is told of it.
    pub(crate) fn tool(&self) -> Tool {
        let reads = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        Tool::new(self.name, self.description, shared((self.arguments)()))
            .with_title(self.title)
            .with_raw_output_schema(shared((self.answer)()))
            .with_annotations(reads.idempotent(true))
    }
}

/// Reads the arguments of a tool.
pub(super) fn arguments<T: DeserializeOwned>(of: &Definition, given: JsonObject) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        let names: Vec<String> = match (of.arguments)()["properties"].as_object() {
            Some(properties) => properties.keys().map(|name| format!("`{name}`")).collect(),
            None => Vec::new(),
        };
        Refusal::new(
            format!("the arguments of `{}` cannot be read: {error}", of.name),
            format!("it takes {}", names.join(", ")),
        )
    })
}

/// A number within bounds, or the default; beyond them, the error says what they are.
pub(super) fn within(
    name: &str,
    given: Option<usize>,
    (from, to, default): (usize, usize, usize),
) -> Result<usize, Refusal> {
    match given.unwrap_or(default) {
        number if (from..=to).contains(&number) => Ok(number),
        number => Err(Refusal::new(
            format!("`{name}` is {number}"),
            format!("it lies between {from} and {to}; for more, ask again from where an answer ends"),
        )),
    }
}
