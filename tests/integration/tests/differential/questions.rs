//! Questions about a scene: each with what it must answer, by the oracle.

pub mod jobs;
mod lookups;
mod operators;
mod passages;

use minlsh_integration::Random;
use sketch::Banding;

use crate::documents::{Options, Value};
use crate::errors::Refusal;
use crate::oracle::{Documents, Pair};
use crate::scene::{MOST_WHOLE, Of, Scene, TAIL};

/// The answers that a question allows. Rows are columns with ` | ` between them, in any order.
#[derive(Clone, Debug)]
pub enum Expected {
    /// One of these lists of rows: an index, or its rival, may be what is used.
    OneOf(Vec<Vec<String>>),
    /// All of the first rows, and others of the second only: what a search by bands may miss.
    Between(Vec<String>, Vec<String>),
    /// For one of these: the rows that are removed, and all pairs that may stand for it.
    Plan(Vec<(Vec<String>, Vec<String>)>),
    /// A plan that has one of these words.
    Using(Vec<String>),
    /// Nothing but an error.
    Refused,
}

#[derive(Clone, Debug)]
pub struct Question {
    /// The question in a few words: differences are counted by it.
    pub label: String,
    /// Settings, as the lists of SET LOCAL.
    pub settings: Vec<String>,
    /// True if it is asked in a serializable transaction.
    pub serializable: bool,
    /// Statements that give no rows, and the one that does.
    pub before: Vec<String>,
    pub sql: String,
    pub expected: Expected,
    /// Errors that are documented for it.
    pub refusals: Vec<Refusal>,
}

impl Question {
    fn new(label: impl Into<String>, sql: String, expected: Expected) -> Self {
        Self {
            label: label.into(),
            settings: Vec::new(),
            serializable: false,
            before: Vec::new(),
            sql,
            expected,
            refusals: Vec::new(),
        }
    }
}

/// The state of a scene in the database.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The key of each row, as a text.
    pub keys: Vec<String>,
    /// The place of each row in the order of its key.
    pub rank: Vec<usize>,
}

/// Makes questions about a scene.
pub struct Asker<'a> {
    pub scene: &'a Scene,
    pub facts: &'a Facts,
    pub random: &'a mut Random,
}

/// The column from which documents are read, and their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// The kind by the type of the column.
    Itself(Of),
    /// An `integer[]` as a signature.
    Signature,
}

/// Documents as a source gives them.
pub struct Reading {
    pub documents: Documents,
    pub pairs: Vec<Pair>,
}

impl Reading {
    /// The pairs that a job by these bands finds. Of a source with few rows it compares every pair; `rows` has the
    /// number of rows in the source of a row.
    fn meeting(&self, banding: Banding, rows: impl Fn(usize) -> usize) -> Vec<Pair> {
        let is_whole = |pair: &Pair| rows(pair.a) <= MOST_WHOLE;
        let (whole, large): (Vec<Pair>, Vec<Pair>) = self.pairs.iter().copied().partition(is_whole);
        whole.into_iter().chain(self.documents.sharing(&large, 0.0, |_| banding)).collect()
    }
}

const THRESHOLDS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0];

impl Asker<'_> {
    pub fn question(&mut self) -> Option<Question> {
        let mut question = match self.random.below(26) {
            20..26 => self.passages(),
            0..8 => self.job(),
            8 if self.random.below(2) == 0 => self.cluster_of(),
            8 => self.between(),
            9 => self.window(),
            10..14 => self.lookup(),
            14 => self.outside(),
            15 => self.planned().or_else(|| self.recall()),
            16 => self.prepared(),
            17 => self.recall(),
            _ => self.join(),
        }?;
        if self.random.below(6) == 0 {
            question.serializable = true;
        }
        if self.random.below(6) == 0 {
            let modes = ["plan_cache_mode = force_generic_plan", "plan_cache_mode = force_custom_plan"];
            question.settings.push(self.random.pick(&modes).into());
        }
        if question.settings.iter().all(|s| !s.starts_with("enable")) && self.random.below(4) == 0 {
            let scans = ["enable_seqscan = off", "enable_indexscan = off", "enable_bitmapscan = off"];
            question.settings.push(self.random.pick(&scans).into());
        }
        Some(question)
    }

    fn threshold(&mut self) -> f64 {
        let least = if self.scene.kind == crate::documents::Kind::Document { self.scene.own.0 } else { 0.0 };
        loop {
            let threshold = THRESHOLDS[self.random.below(THRESHOLDS.len())];
            if threshold >= least {
                return threshold;
            }
        }
    }

    /// All scopes or none, true if only the even rows are joined, and the conditions of both on the rows `a` and `b`.
    fn joined(&mut self) -> (Vec<usize>, bool, String) {
        let all = &self.scene.scopes;
        let mut scopes: Vec<usize> = Vec::new();
        if !all.is_empty() && self.random.below(2) == 0 {
            scopes = (0..all.len()).collect();
        }
        let only_even = self.random.below(4) == 0;
        let equal = |at: &usize| format!(" AND b.{name} = a.{name}", name = all[*at].name);
        let mut conditions: String = scopes.iter().map(equal).collect();
        if only_even {
            conditions.push_str(" AND b.flag % 2 = 0");
        }
        (scopes, only_even, conditions)
    }

    /// The documents of the rows that `wanted` accepts.
    fn values(&self, how: As, wanted: &dyn Fn(usize) -> bool) -> Vec<Option<Value>> {
        let scene = self.scene;
        let read = |row: usize| {
            let value = scene.rows[row].document.clone().filter(|_| wanted(row))?;
            Some(match (value, how) {
                (Value::Text(text), As::Itself(Of::Longer)) => Value::Text(text + TAIL),
                (Value::Signature(slots), As::Itself(_)) => Value::Set(slots.iter().map(ToString::to_string).collect()),
                (value, _) => value,
            })
        };
        (0..scene.rows.len()).map(read).collect()
    }

    /// The threshold that each row brings.
    fn own_thresholds(&self) -> Vec<f64> {
        (0..self.scene.rows.len()).map(|row| self.scene.own_threshold(row)).collect()
    }

    /// The scopes of all rows by these columns. NULL equals nothing, but in PARTITION BY.
    fn scopes(&self, columns: &[usize], nulls_are_equal: bool) -> Vec<Option<Vec<Option<usize>>>> {
        let of = |row: &crate::scene::Row| {
            let values: Vec<_> = columns.iter().map(|at| row.scopes[*at].map(|value| value.0)).collect();
            (nulls_are_equal || values.iter().all(Option::is_some)).then_some(values)
        };
        self.scene.rows.iter().map(of).collect()
    }

    /// All documents of a source, and all pairs from the threshold on.
    fn reading(
        &self,
        how: As,
        options: &Options,
        threshold: f64,
        scopes: &[usize],
        wanted: &dyn Fn(usize) -> bool,
    ) -> Reading {
        self.reading_without(None, how, options, threshold, scopes, wanted)
    }

    /// The same, without what documents of one origin share, if there are origins.
    fn reading_without(
        &self,
        origins: Option<&[Option<usize>]>,
        how: As,
        options: &Options,
        threshold: f64,
        scopes: &[usize],
        wanted: &dyn Fn(usize) -> bool,
    ) -> Reading {
        let (values, config) = (self.values(how, wanted), options.config());
        let mut documents = Documents::new(&values, self.own_thresholds(), self.scopes(scopes, false), &config);
        if let Some(origins) = origins {
            let are_sets = values.iter().flatten().any(|value| matches!(value, Value::Set(_)));
            documents = documents.without_boilerplate(origins, &config, are_sets);
        }
        let pairs = documents.pairs(threshold);
        Reading { documents, pairs }
    }

    /// The bands of an index that has all rows of the table, of this document cut so, in these scopes.
    fn serves(&self, at: usize, how: As, options: &Options, threshold: f64, scopes: &[usize]) -> Option<Banding> {
        let index = &self.scene.indexes[at];
        let same = index.valid
            && !index.partial
            && index.scopes == scopes
            && self.read_by(at) == how
            && index.options.same_shingles(options)
            && index.threshold <= threshold;
        let banding = index.options.banding(index.threshold);
        same.then(|| banding.trimmed(threshold, index.options.recall))
    }

    /// The pairs that share one of the bands that a search at `threshold` reads in an index with these options for
    /// `least`.
    fn sharing(&self, pairs: &[Pair], how: As, options: &Options, least: f64, threshold: f64) -> Vec<Pair> {
        let reading = self.reading(how, options, threshold, &[], &|_| true);
        let banding = |threshold| options.banding(least).trimmed(threshold, options.recall);
        reading.documents.sharing(pairs, threshold, banding)
    }

    /// The way an index reads its documents.
    fn read_by(&self, at: usize) -> As {
        let index = &self.scene.indexes[at];
        if index.signatures { As::Signature } else { As::Itself(index.of) }
    }

    fn is_even(&self, row: usize) -> bool {
        self.scene.rows[row].flag.is_multiple_of(2)
    }
}

/// A similarity as the answers have it.
fn rounded(similarity: f64) -> String {
    format!("{similarity:.9}")
}
