//! A plan of SPI, and its statement as PostgreSQL has analysed it.

use std::cell::RefCell;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Node, Oid};

use crate::error::Result;
use crate::pg::{foreign_code, list, versions};

thread_local! {
    /// Kept plans whose owners were dropped, perhaps by an ERROR, amid which PostgreSQL must not be called.
    static LEFT: RefCell<Vec<pg_sys::SPIPlanPtr>> = const { RefCell::new(Vec::new()) };
}

/// Frees these.
pub(super) fn free_left() {
    for plan in LEFT.take() {
        // SAFETY: a kept plan, freed once. What ran it has ended, perhaps by the abort after an ERROR.
        unsafe { pg_sys::SPI_freeplan(plan) };
    }
}

/// A plan. PostgreSQL replans it when an object it uses changes, but from the text, with the names
/// of old: whoever keeps one drops it when a name may have changed.
pub struct PreparedPlan {
    pub(super) pointer: pg_sys::SPIPlanPtr,
    /// The types of its parameters.
    pub(super) types: Vec<Oid>,
    /// False if it ends with its session.
    pub(super) kept: bool,
}

impl PreparedPlan {
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
            statement.is_valid() && statement.relations().iter().all(|named| relations.contains(named))
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
            // SAFETY: alive, as the plan is; no reference to its nodes is held.
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
        // Without memory for it the plan stays, and at the end of the process.
        let _ = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            if self.kept && left.try_reserve(1).is_ok() {
                left.push(self.pointer);
            }
        });
    }
}

/// A statement of a plan that is alive. Bringing it up to date may free its nodes, so none of them leaves it.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    raw: *mut pg_sys::CachedPlanSource,
    plan: PhantomData<&'a ()>,
}

impl Statement<'_> {
    /// # Safety
    /// `raw` is a statement of a plan that lives as long as the result is used.
    pub(super) unsafe fn of(raw: *mut pg_sys::CachedPlanSource) -> Self {
        Self { raw, plan: PhantomData }
    }

    /// True if nothing has changed since it was analysed that may make it another one.
    pub fn is_valid(self) -> bool {
        // SAFETY: alive, as `of` asks.
        unsafe { (*self.raw).is_valid }
    }

    /// The relations that it names.
    pub fn relations(self) -> Vec<Oid> {
        // SAFETY: alive, as `of` asks; a statement has a list of relations, perhaps an empty one.
        unsafe { list::oids((*self.raw).relationOids) }
    }

    /// Each column of its result, as `of` reads it.
    pub fn columns<T>(self, of: impl Fn(&pg_sys::FormData_pg_attribute) -> T) -> Vec<T> {
        // SAFETY: alive, as `of` asks; null, or the descriptor of as many columns as it says.
        unsafe {
            let descriptor = (*self.raw).resultDesc;
            if descriptor.is_null() {
                return Vec::new();
            }
            versions::attributes(descriptor).iter().map(of).collect()
        }
    }

    /// Looks at its query; `None` if it is not one query.
    fn query<T>(self, look: impl FnOnce(&pg_sys::Query) -> T) -> Option<T> {
        // SAFETY: alive, as `of` asks; it has a list of queries, as plancache.h says.
        let query = unsafe {
            let mut queries = list::pointers::<pg_sys::Query>((*self.raw).query_list);
            queries.next().filter(|_| queries.next().is_none()).map(|query| &*query)
        };
        query.map(look)
    }

    /// True if it is a SELECT, without row locks and data-changing parts.
    pub fn reads_only(self) -> bool {
        // SAFETY: alive, as `of` asks.
        let has_result = unsafe { !(*self.raw).resultDesc.is_null() };
        let reads_only = |query: &pg_sys::Query| {
            query.commandType == pg_sys::CmdType::CMD_SELECT
                && query.utilityStmt.is_null()
                && !query.hasModifyingCTE
                && query.rowMarks.is_null()
        };
        has_result && self.query(reads_only) == Some(true)
    }

    /// True if it has neither aggregates nor window functions nor set-returning functions in its columns.
    pub fn is_row_by_row(self) -> bool {
        let is_row_by_row = |query: &pg_sys::Query| !query.hasAggs && !query.hasWindowFuncs && !query.hasTargetSRFs;
        self.query(is_row_by_row) == Some(true)
    }

    /// True if it reads that table and nothing else, or nothing at all for `None`; its policies may.
    pub fn is_of(self, table: Option<Oid>) -> bool {
        let is_of = |query: &pg_sys::Query| {
            // SAFETY: a query has a list of range table entries.
            let mut entries = unsafe { list::pointers::<pg_sys::RangeTblEntry>(query.rtable) };
            match (entries.next(), entries.next(), table) {
                (Some(entry), None, Some(table)) => {
                    // SAFETY: an entry of that list.
                    let entry = unsafe { &*entry };
                    entry.rtekind == pg_sys::RTEKind::RTE_RELATION && entry.relid == table
                }
                (None, None, None) => true,
                _ => false,
            }
        };
        self.query(is_of) == Some(true)
    }

    /// Refuses it if its columns or conditions run somebody else's code with the caller's rights; `of` is what they
    /// belong to.
    pub fn check_code(self, of: &str) -> Result<()> {
        self.check_nodes(of, |query| vec![query.targetList.cast(), query.jointree.cast()])
    }

    /// The same of its columns except number `but`, without what it is ordered by; and of the columns and conditions
    /// of what stands behind FROM, without policies, if that is made of expressions as well.
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
        // SAFETY: nodes of a query, which stay until it is brought up to date again: the check does not.
        let check = |query: &pg_sys::Query| unsafe { foreign_code::check(nodes(query), of) };
        self.query(check).unwrap_or(Ok(()))
    }
}
