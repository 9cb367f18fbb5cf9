//! Values of types that are known only when the code runs: how they are written, ordered, hashed and passed to a query.

pub mod document_keys;
pub mod element;
pub mod parameter;
pub mod value_type;
