//! `minlsh_capture()`, the trigger function: notes the keys of written rows.
//!
//! The [`Record`] names the queue, the key, and the columns of the index.

use crate::clusters::tables::{CAPTURE, ChangeQueue};
use crate::clusters::tracked::members_beside;
use crate::options::queue_warning;
use crate::pg::relation::Column;
use crate::pg::trigger::{self, Event, Fired, Record, Trigger};
use crate::prelude::*;

sql_function!(minlsh_capture, capture);

fn capture(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(misused("was not called by trigger manager"));
    };
    let Some(documents) = Open::relation(fired.relation(), Lock::Held) else { return Ok(None) };
    match (fired.event(), fired.for_each_row(), fired.is_after()) {
        (Event::Truncate, false, true) => truncated(&fired, &documents)?,
        (_, true, true) => {
            // SAFETY: the function always asks for this type, and only here.
            let kept: &mut Option<CapturedStatement> = unsafe { call.kept() };
            let statement = match kept {
                Some(statement) => statement,
                None => kept.insert(CapturedStatement::begin(&documents, &fired.trigger())?),
            };
            statement.row(&documents, &fired)?;
        }
        _ => return Err(misused("must be fired after each row, or after TRUNCATE")),
    }
    Ok(Some(Datum::from(0)))
}

fn misused(problem: &str) -> SqlError {
    trigger::misused(CAPTURE, problem, "minlsh_track_clusters()")
}

/// Notes that all documents are gone, by a row without a key.
fn truncated(fired: &Fired, documents: &Open) -> Result<()> {
    if let Some(queue) = fired.trigger().tied_to
        && let Some(queue) = ChangeQueue::to_write(queue, documents, None)?
    {
        queue.put(None, None);
    }
    Ok(())
}

struct CapturedStatement {
    record: Record,
    key: Column,
}

impl CapturedStatement {
    fn begin(documents: &Open, trigger: &Trigger) -> Result<Self> {
        let record = trigger.tied_to.and_then(|queue| Record::find(documents, CAPTURE, queue));
        let Some(record) = record else {
            return Err(misused("needs a queue in its condition, and the columns that matter in UPDATE OF"));
        };
        let is_there = |column: &i16| documents.column(*column).is_some();
        let key = documents.column(record.key()).filter(|_| record.columns.iter().all(is_there));
        let key = key.ok_or_else(|| misused("is fired for columns that do not exist"))?;
        if trigger.oid == record.trigger {
            warn_of_length(record.beside);
        }
        Ok(Self { record, key })
    }

    /// Notes the keys of a row before and after a change.
    fn row(&self, documents: &Open, fired: &Fired) -> Result<()> {
        let (keys, key) = (fired.changed_keys(&self.record), Some(&self.key));
        if keys.iter().any(Option::is_some)
            && let Some(queue) = ChangeQueue::to_write(self.record.beside, documents, key)?
        {
            keys.into_iter().flatten().for_each(|key| queue.put(Some(key), None));
        }
        Ok(())
    }
}

/// Warns, once for a statement, of a long queue that is not refreshed.
fn warn_of_length(queue: Oid) {
    let Some(limit) = queue_warning() else { return };
    let Some(open) = Open::relation(queue, Lock::Write) else { return };
    if open.class().relkind as u8 != b'r' {
        return;
    }
    if u64::from(open.pages()) * u64::from(pg_sys::BLCKSZ) >= limit {
        let tracked = members_beside(queue).map_or_else(|| "...".to_owned(), regclass_literal);
        let (queue, limit) = (relation_name(queue), limit >> 10);
        warning(format!("queue \"{queue}\" exceeds minlsh.queue_warning, which is {limit} kB"))
            .set_detail(
                "Every row that is written adds to the queue, and the clusters have not been refreshed for a long \
                 time.",
            )
            .set_hint(format!(
                "Run SELECT minlsh_refresh_clusters({tracked}), or drop the tracked clusters with \
                 minlsh_untrack_clusters()."
            ))
            .report();
    }
}
