//! SQL run inside the server, with plans that live as long as their owner.
//!
//! pgrx has a client of its own, which decides by the transaction's history whether a query
//! sees the caller's snapshot. A STABLE function must always see it: here the caller says.
//!
//! Nothing here moves the caller's memory context: what is allocated between two queries is freed
//! with the function's call, and not only when the last session ends. Values are read only as the
//! type they are of, whatever became of the table behind a plan.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, error, internal, raise};
use crate::pg::memory::unmoved;
pub use crate::pg::parameter::Parameter;
use crate::pg::parameter::parameter_list;
use crate::pg::plan::{PreparedPlan, free_left};
use crate::pg::row::{Continue, Row};
use crate::pg::sql::Sql;
use crate::pg::{text, versions};

/// A connection to SPI. Queries read only, under the snapshot of the statement that called us.
pub struct Session(());

impl Session {
    pub fn open() -> Self {
        free_left();
        // SAFETY: paired with SPI_finish in `Drop`; on an ERROR the abort cleans up.
        unmoved(|| unsafe { pg_sys::SPI_connect() });
        Self(())
    }

    /// Runs `sql`, in the encoding of the database, once with typed parameters. Returns its first row.
    pub fn query(&self, sql: &str, parameters: &[Parameter]) -> Result<Option<Row>> {
        self.first(&self.plan(sql, &types(parameters), 0)?, parameters)
    }

    /// Plans `sql`, with options of a cursor. The plan ends with the session, unless it is kept.
    pub fn plan(&self, sql: &(impl AsRef<[u8]> + ?Sized), types: &[Oid], options: u32) -> Result<PreparedPlan> {
        let command = text::c_string(sql.as_ref())?;
        let mut types = types.to_vec();
        // SAFETY: SPI is connected; a NUL-terminated command, and as many types as it says.
        let pointer = unmoved(|| unsafe {
            let (count, options) = (types.len() as i32, options as i32);
            pg_sys::SPI_prepare_cursor(command.as_ptr(), count, types.as_mut_ptr(), options)
        });
        if pointer.is_null() {
            // SAFETY: set by the call before.
            return Err(failed(unsafe { pg_sys::SPI_result }));
        }
        Ok(PreparedPlan { pointer, types, kept: false })
    }

    /// Runs a plan, up to its first row, of which this is a copy.
    pub fn first(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<Option<Row>> {
        let mut first = None;
        self.each(plan, values, None, &mut |row| {
            first = Some(row.copied());
            Ok(Continue::No)
        })?;
        Ok(first)
    }

    /// Runs a plan that writes, under a snapshot of its own. Returns the number of rows that it has written.
    pub fn write(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<u64> {
        self.execute(plan, values, pg_sys::SPIExecuteOptions::default())?;
        // SAFETY: set by the call before.
        Ok(unsafe { pg_sys::SPI_processed })
    }

    /// Runs a plan, and calls `visit` with its rows one by one, as the executor makes them, until it says that it has
    /// enough. An error is raised if they are not of the types `gives`, if these are known.
    pub fn each(
        &self,
        plan: &PreparedPlan,
        values: &[Parameter],
        gives: Option<&[Oid]>,
        visit: &mut dyn FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let mut receiver = Receiver::new(gives, visit);
        let dest = (&raw mut receiver).cast();
        let options = pg_sys::SPIExecuteOptions { read_only: true, dest, ..Default::default() };
        self.execute(plan, values, options)?;
        receiver.outcome.map(|_| ())
    }

    fn execute(&self, plan: &PreparedPlan, values: &[Parameter], options: pg_sys::SPIExecuteOptions) -> Result<()> {
        if types(values) != plan.types {
            return Err(internal("the parameters of an internal query are of other types"));
        }
        let options = pg_sys::SPIExecuteOptions { params: parameter_list(values), ..options };
        // SAFETY: SPI is connected, and the plan is alive and has these parameters; the receiver, if there is one, is
        // that of `each`, which waits for it.
        let status = unmoved(|| unsafe { pg_sys::SPI_execute_plan_extended(plan.pointer, &options) });
        if status < 0 { Err(failed(status)) } else { Ok(()) }
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

impl Sql {
    /// Runs it as a command. Rows that it returns are dropped.
    pub fn run(self) -> Result<()> {
        let session = Session::open();
        session.write(&session.plan(&self, &[], 0)?, &[]).map(|_| ())
    }
}

/// A receiver of the rows of a statement that hands each to a closure.
#[repr(C)]
struct Receiver<'a> {
    base: pg_sys::DestReceiver,
    gives: Option<&'a [Oid]>,
    visit: &'a mut dyn FnMut(&Row) -> Result<Continue>,
    /// The answer to the last row, which has ended it unless it is to go on.
    outcome: Result<Continue>,
}

impl<'a> Receiver<'a> {
    fn new(gives: Option<&'a [Oid]>, visit: &'a mut dyn FnMut(&Row) -> Result<Continue>) -> Self {
        #[pg_guard]
        unsafe extern "C-unwind" fn receive(
            slot: *mut pg_sys::TupleTableSlot,
            receiver: *mut pg_sys::DestReceiver,
        ) -> bool {
            // SAFETY: called by the executor with a row, and with the receiver given to it, which
            // is the head of ours.
            let (row, receiver) = unsafe { (Row::borrowed(slot), &mut *receiver.cast::<Receiver>()) };
            receiver.outcome = (receiver.visit)(&row);
            matches!(receiver.outcome, Ok(Continue::Yes))
        }
        #[pg_guard]
        unsafe extern "C-unwind" fn start(
            receiver: *mut pg_sys::DestReceiver,
            _operation: i32,
            descriptor: pg_sys::TupleDesc,
        ) {
            // SAFETY: called by the executor before the first row, with the descriptor of all rows, and with the
            // receiver given to it, which is the head of ours.
            let is_so = unsafe {
                let found = versions::attributes(descriptor).iter().map(|column| &column.atttypid);
                (*receiver.cast::<Receiver>()).gives.is_none_or(|types| found.eq(types))
            };
            if !is_so {
                let code = PgSqlErrorCode::ERRCODE_OBJECT_IN_USE;
                let message = "a column of the source changed its type while the statement read it";
                raise(error(code, message).set_hint("Retry the statement."));
            }
        }
        #[pg_guard]
        unsafe extern "C-unwind" fn end(_receiver: *mut pg_sys::DestReceiver) {}
        let base = pg_sys::DestReceiver {
            receiveSlot: Some(receive),
            rStartup: Some(start),
            rShutdown: Some(end),
            rDestroy: Some(end),
            mydest: pg_sys::CommandDest::DestNone,
        };
        Self { base, gives, visit, outcome: Ok(Continue::Yes) }
    }
}

fn types(parameters: &[Parameter]) -> Vec<Oid> {
    parameters.iter().map(Parameter::type_oid).collect()
}

/// The error of an SPI call that gave `status`.
fn failed(status: i32) -> SqlError {
    // SAFETY: returns a static string, or one in a static buffer.
    let reason = unsafe { text::from_cstring(pg_sys::SPI_result_code_string(status)) };
    internal(format!("internal query failed: {reason}"))
}
