//! SQL run inside the server, with plans that live as long as their owner.
//!
//! pgrx has a client of its own, which decides by the transaction's history whether a query
//! sees the caller's snapshot. A STABLE function must always see it: here the caller says.
//!
//! Nothing here moves the caller's memory context: what is allocated between two queries is freed
//! with the function's call, and not only when the last session ends. Values are read only as the
//! type they are of, whatever became of the table behind a plan.

use std::cell::RefCell;
use std::ffi::CString;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, error};
use crate::memory;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::{Memory, unmoved};
use crate::pg::names::type_label;
pub use crate::pg::parameter::Parameter;
use crate::pg::parameter::parameter_list;
use crate::pg::receiver::Receiver;
use crate::pg::row::Continue;
use crate::pg::statement::Statement;
use crate::pg::type_storage::TypeStorage;
use crate::pg::{list, text, versions};

thread_local! {
    /// Kept plans whose owners were dropped by an ERROR, amid which PostgreSQL must not be called.
    static LEFT: RefCell<Vec<pg_sys::SPIPlanPtr>> = const { RefCell::new(Vec::new()) };
}

/// A connection to SPI. Queries read only, under the snapshot of the statement that called us.
pub struct Session(());

impl Session {
    /// Connects.
    pub fn open() -> Self {
        for plan in LEFT.take() {
            // SAFETY: a kept plan, freed once. The abort after the ERROR has ended what ran it.
            unsafe { pg_sys::SPI_freeplan(plan) };
        }
        // SAFETY: paired with SPI_finish in `Drop`; on an ERROR the abort cleans up.
        unmoved(|| unsafe { pg_sys::SPI_connect() });
        Self(())
    }

    /// Runs `sql`, in the encoding of the database, once with typed parameters.
    pub fn query(
        &self,
        sql: &(impl AsRef<[u8]> + ?Sized),
        parameters: &[Parameter],
    ) -> Result<Rows<'_>> {
        let plan = self.plan(sql, &types(parameters))?;
        self.execute(&plan, parameters)
    }

    /// A plan that ends with its owner.
    pub fn kept_plan(
        &self,
        sql: &(impl AsRef<[u8]> + ?Sized),
        types: &[Oid],
    ) -> Result<PreparedPlan> {
        self.plan(sql, types).map(PreparedPlan::keep)
    }

    /// A plan that ends with the session, within which it must be used.
    fn plan(&self, sql: &(impl AsRef<[u8]> + ?Sized), types: &[Oid]) -> Result<PreparedPlan> {
        self.plan_with(sql, types, 0)
    }

    /// The same, with options of a cursor.
    pub(super) fn plan_with(
        &self,
        sql: &(impl AsRef<[u8]> + ?Sized),
        types: &[Oid],
        options: i32,
    ) -> Result<PreparedPlan> {
        // No name or text in the database holds a NUL.
        let command = CString::new(sql.as_ref()).unwrap_or_default();
        let mut list = types.to_vec();
        // SAFETY: SPI is connected; a NUL-terminated command, and as many types as it says.
        let pointer = unmoved(|| unsafe {
            let count = list.len() as i32;
            pg_sys::SPI_prepare_cursor(command.as_ptr(), count, list.as_mut_ptr(), options)
        });
        // SAFETY: set by the call before.
        PreparedPlan::new(pointer, types.to_vec())
            .ok_or_else(|| failed(unsafe { pg_sys::SPI_result }))
    }

    /// Runs a plan.
    pub fn execute(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<Rows<'_>> {
        self.start(plan, values, std::ptr::null_mut())
    }

    /// Runs a plan that writes, under a snapshot of its own. Returns the number of rows that it has written.
    pub fn write(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<u64> {
        let options =
            pg_sys::SPIExecuteOptions { params: plan.parameters(values)?, ..Default::default() };
        // SAFETY: SPI is connected, the plan is alive and has these parameters.
        let status =
            unmoved(|| unsafe { pg_sys::SPI_execute_plan_extended(plan.pointer, &options) });
        self.rows(status)?;
        // SAFETY: set by the call before.
        Ok(unsafe { pg_sys::SPI_processed })
    }

    /// Runs a plan; its rows go to a receiver one by one, as the executor makes them.
    pub(super) fn execute_to(
        &self,
        plan: &PreparedPlan,
        values: &[Parameter],
        mut receiver: Receiver,
    ) -> Result<()> {
        self.start(plan, values, (&raw mut receiver).cast())?;
        receiver.outcome
    }

    fn start(
        &self,
        plan: &PreparedPlan,
        values: &[Parameter],
        dest: *mut pg_sys::DestReceiver,
    ) -> Result<Rows<'_>> {
        let options = pg_sys::SPIExecuteOptions {
            params: plan.parameters(values)?,
            read_only: true,
            dest,
            ..Default::default()
        };
        // SAFETY: SPI is connected, the plan is alive and has these parameters; the receiver, if
        // there is one, is ours.
        let status =
            unmoved(|| unsafe { pg_sys::SPI_execute_plan_extended(plan.pointer, &options) });
        self.rows(status)
    }

    /// Opens a cursor over a kept plan, for results too large to hold.
    pub fn cursor(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<Cursor<'_>> {
        let parameters = plan.parameters(values)?;
        // SAFETY: SPI is connected, the plan is alive and has these parameters. Pinned, the portal
        // outlives a CLOSE ALL in a function that the query calls.
        let portal = unmoved(|| unsafe {
            let portal = pg_sys::SPI_cursor_open_with_paramlist(
                std::ptr::null(),
                plan.pointer,
                parameters,
                true,
            );
            pg_sys::PinPortal(portal);
            portal
        });
        Ok(Cursor { portal, session: self })
    }

    fn rows(&self, status: i32) -> Result<Rows<'_>> {
        if status < 0 {
            return Err(failed(status));
        }
        // SAFETY: SPI is connected; the tuple table belongs to this connection.
        unsafe {
            let table = pg_sys::SPI_tuptable;
            pg_sys::SPI_tuptable = std::ptr::null_mut();
            let count = if table.is_null() { 0 } else { (*table).numvals as usize };
            Ok(Rows { table, count, session: PhantomData })
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: pairs with SPI_connect.
            unmoved(|| unsafe { pg_sys::SPI_finish() });
        }
    }
}

/// A query in progress, whose rows come in batches.
pub struct Cursor<'a> {
    portal: pg_sys::Portal,
    session: &'a Session,
}

impl Cursor<'_> {
    /// Calls `visit(rows, row)` for each row that is left, until it says that it has enough. What it allocates is freed
    /// after each.
    pub fn each(&self, mut visit: impl FnMut(&Rows, usize) -> Result<Continue>) -> Result<()> {
        let mut scratch = Memory::scratch(c"minlsh row");
        let (mut batch, room) = (16, memory::of_fetch());
        loop {
            // SAFETY: the portal is open and pinned; its rows belong to this connection.
            unmoved(|| unsafe { pg_sys::SPI_cursor_fetch(self.portal, true, batch) });
            let rows = self.session.rows(0)?;
            for row in 0..rows.len() {
                check_interrupts();
                if scratch.run_and_reset(|| visit(&rows, row))? == Continue::No {
                    return Ok(());
                }
            }
            if rows.is_empty() {
                return Ok(());
            }
            batch = if rows.bytes() > room { (batch / 2).max(1) } else { (batch * 2).min(1024) };
        }
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened and pinned by `Session::cursor`, closed once.
            unmoved(|| unsafe {
                pg_sys::UnpinPortal(self.portal);
                pg_sys::SPI_cursor_close(self.portal);
            });
        }
    }
}

/// A plan. PostgreSQL replans it when an object it uses changes, but from the text, with the names
/// of old: whoever keeps one drops it when a name may have changed.
pub struct PreparedPlan {
    pointer: pg_sys::SPIPlanPtr,
    types: Vec<Oid>,
    kept: bool,
}

impl PreparedPlan {
    /// A plan of the open session, with the types of its parameters; `None` if it failed.
    fn new(pointer: pg_sys::SPIPlanPtr, types: Vec<Oid>) -> Option<Self> {
        (!pointer.is_null()).then(|| Self { pointer, types, kept: false })
    }

    /// Moves the plan out of its session.
    pub fn keep(mut self) -> Self {
        // SAFETY: a plan of the open session.
        unsafe { pg_sys::SPI_keepplan(self.pointer) };
        self.kept = true;
        self
    }

    /// True if it is up to date, and names only these relations: what it names is looked up again only if it is not up
    /// to date.
    pub fn is_of(&self, relations: &[Oid]) -> bool {
        let is_of = |statement: Statement| {
            statement.is_valid()
                && statement.relations().iter().all(|named| relations.contains(named))
        };
        self.statements().all(is_of)
    }

    /// Its statement; `None` if it has several.
    pub(super) fn statement(&self) -> Option<Statement<'_>> {
        let mut statements = self.statements();
        statements.next().filter(|_| statements.next().is_none())
    }

    fn statements(&self) -> impl Iterator<Item = Statement<'_>> {
        // SAFETY: a plan that is alive has a list of its statements, which live as long.
        unsafe {
            let sources = pg_sys::SPI_plan_get_plan_sources(self.pointer);
            list::pointers(sources).map(|source| Statement::of(source))
        }
    }

    /// Brings its statement up to date, and has it looked at: from its text another may have become, by what was
    /// created since. What it locks stays locked, so that it is this one that runs next. False if it is changed all
    /// the time.
    pub(super) fn bring_up_to_date(&self, look: impl Fn(Statement) -> Result<()>) -> Result<bool> {
        /// More changes in a row than others make.
        const TRIES: usize = 1000;
        for _ in 0..TRIES {
            let Some(statement) = self.statement() else { return Ok(false) };
            statement.bring_up_to_date();
            look(statement)?;
            if statement.is_valid() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The values of its parameters, checked for their number and types.
    fn parameters(&self, values: &[Parameter]) -> Result<pg_sys::ParamListInfo> {
        if types(values) != self.types {
            return Err(internal("the parameters of an internal query are of other types"));
        }
        Ok(parameter_list(values))
    }
}

impl Drop for PreparedPlan {
    fn drop(&mut self) {
        if !self.kept {
            return;
        }
        if !std::thread::panicking() {
            // SAFETY: a kept plan, freed once.
            unsafe { pg_sys::SPI_freeplan(self.pointer) };
            return;
        }
        LEFT.with_borrow_mut(|left| {
            // Without memory for it the plan stays.
            if left.try_reserve(1).is_ok() {
                left.push(self.pointer);
            }
        });
    }
}

/// The rows of a query, freed with this; columns are numbered from 1.
pub struct Rows<'a> {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
    session: PhantomData<&'a Session>,
}

impl Rows<'_> {
    /// The number of rows that were returned.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// About how many bytes they take.
    fn bytes(&self) -> usize {
        if self.table.is_null() {
            return 0;
        }
        // SAFETY: the table is alive, and so is its context.
        unsafe { pg_sys::MemoryContextMemAllocated((*self.table).tuptabcxt, true) }
    }

    /// The type of a column; invalid if there is no such column.
    pub fn type_of(&self, column: i32) -> Oid {
        if self.table.is_null() {
            return Oid::INVALID;
        }
        // SAFETY: the table is alive; the number of the column is checked.
        unsafe {
            let descriptor = (*self.table).tupdesc;
            if (1..=(*descriptor).natts).contains(&column) {
                versions::attribute(descriptor, column as usize - 1).atttypid
            } else {
                Oid::INVALID
            }
        }
    }

    /// The value at (`row`, `column`) as it is, `None` for NULL.
    pub fn datum(&self, row: usize, column: i32) -> Result<Option<Datum>> {
        if row >= self.count || self.type_of(column) == Oid::INVALID {
            return Err(internal("an internal query lacks a row or a column"));
        }
        let mut is_null = false;
        // SAFETY: the table has that row and that column.
        let datum = unsafe {
            let tuple = *(*self.table).vals.add(row);
            pg_sys::SPI_getbinval(tuple, (*self.table).tupdesc, column, &mut is_null)
        };
        Ok((!is_null).then_some(datum))
    }

    /// The value at (`row`, `column`), which must be of type `expected`; `None` for NULL. It lives as long as the rows.
    pub fn value(&self, row: usize, column: i32, expected: Oid) -> Result<Option<Datum>> {
        let is = self.type_of(column);
        if is != Oid::INVALID && is != expected {
            let (is, expected) = (type_label(is), type_label(expected));
            return Err(internal(format!("an internal query gives {is} instead of {expected}")));
        }
        self.datum(row, column)
    }

    /// A copy of that value, in the current memory context, as a parameter of another query.
    pub fn parameter(&self, row: usize, column: i32, expected: Oid) -> Result<Parameter> {
        let value = self.value(row, column, expected)?;
        // SAFETY: checked to be of that type; it lives as long as the rows, and the copy as long as its context.
        Ok(unsafe {
            let copied = value.map(|value| TypeStorage::of(expected).copy(value));
            Parameter::new(expected, copied)
        })
    }

    /// A `text` value.
    pub fn text(&self, row: usize, column: i32) -> Result<Option<&str>> {
        let datum = self.value(row, column, pg_sys::TEXTOID)?;
        // SAFETY: checked to be a text, which lives as long as the rows.
        datum.map(|datum| unsafe { text::read(datum) }).transpose()
    }

    /// A `bigint` value.
    pub fn int8(&self, row: usize, column: i32) -> Result<Option<i64>> {
        Ok(self.value(row, column, pg_sys::INT8OID)?.map(|datum| datum.value() as i64))
    }

    /// A `boolean` value.
    pub fn bool(&self, row: usize, column: i32) -> Result<Option<bool>> {
        Ok(self.value(row, column, pg_sys::BOOLOID)?.map(|datum| datum.value() as u8 != 0))
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        if !self.table.is_null() && !std::thread::panicking() {
            // SAFETY: the table belongs to the open session, and this was the way to it.
            unsafe { pg_sys::SPI_freetuptable(self.table) };
        }
    }
}

fn types(parameters: &[Parameter]) -> Vec<Oid> {
    parameters.iter().map(Parameter::type_oid).collect()
}

#[track_caller]
fn internal(message: impl Into<String>) -> SqlError {
    error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message)
}

/// The error of an SPI call that gave `status`.
fn failed(status: i32) -> SqlError {
    // SAFETY: returns a static string, or one in a static buffer.
    let reason = unsafe { text::from_cstring(pg_sys::SPI_result_code_string(status)) };
    internal(format!("internal query failed: {reason}"))
}
