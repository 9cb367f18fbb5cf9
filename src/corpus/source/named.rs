//! The text of a source: a query, or the name of a relation, which is found and locked.

use std::ffi::CStr;

use crate::corpus::source::arguments::raw_text;
use crate::pg::catching::catching;
use crate::pg::names::regclass_literal;
use crate::pg::relation;
use crate::pg::rights::{check_before_reading, may_read};
use crate::pg::select::Select;
use crate::pg::sql;
use crate::prelude::*;

/// A HINT on the names and queries that a source may be.
pub const NAME: &str = "Pass the name of a table, a view or an index, or a query. A query begins with \
     SELECT, WITH, VALUES, TABLE or a parenthesis.";

const SHOWN: usize = 3;

/// The relation of that name, as PostgreSQL finds it for the caller, locked as a SELECT would; an index after its
/// table, as DROP locks them. Nothing is locked of which the caller may read nothing.
pub fn relation_named(name: pg_sys::Datum, argument: &str) -> Result<Oid> {
    let meant = found(name, argument, Lock::Held)?;
    let kind = catalog::relation_kind(meant);
    if matches!(kind, b'r' | b'p' | b'i' | b'I') {
        check_before_reading(meant)?;
    }
    if matches!(kind, b'i' | b'I') {
        relation::lock(catalog::table_of_index(meant), Lock::Read);
    }
    found(name, argument, Lock::Read)
}

fn found(name: pg_sys::Datum, argument: &str, lock: Lock) -> Result<Oid> {
    catching(|| {
        // SAFETY: an argument of type text; the parts of a name, and the relation they name.
        unsafe {
            let names = pg_sys::textToQualifiedNameList(name.cast_mut_ptr());
            let relation = pg_sys::makeRangeVarFromNameList(names);
            let argument = std::ptr::null_mut();
            pg_sys::RangeVarGetRelidExtended(relation, lock.mode(), 0, None, argument)
        }
    })
    .map_err(|cause| {
        let meant = if cause.is(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE) {
            raw_text(name).and_then(|name| meant(&name)).unwrap_or_default()
        } else {
            Vec::new()
        };
        if meant.is_empty() {
            return cause.about(argument, NAME);
        }
        cause.about(
            argument,
            &format!(
                "Pass {}. Names are folded to lower case without double quotes, and need their schema where the \
                 search path does not have it.",
                meant.join(" or ")
            ),
        )
    })
}

/// The tables and views that a name may mean that PostgreSQL does not find: those of another schema, and those
/// whose capital letters were folded. The caller must be allowed to read them.
fn meant(name: &CStr) -> Result<Vec<String>> {
    let last = name.to_bytes().rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let written = text::c_string(last.trim_ascii())?;
    let folded = sql::identifier(&written)?.filter(|folded| *folded != written);
    let names = [Some(written), folded];
    let is_meant = |relation: &Oid| {
        matches!(catalog::relation_kind(*relation), b'r' | b'p' | b'v' | b'm' | b'f')
            && !catalog::is_of_other_session(catalog::relation_schema(*relation))
            && may_read(*relation, &[])
    };
    let relations = names.iter().flatten().flat_map(|name| catalog::relations_called(name));
    let mut meant: Vec<String> = relations.filter(is_meant).map(regclass_literal).collect();
    meant.sort();
    meant.truncate(SHOWN);
    Ok(meant)
}

/// A query as what stands behind FROM.
pub fn parenthesized(query: &CStr) -> Sql {
    // A line of its own: the query may end in a comment.
    Sql::new("(").text(query.to_bytes()).text("\n)")
}

pub fn select_all<'a>(session: &'a Session, from: &Sql) -> Result<Select<'a>> {
    let sql = Sql::new("SELECT d.* FROM ").text(from).text(" AS d").build();
    Select::prepare(session, &sql, &[])
}

/// True if a text begins as queries do, behind white space and comments.
pub fn is_query(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let word =
        text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$".contains(b) || !b.is_ascii());
    let word = &text[..word.count()];
    let begins = |with: &str| word.eq_ignore_ascii_case(with.as_bytes());
    text.first() == Some(&b'(') || ["SELECT", "WITH", "VALUES", "TABLE"].into_iter().any(begins)
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
