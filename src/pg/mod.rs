//! Islands of `unsafe`: what minlsh needs of PostgreSQL's C interface, behind safe faces.

pub mod array;
pub mod call;
pub mod dependency;
pub mod ffi;
pub mod guc;
pub mod names;
pub mod relation;
pub mod role;
pub mod rows;
pub mod spi;
pub mod text;
pub mod trigger;
