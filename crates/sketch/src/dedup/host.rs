//! The surroundings of the machine: the process, and the owner of the documents.

use std::rc::Rc;

use super::form::Form;
use crate::Error;
use crate::pipeline::Setting;
use crate::spool::NewFile;
use crate::stored::StoredBytes;

/// The process in which a job runs.
#[derive(Clone)]
pub struct Process {
    /// Number of threads that may help.
    pub threads: usize,
    /// The setting for them, with this number of bytes of batches in flight.
    pub setting: fn(usize) -> Setting,
    /// Makes a temporary file.
    pub new_file: NewFile,
    /// Called with each step of the job.
    pub progress: Rc<dyn Fn(JobStep)>,
}

impl Process {
    /// The function that looks for interrupts.
    pub(super) fn check(&self) -> fn() {
        (self.setting)(0).check_interrupts
    }
}

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// The number of documents that it has read.
    Read(u32),
    /// It begins to join documents that share a bucket.
    Grouping,
    /// The number of documents that it has brought together because they share a bucket.
    Fetched(u32),
    /// The number of documents that it has compared.
    Compared(usize),
}

/// A pass over documents that were added before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentPass {
    /// Reads some of them, or all; another pass follows.
    Again,
    /// Reads the documents that share a bucket, after any other pass. The host keeps what it has of them, in their
    /// order: from now on a document's name is its position among them.
    Candidates,
}

/// Takes the bytes of a document.
pub type TakeStored<'a, E> = dyn FnMut(StoredBytes) -> Result<(), E> + 'a;

/// Passes on the bytes of a document in a form: the one that it has, or [`Form::Signature`].
pub type ReadDocument<'a, E> = dyn FnMut(Form, &mut TakeStored<E>) -> Result<(), E> + 'a;

/// Takes a document, by its number.
pub type VisitDocument<'a, E> = dyn FnMut(u32, &mut ReadDocument<E>) -> Result<(), E> + 'a;

/// The owner of the documents, who can read them again. A document's number is its position among those with shingles,
/// in the order in which they were added.
pub trait Host {
    /// The reason for a failure: an input error, or a request to stop.
    type Error: From<Error>;

    /// Calls `visit` with each document of `wanted`, which ascend.
    fn each(
        &mut self,
        pass: DocumentPass,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument<Self::Error>,
    ) -> Result<(), Self::Error>;

    /// True if [`Self::fetch`] costs little, so that documents need not be copied to a file. The answer is the same
    /// for a whole job.
    fn can_fetch(&self) -> bool;

    /// Calls `visit` with each document of `wanted`, which ascend. Only called if [`Self::can_fetch`].
    fn fetch(
        &self,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument<Self::Error>,
    ) -> Result<(), Self::Error>;
}
