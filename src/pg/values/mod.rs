//! Values as PostgreSQL stores them, read from datums of a known type.

pub mod array;
pub mod bytes;
pub mod lossless;
pub mod text;
pub mod type_storage;
