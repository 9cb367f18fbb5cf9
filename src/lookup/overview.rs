//! `minlsh_options()`, and what the view `minlsh_indexes` shows.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::clusters::waiting::{self, Waiting};
use crate::document::kind::Kind;
use crate::error::{Result, wrong_state};
use crate::index::info::Info;
use crate::index::stored_options;
use crate::lookup::find;
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog;
use crate::pg::names::cstring;
use crate::pg::relation::{self, Lock};
use crate::pg::result_rows::result_row;
use crate::pg::rights;
use crate::row_key::Key;
use crate::side_table::{self, SideTable};

sql_function!(minlsh_options, of_index);
sql_function!(minlsh_describe, describe);

/// `minlsh_options(index) → jsonb`: as it was built.
fn of_index(call: &Call) -> Result<Option<Datum>> {
    let of_passages = call.oid(0).and_then(Info::open).filter(|info| info.kind == Kind::Passage);
    if let Some(info) = of_passages {
        return json(&stored_options::to_json(&*info.current_options()?)?).map(Some);
    }
    let target = find::required(call, 0)?;
    let options = &target.options;
    if !options.current {
        return Err(
            wrong_state("the index was built by another version of minlsh").set_hint("REINDEX it.")
        );
    }
    json(&stored_options::to_json(options)?).map(Some)
}

/// `minlsh_describe(index) → (storage, relation, kind, key, body, valid, options, queued, queued_since)`: of an index
/// of the access method, whatever state it is in. `key` and, of a side table, `body` are numbers of
/// columns of the table; of an index, `body` is that of its document column. Nothing of what is
/// not sound, and no options of what the caller may not read.
fn describe(call: &Call) -> Result<Option<Datum>> {
    let described = call.oid(0).and_then(Info::open).and_then(|info| {
        // The table goes last of all that a DROP removes.
        relation::lock(info.index.table, Lock::Read).then(|| {
            if side_table::is_one(info.index.table) {
                Described::of_side_table(&info)
            } else {
                Described::of_index(&info)
            }
        })
    });
    let number = |number: Option<i16>| number.map(Datum::from);
    let row = match described {
        None => [None; 9],
        Some(Described { storage, relation, kind, key, body, valid, options, waiting }) => [
            Some(Datum::from(storage)),
            relation.map(Datum::from),
            Some(crate::pg::text::write(kind)),
            number(key),
            number(body),
            Some(Datum::from(valid)),
            options.map(|options| json(&options)).transpose()?,
            waiting.map(|waiting| Datum::from(waiting.rows)),
            waiting.and_then(|waiting| waiting.since).map(Datum::from),
        ],
    };
    result_row(call, row).map(Some)
}

/// What the view shows of an index.
struct Described {
    storage: Oid,
    relation: Option<Oid>,
    kind: &'static str,
    key: Option<i16>,
    body: Option<i16>,
    valid: bool,
    options: Option<String>,
    waiting: Option<Waiting>,
}

impl Described {
    fn of_index(info: &Info) -> Self {
        let index = &info.index;
        let kind = catalog::relation_kind(index.table);
        let readable = index.valid && info.is_readable();
        Self {
            storage: index.oid,
            relation: Some(index.table),
            kind: "index",
            key: Key::of_table(index.table, kind, info.document()).ok().map(|key| key.column),
            body: Some(info.document_place()),
            valid: index.valid,
            options: readable.then(|| options_of(info)).flatten(),
            waiting: waiting::of_index(info),
        }
    }

    fn of_side_table(info: &Info) -> Self {
        let index = &info.index;
        let found = SideTable::find(index.oid).ok().and_then(|found| found.into_iter().next());
        let kind = "side table";
        let Some(side) = found else {
            let (storage, valid) = (index.table, false);
            return Self {
                storage,
                relation: None,
                kind,
                key: None,
                body: None,
                valid,
                options: None,
                waiting: None,
            };
        };
        let (key, body) = (side.key.number, side.body.number);
        let readable = rights::may_read(side.table.oid, &[key, body]);
        Self {
            storage: side.storage,
            relation: Some(side.table.oid),
            kind,
            key: Some(key),
            body: Some(body),
            valid: index.valid,
            options: readable.then(|| options_of(info)).flatten(),
            waiting: None,
        }
    }
}

/// As JSON; nothing if they cannot be read.
fn options_of(info: &Info) -> Option<String> {
    stored_options::to_json(&*info.options().ok()?).ok()
}

fn json(text: &str) -> Result<Datum> {
    let text = cstring(text);
    // SAFETY: the input function of jsonb, with a NUL-terminated string.
    Ok(unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(text.as_ptr()))])
    }
    .unwrap_or(Datum::from(0)))
}
