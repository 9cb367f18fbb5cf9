//! Runs SQL inside the server, with plans that live as long as their owner.
//!
//! pgrx's own client decides by the transaction's history whether a query sees the caller's snapshot. A STABLE function
//! must always see it, so here the caller decides.
//!
//! Nothing here changes the caller's memory context, so memory allocated between two queries is freed with the
//! function's call. Values are read only as their own type, whatever has happened to the table behind a plan.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, in_use, internal, raise};
use crate::pg::memory::{unless_raised, unmoved};
use crate::pg::plan::{PreparedPlan, free_left};
use crate::pg::row::{Continue, Row};
use crate::pg::sql::Sql;
use crate::pg::typed_value::{Parameter, parameter_list};
use crate::pg::{text, versions};

/// A connection to SPI. Queries are read only, under the snapshot of the calling statement.
pub struct Session(());

impl Session {
    pub fn open() -> Self {
        free_left();
        // SAFETY: `drop` calls SPI_finish; after an ERROR the abort cleans up.
        unmoved(|| unsafe { pg_sys::SPI_connect() });
        Self(())
    }

    /// Runs `sql`, in the database's encoding, once with typed parameters. Returns its first row.
    pub fn query(&self, sql: &str, parameters: &[Parameter]) -> Result<Option<Row>> {
        self.first(&self.plan(sql, &types(parameters), 0)?, parameters)
    }

    /// Plans `sql` with these cursor options. The plan ends with the session unless it is kept.
    pub fn plan(&self, sql: &(impl AsRef<[u8]> + ?Sized), types: &[Oid], options: u32) -> Result<PreparedPlan> {
        let command = text::c_string(sql.as_ref())?;
        let mut types = types.to_vec();
        // SAFETY: the session is connected. The command ends with a NUL, and the slice of types has this length.
        let pointer = unmoved(|| unsafe {
            let (count, options) = (types.len() as i32, options as i32);
            pg_sys::SPI_prepare_cursor(command.as_ptr(), count, types.as_mut_ptr(), options)
        });
        if pointer.is_null() {
            // SAFETY: reads a global that the previous call has set.
            return Err(failed(unsafe { pg_sys::SPI_result }));
        }
        Ok(PreparedPlan { pointer, types, kept: false })
    }

    /// Runs a plan. Returns a copy of its first row.
    pub fn first(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<Option<Row>> {
        let mut first = None;
        self.each(plan, values, None, &mut |row| {
            first = Some(row.copied());
            Ok(Continue::No)
        })?;
        Ok(first)
    }

    /// Runs a plan that writes, under a new snapshot. Returns the number of rows that it wrote.
    pub fn write(&self, plan: &PreparedPlan, values: &[Parameter]) -> Result<u64> {
        self.execute(plan, values, pg_sys::SPIExecuteOptions::default())?;
        // SAFETY: reads a global that the previous call has set.
        Ok(unsafe { pg_sys::SPI_processed })
    }

    /// Runs a plan, and calls `visit` with each row as the executor makes it, until `visit` returns that it has enough.
    /// An error if the rows do not have the types `gives`, if these are known.
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
        // SAFETY: the session is connected, and the plan is alive and has these parameters. A receiver lives in `each`,
        // which waits for this call.
        let status = unmoved(|| unsafe { pg_sys::SPI_execute_plan_extended(plan.pointer, &options) });
        if status < 0 { Err(failed(status)) } else { Ok(()) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: pairs with SPI_connect.
        unless_raised(|| _ = unmoved(|| unsafe { pg_sys::SPI_finish() }));
    }
}

impl Sql {
    /// Runs it as a command, and discards its rows.
    pub fn run(self) -> Result<()> {
        let session = Session::open();
        session.write(&session.plan(&self, &[], 0)?, &[]).map(|_| ())
    }
}

/// A receiver of a statement's rows that passes each to a closure.
#[repr(C)]
struct Receiver<'a> {
    base: pg_sys::DestReceiver,
    gives: Option<&'a [Oid]>,
    visit: &'a mut dyn FnMut(&Row) -> Result<Continue>,
    /// The result for the last row; anything but `Continue` has ended the statement.
    outcome: Result<Continue>,
}

impl<'a> Receiver<'a> {
    fn new(gives: Option<&'a [Oid]>, visit: &'a mut dyn FnMut(&Row) -> Result<Continue>) -> Self {
        #[pg_guard]
        unsafe extern "C-unwind" fn receive(
            slot: *mut pg_sys::TupleTableSlot,
            receiver: *mut pg_sys::DestReceiver,
        ) -> bool {
            // SAFETY: the executor calls this with a row and with its receiver, the first field of a `Receiver`.
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
            // SAFETY: the executor calls this before the first row, with the descriptor of all rows and with its
            // receiver, the first field of a `Receiver`.
            let is_so = unsafe {
                let found = versions::attributes(descriptor).iter().map(|column| &column.atttypid);
                (*receiver.cast::<Receiver>()).gives.is_none_or(|types| found.eq(types))
            };
            if !is_so {
                let message = "a column of the source changed its type while the statement read it";
                raise(in_use(message).set_hint("Retry the statement."));
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

/// The error for an SPI call that returned `status`.
fn failed(status: i32) -> SqlError {
    // SAFETY: returns a static string, or a string in a static buffer.
    let reason = unsafe { text::from_cstring(pg_sys::SPI_result_code_string(status)) };
    internal(format!("internal query failed: {reason}"))
}
