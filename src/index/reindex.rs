//! `minlsh_reindex()`: the same index, built anew from the table as it is now.

use pgrx::pg_sys::Datum;

use crate::error::Result;
use crate::index::build::{Blueprint, build};
use crate::index::create::{check_owner, open_table};
use crate::index::home::borrow_rights;
use crate::index::triggers::{self, Firing};
use crate::index::{drop, registry};
use crate::pg::call::{Call, sql_function};
use crate::pg::names::relation_name;
use crate::pg::spi::Session;

sql_function!(minlsh_reindex, reindex);

fn reindex(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else {
        return Ok(None);
    };
    let index = registry::find(call.function(), Some(name))?;
    check_owner(index.relation)?;
    let relation = open_table(index.relation)?;
    let firing = {
        let _rights = borrow_rights(index.home.registry_owner);
        let session = Session::open();
        let existing = triggers::existing(&session, &index.home, index.relation, &index.name)?;
        Firing::of_existing(&existing)
    };
    let blueprint = Blueprint {
        name: Some(relation_name(index.storage)),
        key: index.key.name.clone(),
        body: index.body.name.clone(),
        settings: index.settings.clone(),
        firing,
    };
    drop::remove(&index)?;
    build(&index.home, &relation, &blueprint).map(|storage| Some(Datum::from(storage)))
}
