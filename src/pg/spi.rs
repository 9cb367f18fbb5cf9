//! SQL run inside the server, with plans that live as long as their owner.
//!
//! pgrx has a client of its own, which decides by the transaction's history whether a query
//! sees the caller's snapshot. A STABLE function must always see it, and a trigger must
//! always see its own writes: here the caller says which.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::names::cstring;
use crate::pg::{rows, text};

/// What a query may do, and what it sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads, under the snapshot of the statement that called us.
    Read,
    /// Reads and writes, under a new snapshot that includes all earlier commands.
    Write,
    /// The same, and also in a transaction that keeps to an older snapshot (REPEATABLE READ,
    /// SERIALIZABLE) it sees what has been committed by now: for what PostgreSQL would have in a
    /// catalog or an index.
    Latest,
}

/// A connection to SPI. What its queries return is freed when it goes out of scope.
pub struct Session(());

impl Session {
    /// Connects.
    pub fn open() -> Self {
        // SAFETY: paired with SPI_finish in `Drop`; on an ERROR the abort cleans up.
        unsafe { pg_sys::SPI_connect() };
        Self(())
    }

    /// Runs `sql` once, for its effect.
    pub fn run(&self, sql: &str) -> Result<()> {
        self.query(sql, &[], Access::Write).map(drop)
    }

    /// Runs `sql` once with typed parameters.
    pub fn query(&self, sql: &str, parameters: &[Parameter], access: Access) -> Result<Rows<'_>> {
        if access == Access::Latest {
            let types: Vec<Oid> = parameters.iter().map(|p| p.type_oid).collect();
            let values: Vec<Option<Datum>> = parameters.iter().map(|p| p.value).collect();
            return self.execute(&self.prepare(sql, &types)?, &values, access);
        }
        let command = cstring(sql);
        let mut types: Vec<Oid> = parameters.iter().map(|p| p.type_oid).collect();
        let (mut values, nulls) = split(parameters.iter().map(|p| p.value));
        // SAFETY: SPI is connected; the three arrays have one entry for each parameter.
        let status = unsafe {
            pg_sys::SPI_execute_with_args(
                command.as_ptr(),
                types.len() as i32,
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr().cast(),
                access == Access::Read,
                0,
            )
        };
        self.rows(status)
    }

    /// Runs a kept plan.
    pub fn execute(
        &self,
        plan: &Plan,
        values: &[Option<Datum>],
        access: Access,
    ) -> Result<Rows<'_>> {
        let (mut values, nulls) = split(values.iter().copied());
        let nulls = nulls.as_ptr().cast();
        // SAFETY: SPI is connected, the plan is alive and has as many parameters (see `Plan`); a
        // snapshot is registered while it is used.
        let status = unsafe {
            if access == Access::Latest {
                let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
                let status = pg_sys::SPI_execute_snapshot(
                    plan.0,
                    values.as_mut_ptr(),
                    nulls,
                    snapshot,
                    std::ptr::null_mut(),
                    false,
                    true,
                    0,
                );
                pg_sys::UnregisterSnapshot(snapshot);
                status
            } else {
                let read_only = access == Access::Read;
                pg_sys::SPI_execute_plan(plan.0, values.as_mut_ptr(), nulls, read_only, 0)
            }
        };
        self.rows(status)
    }

    /// Runs a kept plan; its rows flow into the function's result without passing through
    /// memory here, and spill to disk beyond work_mem.
    pub fn execute_into(
        &self,
        plan: &Plan,
        values: &[Option<Datum>],
        access: Access,
        result: &rows::ResultRows,
    ) -> Result<()> {
        // SAFETY: SPI is connected and the plan is alive; the parameter list is filled for each
        // of its parameters, and the receiver writes rows of the result's own row type.
        let status = unsafe {
            let list = pg_sys::makeParamList(values.len() as i32);
            let entries = (*list).params.as_mut_slice(values.len());
            for (number, (entry, value)) in entries.iter_mut().zip(values).enumerate() {
                entry.value = value.unwrap_or(Datum::from(0));
                entry.isnull = value.is_none();
                entry.pflags = pg_sys::PARAM_FLAG_CONST as u16;
                entry.ptype = pg_sys::SPI_getargtypeid(plan.0, number as i32);
            }
            let options = pg_sys::SPIExecuteOptions {
                params: list,
                read_only: access == Access::Read,
                must_return_tuples: true,
                dest: result.receiver(),
                ..Default::default()
            };
            pg_sys::SPI_execute_plan_extended(plan.0, &options)
        };
        self.rows(status).map(drop)
    }

    /// Opens a cursor over a kept plan, for results too large to hold.
    pub fn cursor(
        &self,
        plan: &Plan,
        values: &[Option<Datum>],
        access: Access,
    ) -> Result<Cursor<'_>> {
        let (mut values, nulls) = split(values.iter().copied());
        // SAFETY: SPI is connected, the plan is alive and has as many parameters.
        let portal = unsafe {
            pg_sys::SPI_cursor_open(
                std::ptr::null(),
                plan.0,
                values.as_mut_ptr(),
                nulls.as_ptr().cast(),
                access == Access::Read,
            )
        };
        Ok(Cursor { portal, session: self })
    }

    /// Plans `sql` once for many executions.
    pub fn prepare(&self, sql: &str, types: &[Oid]) -> Result<Plan> {
        let command = cstring(sql);
        let mut types = types.to_vec();
        // SAFETY: SPI is connected; SPI_keepplan moves the plan out of this connection.
        unsafe {
            let plan =
                pg_sys::SPI_prepare(command.as_ptr(), types.len() as i32, types.as_mut_ptr());
            if plan.is_null() {
                return Err(failed(pg_sys::SPI_result));
            }
            pg_sys::SPI_keepplan(plan);
            Ok(Plan(plan))
        }
    }

    fn rows(&self, status: i32) -> Result<Rows<'_>> {
        if status < 0 {
            return Err(failed(status));
        }
        // SAFETY: SPI is connected; the tuple table belongs to this connection.
        unsafe {
            Ok(Rows {
                table: pg_sys::SPI_tuptable,
                processed: pg_sys::SPI_processed as usize,
                session: std::marker::PhantomData,
            })
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: pairs with SPI_connect.
            unsafe { pg_sys::SPI_finish() };
        }
    }
}

/// A query in progress, whose rows come in batches.
pub struct Cursor<'a> {
    portal: pg_sys::Portal,
    session: &'a Session,
}

impl Cursor<'_> {
    /// Calls `visit(rows, row)` for each row that is left.
    pub fn each(&self, mut visit: impl FnMut(&Rows, usize) -> Result<()>) -> Result<()> {
        /// Rows in memory at a time.
        const BATCH: std::ffi::c_long = 1000;
        loop {
            // SAFETY: the portal is open; its rows belong to this connection.
            unsafe { pg_sys::SPI_cursor_fetch(self.portal, true, BATCH) };
            let rows = self.session.rows(0)?;
            for row in 0..rows.len() {
                visit(&rows, row)?;
            }
            let last = rows.is_empty();
            rows.free();
            if last {
                return Ok(());
            }
        }
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `Session::cursor`, closed once.
            unsafe { pg_sys::SPI_cursor_close(self.portal) };
        }
    }
}

/// A plan kept across calls. PostgreSQL replans it when an object it uses changes, but from
/// the text, with the names of old: whoever keeps one drops it when a name may have changed.
pub struct Plan(pg_sys::SPIPlanPtr);

impl Drop for Plan {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: a kept plan, freed once.
            unsafe { pg_sys::SPI_freeplan(self.0) };
        }
    }
}

/// A typed parameter; `None` is NULL.
#[derive(Clone, Copy)]
pub struct Parameter {
    type_oid: Oid,
    value: Option<Datum>,
}

impl Parameter {
    /// A parameter of any type.
    pub fn new(type_oid: Oid, value: Option<Datum>) -> Self {
        Self { type_oid, value }
    }

    /// An `oid`.
    pub fn oid(value: Oid) -> Self {
        Self::new(pg_sys::OIDOID, Some(Datum::from(value)))
    }

    /// A `text`.
    pub fn text(value: &str) -> Self {
        Self::new(pg_sys::TEXTOID, Some(text::write(value)))
    }

    /// An `integer`.
    pub fn int4(value: i32) -> Self {
        Self::new(pg_sys::INT4OID, Some(Datum::from(value)))
    }

    /// A `bigint`.
    pub fn int8(value: i64) -> Self {
        Self::new(pg_sys::INT8OID, Some(Datum::from(value)))
    }

    /// A `boolean`.
    pub fn bool(value: bool) -> Self {
        Self::new(pg_sys::BOOLOID, Some(Datum::from(value)))
    }

    /// A `double precision`.
    pub fn float8(value: f64) -> Self {
        Self::new(pg_sys::FLOAT8OID, Some(crate::pg::call::float8_datum(value)))
    }
}

/// The rows of a query; columns are numbered from 1.
pub struct Rows<'a> {
    table: *mut pg_sys::SPITupleTable,
    processed: usize,
    session: std::marker::PhantomData<&'a Session>,
}

impl Rows<'_> {
    /// Frees the rows before the session ends: for queries that are repeated many times.
    pub fn free(self) {
        // SAFETY: the table belongs to the open session, and `self` was the way to it.
        unsafe { pg_sys::SPI_freetuptable(self.table) };
    }

    /// How many rows were returned or changed.
    pub fn len(&self) -> usize {
        self.processed
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.processed == 0
    }

    /// The value at (`row`, `column`), `None` for NULL; valid while the session is open.
    pub fn datum(&self, row: usize, column: i32) -> Option<Datum> {
        assert!(!self.table.is_null() && row < self.processed, "no such row");
        let mut is_null = false;
        // SAFETY: the table has `processed` rows; SPI_getbinval checks the column.
        let datum = unsafe {
            pg_sys::SPI_getbinval(
                *(*self.table).vals.add(row),
                (*self.table).tupdesc,
                column,
                &mut is_null,
            )
        };
        (!is_null).then_some(datum)
    }

    /// A `text` value; empty for NULL.
    pub fn text(&self, row: usize, column: i32) -> Result<String> {
        match self.datum(row, column) {
            // SAFETY: our queries read text in this column.
            Some(datum) => unsafe { text::read(datum) }.map(std::borrow::Cow::into_owned),
            None => Ok(String::new()),
        }
    }

    /// An `integer` value; 0 for NULL.
    pub fn int4(&self, row: usize, column: i32) -> i32 {
        self.datum(row, column).map_or(0, |datum| datum.value() as i32)
    }

    /// A `bigint` value; 0 for NULL.
    pub fn int8(&self, row: usize, column: i32) -> i64 {
        self.datum(row, column).map_or(0, |datum| datum.value() as i64)
    }

    /// A `double precision` value; 0 for NULL.
    pub fn float8(&self, row: usize, column: i32) -> f64 {
        self.datum(row, column).map_or(0.0, |datum| f64::from_bits(datum.value() as u64))
    }

    /// A `boolean` value; false for NULL.
    pub fn bool(&self, row: usize, column: i32) -> bool {
        self.datum(row, column).is_some_and(|datum| datum.value() as u8 != 0)
    }

    /// An `oid` value; invalid for NULL.
    pub fn oid(&self, row: usize, column: i32) -> Oid {
        self.datum(row, column).map_or(Oid::INVALID, |datum| Oid::from(datum.value() as u32))
    }
}

fn split(values: impl Iterator<Item = Option<Datum>>) -> (Vec<Datum>, Vec<u8>) {
    values.map(|v| (v.unwrap_or(Datum::from(0)), if v.is_some() { b' ' } else { b'n' })).unzip()
}

fn failed(status: i32) -> pgrx::pg_sys::panic::ErrorReport {
    // SAFETY: returns a static string, or one in a static buffer.
    let reason = unsafe { text::from_cstring(pg_sys::SPI_result_code_string(status)) };
    error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("internal query failed: {reason}"))
}
