//! Pairs of documents that somebody decided are not copies: they count as not similar.

use crate::corpus::reading::keys::Members;
use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::corpus::source::columns::check_type;
use crate::corpus::source::named::{is_query, parenthesized, relation_named, select_all};
use crate::memory::of_apart;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::select::{Select, one_statement};
use crate::prelude::*;
use crate::row_key::{KeyValue, from_text};

const HINT: &str =
    "Pass a table, or a query, of two columns of keys, as in apart => 'SELECT a, b FROM decided'.";

pub struct Apart<'a> {
    select: Select<'a>,
    types: [Oid; 2],
}

impl<'a> Apart<'a> {
    pub fn given(session: &'a Session, arguments: &Arguments) -> Result<Option<Self>> {
        let Some(datum) = arguments.raw("apart") else { return Ok(None) };
        let text = raw_text(datum)?;
        let from = if is_query(text.to_bytes()) {
            let (statement, _) =
                one_statement(&text).map_err(|wrong| wrong.about("apart", HINT))?;
            parenthesized(&statement)
        } else {
            Sql::default().relation(relation_named(datum, "apart")?)
        };
        let select = select_all(session, &from).map_err(|wrong| wrong.about("apart", HINT))?;
        let types: Vec<Oid> = select.columns().iter().map(|column| column.type_oid).collect();
        let [a, b] = types[..] else {
            let count = types.len();
            let message = format!("apart must have two columns of keys, not {count}");
            return Err(invalid_parameter(message).set_hint(HINT));
        };
        for type_oid in types.iter().copied() {
            check_type(type_oid, || "a column of apart".to_owned(), HINT)?;
        }
        Ok(Some(Self { select: select.giving(types), types: [a, b] }))
    }

    /// The pairs of which both are among `members`, by their names and either way round, in order. They take 16 bytes
    /// each, and it is an error if that is too much.
    pub fn pairs(&self, members: &Members) -> Result<Vec<(u32, u32)>> {
        let sources = members.each_sorted()?;
        let last = sources.len() - 1;
        let (mut pairs, mut context) =
            (ApartPairs::default(), Memory::scratch(c"minlsh keys of apart"));
        self.select.each(&[], &mut |row| {
            check_interrupts();
            let (Some(a), Some(b)) = (row.value(1), row.value(2)) else { return Ok(()) };
            let find = |part: usize, key: Datum, type_oid: Oid| -> Result<Option<u32>> {
                let (own, sorted) = &sources[part];
                let key = if catalog::base_type(type_oid) == *own {
                    key
                } else {
                    // SAFETY: a value of that column, as the SELECT gives it, and its text.
                    unsafe { from_text(KeyValue::new(key, type_oid).to_text(), *own, HINT)? }
                };
                // SAFETY: a value of the base type of the keys of that source, to which it was converted.
                Ok(unsafe { members.find(part, sorted, key) })
            };
            let [a_type, b_type] = self.types;
            // Within one source both ways round are one.
            for (first, second) in [(0, last), (last, 0)].into_iter().take(sources.len()) {
                let (a, b) =
                    context.run_and_reset(|| (find(first, a, a_type), find(second, b, b_type)));
                if let Some((a, b)) = a?.zip(b?) {
                    pairs.push(a, b)?;
                }
            }
            Ok(())
        })?;
        Ok(pairs.in_order())
    }
}

/// Pairs by name and either way round, as many as memory holds.
#[derive(Default)]
struct ApartPairs(Vec<(u32, u32)>);

impl ApartPairs {
    fn push(&mut self, a: u32, b: u32) -> Result<()> {
        memory::extend(&mut self.0, &[(a, b), (b, a)])?;
        check_room(size_of_val(&*self.0))
    }

    fn in_order(self) -> Vec<(u32, u32)> {
        let Self(mut pairs) = self;
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// Refuses pairs that take so many bytes, if that is too much.
fn check_room(bytes: usize) -> Result<()> {
    if bytes <= of_apart() {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        "the pairs that are apart do not fit into maintenance_work_mem",
    )
    .set_detail("They may take a third of it, at 32 bytes for each pair.")
    .set_hint("Raise maintenance_work_mem, or list only pairs that are found without apart."))
}

/// The pairs that keys make, two and two.
pub struct ApartKeys {
    keys: DocumentKeys,
    /// Each key once, in their order.
    distinct: Vec<u32>,
}

impl ApartKeys {
    /// Those of `keys`; it is an error if these take too much memory.
    pub fn new(keys: DocumentKeys) -> Result<Self> {
        check_room(keys.bytes())?;
        let mut distinct = keys.sorted()?;
        distinct.dedup_by(|a, b| keys.compare(*a, *b).is_eq());
        Ok(Self { keys, distinct })
    }

    /// True if a key is in one of the pairs: then its document is not taken for a copy even of an equal one.
    ///
    /// # Safety
    /// `key` is a non-null value of the type of the keys.
    pub unsafe fn names(&self, key: Datum) -> bool {
        // SAFETY: the caller promises a key of the type that these were made for.
        unsafe { self.keys.find(&self.distinct, key).is_some() }
    }

    /// As [`Apart::pairs`], where the keys of the members are of one source, and of the type of these.
    pub fn pairs(&self, members: &Members) -> Result<Vec<(u32, u32)>> {
        let sources = members.each_sorted()?;
        // SAFETY: the job was asked for keys of one source and of the type of these.
        let find = |at: u32| unsafe { members.find(0, &sources[0].1, self.keys.datum(at)) };
        let mut pairs = ApartPairs::default();
        for pair in 0..self.keys.len() as u32 / 2 {
            check_interrupts();
            if let Some((a, b)) = find(2 * pair).zip(find(2 * pair + 1)) {
                pairs.push(a, b)?;
            }
        }
        Ok(pairs.in_order())
    }
}
