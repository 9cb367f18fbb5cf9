//! A SELECT whose text comes from a user: it is checked to be one, and nothing but one, and runs
//! as the caller, reading only, under the caller's snapshot. Its rows are handed on one by one, as
//! the executor makes them, so that nothing is copied and the plan may be a parallel one.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, raise};
use crate::pg::catching::{Complaint, catching};
use crate::pg::foreign_code;
use crate::pg::list;
use crate::pg::parameter::Parameter;
use crate::pg::receiver::Receiver;
use crate::pg::row::Row;
use crate::pg::spi::{PreparedPlan, Session};
use crate::pg::versions;

/// A checked SELECT, planned when it is run.
pub struct Select<'a> {
    plan: PreparedPlan,
    /// The types of the columns that it must give, if they are known.
    gives: Option<Vec<Oid>>,
    /// The parts of it that others have stored.
    stored: Option<Stored>,
    /// The session that the plan is of.
    session: &'a Session,
}

/// The parts of a statement that are not the caller's own words: its columns, which may be casts.
pub struct Stored {
    /// The thing that they belong to, for messages.
    pub of: String,
    /// True if the relations of FROM are made of an index's expressions.
    pub has_expressions: bool,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub struct SelectColumn {
    /// Unquoted, in the database's encoding.
    pub name: CString,
    /// Its type.
    pub type_oid: Oid,
    /// Its collation, invalid for a type that has none.
    pub collation: Oid,
}

impl<'a> Select<'a> {
    /// Analyses `sql`, whose parameters are of those types.
    ///
    /// # Errors
    /// What PostgreSQL says of it; SQLSTATE 25006 if it is not a SELECT, or would write.
    pub fn prepare(
        session: &'a Session,
        sql: &CStr,
        types: &[Oid],
    ) -> std::result::Result<Self, Complaint> {
        let options = pg_sys::CURSOR_OPT_PARALLEL_OK as i32;
        let plan = catching(|| session.plan_with(sql.to_bytes(), types, options))?;
        // SAFETY: the plan was just made, so that its query is well-formed.
        let plan =
            plan.ok().filter(|plan| plan.source().is_some_and(|of| unsafe { reads_only(of) }));
        let plan = plan.ok_or_else(|| {
            Complaint::new(
                PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "only a SELECT without locks and changes is allowed",
            )
        })?;
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
        let Some(Stored { of, has_expressions }) = &self.stored else { return Ok(()) };
        let is_current = self.plan.bring_up_to_date(|source| {
            // SAFETY: a statement that was brought up to date, which is one query.
            unsafe {
                let query = first(source.query_list).cast::<pg_sys::Query>();
                foreign_code::check(stored_nodes(&*query, *has_expressions), of)
            }
        })?;
        if is_current {
            return Ok(());
        }
        let message = format!("{of} was changed again and again while it was being read");
        Err(error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message).set_hint("Retry the statement."))
    }

    /// The columns of the result.
    pub fn columns(&self) -> Vec<SelectColumn> {
        let Some(source) = self.plan.source() else { return Vec::new() };
        // SAFETY: a SELECT has a result descriptor.
        unsafe {
            let descriptor = source.resultDesc;
            (0..(*descriptor).natts as usize)
                .map(|index| {
                    let attribute = versions::attribute(descriptor, index);
                    SelectColumn {
                        name: CStr::from_ptr(attribute.attname.data.as_ptr()).to_owned(),
                        type_oid: attribute.atttypid,
                        collation: attribute.attcollation,
                    }
                })
                .collect()
        }
    }

    /// True if it reads that relation.
    pub fn reads(&self, relation: Oid) -> bool {
        // SAFETY: a statement has a list of relations, perhaps an empty one.
        let reads = |of: &pg_sys::CachedPlanSource| unsafe {
            pg_sys::list_member_oid(of.relationOids, relation)
        };
        self.plan.source().is_some_and(reads)
    }

    /// Runs it with parameters of the types it was prepared for, and calls `visit` with each row.
    pub fn each(
        &self,
        parameters: &[Parameter],
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.check_code()?;
        // Raised within it, an error says which statement it is about: the user's own.
        let visit = &mut |row: &Row| {
            visit(row).unwrap_or_else(|report| raise(report));
            Ok(())
        };
        let receiver = Receiver::new(self.gives.as_deref(), visit);
        let _read_only = ReadOnly::enter();
        self.session.execute_to(&self.plan, parameters, receiver)
    }
}

/// The first element of a list of pointers that has one.
///
/// # Safety
/// Such a list.
unsafe fn first(list: *mut pg_sys::List) -> *mut std::ffi::c_void {
    // SAFETY: the caller promises a list of pointers that is not empty.
    unsafe { (*(*list).elements).ptr_value }
}

/// While it lives, nothing is written, not even by a volatile function that a SELECT calls. An ERROR
/// ends the transaction, or the subtransaction, and that puts the state back by itself.
struct ReadOnly {
    before: bool,
}

impl ReadOnly {
    fn enter() -> Self {
        // SAFETY: a backend-local variable of the current transaction, as SET TRANSACTION sets it.
        unsafe {
            let before = pg_sys::XactReadOnly;
            pg_sys::XactReadOnly = true;
            Self { before }
        }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: puts back what `enter` found.
            unsafe { pg_sys::XactReadOnly = self.before };
        }
    }
}

/// The columns of a query, without what it is ordered by; and the columns and conditions of what stands behind FROM,
/// without policies.
///
/// # Safety
/// A query as the rewriter leaves it.
unsafe fn stored_nodes(query: &pg_sys::Query, has_expressions: bool) -> Vec<*mut pg_sys::Node> {
    // SAFETY: lists of target entries and of range table entries.
    unsafe {
        let columns = list::pointers::<pg_sys::TargetEntry>(query.targetList);
        let columns = columns.filter(|column| !(**column).resjunk);
        let mut nodes: Vec<*mut pg_sys::Node> = columns.map(|column| column.cast()).collect();
        let from = list::pointers::<pg_sys::RangeTblEntry>(query.rtable);
        for entry in from.filter(|_| has_expressions) {
            if let Some(inner) = (*entry).subquery.as_ref() {
                nodes.extend([inner.targetList.cast(), inner.jointree.cast()]);
            }
        }
        nodes
    }
}

/// True if a statement is a SELECT, without row locks and data-changing parts.
///
/// # Safety
/// A statement that was analysed.
unsafe fn reads_only(source: &pg_sys::CachedPlanSource) -> bool {
    // SAFETY: a list of Query, as plancache.h says.
    unsafe {
        let mut queries = list::pointers::<pg_sys::Query>(source.query_list);
        let (Some(query), None) = (queries.next(), queries.next()) else { return false };
        let query = &*query;
        query.commandType == pg_sys::CmdType::CMD_SELECT
            && query.utilityStmt.is_null()
            && !query.hasModifyingCTE
            && query.rowMarks.is_null()
            && !source.resultDesc.is_null()
    }
}

/// The text of the one statement that `sql` is.
///
/// # Errors
/// SQLSTATE 42601 if it is not a statement, or several.
pub fn one_statement(sql: &CStr) -> std::result::Result<(CString, *mut pg_sys::Node), Complaint> {
    let statements = catching(|| {
        // SAFETY: a NUL-terminated text.
        unsafe { pg_sys::raw_parser(sql.as_ptr(), pg_sys::RawParseMode::RAW_PARSE_DEFAULT) }
    })?;
    // SAFETY: the parser returns a list of RawStmt, or none.
    let count = unsafe { if statements.is_null() { 0 } else { (*statements).length } };
    if count != 1 {
        return Err(Complaint::new(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            format!("it must be one statement, not {count}"),
        ));
    }
    // SAFETY: a list of one RawStmt; its place lies within the text, and length 0 means all.
    unsafe {
        let statement = &*first(statements).cast::<pg_sys::RawStmt>();
        let all = sql.to_bytes();
        let start = usize::try_from(statement.stmt_location).unwrap_or(0).min(all.len());
        let end = match usize::try_from(statement.stmt_len) {
            Ok(0) | Err(_) => all.len(),
            Ok(length) => (start + length).min(all.len()),
        };
        Ok((CString::new(&all[start..end]).unwrap_or_default(), statement.stmt))
    }
}
