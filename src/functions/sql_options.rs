//! The options of a signature, as SQL writes them.

use std::borrow::Cow;
use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use sketch::{Config, Normalization, Scheme, StopWords};

use super::recent::Recent;
use crate::error::engine;
use crate::pg::call::Call;

/// Options as text, from which a configuration is read. Indexes store them in this order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Options<'a> {
    pub scheme: Cow<'a, str>,
    pub num_perm: i32,
    /// 0: that of the scheme by itself.
    pub seed: i64,
    pub unit: Cow<'a, str>,
    pub shingle_size: i32,
    /// A preset, steps, or `auto`: the preset `plain`.
    pub normalization: Cow<'a, str>,
    /// `english`, or words with white space between them.
    pub stop_words: Cow<'a, str>,
    pub bag: bool,
}

thread_local! {
    /// Reading a configuration costs more than signing a short text.
    static READ: RefCell<Recent<(Options<'static>, Config)>> = const { RefCell::new(Recent::new()) };
}

impl<'a> Options<'a> {
    /// The options of shingling, in arguments `shingle_size`, `unit`, and from `text` on
    /// normalization, stop_words and bag; `None` if one is NULL.
    pub fn shingling(
        call: &'a Call,
        shingle_size: usize,
        unit: usize,
        text: usize,
    ) -> crate::error::Result<Option<Self>> {
        let (Some(shingle_size), Some(unit), Some(normalization), Some(stop_words), Some(bag)) = (
            call.int4(shingle_size),
            call.text(unit)?,
            call.text(text)?,
            call.text(text + 1)?,
            call.bool(text + 2),
        ) else {
            return Ok(None);
        };
        Ok(Some(Self {
            shingle_size,
            unit: unit.into(),
            normalization: normalization.into(),
            stop_words: stop_words.into(),
            bag,
            ..Self::default()
        }))
    }

    /// The options that make `config`.
    pub fn of(config: &Config) -> Self {
        Self {
            scheme: config.scheme().as_str().into(),
            num_perm: config.num_perm() as i32,
            unit: config.unit().as_str().into(),
            shingle_size: config.shingle_size() as i32,
            seed: config.seed(),
            normalization: config.normalization().to_string().into(),
            stop_words: config.stop_words().to_string().into(),
            bag: config.bag(),
        }
    }

    /// The configuration, kept for the next call.
    pub fn config(&self) -> crate::error::Result<Config> {
        let read = match READ.with_borrow_mut(|kept| kept.take(|(options, _)| options == self)) {
            Some(read) => read,
            None => (self.owned(), self.read().map_err(engine)?),
        };
        let config = read.1.clone();
        READ.with_borrow_mut(|kept| kept.keep(read));
        Ok(config)
    }

    /// Reads the configuration.
    pub fn read(&self) -> Result<Config, sketch::Error> {
        let (num_perm, size) = (self.num_perm.into(), self.shingle_size.into());
        let scheme: Scheme = self.scheme.parse()?;
        let seed = if self.seed == 0 { scheme.default_seed() } else { self.seed };
        let config = Config::new(&self.scheme, num_perm, &self.unit, size, seed)?;
        let normalization = match &*self.normalization {
            "auto" => Normalization::plain(),
            steps => steps.parse()?,
        };
        let config = config.with_stop_words(StopWords::named(&self.stop_words)?)?;
        config.with_bag(self.bag).with_normalization(normalization)
    }

    fn owned(&self) -> Options<'static> {
        let owned = |text: &Cow<str>| Cow::Owned(text.clone().into_owned());
        Options {
            scheme: owned(&self.scheme),
            unit: owned(&self.unit),
            normalization: owned(&self.normalization),
            stop_words: owned(&self.stop_words),
            ..*self
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        let default = Config::default();
        Self {
            scheme: Cow::Borrowed(default.scheme().as_str()),
            num_perm: default.num_perm() as i32,
            unit: Cow::Borrowed(default.unit().as_str()),
            shingle_size: default.shingle_size() as i32,
            seed: 0,
            normalization: Cow::Borrowed("auto"),
            stop_words: Cow::Borrowed("english"),
            bag: false,
        }
    }
}
