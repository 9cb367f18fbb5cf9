//! The options with which an index was built, stored in block 1: an inner page without a downlink, which VACUUM ignores
//! and WAL covers.

use std::cell::RefCell;
use std::rc::Rc;

use ahash::AHashMap;
use serde::{Deserialize, Serialize};
use sketch::Banding;

use crate::error::internal;
use crate::index::layout::TUPLE_HEADER;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::HIGH_KEY;
use crate::index::page_file::{MAX_ITEM, PageFile};
use crate::options::{IndexOptions, Options, Threshold, Versions};
use crate::prelude::*;

/// The block with the build's options.
pub const OPTIONS_BLOCK: pg_sys::BlockNumber = 1;
/// Number of indexes whose options a session caches.
const REMEMBERED: usize = 64;

/// The content of block 1, as JSON.
#[derive(Serialize, Deserialize)]
struct Built {
    #[serde(flatten)]
    versions: Versions,
    #[serde(flatten)]
    of: BuiltOf,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BuiltOf {
    Documents {
        threshold: f64,
        recall: f64,
        bands: usize,
        rows: usize,
        #[serde(flatten)]
        config: Options<'static>,
    },
    Passages {
        min_match: usize,
        normalization: String,
    },
}

impl Built {
    fn of(options: &IndexOptions) -> Self {
        let of = match options.min_match {
            Some(min_match) => {
                let normalization = options.config.normalization().to_string();
                BuiltOf::Passages { min_match, normalization }
            }
            None => BuiltOf::Documents {
                threshold: options.threshold.get(),
                recall: options.recall,
                bands: options.banding.bands(),
                rows: options.banding.rows(),
                config: Options::of(&options.config),
            },
        };
        Self { versions: options.outdated.clone().unwrap_or(Versions::CURRENT), of }
    }

    fn options(self) -> Result<IndexOptions> {
        let options = match self.of {
            BuiltOf::Documents { threshold, recall, bands, rows, config } => {
                let (config, threshold) = (config.read()?, Threshold::new(threshold)?);
                let banding = Banding::new(bands as i64, rows as i64)?;
                let (min_match, outdated) = (None, None);
                IndexOptions { config, banding, threshold, recall, min_match, outdated }
            }
            BuiltOf::Passages { min_match, normalization } => {
                IndexOptions::of_passages(min_match as i64, &normalization)?
            }
        };
        let mut versions = self.versions;
        if !options.config.depends_on_unicode() {
            versions.unicode = Versions::CURRENT.unicode;
        }
        // The versions that built it, if this library would make other entries.
        let outdated = (versions != Versions::CURRENT).then_some(versions);
        Ok(IndexOptions { outdated, ..options })
    }
}

thread_local! {
    /// By index and file: a rebuilt index has a new file.
    static READ: RefCell<AHashMap<(Oid, Oid), Rc<IndexOptions>>> = RefCell::default();
}

/// Writes block 1 of an index that is built with `options`. Empties the cache, because a file may be filled again.
pub fn append(file: &mut PageFile, options: &IndexOptions) -> Result<()> {
    assert_eq!(file.next_block(), OPTIONS_BLOCK, "the options come right behind the metapage");
    let json = to_json(options)?;
    if json.len() > MAX_ITEM {
        return Err(limit_exceeded(format!("the options of the index are too long: {} bytes", json.len()))
            .set_detail(format!("At most {} bytes fit into its page.", MAX_ITEM))
            .set_hint("Use fewer stop words."));
    }
    READ.with_borrow_mut(|read| read.clear());
    file.append_one(|page| page.hold(json.as_bytes()));
    Ok(())
}

impl MinlshIndex<'_> {
    /// Reads block 1, which is padded with zeros.
    fn written(&self) -> Option<IndexOptions> {
        let (page, _) = self.tree_page(OPTIONS_BLOCK).ok()?;
        let item = page.item(HIGH_KEY)?.get(TUPLE_HEADER..)?.split(|byte| *byte == 0).next()?;
        serde_json::from_slice::<Built>(item).ok()?.options().ok()
    }

    /// The options with which it was built.
    pub fn options(&self) -> Result<Rc<IndexOptions>> {
        let index = self.open();
        let key = (index.oid(), index.class().relfilenode);
        if let Some(options) = READ.with_borrow(|read| read.get(&key).cloned()) {
            return Ok(options);
        }
        if is_out_of_reach(index) {
            return Err(out_of_reach(&index.name()));
        }
        let options = self.written().map(Rc::new).ok_or_else(|| unreadable(&index.name()))?;
        READ.with_borrow_mut(|read| {
            if read.len() >= REMEMBERED {
                read.clear();
            }
            read.insert(key, options.clone());
        });
        Ok(options)
    }
}

/// Locks an index, and returns the options with which it was built. A partitioned index has no pages: the result is the
/// options of its next partition.
pub fn built(index: Oid) -> Result<Rc<IndexOptions>> {
    let index = Open::relation(index, Lock::Read).ok_or_else(|| no_such_relation(index))?;
    let index = MinlshIndex::of(&index)?;
    match index.open().class().relkind as u8 {
        pg_sys::RELKIND_INDEX => index.options(),
        _ => index.wanted().map(Rc::new),
    }
}

/// Locks an index of this access method, and returns the options that the next REINDEX uses.
pub fn wanted(index: Oid) -> Result<IndexOptions> {
    let index = Open::relation(index, Lock::Read).ok_or_else(|| no_such_relation(index))?;
    MinlshIndex::of(&index)?.wanted()
}

/// The options of an index as JSON, in the order in which they are stored.
pub fn to_json(options: &IndexOptions) -> Result<String> {
    let json = serde_json::to_string(&Built::of(options));
    json.map_err(|cause| internal(format!("options: {cause}")))
}

/// True for an unlogged index on a standby, which does not have its pages.
pub fn is_out_of_reach(index: &Open) -> bool {
    let is_unlogged = index.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_UNLOGGED;
    // SAFETY: reads the state of the server.
    is_unlogged && unsafe { pg_sys::RecoveryInProgress() }
}

fn out_of_reach(index: &str) -> SqlError {
    not_supported(format!("cannot read unlogged index \"{index}\" during recovery"))
        .set_hint("Run the query on the primary server. A standby has no rows of unlogged tables.")
}

fn unreadable(index: &str) -> SqlError {
    wrong_state(format!("the options of minlsh index \"{index}\" cannot be read"))
        .set_detail("The index is damaged, or a later version of minlsh built it.")
        .set_hint("Use REINDEX to build the index again.")
}
