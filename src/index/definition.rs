//! What an index is: its tables, its columns, and the configuration its signatures carry.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::Oid;
use sketch::{Banding, Config, SlotBits, UNICODE_VERSIONS};

use crate::error::{Result, wrong_state};
use crate::index::home::Home;
use crate::pg::names::{literal, qualified, quoted, regclass_literal, relation_name};
use crate::pg::relation::Column;
use crate::pg::spi::{Plan, Session};

/// How an index cuts, signs and bands its documents.
#[derive(Clone, Debug, PartialEq)]
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
    /// The versions of Unicode that its texts were cut by.
    pub unicode: String,
    /// Whether all documents of the table are in it.
    pub valid: bool,
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

    /// The rows of the user's table that are indexed, as FROM names them.
    pub fn rows_of_relation(&self) -> String {
        self.source().table()
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

    /// Refuses an index that lacks documents.
    pub fn check_valid(&self) -> Result<()> {
        if self.valid {
            return Ok(());
        }
        Err(wrong_state(format!("minlsh index \"{}\" is not finished", relation_name(self.storage)))
            .set_detail("It lacks documents that were in the table before it: minlsh_create_index_concurrently() is at work on it, or was stopped.")
            .set_hint("See minlsh_progress. CALL minlsh_create_index_concurrently() again with the same arguments to finish it, or drop it with minlsh_drop_index()."))
    }

    /// Refuses an index whose signatures were made by another version of the algorithm.
    pub fn check_version(&self) -> Result<()> {
        let index = relation_name(self.storage);
        let message = if self.version != Config::VERSION {
            format!(
                "minlsh index \"{index}\" was built by version {} of the algorithm, not {}",
                self.version,
                Config::VERSION
            )
        } else if self.unicode != UNICODE_VERSIONS && self.settings.config.depends_on_unicode() {
            format!("minlsh index \"{index}\" was built with other versions of Unicode")
        } else {
            return Ok(());
        };
        Err(wrong_state(message).set_hint(format!(
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

    /// The documents of the table.
    pub fn source(&self) -> Source<'_> {
        Source {
            home: &self.home,
            relation: self.relation,
            partitioned: self.partitioned,
            key: &self.key.name,
            body: &self.body.name,
            settings: &self.settings,
        }
    }
}

/// Where the documents of an index come from, and how they are signed.
pub struct Source<'a> {
    /// The extension's schema.
    pub home: &'a Home,
    /// The user's table.
    pub relation: Oid,
    /// Whether it is partitioned.
    pub partitioned: bool,
    /// The key column.
    pub key: &'a str,
    /// The text column.
    pub body: &'a str,
    /// How documents are cut, signed and banded.
    pub settings: &'a Settings,
}

impl Source<'_> {
    /// `SELECT doc_id, signature, bands` of every document that has a shingle: the rows of the
    /// side table. A plain query over public functions: it can run as a parallel plan.
    pub fn documents_query(&self) -> String {
        // OFFSET 0 keeps the signature from being computed a second time for the bands.
        format!("{} WHERE d.signature IS NOT NULL", self.signed("", "OFFSET 0"))
    }

    /// `SELECT doc_id, signature, bands` and `extra` columns of the table's rows `d`, those that
    /// `rest` (WHERE, ORDER BY, and LIMIT or OFFSET) leaves.
    pub fn signed(&self, extra: &str, rest: &str) -> String {
        let Self { home, settings, .. } = self;
        let schema = &home.schema;
        let (config, banding) = (&settings.config, &settings.banding);
        let (extra, outer) = match extra {
            "" => (String::new(), String::new()),
            extra => (format!(", {extra} AS extra"), ", d.extra".to_owned()),
        };
        format!(
            "SELECT d.doc_id, {stored} AS signature, \
             {schema}.band_hashes(d.signature, {bands}, {rows}) AS bands{outer} \
             FROM (SELECT d.{key} AS doc_id, {schema}.minhash(d.{body}::pg_catalog.text, {num_perm}, \
             {shingle_size}, {unit}, {scheme}, {seed}, {text_options}) AS signature{extra} FROM {table} AS d {rest}) AS d",
            stored = stored_signature(home, "d.signature", settings),
            bands = banding.bands(),
            rows = banding.rows(),
            key = quoted(self.key),
            body = quoted(self.body),
            num_perm = config.num_perm(),
            shingle_size = config.shingle_size(),
            unit = literal(config.unit().as_str()),
            scheme = literal(config.scheme().as_str()),
            seed = bigint_literal(config.seed()),
            text_options = text_options(config),
            table = self.table(),
        )
    }

    /// The table, as a query over its own rows names it.
    pub fn table(&self) -> String {
        // An inheritance child has triggers of its own; a partition is covered by its parent's.
        let only = if self.partitioned { "" } else { "ONLY " };
        format!("{only}{}", qualified(self.relation))
    }
}

/// The arguments normalization, stop_words and bag of the pure functions.
pub fn text_options(config: &Config) -> String {
    format!(
        "{}, {}, {}",
        literal(&config.normalization().to_string()),
        literal(&config.stop_words().to_string()),
        config.bag()
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
