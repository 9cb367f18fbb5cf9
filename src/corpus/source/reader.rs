//! Reads the documents of a source, and decides the criteria by which they are signed, banded and compared.

use std::fmt;

use sketch::dedup::{FEW, Form, Terms, Verify, append_bytes};
use sketch::pipeline::SignerBatch;
use sketch::stored::{self, StoredBytes};
use sketch::{Banding, Config, DEFAULT_RECALL, ElementHash, ShingleSet, Sketcher, codes, hash128};

use crate::corpus::source::arguments::Arguments;
use crate::document::image::Content;
use crate::document::kind::Kind;
use crate::document::value::Value;
use crate::indexed::Indexed;
use crate::options::{Options, Threshold, bucket_limit, same_shingling, shingling};
use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The kind of the read documents: texts, sets or signatures.
    pub kind: Kind,
    /// True for values of type `minlsh_document`.
    is_document: bool,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_document {
            return write!(f, "documents of {}", self.kind);
        }
        self.kind.fmt(f)
    }
}

/// The criteria by which documents are signed, banded and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    pub reader: Reader,
    pub verify: Verify,
    pub threshold: Threshold,
    /// The share of pairs at the threshold that must be found.
    pub recall: f64,
    pub config: Config,
    pub banding: Banding,
    /// Number of rows up to which each pair of a job's documents is compared; 0 for pairs that share a band alone.
    pub whole: u32,
}

/// The options in values of type `minlsh_document`, which must be the same in a source.
#[derive(Clone, Debug)]
pub struct Own {
    /// Their kind: texts, sets or signatures.
    pub kind: Kind,
    /// The options by which texts are split.
    pub config: Option<Config>,
    pub slots: Option<usize>,
    pub least: f64,
}

impl Reader {
    /// Makes a reader for values of kind `kind`; documents bring their options in `own`.
    pub fn new(kind: Kind, own: Option<&Own>) -> Self {
        match kind {
            Kind::Document => Self { kind: own.map_or(Kind::Text, |own| own.kind), is_document: true },
            _ => Self { kind, is_document: false },
        }
    }

    /// True for values of type `text`.
    fn is_text(self) -> bool {
        self.kind == Kind::Text && !self.is_document
    }

    /// The form of the documents.
    pub fn form(self) -> Form {
        match self.kind {
            Kind::Set => Form::Elements,
            Kind::Signature => Form::Signature,
            Kind::Text | Kind::Document | Kind::Passage => Form::Text,
        }
    }

    /// Replaces `bytes` by the bytes of `document` for exact comparison: a text as UTF-8, a set as the hashes of its
    /// elements.
    pub fn read(self, document: TypedValue, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        match self.value(document, ElementHash::Xxh3)?.0 {
            Value::Text(text) => Ok(memory::extend(bytes, lossless::decode(text)?.as_bytes())?),
            Value::Set(hashes) => Ok(append_bytes(&hashes, bytes)?),
            // There is only the signature.
            Value::Signature(_) => Ok(()),
        }
    }

    /// Replaces `hashes` by the hashes of the elements in such bytes.
    pub fn hashes(self, config: &Config, bytes: &[u8], hashes: &mut Vec<u64>) -> Result<()> {
        hashes.clear();
        Ok(self.form().hashes(config, bytes, hashes, &mut check_interrupts)?)
    }

    /// The set of the elements in such bytes.
    pub fn set(self, config: &Config, bytes: &[u8]) -> Result<ShingleSet> {
        Ok(self.form().set(config, bytes, &mut check_interrupts)?)
    }

    /// Reads a document. Returns the value with its own threshold.
    fn value(self, document: TypedValue<'_>, hash: ElementHash) -> Result<(Value<'_>, f64)> {
        let kind = if self.is_document { Kind::Document } else { self.kind };
        let (value, own) = document.read_as(kind, hash)?;
        Ok((value, own.map_or(0.0, |own| own.threshold.get())))
    }

    /// Reads a document, to be signed by `config`. A signature must have the length that `config` sets; an empty one is
    /// skipped.
    fn to_sign<'a>(self, document: TypedValue<'a>, config: &Config) -> Result<(Value<'a>, f64)> {
        let (value, least) = self.value(document, config.scheme().element_hash())?;
        if let Value::Signature(slots) = &value
            && ![0, config.num_perm()].contains(&slots.len())
        {
            let (found, num_perm) = (slots.len(), config.num_perm());
            let message = format!("a signature of the source has {found} slots, not {num_perm}");
            return Err(invalid_parameter(message).set_hint("Use signatures of the same length."));
        }
        Ok((value, least))
    }

    /// Signs a document. Returns what `look` makes of its signature and its own threshold; `None` if it has no
    /// shingles.
    pub fn sketch<T>(
        self,
        document: TypedValue,
        sketcher: &mut Sketcher,
        look: impl FnOnce(&[i32], f64) -> Result<T>,
    ) -> Result<Option<T>> {
        let (value, least) = self.to_sign(document, sketcher.config())?;
        value.signature(sketcher)?.map(|signature| look(signature, least)).transpose()
    }

    /// Copies a document into a batch, to be signed by `config`. Returns the number of bytes that [`Self::with_stored`]
    /// passes, and the document's own threshold.
    pub fn copy(self, document: TypedValue, config: &Config, batch: &mut SignerBatch) -> Result<(usize, f64)> {
        if self.is_text() {
            return document.stored(|text| {
                batch.push_text(text)?;
                Ok((text.bytes.len(), 0.0))
            });
        }
        let (value, least) = self.to_sign(document, config)?;
        Ok((value.copy(batch)?, least))
    }

    /// Calls `look` with the bytes that [`Self::read`] makes. A text stays as it is stored, and
    /// [`StoredBytes::unpacked`] decompresses it. `room` is a buffer for copies.
    pub fn with_stored<T>(
        self,
        document: TypedValue,
        room: &mut Vec<u8>,
        look: impl FnOnce(StoredBytes) -> Result<T>,
    ) -> Result<T> {
        if self.is_text() {
            return document.stored(look);
        }
        self.read(document, room)?;
        look(StoredBytes::plain(room))
    }
}

impl Own {
    /// Checks a document's options against `own`, the options of earlier ones. `argument` names the source in errors.
    pub fn add(own: &mut Option<Self>, document: TypedValue, argument: &str) -> Result<()> {
        let Some(document) = document.document()? else { return Ok(()) };
        let (kind, config, least) = (document.kind(), document.config()?, document.threshold.get());
        let Some(known) = own else {
            let slots = match document.content {
                Content::Signature(slots) => Some(slots.len()),
                Content::Text(..) | Content::Set(_) => None,
            };
            *own = Some(Self { kind, config, slots, least });
            return Ok(());
        };
        known.least = known.least.min(least);
        if known.kind != kind {
            let message = format!("{argument} has documents of {} and documents of {kind}", known.kind);
            return Err(invalid_parameter(message).set_hint("Select documents of one kind only."));
        }
        match (&known.config, config) {
            (Some(a), Some(b)) if !same_shingling(a, &b) => {
                let (a, b) = (shingling(a), shingling(&b));
                Err(invalid_parameter(format!("{argument} has documents of different options"))
                    .set_detail(format!("One has {a}; another one has {b}."))
                    .set_hint(
                        "Select documents with the same options only, or create all of them with the same options.",
                    ))
            }
            _ => Ok(()),
        }
    }
}

impl Criteria {
    /// The terms of the engine.
    pub fn terms(&self) -> Terms {
        Terms {
            form: self.reader.form(),
            verify: self.verify,
            threshold: self.threshold.get(),
            config: self.config.clone(),
            banding: self.banding,
            bucket_limit: bucket_limit(),
        }
    }

    /// Takes the criteria from named indexes, then from options in documents, then from arguments, then from defaults.
    pub fn new(arguments: &Arguments, reader: Reader, named: &[&Indexed], own: &[Own]) -> Result<Self> {
        let config = config(arguments, named, own)?;
        let of_indexes = named.iter().map(|named| named.options.threshold).reduce(Threshold::max);
        let of_documents = own.iter().map(|own| own.least).reduce(f64::min);
        let of_documents = of_documents.map(Threshold::new).transpose()?;
        let default = of_indexes.or(of_documents).unwrap_or_default();
        let threshold = arguments.threshold()?.unwrap_or(default);
        let recall = named.iter().map(|named| named.options.recall).reduce(f64::min);
        let recall = arguments.recall().or(recall).unwrap_or(DEFAULT_RECALL);
        for named in named {
            let table = regclass_literal(named.table());
            let hint = format!("Name the table instead of the index: {table}.");
            let (name, own) = (named.name(), &named.options);
            let checked = named.info.check_threshold(threshold, own.threshold);
            checked.map_err(|low| low.set_hint(hint.clone()))?;
            if recall > own.recall {
                return Err(invalid_parameter(format!(
                    "recall {recall} is above that of index \"{name}\", which is {}",
                    own.recall
                ))
                .set_hint(hint));
            }
        }
        let (least, num_perm) = (threshold.get(), config.num_perm() as i64);
        let banding = Banding::for_recall(least, num_perm, recall)?;
        let banding = match named[..] {
            [named] => named.options.banding,
            _ => banding,
        };
        let banding = banding.trimmed(least, recall);
        // A signature has no set for an exact comparison.
        let verify = match reader.kind {
            Kind::Signature => Verify::Signature,
            _ => arguments.verify()?,
        };
        Ok(Self { reader, verify, threshold, recall, config, banding, whole: FEW })
    }
}

fn config(arguments: &Arguments, named: &[&Indexed], own: &[Own]) -> Result<Config> {
    let first = named.first().map(|named| &named.options.config);
    if let Some(other) = named.iter().find(|named| Some(&named.options.config) != first) {
        return Err(not_comparable(&named[0].options.config, &other.options.config));
    }
    let slots = own.iter().find_map(|own| own.slots);
    let own: Vec<&Config> = own.iter().filter_map(|own| own.config.as_ref()).collect();
    let base = first.or(own.first().copied());
    if let (Some(base), Some(other)) =
        (base, own.iter().find(|own| base.is_some_and(|base| !same_shingling(base, own))))
    {
        return Err(not_comparable(base, other));
    }
    let config = arguments.config(base)?;
    match (named, own.first()) {
        ([named, ..], _) if config != named.options.config => Err(has_other_options(named)),
        (_, Some(own)) if !same_shingling(&config, own) => {
            Err(invalid_parameter("the documents have options of their own")
                .set_detail(format!("They have {}.", shingling(own)))
                .set_hint("Pass no options, or create the documents with other options."))
        }
        _ => match slots {
            Some(slots) if slots != config.num_perm() => {
                let num_perm = i32::try_from(slots).unwrap_or(i32::MAX);
                Options { num_perm, ..Options::of(&config) }.config()
            }
            _ => Ok(config),
        },
    }
}

fn not_comparable(a: &Config, b: &Config) -> SqlError {
    invalid_parameter("a and b have different options and cannot be compared")
        .set_detail(format!("One has {a}; the other has {b}."))
        .set_hint("Name the tables instead of the indexes, and pass the options.")
}

fn has_other_options(named: &Indexed) -> SqlError {
    let (name, table) = (named.name(), regclass_literal(named.table()));
    invalid_parameter(format!("index \"{name}\" has other options than those passed"))
        .set_detail(format!("It has {}.", named.options.config))
        .set_hint(format!("Pass no options, or name the table instead of the index: {table}."))
}

/// The codes of a document, such as numbers, versions and models, as ascending hashes. Two documents may be required to
/// share a code. A document other than a text has no codes.
pub struct Codes(Vec<u64>);

impl Codes {
    /// Minimum length of a code, the default of `codes()`.
    pub const MIN_LENGTH: i64 = 4;

    /// Reads the codes of at least `min_length` characters of a document from its compared bytes.
    pub fn of(reader: Reader, bytes: &[u8], min_length: i64) -> Result<Self> {
        let mut hashes = Vec::new();
        if reader.kind == Kind::Text {
            let text = stored::text(bytes)?;
            codes(&text, min_length, &mut check_interrupts, &mut |code| {
                memory::push(&mut hashes, hash128(code.as_bytes()) as u64)
            })?;
        }
        hashes.sort_unstable();
        Ok(Self(hashes))
    }

    /// True if two documents share a code, or if one of them has no code, as `agree => 'codes(body)'` requires.
    pub fn agree(&self, other: &Self) -> bool {
        let [a, b] = [&self.0, &other.0];
        let is_common = || a.iter().any(|code| b.binary_search(code).is_ok());
        a.is_empty() || b.is_empty() || is_common()
    }
}
