//! Runs a SELECT whose text comes from a user. It is checked to be a single SELECT, and runs as the caller, read only,
//! under the caller's snapshot. Its rows are passed on one by one as the executor makes them. So nothing is copied, and
//! the plan may be parallel.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, in_use, raise, wrong_syntax};
use crate::pg::catching::catching;
use crate::pg::plan::{PreparedPlan, Statement};
use crate::pg::row::{Continue, Row};
use crate::pg::spi::Session;
use crate::pg::typed_value::Parameter;
use crate::pg::{list, text};

/// A checked SELECT, which is planned when it runs.
pub struct Select<'a> {
    plan: PreparedPlan,
    /// The required types of its columns, if they are known.
    gives: Option<Vec<Oid>>,
    /// The parts of it that others have stored.
    stored: Option<Stored>,
    session: &'a Session,
}

/// The parts of a statement that come from stored objects: its columns, which may be casts.
pub struct Stored {
    /// The object that they belong to, for messages.
    pub of: String,
    /// Number of a column that the caller wrote.
    pub but: Option<i16>,
    /// True if the subqueries of FROM are made of an index's expressions.
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
    /// Analyses `sql`, whose parameters have these types.
    ///
    /// # Errors
    /// PostgreSQL's errors about the statement; SQLSTATE 25006 if it is not a SELECT, or would write.
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

    /// Makes each run refuse columns of types other than `types`. PostgreSQL analyses the text again when an object
    /// that it names has changed, or when a name means another object. Then its columns may have other types.
    pub fn giving(self, types: Vec<Oid>) -> Self {
        Self { gives: Some(types), ..self }
    }

    /// Makes each run refuse stored parts that run foreign code with the caller's rights.
    pub fn with_stored(self, stored: Option<Stored>) -> Self {
        Self { stored, ..self }
    }

    /// Checks the stored parts of the statement that runs next.
    fn check_code(&self) -> Result<()> {
        let Some(Stored { of, but, has_expressions }) = &self.stored else { return Ok(()) };
        let is_current =
            self.plan.bring_up_to_date(|statement| statement.check_code_of_columns(of, *but, *has_expressions))?;
        if is_current {
            return Ok(());
        }
        let message = format!("{of} was changed again and again while it was being read");
        Err(in_use(message).set_hint("Retry the statement."))
    }

    pub fn columns(&self) -> Vec<SelectColumn> {
        let column = |attribute: &pg_sys::FormData_pg_attribute| SelectColumn {
            name: text::of_name(&attribute.attname).to_owned(),
            type_oid: attribute.atttypid,
            collation: attribute.attcollation,
        };
        self.plan.statement().map(|statement| statement.columns(column)).unwrap_or_default()
    }

    /// True if it computes each row from one row of FROM: without aggregates, window functions and set-returning
    /// functions.
    pub fn is_row_by_row(&self) -> bool {
        self.plan.statement().is_some_and(Statement::is_row_by_row)
    }

    /// True if it reads only this relation.
    pub fn reads(&self, relation: Oid) -> bool {
        self.plan.statement().is_some_and(|statement| statement.relations().contains(&relation))
    }

    /// Runs it with parameters of the types that it was prepared for, and calls `visit` with each row.
    pub fn each(&self, parameters: &[Parameter], visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        self.check_code()?;
        // An error that is raised inside the query names it in its context: it is the user's own.
        let visit = &mut |row: &Row| {
            visit(row).unwrap_or_else(|report| raise(report));
            Ok(Continue::Yes)
        };
        let gives = self.gives.as_deref();
        reading_only(|| self.session.each(&self.plan, parameters, gives, visit))
    }
}

/// Runs `work` in a read-only transaction, so that not even a volatile function can write. An ERROR ends the
/// transaction or subtransaction, which restores the state by itself.
fn reading_only<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: reads and writes a global of this backend, as SET TRANSACTION does.
    unsafe {
        let before = pg_sys::XactReadOnly;
        pg_sys::XactReadOnly = true;
        let result = work();
        pg_sys::XactReadOnly = before;
        result
    }
}

/// The text of the only statement in `sql`.
///
/// # Errors
/// SQLSTATE 42601 if it is not a single statement.
pub fn one_statement(sql: &CStr) -> Result<(CString, *mut pg_sys::Node)> {
    let statements = catching(|| {
        // SAFETY: the text ends with a NUL.
        unsafe { pg_sys::raw_parser(sql.as_ptr(), pg_sys::RawParseMode::RAW_PARSE_DEFAULT) }
    })?;
    // SAFETY: the parser returns a list of RawStmt, or null.
    let statements: Vec<*mut pg_sys::RawStmt> = unsafe { list::pointers(statements) }.collect();
    let [statement] = statements[..] else {
        return Err(wrong_syntax(format!("it must be one statement, not {}", statements.len())));
    };
    // SAFETY: the parser made the RawStmt. Its location lies within the text, and length 0 means the rest.
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
