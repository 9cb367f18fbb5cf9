//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.

pub mod aggregate;
pub mod array;
pub mod bytes;
pub mod call;
pub mod catching;
pub mod dependents;
pub mod element;
pub mod expression;
pub mod ffi;
pub mod guc;
pub mod index;
pub mod interrupts;
pub mod keys;
pub mod list;
pub mod memory;
pub mod names;
pub mod order;
pub mod record;
pub mod relation;
pub mod rows;
pub mod signals;
pub mod spi;
pub mod table_query;
pub mod temp_file;
pub mod text;
pub mod trigger;
