//! `minlsh_documents()`: how many documents an index holds.

use pgrx::pg_sys::Datum;

use crate::error::Result;
use crate::index::registry;
use crate::pg::call::{Call, sql_function};
use crate::pg::role::act_as;
use crate::pg::spi::{Access, Session};
use crate::query::access;

sql_function!(minlsh_documents, documents);

fn documents(call: &Call) -> Result<Option<Datum>> {
    // NULL rather than an error: the view minlsh_indexes is for everybody.
    let Some(index) = registry::find_sound(call.function(), call.oid(0))? else {
        return Ok(None);
    };
    if access::check(&index).is_err() {
        return Ok(None);
    }
    let _rights = act_as(index.owner);
    let sql = format!("SELECT pg_catalog.count(*) FROM {} AS s", index.rows_of_storage());
    let session = Session::open();
    let count = session.query(&sql, &[], Access::Read)?.int8(0, 1);
    Ok(Some(Datum::from(count)))
}
