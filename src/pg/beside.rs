//! Tables that stand beside a user's table: kept by its triggers, and read and written as relations, as TOAST tables
//! are, never by SQL. Whoever owns one can alter it, so it is trusted for the types of its columns and for its
//! indexes, which are looked at under lock each time, and for nothing else.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog;
use crate::pg::ffi;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::{Lock, grantees, owner_of};
use crate::pg::row::Row;
use crate::pg::sql::{Sql, object_name};

/// A table beside another, with its indexes, found to be sound.
pub struct Beside {
    pub table: Open,
    pub indexes: Vec<OpenIndex>,
}

impl Beside {
    /// A table that is locked by `lock`, if its columns are of these types; else what is wrong with it.
    pub fn checked(
        table: Open,
        lock: Lock,
        columns: &[Oid],
    ) -> std::result::Result<Self, &'static str> {
        let is_plain = |attribute: &pg_sys::FormData_pg_attribute| {
            !attribute.attisdropped && attribute.attgenerated == 0
        };
        let class = table.class();
        let is_sound = class.relkind as u8 == b'r'
            && table.attributes().count() == columns.len()
            && table.attributes().zip(columns).all(|(attribute, expected)| {
                is_plain(attribute) && attribute.atttypid == *expected
            });
        if !is_sound {
            return Err("It is not a table with the columns that it was made with.");
        }
        let indexes = table.indexes(if lock == Lock::Alone { Lock::Write } else { lock });
        if !indexes.iter().all(|index| index.is_plain() && index.form().indimmediate) {
            return Err(
                "It has an index with an expression, a condition or a deferred constraint.",
            );
        }
        Ok(Self { table, indexes })
    }

    /// The index that tells its rows apart by a column, if there is one.
    pub fn key_index(&self, column: i16) -> Option<&OpenIndex> {
        let key = |index: &&OpenIndex| index.is_key() && index.only_column() == Some(column);
        self.indexes.iter().find(key)
    }

    /// Inserts a row: a value for each column.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn insert(&self, values: &[Option<Datum>]) {
        let row = Row::empty(&self.table);
        // SAFETY: the caller promises values of the columns' types, and the row is one of this table.
        unsafe { row.fill(values) };
        self.table.insert(&row, &self.indexes);
    }

    /// Puts a row in the place of one of this table.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn update(&self, old: &Row, values: &[Option<Datum>]) {
        let row = Row::empty(&self.table);
        // SAFETY: the caller promises values of the columns' types, and the row is one of this table.
        unsafe { row.fill(values) };
        self.table.update(old, &row, &self.indexes);
    }
}

/// True if the owner of a table beside the documents is theirs. A partition may belong to somebody else than the
/// partitioned table, to which what stands beside them belongs.
pub fn is_of_owner(owner: Oid, documents: &Open) -> bool {
    documents.class().relowner == owner
        || documents.class().relispartition
            && ffi::partition_ancestors(documents.oid())
                .into_iter()
                .any(|table| owner_of(table) == owner)
}

/// Takes from everybody but the owner the rights on a table: those that ALTER DEFAULT PRIVILEGES has granted on a new
/// one, or that a former owner has granted, also to those who have granted them to others.
pub fn revoke_all(table: Oid) -> Result<()> {
    for grantee in grantees(table) {
        let revoke = Sql::new("REVOKE ALL ON TABLE ").relation(table).text(" FROM ");
        match grantee {
            None => revoke.text("PUBLIC CASCADE").run()?,
            Some(role) => revoke.name(&role).text(" CASCADE").run()?,
        }
    }
    Ok(())
}

/// The ways in which a trigger is enabled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// Also for what replication brings.
    Always,
    /// As every trigger is by itself.
    Origin,
}

/// A trigger to be made.
pub struct NewTrigger {
    /// The table on which it fires.
    pub table: Oid,
    /// The beginning and the end of its name.
    pub name: (CString, &'static CStr),
    /// Its definition, as SQL behind its name.
    pub definition: Sql,
    pub enabled: Enabled,
}

impl NewTrigger {
    /// Makes it, to call a function of the extension, which is in that schema.
    pub fn create(self, extension: Oid, function: &CStr) -> Result<()> {
        let name = free_trigger_name(self.table, &self.name.0, self.name.1);
        Sql::new("CREATE TRIGGER ")
            .name(&name)
            .text(" ")
            .text(self.definition)
            .text(" EXECUTE FUNCTION ")
            .qualified(extension, function)
            .text("()")
            .run()?;
        if self.enabled == Enabled::Always {
            let alter = Sql::new("ALTER TABLE ").relation(self.table);
            alter.text(" ENABLE ALWAYS TRIGGER ").name(&name).run()?;
        }
        Ok(())
    }
}

/// `<first>_<label>[number]`, a name that no trigger or constraint of the table has, nor of its
/// partitions.
fn free_trigger_name(table: Oid, first: &CStr, label: &CStr) -> CString {
    let tables = ffi::inheritors(table, Lock::Held.mode());
    let is_trigger = |table: Oid, name: &CStr| catalog::trigger_called(table, name) != Oid::INVALID;
    let taken = |name: &CStr| {
        let mut tables = tables.iter();
        tables.any(|table| is_trigger(*table, name) || ffi::constraint_name_is_used(*table, name))
    };
    let mut name = object_name(first, label);
    let mut number = 0;
    while taken(&name) {
        number += 1;
        let numbered = [label.to_bytes(), number.to_string().as_bytes()].concat();
        name = object_name(first, &CString::new(numbered).unwrap_or_default());
    }
    name
}
