//! `minlsh_check()`: proves that a side table equals its table, and lists every difference.

use std::cmp::Ordering;

use pgrx::pg_sys::{Datum, Oid};

use crate::error::Result;
use crate::index::create::{check_owner, needs_row_triggers};
use crate::index::definition::Index;
use crate::index::home::borrow_rights;
use crate::index::registry;
use crate::index::triggers::{self, Firing};
use crate::pg::call::{Call, sql_function};
use crate::pg::relation::{Lock, Relation, owner_of};
use crate::pg::rows::ResultRows;
use crate::pg::spi::{Access, Parameter, Session};
use crate::pg::text;

sql_function!(minlsh_check, check);

fn check(call: &Call) -> Result<Option<Datum>> {
    let index = registry::find(call.function(), call.oid(0))?;
    check_owner(index.relation)?;
    let result = ResultRows::start(call)?;
    let _rights = borrow_rights(index.owner);
    let session = Session::open();
    structure(&index, &session, &result)?;
    documents(&index, &session, &result)?;
    Ok(None)
}

/// What must hold of the index as a whole; its rows have no doc_id.
fn structure(index: &Index, session: &Session, result: &ResultRows) -> Result<()> {
    let problem = |text: &str| result.push(&[None, Some(text::write(text))]);
    if let Err(report) = index.check_version() {
        problem(report.message());
    }
    if !index.valid {
        problem("the index is not finished: it lacks documents that were in the table before it");
    }
    if owner_of(index.relation) != index.owner {
        problem("the side table is not owned by the owner of the table");
    }
    let (table, side_table) =
        (Relation::open(index.relation, Lock::Read), Relation::open(index.storage, Lock::Read));
    let (Some(table), Some(side_table)) = (table, side_table) else { return Ok(()) };
    if table.persistence != side_table.persistence {
        let unlogged = if table.persistence == b'u' { "table" } else { "side table" };
        problem(&format!("only the {unlogged} is unlogged"));
    }
    let existing = triggers::existing(session, &index.home, index.relation, &index.name)?;
    let firing = Firing::of_existing(&existing);
    let expected = firing.trigger_count(&table);
    match expected.cmp(&existing.len()) {
        Ordering::Equal => {}
        Ordering::Greater => {
            problem(&format!("{} of {expected} triggers are missing", expected - existing.len()));
        }
        Ordering::Less => problem(&format!("{} triggers instead of {expected}", existing.len())),
    }
    if firing == Firing::Statement && needs_row_triggers(session, &table)? {
        problem("the triggers miss what is written through the parent of the table");
    }
    for trigger in existing {
        if !matches!(trigger.enabled.as_str(), "O" | "A") {
            problem(&format!("trigger \"{}\" is disabled", trigger.name));
        }
    }
    let gin = session.query(
        "SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
         JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = $1 AND a.amname = 'gin' AND i.indisvalid",
        &[Parameter::oid(index.storage)],
        Access::Read,
    )?;
    if gin.is_empty() {
        problem("the GIN index over the bands is missing or invalid");
    }
    Ok(())
}

/// Signs every document again and compares.
fn documents(index: &Index, session: &Session, result: &ResultRows) -> Result<()> {
    let sql = || {
        format!(
            "SELECT coalesce(d.doc_id, s.doc_id)::pg_catalog.text, \
         CASE WHEN s.doc_id IS NULL THEN 'missing from the index' \
         WHEN d.doc_id IS NULL THEN 'indexed, but not in the table or without shingles' \
         WHEN d.signature IS DISTINCT FROM s.signature THEN 'signature differs from the text' \
         ELSE 'bands differ from the signature' END \
         FROM ({documents}) AS d FULL JOIN {storage} AS s ON d.doc_id {equals} s.doc_id \
         WHERE d.doc_id IS NULL OR s.doc_id IS NULL OR d.signature IS DISTINCT FROM s.signature \
         OR d.bands IS DISTINCT FROM s.bands ORDER BY coalesce(d.doc_id, s.doc_id)",
            documents = index.source().documents_query(),
            storage = index.rows_of_storage(),
            equals = index.key_equals,
        )
    };
    let plan = index.plan(session, ("check", Oid::INVALID), &[], sql)?;
    session.execute_into(&plan, &[], Access::Read, result)
}
