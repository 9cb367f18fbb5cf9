//! Names that most modules use. The wrappers of PostgreSQL (`pg/`) do not use it.

pub(crate) use pgrx::pg_guard;
pub(crate) use pgrx::pg_sys::{self, Datum, Oid};
pub(crate) use pgrx::prelude::PgSqlErrorCode;
pub(crate) use sketch::{Check, memory};

pub(crate) use crate::error::{
    Result, SqlError, beyond_setting, damaged_index, error, in_use, invalid_parameter, limit_exceeded, not_supported,
    notice, null_not_allowed, raise, retry_later, shortened, type_mismatch, undefined_column, undefined_function,
    undefined_object, undefined_table, warning, wrong_object, wrong_state, wrong_syntax,
};
pub(crate) use crate::pg::call::{Call, Strict, float8_datum, sql_function};
pub(crate) use crate::pg::document_keys::DocumentKeys;
pub(crate) use crate::pg::guc::LocalSettings;
pub(crate) use crate::pg::memory::Memory;
pub(crate) use crate::pg::names::{literal, quoted, regclass_literal, relation_name, type_label, visible_name};
pub(crate) use crate::pg::open::Open;
pub(crate) use crate::pg::relation::{Lock, Relation};
pub(crate) use crate::pg::reserve::{answer, check_interrupts};
pub(crate) use crate::pg::result_rows::{ResultRows, result_row, set_function};
pub(crate) use crate::pg::rights::no_such_relation;
pub(crate) use crate::pg::row::{Continue, Row};
pub(crate) use crate::pg::snapshot::Snapshot;
pub(crate) use crate::pg::spi::Session;
pub(crate) use crate::pg::sql::Sql;
pub(crate) use crate::pg::typed_value::{Parameter, TypedValue};
pub(crate) use crate::pg::{array, bytes, catalog, element, lossless, text, versions};
