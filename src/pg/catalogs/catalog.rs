//! Rows of the system catalogs, found in their caches, and single look-ups. A look-up is safe with any value: for an
//! object that does not exist it returns an invalid OID, or raises an error where its comment says so.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ops::Deref;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::bytes;
use crate::pg::memory::unless_raised;

/// Look-ups by OID in the system caches, as in PostgreSQL's lsyscache.
macro_rules! look_ups {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $call:expr;)*) => {
        $($(#[$meta])*
        pub fn $name($($argument: $type),*) -> $result {
            // SAFETY: a look-up in the system caches, which takes any value.
            unsafe { $call }
        })*
    };
}

look_ups! {
    /// The base type of a domain; any other type itself. An error for a type that does not exist.
    base_type(type_oid: Oid) -> Oid = pg_sys::getBaseType(type_oid);
    /// The type of an array's elements; invalid for other types, and for a domain over arrays.
    element_type(type_oid: Oid) -> Oid = pg_sys::get_element_type(type_oid);
    /// The type of the elements of an array, or of a domain over arrays; invalid for other types.
    base_element_type(type_oid: Oid) -> Oid = pg_sys::get_base_element_type(type_oid);
    /// The array type of a type; invalid if there is none.
    array_of(type_oid: Oid) -> Oid = pg_sys::get_array_type(type_oid);
    /// True if values of a type are rows.
    is_rowtype(type_oid: Oid) -> bool = pg_sys::type_is_rowtype(type_oid);
    /// The equality operator of a type's default operator class; invalid if it has none.
    equality_of(type_oid: Oid) -> Oid =
        (*pg_sys::lookup_type_cache(type_oid, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr;
    /// `pg_type.typtype`
    type_kind(type_oid: Oid) -> u8 = pg_sys::get_typtype(type_oid) as u8;
    /// True if values of a type are stored like values of another.
    is_stored_as(type_oid: Oid, other: Oid) -> bool = pg_sys::IsBinaryCoercible(type_oid, other);
    /// True if texts of a collation are equal only if their bytes are. An error if it does not exist.
    is_deterministic(collation: Oid) -> bool = pg_sys::get_collation_isdeterministic(collation);
    /// `pg_class.relkind`; 0 if there is no such relation.
    relation_kind(relation: Oid) -> u8 = pg_sys::get_rel_relkind(relation) as u8;
    /// The schema of a relation.
    relation_schema(relation: Oid) -> Oid = pg_sys::get_rel_namespace(relation);
    /// True if a relation is a partition, or the index of one.
    is_partition(relation: Oid) -> bool = pg_sys::get_rel_relispartition(relation);
    /// True if the search path finds a relation by its name alone.
    is_visible(relation: Oid) -> bool = pg_sys::RelationIsVisible(relation);
    /// The relation with this name in a schema.
    relation_called(name: &CStr, schema: Oid) -> Oid = pg_sys::get_relname_relid(name.as_ptr(), schema);
    /// True if a schema holds the temporary tables of another session.
    is_of_other_session(schema: Oid) -> bool = pg_sys::isOtherTempNamespace(schema);
    /// The table of an index, without a lock; invalid if there is no such index.
    table_of_index(index: Oid) -> Oid = pg_sys::IndexGetRelation(index, true);
    /// The constraint that owns an index.
    constraint_of_index(index: Oid) -> Oid = pg_sys::get_index_constraint(index);
    /// The trigger with this name.
    trigger_called(table: Oid, name: &CStr) -> Oid = pg_sys::get_trigger_oid(table, name.as_ptr(), true);
    /// True if a table has a constraint with this name.
    has_constraint_called(table: Oid, name: &CStr) -> bool = pg_sys::ConstraintNameIsUsed(
        pg_sys::ConstraintCategory::CONSTRAINT_RELATION,
        table,
        name.as_ptr()
    );
    /// The schema of a function.
    function_schema(function: Oid) -> Oid = pg_sys::get_func_namespace(function);
    /// The access method `minlsh`; invalid if there is none. Only a superuser can create one.
    access_method() -> Oid = pg_sys::get_am_oid(c"minlsh".as_ptr(), true);
    /// The operator of a family for two types.
    operator_of_family(family: Oid, left: Oid, right: Oid, strategy: i16) -> Oid =
        pg_sys::get_opfamily_member(family, left, right, strategy);
    /// The support function of a family for a type.
    function_of_family(family: Oid, type_oid: Oid, number: i16) -> Oid =
        pg_sys::get_opfamily_proc(family, type_oid, type_oid, number);
    /// The schema with this name, for which the caller has USAGE. An error if there is none.
    schema_to_use(name: &CStr) -> Oid = pg_sys::LookupExplicitNamespace(name.as_ptr(), false);
    /// True if a role has all rights of another, or is a superuser.
    has_rights_of(role: Oid, other: Oid) -> bool = pg_sys::has_privs_of_role(role, other);
    /// True if an operator is the `=` of a B-tree or hash operator family.
    is_equality(operator: Oid) -> bool = !pg_sys::get_mergejoin_opfamilies(operator).is_null()
        || pg_sys::get_op_hash_functions(operator, std::ptr::null_mut(), std::ptr::null_mut());
    /// The function that an operator calls.
    function_of_operator(operator: Oid) -> Oid = pg_sys::get_opcode(operator);
}

/// The fixed columns of a catalog.
///
/// # Safety
/// `CACHE` has rows that begin like this type. Its keys are an OID, and at most a column number.
pub unsafe trait CatalogForm {
    /// A cache of its rows.
    const CACHE: pg_sys::SysCacheIdentifier::Type;
}

/// The catalogs that minlsh reads, each with its cache.
macro_rules! catalogs {
    ($($form:ident: $cache:ident;)*) => {
        $(// SAFETY: the cache of that catalog (syscache.c), whose rows have the type that its header declares.
        unsafe impl CatalogForm for pg_sys::$form {
            const CACHE: pg_sys::SysCacheIdentifier::Type = pg_sys::SysCacheIdentifier::$cache;
        })*
    };
}

catalogs! {
    FormData_pg_attribute: ATTNUM;
    FormData_pg_class: RELOID;
    FormData_pg_index: INDEXRELID;
    FormData_pg_opclass: CLAOID;
    FormData_pg_collation: COLLOID;
    FormData_pg_operator: OPEROID;
    FormData_pg_proc: PROCOID;
    FormData_pg_type: TYPEOID;
}

/// A row of a catalog, held while this lives.
pub struct CatalogRow<F: CatalogForm> {
    tuple: pg_sys::HeapTuple,
    form: PhantomData<F>,
}

pub type AttributeRow = CatalogRow<pg_sys::FormData_pg_attribute>;

/// A row of `pg_class`.
pub type ClassRow = CatalogRow<pg_sys::FormData_pg_class>;

impl AttributeRow {
    /// The row of a column, if there is one.
    pub fn of_column(relation: Oid, number: i16) -> Option<Self> {
        Self::of(Datum::from(relation), Datum::from(number))
    }
}

impl<F: CatalogForm> CatalogRow<F> {
    /// The row of an object, if there is one.
    pub fn find(oid: Oid) -> Option<Self> {
        Self::of(Datum::from(oid), Datum::from(0))
    }

    fn of(oid: Datum, number: Datum) -> Option<Self> {
        let none = Datum::from(0);
        // SAFETY: `CatalogForm` promises that the cache has such keys; `drop` releases the row.
        let tuple = unsafe { pg_sys::SearchSysCache(F::CACHE as i32, oid, number, none, none) };
        // Lazily: dropping a `CatalogRow` releases its tuple, so none may exist around null.
        (!tuple.is_null()).then(|| Self { tuple, form: PhantomData })
    }

    /// Column `number`, which is not a fixed one; `None` for NULL. It is valid while the row is held.
    pub fn column(&self, number: u32) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: a row of this cache, held by `self`; callers name columns of that catalog.
        let value = unsafe { pg_sys::SysCacheGetAttr(F::CACHE as i32, self.tuple, number as i16, &mut is_null) };
        (!is_null).then_some(value)
    }

    /// The header of the row, which names the transaction that wrote it.
    pub fn header(&self) -> &pg_sys::HeapTupleHeaderData {
        // SAFETY: `self` holds the row, which has a header.
        unsafe { &*(*self.tuple).t_data }
    }
}

impl<F: CatalogForm> Deref for CatalogRow<F> {
    type Target = F;

    fn deref(&self) -> &F {
        // SAFETY: `self` holds the row, which begins with these columns, as `CatalogForm` promises.
        unsafe { &*pg_sys::GETSTRUCT(self.tuple).cast::<F>() }
    }
}

impl<F: CatalogForm> Drop for CatalogRow<F> {
    fn drop(&mut self) {
        // SAFETY: `SearchSysCache` returned it, and it is released once; after an ERROR the abort releases it.
        unless_raised(|| unsafe { pg_sys::ReleaseSysCache(self.tuple) });
    }
}

/// The C symbol that an SQL function calls; `None` unless its language is C. Only superusers declare such functions, so
/// a symbol of minlsh means minlsh's function.
pub fn c_function(function: Oid) -> Option<Vec<u8>> {
    let row = CatalogRow::<pg_sys::FormData_pg_proc>::find(function)?;
    if row.prolang != Oid::from(pg_sys::ClanguageId) {
        return None;
    }
    let name = row.column(pg_sys::Anum_pg_proc_prosrc)?;
    // SAFETY: `prosrc` is a text, copied while the row is held.
    Some(unsafe { bytes::read(name) }.to_vec())
}

/// True if the C function `output` writes values of a type, or of its base type if it is a domain.
pub fn is_written_by(type_oid: Oid, output: &[u8]) -> bool {
    let (mut function, mut is_varlena) = (Oid::INVALID, false);
    // SAFETY: a look-up in the system caches, which takes any value; the results go to local variables.
    unsafe { pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena) };
    is_varlena && c_function(function).as_deref() == Some(output)
}

/// The type `minlsh_document`, whatever its name and schema are: the input type of a minlsh operator class. Invalid if
/// there is none.
pub fn document_type() -> Oid {
    let is_own = |oid: Oid| oid.to_u32() >= pg_sys::FirstNormalObjectId && is_written_by(oid, b"minlsh_document_out");
    let types = classes_of_method(access_method(), |class| class.opcintype);
    types.into_iter().find(|oid| is_own(*oid)).unwrap_or(Oid::INVALID)
}

/// Calls `read` with each row that a cache of several keys lists for the first key.
///
/// # Safety
/// The cache has rows that begin like `F`, and its first key has the type of `key`.
pub unsafe fn listed<F, T>(cache: pg_sys::SysCacheIdentifier::Type, key: Datum, read: impl Fn(&F) -> T) -> Vec<T> {
    let none = Datum::from(0);
    // SAFETY: the caller promises the cache and its key; the list is released after its members were read.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache as i32, 1, key, none, none);
        let members = (*list).members.as_slice((*list).n_members as usize);
        let form = |member: &*mut pg_sys::CatCTup| read(&*pg_sys::GETSTRUCT(&raw mut (**member).tuple).cast::<F>());
        let found = members.iter().map(form).collect();
        pg_sys::ReleaseCatCacheList(list);
        found
    }
}

/// Calls `read` with each operator class of an access method.
pub fn classes_of_method<T>(method: Oid, read: impl Fn(&pg_sys::FormData_pg_opclass) -> T) -> Vec<T> {
    // SAFETY: this cache lists `pg_opclass` by access method, name and schema.
    unsafe { listed(pg_sys::SysCacheIdentifier::CLAAMNAMENSP, Datum::from(method), read) }
}

/// The relations with this name, in all schemas.
pub fn relations_called(name: &CStr) -> Vec<Oid> {
    let cache = pg_sys::SysCacheIdentifier::RELNAMENSP;
    let oid = |class: &pg_sys::FormData_pg_class| class.oid;
    // SAFETY: this cache lists `pg_class` by name and schema.
    unsafe { listed(cache, Datum::from(name.as_ptr()), oid) }
}
