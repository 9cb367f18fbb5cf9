//! Collects hashes and passes them on in chunks, so that memory does not grow with the text.

use std::ops::ControlFlow;

use crate::limits::Check;

/// Maximum number of hashes in a chunk: 32 KiB, which fits a core's nearest cache.
pub(crate) const CHUNK: usize = 4096;

/// A function that receives a chunk. It may change the hashes, and call the check while it works. It returns whether it
/// wants more.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&mut [u64], Check) -> ControlFlow<()>;

/// A buffer of hashes. After the last hash call [`HashBuffer::deliver`].
pub(crate) struct HashBuffer<'a> {
    buffer: &'a mut [u64],
    filled: usize,
    flow: ControlFlow<()>,
    check: Check<'a>,
    sink: Sink<'a>,
}

impl<'a> HashBuffer<'a> {
    /// `buffer` is scratch memory for at least one hash; its length is the maximum length of a chunk. At the end it
    /// holds the last chunk.
    pub(crate) fn new(buffer: &'a mut [u64], check: Check<'a>, sink: Sink<'a>) -> Self {
        Self { buffer, filled: 0, flow: ControlFlow::Continue(()), check, sink }
    }

    /// Calls the check, which may cancel.
    pub(crate) fn check(&mut self) {
        (self.check)();
    }

    /// Number of hashes that still fit into the chunk: at least one.
    pub(crate) fn free(&mut self) -> usize {
        if self.filled == self.buffer.len() {
            self.deliver();
        }
        self.buffer.len() - self.filled
    }

    /// Space for `count` hashes, at most a chunk, which the caller fills.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u64] {
        if self.filled + count > self.buffer.len() {
            self.deliver();
        }
        let start = self.filled;
        self.filled += count;
        &mut self.buffer[start..self.filled]
    }

    pub(crate) fn push(&mut self, hash: u64) {
        self.room(1)[0] = hash;
    }

    /// Passes on the chunk, unless it is empty, and starts the next one.
    pub(crate) fn deliver(&mut self) {
        self.check();
        if self.filled > 0 && self.is_wanted() {
            self.flow = (self.sink)(&mut self.buffer[..self.filled], self.check);
        }
        self.filled = 0;
    }

    /// True if more hashes are wanted; others are dropped.
    pub(crate) fn is_wanted(&self) -> bool {
        self.flow.is_continue()
    }
}
