//! A side table, checked under lock. Its owner can alter it, so only its columns' types, its owner and its two indexes
//! are relied on.

use std::rc::Rc;

use crate::index::stored_options;
use crate::options::IndexOptions;
use crate::pg::catalog::{access_method, base_type};
use crate::pg::companion::{Companion, is_of_owner, revoke_all};
use crate::pg::dependency::{self, Object};
use crate::pg::index::SearchOperator;
use crate::pg::relation::{owner_of, partition_ancestors};
use crate::pg::rights::restricted_to;
use crate::pg::snapshot::next_command;
use crate::pg::table::OpenIndex;
use crate::prelude::*;

pub const DOC_ID: i16 = 1;
pub const SIGNATURE: i16 = 2;
pub const BANDS: i16 = 3;

pub struct Storage {
    pub rows: Companion,
    /// Position among `indexes` of the index on its key.
    key: usize,
    /// Position of the index on the signatures, which has the options, and the only operator of that index.
    signatures: usize,
    pub operator: SearchOperator,
    pub options: Rc<IndexOptions>,
}

impl Storage {
    /// Opens the side table of `documents`, whose key column has type `key`.
    pub fn open(oid: Oid, documents: &Open, key: Oid, lock: Lock) -> Result<Self> {
        if lock != Lock::Read {
            follow_owner(oid, documents)?;
        }
        let Some(table) = Open::relation(oid, lock) else {
            return Err(wrong_state(format!("the side table of table \"{}\" does not exist", documents.name())));
        };
        check_owner(&table, documents, lock)?;
        let altered = |detail: &str| altered(oid, detail);
        let columns = [base_type(key), pg_sys::INT4ARRAYOID, pg_sys::INT8ARRAYOID];
        let rows = Companion::checked(table, lock, &columns).map_err(altered)?;
        let key = rows.indexes.iter().position(|index| index.is_key_of(DOC_ID));
        let key = key.ok_or_else(|| altered("It has no primary key."))?;
        let operators = rows.indexes.iter().map(operator_of_signatures);
        let signatures = (0..).zip(operators).find_map(|(place, operator)| Some((place, operator?)));
        let (signatures, operator) =
            signatures.ok_or_else(|| altered("It has no valid index of type minlsh over its signatures."))?;
        let options = stored_options::built(rows.indexes[signatures].oid())?;
        Ok(Self { rows, key, signatures, operator, options })
    }

    pub fn signature_index(&self) -> &OpenIndex {
        &self.rows.indexes[self.signatures]
    }

    /// Reads the row of the document with key `key`, if there is one. The key must be of the type for which this was
    /// opened.
    pub fn of_document<T>(
        &self,
        key: TypedValue,
        snapshot: &Snapshot,
        read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let Companion { table, indexes } = &self.rows;
        indexes[self.key].equal_row(table, key, snapshot, read)
    }
}

/// Refuses a side table with signatures of another version of the library.
pub fn check_current(storage: Oid, options: &IndexOptions) -> Result<()> {
    if options.is_current() {
        return Ok(());
    }
    let (shown, name) = (relation_name(storage), regclass_literal(storage));
    Err(wrong_state(format!("side table \"{shown}\" was built by another version of the algorithm or of Unicode"))
        .set_hint(format!("Build it again with SELECT minlsh_rebuild_side_table({name});")))
}

/// The operator of an index on signatures; `None` for other indexes.
fn operator_of_signatures(index: &OpenIndex) -> Option<SearchOperator> {
    let is_one = index.only_column() == Some(SIGNATURE)
        && index.form().indisvalid
        && index.is_plain()
        && index.class().relam == access_method();
    // An index on signatures has one operator, while an index on arrays as sets has several.
    is_one.then(|| SearchOperator::only_of(index)).flatten()
}

/// The stored signature and bands of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSketch {
    pub signature: Vec<i32>,
    pub bands: Vec<i64>,
}

/// Makes a row for storage, in the current memory context.
pub fn row_of<'a>(key: TypedValue<'a>, signed: &StoredSketch) -> [Option<TypedValue<'a>>; 3] {
    [key, TypedValue::array(&signed.signature), TypedValue::array(&signed.bands)].map(Some)
}

/// The key of a document, its signature and its bands.
type StoredRow<'a> = (TypedValue<'a>, &'a [i32], &'a [i64]);

/// Reads a stored row; `None` if its owner has written NULLs.
///
/// # Errors
/// SQLSTATE 2202E or 22004 if the arrays cannot belong to a sketch.
pub fn stored(row: &Row) -> Result<Option<StoredRow<'_>>> {
    let values = (row.get(DOC_ID), row.value(SIGNATURE), row.value(BANDS));
    let (Some(key), Some(signature), Some(bands)) = values else { return Ok(None) };
    // SAFETY: `Companion::checked` found arrays of these types. They are read while the row is valid.
    unsafe { Ok(Some((key, array::read(signature)?, array::read(bands)?))) }
}

fn altered(side_table: Oid, detail: &str) -> SqlError {
    let (shown, name) = (relation_name(side_table), regclass_literal(side_table));
    wrong_state(format!("side table \"{shown}\" has been altered"))
        .set_detail(detail)
        .set_hint(format!("Drop it with SELECT minlsh_drop_side_table({name}); and create it again."))
}

/// Changes the owner of a side table to its documents' owner, for a writer without a lock on it. ALTER TABLE ... OWNER
/// TO of the documents does not include the side table, so it follows at the next write. Until then it is only read. No
/// rights are checked, as for the indexes of a table: ALTER TABLE has checked them. The lock excludes others who do the
/// same. It does not wait for readers and writers, since these would wait for each other.
pub fn follow_owner(storage: Oid, documents: &Open) -> Result<()> {
    let is_strange = |owner| owner != Oid::INVALID && !is_of_owner(owner, documents);
    let lock = pg_sys::ShareUpdateExclusiveLock as i32;
    let Some(table) = is_strange(owner_of(storage)).then(|| linked(storage, documents)).flatten() else {
        return Ok(());
    };
    // SAFETY: any OID can be locked.
    unsafe { pg_sys::LockRelationOid(storage, lock) };
    // Another writer may have changed the owner meanwhile, and the owner may have granted rights since.
    if !is_strange(owner_of(storage)) {
        return Ok(());
    }
    let owner = owner_of(table);
    // SAFETY: the lock keeps the table, and the role owns the documents.
    unsafe { pg_sys::ATExecChangeOwner(storage, owner, true, lock) };
    // The rest of this command sees the change.
    next_command();
    // Roles that the former owner let read it could read what the new owner writes.
    let _rights = restricted_to(owner);
    revoke_all(storage);
    Ok(())
}

/// Refuses a locked side table that does not belong to the documents.
fn check_owner(table: &Open, documents: &Open, lock: Lock) -> Result<()> {
    let is_ours = is_of_owner(table.class().relowner, documents)
        || lock == Lock::Read && linked(table.oid(), documents).is_some();
    if is_ours {
        return Ok(());
    }
    let name = regclass_literal(table.oid());
    Err(wrong_state(format!(
        "side table \"{}\" is not owned by the owner of table \"{}\"",
        table.name(),
        documents.name()
    ))
    .set_hint(format!(
        "Use ALTER TABLE ... OWNER TO to give it the same owner, or drop it with SELECT minlsh_drop_side_table({name});"
    )))
}

/// The table to which `pg_depend` links the side table, if it is `documents` or a partitioned table above them. SQL
/// cannot create this link, and minlsh creates it only while both have the same owner. It must be the only link: a
/// former owner could have linked a table of theirs, and would see what the new owner writes.
fn linked(storage: Oid, documents: &Open) -> Option<Oid> {
    match dependency::relations_needed_by(Object::Relation(storage))[..] {
        [table] if table == documents.oid() => Some(table),
        [table] if partition_ancestors(documents.oid()).contains(&table) => Some(table),
        _ => None,
    }
}
