//! The operator and the functions that a query of an index calls, as expressions over its table.

use pgrx::pg_sys::{self, Oid};

use crate::document::to_bands::Values;
use crate::error::{Result, wrong_state};
use crate::lookup::native::Native;
use crate::pg::expression::{self, Expression, Expressions};

impl Native {
    /// A value like those that are indexed as a document, with the options of the index.
    pub fn document<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        least: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (name, types, arguments) = match self.values {
            Values::Text => {
                let config = &self.settings.config;
                let arguments = vec![
                    expressions.relabelled(value, pg_sys::TEXTOID),
                    least,
                    expressions.int4(i32::try_from(config.shingle_size()).unwrap_or(i32::MAX)),
                    expressions.text(config.unit().as_str()),
                    expressions.text(&config.normalization().to_string()),
                    expressions.text(&config.stop_words().to_string()),
                    expressions.bool(config.bag()),
                ];
                let types = arguments.iter().map(|argument| argument.type_oid()).collect();
                (c"minlsh_document", types, arguments)
            }
            Values::Set => {
                let types = vec![pg_sys::ANYARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_document", types, vec![value, least])
            }
            Values::Signature => {
                let value = expressions.relabelled(value, pg_sys::INT4ARRAYOID);
                let types = vec![pg_sys::INT4ARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_signature", types, vec![value, least])
            }
            Values::Document => return Ok(value),
            Values::Bands => return Err(no_function()),
        };
        let function = expression::function(self.schema, name, &types).ok_or_else(no_function)?;
        Ok(expressions.call(function, self.document, &arguments))
    }

    /// The type of the left operand of `~=`, and the value as one of that type.
    fn operand<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
    ) -> (Oid, Expression<'a>) {
        match self.values {
            Values::Text => (pg_sys::TEXTOID, expressions.relabelled(value, pg_sys::TEXTOID)),
            Values::Document => (self.document, value),
            _ => (pg_sys::ANYARRAYOID, value),
        }
    }

    /// `value ~= document`
    pub fn similar<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let operator = expression::operator(self.schema, c"~=", operand, self.document);
        Ok(expressions.operator(operator.ok_or_else(no_function)?, value, document))
    }

    /// `jaccard(value, document)`
    pub fn similarity<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let types = [operand, self.document];
        let function = expression::function(self.schema, c"jaccard", &types);
        let function = function.ok_or_else(no_function)?;
        Ok(expressions.call(function, pg_sys::FLOAT8OID, &[value, document]))
    }
}

/// The extension's own functions are missing: its scripts are of another version.
pub fn no_function() -> pgrx::pg_sys::panic::ErrorReport {
    wrong_state("the library minlsh does not fit the functions that are installed")
        .set_hint("Bring them up to date with ALTER EXTENSION minlsh UPDATE.")
}
