//! `minhash_with()`: signatures under hash functions that the caller chooses.

use pgrx::pg_sys::Datum;
use sketch::LinearFunctions;

use crate::error::{Result, engine};
use crate::pg::array;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;

sql_function!(minlsh_minhash_with, minhash_with);

/// `minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) → integer[]`
fn minhash_with(call: &Call) -> Result<Option<Datum>> {
    let (Some(elements), Some(a), Some(b), Some(p)) =
        (call.bigints(0)?, call.int8_array(1)?, call.int8_array(2)?, call.int8(3))
    else {
        return Ok(None);
    };
    let functions = LinearFunctions::new(a, b, p).map_err(engine)?;
    let signature = functions.minhash(&elements, &mut check_interrupts).map_err(engine)?;
    Ok(signature.map(|signature| array::write_int4(&signature)))
}
