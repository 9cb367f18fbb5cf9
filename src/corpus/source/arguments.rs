//! The arguments that all whole-corpus functions share.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::Datum;
use sketch::{Banding, Config};

use crate::corpus::source::reader::Reader;
use crate::error::Result;
use crate::extension::Extension;
use crate::options::{Options, Threshold, Verify};
use crate::pg::bytes;
use crate::pg::call::Call;
use crate::pg::text;

/// The positions of the arguments in a call. From `options` on all functions have the same ones:
/// shingle_size, unit, normalization, stop_words, bag, num_perm, scheme, seed, recall, and behind them some have
/// `boilerplate` and `apart`. Where there are sources, body, key_column and scope stand before them. Jobs of passages
/// have options of their own, and another number in the place of the threshold.
#[derive(Clone, Copy)]
pub struct Positions {
    pub threshold: usize,
    pub verify: usize,
    pub options: usize,
}

/// The number of options.
const OPTIONS: usize = 9;

/// The arguments of a call, each of the type that its place says.
pub struct Arguments {
    values: Vec<Option<Datum>>,
    positions: Positions,
    /// The extension; none where no value can be of its types.
    pub extension: Extension,
}

impl Arguments {
    /// Arguments, `None` for NULL.
    pub fn new(values: Vec<Option<Datum>>, positions: Positions) -> Self {
        Self { values, positions, extension: Extension::default() }
    }

    /// Those of `call`.
    pub fn of(call: &Call, positions: Positions) -> Self {
        let values = (0..call.count()).map(|place| call.datum(place)).collect();
        Self { extension: Extension::of(call), ..Self::new(values, positions) }
    }

    /// An argument as it is.
    pub fn raw(&self, place: usize) -> Option<Datum> {
        self.values.get(place).copied().flatten()
    }

    /// `body`: the column of the documents.
    pub fn body(&self) -> Option<Datum> {
        self.raw(self.positions.options - 3)
    }

    /// `key_column`: the column of the keys.
    pub fn key_column(&self) -> Option<Datum> {
        self.raw(self.positions.options - 2)
    }

    /// `scope`: the column within whose equal values documents are compared.
    pub fn scope(&self) -> Option<Datum> {
        self.raw(self.positions.options - 1)
    }

    /// `boilerplate`: the column that says where a document comes from.
    pub fn boilerplate(&self) -> Option<Datum> {
        self.raw(self.positions.options + OPTIONS)
    }

    /// `apart`: the pairs that count as not similar.
    pub fn apart(&self) -> Option<Datum> {
        self.raw(self.positions.options + OPTIONS + 1)
    }

    /// An argument of type text as UTF-8.
    pub fn text(&self, place: usize) -> Result<Option<&str>> {
        // SAFETY: callers ask at places where `sql/minlsh.sql` declares the argument a text.
        self.raw(place).map(|datum| unsafe { text::read(datum) }).transpose()
    }

    fn int4(&self, place: usize) -> Option<i32> {
        self.raw(place).map(|datum| datum.value() as i32)
    }

    fn float8(&self, place: usize) -> Option<f64> {
        self.raw(place).map(|datum| f64::from_bits(datum.value() as u64))
    }

    /// `verify`; NULL is the default.
    pub fn verify(&self) -> Result<Verify> {
        // The place behind the threshold is where a column's name goes astray.
        let named = |name: &str| {
            Verify::named(name).map_err(|wrong| {
                wrong.set_hint(
                    "Pass \"exact\" or \"signature\". Pass arguments after the threshold by name, such as \
                     key_column => 'id' or body => 'title'.",
                )
            })
        };
        self.text(self.positions.verify)?.map_or(Ok(Verify::Exact), named)
    }

    /// The threshold, if one was passed.
    pub fn threshold(&self) -> Result<Option<Threshold>> {
        self.float8(self.positions.threshold).map(Threshold::new).transpose()
    }

    /// The recall, if one was passed.
    pub fn recall(&self) -> Option<f64> {
        self.float8(self.positions.options + 8)
    }

    /// True if an option of signatures was passed.
    pub fn has_options(&self) -> bool {
        (self.positions.options..self.positions.options + 8).any(|place| self.raw(place).is_some())
    }

    /// The options of signatures: those that were passed, and the rest as `default` has them.
    pub fn config(&self, default: Option<&Config>) -> Result<Config> {
        if let (Some(config), false) = (default, self.has_options()) {
            return Ok(config.clone());
        }
        let mut options = default.map_or_else(Options::default, Options::of);
        let first = self.positions.options;
        if let Some(shingle_size) = self.int4(first) {
            options.shingle_size = shingle_size;
        }
        if let Some(unit) = self.text(first + 1)? {
            options.unit = unit.into();
        }
        if let Some(normalization) = self.text(first + 2)? {
            options.normalization = normalization.into();
        }
        if let Some(stop_words) = self.text(first + 3)? {
            options.stop_words = stop_words.into();
        }
        if let Some(bag) = self.raw(first + 4) {
            options.bag = bag.value() as u8 != 0;
        }
        if let Some(num_perm) = self.int4(first + 5) {
            options.num_perm = num_perm;
        }
        if let Some(scheme) = self.text(first + 6)? {
            options.scheme = scheme.into();
        }
        if let Some(seed) = self.raw(first + 7) {
            options.seed = seed.value() as i64;
        }
        options.config()
    }
}

/// The criteria by which documents are signed, banded and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    pub reader: Reader,
    pub verify: Verify,
    pub threshold: Threshold,
    /// The share of the pairs at the threshold that must be found.
    pub recall: f64,
    pub config: Config,
    /// The bands by which documents meet.
    pub banding: Banding,
}

/// A text in the database's encoding.
pub fn raw_text(datum: Datum) -> CString {
    // SAFETY: callers pass arguments that `sql/minlsh.sql` declares a text.
    CString::new(unsafe { bytes::read(datum) }).unwrap_or_default()
}

/// Bytes of the database's encoding as a message shows them.
pub fn label(name: &CStr) -> String {
    name.to_string_lossy().into_owned()
}
