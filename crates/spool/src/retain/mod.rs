pub(crate) mod deletion_lock;
pub(crate) mod forget;
pub(crate) mod hold;
pub(crate) mod janitor;
pub(crate) mod policy;
pub(crate) mod product;
pub(crate) mod provisional;
pub(crate) mod tier;
