//! Questions to an index.

pub mod access;
mod corpus;
mod key;
mod near_duplicates;
mod options;
mod plans;
mod question;
