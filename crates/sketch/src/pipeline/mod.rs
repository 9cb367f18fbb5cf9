//! Batch processing by several threads, with results in order.
//!
//! One thread, the reader, knows the source of documents and the destination of results. It copies documents into
//! batches. [`Hands`] processes the batches in several threads, and returns them in order. So results do not depend on
//! the number of threads.
//!
//! [`Crew`] does the same for data in memory, such as the documents of a large group.
//!
//! A database server relies on these rules for threads:
//!
//! - A thread has copies, or reads memory of this library: it has no pointer into the server's memory.
//! - A thread never ends the process for lack of memory: [`BatchWork::work`] returns an error, and the reader processes
//!   the batch again. If the error repeats, the reader reports it.
//! - A thread checks often if it must stop. When the reader fails or unwinds, it stops all threads, and waits for them.

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
