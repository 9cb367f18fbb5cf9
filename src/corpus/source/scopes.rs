//! The values of columns by which documents are grouped, numbered. Documents are compared within a scope.

use ahash::AHashMap;
use sketch::dedup::Scope;
use sketch::hash128;

use crate::memory::of_scopes;
use crate::pg::type_storage::TypeStorage;
use crate::prelude::*;

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
    pub fn of<'v>(&mut self, value: impl Fn(usize) -> Option<TypedValue<'v>>) -> Result<Option<Scope>> {
        let Self { columns, rows, context } = self;
        let number = |place: usize, column: &mut ColumnValues| {
            value(place).map(|value| column.number(value.of_type(column.type_oid), context)).transpose()
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

    /// The number of a value, whose type the caller has checked.
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
        // SAFETY: `of` and `element` have checked that it has the column's type, whose storage `new` has looked up.
        let copy = context.run(|| unsafe { self.storage.copy(value) });
        memory::push(&mut self.values, (copy, last))?;
        memory::insert_at(&mut self.last, hash, number)?;
        Ok(number)
    }

    /// A number that is the same for equal values only: a hash of the bytes, or the number of the value. Two of a
    /// billion values have the same hash with probability 1e-21. Values that must be kept are copied to `context`.
    pub fn element(&mut self, value: TypedValue, context: &Memory) -> Result<u128> {
        let value = value.of_type(self.type_oid);
        if self.is_image { Ok(self.image(value)) } else { self.number(value, context).map(u128::from) }
    }

    fn image(&self, value: Datum) -> u128 {
        if self.storage.by_value {
            return value.value() as u128;
        }
        // SAFETY: `of` and `element` have checked that it has the column's type, which `new` found to be passed by
        // reference; it is hashed at once.
        hash128(unsafe { self.storage.bytes(value) })
    }

    fn hash(&self, value: Datum) -> u64 {
        let seed = Datum::from(0_i64);
        // SAFETY: `of` and `element` have checked that it has the column's type, for which `new` found this hash
        // function.
        let hash = unsafe { pg_sys::FunctionCall2Coll(self.hash, self.collation, value, seed) };
        hash.value() as u64
    }

    fn equal(&self, a: Datum, b: Datum) -> bool {
        // SAFETY: `of` and `element` have checked that both have the column's type, for which `new` found this equality
        // function.
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
