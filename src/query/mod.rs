//! Questions to an index.

pub mod access;
mod key;
mod near_duplicates;
mod options;
mod plans;
