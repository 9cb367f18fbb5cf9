//! Pieces of the SELECT that reads a source.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::{Result, SqlError};
use crate::pg::catching::Complaint;
use crate::pg::relation::Relation;
use crate::pg::select::one_statement;
use crate::pg::sql::{self, Sql};

/// Rows of a table, with expressions of an index as further columns. PostgreSQL writes the whole row
/// of an expression by the name of the table.
pub fn rows(
    relation: &Relation,
    table: Sql,
    condition: Option<Sql>,
    added: &[(Vec<u8>, CString)],
) -> Sql {
    let alias = sql::relation_name(relation.oid);
    let mut from = Sql::default().text("(SELECT ").name(&alias).text(".*");
    for (expression, name) in added {
        from = from.text(", (").text(expression).text(") AS ").name(name);
    }
    from = from.text(" FROM ").text(table).text(" AS ").name(&alias);
    if let Some(condition) = condition {
        from = from.text(" WHERE ").text(condition);
    }
    from.text(")")
}

/// The same, of the rows at the places `$1`, from `$2` to `$3`, alone: with many of them it is better
/// to scan that part of the table.
pub fn from_places(
    relation: &Relation,
    table: Sql,
    predicate: Option<&[u8]>,
    added: &[(Vec<u8>, CString)],
) -> Sql {
    let alias = sql::relation_name(relation.oid);
    let place = || Sql::default().name(&alias).text(".ctid OPERATOR(pg_catalog.");
    let mut condition = place().text("=) ANY ($1) AND ").text(place()).text(">=) $2 AND ");
    condition = condition.text(place()).text("<=) $3");
    if let Some(predicate) = predicate {
        condition = condition.text(" AND (").text(predicate).text(")");
    }
    rows(relation, Sql::default().text("ONLY ").text(table), Some(condition), added)
}

/// `keep`, checked to be an ORDER BY list and no more.
pub fn order(keep: &CStr) -> Result<CString> {
    const BEFORE: &str = "SELECT ORDER BY ";
    let sql = Sql::default().text(BEFORE).text(keep.to_bytes()).build();
    let (statement, node) = one_statement(&sql).map_err(wrong_order)?;
    // SAFETY: the parser's node; one that starts with SELECT is a SelectStmt.
    let only_sorts = unsafe {
        let select = &*node.cast::<pg_sys::SelectStmt>();
        select.type_ == pg_sys::NodeTag::T_SelectStmt
            && !select.sortClause.is_null()
            && select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.lockingClause.is_null()
    };
    if !only_sorts {
        let cause = Complaint::new(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            "it must be an ORDER BY list and nothing else",
        );
        return Err(wrong_order(cause));
    }
    Ok(CString::new(&statement.to_bytes()[BEFORE.len()..]).unwrap_or_default())
}

/// The error about `keep`.
pub fn wrong_order(cause: Complaint) -> SqlError {
    cause.about(
        "keep",
        "Pass an ORDER BY list over the columns of the source, such as 'published_at DESC, length(body) \
         DESC', or NULL to keep the lowest key.",
    )
}

/// True if a text begins as queries do, behind white space and comments.
pub fn is_query(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let word =
        text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$".contains(b) || !b.is_ascii());
    let word = text[..word.count()].to_ascii_uppercase();
    text.first() == Some(&b'(') || [&b"SELECT"[..], b"WITH", b"VALUES", b"TABLE"].contains(&&*word)
}

fn skip_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if text.starts_with(b"--") {
            let line = text.iter().position(|&b| b == b'\n').unwrap_or(text.len());
            text = &text[line..];
        } else if text.starts_with(b"/*") {
            text = &text[comment_length(text)..];
        } else {
            return text;
        }
    }
}

/// The length of a comment `/* ... */`, which may contain others.
fn comment_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}
