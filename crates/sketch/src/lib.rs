//! The engine of minlsh.
