//! Questions to an index.

pub mod access;
mod corpus;
mod key;
mod near_duplicates;
mod options;
pub mod plans;
mod question;
