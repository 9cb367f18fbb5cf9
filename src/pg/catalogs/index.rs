//! Indexes as the catalogs describe them.

use pgrx::direct_function_call_as_datum;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::bytes;
use crate::pg::catalog::{self, AttributeRow, CatalogRow};
use crate::pg::list;
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::relation::{self, Lock};

/// A description of an index, valid while its table is locked.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub oid: Oid,
    /// The name, unquoted.
    pub name: String,
    pub table: Oid,
    pub method: Oid,
    /// True if its build is finished, so that it has all rows.
    pub valid: bool,
    /// True if it belongs to the primary key.
    pub primary: bool,
    /// True if it refuses a second row with equal keys at once.
    pub unique: bool,
    /// True if it has a predicate.
    pub partial: bool,
    pub columns: Vec<IndexColumn>,
}

/// An operator of the operator family by which an index is searched.
#[derive(Clone, Copy, Debug)]
pub struct SearchOperator {
    pub strategy: u16,
    /// The type of the right operand; invalid if it is the column's type.
    pub right: Oid,
    /// The function behind it.
    pub function: Oid,
}

impl SearchOperator {
    /// The operator of an open index, if the operator family of its first column has just one.
    pub fn only_of(index: &Open) -> Option<Self> {
        let family = IndexColumn::of(index, 0).family;
        let cache = pg_sys::SysCacheIdentifier::AMOPSTRATEGY;
        let operator = |form: &pg_sys::FormData_pg_amop| Self {
            strategy: form.amopstrategy as u16,
            right: form.amoprighttype,
            function: catalog::function_of_operator(form.amopopr),
        };
        // SAFETY: this cache lists `pg_amop` by family, types and strategy.
        match unsafe { catalog::listed(cache, Datum::from(family), operator) }[..] {
            [operator] => Some(operator),
            _ => None,
        }
    }
}

/// A key column of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexColumn {
    /// The column of the table; 0 for an expression.
    pub attribute: i16,
    pub family: Oid,
    /// The input type of the operator class.
    pub input_type: Oid,
    /// The collation; invalid for a type without collations.
    pub collation: Oid,
}

impl IndexColumn {
    /// Reads key column `number` (from 0) of an open index.
    pub fn of(open: &Open, number: usize) -> Self {
        let entry = open.entry();
        let form = open.index_form().filter(|form| number < form.indnkeyatts as usize);
        let Some(form) = form else { unreachable!("the index has such a column") };
        // SAFETY: an open index has arrays with an entry for each key column, and `number` was just checked.
        unsafe {
            Self {
                attribute: *form.indkey.values.as_ptr().add(number),
                family: *entry.rd_opfamily.add(number),
                input_type: *entry.rd_opcintype.add(number),
                collation: *entry.rd_indcollation.add(number),
            }
        }
    }
}

impl Index {
    /// Describes an index, after locking its table and itself as a SELECT does; `None` if there is no such index.
    pub fn open(oid: Oid) -> Option<Self> {
        // The table first, as DROP and REINDEX lock them, which avoids deadlocks.
        let table = catalog::table_of_index(oid);
        if table != Oid::INVALID && !relation::lock(table, Lock::Read) {
            return None;
        }
        let open = Open::relation(oid, Lock::Read)?;
        let form = open.index_form()?;
        let columns = 0..form.indnkeyatts as usize;
        Some(Self {
            oid,
            name: open.name(),
            table: form.indrelid,
            method: open.class().relam,
            valid: form.indisvalid && form.indisready && form.indislive,
            primary: form.indisprimary,
            unique: form.indisunique && form.indimmediate,
            partial: !open.lacks(pg_sys::Anum_pg_index_indpred),
            columns: columns.map(|number| IndexColumn::of(&open, number)).collect(),
        })
    }

    /// The current predicate of a partial index as a `pg_node_tree`, in the current memory context. The snapshot of a
    /// query of the catalogs may be too old to see it.
    pub fn predicate(&self) -> Option<Datum> {
        let row = CatalogRow::<pg_sys::FormData_pg_index>::find(self.oid)?;
        let tree = row.column(pg_sys::Anum_pg_index_indpred)?;
        // SAFETY: `indpred` is a varlena, copied while the row is held.
        Some(Datum::from(unsafe { pg_sys::pg_detoast_datum_copy(tree.cast_mut_ptr()) }))
    }

    /// The statement that creates the index, with names as `pg_get_indexdef()` writes them.
    pub fn definition(&self) -> Option<String> {
        let of = [Some(Datum::from(self.oid))];
        // SAFETY: `pg_get_indexdef(oid)` takes any value.
        let whole = unsafe { direct_function_call_as_datum(pg_sys::pg_get_indexdef, &of) }?;
        // SAFETY: `pg_get_indexdef` returns a text, which lives until the memory context is reset.
        Some(String::from_utf8_lossy(unsafe { bytes::read(whole) }).into_owned())
    }

    /// The types of its columns, read from the table.
    pub fn types(&self) -> Vec<Oid> {
        Memory::scratch(c"minlsh expressions").run(|| {
            let [expressions, _] = self.expressions();
            // SAFETY: PostgreSQL returns a list of expressions, each the root of a valid tree.
            let mut types =
                unsafe { list::pointers(expressions) }.map(|expression| unsafe { pg_sys::exprType(expression) });
            let type_of = |column: &IndexColumn| match AttributeRow::of_column(self.table, column.attribute) {
                Some(attribute) => attribute.atttypid,
                None => types.next().unwrap_or(Oid::INVALID),
            };
            self.columns.iter().map(type_of).collect()
        })
    }

    /// The columns of the table that it and its predicate read; 0 stands for the whole row.
    pub fn columns_read(&self) -> Vec<i16> {
        let mut columns: Vec<i16> = self.columns.iter().map(|column| column.attribute).collect();
        columns.retain(|column| *column != 0);
        // SAFETY: PostgreSQL returns lists of valid trees over one table, and makes the set.
        Memory::scratch(c"minlsh expressions").run(|| unsafe {
            let mut set = std::ptr::null_mut();
            for list in self.expressions() {
                pg_sys::pull_varattnos(list.cast(), 1, &mut set);
            }
            let mut member = pg_sys::bms_next_member(set, -1);
            while member >= 0 {
                columns.push((member + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16);
                member = pg_sys::bms_next_member(set, member);
            }
        });
        columns
    }

    /// The expressions of its columns and the conditions of its predicate, in the current memory context.
    fn expressions(&self) -> [*mut pg_sys::List; 2] {
        let none = [std::ptr::null_mut(); 2];
        // SAFETY: the index is open; PostgreSQL returns copies of its lists.
        Open::relation(self.oid, Lock::Read).map_or(none, |index| unsafe {
            let expressions = pg_sys::RelationGetIndexExpressions(index.raw());
            [expressions, pg_sys::RelationGetIndexPredicate(index.raw())]
        })
    }

    /// The indexes of a table, in the order of their OIDs; none if there is no such table.
    pub fn of_table(table: Oid) -> Vec<Self> {
        let Some(open) = Open::relation(table, Lock::Read) else { return Vec::new() };
        // SAFETY: `open` holds the relation open; PostgreSQL returns a copy of the list.
        let indexes = unsafe { list::oids(pg_sys::RelationGetIndexList(open.raw())) };
        drop(open);
        indexes.into_iter().filter_map(Self::open).collect()
    }
}
