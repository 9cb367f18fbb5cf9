//! Passages that are sought: the type `minlsh_passage`, the operators `~>` and `<~`, and the way from a
//! text to the entries of an index of passages.
//!
//! | module | what it does |
//! |---|---|
//! | `image` | a passage with its options as bytes, and its constructor |
//! | `literal` | the same as text: for people, dumps and clients |
//! | `contains` | the operators, which decide by the texts |
//! | `entries` | from a stored text to the entries that an index has of it, from a passage to a search |

mod contains;
pub mod entries;
mod image;
mod literal;
