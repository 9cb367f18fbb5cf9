//! Questions to an index.

pub mod access;
mod corpus;
mod explain;
mod key;
mod near_duplicates;
mod options;
pub mod plans;
mod question;
mod recall;
