//! `minlsh_create_index_concurrently()`: builds an index while others write the table.
//!
//! 1. In one short transaction, once no writer is at work: an empty side table, its indexes, the
//!    triggers, and a row in the registry that says that the index is not valid yet.
//! 2. The documents, in batches, each committed ([`backfill`](crate::index::backfill)).
//! 3. The index is valid.
//!
//! Stopped at any point, it leaves an index that is kept up to date but not valid. The same call
//! again finds it and goes on: what is in the side table is right and is left alone.

use std::time::Duration;

use pgrx::pg_sys::{Datum, Oid};

use crate::error::{Result, invalid_parameter};
use crate::index::backfill::Backfill;
use crate::index::build::{Blueprint, Fill, make, report};
use crate::index::create::{blueprint, check_owner, open_table, table};
use crate::index::definition::Index;
use crate::index::home::{Home, borrow_rights};
use crate::index::progress::Progress;
use crate::index::registry;
use crate::index::triggers::{self, Firing};
use crate::pg::call::{Call, sql_function};
use crate::pg::names::relation_name;
use crate::pg::relation::{BuildLock, Lock, lock_patiently};
use crate::pg::spi::{Access, Session};
use crate::pg::transaction::Transactions;

sql_function!(minlsh_create_index_concurrently, create_index_concurrently);

/// How long to look for a moment without writers before queueing for one.
const PATIENCE: Duration = Duration::from_secs(10);

fn create_index_concurrently(call: &Call) -> Result<Option<Datum>> {
    let transactions = Transactions::of(call, "minlsh_create_index_concurrently")?;
    let home = Home::of(call.function());
    let relation = table(call)?;
    let batch = call.int4(16).unwrap_or(0);
    if batch < 1 {
        return Err(invalid_parameter(format!("batch must be at least 1, not {batch}"))
            .set_hint("It is how many documents are committed at a time."));
    }
    transactions.run(|| check_owner(relation))?;
    let lock = BuildLock::take(relation);
    let progress = transactions.run(|| Progress::start(&home, relation))?;
    let storage = transactions.run(|| {
        lock_patiently(relation, Lock::HoldWriters, PATIENCE);
        let relation = open_table(relation)?;
        let blueprint = blueprint(call, &relation)?;
        match unfinished(&home, relation.oid, &blueprint)? {
            Some(storage) => Ok(storage),
            None => make(&home, &relation, &blueprint, Fill::Later).map(|(storage, _)| storage),
        }
    })?;
    let find = || -> Result<std::rc::Rc<Index>> {
        check_owner(relation)?;
        registry::find(call.function(), Some(storage))
    };
    transactions.run(|| {
        let (done, total) = count(&*find()?)?;
        progress.filling(storage, done, total)
    })?;
    let mut backfill = Backfill::new(batch);
    loop {
        let filled = transactions.run(|| {
            let filled = backfill.next(&*find()?)?;
            progress.advance(filled.documents as i64)?;
            Ok(filled)
        })?;
        if filled.last {
            break;
        }
    }
    transactions.run(|| {
        let index = find()?;
        {
            let _rights = borrow_rights(index.owner);
            Session::open().run(&format!("ANALYZE {}", index.storage_name()))?;
        }
        registry::set_valid(&home, storage)?;
        progress.end()?;
        let (documents, _) = count(&index)?;
        report(storage, &relation_name(relation), documents as usize, &index.settings)
    })?;
    drop(lock);
    Ok(None)
}

/// The side table of an index that was begun as it is asked for now.
fn unfinished(home: &Home, relation: Oid, blueprint: &Blueprint) -> Result<Option<Oid>> {
    let session = Session::open();
    for index in registry::unfinished(home, relation)? {
        let existing = triggers::existing(&session, home, relation, &index.name)?;
        let named = |name: &String| *name == relation_name(index.storage);
        if index.key.name == blueprint.key
            && index.body.name == blueprint.body
            && index.settings == blueprint.settings
            && Firing::of_existing(&existing) == blueprint.firing
            && blueprint.name.as_ref().is_none_or(named)
        {
            index.check_version()?;
            return Ok(Some(index.storage));
        }
    }
    Ok(None)
}

/// How many documents are in the index, and in the table.
fn count(index: &Index) -> Result<(i64, i64)> {
    let _rights = borrow_rights(index.owner);
    let session = Session::open();
    let rows = session.query(
        &format!(
            "SELECT (SELECT count(*) FROM {}), (SELECT count(*) FROM {})",
            index.storage_name(),
            index.source().table()
        ),
        &[],
        Access::Write,
    )?;
    Ok((rows.int8(0, 1), rows.int8(0, 2)))
}
