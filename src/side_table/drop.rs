//! `minlsh_drop_index()`.

use pgrx::pg_sys::{Datum, Oid};

use crate::error::{Result, invalid_parameter, not_supported};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::table_of_index;
use crate::pg::dependency::{self, Object};
use crate::pg::names::{regclass_literal, relation_name, visible_name};
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::side_table::arguments::{check_owner, no_such_relation};
use crate::side_table::find::{self, FoundSideTable};
use crate::side_table::{owner, watch};

sql_function!(minlsh_drop_index, drop_index);

fn drop_index(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    // The documents first, as every other user of an index locks them: no deadlock.
    if let Some(documents) = Open::relation(found.documents, Lock::Exclusive) {
        owner::follow(found.watch.storage, &documents);
        check_owner(found.watch.storage)?;
        if !watch::is_linked(found.documents, &found.watch) {
            watch::link(&documents, &found.watch);
        }
    }
    dependency::drop_restricted(Object::Relation(found.watch.storage));
    Ok(Some(Datum::from(0)))
}

/// The side table that is named: by itself, by the index of its signatures, or by its table if that
/// has one only. It may be unsound.
pub fn the_only(name: Oid) -> Result<FoundSideTable> {
    let mut found = find::all(name, Lock::Read);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(missing(name)),
        count => {
            let side_tables: Vec<String> =
                found.iter().map(|found| regclass_literal(found.watch.storage)).collect();
            let table = relation_name(name);
            Err(invalid_parameter(format!("table \"{table}\" has {count} minlsh indexes"))
                .set_hint(format!("Name one of them: {}.", side_tables.join(", "))))
        }
    }
}

fn missing(name: Oid) -> pgrx::pg_sys::panic::ErrorReport {
    let relation = relation_name(name);
    if relation.is_empty() {
        return no_such_relation(name);
    }
    if let Some(native) = native_index(name) {
        let native = visible_name(native);
        return not_supported(format!("\"{relation}\" has no side table"))
            .set_hint(format!("Use REINDEX INDEX {native}, or DROP INDEX {native}."));
    }
    crate::error::error(
        pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("\"{relation}\" has no side table"),
    )
    .set_hint(format!(
        "Create one with SELECT minlsh_create_index({}, 'column');",
        regclass_literal(name)
    ))
}

/// An index of type minlsh that a table has itself, or that `relation` is.
pub fn native_index(relation: Oid) -> Option<Oid> {
    let open = Open::relation(relation, Lock::Read)?;
    let table = match open.class().relkind as u8 {
        b'i' | b'I' => table_of_index(relation),
        _ => relation,
    };
    let native = |index: &crate::pg::open_index::OpenIndex| index.access_method() == "minlsh";
    let indexes = Open::relation(table, Lock::Read)?.indexes(Lock::Read);
    let mut oids = indexes.iter().filter(|index| native(index)).map(|index| index.oid());
    if table == relation { oids.next() } else { oids.find(|oid| *oid == relation) }
}
