//! The tools, a file each.

mod call;
mod kpis;
mod messages;
mod problems;
mod search_calls;
mod streams;
mod tool;
mod users;
mod why;

pub(crate) use kpis::definition;
pub(crate) use tool::Definition;

/// All tools.
pub(crate) static TOOLS: [Definition; 8] = [
    search_calls::TOOL,
    problems::TOOL,
    call::TOOL,
    messages::TOOL,
    streams::TOOL,
    kpis::TOOL,
    users::TOOL,
    why::TOOL,
];
