//! Values whose types are known only at run time: their output, order, hashes, and their use as parameters of queries.

pub mod document_keys;
pub mod element;
pub mod typed_value;
pub mod value_type;
