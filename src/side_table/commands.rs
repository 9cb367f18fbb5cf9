//! `minlsh_reindex()` and `minlsh_drop_index()`: what is done to a side table that there is.

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{Datum, Oid};

use crate::error::Result;
use crate::index::stored_options;
use crate::pg::bulk::{empty, rebuild_indexes};
use crate::pg::call::{Call, sql_function};
use crate::pg::catching::catching;
use crate::pg::dependency::{self, Object};
use crate::pg::names::visible_name;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::restricted::restricted_to;
use crate::pg::rights::check_owner;
use crate::pg::sql::Sql;
use crate::pg::trigger::triggers;
use crate::side_table::arguments::open_table;
use crate::side_table::create::report;
use crate::side_table::find::the_only;
use crate::side_table::owner;
use crate::side_table::sign::fill;
use crate::side_table::storage::Storage;
use crate::side_table::watch::{self, Watch};

sql_function!(minlsh_reindex, reindex);
sql_function!(minlsh_drop_index, drop_index);

/// Fills a side table again from the table as it is now, and enables its triggers.
fn reindex(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    let side = found.side?;
    let documents = open_table(found.documents)?;
    let _rights = restricted_to(documents.owner);
    let columns = (side.key.raw_name.as_c_str(), side.body.raw_name.as_c_str());
    let (options, count) = {
        let Some(open) = Open::relation(documents.oid, Lock::Held) else { return Ok(None) };
        let storage = Storage::open(side.storage, &open, side.key.type_oid, Lock::Exclusive)?;
        // ALTER INDEX SET may have changed its options.
        let options = stored_options::wanted(storage.signature_index().oid())?;
        let table = storage.rows.table;
        // Nobody has its indexes open when they get files of their own.
        drop(storage.rows.indexes);
        empty(&table);
        let count = fill(&table, &documents, columns, &options)?;
        (options, count)
    };
    rebuild_indexes(side.storage);
    enable_triggers(documents.oid, &found.watch)?;
    report(side.storage, &documents.name, count, &options);
    Ok(Some(Datum::from(side.storage)))
}

/// Enables the triggers of a side table as they were made, those of partitions included.
fn enable_triggers(documents: Oid, watch: &Watch) -> Result<()> {
    for table in [documents, watch.storage] {
        let open = Open::relation(table, Lock::Held);
        let mut ours = open.iter().flat_map(triggers).collect::<Vec<_>>();
        ours.retain(|trigger| {
            let others = trigger.tied_to.is_some_and(|tied| tied != watch.storage);
            trigger.function == watch.trigger.function && !trigger.is_copy && !others
        });
        drop(open);
        for trigger in ours {
            let always = table == documents || !trigger.is_truncate();
            let enable = if always { " ENABLE ALWAYS TRIGGER " } else { " ENABLE TRIGGER " };
            Sql::new("ALTER TABLE ").relation(table).text(enable).name(&trigger.name).run()?;
        }
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
    let storage = found.watch.storage;
    let dropped = catching(|| dependency::drop_restricted(Object::Relation(storage)));
    dropped.map_err(|complaint| {
        if !complaint.is(PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST) {
            return complaint.report();
        }
        let name = visible_name(storage);
        complaint.with_hint(format!("Use DROP TABLE {name} CASCADE to drop these too.")).report()
    })?;
    Ok(Some(Datum::from(0)))
}
