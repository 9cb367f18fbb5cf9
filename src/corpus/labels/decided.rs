//! The argument `decided`: pairs of keys, with a person's answer for each.

use ahash::AHashMap;
use sketch::Config;
use sketch::labels::{Answers, Label};

use crate::corpus::source::arguments::{Arguments, label, select_given};
use crate::corpus::source::reader::{Codes, Reader};
use crate::corpus::source::{Source, check_type};
use crate::memory::of_suggestion;
use crate::pg::select::{Select, SelectColumn};
use crate::prelude::*;
use crate::row_key;

/// The HINT about what `decided` accepts.
pub const DECIDED: &str = "Pass a table or a query with two columns of keys, doc_a and doc_b, and a boolean column \
     same, as in decided => 'SELECT doc_a, doc_b, same FROM decided'.";

/// Approximate bytes of a decision, besides its keys.
const DECISION: usize = 160;
/// Minimum number of answers for a threshold.
const LEAST_ANSWERS: usize = 10;

/// Two keys; within one source, in the order of their bytes.
type Keys = [String; 2];

/// The decisions, in the order of their keys; `None` for a pair without an answer.
pub struct Decided {
    decisions: Vec<(Keys, Option<bool>)>,
    /// True if both keys are of one source, so that their order has no meaning.
    is_one: bool,
}

impl Decided {
    /// Reads the decisions as the caller; `None` if the argument was not passed.
    pub fn read(session: &Session, arguments: &Arguments, sources: &[Source]) -> Result<Option<Self>> {
        let Some(datum) = arguments.raw("decided") else { return Ok(None) };
        let select = select_given(session, datum, "decided", DECIDED)?;
        let columns = select.columns();
        let places = places(&columns)?;
        let types = columns.iter().map(|column| column.type_oid);
        let select = select.giving(memory::collect(types)?);
        let mut decided = Self { decisions: Vec::new(), is_one: sources.len() == 1 };
        decided.fill(&select, places, sources)?;
        decided.settle()?;
        Ok(Some(decided))
    }

    fn fill(&mut self, select: &Select, [a, b, same]: [usize; 3], sources: &[Source]) -> Result<()> {
        let keys = [&sources[0], &sources[sources.len() - 1]].map(|source| catalog::base_type(source.key_column().0));
        let mut context = Memory::scratch(c"minlsh keys of decided");
        let mut bytes = 0;
        select.each(&[], &mut |row| {
            check_interrupts();
            let key = |place: usize, base_type: Oid| {
                let Some(value) = row.get(place as i16 + 1) else { return Ok(None) };
                let value = row_key::converted(value, base_type, row_key::KEY, DECIDED)?;
                value.with_text(|text| Ok(Some(memory::owned(text)?)))
            };
            let found = context.run_and_reset(|| Ok::<_, SqlError>((key(a, keys[0])?, key(b, keys[1])?)));
            let (Some(a), Some(b)) = found? else { return Ok(()) };
            bytes += a.len() + b.len() + DECISION;
            if bytes > of_suggestion() / 4 {
                return Err(beyond_setting("the pairs of decided do not fit into work_mem")
                    .set_detail("They may take a quarter of it, at about 200 bytes for each pair.")
                    .set_hint("Raise work_mem, or pass a query for fewer of them."));
            }
            let is_same = row.value(same as i16 + 1).map(|same| same.value() as u8 != 0);
            let keys = if self.is_one && b < a { [b, a] } else { [a, b] };
            Ok(memory::push(&mut self.decisions, (keys, is_same))?)
        })
    }

    /// Keeps one decision for each pair.
    fn settle(&mut self) -> Result<()> {
        // An answer sorts after a missing one.
        self.decisions.sort_unstable();
        for pair in self.decisions.windows(2) {
            let [(keys, before), (others, after)] = pair else { continue };
            if keys == others && before.is_some() && before != after {
                let [a, b] = [&keys[0], &keys[1]].map(|key| shortened(key));
                let message = format!("decided contradicts itself about the pair {a} and {b}");
                return Err(invalid_parameter(message)
                    .set_detail("It is both the same and different.")
                    .set_hint("Correct one of the answers, or set both to NULL."));
            }
        }
        self.decisions.dedup_by(|after, before| {
            let is_twice = after.0 == before.0;
            if is_twice {
                before.1 = after.1;
            }
            is_twice
        });
        Ok(())
    }

    /// True if a pair is listed, with or without an answer.
    pub fn has(&self, [a, b]: &Keys) -> bool {
        let keys = if self.is_one && b < a { [b, a] } else { [a, b] };
        let found = self.decisions.binary_search_by(|(own, _)| [&own[0], &own[1]].cmp(&keys));
        found.is_ok()
    }
}

/// Positions of the two keys and of the answer.
fn places(columns: &[SelectColumn]) -> Result<[usize; 3]> {
    let named = |name: &str| columns.iter().position(|column| column.name.to_bytes() == name.as_bytes());
    let places = match (named("doc_a"), named("doc_b"), named("same")) {
        (Some(a), Some(b), Some(same)) => [a, b, same],
        _ if columns.len() == 3 => [0, 1, 2],
        _ => {
            let message = "decided must have columns doc_a, doc_b and same, or three columns";
            return Err(invalid_parameter(message).set_hint(DECIDED));
        }
    };
    let [a, b, same] = places;
    for place in [a, b] {
        check_type(columns[place].type_oid, || "a column of decided".to_owned(), DECIDED)?;
    }
    if catalog::base_type(columns[same].type_oid) != pg_sys::BOOLOID {
        let name = label(&columns[same].name);
        let message = format!("column \"{name}\" of decided must be of type boolean");
        return Err(type_mismatch(message).set_hint(DECIDED));
    }
    Ok(places)
}

/// The documents of pairs with answers, by source and key.
pub struct LabelDocuments {
    documents: Vec<AHashMap<String, LabelDocument>>,
    room: usize,
}

enum LabelDocument {
    Missing,
    /// Too large for memory.
    Large,
    Held(Vec<u8>),
}

/// The answers about pairs whose documents were found.
#[derive(Default)]
pub struct Labeled {
    pub labels: Vec<Label>,
    /// The labels of pairs whose codes agree, and how many of the same pairs have such codes.
    pub agreeing: Vec<Label>,
    pub answers: Answers,
    /// Number of pairs without an answer.
    pub open: u64,
    /// Number of answers about documents that are not in the source.
    pub missing: u64,
    /// Number of answers about documents that are too large for memory.
    pub large: u64,
}

impl LabelDocuments {
    pub fn new(decided: Option<&Decided>, sources: usize) -> Result<Self> {
        let mut documents = memory::collect((0..sources).map(|_| AHashMap::new()))?;
        let answered = decided.into_iter().flat_map(|decided| &decided.decisions);
        for ([a, b], _) in answered.filter(|(_, is_same)| is_same.is_some()) {
            memory::insert_at(&mut documents[0], memory::owned(a)?, LabelDocument::Missing)?;
            memory::insert_at(&mut documents[sources - 1], memory::owned(b)?, LabelDocument::Missing)?;
        }
        Ok(Self { documents, room: of_suggestion() / 4 })
    }

    /// Keeps a document of source `part` if there is a decision about it, and if it fits into memory.
    pub fn add(&mut self, part: usize, key: &str, bytes: &[u8]) -> Result<()> {
        let Some(document) = self.documents[part].get_mut(key) else { return Ok(()) };
        let fits = bytes.len() <= self.room;
        self.room -= if fits { bytes.len() } else { 0 };
        *document = if fits { LabelDocument::Held(memory::copied(bytes)?) } else { LabelDocument::Large };
        Ok(())
    }

    /// The answers with the similarities of their pairs.
    pub fn labels(&self, decided: Option<&Decided>, reader: Reader, config: &Config) -> Result<Labeled> {
        let mut labeled = Labeled::default();
        let second = self.documents.len() - 1;
        for ([a, b], is_same) in decided.into_iter().flat_map(|decided| &decided.decisions) {
            let Some(is_same) = *is_same else {
                labeled.open += 1;
                continue;
            };
            let document = |part: usize, key: &str| self.documents[part].get(key).unwrap_or(&LabelDocument::Missing);
            let (a, b) = match (document(0, a), document(second, b)) {
                (LabelDocument::Held(a), LabelDocument::Held(b)) => (a, b),
                (LabelDocument::Missing, _) | (_, LabelDocument::Missing) => {
                    labeled.missing += 1;
                    continue;
                }
                _ => {
                    labeled.large += 1;
                    continue;
                }
            };
            let set = |bytes: &[u8]| reader.set(config, bytes);
            // Texts without shingles have nothing in common.
            let similarity = set(a)?.jaccard(&set(b)?).unwrap_or(0.0);
            let label = Label { similarity, is_same };
            memory::push(&mut labeled.labels, label)?;
            let codes = |bytes: &[u8]| Codes::of(reader, bytes, Codes::MIN_LENGTH);
            let agrees = codes(a)?.agree(&codes(b)?);
            if agrees {
                memory::push(&mut labeled.agreeing, label)?;
            }
            labeled.answers.passing += u64::from(is_same && agrees);
            labeled.answers.failing += u64::from(is_same && !agrees);
        }
        Ok(labeled)
    }
}

impl Labeled {
    /// The numbers of answers "same" and "different".
    pub fn counts(&self) -> [usize; 2] {
        let same = self.labels.iter().filter(|label| label.is_same).count();
        [same, self.labels.len() - same]
    }

    /// Refuses too few answers for a fit.
    pub fn check(&self) -> Result<()> {
        let count = self.labels.len();
        if count >= LEAST_ANSWERS {
            return Ok(());
        }
        let Self { open, missing, large, .. } = self;
        let message = format!("decided must have at least {LEAST_ANSWERS} answers, not {count}");
        Err(invalid_parameter(message)
            .set_detail(format!(
                "Of the other pairs, {open} have no answer (same is NULL), {missing} have documents that the source \
                 does not have, and {large} do not fit into work_mem."
            ))
            .set_hint("Answer more pairs. minlsh_label_pairs() lists pairs to answer."))
    }
}
