//! All documents of an index, or of two, that the caller may see, read once.

use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, Oid};
use sketch::Banding;
use sketch::corpus::Layout;

use crate::error::{Result, engine, wrong_state};
use crate::functions::checkpoint;
use crate::index::definition::Index;
use crate::pg::array;
use crate::pg::guc::maintenance_work_mem;
use crate::pg::keys::Keys;
use crate::pg::names::{quoted, regclass_literal, relation_name};
use crate::pg::role::act_as;
use crate::pg::spi::{Access, Session};
use crate::query::access::Visibility;
use crate::query::corpus::storage::Storage;
use crate::query::question::Question;

/// How much of maintenance_work_mem is for sorting; the rest is for records.
const SORT_SHARE: usize = 4;

/// Documents, numbered in the order in which they were read.
pub struct Collection {
    /// Where they come from: one index, or two.
    pub parts: Rc<[Part]>,
    /// Their records.
    pub storage: Storage,
    /// Bytes for sorting.
    pub sort_memory: usize,
}

/// The documents of one index.
pub struct Part {
    /// The index.
    pub index: Rc<Index>,
    /// The number of its first document.
    pub first: u32,
    /// The key of each of its documents.
    pub keys: Keys,
}

impl Collection {
    /// Reads the side table of each question with its owner's rights, and of it what the caller
    /// may see. The bands are those of `banding`, the first `probes` of them.
    pub fn read(
        questions: &[Question],
        banding: &Banding,
        probes: usize,
        session: &Session,
    ) -> Result<Self> {
        let memory = maintenance_work_mem() as usize * 1024;
        let sort_memory = memory / SORT_SHARE;
        let settings = &questions[0].index.settings;
        let words = settings.slot_bits.words(settings.config.num_perm());
        let mut storage = Storage::new(Layout::new(words, probes), memory - sort_memory);
        let parts: Result<Rc<[Part]>> = questions
            .iter()
            .map(|question| Part::read(question, banding, session, &mut storage))
            .collect();
        Ok(Self { parts: parts?, storage, sort_memory })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.storage.len()
    }
}

impl Part {
    /// Reads the documents of an index.
    fn read(
        question: &Question,
        banding: &Banding,
        session: &Session,
        storage: &mut Storage,
    ) -> Result<Self> {
        let index = &question.index;
        let visible = match question.visibility {
            Visibility::All => None,
            Visibility::Joined => Some(VisibleKeys::read(index, session)?),
        };
        let first = storage.len() as u32;
        let mut keys = Keys::new(&index.key)?;
        let same_bands = index.settings.banding.rows() == banding.rows();
        let mut own_bands = Vec::new();
        let words = index.settings.slot_bits.words(index.settings.config.num_perm());
        let plan = index.plan(session, ("all documents", Oid::INVALID), &[], || {
            format!("SELECT s.doc_id, s.signature, s.bands FROM ONLY {} AS s", index.storage_name())
        })?;
        let _rights = act_as(index.owner);
        session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
            checkpoint();
            let (Some(key), Some(signature), Some(bands)) =
                (rows.datum(row, 1), rows.datum(row, 2), rows.datum(row, 3))
            else {
                return Ok(());
            };
            if visible.as_ref().is_some_and(|visible| !visible.contain(key)) {
                return Ok(());
            }
            // SAFETY: the columns of a side table are integer[] and bigint[].
            let (signature, mut bands) =
                unsafe { (array::read_int4(signature)?, array::read_int8(bands)?) };
            if !same_bands {
                banding.hashes(signature, &mut own_bands).map_err(engine)?;
                bands = &own_bands;
            }
            if signature.len() != words || bands.len() < storage.probes() {
                return Err(not_sketched(index));
            }
            keys.push(key);
            storage.push(signature, bands);
            Ok(())
        })?;
        Ok(Self { index: index.clone(), first, keys })
    }

    /// The key of a document, by its number in the collection.
    pub fn key(&self, document: u32) -> Datum {
        self.keys.datum(document - self.first)
    }

    /// The key of a document as `text`.
    pub fn text(&self, document: u32) -> Datum {
        self.keys.text(document - self.first)
    }
}

/// A row that no trigger has written would shift the records of all that follow.
fn not_sketched(index: &Index) -> ErrorReport {
    let side_table = regclass_literal(index.storage);
    wrong_state(format!(
        "minlsh index \"{}\" has rows that are no sketches",
        relation_name(index.storage)
    ))
    .set_hint(format!(
        "SELECT * FROM minlsh_check({side_table}); lists them, SELECT minlsh_reindex({side_table}); mends them."
    ))
}

/// The part that a document belongs to.
pub fn part_of(parts: &[Part], document: u32) -> &Part {
    &parts[parts.partition_point(|part| part.first <= document) - 1]
}

/// The keys of the rows that the caller sees.
struct VisibleKeys {
    keys: Keys,
    sorted: Vec<u32>,
}

impl VisibleKeys {
    fn read(index: &Index, session: &Session) -> Result<Self> {
        let plan = index.plan(session, ("visible keys", Oid::INVALID), &[], || {
            format!("SELECT d.{} FROM {} AS d", quoted(&index.key.name), index.rows_of_relation())
        })?;
        let mut keys = Keys::new(&index.key)?;
        session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
            checkpoint();
            rows.datum(row, 1).into_iter().for_each(|key| keys.push(key));
            Ok(())
        })?;
        let sorted = keys.sorted();
        Ok(Self { keys, sorted })
    }

    fn contain(&self, key: Datum) -> bool {
        self.keys.find(&self.sorted, key).is_some()
    }
}
