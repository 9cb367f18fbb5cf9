//! A SELECT whose text comes from a user: it is checked to be one, and nothing but one, and runs
//! as the caller, reading only, under the caller's snapshot. Its rows are handed on one by one, as
//! the executor makes them, so that nothing is copied and the plan may be a parallel one.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, raise};
use crate::pg::catching::catching;
use crate::pg::parameter::Parameter;
use crate::pg::plan::{PreparedPlan, Statement};
use crate::pg::row::{Continue, Row};
use crate::pg::spi::Session;
use crate::pg::{list, text};

/// A checked SELECT, planned when it is run.
pub struct Select<'a> {
    plan: PreparedPlan,
    /// The types of the columns that it must give, if they are known.
    gives: Option<Vec<Oid>>,
    /// The parts of it that others have stored.
    stored: Option<Stored>,
    session: &'a Session,
}

/// The parts of a statement that are not the caller's own words: its columns, which may be casts.
pub struct Stored {
    /// The thing that they belong to, for messages.
    pub of: String,
    /// The number of a column that is the caller's own words.
    pub but: Option<i16>,
    /// True if the relations of FROM are made of an index's expressions.
    pub has_expressions: bool,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub struct SelectColumn {
    /// Unquoted, in the database's encoding.
    pub name: CString,
    pub type_oid: Oid,
    pub collation: Oid,
}

impl<'a> Select<'a> {
    /// Analyses `sql`, whose parameters are of those types.
    ///
    /// # Errors
    /// What PostgreSQL says of it; SQLSTATE 25006 if it is not a SELECT, or would write.
    pub fn prepare(session: &'a Session, sql: &CStr, types: &[Oid]) -> Result<Self> {
        let options = pg_sys::CURSOR_OPT_PARALLEL_OK;
        let plan = catching(|| session.plan(sql.to_bytes(), types, options))??;
        if !plan.statement().is_some_and(Statement::reads_only) {
            return Err(error(
                PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "only a SELECT without locks and changes is allowed",
            ));
        }
        Ok(Self { plan, gives: None, stored: None, session })
    }

    /// Has each run refuse to give columns of other types than these. PostgreSQL analyses the text again when something
    /// that it names has changed, or when its names mean something else, and then its columns may have other types.
    pub fn giving(self, types: Vec<Oid>) -> Self {
        Self { gives: Some(types), ..self }
    }

    /// The same, which is refused if one of those parts runs somebody else's code with the caller's rights.
    pub fn with_stored(self, stored: Option<Stored>) -> Self {
        Self { stored, ..self }
    }

    /// Looks at the statement that runs next.
    fn check_code(&self) -> Result<()> {
        let Some(Stored { of, but, has_expressions }) = &self.stored else { return Ok(()) };
        let is_current =
            self.plan.bring_up_to_date(|statement| statement.check_code_of_columns(of, *but, *has_expressions))?;
        if is_current {
            return Ok(());
        }
        let message = format!("{of} was changed again and again while it was being read");
        Err(error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message).set_hint("Retry the statement."))
    }

    pub fn columns(&self) -> Vec<SelectColumn> {
        let column = |attribute: &pg_sys::FormData_pg_attribute| SelectColumn {
            name: text::of_name(&attribute.attname).to_owned(),
            type_oid: attribute.atttypid,
            collation: attribute.attcollation,
        };
        self.plan.statement().map(|statement| statement.columns(column)).unwrap_or_default()
    }

    /// True if it computes each of its rows from one row of FROM: without aggregates, window functions and sets.
    pub fn is_row_by_row(&self) -> bool {
        self.plan.statement().is_some_and(Statement::is_row_by_row)
    }

    /// True if it reads that relation.
    pub fn reads(&self, relation: Oid) -> bool {
        self.plan.statement().is_some_and(|statement| statement.relations().contains(&relation))
    }

    /// Runs it with parameters of the types it was prepared for, and calls `visit` with each row.
    pub fn each(&self, parameters: &[Parameter], visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        self.check_code()?;
        // Raised within it, an error says which statement it is about: the user's own.
        let visit = &mut |row: &Row| {
            visit(row).unwrap_or_else(|report| raise(report));
            Ok(Continue::Yes)
        };
        let gives = self.gives.as_deref();
        reading_only(|| self.session.each(&self.plan, parameters, gives, visit))
    }
}

/// Does `work`, amid which nothing is written, not even by a volatile function that a SELECT calls. An ERROR ends the
/// transaction, or the subtransaction, and that puts the state back by itself.
fn reading_only<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: a backend-local variable of the current transaction, as SET TRANSACTION sets it.
    unsafe {
        let before = pg_sys::XactReadOnly;
        pg_sys::XactReadOnly = true;
        let result = work();
        pg_sys::XactReadOnly = before;
        result
    }
}

/// The text of the one statement that `sql` is.
///
/// # Errors
/// SQLSTATE 42601 if it is not a statement, or several.
pub fn one_statement(sql: &CStr) -> Result<(CString, *mut pg_sys::Node)> {
    let statements = catching(|| {
        // SAFETY: a NUL-terminated text.
        unsafe { pg_sys::raw_parser(sql.as_ptr(), pg_sys::RawParseMode::RAW_PARSE_DEFAULT) }
    })?;
    // SAFETY: the parser returns a list of RawStmt, or none.
    let statements: Vec<*mut pg_sys::RawStmt> = unsafe { list::pointers(statements) }.collect();
    let [statement] = statements[..] else {
        return Err(error(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            format!("it must be one statement, not {}", statements.len()),
        ));
    };
    // SAFETY: a RawStmt of the parser; its place lies within the text, and length 0 means all.
    unsafe {
        let statement = &*statement;
        let all = sql.to_bytes();
        let start = usize::try_from(statement.stmt_location).unwrap_or(0).min(all.len());
        let end = match usize::try_from(statement.stmt_len) {
            Ok(0) | Err(_) => all.len(),
            Ok(length) => (start + length).min(all.len()),
        };
        Ok((text::c_string(&all[start..end])?, statement.stmt))
    }
}
