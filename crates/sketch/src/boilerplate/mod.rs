//! Boilerplate: what many documents of one origin share, such as menus, footers, templates and signatures.
//!
//! An origin is a site, a company, an author: whatever writes its documents in one frame. What counts of a document is
//! the set of its shingles without the boilerplate of its origin, and two documents are as similar as these sets.
//!
//! 1. [`OriginSample`] chooses up to [`CHOSEN`] documents of each origin, by the hashes of their texts
//!    ([`Shingled::fingerprint`]). So the choice depends on no order, and equal texts count once.
//! 2. [`Judged::common`] finds the shingles that more than a fifth of all documents have ([`OriginSample::of_all`]).
//!    These are frequent in the language, and count for no document that has an origin.
//! 3. [`Judged::shared`] counts in how many documents of an origin each shingle is. Boilerplate is what more than a
//!    fifth have, and at least five. If three of four documents would keep too little, this share rises up to seven
//!    tenths ([`LEVELS`]): of a template that is nearly all of each document, what fewer have is content.
//! 4. [`counted()`] leaves both out. A document of which little is left would be similar to all others of which the
//!    same is left, so it is compared for equality only ([`Enough`]).

mod counted;
mod documents;
mod rule;
mod shared;

pub use counted::{Boilerplate, CountedPart, Frame, counted, distinct_part};
pub use documents::{CHOSEN, OriginSample, Shingled};
pub use rule::{Enough, LEAST, LEVELS};
pub use shared::{HashesOf, Judged, SharedShingles};
