//! Plans of SPI, and their analysed statements.

use std::cell::RefCell;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Node, Oid};

use crate::error::Result;
use crate::pg::{foreign_code, list, versions};

thread_local! {
    /// Kept plans whose owners were dropped, perhaps during an ERROR, when PostgreSQL must not be called.
    static LEFT: RefCell<Vec<pg_sys::SPIPlanPtr>> = const { RefCell::new(Vec::new()) };
}

/// Frees the plans in `LEFT`.
pub(super) fn free_left() {
    for plan in LEFT.take() {
        // SAFETY: a kept plan, which is freed once. Its last execution has ended, perhaps by the abort after an ERROR.
        unsafe { pg_sys::SPI_freeplan(plan) };
    }
}

/// A plan. When an object that it uses changes, PostgreSQL plans the text again, with the old names. So the owner of a
/// kept plan drops it when a name may have changed.
pub struct PreparedPlan {
    pub(super) pointer: pg_sys::SPIPlanPtr,
    /// The types of its parameters.
    pub(super) types: Vec<Oid>,
    /// False if it ends with its session.
    pub(super) kept: bool,
}

impl PreparedPlan {
    /// Makes the plan outlive its session.
    pub fn keep(mut self) -> Self {
        // SAFETY: `Session::plan` made the plan, and the session is still open.
        unsafe { pg_sys::SPI_keepplan(self.pointer) };
        self.kept = true;
        self
    }

    /// True if the plan is valid and names only `relations`. The names of an invalid plan are looked up again.
    pub fn is_of(&self, relations: &[Oid]) -> bool {
        let is_of = |statement: Statement| {
            statement.is_valid() && statement.relations().iter().all(|named| relations.contains(named))
        };
        self.statements().all(is_of)
    }

    /// Its statement; `None` if there are several.
    pub(super) fn statement(&self) -> Option<Statement<'_>> {
        let mut statements = self.statements();
        statements.next().filter(|_| statements.next().is_none())
    }

    fn statements(&self) -> impl Iterator<Item = Statement<'_>> {
        // SAFETY: `self` keeps the plan alive, and with it the list of its statements.
        unsafe {
            let sources = pg_sys::SPI_plan_get_plan_sources(self.pointer);
            list::pointers(sources).map(|source| Statement::of(source))
        }
    }

    /// Makes its statement valid, and calls `look` with it: PostgreSQL may analyse the text to a different statement
    /// after objects were created. The statement keeps its locks, so this is the one that runs next. False if it keeps
    /// changing.
    pub(super) fn bring_up_to_date(&self, look: impl Fn(Statement) -> Result<()>) -> Result<bool> {
        /// Maximum number of changes in a row. Other sessions make fewer.
        const TRIES: usize = 1000;
        for _ in 0..TRIES {
            let Some(statement) = self.statement() else { return Ok(false) };
            // SAFETY: `self` keeps the statement alive; no reference to its nodes is held.
            unsafe { pg_sys::CachedPlanGetTargetList(statement.raw, std::ptr::null_mut()) };
            look(statement)?;
            if statement.is_valid() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for PreparedPlan {
    fn drop(&mut self) {
        // If memory is out, the plan stays until the session ends, and so it does while the process exits.
        let _ = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            if self.kept && left.try_reserve(1).is_ok() {
                left.push(self.pointer);
            }
        });
    }
}

/// A statement of a live plan. Making it valid may free its nodes, so no method returns any of them.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    raw: *mut pg_sys::CachedPlanSource,
    plan: PhantomData<&'a ()>,
}

impl Statement<'_> {
    /// # Safety
    /// `raw` is a statement of a plan that lives as long as the result.
    pub(super) unsafe fn of(raw: *mut pg_sys::CachedPlanSource) -> Self {
        Self { raw, plan: PhantomData }
    }

    /// True if nothing has changed since its analysis that may make it a different statement.
    pub fn is_valid(self) -> bool {
        // SAFETY: the caller of `of` promises a live statement.
        unsafe { (*self.raw).is_valid }
    }

    /// The relations that it names.
    pub fn relations(self) -> Vec<Oid> {
        // SAFETY: the caller of `of` promises a live statement, which has a list of relations, perhaps an empty one.
        unsafe { list::oids((*self.raw).relationOids) }
    }

    /// Calls `of` with each column of its result.
    pub fn columns<T>(self, of: impl Fn(&pg_sys::FormData_pg_attribute) -> T) -> Vec<T> {
        // SAFETY: the caller of `of` promises a live statement; its descriptor is null or complete.
        unsafe {
            let descriptor = (*self.raw).resultDesc;
            if descriptor.is_null() {
                return Vec::new();
            }
            versions::attributes(descriptor).iter().map(of).collect()
        }
    }

    /// Calls `look` with its query; `None` unless it is a single query.
    fn query<T>(self, look: impl FnOnce(&pg_sys::Query) -> T) -> Option<T> {
        // SAFETY: the caller of `of` promises a live statement, whose `query_list` holds queries (plancache.h).
        let query = unsafe {
            let mut queries = list::pointers::<pg_sys::Query>((*self.raw).query_list);
            queries.next().filter(|_| queries.next().is_none()).map(|query| &*query)
        };
        query.map(look)
    }

    /// True if it is a SELECT without row locks or data-modifying parts.
    pub fn reads_only(self) -> bool {
        // SAFETY: the caller of `of` promises a live statement.
        let has_result = unsafe { !(*self.raw).resultDesc.is_null() };
        let reads_only = |query: &pg_sys::Query| {
            query.commandType == pg_sys::CmdType::CMD_SELECT
                && query.utilityStmt.is_null()
                && !query.hasModifyingCTE
                && query.rowMarks.is_null()
        };
        has_result && self.query(reads_only) == Some(true)
    }

    /// True if it has no aggregates, window functions, or set-returning functions among its columns.
    pub fn is_row_by_row(self) -> bool {
        let is_row_by_row = |query: &pg_sys::Query| !query.hasAggs && !query.hasWindowFuncs && !query.hasTargetSRFs;
        self.query(is_row_by_row) == Some(true)
    }

    /// True if it reads only that table, or nothing for `None`. Policies may read other tables.
    pub fn is_of(self, table: Option<Oid>) -> bool {
        let is_of = |query: &pg_sys::Query| {
            // SAFETY: a query has a list of range table entries.
            let mut entries = unsafe { list::pointers::<pg_sys::RangeTblEntry>(query.rtable) };
            match (entries.next(), entries.next(), table) {
                (Some(entry), None, Some(table)) => {
                    // SAFETY: an entry of that list, which holds no nulls.
                    let entry = unsafe { &*entry };
                    entry.rtekind == pg_sys::RTEKind::RTE_RELATION && entry.relid == table
                }
                (None, None, None) => true,
                _ => false,
            }
        };
        self.query(is_of) == Some(true)
    }

    /// Refuses the statement if its columns or conditions run foreign code with the caller's rights. `of` names what
    /// they belong to.
    pub fn check_code(self, of: &str) -> Result<()> {
        self.check_nodes(of, |query| vec![query.targetList.cast(), query.jointree.cast()])
    }

    /// Like [`Self::check_code`] for the columns except number `but`, without ORDER BY. With `has_expressions` also for
    /// the columns and conditions of the subqueries in FROM, without policies.
    pub fn check_code_of_columns(self, of: &str, but: Option<i16>, has_expressions: bool) -> Result<()> {
        self.check_nodes(of, |query| {
            // SAFETY: a query has lists of target entries and of range table entries.
            unsafe {
                let columns = list::pointers::<pg_sys::TargetEntry>(query.targetList);
                let columns = columns.filter(|column| !(**column).resjunk && Some((**column).resno) != but);
                let mut nodes: Vec<*mut Node> = columns.map(|column| column.cast()).collect();
                let from = list::pointers::<pg_sys::RangeTblEntry>(query.rtable);
                for entry in from.filter(|_| has_expressions) {
                    if let Some(inner) = (*entry).subquery.as_ref() {
                        nodes.extend([inner.targetList.cast(), inner.jointree.cast()]);
                    }
                }
                nodes
            }
        })
    }

    fn check_nodes(self, of: &str, nodes: impl FnOnce(&pg_sys::Query) -> Vec<*mut Node>) -> Result<()> {
        // SAFETY: the nodes stay until the statement is made valid again, which the check does not do.
        let check = |query: &pg_sys::Query| unsafe { foreign_code::check(nodes(query), of) };
        self.query(check).unwrap_or(Ok(()))
    }
}
