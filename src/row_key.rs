//! Keys: the column that names a document, and the conversion of a user's `doc_id` to its value.

use crate::pg::catalog::AttributeRow;
use crate::pg::catching::catching;
use crate::pg::foreign_code;
use crate::pg::index::Index;
use crate::pg::names::type_label;
use crate::pg::value_type::Output;
use crate::prelude::*;

/// A column whose value names a row, as its unique index ensures.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table.
    pub table: Oid,
    /// The number of the column.
    pub column: i16,
    /// Its type, or a domain's base type.
    pub base_type: Oid,
    /// The input type of the index's operator class, and the equality of its operator family.
    input_type: Oid,
    equals: Oid,
    collation: Oid,
}

/// The reasons why a table has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The primary key has several columns.
    Composite,
    /// It has no unique index on one NOT NULL column.
    Missing,
}

impl NoKey {
    /// Explains why the table named `table` has no key.
    pub fn message(self, table: &str) -> String {
        match self {
            Self::Composite => format!("the primary key of table \"{table}\" has several columns"),
            Self::Missing => format!("table \"{table}\" has no key of one column"),
        }
    }
}

impl Key {
    /// The key of a table. It is the primary key if that is one column, else the first unique NOT NULL column other
    /// than the documents'. A column of a materialized view cannot be NOT NULL, so unique is enough.
    pub fn of_table(table: Oid, kind: u8, document: i16) -> Result<Self, NoKey> {
        let mut indexes = Index::of_table(table);
        let column = |index: &Index| index.columns.first().map(|column| column.attribute);
        indexes.sort_by_key(|index| (!index.primary, column(index)));
        let key = |index: &Index| {
            let key = Self::of_index(index, kind == b'm').filter(|_| index.valid)?;
            (index.primary || key.column != document).then_some(key)
        };
        indexes.iter().find_map(key).ok_or_else(|| {
            let composite = |index: &Index| index.primary && index.columns.len() > 1;
            if indexes.iter().any(composite) { NoKey::Composite } else { NoKey::Missing }
        })
    }

    /// The key that a column is by its own unique index.
    pub fn of_column(table: Oid, column: i16) -> Option<Self> {
        let keys = Index::of_table(table);
        let mut keys = keys.iter().filter_map(|index| Self::of_index(index, true));
        keys.find(|key| key.column == column)
    }

    /// The key that a unique index on one column makes. The column must be NOT NULL unless `allows_nulls`.
    fn of_index(index: &Index, allows_nulls: bool) -> Option<Self> {
        let [column] = index.columns[..] else { return None };
        let is_btree = index.method == pg_sys::BTREE_AM_OID;
        if !index.unique || index.partial || !is_btree || column.attribute <= 0 {
            return None;
        }
        let attribute = AttributeRow::of_column(index.table, column.attribute)?;
        let (input, equal) = (column.input_type, pg_sys::BTEqualStrategyNumber as i16);
        let equals = catalog::operator_of_family(column.family, input, input, equal);
        let is_key = attribute.attnotnull || allows_nulls;
        (equals != Oid::INVALID && is_key).then(|| Self {
            table: index.table,
            column: column.attribute,
            base_type: catalog::base_type(attribute.atttypid),
            input_type: input,
            equals,
            collation: column.collation,
        })
    }

    /// `key = parameter number`, for the key in `column`. The parameter has the key's base type.
    pub fn equals(&self, column: Sql, number: usize) -> Sql {
        let (column, input) = self.operand(column);
        let given = Sql::new(format!("${number}"));
        let given = if input == self.base_type { given } else { given.cast(input) };
        column.operator(self.equals).text(given)
    }

    /// The array type for keys. Keys that are arrays have no array type: their texts are used.
    pub fn array_type(&self) -> Oid {
        match catalog::array_of(self.base_type) {
            Oid::INVALID => pg_sys::TEXTARRAYOID,
            array => array,
        }
    }

    /// An array of keys, of [`Key::array_type`].
    pub fn array(&self, keys: &[KeyValue]) -> Parameter {
        let is_text = catalog::array_of(self.base_type) == Oid::INVALID;
        let element = if is_text { pg_sys::TEXTOID } else { self.base_type };
        let value = |key: &KeyValue| if is_text { key.to_text() } else { self.datum(*key) };
        // SAFETY: the elements are texts, or values of the key's base type, as `datum` checks.
        unsafe { Parameter::array(keys.iter().map(|key| Some(value(key))), element) }
    }

    /// The value of `key`, which must have this key's type.
    pub fn datum(&self, key: KeyValue) -> Datum {
        assert_eq!(key.base_type, self.base_type, "a key is of the type of its column");
        key.datum
    }

    /// `key = ANY (parameter number)`, for the key in `column`. The parameter is an [array](Key::array) of keys.
    pub fn is_among(&self, column: Sql, number: usize) -> Sql {
        let given = Sql::new(format!("${number}"));
        if catalog::array_of(self.base_type) == Oid::INVALID {
            // By the output function of the type, regardless of casts.
            let text = Sql::new("pg_catalog.format('%s', ").text(column).text(")");
            return text.text(" OPERATOR(pg_catalog.=) ANY (").text(given).text(")");
        }
        let (column, input) = self.operand(column);
        let is_same = input == self.base_type;
        let given = if is_same { given } else { given.cast(catalog::array_of(input)) };
        column.operator(self.equals).text("ANY (").text(given).text(")")
    }

    /// The key cast for its equality operator, and the type of the cast.
    fn operand(&self, column: Sql) -> (Sql, Oid) {
        let attribute = AttributeRow::of_column(self.table, self.column);
        let (is, collation) = attribute.map_or((Oid::INVALID, Oid::INVALID), |row| (row.atttypid, row.attcollation));
        // An operator class for anyarray, anyenum, record and the like takes values without a cast.
        let polymorphic = catalog::type_kind(self.input_type) == b'p';
        let input = if polymorphic { self.base_type } else { self.input_type };
        let column = if is == input { column } else { column.cast(input) };
        let is_same = collation == self.collation;
        (if is_same { column } else { column.collated(self.collation) }, input)
    }

    /// The column, by its name.
    pub fn name(&self) -> Sql {
        Sql::default().column(self.table, self.column)
    }

    /// The collation of its index, which may differ from the column's. Invalid if the type has no collations.
    pub fn collation(&self) -> Oid {
        self.collation
    }

    /// A value of the key as a parameter of a query.
    pub fn parameter(&self, key: KeyValue) -> Parameter {
        // SAFETY: `datum` checks the type, and the caller of [`KeyValue::new`] promises that the value lives as long as
        // what is made of it.
        unsafe { Parameter::new(self.base_type, Some(self.datum(key))) }
    }
}

/// A non-null value of a key, with its type.
#[derive(Clone, Copy)]
pub struct KeyValue {
    datum: Datum,
    base_type: Oid,
}

impl KeyValue {
    /// # Safety
    /// `datum` is a non-null value of type `base_type`, and lives as long as what is made of this.
    pub unsafe fn new(datum: Datum, base_type: Oid) -> Self {
        Self { datum, base_type }
    }

    /// The value as a text, by the output function of its type; a `char(n)` without its padding.
    pub fn to_text(self) -> Datum {
        // SAFETY: the caller of `new` promises a value of this type.
        unsafe { Output::of(self.base_type).text(self.datum) }
    }

    /// The value, for messages.
    pub fn shown(self) -> String {
        // SAFETY: the caller of `new` promises a value of this type.
        unsafe { Output::of(self.base_type).shown(self.datum) }
    }

    /// The value as a result of type `type_oid`.
    pub fn as_result(self, type_oid: Oid) -> Datum {
        if catalog::base_type(type_oid) == self.base_type {
            return self.datum;
        }
        match integer(self.datum, self.base_type) {
            Some(number) if type_oid == pg_sys::INT8OID => Datum::from(number),
            _ => self.to_text(),
        }
    }
}

/// `left = right` by the equality of their type; `None` if it has none.
pub fn equal(type_oid: Oid, left: Sql, right: Sql) -> Option<Sql> {
    let (mut input, mut other) = (Oid::INVALID, Oid::INVALID);
    let operator = catalog::equality_of(type_oid);
    if operator == Oid::INVALID {
        return None;
    }
    // SAFETY: a look-up in the system caches, whose results go to local variables.
    unsafe { pg_sys::op_input_types(operator, &mut input, &mut other) };
    let as_is = input == type_oid || catalog::type_kind(input) == b'p';
    let typed = |value: Sql| if as_is { value } else { value.cast(input) };
    Some(typed(left).operator(operator).text(typed(right)))
}

/// Reads an argument as a value of the key's base type. `None` for NULL and for an integer beyond the key's range,
/// which no document has as its key. `index` is named in errors.
pub fn argument(call: &Call, argument: usize, base_type: Oid, index: &str) -> Result<Option<KeyValue>> {
    let Some(datum) = call.datum(argument) else { return Ok(None) };
    let given = catalog::base_type(call.argument_type(argument));
    // SAFETY: each caller below passes a value of this type, which lives as long as the call.
    let key = |datum| unsafe { KeyValue::new(datum, base_type) };
    if given == base_type {
        return Ok(Some(key(datum)));
    }
    if let (Some(value), true) = (integer(datum, given), integer(datum, base_type).is_some()) {
        return Ok(from_integer(value, base_type).map(key));
    }
    if given == pg_sys::TEXTOID {
        // SAFETY: the call has the type of the argument, which was just compared with text.
        return Ok(Some(key(unsafe { from_text(datum, base_type, STORED) }?)));
    }
    let mismatch = type_mismatch(format!(
        "the key of \"{index}\" is of type {}, not {}",
        type_label(base_type),
        type_label(given)
    ))
    .set_hint(format!("Pass a value of type {}, or its text in quotes without a cast.", type_label(base_type)));
    Err(match integer(datum, given) {
        Some(_) => mismatch.set_detail(format!(
            "Integer keys are returned as bigint, which cannot represent every {}.",
            type_label(base_type)
        )),
        None => mismatch,
    })
}

fn integer(datum: Datum, type_oid: Oid) -> Option<i64> {
    match type_oid {
        pg_sys::INT2OID => Some((datum.value() as i16).into()),
        pg_sys::INT4OID => Some((datum.value() as i32).into()),
        pg_sys::INT8OID => Some(datum.value() as i64),
        _ => None,
    }
}

fn from_integer(value: i64, key: Oid) -> Option<Datum> {
    match key {
        pg_sys::INT2OID => i16::try_from(value).ok().map(Datum::from),
        pg_sys::INT4OID => i32::try_from(value).ok().map(Datum::from),
        _ => Some(Datum::from(value)),
    }
}

/// A HINT about the keys of lookups.
pub const STORED: &str =
    "Pass the key of a stored document, or use near_duplicates_of() for a text that is not stored.";

/// Reads a string as a literal of the key's base type. The error is the type's own, with `hint`.
///
/// # Safety
/// `given` is a non-null `text`.
pub unsafe fn from_text(given: Datum, base_type: Oid, hint: &str) -> Result<Datum> {
    // SAFETY: the caller promises a non-null text.
    unsafe { value_from_text(given, base_type, "the key", hint) }
}

/// Reads a string as a literal of `base_type`; errors name `what`.
///
/// # Safety
/// `given` is a non-null `text`.
pub unsafe fn value_from_text(given: Datum, base_type: Oid, what: &str, hint: &str) -> Result<Datum> {
    foreign_code::check_type(base_type, what)?;
    catching(|| {
        let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
        // SAFETY: `check_type` found the type, so it has its input function, which gets a C string made of the caller's
        // text.
        unsafe {
            let string = pg_sys::text_to_cstring(given.cast_mut_ptr());
            pg_sys::getTypeInputInfo(base_type, &mut input, &mut parameter);
            pg_sys::OidInputFunctionCall(input, string, parameter, -1)
        }
    })
    .map_err(|cause| cause.or_hint(hint))
}
