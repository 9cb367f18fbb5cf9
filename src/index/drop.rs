//! `minlsh_drop_index()`.

use pgrx::pg_sys::Datum;

use crate::error::Result;
use crate::index::create::check_owner;
use crate::index::home::borrow_rights;
use crate::index::registry::{self, Entry};
use crate::index::triggers;
use crate::pg::call::{Call, sql_function};
use crate::pg::names::{qualified, quoted};
use crate::pg::relation::{Lock, Relation, owner_of};
use crate::pg::spi::Session;

sql_function!(minlsh_drop_index, drop_index);

fn drop_index(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else {
        return Ok(None);
    };
    let (entry, _) = registry::find_to_mend(call.function(), name)?;
    check_owner(entry.relation)?;
    remove(&entry)?;
    Ok(Some(Datum::from(0)))
}

/// Drops triggers, side table and registry row. The caller's rights have been checked.
pub fn remove(entry: &Entry) -> Result<()> {
    // The user's table first, as every other user of an index locks it: no deadlock.
    let Some(relation) = Relation::open(entry.relation, Lock::Exclusive) else { return Ok(()) };
    remove_triggers(entry, &relation)?;
    {
        let _rights = borrow_rights(owner_of(entry.storage));
        Session::open().run(&format!("DROP TABLE {}", qualified(entry.storage)))?;
    }
    registry::remove(entry)
}

/// Drops the triggers of an index on its table, which is locked.
pub fn remove_triggers(entry: &Entry, relation: &Relation) -> Result<()> {
    // Not the side table's owner: ALTER TABLE ... OWNER TO leaves that behind.
    let _rights = borrow_rights(relation.owner);
    let session = Session::open();
    let table = qualified(entry.relation);
    for trigger in triggers::existing(&session, &entry.home, entry.relation, &entry.name)? {
        session.run(&format!("DROP TRIGGER {} ON {table}", quoted(&trigger.name)))?;
    }
    Ok(())
}
