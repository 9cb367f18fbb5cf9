//! Tables that stand beside a user's table: kept by its triggers, and read and written as relations, as TOAST tables
//! are, never by SQL. Whoever owns one can alter it, so it is trusted for the types of its columns and for its
//! indexes, which are looked at under lock each time, and for nothing else.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::{Lock, grantees, inheritors, owner_of, partition_ancestors};
use crate::pg::snapshot::next_command;
use crate::pg::sql::{Sql, object_name, relation_name};
use crate::pg::trigger::tie;
use crate::pg::versions;

/// A table beside another, with its indexes, found to be sound.
pub struct Companion {
    pub table: Open,
    pub indexes: Vec<OpenIndex>,
}

impl Companion {
    /// A table that is locked by `lock`, if its columns are of these types; else what is wrong with it.
    pub fn checked(table: Open, lock: Lock, columns: &[Oid]) -> std::result::Result<Self, &'static str> {
        let is_plain =
            |attribute: &pg_sys::FormData_pg_attribute| !attribute.attisdropped && attribute.attgenerated == 0;
        let class = table.class();
        let is_sound = class.relkind as u8 == b'r'
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && table.attributes().count() == columns.len()
            && table
                .attributes()
                .zip(columns)
                .all(|(attribute, expected)| is_plain(attribute) && attribute.atttypid == *expected);
        if !is_sound {
            return Err("It is not a table with the columns that it was made with.");
        }
        let indexes = table.indexes(if lock == Lock::Alone { Lock::Write } else { lock });
        if !indexes.iter().all(|index| index.is_plain() && index.form().indimmediate) {
            return Err("It has an index with an expression, a condition or a deferred constraint.");
        }
        Ok(Self { table, indexes })
    }

    /// Inserts a row: a value for each column. If it has indexes, they are all plain, as those of a catalog, and get
    /// their entries.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn insert(&self, values: &[Option<Datum>]) {
        let columns = (self.table.class().relam, self.table.attributes().count());
        let is_row = columns == (pg_sys::HEAP_TABLE_AM_OID, values.len());
        assert!(is_row, "a value for each column of a table of the heap");
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        let values = values.iter().map(|value| value.unwrap_or(Datum::from(0)));
        let (mut values, table): (Vec<Datum>, _) = (values.collect(), self.table.raw());
        // SAFETY: an open table of the heap, and as many values as it has columns, as was asserted, of their types, as
        // # Safety asks. `checked` has found that its indexes have no expressions, conditions or deferred constraints.
        unsafe {
            let columns = (*table).rd_att;
            let row = pg_sys::heap_form_tuple(columns, values.as_mut_ptr(), nulls.as_mut_ptr());
            match self.indexes[..] {
                [] => pg_sys::simple_heap_insert(table, row),
                _ => pg_sys::CatalogTupleInsert(table, row),
            }
            pg_sys::heap_freetuple(row);
        }
    }
}

/// Throws away the contents of a table and its indexes, as TRUNCATE does. The caller holds ACCESS EXCLUSIVE. A rollback
/// brings all back.
pub fn empty(table: &Open) {
    // SAFETY: an open table under ACCESS EXCLUSIVE lock, and its TOAST table likewise.
    unsafe {
        pg_sys::CheckTableNotInUse(table.raw(), c"TRUNCATE".as_ptr());
        versions::set_new_file(table.raw());
        if let Some(toast) = Open::relation(table.class().reltoastrelid, Lock::Exclusive) {
            versions::set_new_file(toast.raw());
        }
        rebuild_indexes(table.oid());
        pg_sys::pgstat_count_truncate(table.raw());
    }
}

/// Builds the indexes of a table again, as its owner, like REINDEX TABLE.
pub fn rebuild_indexes(table: Oid) {
    let flags = pg_sys::REINDEX_REL_PROCESS_TOAST as i32;
    versions::reindex_relation(table, flags);
    next_command();
}

/// True if the owner of a table beside the documents is theirs. A partition may belong to somebody else than the
/// partitioned table, to which what stands beside them belongs.
pub fn is_of_owner(owner: Oid, documents: &Open) -> bool {
    documents.class().relowner == owner
        || documents.class().relispartition
            && partition_ancestors(documents.oid()).into_iter().any(|above| owner_of(above) == owner)
}

/// Takes from everybody but the owner the rights on a table: those that ALTER DEFAULT PRIVILEGES has granted on a new
/// one, or that a former owner has granted, also to those who have granted them to others.
pub fn revoke_all(table: Oid) {
    for grantee in grantees(table) {
        // SAFETY: takes OIDs alone. PostgreSQL looks the table up, as REVOKE ALL ... CASCADE does, and raises an error
        // if it is gone.
        unsafe { pg_sys::RemoveRoleFromObjectACL(grantee, pg_sys::RelationRelationId, table) };
        next_command();
    }
}

/// Creates a trigger of a table, in whose name `of` comes first and then `label`, with that definition behind its name.
/// It calls a function of the extension, which is in that schema; if it is `always` enabled, also for what replication
/// brings.
pub fn create_trigger(
    (extension, function): (Oid, &CStr),
    (table, of, label): (Oid, Oid, &CStr),
    definition: Sql,
    always: bool,
) -> Result<()> {
    let name = free_trigger_name(table, &relation_name(of), label);
    Sql::new("CREATE TRIGGER ")
        .name(&name)
        .text(" ")
        .text(definition)
        .text(" EXECUTE FUNCTION ")
        .qualified(extension, function)
        .text("()")
        .run()?;
    if always {
        let alter = Sql::new("ALTER TABLE ").relation(table);
        alter.text(" ENABLE ALWAYS TRIGGER ").name(&name).run()?;
    }
    Ok(())
}

/// Creates the triggers of documents that keep the table `beside` them: the [record](crate::pg::trigger::Record), of
/// the key and the other columns that matter; one that sees to what other triggers change in an UPDATE that does not
/// name these; and one for TRUNCATE. Row triggers, because statement triggers miss what is written to a partition by
/// its name, and what logical replication applies.
pub fn create_triggers(
    function: (Oid, &CStr),
    (documents, columns): (Oid, &[&CStr]),
    (beside, label): (Oid, &CStr),
) -> Result<()> {
    let columns: Vec<Sql> = columns.iter().map(|column| Sql::default().name(column)).collect();
    let written = Sql::new("AFTER INSERT OR UPDATE OF ").list(&columns, ", ");
    let triggers = [
        (label, written.text(" OR DELETE"), "ROW"),
        (c"update", Sql::new("AFTER UPDATE"), "ROW"),
        (c"truncate", Sql::new("AFTER TRUNCATE"), "STATEMENT"),
    ];
    for (label, events, each) in triggers {
        let on = events.text(" ON ").relation(documents).text(" FOR EACH ").text(each);
        let definition = on.text(" WHEN ").text(tie(beside));
        create_trigger(function, (documents, beside, label), definition, true)?;
    }
    Ok(())
}

/// `<first>_<label>[number]`, a name that no trigger or constraint of the table has, nor of its
/// partitions.
fn free_trigger_name(table: Oid, first: &CStr, label: &CStr) -> CString {
    let tables = inheritors(table, Lock::Held);
    let is_taken = |name: &CStr| {
        tables.iter().any(|table| {
            catalog::trigger_called(*table, name) != Oid::INVALID || catalog::has_constraint_called(*table, name)
        })
    };
    let mut name = object_name(first, label);
    let mut number = 0;
    while is_taken(&name) {
        number += 1;
        let numbered = [label.to_bytes(), number.to_string().as_bytes()].concat();
        name = object_name(first, &CString::new(numbered).unwrap_or_default());
    }
    name
}
