//! The rows that wait for a refresh: for the view `minlsh_indexes`.

use crate::clusters::capture::CAPTURE;
use crate::clusters::state::State;
use crate::clusters::tables::Queue;
use crate::clusters::tracked;
use crate::index::info::Info;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, is_owned_by};
use crate::pg::restricted::current_role;
use crate::pg::snapshot::Snapshot;
use crate::pg::trigger::Record;

/// Rows of a queue.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// The number of rows.
    pub rows: i64,
    /// The time when the transaction of the first of them began.
    pub since: Option<i64>,
}

/// Counts the keys that wait in the queues of the clusters that a locked index tracks; `None` if there are none, or the
/// table is not the caller's.
pub fn of_index(info: &Info) -> Option<Waiting> {
    let documents = Open::relation(info.index.table, Lock::Read)?;
    if !is_owned_by(documents.oid(), current_role()) {
        return None;
    }
    let records = Record::all(&documents, CAPTURE).into_iter();
    let found = records.filter_map(|record| {
        let is_linked = tracked::relations_linked_to(&record).contains(&info.index.oid);
        of_queue(&Queue::to_look_at(record.beside)?, &info.index.name, is_linked)
    });
    found.reduce(|a, b| Waiting {
        rows: a.rows + b.rows,
        since: a.since.into_iter().chain(b.since).min(),
    })
}

/// Counts what waits in a queue, if its clusters are those of the index of that name: a dump carries no link to it.
fn of_queue(queue: &Queue, index: &str, is_linked: bool) -> Option<Waiting> {
    let mut waiting = Waiting { rows: 0, since: None };
    let mut is_of_index = is_linked;
    let read = queue.each(&Snapshot::statement(), &mut |state, row| {
        match state {
            Some(text) => {
                is_of_index |= State::read(text, "").is_ok_and(|state| state.index == index);
            }
            None => {
                waiting.rows += 1;
                waiting.since = waiting.since.into_iter().chain(Queue::since(row)).min();
            }
        }
        Ok(())
    });
    (read.is_ok() && is_of_index).then_some(waiting)
}
