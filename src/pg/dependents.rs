//! What the catalog says depends on what.

use pgrx::pg_sys::{self, Datum, Oid};

/// `pg_depend`, which is not among pgrx's bindings.
const CATALOG: u32 = 2608;
/// `pg_depend_reference_index`
const BY_REFERENCED: u32 = 2674;
const REFERENCED_CLASS: i16 = 4;
const REFERENCED_OBJECT: i16 = 5;

/// The first columns of `pg_depend`.
#[repr(C)]
struct Dependency {
    class: Oid,
    object: Oid,
}

/// The relations that depend on the operator classes of an access method whose input type `wanted`
/// accepts: indexes that use one.
pub fn indexes_of_method(method: Oid, wanted: impl Fn(Oid) -> bool) -> Vec<Oid> {
    let mut indexes = Vec::new();
    for (class, input_type) in classes(method) {
        if wanted(input_type) {
            dependents(pg_sys::OperatorClassRelationId, class, &mut indexes);
        }
    }
    indexes.sort_unstable_by_key(|index| index.to_u32());
    indexes.dedup();
    indexes
}

/// The operator classes of an access method, with their input types.
fn classes(method: Oid) -> Vec<(Oid, Oid)> {
    let cache = pg_sys::SysCacheIdentifier::CLAAMNAMENSP as i32;
    let none = Datum::from(0);
    // SAFETY: a list of the system cache, given back after its members were read.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, 1, Datum::from(method), none, none);
        let members = (*list).members.as_slice((*list).n_members as usize);
        let found = members
            .iter()
            .map(|member| {
                let form = pg_sys::GETSTRUCT(&raw mut (**member).tuple);
                let class = &*form.cast::<pg_sys::FormData_pg_opclass>();
                (class.oid, class.opcintype)
            })
            .collect();
        pg_sys::ReleaseCatCacheList(list);
        found
    }
}

/// Appends the relations that depend on an object.
fn dependents(class: Oid, object: Oid, found: &mut Vec<Oid>) {
    // SAFETY: a scan of a catalog by its index, closed after the last row was read.
    unsafe {
        let lock = pg_sys::AccessShareLock as i32;
        let catalog = pg_sys::table_open(Oid::from(CATALOG), lock);
        let mut keys = [pg_sys::ScanKeyData::default(); 2];
        for (key, (column, value)) in
            keys.iter_mut().zip([(REFERENCED_CLASS, class), (REFERENCED_OBJECT, object)])
        {
            pg_sys::ScanKeyInit(
                key,
                column,
                pg_sys::BTEqualStrategyNumber as u16,
                pg_sys::F_OIDEQ.into(),
                Datum::from(value),
            );
        }
        let scan = pg_sys::systable_beginscan(
            catalog,
            Oid::from(BY_REFERENCED),
            true,
            std::ptr::null_mut(),
            2,
            keys.as_mut_ptr(),
        );
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let row = &*pg_sys::GETSTRUCT(tuple).cast::<Dependency>();
            if row.class == pg_sys::RelationRelationId {
                found.push(row.object);
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
    }
}
