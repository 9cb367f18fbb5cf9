//! `minlsh_check()`: every difference between an index and its table.

use crate::clusters;
use crate::index;
use crate::index::info::Info;
use crate::index::partitions::{Missing, missing};
use crate::index::table_scan::Share;
use crate::pg::index::Index;
use crate::pg::relation::{self, inheritors, is_owned_by, leaves, owner_of};
use crate::pg::rights::{check_owner, check_owner_before, current_role, restricted_to};
use crate::prelude::*;
use crate::side_table;

set_function!(minlsh_check, check);

/// `minlsh_check(index, sample, sample_seed) → (doc_id, problem)`; NULL: all indexes that the caller owns.
fn check(call: &Call, result: &ResultRows) -> Result<()> {
    let share = call.float8(1).map(|part| share(part, call.int8(2).unwrap_or(0))).transpose()?;
    let Some(name) = call.oid(0) else {
        // Another session may have dropped some by now.
        for table in indexed_tables().into_iter().filter(|table| relation::lock(*table, Lock::Read)) {
            check_named(table, share, result)?;
        }
        return Ok(());
    };
    if check_named(name, share, result)? || is_indexed(name) {
        Ok(())
    } else {
        let name = relation_name(name);
        Err(undefined_object(format!("\"{name}\" is not a minlsh index and does not have one"))
            .set_hint("Create one with CREATE INDEX ON table USING minlsh (column)."))
    }
}

fn share(part: f64, seed: i64) -> Result<Share> {
    if part > 0.0 && part <= 1.0 {
        return Ok(Share::new(part, seed));
    }
    Err(invalid_parameter(format!("sample must be greater than 0 and at most 1, not {part}"))
        .set_hint("Pass 0.1 to check a tenth of the rows."))
}

/// The tables with an index that the caller may check.
fn indexed_tables() -> Vec<Oid> {
    let all = Info::oids_of_all().into_iter().map(catalog::table_of_index);
    let mut tables: Vec<Oid> = all
        .filter(|table| check_owner_before(*table).is_ok())
        .map(|table| {
            // A side table is checked with its documents.
            let documents = side_table::documents_of(table, Lock::Read);
            documents.map_or(table, |(documents, _)| documents.oid())
        })
        .filter(|table| is_owned_by(*table, current_role()))
        .collect();
    tables.sort_unstable_by_key(|table| table.to_u32());
    tables.dedup();
    tables
}

/// Checks the named index, or all indexes of the named table. Returns false if none of them has pages.
fn check_named(name: Oid, share: Option<Share>, result: &ResultRows) -> Result<bool> {
    if share.is_some() && clusters::tracked::Tracked::is_one(name) {
        let message = format!("\"{}\" has tracked clusters, which have no sample", relation_name(name));
        return Err(not_supported(message).set_hint("Check them as a whole, without sample. Writers go on meanwhile."));
    }
    if clusters::check::check(name, result)? {
        return Ok(true);
    }
    check_owner_before(name)?;
    let lacking = report_missing(name, result)?;
    let of_side_tables = side_table::check::check(name, share, result)?;
    let mut indexes = native_indexes(name);
    if of_side_tables.is_none() && indexes.is_empty() {
        return Ok(lacking);
    }
    indexes.extend(of_side_tables.into_iter().flatten());
    indexes.sort_unstable_by_key(|index| index.to_u32());
    indexes.dedup();
    let several = indexes.len() > 1 || indexes.first() != Some(&name);
    indexes.into_iter().try_for_each(|index| check_native(index, share, several, result))?;
    Ok(true)
}

/// Reports the partitions without an attached index: of the named partitioned index and those attached to it, or of the
/// indexes of the named table. Returns true if there are any.
fn report_missing(name: Oid, result: &ResultRows) -> Result<bool> {
    let indexes = match catalog::relation_kind(name) {
        b'I' => inheritors(name, Lock::Read).into_iter().filter_map(Index::open).collect(),
        b'p' => inheritors(name, Lock::Read).into_iter().flat_map(Index::of_table).collect(),
        _ => Vec::new(),
    };
    let mut any = false;
    for index in indexes.iter().filter(|index| index.method == catalog::access_method()) {
        for Missing { partition, statements } in missing(index) {
            let statements = statements.map_or_else(String::new, |text| format!(": {text}"));
            let problem = format!(
                "index \"{}\" is not valid, as partition {partition} has no valid index that is attached to \
                 it{statements}",
                index.name
            );
            result.push(&[None, Some(text::write(&problem))]);
            any = true;
        }
    }
    Ok(any)
}

/// The native indexes that a name stands for: an index itself, the parts of a partitioned index, or all indexes of a
/// table.
fn native_indexes(name: Oid) -> Vec<Oid> {
    let is_native = |index: &Oid| index::check::table_of(*index).is_some();
    match catalog::relation_kind(name) {
        b'i' => Some(name).into_iter().filter(is_native).collect(),
        b'I' => inheritors(name, Lock::Held).into_iter().filter(is_native).collect(),
        b'r' | b'p' | b'm' => Relation::open(name, Lock::Read)
            .map_or_else(Vec::new, |relation| leaves(&relation, Lock::Read))
            .iter()
            .filter_map(|table| Open::relation(table.oid, Lock::Held))
            .flat_map(|table| table.indexes(Lock::Read))
            .map(|index| index.oid())
            .filter(is_native)
            .collect(),
        _ => Vec::new(),
    }
}

/// True for an index of the access method, and for a table with one, in any state: a partitioned index has no pages
/// before its table has partitions.
fn is_indexed(name: Oid) -> bool {
    let is_ours = |index: Index| index.method == catalog::access_method();
    Index::open(name).is_some_and(is_ours) || Index::of_table(name).into_iter().any(is_ours)
}

/// Checks an index with the rights of its table's owner, who wrote its expressions.
fn check_native(index: Oid, share: Option<Share>, several: bool, result: &ResultRows) -> Result<()> {
    let Some(table) = index::check::table_of(index) else { return Ok(()) };
    check_owner(table)?;
    // SAFETY: takes a lock that the end of the transaction releases. If the table is gone by now, so is its index,
    // which is locked next.
    unsafe { pg_sys::LockRelationOid(table, index::check::lock(share)) };
    if !relation::lock(index, Lock::Read) {
        return if several { Ok(()) } else { Err(no_such_relation(index)) };
    }
    let name = relation_name(index);
    let _owner = restricted_to(owner_of(table));
    index::check::check(index, share, &mut |row, problem| {
        let row = row.map(|row| text::write(&row));
        let problem = if several { text::write(&format!("index \"{name}\": {problem}")) } else { text::write(problem) };
        result.push(&[row, Some(problem)]);
        Ok(())
    })
}
