//! `minlsh_reindex()` and `minlsh_drop_index()`: what is done to a side table that there is.

use pgrx::pg_sys::{Datum, Oid};

use crate::error::Result;
use crate::index::reloptions;
use crate::pg::bulk::{empty, rebuild_indexes};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::function_schema;
use crate::pg::dependency::{self, Object};
use crate::pg::open::Open;
use crate::pg::relation::{Lock, Relation};
use crate::pg::restricted::restricted_to;
use crate::pg::rights::check_owner;
use crate::pg::trigger::triggers;
use crate::side_table::arguments::open_table;
use crate::side_table::create::{create_triggers, report};
use crate::side_table::find::the_only;
use crate::side_table::owner;
use crate::side_table::sign::fill;
use crate::side_table::storage::Storage;
use crate::side_table::watch::{self, Watch};

sql_function!(minlsh_reindex, reindex);
sql_function!(minlsh_drop_index, drop_index);

/// The same index, built again from the table as it is now. The side table keeps its name, its place and its grants,
/// and what depends on it.
fn reindex(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    let side = found.side?;
    let documents = open_table(found.documents)?;
    let _rights = restricted_to(documents.owner);
    let columns = (side.key.raw_name.as_c_str(), side.body.raw_name.as_c_str());
    let options = {
        let Some(open) = Open::relation(documents.oid, Lock::Held) else { return Ok(None) };
        let storage = Storage::open(side.storage, &open, side.key.type_oid, Lock::Exclusive)?;
        // SAFETY: an open index of type minlsh: ALTER INDEX SET may have changed its options.
        unsafe { reloptions::wanted(storage.signature_index().raw())? }
    };
    let count = {
        let Some(table) = Open::relation(side.storage, Lock::Held) else { return Ok(None) };
        empty(&table, documents_persistence(&table, documents.persistence));
        fill(&table, &documents, columns, &options)?
    };
    rebuild_indexes(side.storage, 0);
    renew_triggers(function_schema(call.function()), &documents, &found.watch, columns)?;
    report(side.storage, &documents.name, count, &options);
    Ok(Some(Datum::from(side.storage)))
}

/// That of the documents; a temporary table stays one.
fn documents_persistence(side: &Open, documents: u8) -> u8 {
    let own = side.class().relpersistence as u8;
    if own == b't' || documents == b't' { own } else { documents }
}

/// Drops the triggers, some of which may be missing, disabled or not ours, and makes them again.
fn renew_triggers(
    extension: Oid,
    documents: &Relation,
    watch: &Watch,
    columns: (&std::ffi::CStr, &std::ffi::CStr),
) -> Result<()> {
    let (Some(table), Some(side)) =
        (Open::relation(documents.oid, Lock::Held), Open::relation(watch.storage, Lock::Held))
    else {
        return Ok(());
    };
    if !watch::is_linked(documents.oid, watch) {
        watch::link(&table, watch);
    }
    let of_side: Vec<Oid> = triggers(&side)
        .into_iter()
        .filter(|trigger| trigger.function == watch.trigger.function)
        .map(|trigger| trigger.oid)
        .collect();
    drop((table, side));
    // What follows the record goes with it.
    dependency::delete_triggers([watch.trigger.oid]);
    dependency::delete_triggers(of_side.into_iter().filter(|trigger| dependency::exists(*trigger)));
    create_triggers(extension, documents, watch.storage, columns)?;
    if let Some((documents, watch)) = watch::documents_of(watch.storage, Lock::Held) {
        watch::link(&documents, &watch);
    }
    Ok(())
}

fn drop_index(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    // The documents first, as every other user of an index locks them: no deadlock.
    if let Some(documents) = Open::relation(found.documents, Lock::Exclusive) {
        owner::follow(found.watch.storage, &documents)?;
        check_owner(found.watch.storage)?;
        if !watch::is_linked(found.documents, &found.watch) {
            watch::link(&documents, &found.watch);
        }
    }
    dependency::drop_restricted(Object::Relation(found.watch.storage));
    Ok(Some(Datum::from(0)))
}
