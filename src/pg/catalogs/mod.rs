//! Look-ups in the catalogs: relations, names, indexes, rights, settings, and code that others have stored.

pub mod catalog;
pub mod dependency;
pub mod foreign_code;
pub mod guc;
pub mod index;
pub mod names;
pub mod open;
pub mod relation;
pub mod rights;
pub mod sql;
