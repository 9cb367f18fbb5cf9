//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.

pub mod aggregate;
pub mod array;
pub mod bytes;
pub mod call;
pub mod catching;
pub mod context;
pub mod element;
pub mod ffi;
pub mod guc;
pub mod interrupts;
pub mod keys;
pub mod names;
pub mod order;
pub mod record;
pub mod relation;
pub mod rows;
pub mod select;
pub mod signals;
pub mod slot;
pub mod spi;
pub mod sql;
pub mod temp_file;
pub mod text;
pub mod trigger;
pub mod tuple_store;
pub mod window;
