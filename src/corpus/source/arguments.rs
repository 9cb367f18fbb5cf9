//! The arguments that all whole-corpus functions share, and those that name a relation, are a query or an expression.

use std::borrow::Cow;
use std::ffi::{CStr, CString};

use sketch::Config;
use sketch::dedup::Verify;

use crate::error::LONGEST_MESSAGE;
use crate::options::{Options, Threshold, verify_named};
use crate::pg::call::Extension;
use crate::pg::catching::catching;
use crate::pg::rights::{check_before_reading, may_read};
use crate::pg::select::{Select, SelectColumn, one_statement};
use crate::pg::{relation, sql};
use crate::prelude::*;

/// The arguments of a call by name. A name means the same in all whole-corpus functions.
pub struct Arguments {
    /// The arguments that are not NULL.
    values: Vec<(String, Datum)>,
    /// The extension; its members are invalid if no argument can have its types.
    pub extension: Extension,
}

const OPTIONS: [&str; 8] = ["shingle_size", "unit", "normalization", "stop_words", "bag", "num_perm", "scheme", "seed"];

/// Maximum bytes of an argument in a suggested statement.
const LONGEST_ARGUMENT: usize = 8 << 10;

impl Arguments {
    pub fn new(values: &[(&str, Datum)]) -> Self {
        let values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { values, extension: Extension::default() }
    }

    pub fn of(call: &Call) -> Self {
        Self::read(call, |place| call.datum(place))
    }

    /// The arguments of `call`; `read` returns their values by position.
    pub fn read(call: &Call, read: impl Fn(usize) -> Option<Datum>) -> Self {
        let names = call.argument_names().into_iter().enumerate();
        let values = names.filter_map(|(place, name)| read(place).map(|value| (name, value)));
        Self { values: values.collect(), extension: call.extension() }
    }

    /// The value of an argument; `None` if it is NULL, or if the function does not have it.
    pub fn raw(&self, name: &str) -> Option<Datum> {
        self.values.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.raw(name).is_some())
    }

    /// A text argument, as UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<&str>> {
        // SAFETY: callers pass names that `sql/minlsh.sql` uses for texts only.
        self.raw(name).map(|datum| unsafe { text::read(datum) }).transpose()
    }

    /// A text argument, for messages and suggestions.
    pub fn shown(&self, name: &str) -> Option<String> {
        // SAFETY: callers pass names that `sql/minlsh.sql` uses for texts only.
        self.raw(name).map(|value| text::beginning(unsafe { bytes::read(value) }, LONGEST_ARGUMENT))
    }

    pub fn int4(&self, name: &str) -> Option<i32> {
        self.raw(name).map(|datum| datum.value() as i32)
    }

    pub fn int8(&self, name: &str) -> Option<i64> {
        self.raw(name).map(|datum| datum.value() as i64)
    }

    pub fn float8(&self, name: &str) -> Option<f64> {
        self.raw(name).map(|datum| f64::from_bits(datum.value() as u64))
    }

    /// `verify`; NULL stands for the default.
    pub fn verify(&self) -> Result<Verify> {
        let Some(name) = self.text("verify")? else { return Ok(Verify::Exact) };
        // A column's name may be passed here by mistake, after the threshold.
        verify_named(name).map_err(|wrong| {
            wrong.set_hint(
                "Pass \"exact\" or \"signature\". Pass arguments after the threshold by name, such as key_column => \
                 'id' or body => 'title'.",
            )
        })
    }

    pub fn threshold(&self) -> Result<Option<Threshold>> {
        Ok(self.float8("threshold").map(Threshold::new).transpose()?)
    }

    /// The recall, if it was passed. The argument has another name if a column of the result is called recall.
    pub fn recall(&self) -> Option<f64> {
        self.float8("recall").or_else(|| self.float8("wanted_recall"))
    }

    pub fn has_options(&self) -> bool {
        self.has(&OPTIONS)
    }

    /// The options of signatures: passed ones, and the rest from `default`.
    pub fn config(&self, default: Option<&Config>) -> Result<Config> {
        if let (Some(config), false) = (default, self.has_options()) {
            return Ok(config.clone());
        }
        let default = default.map_or_else(Options::default, Options::of);
        let [shingle_size, unit, normalization, stop_words, bag, num_perm, scheme, seed] = OPTIONS;
        let text = |name, default| -> Result<Cow<str>> { Ok(self.text(name)?.map_or(default, Cow::Borrowed)) };
        Options {
            shingle_size: self.int4(shingle_size).unwrap_or(default.shingle_size),
            unit: text(unit, default.unit)?,
            normalization: text(normalization, default.normalization)?,
            stop_words: text(stop_words, default.stop_words)?,
            bag: self.raw(bag).map_or(default.bag, |bag| bag.value() as u8 != 0),
            num_perm: self.int4(num_perm).unwrap_or(default.num_perm),
            scheme: text(scheme, default.scheme)?,
            seed: self.int8(seed).unwrap_or(default.seed),
        }
        .config()
    }
}

/// A text in the database's encoding.
pub fn raw_text(datum: Datum) -> Result<CString> {
    // SAFETY: callers pass arguments that `sql/minlsh.sql` declares as text.
    text::c_string(unsafe { bytes::read(datum) })
}

/// Decodes bytes of the database's encoding for messages.
pub fn label(name: &CStr) -> String {
    text::beginning(name.to_bytes(), LONGEST_MESSAGE)
}

/// A HINT about the names and queries that are accepted as a source.
pub const NAME: &str = "Pass the name of a table, a view or an index, or a query. A query begins with \
     SELECT, WITH, VALUES, TABLE or a parenthesis.";

const SHOWN: usize = 3;

/// The relation named `name`, as PostgreSQL resolves it for the caller, locked as by a SELECT. An index is locked after
/// its table, as in DROP. Nothing is locked unless the caller may read some of it.
pub fn relation_named(name: Datum, argument: &str) -> Result<Oid> {
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

fn found(name: Datum, argument: &str, lock: Lock) -> Result<Oid> {
    catching(|| {
        // SAFETY: the argument is a text. PostgreSQL parses it to a list of names, and looks that up.
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
                "Pass {}. Names are folded to lower case without double quotes, and need their schema where the search \
                 path does not have it.",
                meant.join(" or ")
            ),
        )
    })
}

/// Tables and views that an unresolved name may mean: in other schemas, or with capital letters, which were folded.
/// Only those that the caller may read.
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

/// A query, for use after FROM.
pub fn parenthesized(query: &CStr) -> Sql {
    // On a line of its own, because the query may end with a comment.
    Sql::new("(").text(query.to_bytes()).text("\n)")
}

pub fn select_all<'a>(session: &'a Session, from: &Sql) -> Result<Select<'a>> {
    let sql = Sql::new("SELECT d.* FROM ").text(from).text(" AS d").build();
    Select::prepare(session, &sql, &[])
}

/// A SELECT of all columns of the table or query that an argument names, other than a source.
pub fn select_given<'a>(session: &'a Session, given: Datum, argument: &str, hint: &str) -> Result<Select<'a>> {
    let wrong = |wrong: SqlError| wrong.about(argument, hint);
    let text = raw_text(given)?;
    let from = if is_query(text.to_bytes()) {
        let (statement, _) = one_statement(&text).map_err(wrong)?;
        parenthesized(&statement)
    } else {
        Sql::default().relation(relation_named(given, argument)?)
    };
    select_all(session, &from).map_err(wrong)
}

/// True if a text starts like a query, after white space and comments.
pub fn is_query(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let word = text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$".contains(b) || !b.is_ascii());
    let word = &text[..word.count()];
    let begins = |with: &str| word.eq_ignore_ascii_case(with.as_bytes());
    text.first() == Some(&b'(') || ["SELECT", "WITH", "VALUES", "TABLE"].into_iter().any(begins)
}

/// The rest after white space and comments; `/* ... */` may be nested.
fn skip_comments(mut text: &[u8]) -> &[u8] {
    let mut depth = 0;
    loop {
        text = match text {
            [b'/', b'*', rest @ ..] => {
                depth += 1;
                rest
            }
            [b'*', b'/', rest @ ..] if depth > 0 => {
                depth -= 1;
                rest
            }
            [_, rest @ ..] if depth > 0 => rest,
            [b'-', b'-', ..] => &text[text.iter().position(|&b| b == b'\n').unwrap_or(text.len())..],
            [first, rest @ ..] if first.is_ascii_whitespace() => rest,
            _ => return text,
        }
    }
}

/// The HINT about what `agree` accepts.
const AGREE: &str = "Pass the name of a column of arrays, or an expression over the columns of the source that gives \
     an array, such as 'codes(body)'.";

/// The expression of `agree`, with its type: an array for each document. Like `keep`, it is evaluated by the caller's
/// own SELECT.
pub struct Agreeing {
    pub sql: Sql,
    pub type_oid: Oid,
    /// Type and collation of the elements.
    pub element: (Oid, Oid),
}

impl Agreeing {
    /// The expression, if it was passed, over the rows of `from`, the SQL after FROM.
    pub fn given(session: &Session, arguments: &Arguments, from: Sql) -> Result<Option<Self>> {
        let Some(datum) = arguments.raw("agree") else { return Ok(None) };
        let wrong = |cause: SqlError| cause.about("agree", AGREE);
        let sql = expression(&raw_text(datum)?).map_err(wrong)?;
        let statement = Sql::new("SELECT ").text(&sql).text(" FROM ").text(&from).build();
        let select = Select::prepare(session, &statement, &[]).map_err(wrong)?;
        if !select.is_row_by_row() {
            let message = "agree must not contain aggregate or window functions";
            return Err(invalid_parameter(message).set_hint(AGREE));
        }
        let columns = select.columns();
        let Some(&SelectColumn { type_oid, collation, .. }) = columns.first() else {
            return Ok(None);
        };
        let element = catalog::base_element_type(type_oid);
        if element == Oid::INVALID {
            let message = format!("agree gives values of type {}, not arrays", type_label(type_oid));
            return Err(type_mismatch(message).set_hint(AGREE));
        }
        Ok(Some(Self { sql, type_oid, element: (element, collation) }))
    }
}

/// Checks that a text is a single expression. COALESCE does not allow set-returning functions.
fn expression(text: &CStr) -> Result<Sql> {
    let sql = Sql::new("COALESCE((").text(text.to_bytes()).text("\n), NULL)");
    let (_, node) = one_statement(&Sql::new("SELECT ").text(&sql).build())?;
    // SAFETY: a node of the parser. A node that starts with SELECT is a SelectStmt, whose lists are valid or null.
    let is_one = unsafe {
        let select = &*node.cast::<pg_sys::SelectStmt>();
        select.type_ == pg_sys::NodeTag::T_SelectStmt
            && select.op == pg_sys::SetOperation::SETOP_NONE
            && select.targetList.as_ref().is_some_and(|targets| targets.length == 1)
            && select.whereClause.is_null()
            && select.havingClause.is_null()
            && select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.intoClause.is_null()
            && [select.fromClause, select.groupClause, select.windowClause, select.sortClause]
                .iter()
                .all(|clause| clause.is_null())
            && select.lockingClause.is_null()
    };
    if is_one {
        return Ok(sql);
    }
    Err(wrong_syntax("it must be an expression and nothing else"))
}
