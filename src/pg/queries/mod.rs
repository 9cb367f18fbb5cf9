//! Queries: SQL through SPI, a user's SELECT, and the planner's structures that estimators read.

pub mod plan;
pub mod planner;
pub mod select;
pub mod spi;
pub mod table_query;
