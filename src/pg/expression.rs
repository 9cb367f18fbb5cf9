//! Expressions over the columns of one relation, as PostgreSQL's parser would have made them.
//!
//! Operators, functions and columns are in them by their OIDs and numbers. So nothing on anybody's
//! search path can take their place, no name has to be quoted, and what is in an index's definition
//! gets into a query as it is, not as text that is parsed a second time.

use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Node, NodeTag, Oid};

use crate::error::Result;
use crate::pg::catalog::type_collation;
use crate::pg::catalog::{self, CatalogRow};
use crate::pg::memory::Memory;
use crate::pg::{foreign_code, index::Index, list, text};

/// The place of the relation in the range table of a query.
const RELATION: i32 = 1;

/// The memory in which expressions live.
pub struct Expressions(Memory);

/// An expression.
#[derive(Clone, Copy)]
pub struct Expression<'a> {
    node: *mut Node,
    owner: PhantomData<&'a Expressions>,
}

impl Expressions {
    /// None yet.
    pub fn new() -> Self {
        Self(Memory::lasting(c"minlsh expressions"))
    }

    fn make<T>(&self, make: impl FnOnce() -> *mut T) -> Expression<'_> {
        Expression { node: self.0.run(make).cast(), owner: PhantomData }
    }

    /// A zeroed node of that kind.
    fn node<T>(&self, tag: NodeTag, fill: impl FnOnce(&mut T)) -> Expression<'_> {
        self.make(|| {
            // SAFETY: a zeroed chunk as large as the node, whose first field is its tag; zero is a
            // value of every field of a node.
            unsafe {
                let node = pg_sys::palloc0(size_of::<T>()).cast::<T>();
                (*node.cast::<Node>()).type_ = tag;
                fill(&mut *node);
                node
            }
        })
    }

    /// A copy of an expression that lives elsewhere.
    pub fn copy(&self, expression: Expression) -> Expression<'_> {
        // SAFETY: an expression is a valid tree of nodes.
        self.make(|| unsafe { pg_sys::copyObjectImpl(expression.node.cast()) })
    }

    /// A column of the relation, which must have one of that number.
    pub fn column(&self, relation: Oid, number: i16) -> Expression<'_> {
        let (mut type_oid, mut typmod, mut collation) = (Oid::INVALID, -1, Oid::INVALID);
        self.make(|| {
            // SAFETY: raises an error if there is no such column.
            unsafe {
                pg_sys::get_atttypetypmodcoll(
                    relation,
                    number,
                    &mut type_oid,
                    &mut typmod,
                    &mut collation,
                );
                pg_sys::makeVar(RELATION, number, type_oid, typmod, collation, 0)
            }
        })
    }

    /// The columns of an index, each as an expression over its table, under the collation
    /// that it has there.
    pub fn of_index(&self, index: &Index) -> Vec<Expression<'_>> {
        let mut stored = self
            .stored(index, pg_sys::Anum_pg_index_indexprs)
            .map(|list| list.elements())
            .unwrap_or_default()
            .into_iter();
        let column = |column: &crate::pg::index::IndexColumn| match column.attribute {
            0 => stored.next(),
            number => Some(self.column(index.table, number)),
        };
        index.columns.iter().map_while(column).collect()
    }

    /// The predicate of a partial index.
    pub fn predicate_of_index(&self, index: &Index) -> Option<Expression<'_>> {
        let list = self.stored(index, pg_sys::Anum_pg_index_indpred)?;
        // SAFETY: a stored predicate is a list of conditions that all must hold, or one of them.
        Some(self.make(|| unsafe {
            let is_list = (*list.node).type_ == NodeTag::T_List;
            if is_list { pg_sys::make_ands_explicit(list.node.cast()) } else { list.node.cast() }
        }))
    }

    /// An attribute of `pg_index` that holds expressions.
    fn stored(&self, index: &Index, attribute: u32) -> Option<Expression<'_>> {
        let row = CatalogRow::<pg_sys::FormData_pg_index>::find(index.oid)?;
        let value = row.column(attribute)?;
        Some(self.make(|| {
            // SAFETY: a text that PostgreSQL wrote, read while the row is held.
            unsafe {
                let written = pg_sys::text_to_cstring(value.cast_mut_ptr());
                pg_sys::stringToNode(written).cast::<Node>()
            }
        }))
    }

    /// The expression under that collation, unless it is its own.
    pub fn collated<'a>(&'a self, expression: Expression<'a>, collation: Oid) -> Expression<'a> {
        // SAFETY: an expression is a valid tree of nodes.
        let own = unsafe { pg_sys::exprCollation(expression.node) };
        if collation == Oid::INVALID || collation == own {
            return expression;
        }
        self.node(NodeTag::T_CollateExpr, |node: &mut pg_sys::CollateExpr| {
            node.arg = expression.node.cast();
            node.collOid = collation;
            node.location = -1;
        })
    }

    /// Parameter `number` (from 1) of the query.
    pub fn parameter(&self, number: i32, type_oid: Oid) -> Expression<'_> {
        self.node(NodeTag::T_Param, |node: &mut pg_sys::Param| {
            node.paramkind = pg_sys::ParamKind::PARAM_EXTERN;
            node.paramid = number;
            node.paramtype = type_oid;
            node.paramtypmod = -1;
            node.paramcollid = type_collation(type_oid);
            node.location = -1;
        })
    }

    /// A constant of type `text`.
    pub fn text(&self, value: &str) -> Expression<'_> {
        let collation = pg_sys::DEFAULT_COLLATION_OID;
        // SAFETY: a text in the same memory.
        self.make(|| unsafe {
            pg_sys::makeConst(pg_sys::TEXTOID, -1, collation, -1, text::write(value), false, false)
        })
    }

    /// A constant of type `integer`.
    pub fn int4(&self, value: i32) -> Expression<'_> {
        self.by_value(pg_sys::INT4OID, 4, Datum::from(value))
    }

    /// A constant of type `boolean`.
    pub fn bool(&self, value: bool) -> Expression<'_> {
        self.by_value(pg_sys::BOOLOID, 1, Datum::from(value))
    }

    fn by_value(&self, type_oid: Oid, length: i32, value: Datum) -> Expression<'_> {
        // SAFETY: a value of that type.
        self.make(|| unsafe {
            pg_sys::makeConst(type_oid, -1, Oid::INVALID, length, value, false, true)
        })
    }

    /// A call of a function.
    pub fn call<'a>(
        &'a self,
        function: Oid,
        result: Oid,
        arguments: &[Expression<'a>],
    ) -> Expression<'a> {
        self.make(|| {
            let explicit = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
            // SAFETY: a list of valid nodes.
            unsafe {
                let list = list_of(arguments);
                let none = Oid::INVALID;
                pg_sys::makeFuncExpr(function, result, list, none, none, explicit)
            }
        })
    }

    /// `left = right` by the equality of their type; `None` if that has none. Both are of one type, and
    /// the collation is that of `left`.
    pub fn equal<'a>(
        &'a self,
        left: Expression<'a>,
        right: Expression<'a>,
    ) -> Option<Expression<'a>> {
        let (mut input, mut other) = (Oid::INVALID, Oid::INVALID);
        let operator = catalog::equality_of(left.type_oid());
        if operator == Oid::INVALID {
            return None;
        }
        // SAFETY: a lookup of the types of an operator.
        unsafe { pg_sys::op_input_types(operator, &mut input, &mut other) };
        let is_polymorphic = catalog::type_kind(input) == b'p';
        let typed = |value: Expression<'a>| {
            if is_polymorphic { value } else { self.relabelled(value, input) }
        };
        Some(self.operator(operator, typed(left), typed(right)))
    }

    /// A binary operator that gives a `boolean`.
    pub fn operator<'a>(
        &'a self,
        operator: Oid,
        left: Expression<'a>,
        right: Expression<'a>,
    ) -> Expression<'a> {
        // SAFETY: two valid nodes.
        self.make(|| unsafe {
            pg_sys::make_opclause(
                operator,
                pg_sys::BOOLOID,
                false,
                left.node.cast(),
                right.node.cast(),
                Oid::INVALID,
                Oid::INVALID,
            )
        })
    }

    /// `left operator ANY (array)`
    pub fn any<'a>(
        &'a self,
        operator: Oid,
        left: Expression<'a>,
        array: Expression<'a>,
    ) -> Expression<'a> {
        let function = catalog::function_of_operator(operator);
        self.node(NodeTag::T_ScalarArrayOpExpr, |node: &mut pg_sys::ScalarArrayOpExpr| {
            node.opno = operator;
            node.opfuncid = function;
            node.useOr = true;
            // SAFETY: two valid nodes.
            node.args = unsafe {
                let left = pg_sys::lappend(std::ptr::null_mut(), left.node.cast());
                pg_sys::lappend(left, array.node.cast())
            };
            node.location = -1;
        })
    }

    /// `condition IS NOT TRUE`
    pub fn is_not_true<'a>(&'a self, condition: Expression<'a>) -> Expression<'a> {
        self.node(NodeTag::T_BooleanTest, |node: &mut pg_sys::BooleanTest| {
            node.arg = condition.node.cast();
            node.booltesttype = pg_sys::BoolTestType::IS_NOT_TRUE;
            node.location = -1;
        })
    }

    /// A value as one of another type that is stored alike: a type and its domains, `text` and
    /// `varchar`. No CHECK of a domain is run.
    pub fn relabelled<'a>(&'a self, value: Expression<'a>, type_oid: Oid) -> Expression<'a> {
        if value.type_oid() == type_oid {
            return value;
        }
        let implicit = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
        let collation = type_collation(type_oid);
        // SAFETY: a valid node.
        self.make(|| unsafe {
            pg_sys::makeRelabelType(value.node.cast(), type_oid, -1, collation, implicit)
        })
    }

    /// The value as `text`, by the output function of its type; without the padding of a `char(n)`.
    pub fn as_text<'a>(&'a self, value: Expression<'a>) -> Expression<'a> {
        if value.type_oid() == pg_sys::BPCHAROID {
            return self.call(Oid::from(pg_sys::F_TEXT_BPCHAR), pg_sys::TEXTOID, &[value]);
        }
        self.node(NodeTag::T_CoerceViaIO, |node: &mut pg_sys::CoerceViaIO| {
            node.arg = value.node.cast();
            node.resulttype = pg_sys::TEXTOID;
            node.resultcollid = pg_sys::DEFAULT_COLLATION_OID;
            node.coerceformat = pg_sys::CoercionForm::COERCE_EXPLICIT_CAST;
            node.location = -1;
        })
    }
}

impl<'a> Expression<'a> {
    /// Its type.
    pub fn type_oid(self) -> Oid {
        // SAFETY: an expression is a valid tree of nodes.
        unsafe { pg_sys::exprType(self.node) }
    }

    /// The numbers of the columns it reads; 0 stands for the whole row.
    pub fn columns(self) -> Vec<i16> {
        let mut columns = Vec::new();
        // SAFETY: a valid tree of nodes; the set is made by PostgreSQL.
        unsafe {
            let mut set = std::ptr::null_mut();
            pg_sys::pull_varattnos(self.node, RELATION as u32, &mut set);
            let mut member = pg_sys::bms_next_member(set, -1);
            while member >= 0 {
                columns.push((member + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16);
                member = pg_sys::bms_next_member(set, member);
            }
        }
        columns
    }

    /// The nodes of a list.
    fn elements(self) -> Vec<Self> {
        // SAFETY: a list, as `stored` gives it, of valid nodes.
        let nodes = unsafe { list::pointers(self.node.cast()) };
        nodes.map(|node| Self { node, ..self }).collect()
    }

    /// The tree of nodes.
    pub(super) fn node(self) -> *mut Node {
        self.node
    }
}

/// Refuses expressions that run somebody else's code with the caller's rights; `of` is what they belong to.
pub fn check_code<'a>(
    expressions: impl IntoIterator<Item = Expression<'a>>,
    of: &str,
) -> Result<()> {
    // SAFETY: expressions are valid trees of nodes.
    unsafe { foreign_code::check(expressions.into_iter().map(Expression::node), of) }
}

/// # Safety
/// To be called where the list is to live.
unsafe fn list_of(expressions: &[Expression]) -> *mut pg_sys::List {
    // SAFETY: appends to a list that is this function's own.
    expressions.iter().fold(std::ptr::null_mut(), |list, expression| unsafe {
        pg_sys::lappend(list, expression.node.cast())
    })
}

/// A function of that name and of exactly those parameter types in a schema: there is one at most.
pub fn function(schema: Oid, name: &CStr, parameters: &[Oid]) -> Option<Oid> {
    let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32;
    // SAFETY: a lookup in the system cache by name, types and schema.
    found(unsafe {
        let types = pg_sys::buildoidvector(parameters.as_ptr(), parameters.len() as i32);
        pg_sys::GetSysCacheOid(
            cache,
            pg_sys::Anum_pg_proc_oid as i16,
            Datum::from(name.as_ptr()),
            Datum::from(types),
            Datum::from(schema),
            Datum::from(0),
        )
    })
}

/// An operator of that name and of exactly those operand types in a schema.
pub fn operator(schema: Oid, name: &CStr, left: Oid, right: Oid) -> Option<Oid> {
    let cache = pg_sys::SysCacheIdentifier::OPERNAMENSP as i32;
    // SAFETY: a lookup in the system cache by name, types and schema.
    found(unsafe {
        pg_sys::GetSysCacheOid(
            cache,
            pg_sys::Anum_pg_operator_oid as i16,
            Datum::from(name.as_ptr()),
            Datum::from(left),
            Datum::from(right),
            Datum::from(schema),
        )
    })
}

/// A type of that name in a schema.
pub fn type_named(schema: Oid, name: &CStr) -> Option<Oid> {
    let cache = pg_sys::SysCacheIdentifier::TYPENAMENSP as i32;
    // SAFETY: a lookup in the system cache by name and schema.
    found(unsafe {
        pg_sys::GetSysCacheOid(
            cache,
            pg_sys::Anum_pg_type_oid as i16,
            Datum::from(name.as_ptr()),
            Datum::from(schema),
            Datum::from(0),
            Datum::from(0),
        )
    })
}

fn found(oid: Oid) -> Option<Oid> {
    (oid != Oid::INVALID).then_some(oid)
}
