//! Which index a call asks.
//!
//! The argument `index` names an index, a table that has one, or a side table. Without it, the only
//! one counts of the tables on the caller's search path, or else of the caller's own tables. What
//! strangers have elsewhere does not: whoever asks runs the code in a table's policies and in the
//! expressions of its indexes, and chooses tables by name or by search path.

use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::access;
use crate::document::to_bands::Values;
use crate::error::{Result, error, invalid_parameter};
use crate::index::info::{document_column, is_scope_class};
use crate::lookup::native::Native;
use crate::lookup::session_cache;
use crate::options::IndexOptions;
use crate::pg::call::Call;
use crate::pg::dependency;
use crate::pg::index::{Index, OperatorClass};
use crate::pg::names::{literal, regclass_literal, relation_name, visible_name};
use crate::pg::open::Open;
use crate::pg::relation::{Lock, owner_of};
use crate::row_key::Key;
use crate::side_table::SideTable;

/// What is asked.
pub enum Target {
    /// An index of the access method.
    Native(Rc<Native>),
    /// A side table.
    Side(Box<SideTable>),
}

/// The extension, as the catalogs know it.
#[derive(Clone, Copy)]
pub struct Extension {
    /// Its schema.
    pub schema: Oid,
    /// Its access method; invalid if there is none.
    pub method: Oid,
    /// The name of the argument that names the index, for messages.
    argument: &'static str,
}

impl Extension {
    /// The one that a function belongs to.
    pub fn of(call: &Call) -> Self {
        // SAFETY: lookups in the system caches. Only a superuser can make an access method.
        unsafe {
            Self {
                schema: pg_sys::get_func_namespace(call.function()),
                method: pg_sys::get_am_oid(c"minlsh".as_ptr(), true),
                argument: "index",
            }
        }
    }
}

impl Target {
    /// What the argument `index` at that place names.
    pub fn read(call: &Call, argument: usize) -> Result<Self> {
        let extension = Extension::of(call);
        match call.oid(argument) {
            Some(named) => extension.named(named),
            None => Self::only(call),
        }
    }

    /// The only one that the caller can mean without naming it.
    pub fn only(call: &Call) -> Result<Self> {
        let extension = Extension::of(call);
        extension.named(session_cache::only(|| extension.only())?)
    }

    /// What a relation that the argument `source` names is, or has; nothing if it is a table without
    /// an index.
    pub fn of_relation(call: &Call, relation: Oid) -> Result<Option<Self>> {
        let extension = Extension { argument: "source", ..Extension::of(call) };
        extension.find(relation)
    }

    /// How documents are cut, signed and banded.
    pub fn settings(&self) -> &IndexOptions {
        match self {
            Self::Native(native) => &native.settings,
            Self::Side(side) => &side.options,
        }
    }

    /// The name that messages show.
    pub fn name(&self) -> String {
        match self {
            Self::Native(native) => native.name().to_owned(),
            Self::Side(side) => relation_name(side.storage),
        }
    }

    /// What names a document.
    pub fn key(&self) -> Result<Key> {
        match self {
            Self::Native(native) => native.key(),
            Self::Side(side) => side.row_key(),
        }
    }
}

impl Extension {
    /// The index that `named` is, or that it has.
    pub fn named(self, named: Oid) -> Result<Target> {
        self.find(named)?.ok_or_else(|| {
            let (argument, table) = (self.argument, relation_name(named));
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("{argument}: table \"{table}\" has no minlsh index"),
            )
            .set_hint(create(&visible_name(named)))
        })
    }

    /// The same; nothing if it is a table without one.
    fn find(self, named: Oid) -> Result<Option<Target>> {
        // SAFETY: a lookup in the system caches.
        match unsafe { pg_sys::get_rel_relkind(named) } as u8 {
            b'i' | b'I' => self.index(named).map(Some),
            b'r' | b'p' | b'm' => self.of_table(named),
            0 => Err(self.no_such_relation(named)),
            _ => Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!(
                    "{}: \"{}\" is neither an index nor a table",
                    self.argument,
                    relation_name(named)
                ),
            )
            .set_hint("Name an index of type minlsh, a table that has one, or a side table.")),
        }
    }

    /// An index, whichever it is.
    fn index(self, oid: Oid) -> Result<Target> {
        let index = Index::open(oid).filter(|index| index.method == self.method);
        let Some(column) = index.as_ref().and_then(document_column) else {
            return Err(self.other_index(oid));
        };
        if Values::of(column.input_type) != Values::Bands {
            return session_cache::native(oid, self.method, self.schema).map(Target::Native);
        }
        let side = SideTable::find(oid)?.into_iter().next();
        side.map(Box::new).map(Target::Side).ok_or_else(|| self.other_index(oid))
    }

    /// The only index of a table, or the side table that it is.
    fn of_table(self, table: Oid) -> Result<Option<Target>> {
        // It may be gone by the time that we have the lock.
        let Some(_locked) = Open::relation(table, Lock::Read) else {
            return Err(self.no_such_relation(table));
        };
        let natives = Index::of_table(table).into_iter();
        let natives = natives.filter(|index| self.is_of_documents(index)).map(|index| index.oid);
        let mut natives: Vec<Oid> = natives.collect();
        let mut sides = SideTable::find(table)?;
        match (natives.len(), sides.len()) {
            (1, 0) => {
                let native = natives.remove(0);
                let native = session_cache::native(native, self.method, self.schema)?;
                Ok(Some(Target::Native(native)))
            }
            (0, 1) => Ok(Some(Target::Side(Box::new(sides.remove(0))))),
            (0, 0) => Ok(None),
            _ => {
                natives.extend(sides.iter().map(|side| side.storage));
                let message = format!(
                    "{}: table \"{}\" has {} minlsh indexes",
                    self.argument,
                    relation_name(table),
                    natives.len()
                );
                Err(self.ambiguous(message, &natives))
            }
        }
    }

    /// The only index that the caller can mean without naming one.
    fn only(self) -> Result<Oid> {
        // SAFETY: lookups in the system caches.
        let visible = |table: Oid| unsafe { pg_sys::RelationIsVisible(table) };
        // SAFETY: reads a backend-local value.
        let own = |table: Oid| owner_of(table) == unsafe { pg_sys::GetUserId() };
        let mut readable = self.readable(&visible);
        if readable.is_empty() {
            readable = self.readable(&own);
        }
        match readable[..] {
            [index] => Ok(index),
            [] => Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                "no table on your search path has a minlsh index that you may read",
            )
            .set_hint(format!(
                "Name one with index => '...' (the view minlsh_indexes lists them). {}",
                create("docs")
            ))),
            _ => {
                let count = readable.len();
                let message = format!("there are {count} minlsh indexes to choose from");
                Err(self.ambiguous(message, &readable))
            }
        }
    }

    /// The indexes and side tables that the caller may read, of tables that `wanted` accepts. No
    /// other is locked: nobody shall wait for what strangers do with theirs.
    fn readable(self, wanted: &dyn Fn(Oid) -> bool) -> Vec<Oid> {
        if self.method == Oid::INVALID {
            return Vec::new();
        }
        let classes = OperatorClass::of_method(self.method).into_iter();
        let mut indexes: Vec<Oid> = classes
            .filter(|class| !is_scope_class(class.family, class.input_type))
            .flat_map(|class| dependency::indexes_of_class(class.oid))
            .collect();
        indexes.sort_unstable_by_key(|index| index.to_u32());
        indexes.into_iter().filter_map(|oid| self.readable_index(oid, wanted)).collect()
    }

    /// What to name an index by, if the caller may read it.
    fn readable_index(self, oid: Oid, wanted: &dyn Fn(Oid) -> bool) -> Option<Oid> {
        let table = Index::table_of(oid);
        // SAFETY: lookups in the system caches. A partition's index is part of another.
        let skipped = unsafe {
            table == Oid::INVALID
                || pg_sys::get_rel_relispartition(oid)
                || pg_sys::isOtherTempNamespace(pg_sys::get_rel_namespace(table))
        };
        // Of a side table the user's table counts, which a trigger ties to it.
        let mut tables = dependency::triggers_of(table);
        tables = tables.into_iter().filter_map(dependency::table_of_trigger).collect();
        tables.push(table);
        if skipped || !tables.into_iter().any(wanted) {
            return None;
        }
        let index = Index::open(oid).filter(|index| index.valid)?;
        if self.is_of_documents(&index) {
            let may_read = wanted(table) && access::may_read(table, &columns_read(&index));
            return may_read.then_some(oid);
        }
        // One that is not sound is told to whoever names it.
        let side = SideTable::find(oid).ok()?.into_iter().next()?;
        let columns = [side.key.number, side.body.number];
        let may_read = wanted(side.table.oid) && access::may_read(side.table.oid, &columns);
        may_read.then_some(side.storage)
    }

    /// Whether an index is of documents, and not of the bands of a side table.
    fn is_of_documents(self, index: &Index) -> bool {
        index.method == self.method
            && document_column(index)
                .is_some_and(|column| Values::of(column.input_type) != Values::Bands)
    }

    fn no_such_relation(self, oid: Oid) -> ErrorReport {
        let (argument, oid) = (self.argument, oid.to_u32());
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("{argument}: relation with OID {oid} does not exist"),
        )
    }

    fn ambiguous(self, message: String, indexes: &[Oid]) -> ErrorReport {
        error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_ALIAS, message).set_hint(self.name_one(indexes))
    }

    fn name_one(self, indexes: &[Oid]) -> String {
        let name = |index: &Oid| format!("{} => {}", self.argument, regclass_literal(*index));
        let names: Vec<String> = indexes.iter().map(name).collect();
        format!("Name one with {}.", names.join(" or "))
    }

    fn other_index(self, oid: Oid) -> ErrorReport {
        let table = Index::open(oid).map(|index| index.table).unwrap_or(Oid::INVALID);
        let of_table: Vec<Oid> = Index::of_table(table)
            .iter()
            .filter(|index| self.is_of_documents(index))
            .map(|index| index.oid)
            .collect();
        let report = error(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("{}: \"{}\" is not a minlsh index", self.argument, relation_name(oid)),
        );
        if of_table.is_empty() {
            report.set_hint(create(&visible_name(table)))
        } else {
            report.set_hint(self.name_one(&of_table))
        }
    }
}

/// The columns of the table that an index is made of, and those of its predicate.
pub fn columns_read(index: &Index) -> Vec<i16> {
    use crate::pg::expression::{Expression, Expressions};
    let simple = !index.partial && index.columns.iter().all(|column| column.attribute != 0);
    if simple {
        return index.columns.iter().map(|column| column.attribute).collect();
    }
    let expressions = Expressions::new();
    let predicate = expressions.predicate_of_index(index);
    let of_index = expressions.of_index(index);
    of_index.into_iter().chain(predicate).flat_map(Expression::columns).collect()
}

fn create(table: &str) -> String {
    format!("Create one with CREATE INDEX ON {table} USING minlsh (body);")
}

/// Refuses NULL for an index that must be named.
pub fn required(call: &Call, argument: usize) -> Result<Target> {
    if call.oid(argument).is_none() {
        return Err(invalid_parameter("index must not be NULL")
            .set_hint(format!("Name an index or its table, for example {}.", literal("docs"))));
    }
    Target::read(call, argument)
}
