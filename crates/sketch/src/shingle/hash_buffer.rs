//! Collects hashes and hands them on in chunks, so that no text needs memory in proportion to its length.

use std::ops::ControlFlow;

use crate::limits::Check;

/// The most hashes per chunk: 32 KiB, which a core's nearest cache holds.
pub(crate) const CHUNK: usize = 4096;

/// A function that receives a chunk: free to change the hashes, and to call the
/// check while it works. It says whether it wants more.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&mut [u64], Check) -> ControlFlow<()>;

/// A buffer of hashes. Whoever fills it ends with [`HashBuffer::deliver`].
pub(crate) struct HashBuffer<'a> {
    buffer: &'a mut [u64],
    filled: usize,
    flow: ControlFlow<()>,
    check: Check<'a>,
    sink: Sink<'a>,
}

impl<'a> HashBuffer<'a> {
    /// `buffer` is scratch memory, at least one hash; its length is the most
    /// that a chunk has. In the end it holds the last chunk.
    pub(crate) fn new(buffer: &'a mut [u64], check: Check<'a>, sink: Sink<'a>) -> Self {
        Self { buffer, filled: 0, flow: ControlFlow::Continue(()), check, sink }
    }

    /// Gives the caller's caller a chance to cancel.
    pub(crate) fn check(&mut self) {
        (self.check)();
    }

    /// The number of hashes that still fit into the chunk: at least one.
    pub(crate) fn free(&mut self) -> usize {
        if self.filled == self.buffer.len() {
            self.deliver();
        }
        self.buffer.len() - self.filled
    }

    /// Room for `count` hashes, at most a chunk, which the caller fills.
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

    /// Hands on the chunk, unless it is empty, and starts the next.
    pub(crate) fn deliver(&mut self) {
        self.check();
        if self.filled > 0 && self.is_wanted() {
            self.flow = (self.sink)(&mut self.buffer[..self.filled], self.check);
        }
        self.filled = 0;
    }

    /// True if further hashes are wanted; others are dropped.
    pub(crate) fn is_wanted(&self) -> bool {
        self.flow.is_continue()
    }
}
