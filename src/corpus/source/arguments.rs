//! The arguments that all whole-corpus functions share.

use std::borrow::Cow;
use std::ffi::{CStr, CString};

use sketch::Config;

use crate::error::LONGEST_MESSAGE;
use crate::options::{Options, Threshold, Verify};
use crate::pg::call::Extension;
use crate::prelude::*;

/// The arguments of a call by their names, which mean the same in all whole-corpus functions.
pub struct Arguments {
    /// Those that are not NULL.
    values: Vec<(String, Datum)>,
    /// The extension; none where no value can be of its types.
    pub extension: Extension,
}

const OPTIONS: [&str; 8] =
    ["shingle_size", "unit", "normalization", "stop_words", "bag", "num_perm", "scheme", "seed"];

/// The most bytes of an argument in a statement that is suggested.
const LONGEST_ARGUMENT: usize = 8 << 10;

impl Arguments {
    pub fn new(values: &[(&str, Datum)]) -> Self {
        let values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { values, extension: Extension::default() }
    }

    pub fn of(call: &Call) -> Self {
        Self::read(call, |place| call.datum(place))
    }

    /// Those of `call`, whose values `read` gives by their places.
    pub fn read(call: &Call, read: impl Fn(usize) -> Option<Datum>) -> Self {
        let names = call.argument_names().into_iter().enumerate();
        let values = names.filter_map(|(place, name)| read(place).map(|value| (name, value)));
        Self { values: values.collect(), extension: call.extension() }
    }

    /// An argument as it is; `None` if it is NULL, or if the function does not have it.
    pub fn raw(&self, name: &str) -> Option<Datum> {
        self.values.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.raw(name).is_some())
    }

    /// An argument of type text as UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<&str>> {
        // SAFETY: callers ask for names that `sql/minlsh.sql` gives to texts alone.
        self.raw(name).map(|datum| unsafe { text::read(datum) }).transpose()
    }

    /// An argument of type text as messages and suggestions show it.
    pub fn shown(&self, name: &str) -> Option<String> {
        // SAFETY: callers ask for names that `sql/minlsh.sql` gives to texts alone.
        self.raw(name).map(|value| text::beginning(unsafe { bytes::read(value) }, LONGEST_ARGUMENT))
    }

    pub fn int4(&self, name: &str) -> Option<i32> {
        self.raw(name).map(|datum| datum.value() as i32)
    }

    pub fn int8(&self, name: &str) -> Option<i64> {
        self.raw(name).map(|datum| datum.value() as i64)
    }

    pub fn float8(&self, name: &str) -> Option<f64> {
        self.raw(name).map(|datum| f64::from_bits(datum.value() as u64))
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
        self.text("verify")?.map_or(Ok(Verify::Exact), named)
    }

    pub fn threshold(&self) -> Result<Option<Threshold>> {
        Ok(self.float8("threshold").map(Threshold::new).transpose()?)
    }

    /// The recall, if one was passed. Where a column of the result has that name, it has another.
    pub fn recall(&self) -> Option<f64> {
        self.float8("recall").or_else(|| self.float8("wanted_recall"))
    }

    pub fn has_options(&self) -> bool {
        self.has(&OPTIONS)
    }

    /// The options of signatures: those that were passed, and the rest as `default` has them.
    pub fn config(&self, default: Option<&Config>) -> Result<Config> {
        if let (Some(config), false) = (default, self.has_options()) {
            return Ok(config.clone());
        }
        let default = default.map_or_else(Options::default, Options::of);
        let [shingle_size, unit, normalization, stop_words, bag, num_perm, scheme, seed] = OPTIONS;
        let text = |name, default| -> Result<Cow<str>> {
            Ok(self.text(name)?.map_or(default, Cow::Borrowed))
        };
        Options {
            shingle_size: self.int4(shingle_size).unwrap_or(default.shingle_size),
            unit: text(unit, default.unit)?,
            normalization: text(normalization, default.normalization)?,
            stop_words: text(stop_words, default.stop_words)?,
            bag: self.raw(bag).map_or(default.bag, |bag| bag.value() as u8 != 0),
            num_perm: self.int4(num_perm).unwrap_or(default.num_perm),
            scheme: text(scheme, default.scheme)?,
            seed: self.int8(seed).unwrap_or(default.seed),
        }
        .config()
    }
}

/// A text in the database's encoding.
pub fn raw_text(datum: Datum) -> Result<CString> {
    // SAFETY: callers pass arguments that `sql/minlsh.sql` declares a text.
    text::c_string(unsafe { bytes::read(datum) })
}

/// Bytes of the database's encoding as a message shows them.
pub fn label(name: &CStr) -> String {
    text::beginning(name.to_bytes(), LONGEST_MESSAGE)
}
