//! Documents: the type `minlsh_document`, the operators `~=`, and the way from a value that is
//! indexed to its bands.

pub mod values;
