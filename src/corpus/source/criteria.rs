//! Decides how the documents of a job are read, signed, banded and compared.

use sketch::{Banding, Config, DEFAULT_RECALL};

use crate::corpus::source::Source;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::reader::{Criteria, Own, Reader};
use crate::corpus::source::rows::RowFilter;
use crate::document::kind::Kind;
use crate::indexed::Indexed;
use crate::options::{IndexOptions, Options, Threshold, Verify, same_shingling, shingling};
use crate::pg::names::{regclass_literal, visible_name};
use crate::prelude::*;

impl Source {
    /// Decides how its documents are read. Documents with options of their own are looked at, all of them.
    fn reader(&self, session: &Session) -> Result<(Reader, Option<Own>)> {
        if self.kind != Kind::Document {
            return Ok((Reader::new(self.kind), None));
        }
        let mut own = None;
        self.rows(session, None, RowFilter::All)?.each(&mut |row| {
            let Some(document) = row.document() else { return Ok(()) };
            // SAFETY: a value of the column whose kind was just found to be that of documents.
            unsafe { Own::add(&mut own, document, self.argument) }
        })?;
        Ok((Reader::of_documents(own.as_ref()), own))
    }

    /// Names the indexes with other options in a NOTICE, if none were passed: a table is read by the defaults.
    pub fn notice(&self, arguments: &Arguments, criteria: &Criteria) -> Result<()> {
        let passed = arguments.threshold()?;
        let differs = |options: &IndexOptions| {
            options.config != criteria.config
                || (arguments.recall().is_none() && options.recall != criteria.recall)
                || (passed.is_none() && options.threshold != criteria.threshold)
        };
        let names: Vec<String> = self
            .others
            .iter()
            .filter(|(_, options)| differs(options))
            .map(|(oid, _)| regclass_literal(*oid))
            .collect();
        if !names.is_empty() && !arguments.has_options() {
            let table = self.relation.map(visible_name).unwrap_or_default();
            notice(format!(
                "{table} is compared with the default options, but some of its indexes have others"
            ))
            .set_hint(format!(
                "Name an index instead of the table to use its options: {}.",
                names.join(", ")
            ))
            .report(PgLogLevel::NOTICE);
        }
        Ok(())
    }
}

/// Decides how the documents of sources are signed, banded and compared: by the index that is named, by documents with
/// options of their own, by arguments, else by default.
pub fn criteria(session: &Session, arguments: &Arguments, sources: &[Source]) -> Result<Criteria> {
    let (mut reader, mut own): (Option<Reader>, Vec<Own>) = (None, Vec::new());
    for source in sources {
        let (other, of_documents) = source.reader(session)?;
        own.extend(of_documents);
        match reader {
            Some(first) if first != other => {
                return Err(invalid_parameter(format!("a has {first}, but b has {other}"))
                    .set_hint("Use documents of the same kind in a and b."));
            }
            _ => reader = Some(other),
        }
    }
    let named: Vec<&Indexed> =
        sources.iter().filter_map(|source| source.named.as_deref()).collect();
    decide(arguments, reader.unwrap_or(Reader::new(Kind::Text)), &named, &own)
}

/// The same of values that come from no source; of documents, as they say themselves.
pub fn criteria_of(arguments: &Arguments, kind: Kind, own: Option<Own>) -> Result<Criteria> {
    let reader = match kind {
        Kind::Document => Reader::of_documents(own.as_ref()),
        _ => Reader::new(kind),
    };
    decide(arguments, reader, &[], &own.into_iter().collect::<Vec<_>>())
}

fn decide(
    arguments: &Arguments,
    reader: Reader,
    named: &[&Indexed],
    own: &[Own],
) -> Result<Criteria> {
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
    // A signature alone has no set to be compared by.
    let verify = match reader.kind {
        Kind::Signature => Verify::Signature,
        _ => arguments.verify()?,
    };
    Ok(Criteria { reader, verify, threshold, recall, config, banding })
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
