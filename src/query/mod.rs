//! Questions to an index: which one is asked, who may ask, what it finds, and how well.

mod access;
mod find;
mod key;
mod native;
mod near_duplicates;
mod options;
mod plans;
mod side;
