//! A relation that was named: which of its columns are key and document.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::am::options::Settings;
use crate::error::{Result, error, invalid_parameter, not_supported};
use crate::pg::catching::catching;
use crate::pg::relation::{Lock, Relation};
use crate::pg::select::SelectColumn;
use crate::pg::spi::{Access, Parameter, Session};
use crate::query::corpus::kind::Kind;
use crate::query::corpus::source::{label, raw_text};

/// What a name has led to.
pub struct Found {
    /// The table, view or foreign table.
    pub relation: Relation,
    /// The options of its index.
    pub settings: Option<Rc<Settings>>,
}

/// Finds the relation of that name as PostgreSQL does for the caller, and locks it as a SELECT
/// would.
pub fn find(_session: &Session, name: Datum, argument: &str) -> Result<Found> {
    const NAME: &str = "It is the name of a table, a view or an index; a query begins with SELECT, WITH, VALUES, \
                        TABLE or a parenthesis.";
    let oid = catching(|| {
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
    .map_err(|cause| cause.about(argument, NAME))?;
    let relation = Relation::open(oid, Lock::Read).ok_or_else(|| {
        let name = label(&raw_text(name));
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("relation \"{name}\" does not exist"),
        )
    })?;
    match relation.kind {
        b'r' | b'p' | b'v' | b'm' | b'f' => Ok(Found { relation, settings: None }),
        b'i' | b'I' => Err(error(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!(
                "{argument}: \"{}\" is not an index of the access method minlsh",
                relation.name
            ),
        )
        .set_hint("Name its table.")),
        _ => Err(error(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("{argument}: \"{}\" has no rows of documents", relation.name),
        )
        .set_hint(NAME)),
    }
}

/// The column of the documents: the one named, or the only one of text.
pub fn body(relation: &Relation, columns: &[SelectColumn], named: Option<Datum>) -> Result<usize> {
    if let Some(name) = named {
        return named_column(relation, columns, &raw_text(name), "body");
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
        Access::Read,
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
