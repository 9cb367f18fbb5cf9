//! Keys: the column that names a document, and the conversion of a user's `doc_id` to its value.

use crate::pg::catalog::AttributeRow;
use crate::pg::catching::catching;
use crate::pg::foreign_code;
use crate::pg::index::Index;
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
    pub fn array(&self, keys: &[TypedValue]) -> Parameter<'static> {
        let is_text = catalog::array_of(self.base_type) == Oid::INVALID;
        let element = if is_text { pg_sys::TEXTOID } else { self.base_type };
        Parameter::array(keys.iter().map(|key| Some(if is_text { key.to_text() } else { *key })), element)
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
    pub fn parameter<'a>(&self, key: TypedValue<'a>) -> Parameter<'a> {
        Parameter::new(self.base_type, Some(key))
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
pub fn argument<'c>(call: &'c Call, argument: usize, base_type: Oid, index: &str) -> Result<Option<TypedValue<'c>>> {
    let Some(value) = call.value(argument) else { return Ok(None) };
    let (given, number) = (value.type_oid(), value.integer());
    if given == base_type {
        return Ok(Some(value));
    }
    if let (Some(number), pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID) = (number, base_type) {
        return Ok(TypedValue::of_integer(number, base_type));
    }
    if given == pg_sys::TEXTOID {
        return converted(value, base_type, KEY, STORED).map(Some);
    }
    let mismatch = type_mismatch(format!(
        "the key of \"{index}\" is of type {}, not {}",
        type_label(base_type),
        type_label(given)
    ))
    .set_hint(format!("Pass a value of type {}, or its text in quotes without a cast.", type_label(base_type)));
    Err(match number {
        Some(_) => mismatch.set_detail(format!(
            "Integer keys are returned as bigint, which cannot represent every {}.",
            type_label(base_type)
        )),
        None => mismatch,
    })
}

/// A HINT about the keys of lookups.
pub const STORED: &str =
    "Pass the key of a stored document, or use near_duplicates_of() for a text that is not stored.";

/// The name of a key in errors.
pub const KEY: &str = "the key";

/// Converts a value to `base_type`, unless it is of that type: reads its text as a literal, in the current memory
/// context. Errors name `what`, and an error of the type's input function gets `hint`.
pub fn converted<'a>(value: TypedValue<'a>, base_type: Oid, what: &str, hint: &str) -> Result<TypedValue<'a>> {
    if value.is_of(base_type) {
        return Ok(value);
    }
    Output::of(value.type_oid()).with_bytes(value, |string| {
        foreign_code::check_type(base_type, what)?;
        let read = || {
            let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
            // SAFETY: `check_type` found the type, so it has its input function. That gets a C string, and returns a
            // value of this type in the current memory context.
            unsafe {
                pg_sys::getTypeInputInfo(base_type, &mut input, &mut parameter);
                let read = pg_sys::OidInputFunctionCall(input, string.as_ptr().cast_mut(), parameter, -1);
                TypedValue::new(read, base_type)
            }
        };
        catching(read).map_err(|cause| cause.or_hint(hint))
    })
}
