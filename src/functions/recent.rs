//! What a session made for the last configurations that it worked with.

/// How many are kept: a query or a trigger works with one, rarely two or three (tables with
/// several indexes).
const KEPT: usize = 4;

/// The values used last, the most recent at the end. They are so few that looking at each is
/// quicker than a hash.
pub(super) struct Recent<T>(Vec<T>);

impl<T> Recent<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes a value out. Who gives it back when the work is done leaves nothing half-done for the
    /// next call: a cancelled one drops it.
    pub(super) fn take(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        self.0.iter().rposition(wanted).map(|at| self.0.remove(at))
    }

    /// Keeps a value, in place of the one that was used least recently.
    pub(super) fn keep(&mut self, value: T) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(value);
    }
}
