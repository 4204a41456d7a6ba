pub(crate) mod catalogue;
pub(crate) mod ordered;
pub(crate) mod reader;
