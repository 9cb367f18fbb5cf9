//! Safe views of what the planner passes to estimators. An estimator wraps its arguments once, and follows no pointer
//! of the planner's.

use std::marker::PhantomData;
use std::ptr::null_mut;

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::pg::list;
use crate::pg::open::Open;

/// A query that is being planned.
#[derive(Clone, Copy)]
pub struct Query<'a>(&'a pg_sys::PlannerInfo);

/// A node of an expression, in a query that is being planned or in an index.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    raw: *mut pg_sys::Node,
    query: PhantomData<Query<'a>>,
}

impl<'a> Query<'a> {
    /// # Safety
    /// `root` is the planner's state of a query, and is valid as long as the result.
    pub unsafe fn of(root: *const pg_sys::PlannerInfo) -> Self {
        // SAFETY: the caller promises such a state.
        Self(unsafe { &*root })
    }

    fn raw(self) -> *mut pg_sys::PlannerInfo {
        std::ptr::from_ref(self.0).cast_mut()
    }

    /// The range table entries of the query.
    fn entries(self) -> impl Iterator<Item = &'a pg_sys::RangeTblEntry> {
        // SAFETY: a query that is planned has such a list.
        unsafe {
            let entries = list::pointers::<pg_sys::RangeTblEntry>((*self.0.parse).rtable);
            entries.map(|entry| &*entry)
        }
    }

    /// True if it is within a security-barrier view.
    pub fn is_behind_barrier(self) -> bool {
        // SAFETY: null, or the state of the query around this one.
        let parent = |query: Self| unsafe { query.0.parent_root.as_ref() }.map(Self);
        let mut above = std::iter::successors(parent(self), |query| parent(*query));
        above.any(|query| query.entries().any(|entry| entry.security_barrier))
    }

    /// True if a policy hides rows of any of its tables from the caller.
    pub fn has_policies(self) -> bool {
        self.entries().any(|entry| !entry.securityQuals.is_null())
    }

    /// Simplifies an expression as far as its value can be estimated now.
    pub fn estimated(self, node: Node<'a>) -> Node<'a> {
        // SAFETY: a `Node` is an expression of this query.
        Node { raw: unsafe { pg_sys::estimate_expression_value(self.raw(), node.raw) }, ..node }
    }

    /// An expression of this query; `None` if it is null.
    ///
    /// # Safety
    /// `node` is null, or an expression of this query.
    pub unsafe fn node(self, node: *mut pg_sys::Node) -> Option<Node<'a>> {
        (!node.is_null()).then_some(Node { raw: node, query: PhantomData })
    }
}

impl Open {
    /// The simplified expression of column `column` (from 0) of an open index, in the current memory context; `None`
    /// for a column of the table.
    pub fn index_expression(&self, column: usize) -> Option<Node<'_>> {
        let form = self.index_form().filter(|form| column < form.indnatts as usize)?;
        // SAFETY: the index is open. Its `indkey` has an entry for each column, and PostgreSQL copies its expressions,
        // one for each entry that is 0.
        let (columns, expressions) = unsafe {
            let expressions = pg_sys::RelationGetIndexExpressions(self.raw());
            (form.indkey.values.as_slice(column + 1), list::pointers(expressions))
        };
        let before = columns[..column].iter().filter(|number| **number == 0).count();
        let is_expression = columns[column] == 0;
        let raw = { expressions }.nth(before).filter(|_| is_expression)?;
        Some(Node { raw, query: PhantomData })
    }
}

impl<'a> Node<'a> {
    /// The node as a `T`, if it has this tag.
    fn tagged<T>(self, tag: NodeTag) -> Option<&'a T> {
        // SAFETY: a `Node` points to a valid node, and each caller asks for the type of its tag.
        unsafe { ((*self.raw).type_ == tag).then(|| &*self.raw.cast::<T>()) }
    }

    fn list(self, nodes: *const pg_sys::List) -> impl Iterator<Item = Node<'a>> {
        // SAFETY: the list belongs to a valid node, and holds expressions.
        unsafe { list::pointers(nodes) }.map(move |raw| Node { raw, ..self })
    }

    pub fn type_oid(self) -> Oid {
        // SAFETY: a `Node` points to a valid expression.
        unsafe { pg_sys::exprType(self.raw) }
    }

    /// The constant that it is: a value of its type, or NULL.
    pub fn constant(self) -> Option<&'a pg_sys::Const> {
        self.tagged(NodeTag::T_Const)
    }

    /// The expression below relabellings as another type.
    pub fn unlabelled(self) -> Self {
        let mut node = self;
        while let Some(relabelled) = node.tagged::<pg_sys::RelabelType>(NodeTag::T_RelabelType) {
            node.raw = relabelled.arg.cast();
        }
        node
    }

    /// The function that it calls, with the arguments.
    pub fn call(self) -> Option<(Oid, impl Iterator<Item = Node<'a>>)> {
        let call = self.tagged::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        Some((call.funcid, self.list(call.args)))
    }

    /// The elements of an ARRAY[...] expression.
    pub fn elements(self) -> Option<impl Iterator<Item = Node<'a>>> {
        let array = self.tagged::<pg_sys::ArrayExpr>(NodeTag::T_ArrayExpr)?;
        (!array.multidims).then(|| self.list(array.elements))
    }

    /// The right operand of a condition with two operands. True if it is an array, and the operator is applied to its
    /// elements.
    pub fn right_side(self) -> Option<(Node<'a>, bool)> {
        let one = self.tagged::<pg_sys::OpExpr>(NodeTag::T_OpExpr).map(|of| of.args);
        let each = || self.tagged::<pg_sys::ScalarArrayOpExpr>(NodeTag::T_ScalarArrayOpExpr);
        let arguments = one.or_else(|| each().map(|of| of.args))?;
        Some((self.list(arguments).nth(1)?, one.is_none()))
    }
}

/// A condition of a path, with its index column (from 0).
pub struct PathCondition<'a> {
    pub column: usize,
    pub expression: Node<'a>,
    /// True if a policy or a security-barrier view hides rows, and the caller may not learn about them.
    pub hides_rows: bool,
}

/// A path that scans an index.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    pub query: Query<'a>,
    path: &'a pg_sys::IndexPath,
}

impl<'a> Path<'a> {
    /// # Safety
    /// `path` is a path of `query`.
    pub unsafe fn of(query: Query<'a>, path: *const pg_sys::IndexPath) -> Self {
        // SAFETY: the caller promises such a path.
        Self { query, path: unsafe { &*path } }
    }

    pub fn index(self) -> Oid {
        // SAFETY: an index path has the description of its index.
        unsafe { (*self.path.indexinfo).indexoid }
    }

    pub fn relation(self) -> &'a pg_sys::RelOptInfo {
        // SAFETY: a path has its relation.
        unsafe { &*self.path.path.parent }
    }

    /// Its conditions. The planner has put the index column on their left side.
    pub fn conditions(self) -> impl Iterator<Item = PathCondition<'a>> {
        let (query, relation) = (self.query, self.relation());
        // SAFETY: the planner gives each clause of a path the list of the conditions that the index checks.
        unsafe {
            let clauses = list::pointers::<pg_sys::IndexClause>(self.path.indexclauses);
            clauses.filter_map(move |clause| {
                let qual = list::pointers::<pg_sys::RestrictInfo>((*clause).indexquals).next()?;
                let is_hidden = relation.baserestrict_min_security < (*qual).security_level;
                Some(PathCondition {
                    column: (*clause).indexcol as usize,
                    expression: query.node((*qual).clause.cast())?,
                    hides_rows: is_hidden || query.is_behind_barrier(),
                })
            })
        }
    }
}

/// An expression whose number of rows an estimator asks for, with the statistics about it.
pub struct Variable<'a> {
    data: pg_sys::VariableStatData,
    query: Query<'a>,
}

impl<'a> Variable<'a> {
    /// The variable of a restriction, and what it is compared with; `None` unless the restriction has just one
    /// variable.
    ///
    /// # Safety
    /// The planner has called a restriction estimator with these arguments for `query`.
    pub unsafe fn of_restriction(
        query: Query<'a>,
        arguments: *mut pg_sys::List,
        relation: i32,
    ) -> Option<(Self, Option<Node<'a>>)> {
        let mut data = pg_sys::VariableStatData::default();
        let (mut other, mut on_left) = (null_mut(), false);
        // SAFETY: the caller promises the arguments; the function fills in the out parameters if it returns true.
        unsafe {
            let found =
                pg_sys::get_restriction_variable(query.raw(), arguments, relation, &mut data, &mut other, &mut on_left);
            found.then(|| (Self { data, query }, query.node(other)))
        }
    }

    /// The variables on both sides of a join.
    ///
    /// # Safety
    /// The planner has called a join estimator with these arguments for `query`.
    pub unsafe fn of_join(
        query: Query<'a>,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
    ) -> [Self; 2] {
        let mut sides = [pg_sys::VariableStatData::default(); 2];
        let [left, right] = &mut sides;
        let (root, mut reversed) = (query.raw(), false);
        // SAFETY: the caller promises the arguments; the function fills in both out parameters.
        unsafe {
            pg_sys::get_join_variables(root, arguments, join, left, right, &mut reversed);
        }
        sides.map(|data| Self { data, query })
    }

    /// Its relation; `None` if it has several or none.
    fn relation(&self) -> Option<&'a pg_sys::RelOptInfo> {
        // SAFETY: null, or a relation of the planner, which outlives its estimates.
        unsafe { self.data.rel.as_ref() }
    }

    /// Its relation, if that is a table.
    fn table(&self) -> Option<&'a pg_sys::RelOptInfo> {
        self.relation().filter(|relation| relation.rtekind == pg_sys::RTEKind::RTE_RELATION)
    }

    /// Number of rows of its relation; 0 if unknown.
    pub fn rows(&self) -> f64 {
        self.relation().map_or(0.0, |relation| relation.tuples)
    }

    /// The OIDs and operator families of its table's indexes on this expression alone, without a predicate.
    pub fn indexes(&self, method: Oid) -> Vec<(Oid, Oid)> {
        let Some(relation) = self.table() else { return Vec::new() };
        // SAFETY: the planner describes the indexes of a table, each with an operator family for each column.
        unsafe {
            list::pointers::<pg_sys::IndexOptInfo>(relation.indexlist)
                // A partitioned index has no pages, and cannot be scanned.
                .filter(|index| (**index).relam == method && (**index).amhasgettuple)
                .filter(|index| !(**index).hypothetical)
                .filter(|index| (**index).indpred.is_null() && (**index).nkeycolumns == 1)
                .filter(|index| pg_sys::match_index_to_operand(self.data.var, 0, *index))
                .map(|index| ((*index).indexoid, *(*index).opfamily))
                .collect()
        }
    }

    /// The table as the query names it, which may be the parent of the variable's own, and the role whose rights apply
    /// unless it is the current one.
    pub fn named_table(&self) -> Option<(Oid, Option<Oid>)> {
        let (relation, root) = (self.table()?, self.query.0);
        let user = (relation.userid != Oid::INVALID).then_some(relation.userid);
        let mut number = relation.relid;
        // SAFETY: the planner's arrays have an entry for each relation that it numbers; a child has a link to its
        // parent.
        unsafe {
            let entry = |number: pg_sys::Index| &**root.simple_rte_array.add(number as usize);
            let links = root.append_rel_array;
            while !links.is_null()
                && let Some(link) = (*links.add(number as usize)).as_ref()
                && entry(link.parent_relid).rtekind == pg_sys::RTEKind::RTE_RELATION
            {
                number = link.parent_relid;
            }
            Some((entry(number).relid, user))
        }
    }
}

impl Drop for Variable<'_> {
    /// Releases the statistics (`ReleaseVariableStats`).
    fn drop(&mut self) {
        let Self { data, .. } = self;
        if let (false, Some(free)) = (data.statsTuple.is_null() || std::thread::panicking(), data.freefunc) {
            // SAFETY: the planner gives each tuple its function; it is called once, here.
            unsafe { free(data.statsTuple) }
        }
    }
}
