//! The key and scope columns, which are read together with the documents.
//!
//! Keys are checked as they are read: none may be NULL, or repeated, unless an index ensures that. The keys of
//! documents that share a bucket are kept. Documents are compared within a scope; scope values are numbered.

use std::cmp::Ordering;

use ahash::AHashMap;
use sketch::{ElementHash, hash128};

use crate::corpus::source::Source;
use crate::corpus::source::rows::{RowSpools, SpooledRow};
use crate::error::shortened;
use crate::memory::of_scopes;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::names::type_label;
use crate::pg::type_storage::TypeStorage;
use crate::pg::value_type::Output;
use crate::prelude::*;

/// The check of the keys of a source: none is NULL, and, if nothing but the user's word says that they are unique, none
/// is repeated.
pub struct KeyCheck<'a> {
    source: &'a Source,
    storage: TypeStorage,
}

impl<'a> KeyCheck<'a> {
    pub fn of(source: &'a Source) -> Self {
        Self { source, storage: TypeStorage::of(source.key_column().0) }
    }

    /// The error for a document whose key is NULL.
    pub fn missing(&self) -> SqlError {
        let message = format!("{} has a document with a NULL key", self.source.argument);
        null_not_allowed(message).set_hint("Leave out rows without a key, or set their keys.")
    }

    /// The hash of a key, if it must be checked.
    pub fn hash(&self, key: Datum) -> Option<u64> {
        (!self.source.key_is_unique).then(|| self.hash_of(key))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash_of(&self, key: Datum) -> u64 {
        if self.storage.by_value {
            return key.value() as u64;
        }
        // SAFETY: a value of the key column, whose storage `of` has looked up; it is hashed at once.
        ElementHash::Xxh3.hash(unsafe { self.storage.bytes(key) })
    }

    /// Fails if two hashes are equal. `each` passes all keys to its argument, to find one for the message.
    pub fn finish(
        &self,
        mut hashes: Vec<u64>,
        each: impl FnOnce(&mut dyn FnMut(Datum) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        hashes.sort_unstable();
        let twice = hashes.windows(2).find(|pair| pair[0] == pair[1]);
        let Some(&[twice, _]) = twice else { return Ok(()) };
        each(&mut |key| {
            if self.hash_of(key) != twice {
                return Ok(());
            }
            // SAFETY: a value of the key column, which has this type.
            let shown = unsafe { Output::of(self.source.key_column().0).shown(key) };
            Err(twice_there(self.source.argument, &shown))
        })
    }
}

/// The error for a key that several documents of a source have.
pub fn twice_there(argument: &str, key: &str) -> SqlError {
    invalid_parameter(format!("{argument} has several documents with the key \"{key}\""))
        .set_hint("Use the primary key, or a combination of columns that is unique.")
}

/// Documents of one or two sources, numbered in the order of reading.
pub struct Members {
    parts: Vec<SourceKeys>,
}

struct SourceKeys {
    /// Number of its first document.
    first: u32,
    base_type: Oid,
    keys: DocumentKeys,
}

impl Members {
    /// No documents yet. `keys` has the type and collation of each source's keys.
    pub fn new(keys: &[(Oid, Oid)]) -> Result<Self> {
        let parts = keys.iter().map(|&(type_oid, collation)| {
            let (keys, base_type) = (DocumentKeys::new(type_oid, collation)?, catalog::base_type(type_oid));
            Ok(SourceKeys { first: u32::MAX, base_type, keys })
        });
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }

    pub fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.keys.len() as u32).sum()
    }

    /// Appends the key of the next document of source `part`.
    ///
    /// # Safety
    /// `key` is a non-null value of the type of that source's keys.
    pub unsafe fn push(&mut self, part: usize, key: Datum) -> Result<()> {
        let number = self.len();
        let part = &mut self.parts[part];
        part.first = part.first.min(number);
        // SAFETY: the caller promises a value of the type for which `new` made this source's keys.
        unsafe { part.keys.push(key) }
    }

    /// Number of the second source's first document.
    pub fn second(&self) -> u32 {
        self.parts.get(1).map_or(u32::MAX, |part| part.first)
    }

    fn part(&self, document: u32) -> &SourceKeys {
        let place = self.parts.iter().rposition(|part| part.first <= document);
        &self.parts[place.unwrap_or(0)]
    }

    /// The key of a document as a `minlsh_key`, which has the bytes of a text.
    pub fn key(&self, document: u32) -> Datum {
        let part = self.part(document);
        part.keys.text(document - part.first)
    }

    /// The key of a document, for messages.
    pub fn shown(&self, document: u32) -> String {
        // SAFETY: `key` returns a text, which is copied here.
        let key = unsafe { text::read(self.key(document)) };
        shortened(key.unwrap_or_default()).into_owned()
    }

    /// The key of a document in its own type.
    pub fn stored(&self, document: u32) -> Datum {
        let part = self.part(document);
        part.keys.datum(document - part.first)
    }

    /// Compares two documents of one source by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let part = self.part(a);
        part.keys.compare(a - part.first, b - part.first)
    }

    /// For each source the base type of its keys, and its documents in their order, for [`find`](Self::find).
    pub fn each_sorted(&self) -> Result<Vec<(Oid, Vec<u32>)>> {
        self.parts.iter().map(|part| Ok((part.base_type, part.keys.sorted()?))).collect()
    }

    /// The document of source `part` with key `key`, if there is one. `sorted` is that source's order.
    ///
    /// # Safety
    /// `key` is a non-null value of the base type of that source's keys.
    pub unsafe fn find(&self, part: usize, sorted: &[u32], key: Datum) -> Option<u32> {
        let SourceKeys { first, keys, .. } = &self.parts[part];
        // SAFETY: the caller promises a value of the base type of the type for which `new` made these keys.
        unsafe { keys.find(sorted, key) }.map(|number| first + number)
    }

    /// All documents in the order of their keys; the first source comes first.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut sorted = self.parts[0].keys.sorted()?;
        for part in &self.parts[1..] {
            let own = part.keys.sorted()?;
            memory::reserve(&mut sorted, own.len())?;
            sorted.extend(own.iter().map(|number| part.first + number));
        }
        Ok(sorted)
    }
}

/// The stored rows of a job, and the names of those that are read again.
pub struct NamedRows<'a> {
    pub spools: RowSpools<'a>,
    pub members: Members,
}

impl NamedRows<'_> {
    /// Calls `visit` with each document of `numbers`, which ascend: with its new name and its row.
    pub fn each(
        &mut self,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut dyn FnMut(u32, &SpooledRow) -> Result<()>,
    ) -> Result<()> {
        let Self { spools, members } = self;
        spools.each(wanted, &mut |source, row| {
            let name = members.len();
            // SAFETY: the key column of the rows of this source, for whose type its members were made. The key of a row
            // in a partition is its position, an integer.
            unsafe { members.push(source, row.key)? };
            visit(name, row)
        })
    }
}

/// The values seen so far, of one or several columns.
pub struct Scopes {
    columns: Vec<ColumnValues>,
    /// Scopes of several columns, by a hash of the numbers of their values.
    rows: AHashMap<u128, u32>,
    context: Memory,
}

/// The values seen in a column or in arrays, by the equality of their type: the `=` of the default hash operator class.
pub struct ColumnValues {
    argument: &'static str,
    type_oid: Oid,
    equal: *mut pg_sys::FmgrInfo,
    hash: *mut pg_sys::FmgrInfo,
    collation: Oid,
    storage: TypeStorage,
    /// True if values are equal exactly if their bytes are.
    is_image: bool,
    /// Such values by a hash of their bytes. Two of a billion values have the same hash with probability 1e-21.
    images: AHashMap<u128, u32>,
    /// For other types, within [`of_scopes`]: the last value for each hash, and the values by number, each with the
    /// previous value of the same hash.
    last: AHashMap<u64, u32>,
    values: Vec<(Datum, Option<u32>)>,
}

/// Bytes of a kept value besides itself, in tables with spare capacity.
const KEPT: usize = 2 * (size_of::<(Datum, Option<u32>)>() + size_of::<(u64, u32)>());

fn too_many(argument: &str, count: u32, type_oid: Oid) -> SqlError {
    let label = type_label(type_oid);
    beyond_setting(format!("the values of {argument} do not fit into maintenance_work_mem"))
        .set_detail(format!(
            "After {count} different values of type {label} they take a third of it. They are kept because equal \
             values of this type, or in this collation, can have different bytes."
        ))
        .set_hint("Cast the column to bigint, uuid or text in a query, or raise maintenance_work_mem.")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope(u32);

impl Scope {
    /// All documents, without scopes.
    pub const ALL: Self = Self(u32::MAX);

    /// Its number. With one column it is the value's number.
    pub fn number(self) -> u32 {
        if self == Self::ALL { 0 } else { self.0 }
    }

    /// A band hash that is specific to this scope.
    pub fn salt(self) -> u64 {
        if self == Self::ALL { 0 } else { ElementHash::Xxh3.hash(&self.0.to_ne_bytes()) }
    }
}

impl Scopes {
    /// No values yet, of columns with these types and collations, which `argument` names.
    pub fn new(argument: &'static str, columns: &[(Oid, Oid)]) -> Result<Self> {
        let columns = columns.iter().map(|column| ColumnValues::new(argument, *column));
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            rows: AHashMap::new(),
            context: Memory::scratch(c"minlsh scopes"),
        })
    }

    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The scope of a row, by its values of the columns; `None` if one is NULL, which equals nothing.
    pub fn of(&mut self, value: impl Fn(usize) -> Option<Datum>) -> Result<Option<Scope>> {
        let Self { columns, rows, context } = self;
        let number = |place: usize, column: &mut ColumnValues| {
            value(place).map(|value| column.number(value, context)).transpose()
        };
        match &mut columns[..] {
            [] => Ok(Some(Scope::ALL)),
            [column] => Ok(number(0, column)?.map(Scope)),
            columns => {
                let mut bytes = Vec::new();
                for (place, column) in columns.iter_mut().enumerate() {
                    let Some(number) = number(place, column)? else { return Ok(None) };
                    memory::extend(&mut bytes, &number.to_ne_bytes())?;
                }
                Ok(Some(Scope(number_of(rows, hash128(&bytes))?)))
            }
        }
    }
}

/// The number of a hash; a new hash gets the next one.
fn number_of(numbers: &mut AHashMap<u128, u32>, hash: u128) -> Result<u32> {
    if let Some(known) = numbers.get(&hash) {
        return Ok(*known);
    }
    let next = numbers.len() as u32;
    memory::insert_at(numbers, hash, next)?;
    Ok(next)
}

impl ColumnValues {
    /// No values yet, of this type and collation.
    pub fn new(argument: &'static str, (type_oid, collation): (Oid, Oid)) -> Result<Self> {
        let flags = pg_sys::TYPECACHE_EQ_OPR_FINFO | pg_sys::TYPECACHE_HASH_EXTENDED_PROC_FINFO;
        // SAFETY: the type cache keeps its entry, with the FmgrInfo, for the session.
        let entry = unsafe { &mut *pg_sys::lookup_type_cache(type_oid, flags as i32) };
        if entry.eq_opr_finfo.fn_oid == Oid::INVALID || entry.hash_extended_proc_finfo.fn_oid == Oid::INVALID {
            return Err(undefined_function(format!(
                "{argument}: values of type {} cannot be hashed",
                type_label(type_oid)
            ))
            .set_hint("Cast the column to text in a query."));
        }
        Ok(Self {
            argument,
            type_oid,
            equal: &raw mut entry.eq_opr_finfo,
            hash: &raw mut entry.hash_extended_proc_finfo,
            collation,
            storage: TypeStorage { by_value: entry.typbyval, length: entry.typlen },
            is_image: is_image(type_oid, collation),
            images: AHashMap::new(),
            last: AHashMap::new(),
            values: Vec::new(),
        })
    }

    fn number(&mut self, value: Datum, context: &Memory) -> Result<u32> {
        if self.is_image {
            let image = self.image(value);
            return number_of(&mut self.images, image);
        }
        let hash = self.hash(value);
        let last = self.last.get(&hash).copied();
        let mut candidate = last;
        while let Some(number) = candidate {
            let (known, before) = self.values[number as usize];
            if self.equal(known, value) {
                return Ok(number);
            }
            candidate = before;
        }
        let number = self.values.len() as u32;
        let taken = context.bytes() + self.values.len() * KEPT;
        if taken > of_scopes() {
            return Err(too_many(self.argument, number, self.type_oid));
        }
        // SAFETY: a value of the column, whose storage `new` has looked up.
        let copy = context.run(|| unsafe { self.storage.copy(value) });
        memory::push(&mut self.values, (copy, last))?;
        memory::insert_at(&mut self.last, hash, number)?;
        Ok(number)
    }

    /// A number that is the same for equal values only: a hash of the bytes, or the number of the value. Two of a
    /// billion values have the same hash with probability 1e-21. Values that must be kept are copied to `context`.
    pub fn element(&mut self, value: Datum, context: &Memory) -> Result<u128> {
        if self.is_image { Ok(self.image(value)) } else { self.number(value, context).map(u128::from) }
    }

    fn image(&self, value: Datum) -> u128 {
        if self.storage.by_value {
            return value.value() as u128;
        }
        // SAFETY: a value of the column, whose type `new` found to be passed by reference; it is hashed at once.
        hash128(unsafe { self.storage.bytes(value) })
    }

    fn hash(&self, value: Datum) -> u64 {
        let seed = Datum::from(0_i64);
        // SAFETY: a value of the column, for whose type `new` found this hash function.
        let hash = unsafe { pg_sys::FunctionCall2Coll(self.hash, self.collation, value, seed) };
        hash.value() as u64
    }

    fn equal(&self, a: Datum, b: Datum) -> bool {
        // SAFETY: two values of the column, for whose type `new` found this equality function.
        unsafe { pg_sys::FunctionCall2Coll(self.equal, self.collation, a, b) }.value() as u8 != 0
    }
}

/// True if values of a type are equal exactly if their bytes are, by the check that PostgreSQL makes before a B-tree
/// deduplicates. Only its own two functions are called, because others may belong to any role.
fn is_image(type_oid: Oid, collation: Oid) -> bool {
    const OURS: [u32; 2] = [pg_sys::F_BTEQUALIMAGE, pg_sys::F_BTVARSTREQUALIMAGE];
    // As in nbtree.h.
    const BTEQUALIMAGE_PROC: i16 = 4;
    // SAFETY: look-ups in the system caches, and a call of a function of PostgreSQL that takes the OID of a type.
    unsafe {
        let class = pg_sys::GetDefaultOpClass(type_oid, pg_sys::BTREE_AM_OID);
        if class == Oid::INVALID {
            return false;
        }
        let (family, input) = (pg_sys::get_opclass_family(class), pg_sys::get_opclass_input_type(class));
        let function = pg_sys::get_opfamily_proc(family, input, input, BTEQUALIMAGE_PROC);
        OURS.contains(&function.to_u32())
            && pg_sys::OidFunctionCall1Coll(function, collation, input.into()).value() as u8 != 0
    }
}
