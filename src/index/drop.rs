//! `minlsh_drop_index()`.

use pgrx::pg_sys::Datum;

use crate::error::Result;
use crate::index::create::check_owner;
use crate::index::definition::Index;
use crate::index::home::borrow_rights;
use crate::index::{registry, triggers};
use crate::pg::call::{Call, sql_function};
use crate::pg::names::quoted;
use crate::pg::relation::{Lock, Relation};
use crate::pg::spi::Session;

sql_function!(minlsh_drop_index, drop_index);

fn drop_index(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else {
        return Ok(None);
    };
    let index = registry::find(call.function(), Some(name))?;
    check_owner(index.relation)?;
    remove(&index)?;
    Ok(Some(Datum::from(0)))
}

/// Drops triggers, side table and registry row. The caller's rights have been checked.
pub fn remove(index: &Index) -> Result<()> {
    // The user's table first, as every other user of an index locks it: no deadlock.
    let Some(relation) = Relation::open(index.relation, Lock::Exclusive) else { return Ok(()) };
    {
        // Not the side table's owner: ALTER TABLE ... OWNER TO leaves that behind.
        let _rights = borrow_rights(relation.owner);
        let session = Session::open();
        let table = index.relation_name();
        for trigger in triggers::existing(&session, &index.home, index.relation, &index.name)? {
            session.run(&format!("DROP TRIGGER {} ON {table}", quoted(&trigger.name)))?;
        }
    }
    {
        let _rights = borrow_rights(index.owner);
        Session::open().run(&format!("DROP TABLE {}", index.storage_name()))?;
    }
    registry::remove(index)
}
