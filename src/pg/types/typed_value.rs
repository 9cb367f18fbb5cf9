//! Values with their types, valid as long as the row, the memory context or the call that has them, and their use as
//! parameters of queries.

use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::array::{self, ArrayElement};
use crate::pg::memory::Memory;
use crate::pg::type_storage::TypeStorage;
use crate::pg::{catalog, text};

/// A non-null value with its type, valid for `'a`.
#[derive(Clone, Copy)]
pub struct TypedValue<'a> {
    datum: Datum,
    type_oid: Oid,
    life: PhantomData<&'a ()>,
}

impl<'a> TypedValue<'a> {
    /// # Safety
    /// `datum` is a non-null value of type `type_oid`, or of a type stored like it, and valid for `'a`.
    pub unsafe fn new(datum: Datum, type_oid: Oid) -> Self {
        Self { datum, type_oid, life: PhantomData }
    }

    pub fn type_oid(self) -> Oid {
        self.type_oid
    }

    /// The value without its type and its lifetime.
    pub fn datum(self) -> Datum {
        self.datum
    }

    /// True if it is of type `type_oid`, or of a domain over the same base type.
    pub fn is_of(self, type_oid: Oid) -> bool {
        self.type_oid == type_oid || catalog::base_type(self.type_oid) == catalog::base_type(type_oid)
    }

    /// The value, which must be [of](Self::is_of) type `type_oid`.
    pub fn of_type(self, type_oid: Oid) -> Datum {
        assert!(self.is_of(type_oid), "a value is of the type of its column");
        self.datum
    }

    /// An integer of any size, also of a domain.
    pub fn integer(self) -> Option<i64> {
        match catalog::base_type(self.type_oid) {
            pg_sys::INT2OID => Some((self.datum.value() as i16).into()),
            pg_sys::INT4OID => Some((self.datum.value() as i32).into()),
            pg_sys::INT8OID => Some(self.datum.value() as i64),
            _ => None,
        }
    }

    /// A `uuid`, which is passed as a pointer to its 16 bytes.
    pub fn uuid(bytes: &'a [u8; 16]) -> Self {
        Self { datum: Datum::from(bytes.as_ptr()), type_oid: pg_sys::UUIDOID, life: PhantomData }
    }

    /// A `tid`, which is passed as a pointer to it.
    pub fn tid(place: &'a pg_sys::ItemPointerData) -> Self {
        Self { datum: Datum::from(std::ptr::from_ref(place)), type_oid: pg_sys::TIDOID, life: PhantomData }
    }

    /// The elements of an array. The iterator, and what is detoasted, lie in the current memory context.
    pub fn elements(self) -> impl ExactSizeIterator<Item = Option<TypedValue<'a>>> {
        let type_oid = catalog::element_type(catalog::base_type(self.type_oid));
        assert_ne!(type_oid, Oid::INVALID, "an array has elements");
        let typed = move |datum| Self { datum, type_oid, ..self };
        // SAFETY: the type is one of arrays, as was just asserted, and `type_oid` is the type of their elements.
        unsafe { array::each_element(self.datum) }.map(move |element| element.map(typed))
    }

    /// True if a value of the same type is equal to it byte for byte.
    pub fn is_same(self, other: TypedValue) -> bool {
        assert_eq!(self.type_oid, other.type_oid, "two values of one type");
        // SAFETY: both are of this type, as was just asserted.
        unsafe { TypeStorage::of(self.type_oid).same(self.datum, other.datum) }
    }

    /// Copies it into `memory`. The copy does not need a TOAST table.
    pub fn copied(self, memory: &Memory) -> TypedValue<'_> {
        // SAFETY: the value is of this type, as the caller of `new` promises.
        let copy = memory.run(|| unsafe { TypeStorage::of(self.type_oid).copy(self.datum) });
        TypedValue { datum: copy, type_oid: self.type_oid, life: PhantomData }
    }
}

impl TypedValue<'static> {
    /// An integer of type `type_oid`; `None` if it is beyond the type's range, or if that is not a type of integers.
    pub fn of_integer(value: i64, type_oid: Oid) -> Option<Self> {
        let datum = match type_oid {
            pg_sys::INT2OID => i16::try_from(value).ok().map(Datum::from),
            pg_sys::INT4OID => i32::try_from(value).ok().map(Datum::from),
            pg_sys::INT8OID => Some(Datum::from(value)),
            _ => None,
        };
        datum.map(|datum| Self { datum, type_oid, life: PhantomData })
    }

    pub fn int8(value: i64) -> Self {
        Self { datum: Datum::from(value), type_oid: pg_sys::INT8OID, life: PhantomData }
    }

    pub fn float8(value: f64) -> Self {
        Self { datum: Datum::from(value.to_bits()), type_oid: pg_sys::FLOAT8OID, life: PhantomData }
    }

    /// A `timestamp with time zone`, in microseconds since 2000.
    pub fn time(value: i64) -> Self {
        Self { datum: Datum::from(value), type_oid: pg_sys::TIMESTAMPTZOID, life: PhantomData }
    }

    /// A text in the current memory context.
    pub fn text(value: &str) -> Self {
        Self { datum: text::write(value), type_oid: pg_sys::TEXTOID, life: PhantomData }
    }

    /// An array in the current memory context.
    pub fn array<T: ArrayElement>(values: &[T]) -> Self {
        Self { datum: array::write(values), type_oid: catalog::array_of(T::TYPE), life: PhantomData }
    }
}

/// A typed parameter, valid for `'a`; `None` is NULL.
#[derive(Clone, Copy)]
pub struct Parameter<'a> {
    type_oid: Oid,
    value: Option<TypedValue<'a>>,
}

impl<'a> Parameter<'a> {
    /// A parameter of type `type_oid`. Its value must be [of](TypedValue::is_of) this type.
    pub fn new(type_oid: Oid, value: Option<TypedValue<'a>>) -> Self {
        assert!(value.is_none_or(|value| value.is_of(type_oid)), "a parameter is of its type");
        Self { type_oid, value }
    }

    /// NULL, of this type.
    pub fn null(type_oid: Oid) -> Self {
        Self { type_oid, value: None }
    }

    pub fn is_null(&self) -> bool {
        self.value.is_none()
    }

    pub fn type_oid(&self) -> Oid {
        self.type_oid
    }

    pub fn datum(&self) -> Option<Datum> {
        self.value.map(TypedValue::datum)
    }

    /// A `uuid`.
    pub fn uuid(value: Option<&'a [u8; 16]>) -> Self {
        Self { type_oid: pg_sys::UUIDOID, value: value.map(TypedValue::uuid) }
    }
}

/// Arrays are made in the current memory context.
impl Parameter<'static> {
    /// An array of values and NULLs, which must be [of](TypedValue::is_of) type `element`.
    pub fn array<'v>(values: impl Iterator<Item = Option<TypedValue<'v>>>, element: Oid) -> Self {
        let values = values.map(|value| value.map(|value| value.of_type(element)));
        let type_oid = catalog::array_of(element);
        // SAFETY: `of_type` checks that each value has the type, and the array copies it.
        let array = unsafe { TypedValue::new(array::from_elements(values, element), type_oid) };
        Self { type_oid, value: Some(array) }
    }

    /// A `bigint[]`.
    pub fn int8s(values: impl Iterator<Item = Option<i64>>) -> Self {
        Self::array(values.map(|value| value.map(TypedValue::int8)), pg_sys::INT8OID)
    }

    pub fn int8(value: i64) -> Self {
        Self { type_oid: pg_sys::INT8OID, value: Some(TypedValue::int8(value)) }
    }

    pub fn float8(value: f64) -> Self {
        Self { type_oid: pg_sys::FLOAT8OID, value: Some(TypedValue::float8(value)) }
    }
}

/// Converts parameters for the executor.
pub(in crate::pg) fn parameter_list(values: &[Parameter]) -> pg_sys::ParamListInfo {
    if values.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: the list is allocated with an entry for each value.
    unsafe {
        let list = pg_sys::makeParamList(values.len() as i32);
        let entries = (*list).params.as_mut_slice(values.len());
        for (entry, parameter) in entries.iter_mut().zip(values) {
            entry.value = parameter.datum().unwrap_or(Datum::from(0));
            entry.isnull = parameter.is_null();
            entry.pflags = pg_sys::PARAM_FLAG_CONST as u16;
            entry.ptype = parameter.type_oid;
        }
        list
    }
}
