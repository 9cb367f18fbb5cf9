//! `minlsh_options()`, the rows of the view `minlsh_indexes`, and the warning of an update.

use crate::clusters::tracked::waiting;
use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::index::stored_options::{self, is_out_of_reach};
use crate::lookup::find;
use crate::options::Versions;
use crate::pg::relation::{self, inheritors};
use crate::pg::rights;
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::{self, SideTable};

sql_function!(minlsh_options, of_index);
sql_function!(minlsh_describe, describe);
sql_function!(minlsh_warn_reindex, warn_reindex);

/// The kind of an index of the access method.
const INDEX: &str = "index";

/// `minlsh_options(index) → jsonb`: the options with which it was built.
fn of_index(call: &Call) -> Result<Option<Datum>> {
    call.oid(0).map_or(Ok(()), rights::check_before_reading)?;
    let of_passages = call.oid(0).and_then(Info::open).filter(|info| info.kind == Kind::Passage);
    if let Some(info) = of_passages {
        return Ok(Some(json(&stored_options::to_json(&*info.current_options()?)?)?));
    }
    let target = find::required(call, 0)?;
    Ok(Some(json(&stored_options::to_json(&target.options)?)?))
}

/// `minlsh_describe(index) → (storage, relation, kind, key, body, valid, options, reindex_reason, queued,
/// queued_since)`: for an index of the access method in any state. `key` and `body` are numbers of columns of the
/// table: for a side table its key and text, otherwise `body` is the document column. Returns NULLs for an unsound side
/// table, and no options unless the caller may read them.
fn describe(call: &Call) -> Result<Option<Datum>> {
    let described = relation::without_keeping_locks(|| {
        let info = call.oid(0).and_then(Info::open)?;
        // A DROP removes the table last.
        relation::lock(info.index.table, Lock::Read).then(|| Described::of(&info))
    });
    result_row(call, described.map_or([None; 10], |described| described.row)).map(Some)
}

/// `minlsh_warn_reindex() → bigint`: called at the end of update scripts. Counts the indexes of all owners.
fn warn_reindex(_call: &Call) -> Result<Option<Datum>> {
    let mut found = Vec::new();
    let all = relation::without_keeping_locks(|| -> Vec<Described> {
        let all = Info::oids_of_all().into_iter().filter_map(Info::open);
        all.map(|info| Described::of(&info)).collect()
    });
    for described in all {
        if let Some(reason) = described.outdated {
            let storage = described.storage;
            let statement = match described.kind {
                INDEX => format!("REINDEX INDEX {};", visible_name(storage)),
                _ => format!("SELECT minlsh_rebuild_side_table({});", regclass_literal(storage)),
            };
            found.push((format!("{}: {reason}.", visible_name(storage)), statement));
        }
    }
    let (reasons, statements): (Vec<String>, Vec<String>) = found.into_iter().unzip();
    if !statements.is_empty() {
        let needing = match statements.len() {
            1 => "1 minlsh index needs".to_owned(),
            count => format!("{count} minlsh indexes need"),
        };
        warning(format!("{needing} to be built again"))
            .set_detail(reasons.join("\n"))
            .set_hint(format!(
                "Run these statements. Until then, queries do not use the indexes.\n{}",
                statements.join("\n")
            ))
            .report();
    }
    Ok(Some(Datum::from(statements.len() as i64)))
}

/// An index as the view describes it.
struct Described {
    storage: Oid,
    kind: &'static str,
    /// The reason why it needs REINDEX.
    outdated: Option<String>,
    row: [Option<Datum>; 10],
}

impl Described {
    fn of(info: &Info) -> Self {
        let index = &info.index;
        let is_native = side_table::documents_of(index.table, Lock::Read).is_none();
        let (storage, kind) = if is_native { (index.oid, INDEX) } else { (index.table, "side table") };
        let [of_storage, of_kind] = [Datum::from(storage), text::write(kind)].map(Some);
        let (relation, key, body, is_readable) = if is_native {
            let kind = catalog::relation_kind(index.table);
            let key = Key::of_table(index.table, kind, info.document()).ok().map(|key| key.column);
            (index.table, key, info.document_place(), index.valid && info.is_readable())
        } else {
            let side = SideTable::find(index.oid).ok().and_then(|found| found.into_iter().next());
            let Some(SideTable { table, key, body, .. }) = side else {
                // An unsound side table.
                let valid = Some(Datum::from(false));
                let row = [of_storage, None, of_kind, None, None, valid, None, None, None, None];
                return Self { storage, kind, outdated: None, row };
            };
            let (key, body) = (key.number, body.number);
            (table.oid, Some(key), body, rights::may_read(table.oid, &[key, body]))
        };
        let (outdated, waiting) = (outdated(info), is_native.then(|| waiting(info)).flatten());
        let row = [
            of_storage,
            Some(Datum::from(relation)),
            of_kind,
            key.map(Datum::from),
            Some(Datum::from(body)),
            Some(Datum::from(index.valid)),
            is_readable.then(|| options_of(info)).flatten(),
            outdated.as_ref().map(|reason| text::write(reason)),
            waiting.map(|waiting| Datum::from(waiting.rows)),
            waiting.and_then(|waiting| waiting.since).map(Datum::from),
        ];
        Self { storage, kind, outdated, row }
    }
}

/// The reason why the loaded library does not use the entries of an index, or of a part of it.
fn outdated(info: &Info) -> Option<String> {
    if catalog::relation_kind(info.index.oid) == b'I' {
        let parts = inheritors(info.index.oid, Lock::Read).into_iter();
        let mut parts = parts.filter(|part| *part != info.index.oid).filter_map(Info::open);
        return parts.find_map(|part| {
            let reason = outdated(&part)?;
            Some(format!("partition index {}: {reason}", visible_name(part.index.oid)))
        });
    }
    match info.options() {
        Ok(options) => options.outdated.as_ref().map(Versions::difference),
        Err(_) if Open::relation(info.index.oid, Lock::Read).as_ref().is_some_and(is_out_of_reach) => None,
        Err(cause) => Some(cause.message().to_owned()),
    }
}

/// The options as JSON; `None` if they cannot be read.
fn options_of(info: &Info) -> Option<Datum> {
    json(&stored_options::to_json(&*info.options().ok()?).ok()?).ok()
}

fn json(text: &str) -> Result<Datum> {
    let text = text::c_string(text.as_bytes())?;
    // SAFETY: calls the input function of jsonb, with a string that ends with a NUL.
    Ok(unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(text.as_ptr()))]) }
        .unwrap_or(Datum::from(0)))
}
