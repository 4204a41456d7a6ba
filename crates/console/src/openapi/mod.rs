//! Of what the description of the API is made, beside what stands at each route.
//!
//! | module | holds |
//! |---|---|
//! | `refusals` | errors, as answers of a request |
//! | `records` | the records of `ringtap_model`, from the definitions of their fields |
//! | `names` | names that have a fixed set of values |

pub(crate) mod names;
pub(crate) mod records;
pub(crate) mod refusals;

/// What a file has in it, which is no JSON.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it describes the body of a file")]
pub(crate) struct FileBytes(Vec<u8>);
