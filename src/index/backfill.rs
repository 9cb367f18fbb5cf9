//! Brings the documents that were in a table before its index into the side table, while others
//! write: batch by batch in the order of the keys, each in a transaction of its own.
//!
//! The triggers are in place already: whoever writes a document writes its row in the side table
//! after it (one without shingles has its row inserted and deleted, as long as the index is not
//! valid). A batch reads documents, inserts the rows that are missing, and then looks at the
//! documents again. So of a batch and a writer of the same document, the first at the row in the
//! side table makes the other wait until it commits. If that was the batch, the writer has the
//! last word. If it was the writer, the batch finds its row, or sees at the second look that the
//! version of the document that it read is gone, and makes the row anew.
//!
//! While it holds rows, a batch waits for nobody, or two could wait for each other: where a
//! writer is in its way it gives up, and its documents are done one at a time.

use std::collections::HashSet;

use pgrx::pg_sys::{self, Oid};

use crate::error::Result;
use crate::index::definition::Index;
use crate::index::home::borrow_rights;
use crate::index::registry::greater_operator;
use crate::index::sync::Writer;
use crate::pg::names::{quoted, type_name};
use crate::pg::spi::{Access, Session};
use crate::pg::text;
use crate::pg::transaction::unless_locked;

/// How long a batch waits for a row that somebody is writing.
const LOCK_TIMEOUT: &str = "20ms";

/// Identifies a version of a row: a change of any kind makes another.
const VERSION: &str = "pg_catalog.format('%s %s %s', d.tableoid, d.ctid, d.xmin)";

/// Where a backfill is.
pub struct Backfill {
    /// The key of the last document done, as text; `None` before the first.
    last: Option<String>,
    batch: i32,
    /// How many documents are still to be done one at a time.
    contended: i32,
}

/// What a batch has done.
pub struct Batch {
    /// Documents looked at.
    pub documents: usize,
    /// Whether there are no more.
    pub last: bool,
}

impl Backfill {
    /// From the first key on, `batch` documents at a time.
    pub fn new(batch: i32) -> Self {
        Self { last: None, batch, contended: 0 }
    }

    /// Does the next batch.
    pub fn next(&mut self, index: &Index) -> Result<Batch> {
        if self.contended > 0 {
            self.contended -= 1;
            return self.fill(index, 1);
        }
        let done = unless_locked(|| {
            let rights = borrow_rights(index.owner);
            rights.settings.set("lock_timeout", LOCK_TIMEOUT);
            self.fill(index, self.batch)
        })?;
        // Nothing is lost: the next call starts at the same key.
        done.map_or_else(
            || {
                self.contended = self.batch;
                Ok(Batch { documents: 0, last: false })
            },
            Ok,
        )
    }

    fn fill(&mut self, index: &Index, limit: i32) -> Result<Batch> {
        let rights = borrow_rights(index.owner);
        // The next keys come from the key's own index, however large the table is.
        rights.settings.set("enable_seqscan", "off");
        rights.settings.set("enable_bitmapscan", "off");
        rights.settings.write_exact_text();
        let session = Session::open();
        let text = |value: &String| Some(text::write(value));
        let read = session.execute(
            &*self.read_plan(index, &session)?,
            &[Some(limit.into()), self.last.as_ref().and_then(text)],
            Access::Write,
        )?;
        let documents = read.len();
        if documents == 0 {
            return Ok(Batch { documents, last: true });
        }
        let last = read.text(documents - 1, 2)?;
        let again = session.execute(
            &*self.versions_plan(index, &session)?,
            &[self.last.as_ref().and_then(text), text(&last)],
            Access::Write,
        )?;
        let versions: Result<HashSet<String>> =
            (0..again.len()).map(|row| again.text(row, 1)).collect();
        let versions = versions?;
        let mut writer = Writer::new(index, &session)?;
        for row in 0..documents {
            let claimed = read.bool(row, 4);
            if let (true, Some(key)) = (claimed, read.datum(row, 1))
                && !versions.contains(&read.text(row, 3)?)
            {
                writer.refresh(key)?;
            }
        }
        self.last = Some(last);
        Ok(Batch { documents, last: documents < limit as usize })
    }

    /// Inserts the rows of the next documents that have none; gives their keys, the keys as
    /// text, the versions read, and whether a row was inserted.
    fn read_plan(
        &self,
        index: &Index,
        session: &Session,
    ) -> Result<std::rc::Rc<crate::pg::spi::Plan>> {
        let types = [pg_sys::INT4OID, pg_sys::TEXTOID];
        let purpose = if self.last.is_none() { "first batch" } else { "next batch" };
        let range = self.after(index, session, "$2")?;
        index.plan(session, (purpose, Oid::INVALID), &types, || {
            let storage = index.storage_name();
            let rest = format!(
                "WHERE {range} NOT EXISTS (SELECT FROM {storage} AS s WHERE s.doc_id {equals} d.{key}) \
                 ORDER BY d.{key} LIMIT $1",
                equals = index.key_equals,
                key = quoted(&index.key.name)
            );
            format!(
                "WITH document AS MATERIALIZED ({signed}), \
                 claimed AS (INSERT INTO {storage} (doc_id, signature, bands) \
                 SELECT d.doc_id, d.signature, d.bands FROM document AS d \
                 WHERE d.signature IS NOT NULL ON CONFLICT (doc_id) DO NOTHING RETURNING doc_id) \
                 SELECT d.doc_id, d.doc_id::pg_catalog.text, d.extra, EXISTS \
                 (SELECT FROM claimed AS c WHERE c.doc_id {equals} d.doc_id) \
                 FROM document AS d ORDER BY d.doc_id",
                signed = index.source().signed(VERSION, &rest),
                equals = index.key_equals,
            )
        })
    }

    /// The versions of the rows of the batch as they are now.
    fn versions_plan(
        &self,
        index: &Index,
        session: &Session,
    ) -> Result<std::rc::Rc<crate::pg::spi::Plan>> {
        let types = [pg_sys::TEXTOID, pg_sys::TEXTOID];
        let purpose = if self.last.is_none() { "first versions" } else { "next versions" };
        let range = self.after(index, session, "$1")?;
        let greater = greater_operator(session, index.key.type_oid)?;
        index.plan(session, (purpose, Oid::INVALID), &types, || {
            format!(
                "SELECT {VERSION} FROM {table} AS d WHERE {range} NOT d.{key} {greater} $2::{key_type}",
                table = index.source().table(),
                key = quoted(&index.key.name),
                key_type = type_name(index.key.type_oid),
            )
        })
    }

    /// The condition of coming after the last key done, which is `parameter`.
    fn after(&self, index: &Index, session: &Session, parameter: &str) -> Result<String> {
        if self.last.is_none() {
            return Ok(String::new());
        }
        Ok(format!(
            "d.{key} {greater} {parameter}::{key_type} AND",
            key = quoted(&index.key.name),
            greater = greater_operator(session, index.key.type_oid)?,
            key_type = type_name(index.key.type_oid),
        ))
    }
}
