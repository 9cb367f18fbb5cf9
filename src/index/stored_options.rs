//! The options with which an index was built, in its block 1: an inner page that no downlink leads to,
//! which VACUUM passes by and WAL carries.

use std::cell::RefCell;
use std::rc::Rc;

use ahash::AHashMap;
use serde::{Deserialize, Serialize};
use sketch::Banding;

use crate::index::minlsh_index::MinlshIndex;
use crate::index::nbtree::HIGH_KEY;
use crate::index::page_file::{MAX_ITEM, write_single_item};
use crate::index::pages::TUPLE_HEADER;
use crate::options::{IndexOptions, Options, Threshold, Versions};
use crate::pg::rights::no_such_relation;
use crate::prelude::*;

/// The block that has the options of the build.
pub const OPTIONS_BLOCK: pg_sys::BlockNumber = 1;
/// The number of indexes whose options a session remembers.
const REMEMBERED: usize = 64;

/// The content of block 1, as JSON.
#[derive(Serialize, Deserialize)]
struct Built {
    #[serde(flatten)]
    versions: Versions,
    threshold: f64,
    recall: f64,
    bands: usize,
    rows: usize,
    #[serde(flatten)]
    config: Options<'static>,
}

impl Built {
    fn of(options: &IndexOptions) -> Self {
        Self {
            versions: options.outdated.clone().unwrap_or(Versions::CURRENT),
            threshold: options.threshold.get(),
            recall: options.recall,
            bands: options.banding.bands(),
            rows: options.banding.rows(),
            config: Options::of(&options.config),
        }
    }

    fn options(&self) -> Result<IndexOptions, sketch::Error> {
        let config = self.config.read()?;
        Ok(IndexOptions {
            banding: Banding::new(self.bands as i64, self.rows as i64)?,
            threshold: Threshold::checked(self.threshold)?,
            recall: self.recall,
            min_match: None,
            outdated: outdated(&self.versions, config.depends_on_unicode()),
            config,
        })
    }
}

/// The content of block 1 of an index of passages.
#[derive(Serialize, Deserialize)]
struct BuiltOfPassages {
    #[serde(flatten)]
    versions: Versions,
    min_match: usize,
    normalization: String,
}

impl BuiltOfPassages {
    fn of(options: &IndexOptions, min_match: usize) -> Self {
        Self {
            versions: options.outdated.clone().unwrap_or(Versions::CURRENT),
            min_match,
            normalization: options.config.normalization().to_string(),
        }
    }

    fn options(&self) -> Result<IndexOptions> {
        let options = IndexOptions::of_passages(self.min_match as i64, &self.normalization)?;
        let depends_on_unicode = !options.config.normalization().is_none();
        Ok(IndexOptions { outdated: outdated(&self.versions, depends_on_unicode), ..options })
    }
}

/// The versions by which an index was built, if this library would make other entries.
fn outdated(versions: &Versions, depends_on_unicode: bool) -> Option<Versions> {
    let mut versions = versions.clone();
    if !depends_on_unicode {
        versions.unicode = Versions::CURRENT.unicode;
    }
    (versions != Versions::CURRENT).then_some(versions)
}

/// The options that an item of block 1 says.
fn read(item: &[u8]) -> Option<IndexOptions> {
    match serde_json::from_slice::<Built>(item) {
        Ok(built) => built.options().ok(),
        Err(_) => serde_json::from_slice::<BuiltOfPassages>(item).ok()?.options().ok(),
    }
}

thread_local! {
    /// By index and file: a rebuilt index has another file.
    static READ: RefCell<AHashMap<(Oid, u32), Rc<IndexOptions>>> = RefCell::default();
}

/// Writes the options of a build into block 1 of a fork that has just its metapage.
pub fn store(index: &Open, fork: pg_sys::ForkNumber::Type, options: &IndexOptions) -> Result<()> {
    let json = to_json(options)?;
    if json.len() > MAX_ITEM {
        return Err(error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("the options of the index are too long: {} bytes", json.len()),
        )
        .set_detail(format!("At most {} bytes fit into its page.", MAX_ITEM))
        .set_hint("Use fewer stop words."));
    }
    READ.with_borrow_mut(|read| read.clear());
    write_single_item(index, fork, OPTIONS_BLOCK, json.as_bytes());
    Ok(())
}

impl MinlshIndex<'_> {
    /// Reads block 1, which zeros fill up.
    fn written(&self) -> Option<IndexOptions> {
        let (page, _) = self.tree_page(OPTIONS_BLOCK).ok()?;
        read(page.item(HIGH_KEY)?.get(TUPLE_HEADER..)?.split(|byte| *byte == 0).next()?)
    }

    /// The options with which it was built.
    pub fn options(&self) -> Result<Rc<IndexOptions>> {
        let index = self.open();
        let key = (index.oid(), versions::file_number(index.entry()));
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

/// The options with which an index was built, which this locks; of a partitioned index, which has no pages, those
/// that its next partition gets.
pub fn built(index: Oid) -> Result<Rc<IndexOptions>> {
    let index = Open::relation(index, Lock::Read).ok_or_else(|| no_such_relation(index))?;
    let index = MinlshIndex::of(&index)?;
    match index.open().class().relkind as u8 {
        pg_sys::RELKIND_INDEX => index.options(),
        _ => index.wanted().map(Rc::new),
    }
}

/// The options that the next REINDEX gives an index of this access method, which this locks.
pub fn wanted(index: Oid) -> Result<IndexOptions> {
    let index = Open::relation(index, Lock::Read).ok_or_else(|| no_such_relation(index))?;
    MinlshIndex::of(&index)?.wanted()
}

/// The options of an index as JSON, in the order in which they are stored.
pub fn to_json(options: &IndexOptions) -> Result<String> {
    let json = match options.min_match {
        Some(min_match) => serde_json::to_string(&BuiltOfPassages::of(options, min_match)),
        None => serde_json::to_string(&Built::of(options)),
    };
    json.map_err(|cause| error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("options: {cause}")))
}

/// True if a standby has no pages of an index, because it is unlogged.
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
