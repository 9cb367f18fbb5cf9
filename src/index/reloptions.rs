//! Storage parameters, which a user sets WITH an index.
//!
//! `amoptions` cannot know whether it reads the parameters of CREATE INDEX or ALTER INDEX SET. Entries made with other
//! options are useless, so the build stores its options ([`stored_options`](crate::index::stored_options)). What ALTER
//! INDEX sets waits for REINDEX, like fillfactor.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::mem::offset_of;

use sketch::{
    DEFAULT_MIN_MATCH, DEFAULT_NUM_PERM, DEFAULT_RECALL, MAX_MIN_MATCH, MAX_NUM_PERM, MAX_SHINGLE_SIZE, MIN_MIN_MATCH,
};

use crate::document::constructors::KnownParts;
use crate::document::image::Content;
use crate::document::kind::Kind;
use crate::index::minlsh_index::MinlshIndex;
use crate::options::{IndexOptions, Options, Threshold};
use crate::prelude::*;

/// Valid values of a storage parameter.
enum Values {
    /// Integers: default, minimum and maximum.
    Integer(i32, i32, i32),
    /// Numbers from 0 to 1: default.
    Share(f64),
    Flag(bool),
    Text,
}

use Values::{Flag, Integer, Share, Text};

/// The parameters besides nbtree's, each with its field and its values.
macro_rules! parameters {
    ($($name:literal $field:ident: $type:ty = $values:expr;)*) => {
        /// `rd_options` of an index: nbtree's fields, then minlsh's. A string is an offset from the start, or 0. Only
        /// `amoptions` makes these, with the strings behind them.
        #[repr(C)]
        struct Parameters {
            btree: pg_sys::BTOptions,
            $($field: $type,)*
        }

        /// All storage parameters: name, offset and values.
        const ALL: &[(&CStr, usize, Values)] = &[
            (c"fillfactor", offset_of!(Parameters, btree.fillfactor), Integer(90, 10, 100)),
            (c"deduplicate_items", offset_of!(Parameters, btree.deduplicate_items), Flag(true)),
            $(($name, offset_of!(Parameters, $field), $values),)*
        ];
    };
}

parameters! {
    c"threshold" threshold: f64 = Share(UNSPECIFIED_SHARE);
    c"recall" recall: f64 = Share(DEFAULT_RECALL);
    c"num_perm" num_perm: i32 = Integer(DEFAULT_NUM_PERM as i32, 1, MAX_NUM_PERM as i32);
    c"shingle_size" shingle_size: i32 = Integer(UNSPECIFIED, 1, MAX_SHINGLE_SIZE as i32);
    c"min_match" min_match: i32 = Integer(UNSPECIFIED, MIN_MIN_MATCH as i32, MAX_MIN_MATCH as i32);
    c"scheme" scheme: i32 = Text;
    c"seed" seed: i32 = Text;
    c"unit" unit: i32 = Text;
    c"normalization" normalization: i32 = Text;
    c"stop_words" stop_words: i32 = Text;
    c"bag" bag: bool = Flag(false);
}

impl Parameters {
    fn text<'a>(&'a self, offset: i32, default: &'a str) -> Result<Cow<'a, str>> {
        if offset == 0 {
            return Ok(default.into());
        }
        // SAFETY: `amoptions` made these, with their strings behind them, each with a NUL at its end.
        let value = unsafe { CStr::from_ptr(std::ptr::from_ref(self).cast::<c_char>().add(offset as usize)) };
        lossless::decode(value.to_bytes())
    }

    /// The options of an index of passages: only `min_match` and normalization.
    fn of_passages(&self) -> Result<IndexOptions> {
        let by_default = Defaults::default();
        let (steps, options) = (self.text(self.normalization, "")?, self.options(&by_default)?);
        let default = IndexOptions::by_default()?;
        let config = default.config.clone().with_normalization(options.config.normalization().clone());
        if options != (IndexOptions { config: config?, ..default }) {
            return Err(invalid_parameter("an index of passages has no signatures")
                .set_hint("Use only min_match, normalization, fillfactor and deduplicate_items."));
        }
        let min_match = match self.min_match {
            UNSPECIFIED => DEFAULT_MIN_MATCH as i64,
            specified => specified.into(),
        };
        IndexOptions::of_passages(min_match, if steps.is_empty() { "plain" } else { &steps })
    }

    /// The options of an index of documents, with defaults from `by_default`.
    fn options(&self, by_default: &Defaults) -> Result<IndexOptions> {
        let default = &by_default.options;
        let options = Options {
            scheme: self.text(self.scheme, &default.scheme)?,
            num_perm: self.num_perm,
            unit: as_written(self.text(self.unit, &default.unit)?),
            shingle_size: match self.shingle_size {
                UNSPECIFIED => default.shingle_size,
                specified => specified,
            },
            seed: parse_seed(&self.text(self.seed, "0")?)?,
            normalization: self.text(self.normalization, &default.normalization)?,
            stop_words: self.text(self.stop_words, &default.stop_words)?,
            bag: self.bag || default.bag,
        };
        let threshold = match self.threshold {
            UNSPECIFIED_SHARE => by_default.threshold,
            specified => Threshold::new(specified)?,
        };
        IndexOptions::new(options.config()?, threshold, self.recall)
    }
}

/// Defaults for the parameters of an index of documents.
#[derive(Default)]
struct Defaults {
    options: Options<'static>,
    threshold: Threshold,
}

/// SQL's grammar reads `WITH (unit = char)` without quotes, as SQLAlchemy writes it, as a type, and passes its full
/// name.
fn as_written(unit: Cow<str>) -> Cow<str> {
    if unit == "pg_catalog.bpchar" { "char".into() } else { unit }
}

fn parse_seed(seed: &str) -> Result<i64> {
    seed.trim().parse().map_err(|_| {
        invalid_parameter(format!("invalid value for option \"seed\": \"{}\"", shortened(seed)))
            .set_hint("Use a 64-bit integer, or 0 for the scheme's own seed.")
    })
}

/// Stands for an integer or a share that was not specified.
const UNSPECIFIED: i32 = 0;
const UNSPECIFIED_SHARE: f64 = -1.0;

/// `amoptions`: reads and validates storage parameters.
#[pg_guard]
pub unsafe extern "C-unwind" fn amoptions(reloptions: Datum, validate: bool) -> *mut pg_sys::bytea {
    answer(|| {
        let (mut known, no_text) = (pg_sys::local_relopts::default(), std::ptr::null());
        let known = &raw mut known;
        // SAFETY: PostgreSQL copies the names, and does not show descriptions. Each parameter has its offset in
        // `Parameters`, which begins with a varlena header.
        let made = unsafe {
            use pg_sys::{
                add_local_bool_reloption, add_local_int_reloption, add_local_real_reloption, add_local_string_reloption,
            };
            pg_sys::init_local_reloptions(known, size_of::<Parameters>());
            for (name, place, values) in ALL {
                let (name, about, place) = (name.as_ptr(), no_text, *place as i32);
                match *values {
                    Integer(default, least, most) => {
                        add_local_int_reloption(known, name, about, default, least, most, place);
                    }
                    Share(default) => {
                        add_local_real_reloption(known, name, about, default, 0.0, 1.0, place);
                    }
                    Flag(default) => add_local_bool_reloption(known, name, about, default, place),
                    Text => {
                        add_local_string_reloption(known, name, about, no_text, None, None, place);
                    }
                }
            }
            pg_sys::build_local_reloptions(known, reloptions, validate)
        };
        // SAFETY: just made, and not shared yet.
        let parameters = unsafe { &*made.cast::<Parameters>() };
        if validate {
            parameters.options(&Defaults::default())?;
        }
        Ok(made.cast())
    })
}

impl MinlshIndex<'_> {
    /// Its storage parameters; `None` if it has none.
    fn parameters(&self) -> Option<&Parameters> {
        // SAFETY: `MinlshIndex::of` found an index of this access method, so its relcache entry has null or the result
        // of `amoptions` while it is open.
        unsafe { (*self.open().raw()).rd_options.cast::<Parameters>().as_ref() }
    }

    /// The defaults of its parameters. Constants of the expression that makes its documents come first, such as 0.9 in
    /// `minlsh_document(body, 0.9)`, since its rows cannot have other values. Then come the general defaults.
    fn defaults(&self) -> Defaults {
        Memory::scratch(c"minlsh expressions").run(|| {
            let threshold = Threshold::default();
            let expression = self.open().index_expression(self.layout.document);
            let parts = expression.and_then(KnownParts::of_call);
            let Some(document) = parts.and_then(|parts| parts.with_least(threshold)) else {
                return Defaults::default();
            };
            let options = match document.content {
                Content::Text(options, _) => options,
                _ => Options::default(),
            };
            Defaults { options, threshold: document.threshold }
        })
    }

    /// The options for a build now.
    pub fn wanted(&self) -> Result<IndexOptions> {
        match (self.parameters(), self.kind) {
            (None, Kind::Passage) => IndexOptions::of_passages(DEFAULT_MIN_MATCH as i64, "plain"),
            (None, _) => {
                let Defaults { options, threshold } = self.defaults();
                IndexOptions::new(options.config()?, threshold, DEFAULT_RECALL)
            }
            (Some(stored), Kind::Passage) => stored.of_passages(),
            (Some(stored), _) if stored.min_match == UNSPECIFIED => stored.options(&self.defaults()),
            _ => Err(invalid_parameter("min_match can only be set for an index of passages")
                .set_hint("Use the operator class minlsh_passage_ops, or leave min_match out.")),
        }
    }

    /// Fill factor of leaf pages in percent, and true if posting lists are made.
    pub fn leaf_pages(&self) -> (usize, bool) {
        let btree = self.parameters().map(|stored| stored.btree);
        btree.map_or((90, true), |btree| (btree.fillfactor as usize, btree.deduplicate_items))
    }
}
