//! Calls of functions, aggregates and window functions, and their results.

pub mod aggregate;
pub mod call;
pub mod result_rows;
pub mod window;
