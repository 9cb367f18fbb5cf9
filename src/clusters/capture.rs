//! `minlsh_capture()`, the trigger function: notes the keys of rows that are written.
//!
//! A trigger for each row of the documents is the record of what is tracked: its condition names the
//! queue, UPDATE OF the key and the columns that the index is made of. A second one sees to columns that
//! another trigger changed in an UPDATE that did not name them. Row triggers, because statement triggers
//! miss what is written to a partition by its name, and what logical replication applies. A statement
//! trigger notes TRUNCATE.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;

use crate::clusters::tables::Queue;
use crate::error::{Result, SqlError, error, warning};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::c_function;
use crate::pg::names::{regclass_literal, relation_name};
use crate::pg::open::Open;
use crate::pg::relation::{Column, Lock};
use crate::pg::row::Row;
use crate::pg::trigger::{Event, Fired, Trigger, triggers};
use crate::settings;

sql_function!(minlsh_capture, capture);

/// The columns of the documents that matter.
#[derive(Clone, Debug)]
pub struct Record {
    /// The trigger that says so.
    pub trigger: Oid,
    /// The queue.
    pub queue: Oid,
    /// The key, then the columns that the index is made of.
    pub columns: Vec<i16>,
}

impl Record {
    /// Reads what `trigger` records, if it is one that does. Its function is ours.
    fn of(trigger: &Trigger) -> Option<Self> {
        let is_record =
            trigger.is_after_row() && trigger.is_for_all_rows() && !trigger.columns.is_empty();
        let columns = trigger.columns.clone();
        is_record.then_some(Self { trigger: trigger.oid, queue: trigger.tied_to?, columns })
    }
}

/// The records of what is tracked of an open table, also as a partition.
pub fn records(documents: &Open) -> Vec<Record> {
    let ours = triggers(documents).into_iter().filter(|trigger| is_capture(trigger.function));
    ours.filter_map(|trigger| Record::of(&trigger)).collect()
}

/// True if a function is `minlsh_capture()`: only a superuser can make one that runs our code.
pub fn is_capture(function: Oid) -> bool {
    c_function(function).is_some_and(|symbol| symbol == b"minlsh_capture")
}

fn capture(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(misused("was not called by trigger manager"));
    };
    let Some(documents) = Open::relation(fired.relation(), Lock::Held) else { return Ok(None) };
    match (fired.event(), fired.for_each_row(), fired.is_after()) {
        (Event::Truncate, false, true) => truncated(&documents)?,
        (event, true, true) => {
            // SAFETY: nothing else is kept, and it is asked for here only.
            let statement: &mut Option<Statement> = unsafe { call.kept() };
            if statement.is_none() {
                *statement = Some(Statement::begin(&documents, &fired.trigger())?);
            }
            if let Some(statement) = statement {
                statement.row(&documents, &fired, event)?;
            }
        }
        _ => return Err(misused("must be fired after each row, or after TRUNCATE")),
    }
    Ok(Some(Datum::from(0)))
}

fn misused(problem: &str) -> SqlError {
    let message = format!("trigger function minlsh_capture {problem}");
    error(PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, message)
        .set_hint("Use minlsh_track_clusters(), which creates the triggers.")
}

/// All documents are gone: a row without a key says so.
fn truncated(documents: &Open) -> Result<()> {
    for record in records(documents) {
        if let Some(queue) = Queue::to_write(record.queue, documents)? {
            queue.note(None);
        }
    }
    Ok(())
}

/// The state that the rows of one statement share.
struct Statement {
    record: Record,
    key: Column,
    others: Vec<Column>,
    /// True if the record sees to updates that name one of its columns.
    is_second: bool,
}

impl Statement {
    fn begin(documents: &Open, trigger: &Trigger) -> Result<Self> {
        let queue = trigger.tied_to;
        let mut records =
            records(documents).into_iter().filter(|record| Some(record.queue) == queue);
        let Some(record) = records.next() else {
            return Err(misused(
                "needs a queue in its condition, and the columns that matter in UPDATE OF",
            ));
        };
        let column = |number: &i16| {
            let mut attributes = documents.attributes();
            attributes.find(|a| a.attnum == *number && !a.attisdropped).map(Column::of)
        };
        let mut columns: Vec<Column> = record.columns.iter().filter_map(column).collect();
        if columns.len() != record.columns.len() {
            return Err(misused("is fired for columns that do not exist"));
        }
        let key = columns.remove(0);
        let is_second = trigger.oid != record.trigger;
        if !is_second {
            warn_of_length(record.queue);
        }
        Ok(Self { record, key, others: columns, is_second })
    }

    /// Notes the key of a row before and after a change.
    fn row(&self, documents: &Open, fired: &Fired, event: Event) -> Result<()> {
        if self.is_second
            && (event != Event::Update
                || self.record.columns.iter().any(|column| fired.names(*column)))
        {
            return Ok(());
        }
        let (old, new) = (fired.old_row(), fired.new_row());
        let value = |row: &Option<Row>, column: &Column| row.as_ref()?.value(column.number);
        let same = |column: &Column| fired.is_unchanged(column.number);
        let same_key = same(&self.key);
        if same_key && self.others.iter().all(same) {
            return Ok(());
        }
        let Some(queue) = Queue::to_write(self.record.queue, documents)? else { return Ok(()) };
        queue.check_key(documents, &self.key)?;
        if let (Some(old), false) = (value(&old, &self.key), same_key) {
            queue.note(Some(old));
        }
        if let Some(new) = value(&new, &self.key) {
            queue.note(Some(new));
        }
        Ok(())
    }
}

/// A queue that nobody empties grows: whoever writes is warned, once for a statement.
fn warn_of_length(queue: Oid) {
    let Some(limit) = settings::queue_warning() else { return };
    let Some(open) = Open::relation(queue, Lock::Write) else { return };
    if open.class().relkind as u8 != b'r' {
        return;
    }
    if u64::from(open.pages()) * u64::from(pg_sys::BLCKSZ) >= limit {
        let tracked = relation_name(queue).trim_end_matches("_queue").to_owned();
        let (queue, limit) = (relation_name(queue), limit >> 10);
        warning(format!("queue \"{queue}\" exceeds minlsh.queue_warning, which is {limit} kB"))
            .set_detail(
                "Every row that is written adds to the queue, and the clusters have not been \
                 refreshed for a long time.",
            )
            .set_hint(format!(
                "Run SELECT minlsh_refresh_clusters({}), or drop the tracked clusters with \
                 minlsh_untrack_clusters().",
                regclass_literal(open.oid()).replace(&queue, &tracked)
            ))
            .report(PgLogLevel::WARNING);
    }
}
