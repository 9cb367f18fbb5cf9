//! The calls of functions: ordinary ones, those of aggregates and of windows, and what they return.

pub mod aggregate;
pub mod call;
pub mod result_rows;
pub mod window;
