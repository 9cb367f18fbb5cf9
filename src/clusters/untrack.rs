//! `minlsh_untrack_clusters()`: drops the tables of tracked clusters, and the triggers with them.

use pgrx::pg_sys::Datum;

use crate::clusters::tracked::Located;
use crate::error::Result;
use crate::pg::call::{Call, sql_function};
use crate::pg::dependency::{self, Object};
use crate::pg::relation::Lock;
use crate::pg::rights::check_owner;

sql_function!(minlsh_untrack_clusters, untrack_clusters);

/// `minlsh_untrack_clusters(tracked) → void`
fn untrack_clusters(call: &Call) -> Result<Option<Datum>> {
    let Some(members) = call.oid(0) else { return Ok(None) };
    // The documents first, as a refresh locks them: no deadlock.
    let tracked = Located::find(members, Lock::Exclusive)?;
    let oids = tracked.oids;
    for table in [oids.members, oids.list, oids.log, oids.queue, oids.apart] {
        check_owner(table)?;
    }
    tracked.link_triggers();
    for table in [oids.apart, oids.queue, oids.log, oids.list, oids.members] {
        dependency::drop_restricted(Object::Relation(table));
    }
    Ok(Some(Datum::from(0)))
}
