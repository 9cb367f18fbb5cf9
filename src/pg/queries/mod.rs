//! Queries: SQL through SPI, a user's SELECT, and what the planner passes to estimators.

pub mod plan;
pub mod planner;
pub mod select;
pub mod spi;
pub mod table_query;
