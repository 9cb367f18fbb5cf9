//! `minlsh_reindex()`: the same index, built anew from the table as it is now.

use pgrx::pg_sys::{Datum, Oid};

use crate::error::Result;
use crate::index::build::{Blueprint, build, rebuild};
use crate::index::create::{check_owner, needs_row_triggers, open_table};
use crate::index::definition::Index;
use crate::index::home::borrow_rights;
use crate::index::registry::Entry;
use crate::index::triggers::{self, Firing};
use crate::index::{drop, registry};
use crate::pg::call::{Call, sql_function};
use crate::pg::names::relation_name;
use crate::pg::relation::{Lock, Relation};
use crate::pg::spi::{Access, Parameter, Session};

sql_function!(minlsh_reindex, reindex);

fn reindex(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else {
        return Ok(None);
    };
    let (entry, index) = registry::find_to_mend(call.function(), name)?;
    check_owner(entry.relation)?;
    let index = index?;
    let relation = open_table(index.relation)?;
    let firing = firing(&index, &relation)?;
    anew(&entry, &index, &relation, firing).map(|storage| Some(Datum::from(storage)))
}

/// The triggers that the index has; but for each row, if the table has become a partition or an
/// inheritance child since.
fn firing(index: &Index, relation: &Relation) -> Result<Firing> {
    let _rights = borrow_rights(index.home.registry_owner);
    let session = Session::open();
    let existing = triggers::existing(&session, &index.home, index.relation, &index.name)?;
    Ok(match Firing::of_existing(&existing) {
        Firing::Statement if needs_row_triggers(&session, relation)? => Firing::Row,
        firing => firing,
    })
}

fn anew(entry: &Entry, index: &Index, relation: &Relation, firing: Firing) -> Result<Oid> {
    // Nobody writes with the rights of the table's owner what is still another's.
    if index.owner == relation.owner && is_sound(index)? {
        // The user's table first, as every other user of an index locks it: no deadlock.
        Relation::open(relation.oid, Lock::Exclusive);
        drop::remove_triggers(entry, relation)?;
        rebuild(index, relation, firing)?;
        return Ok(index.storage);
    }
    let blueprint = Blueprint {
        name: Some(relation_name(index.storage)),
        key: index.key.name.clone(),
        body: index.body.name.clone(),
        settings: index.settings.clone(),
        firing,
    };
    drop::remove(entry)?;
    build(&index.home, relation, &blueprint)
}

/// Whether the side table has its columns and its primary key.
fn is_sound(index: &Index) -> Result<bool> {
    let has_columns = Relation::open(index.storage, Lock::Read)
        .is_some_and(|table| registry::is_side_table(&table, Some(index.key.type_oid)));
    let session = Session::open();
    let key = session.query(
        "SELECT FROM pg_catalog.pg_index i, pg_catalog.pg_attribute a \
         WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisprimary AND i.indisvalid \
         AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 AND a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
         AND a.attnum OPERATOR(pg_catalog.=) i.indkey[0] AND a.attname OPERATOR(pg_catalog.=) 'doc_id'",
        &[Parameter::oid(index.storage)],
        Access::Write,
    )?;
    Ok(has_columns && !key.is_empty())
}
