//! Boilerplate: what many documents of one origin share, such as menus, footers, templates and signatures.
//!
//! An origin is a site, a company, an author: whatever writes its documents in one frame. What counts of a document is
//! the set of its shingles without the boilerplate of its origin, and two documents are as similar as these sets.
//!
//! 1. [`OriginSample`] chooses up to [`CHOSEN`] documents of each origin, by the hashes of their texts
//!    ([`Shingled::fingerprint`]). So the choice depends on no order, and equal texts count once.
//! 2. [`shared_by_many`] counts in how many of these each shingle is. More than a fifth, and at least five, make it
//!    boilerplate.
//! 3. [`counted()`] leaves it out. A document of which next to nothing is left would be similar to all
//!    others of which the same is left. The hash of its text is its only shingle then: it is similar to copies alone.

mod counted;
mod documents;
mod shared;

pub use counted::{Boilerplate, counted};
pub use documents::{CHOSEN, OriginSample, Shingled};
pub use shared::{HashesOf, LEAST, shared_by_many};
