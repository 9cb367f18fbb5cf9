//! Open tables and indexes: their rows, triggers and worker threads, and the tables beside them.

pub mod companion;
pub mod job;
pub mod row;
pub mod table;
pub mod trigger;
pub mod worker_threads;
