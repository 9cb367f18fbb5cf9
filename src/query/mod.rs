//! Questions to an index: which one is asked, who may ask, what it finds, and how well.

mod access;
mod check;
mod corpus;
mod documents;
mod explain;
mod find;
mod key;
mod native;
mod near_duplicates;
mod operand;
mod options;
mod overview;
mod plans;
mod recall;
mod side;
