//! Boilerplate: text that many documents of an origin share, such as menus, footers, templates and signatures.
//!
//! An origin is a site, a company or an author: a source whose documents share a frame. The counted part of a document
//! is the set of its shingles without the boilerplate of its origin. Two documents are as similar as their counted
//! parts.
//!
//! 1. [`OriginSample`] selects up to [`CHOSEN`] documents of each origin, by the hashes of their texts
//!    ([`Shingled::fingerprint`]). So the sample does not depend on the order of documents, and equal texts count once.
//! 2. [`Judged::common`] finds the shingles in more than a fifth of the sample for all origins
//!    ([`OriginSample::of_all`]). They are frequent in the language, and do not count for documents with an origin.
//! 3. [`Judged::shared`] counts the documents of an origin with each shingle. A shingle is boilerplate if more than a
//!    fifth of them have it, and at least five. If three of four documents would keep too little, the share rises up to
//!    seven tenths ([`LEVELS`]): if a template is nearly all of each document, shingles in fewer documents are content.
//! 4. [`counted()`] leaves both out. A document with little left would be similar to all others with the same rest, so
//!    it is compared for equality only ([`Enough`]).

mod counted;
mod documents;
mod rule;
mod shared;

pub use counted::{Boilerplate, CountedPart, Frame, counted, distinct_part};
pub use documents::{CHOSEN, OriginSample, Shingled};
pub use rule::{Enough, LEAST, LEVELS};
pub use shared::{HashesOf, Judged, SharedShingles};
