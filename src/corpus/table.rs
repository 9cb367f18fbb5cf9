//! A relation that was named: which of its columns are key and document.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::corpus::arguments::{label, raw_text};
use crate::corpus::indexed::{Body, Indexed};
use crate::corpus::kind::Kind;
use crate::error::{Result, error, invalid_parameter, not_supported};
use crate::pg::catching::catching;
use crate::pg::relation::{Lock, Relation};
use crate::pg::select::SelectColumn;
use crate::pg::spi::{Parameter, Session};
use crate::pg::sql::Sql;

/// What a name has led to.
pub struct Found {
    /// The table, view or foreign table.
    pub relation: Relation,
    /// The index that was named, or the only one of the table.
    pub indexed: Option<Indexed>,
    /// Whether it was the index that was named.
    pub is_index: bool,
}

/// What a name may be, for a HINT.
const NAME: &str = "It is the name of a table, a view or an index; a query begins with SELECT, WITH, VALUES, \
                    TABLE or a parenthesis.";

/// The relation of that name, as PostgreSQL finds it for the caller, locked as a SELECT would.
pub fn named(name: Datum, argument: &str) -> Result<pg_sys::Oid> {
    catching(|| {
        // SAFETY: an argument of type text; the parts of a name, and the relation they name.
        unsafe {
            let names = pg_sys::textToQualifiedNameList(name.cast_mut_ptr());
            let relation = pg_sys::makeRangeVarFromNameList(names);
            pg_sys::RangeVarGetRelidExtended(
                relation,
                pg_sys::AccessShareLock as i32,
                0,
                None,
                std::ptr::null_mut(),
            )
        }
    })
    .map_err(|cause| cause.about(argument, NAME))
}

/// Finds the relation of that name, and the index that it is or has.
pub fn find(session: &Session, name: Datum, argument: &str) -> Result<Found> {
    let oid = named(name, argument)?;
    let relation = Relation::open(oid, Lock::Read).ok_or_else(|| {
        let name = label(&raw_text(name));
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("relation \"{name}\" does not exist"),
        )
    })?;
    match relation.kind {
        b'r' | b'p' | b'v' | b'm' | b'f' => {
            let indexed = Indexed::of_table(session, &relation, argument)?;
            let is_side_table =
                indexed.as_ref().filter(|indexed| indexed.table != relation.oid).map(|i| i.table);
            let table = is_side_table.and_then(|table| Relation::open(table, Lock::Read));
            Ok(Found { relation: table.unwrap_or(relation), indexed, is_index: false })
        }
        b'i' | b'I' => {
            let indexed = Indexed::named(session, &relation, argument)?;
            let table = Relation::open(indexed.table, Lock::Read);
            let relation = table.unwrap_or(relation);
            Ok(Found { relation, indexed: Some(indexed), is_index: true })
        }
        _ => Err(error(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("{argument}: \"{}\" has no rows of documents", relation.name),
        )
        .set_hint(NAME)),
    }
}

/// What stands behind FROM for it: the table, or of an index the rows that it is of, with the
/// document as the last column where that is an expression.
pub fn from(found: &Found) -> Sql {
    let table = Sql::default().relation(found.relation.oid);
    if is_whole(found) {
        return table;
    }
    let predicate = found.indexed.as_ref().and_then(|indexed| indexed.predicate.as_ref());
    rows(found, table, predicate.map(|sql| Sql::default().text(sql)))
}

/// Whether that is the table alone, with all its rows.
pub fn is_whole(found: &Found) -> bool {
    let indexed = found.indexed.as_ref().filter(|_| found.is_index);
    indexed.is_none_or(|indexed| {
        matches!(indexed.body, Body::Column(_)) && indexed.predicate.is_none()
    })
}

/// The same, of the rows at the places `$1`, from `$2` to `$3`, alone: with many of them it is better
/// to scan that part of the table.
pub fn from_places(found: &Found) -> Sql {
    let table = Sql::default().text("ONLY ").relation(found.relation.oid);
    let mut condition = Sql::default().text(
        "d.ctid OPERATOR(pg_catalog.=) ANY ($1) AND d.ctid OPERATOR(pg_catalog.>=) $2 \
         AND d.ctid OPERATOR(pg_catalog.<=) $3",
    );
    let indexed = found.indexed.as_ref().filter(|_| found.is_index);
    if let Some(predicate) = indexed.and_then(|indexed| indexed.predicate.as_ref()) {
        condition = condition.text(" AND (").text(predicate).text(")");
    }
    rows(found, table, Some(condition))
}

/// Rows of a table, with the document of the index that was named, if that is an expression.
fn rows(found: &Found, table: Sql, condition: Option<Sql>) -> Sql {
    let mut from = Sql::default().text("(SELECT d.*");
    let indexed = found.indexed.as_ref().filter(|_| found.is_index);
    if let Some(Body::Expression(sql)) = indexed.map(|indexed| &indexed.body) {
        from = from.text(", (").text(sql).text(") AS minlsh_body");
    }
    from = from.text(" FROM ").text(table).text(" AS d");
    if let Some(condition) = condition {
        from = from.text(" WHERE ").text(condition);
    }
    from.text(")")
}

/// The column of the documents: the one named, that of the index, or the only one of text.
pub fn body(found: &Found, columns: &[SelectColumn], named: Option<Datum>) -> Result<usize> {
    let relation = &found.relation;
    if let Some(name) = named {
        return named_column(relation, columns, &raw_text(name), "body");
    }
    match found.indexed.as_ref().map(|indexed| &indexed.body) {
        Some(Body::Column(number)) => return Ok(place(relation, *number)),
        Some(Body::Expression(_)) if found.is_index => return Ok(columns.len() - 1),
        _ => {}
    }
    let texts: Vec<usize> =
        (0..columns.len()).filter(|&i| Kind::of(columns[i].type_oid) == Some(Kind::Text)).collect();
    match texts[..] {
        [body] => Ok(body),
        [] => Err(invalid_parameter(format!("\"{}\" has no column of text", relation.name))
            .set_hint("Name the column of the documents with body => '...', or write a query.")),
        _ => {
            let texts: Vec<_> = texts.iter().map(|&i| columns[i].clone()).collect();
            Err(invalid_parameter(format!(
                "\"{}\" has {} columns of text: {}",
                relation.name,
                texts.len(),
                list(&texts)
            ))
            .set_hint(
                "Name the one of the documents with body => '...', or join several in a query.",
            ))
        }
    }
}

/// The column that tells documents apart, and whether no two rows can have the same value there:
/// the one named, or the primary key, or the only unique column.
pub fn key(
    session: &Session,
    relation: &Relation,
    columns: &[SelectColumn],
    body: usize,
    named: Option<Datum>,
) -> Result<(usize, bool)> {
    let unique = unique_columns(session, relation)?;
    if let Some(name) = named {
        let key = named_column(relation, columns, &raw_text(name), "key_column")?;
        return Ok((key, unique.iter().any(|(column, _)| *column == key)));
    }
    if let Some((key, _)) = unique.iter().find(|(_, primary)| *primary) {
        return Ok((*key, true));
    }
    let mut others: Vec<usize> =
        unique.iter().map(|(column, _)| *column).filter(|c| *c != body).collect();
    others.dedup();
    match others[..] {
        [key] => Ok((key, true)),
        _ => Err(not_supported(format!("\"{}\" has no primary key of one column", relation.name))
            .set_hint("Name a column that tells its rows apart with key_column => '...', or write a query: it may \
                       combine several.")),
    }
}

/// The columns, by their places, that are NOT NULL and have a unique index of their own; and
/// whether that is the primary key.
fn unique_columns(session: &Session, relation: &Relation) -> Result<Vec<(usize, bool)>> {
    let rows = session.query(
        "SELECT i.indkey[0], i.indisprimary FROM pg_catalog.pg_index i \
         WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisunique AND i.indimmediate AND i.indisvalid \
         AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 \
         ORDER BY i.indkey[0]",
        &[Parameter::oid(relation.oid)],
    )?;
    let mut keys = Vec::new();
    for row in 0..rows.len() {
        let (Some(number), Some(is_primary)) = (rows.int2(row, 1)?, rows.bool(row, 2)?) else {
            continue;
        };
        let place = relation.columns.iter().position(|column| column.number == number);
        keys.extend(
            place
                .filter(|place| relation.columns[*place].not_null)
                .map(|place| (place, is_primary)),
        );
    }
    Ok(keys)
}

/// The place of the column of that number.
pub fn place(relation: &Relation, number: i16) -> usize {
    relation.columns.iter().position(|column| column.number == number).unwrap_or(0)
}

/// The place of the column of that name.
pub fn column_named(columns: &[SelectColumn], name: &CStr) -> Option<usize> {
    columns.iter().position(|column| *column.name == *name)
}

fn named_column(
    relation: &Relation,
    columns: &[SelectColumn],
    name: &CString,
    argument: &str,
) -> Result<usize> {
    column_named(columns, name).ok_or_else(|| no_column(relation, columns, name, argument))
}

fn no_column(
    relation: &Relation,
    columns: &[SelectColumn],
    name: &CString,
    argument: &str,
) -> ErrorReport {
    let table = &relation.name;
    let report = error(
        PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
        format!("{argument}: \"{table}\" has no column \"{}\"", label(name)),
    );
    if name.to_bytes().iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return report.set_hint(format!("Its columns are {}.", list(columns)));
    }
    report.set_hint(format!(
        "For an expression write a query, as in $$SELECT id, title || ' ' || body FROM {table}$$."
    ))
}

/// The names of columns, for a HINT.
pub fn list(columns: &[SelectColumn]) -> String {
    let names: Vec<String> = columns.iter().map(|column| label(&column.name)).collect();
    names.join(", ")
}
