//! Work in batches, done by several threads and taken back in order.
//!
//! One thread, the reader, knows where documents come from and where results go. It copies them into batches. [`Hands`]
//! computes the batches by several threads, and returns them in the order in which they came. So results do not depend
//! on the number of threads.
//!
//! [`Crew`] does the same for data that is in memory already, such as the documents of a large group.
//!
//! Rules for a thread, which a database server depends on:
//!
//! - It has copies, or looks at memory of this library's own: it has no pointer into anything of the server's.
//! - It never ends the process for want of memory: [`BatchWork::work`] returns an error, and the reader
//!   does the batch itself, so that the error, if it comes again, is the reader's.
//! - It looks often at whether it should stop. When the reader fails, or unwinds, all threads are
//!   told to stop, and are waited for.

mod crew;
mod hands;
mod passages;
mod signer;
mod texts;

pub use crew::{Compute, Crew, Next};
pub use hands::{BatchWork, Hands, Setting, hands};
pub use passages::{
    Containers, Fingerprinted, Lookups, OfText, PassageCut, Shared, SharedPassage, Stripped, Test, TextWindow,
    Windowing, asking, containing, fingerprinting, sharing, stripping,
};
pub use signer::{Making, Signer, SignerBatch};
pub use texts::{Finder, GivenText, TextBatch};
