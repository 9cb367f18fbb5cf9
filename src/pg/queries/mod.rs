//! Queries: planned and run by SPI, written by users, and as the planner sees them.

pub mod planner;
pub mod receiver;
pub mod select;
pub mod spi;
pub mod statement;
pub mod table_query;
