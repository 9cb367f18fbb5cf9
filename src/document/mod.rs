//! Documents: the type `minlsh_document`, the operators `~=`, and the band hashes of an indexed value.
//!
//! A document is a text, a set or a signature with options and a threshold. So `~=` means the same in an index, a
//! sequential scan, a join and a constraint.
//!
//! | module | what it does |
//! |---|---|
//! | `kind` | what a value is, from its type or its operator class |
//! | `value` | a value that was read: a text, a set or a signature |
//! | `image` | a document as bytes, which are checked when they are read |
//! | `form` | the forms that our types share: for people, dumps and clients |
//! | `constructors` | from a text, a set, a signature to a document; a document as text |
//! | `similar` | the operators `~=` and the measure behind them |
//! | `passage` | passages that are sought in texts: a type, operators and entries of their own |
//! | `to_bands` | from a value to the band hashes of an index |

pub mod constructors;
mod form;
pub mod image;
pub mod kind;
mod passage;
mod similar;
pub mod to_bands;
pub mod value;
