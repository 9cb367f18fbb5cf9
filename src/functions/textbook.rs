//! `minhash_with()`: signatures under hash functions that the caller chooses.

use pgrx::pg_sys::{self, Datum};
use sketch::{LinearFunctions, memory};

use super::checkpoint;
use crate::error::{Result, engine};
use crate::pg::array;
use crate::pg::call::{Call, sql_function};

sql_function!(minlsh_minhash_with, minhash_with);

/// `minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) → integer[]`
fn minhash_with(call: &Call) -> Result<Option<Datum>> {
    let (Some(elements), Some(a), Some(b), Some(p)) =
        (call.datum(0), call.datum(1), call.datum(2), call.int8(3))
    else {
        return Ok(None);
    };
    // SAFETY: all three are declared bigint[].
    let (elements, a, b) = unsafe {
        (array::elements(elements, pg_sys::INT8OID)?, array::read_int8(a)?, array::read_int8(b)?)
    };
    let functions = LinearFunctions::new(a, b, p).map_err(engine)?;
    let rows = elements.into_iter().map(|element| element.value() as i64);
    let rows = memory::collect(rows).map_err(engine)?;
    let signature = functions.minhash(&rows, &mut checkpoint).map_err(engine)?;
    Ok(signature.map(|signature| array::write_int4(&signature)))
}
