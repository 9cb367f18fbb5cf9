//! What an index is: its tables, its columns, and the configuration its signatures carry.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::Oid;
use sketch::{Banding, Config, SlotBits};

use crate::error::{Result, wrong_state};
use crate::index::home::Home;
use crate::pg::names::{literal, qualified, quoted, regclass_literal, relation_name};
use crate::pg::relation::Column;
use crate::pg::spi::{Plan, Session};

/// How an index cuts, signs and bands its documents.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Everything a signature depends on.
    pub config: Config,
    /// The bands stored for each document.
    pub banding: Banding,
    /// The least similarity the index can be asked for.
    pub threshold: f64,
    /// The share of pairs at a threshold that a query finds, at least.
    pub recall: f64,
    /// How much of each slot of a signature is stored.
    pub slot_bits: SlotBits,
}

/// A query of an index, and the type in which it gives keys back where it does.
pub type PlanKey = (&'static str, Oid);

/// An index as the registry and the catalogs describe it, with the plans of this session.
pub struct Index {
    /// The extension's schema and registry.
    pub home: Home,
    /// The user's table.
    pub relation: Oid,
    /// Whether it is partitioned: whole partitions can go without a trigger being fired.
    pub partitioned: bool,
    /// Whether it is a temporary table: all its rows can go at COMMIT without a trigger being fired.
    pub temporary: bool,
    /// The side table.
    pub storage: Oid,
    /// Whose rights the side table is read and written with.
    pub owner: Oid,
    /// The name it was given, which its triggers pass as their argument.
    pub name: String,
    /// The key column of the user's table.
    pub key: Column,
    /// `OPERATOR(schema.=)` of the key's default btree operator class.
    pub key_equals: String,
    /// The text column of the user's table.
    pub body: Column,
    /// How its documents are cut, signed and banded.
    pub settings: Settings,
    /// The algorithm version its signatures were made with.
    pub version: i32,
    /// Whether the catalog knows that side table and table belong together (a restored dump
    /// does not carry that; the next write mends it).
    pub linked: bool,
    /// The plans made so far.
    pub plans: Plans,
}

/// Plans by what they are for.
#[derive(Default)]
pub struct Plans(RefCell<HashMap<PlanKey, Rc<Plan>>>);

impl Index {
    /// The side table, as SQL names it.
    pub fn storage_name(&self) -> String {
        qualified(self.storage)
    }

    /// The rows of the user's table that are indexed, as FROM names them: an inheritance child has
    /// triggers of its own, a partition is covered by its parent's.
    pub fn rows_of_relation(&self) -> String {
        rows_of(self.relation, self.partitioned)
    }

    /// The rows of the side table that count, as FROM names them: not those of a table that somebody
    /// made inherit from it. A table that COMMIT has emptied has no page, and what the side table has
    /// is left over from before.
    pub fn rows_of_storage(&self) -> String {
        let storage = format!("ONLY {}", self.storage_name());
        if self.temporary {
            let table = self.relation.to_u32();
            format!(
                "(SELECT * FROM {storage} WHERE (SELECT pg_catalog.pg_relation_size({table}::pg_catalog.regclass)) \
                 OPERATOR(pg_catalog.>) 0)"
            )
        } else {
            storage
        }
    }

    /// Refuses an index whose signatures were made by another version of the algorithm.
    pub fn check_version(&self) -> Result<()> {
        if self.version == Config::VERSION {
            return Ok(());
        }
        Err(wrong_state(format!(
            "minlsh index \"{}\" was built by version {} of the algorithm, not {}",
            relation_name(self.storage),
            self.version,
            Config::VERSION
        ))
        .set_hint(format!(
            "Rebuild it with SELECT minlsh_reindex({});",
            regclass_literal(self.storage)
        )))
    }

    /// The plan of a query in this session, made from `sql()` at its first use. It goes with
    /// the index's cache entry when any of its relations changes.
    pub fn plan(
        &self,
        session: &Session,
        key: PlanKey,
        types: &[Oid],
        sql: impl FnOnce() -> String,
    ) -> Result<Rc<Plan>> {
        if let Some(plan) = self.plans.0.borrow().get(&key) {
            return Ok(plan.clone());
        }
        let plan = Rc::new(session.prepare(&sql(), types)?);
        self.plans.0.borrow_mut().insert(key, plan.clone());
        Ok(plan)
    }

    /// The query that makes the rows of the side table from the user's table.
    pub fn documents_query(&self) -> String {
        documents_query(
            &self.home,
            self.relation,
            self.partitioned,
            &self.key.name,
            &self.body.name,
            &self.settings,
        )
    }
}

fn rows_of(relation: Oid, partitioned: bool) -> String {
    let only = if partitioned { "" } else { "ONLY " };
    format!("{only}{}", qualified(relation))
}

/// `SELECT doc_id, signature, bands` of every document that has a shingle. A plain query over
/// public functions: it can run as a parallel plan.
pub fn documents_query(
    home: &Home,
    relation: Oid,
    partitioned: bool,
    key: &str,
    body: &str,
    settings: &Settings,
) -> String {
    let schema = &home.schema;
    let (key, body) = (quoted(key), quoted(body));
    let (config, banding) = (&settings.config, &settings.banding);
    let rows_of_table = rows_of(relation, partitioned);
    let stored = stored_signature(home, "signature", settings);
    // OFFSET 0 keeps the signature from being computed a second time for the bands.
    format!(
        "SELECT doc_id, {stored} AS signature, {schema}.band_hashes(signature, {bands}, {rows}) AS bands \
         FROM (SELECT {key} AS doc_id, {schema}.minhash({body}::pg_catalog.text, {num_perm}, \
         {shingle_size}, {unit}, {scheme}, {seed}) AS signature FROM {rows_of_table} OFFSET 0) AS d \
         WHERE signature IS NOT NULL",
        bands = banding.bands(),
        rows = banding.rows(),
        num_perm = config.num_perm(),
        shingle_size = config.shingle_size(),
        unit = literal(config.unit().as_str()),
        scheme = literal(config.scheme().as_str()),
        seed = bigint_literal(config.seed()),
    )
}

/// What is stored of the signature that `expression` gives.
pub fn stored_signature(home: &Home, expression: &str, settings: &Settings) -> String {
    match settings.slot_bits {
        SlotBits::All => expression.to_owned(),
        packed => format!("{}.minhash_pack({expression}, {})", home.schema, packed.bits()),
    }
}

/// A `bigint` constant that parses for every value, also the least one.
pub fn bigint_literal(value: i64) -> String {
    format!("'{value}'::pg_catalog.int8")
}
