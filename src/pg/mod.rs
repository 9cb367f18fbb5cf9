//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.

pub mod aggregate;
pub mod array;
pub mod bulk;
pub mod bytes;
pub mod call;
pub mod command;
pub mod dependency;
pub mod ffi;
pub mod guc;
pub mod interrupts;
pub mod keys;
pub mod list;
pub mod names;
pub mod order;
pub mod record;
pub mod relation;
pub mod restricted;
pub mod rows;
pub mod signals;
pub mod spi;
pub mod table;
pub mod temp_file;
pub mod text;
pub mod trigger;
