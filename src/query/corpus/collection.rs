//! All documents of an index that the caller may see, read once.

use std::collections::HashSet;

use pgrx::pg_sys::Oid;
use sketch::corpus::Bands;

use crate::error::Result;
use crate::functions::checkpoint;
use crate::index::definition::Index;
use crate::pg::array;
use crate::pg::guc::LocalSettings;
use crate::pg::keys::Keys;
use crate::pg::names::quoted;
use crate::pg::role::act_as;
use crate::pg::spi::{Access, Session};
use crate::query::access::Visibility;
use crate::query::corpus::signatures::Signatures;
use crate::query::question::Question;

/// Documents, numbered in the order in which they were read.
pub struct Collection {
    /// The key of each.
    pub keys: Keys,
    /// The signature of each.
    pub signatures: Signatures,
    /// The band hashes of each, as many as the threshold needs.
    pub bands: Bands,
    /// A hash of the signature of each, by which exact copies are found.
    pub hashes: Vec<u64>,
}

impl Collection {
    /// Reads the side table with its owner's rights, and of it what the caller may see.
    pub fn read(question: &Question, session: &Session) -> Result<Self> {
        let index = &question.index;
        let mut keys = Keys::new(&index.key)?;
        // Keys are matched by their text: two floats must not print alike.
        let settings = LocalSettings::open();
        settings.set("extra_float_digits", "1");
        let visible = match question.visibility {
            Visibility::All => None,
            Visibility::Joined => Some(visible_keys(index, session, &mut keys)?),
        };
        let mut collection = Self {
            keys,
            signatures: Signatures::new(index.settings.config.num_perm()),
            bands: Bands::new(question.probes()),
            hashes: Vec::new(),
        };
        let plan = index.plan(session, ("all documents", Oid::INVALID), &[], || {
            format!("SELECT s.doc_id, s.signature, s.bands FROM {} AS s", index.storage_name())
        })?;
        let _rights = act_as(index.owner);
        session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
            checkpoint();
            let (Some(key), Some(signature), Some(bands)) =
                (rows.datum(row, 1), rows.datum(row, 2), rows.datum(row, 3))
            else {
                return Ok(());
            };
            if let Some(visible) = &visible
                && !visible.contains(&collection.keys.as_string(key))
            {
                return Ok(());
            }
            // SAFETY: the columns of a side table are integer[] and bigint[].
            let (signature, bands) =
                unsafe { (array::read_int4(signature)?, array::read_int8(bands)?) };
            collection.keys.push(key);
            collection.hashes.push(sketch::signature_hash(signature));
            collection.signatures.push(signature);
            collection.bands.push(bands);
            Ok(())
        })?;
        Ok(collection)
    }
}

/// The keys of the rows that the caller sees, as strings.
fn visible_keys(index: &Index, session: &Session, keys: &mut Keys) -> Result<HashSet<String>> {
    let plan = index.plan(session, ("visible keys", Oid::INVALID), &[], || {
        format!("SELECT d.{} FROM {} AS d", quoted(&index.key.name), index.relation_name())
    })?;
    let mut visible = HashSet::new();
    session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
        checkpoint();
        visible.extend(rows.datum(row, 1).map(|key| keys.as_string(key)));
        Ok(())
    })?;
    Ok(visible)
}
