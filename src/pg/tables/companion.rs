//! Tables beside a user's table. Triggers maintain them, and minlsh reads and writes them as relations, like TOAST
//! tables, and never by SQL. The owner of such a table can alter it, so the types of its columns and its indexes are
//! checked under lock each time.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catalog;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, grantees, inheritors, owner_of, partition_ancestors};
use crate::pg::snapshot::next_command;
use crate::pg::sql::{Sql, object_name, relation_name};
use crate::pg::table::OpenIndex;
use crate::pg::trigger::tie;
use crate::pg::typed_value::TypedValue;
use crate::pg::versions;

/// A table beside another, with its indexes, that was found to be sound.
pub struct Companion {
    pub table: Open,
    pub indexes: Vec<OpenIndex>,
}

impl Companion {
    /// Checks a table that is locked by `lock`: its columns must have these types. `Err` says what is wrong.
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

    /// Inserts a row: a value of its type for each column, `None` for NULL. Its indexes get their entries; they are
    /// plain, like the indexes of a catalog.
    pub fn insert(&self, values: &[Option<TypedValue>]) {
        let columns = (self.table.class().relam, self.table.attributes().count());
        let is_row = columns == (pg_sys::HEAP_TABLE_AM_OID, values.len());
        assert!(is_row, "a value for each column of a table of the heap");
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        let values = values.iter().zip(self.table.attributes());
        let values = values.map(|(value, column)| value.map_or(Datum::from(0), |value| value.of_type(column.atttypid)));
        let (mut values, table): (Vec<Datum>, _) = (values.collect(), self.table.raw());
        // SAFETY: an open heap table, and one value for each column, as just asserted, of its type, as `of_type` has
        // checked. `checked` found no expressions, predicates or deferred constraints in the indexes.
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

/// Empties a table and its indexes, as TRUNCATE does. The caller holds ACCESS EXCLUSIVE. A rollback restores the
/// contents.
pub fn empty(table: &Open) {
    // SAFETY: the caller holds ACCESS EXCLUSIVE on the open table; its TOAST table is opened under the same lock.
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

/// Rebuilds the indexes of a table as its owner, like REINDEX TABLE.
pub fn rebuild_indexes(table: Oid) {
    let flags = pg_sys::REINDEX_REL_PROCESS_TOAST as i32;
    versions::reindex_relation(table, flags);
    next_command();
}

/// True if `owner`, the owner of a table beside the documents, owns the documents. A partition may have another owner
/// than the partitioned table, and then the latter counts.
pub fn is_of_owner(owner: Oid, documents: &Open) -> bool {
    documents.class().relowner == owner
        || documents.class().relispartition
            && partition_ancestors(documents.oid()).into_iter().any(|above| owner_of(above) == owner)
}

/// Revokes all rights on a table from all roles but its owner: those granted by ALTER DEFAULT PRIVILEGES or by a former
/// owner, and the grants that their holders have made.
pub fn revoke_all(table: Oid) {
    for grantee in grantees(table) {
        // SAFETY: takes OIDs. PostgreSQL looks the table up, as REVOKE ALL ... CASCADE does, and raises an ERROR if it
        // is gone.
        unsafe { pg_sys::RemoveRoleFromObjectACL(grantee, pg_sys::RelationRelationId, table) };
        next_command();
    }
}

/// Creates a trigger of a table, named `of` followed by `label`, with `definition` behind the name. It calls
/// `function`, which is in schema `extension`. An `always` trigger also fires for replicated changes.
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

/// Creates the triggers of the documents that maintain the table `beside` them. The first is the
/// [record](crate::pg::trigger::Record), on the key and the other relevant columns. The second handles columns that
/// other triggers change in an UPDATE that does not name them, and the third TRUNCATE. They are row triggers: statement
/// triggers miss what is written to a partition by name, and what logical replication applies.
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

/// Returns `<first>_<label>[number]`, a name that no trigger or constraint of the table or its partitions has.
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
