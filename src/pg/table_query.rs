//! A query over one table whose expressions are given as nodes.
//!
//! Of the text that PostgreSQL keeps to plan it again only the name of the table could come to mean
//! something else; before each use the query is checked to read the table that was meant.

use std::ffi::c_void;

use pgrx::pg_sys::{self, Node, Oid};
use pgrx::prelude::*;

use crate::error::{Result, wrong_state};
use crate::pg::expression::{Expression, Expressions};
use crate::pg::list;
use crate::pg::names::relation_name;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::{self, Parameter, PreparedPlan, Rows, Session};
use crate::pg::sql::Sql;

/// A query of a table, to be planned.
#[derive(Default)]
pub struct Parts<'a> {
    /// The table; none to evaluate expressions of parameters.
    pub table: Option<Oid>,
    /// True if the rows of tables that inherit from it are left out.
    pub only: bool,
    /// The columns of the result.
    pub columns: Vec<Expression<'a>>,
    /// The conditions of a row, in full.
    pub conditions: Vec<Expression<'a>>,
    /// The expressions that rows are ordered by.
    pub order: Vec<(Expression<'a>, Direction)>,
    /// The maximum number of rows to read, a `bigint`; NULL means all.
    pub limit: Option<Expression<'a>>,
    /// The types of its parameters.
    pub parameters: Vec<Oid>,
    /// True if it is worth the time to plan it for the values of its parameters.
    pub custom: bool,
}

/// The direction in which rows are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// A query, planned for many executions, which run as the caller.
pub struct TableQuery {
    plan: PreparedPlan,
    table: Option<Oid>,
    /// The types of the columns of the result.
    types: Vec<Oid>,
    /// The values of `$1`, `$2`, ...; the plan refers to them.
    _slots: Box<Slots>,
}

/// The expressions of a query, in the order of their numbers in its text.
struct Slots {
    nodes: Vec<*mut Node>,
    /// The memory of the nodes.
    _owner: Expressions,
}

impl TableQuery {
    /// Plans a query.
    pub fn prepare(_session: &Session, query: &Parts) -> Result<Self> {
        let (text, slots) = query.write()?;
        let slots = Box::new(slots);
        let command = spi::command(&text);
        let generic = if query.custom { 0 } else { pg_sys::CURSOR_OPT_GENERIC_PLAN };
        let options = pg_sys::SPIPrepareOptions {
            parserSetup: Some(set_up),
            parserSetupArg: std::ptr::from_ref::<Slots>(&slots).cast_mut().cast(),
            cursorOptions: generic as i32,
            ..Default::default()
        };
        // SAFETY: SPI is connected, as the session shows; the slots live as long as the plan.
        let plan = crate::pg::memory::unmoved(|| unsafe {
            pg_sys::SPI_prepare_extended(command.as_ptr(), &options)
        });
        let plan = PreparedPlan::new(plan, query.parameters.clone())
            // SAFETY: set by the call before.
            .ok_or_else(|| spi::failed(unsafe { pg_sys::SPI_result }))?;
        let types = query.columns.iter().map(|column| column.type_oid()).collect();
        Ok(Self { plan: plan.keep(), table: query.table, types, _slots: slots })
    }

    /// Runs it.
    pub fn rows<'a>(&self, session: &'a Session, values: &[Parameter]) -> Result<Rows<'a>> {
        self.check()?;
        session.execute(&self.plan, values)
    }

    /// Runs it; its rows flow into the function's result.
    pub fn rows_into(
        &self,
        session: &Session,
        values: &[Parameter],
        result: &ResultRows,
    ) -> Result<()> {
        self.check()?;
        session.execute_into(&self.plan, values, result)
    }

    /// Has PostgreSQL bring the query up to date, and sees that it reads the table that was meant,
    /// as a table, and gives what was promised. All that it locks stays locked: it is this query
    /// that runs then.
    fn check(&self) -> Result<()> {
        // SAFETY: a kept plan of one statement; what PostgreSQL gives of it is alive until it is
        // next brought up to date.
        let sound = unsafe {
            let sources = pg_sys::SPI_plan_get_plan_sources(self.plan.pointer());
            list::pointers(sources).next().is_some_and(|source| {
                pg_sys::CachedPlanGetTargetList(source, std::ptr::null_mut());
                self.reads_its_table(&*source) && self.gives_its_types(&*source)
            })
        };
        if sound {
            return Ok(());
        }
        let table = self.table.map(relation_name).unwrap_or_default();
        Err(wrong_state(format!("table \"{table}\" was replaced while it was being read"))
            .set_hint("Retry the statement."))
    }

    /// # Safety
    /// `source` must have been brought up to date.
    unsafe fn reads_its_table(&self, source: &pg_sys::CachedPlanSource) -> bool {
        // SAFETY: a list of queries, with lists of range table entries.
        unsafe {
            let mut queries = list::pointers::<pg_sys::Query>(source.query_list);
            let (Some(query), None) = (queries.next(), queries.next()) else { return false };
            let mut entries = list::pointers::<pg_sys::RangeTblEntry>((*query).rtable);
            match (entries.next(), entries.next(), self.table) {
                (Some(entry), None, Some(table)) => {
                    (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION && (*entry).relid == table
                }
                (None, None, None) => true,
                _ => false,
            }
        }
    }

    /// # Safety
    /// `source` must have been brought up to date.
    unsafe fn gives_its_types(&self, source: &pg_sys::CachedPlanSource) -> bool {
        // SAFETY: the descriptor of the result, if there is one.
        unsafe {
            let descriptor = source.resultDesc;
            !descriptor.is_null()
                && (*descriptor).natts as usize == self.types.len()
                && self.types.iter().enumerate().all(|(column, expected)| {
                    pg_sys::SPI_gettypeid(descriptor, column as i32 + 1) == *expected
                })
        }
    }
}

impl Parts<'_> {
    /// The text, and what the numbers in it stand for.
    fn write(&self) -> Result<(Vec<u8>, Slots)> {
        let owner = Expressions::new();
        let mut nodes = Vec::new();
        let mut number = |expression: Expression| {
            nodes.push(owner.copy(expression).node());
            format!("${}", nodes.len())
        };
        let columns: Vec<String> = self.columns.iter().map(|column| number(*column)).collect();
        let mut text = format!("SELECT {}", columns.join(", ")).into_bytes();
        if let Some(table) = self.table {
            text.extend(if self.only { &b" FROM ONLY "[..] } else { b" FROM " });
            if relation_name(table).is_empty() {
                let oid = table.to_u32();
                return Err(wrong_state(format!("relation with OID {oid} does not exist")));
            }
            text.extend(Sql::default().relation(table).as_ref());
        }
        let conditions: Vec<String> = self.conditions.iter().map(|c| number(*c)).collect();
        if !conditions.is_empty() {
            text.extend(format!(" WHERE {}", conditions.join(" AND ")).into_bytes());
        }
        let order = self.order.iter().map(|(expression, direction)| {
            let descending = *direction == Direction::Descending;
            number(*expression) + if descending { " DESC" } else { "" }
        });
        let order: Vec<String> = order.collect();
        if !order.is_empty() {
            text.extend(format!(" ORDER BY {}", order.join(", ")).into_bytes());
        }
        if let Some(limit) = self.limit {
            text.extend(format!(" LIMIT {}", number(limit)).into_bytes());
        }
        Ok((text, Slots { nodes, _owner: owner }))
    }
}

/// PostgreSQL calls this before it parses the query.
#[pg_guard]
unsafe extern "C-unwind" fn set_up(state: *mut pg_sys::ParseState, slots: *mut c_void) {
    // SAFETY: a parser's state, and what `TableQuery::prepare` gave it.
    unsafe {
        (*state).p_paramref_hook = Some(expression);
        (*state).p_ref_hook_state = slots;
    }
}

/// PostgreSQL calls this for each `$n`.
#[pg_guard]
unsafe extern "C-unwind" fn expression(
    state: *mut pg_sys::ParseState,
    reference: *mut pg_sys::ParamRef,
) -> *mut Node {
    // SAFETY: a parser's state that `set_up` has seen; the slots live as long as the plan. The
    // columns in a copy are marked as read, so that the caller's rights to them are checked.
    unsafe {
        let slots = &*(*state).p_ref_hook_state.cast::<Slots>();
        let place = usize::try_from((*reference).number - 1).ok();
        let Some(node) = place.and_then(|place| slots.nodes.get(place)) else {
            return std::ptr::null_mut();
        };
        let copy = pg_sys::copyObjectImpl(node.cast()).cast::<Node>();
        for variable in list::pointers(pg_sys::pull_var_clause(copy, 0)) {
            pg_sys::markVarForSelectPriv(state, variable);
        }
        copy
    }
}
