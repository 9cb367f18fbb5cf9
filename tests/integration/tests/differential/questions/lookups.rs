//! Lookups of stored rows: `near_duplicates()`, `nearest_documents()`.

use super::{As, Asker, Expected, Question, rounded};
use crate::documents::{Drawn, Kind, Options, Value, quoted};
use crate::errors::Refusal;
use crate::oracle::{Pair, clusters};
use crate::scene::{Declared, Index, Of};

/// One that may be asked: an index of the table, or the side table.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    /// Its place among the indexes; `None` is the side table.
    at: Option<usize>,
    how: As,
    threshold: f64,
    options: Options,
    scopes: Vec<usize>,
}

impl<'a> Asker<'a> {
    fn candidate(&self, at: usize) -> Candidate {
        let index = &self.scene.indexes[at];
        Candidate {
            at: Some(at),
            how: self.read_by(at),
            threshold: index.threshold,
            options: index.options,
            scopes: index.scopes.clone(),
        }
    }

    /// The indexes that have all rows of the table, and the side table.
    fn candidates(&self) -> Vec<Candidate> {
        let indexes = &self.scene.indexes;
        let whole = (0..indexes.len()).filter(|at| indexes[*at].valid && !indexes[*at].partial);
        let mut all: Vec<_> = whole.map(|at| self.candidate(at)).collect();
        all.extend(self.scene.side.map(|(threshold, options)| Candidate {
            at: None,
            how: As::Itself(Of::Column),
            threshold,
            options,
            scopes: Vec::new(),
        }));
        all
    }

    pub(super) fn lookup(&mut self) -> Option<Question> {
        let scene = self.scene;
        let threshold = self.threshold();
        let nearest = self.random.below(6) == 0;
        let mut refusals = Vec::new();
        let mut must_fail = false;
        let (target, label, chosen) = match self.random.below(5) {
            0 => (", NULL".to_owned(), "nothing", None),
            1 => (format!(", {}", quoted(&scene.table)), "table", None),
            2 if scene.side.is_some() => (", 'aside'".to_owned(), "side table", Some(None)),
            _ if !scene.indexes.is_empty() => {
                let at = self.random.below(scene.indexes.len());
                (format!(", '{}'", scene.indexes[at].name), "index", Some(Some(at)))
            }
            _ => return None,
        };
        let all = self.candidates();
        let asked: Vec<Candidate> = match chosen {
            Some(Some(at)) => {
                if !scene.indexes[at].valid {
                    refusals.push(Refusal::NotValid);
                    must_fail = true;
                }
                vec![self.candidate(at)]
            }
            Some(None) => all.iter().filter(|one| one.at.is_none()).cloned().collect(),
            None => {
                let first = all.first().cloned();
                let agrees = |one: &&Candidate| {
                    first
                        .as_ref()
                        .is_some_and(|first| one.at.is_some() && Candidate { at: one.at, ..first.clone() } == **one)
                };
                if all.is_empty() {
                    refusals.push(Refusal::NoIndex);
                    // Of partial indexes one must be named.
                    if scene.indexes.iter().any(|index| index.partial) {
                        refusals.push(Refusal::SeveralIndexes);
                    }
                    must_fail = true;
                } else if all.len() > 1 && all.iter().filter(agrees).count() < all.len() {
                    refusals.push(Refusal::SeveralIndexes);
                    must_fail = true;
                }
                all.clone()
            }
        };
        if !scene.declared.names_rows() {
            refusals.extend([Refusal::NoKey, Refusal::NoIndex, Refusal::SeveralIndexes]);
            must_fail = true;
        }
        let partial = chosen.flatten().is_some_and(|at| scene.indexes[at].partial);
        let least = asked.iter().map(|one| one.threshold).fold(f64::INFINITY, f64::min);
        // Documents have thresholds of their own. The greater one counts.
        let own = if scene.kind == Kind::Document { scene.own.0 } else { 0.0 };
        let at_least = if nearest { least.max(own) } else { threshold };
        let is_below = |one: &Candidate| !nearest && threshold < one.threshold;
        if asked.iter().all(is_below) && !asked.is_empty() {
            refusals.push(Refusal::BelowThreshold);
            must_fail = true;
        } else if must_fail && asked.iter().any(is_below) {
            // Which of the reasons comes first is not documented.
            refusals.push(Refusal::BelowThreshold);
        }
        if partial && (0..scene.rows.len()).all(|row| !self.is_even(row)) {
            return None;
        }
        let k = 1 + self.random.below(3);
        let (name, argument) =
            if nearest { ("nearest_documents", k.to_string()) } else { ("near_duplicates", threshold.to_string()) };
        let key = if self.random.below(3) == 0 { format!("d.{}::text", scene.key) } else { format!("d.{}", scene.key) };
        if nearest && asked.len() > 1 {
            // Which of them is asked decides which threshold holds.
            return None;
        }
        let condition = if partial { " WHERE flag % 2 = 0" } else { "" };
        let sql = format!(
            "SELECT d.{}::text, n.doc_id::text, round(n.similarity::numeric, 9) \
             FROM {} AS d, {name}({key}, {argument}{target}) AS n{condition}",
            scene.key, scene.table
        );
        let expected = match asked.first() {
            Some(first) if !must_fail => self.answers(first, at_least, partial, nearest.then_some(k)),
            _ => Expected::Refused,
        };
        let label = if nearest { format!("nearest by {label}") } else { format!("lookup by {label}") };
        let mut question = Question::new(label, sql, expected);
        question.refusals = refusals;
        self.forced(&mut question);
        Some(question)
    }

    /// Forces an index, or a scan of the table.
    fn forced(&mut self, question: &mut Question) {
        match self.random.below(4) {
            0 => question.settings.push("enable_seqscan = off".into()),
            1 => question.settings.extend(["enable_indexscan = off", "enable_bitmapscan = off"].map(str::to_owned)),
            _ => {}
        }
    }

    /// The pairs that a search finds by whichever index of the table the planner takes.
    fn surely(&self, asked: &Candidate, pairs: &[Pair], threshold: f64) -> Vec<Pair> {
        let all = (0..self.scene.indexes.len()).map(|at| self.candidate(at));
        let all = all.chain(self.candidates().into_iter().filter(|one| one.at.is_none()));
        let serving = all.filter(|one| {
            let same = one.how == asked.how && one.options.same_shingles(&asked.options);
            same && one.threshold <= threshold
        });
        serving.fold(pairs.to_vec(), |pairs, one| self.sharing(&pairs, one.how, &one.options, one.threshold, threshold))
    }

    /// The answers of lookups of all rows; of `limit` each, the most similar.
    fn answers(&self, asked: &Candidate, threshold: f64, partial: bool, limit: Option<usize>) -> Expected {
        let wanted = |row: usize| !partial || self.is_even(row);
        let reading = self.reading(asked.how, &asked.options, threshold, &asked.scopes, &wanted);
        let most = reading.pairs.clone();
        let least = self.surely(asked, &reading.pairs, threshold);
        let directed = |pairs: &[Pair]| {
            let mut rows = Vec::new();
            for pair in pairs {
                for (a, b) in [(pair.a, pair.b), (pair.b, pair.a)] {
                    let names = [a, b].map(|row| self.facts.keys[row].clone());
                    rows.push((
                        a,
                        pair.similarity,
                        format!("{} | {} | {}", names[0], names[1], rounded(pair.similarity)),
                    ));
                }
            }
            rows
        };
        match limit {
            None => {
                let texts = |rows: Vec<(usize, f64, String)>| rows.into_iter().map(|r| r.2).collect();
                Expected::Between(texts(directed(&least)), texts(directed(&most)))
            }
            Some(limit) => {
                // Those that are more similar than the first that is left out must be there.
                let (least, most) = (directed(&least), directed(&most));
                let sure = |row: &&(usize, f64, String)| {
                    most.iter().filter(|other| other.0 == row.0 && other.1 >= row.1).count() <= limit
                };
                let sure = least.iter().filter(sure).map(|row| row.2.clone()).collect();
                Expected::Between(sure, most.into_iter().map(|row| row.2).collect())
            }
        }
    }

    /// A key outside of a partial index, or a key that is not there.
    pub(super) fn outside(&mut self) -> Option<Question> {
        let scene = self.scene;
        let partial = (0..scene.indexes.len()).find(|at| {
            let index = &scene.indexes[*at];
            index.partial && index.valid
        })?;
        if !scene.declared.names_rows() || scene.declared == Declared::Unique {
            return None;
        }
        // A row without a document has no near-duplicates, wherever it is.
        let documents = self.values(self.read_by(partial), &|row| !self.is_even(row));
        let config = scene.indexes[partial].options.config();
        let drawn = |value: &Option<Value>| value.as_ref().is_some_and(|value| Drawn::of(value, &config).is_some());
        let row = documents.iter().position(drawn)?;
        let sql = format!(
            "SELECT doc_id::text FROM near_duplicates(({})::{}, 1.0, '{}')",
            scene.rows[row].key, scene.key_type, scene.indexes[partial].name
        );
        let nothing = Expected::OneOf(vec![Vec::new()]);
        Some(Question::new("lookup outside of a partial index", sql, nothing))
    }

    /// An index that all its rows are looked up by, the threshold of that, and how it is asked.
    fn audited(&mut self) -> Option<(&'a Index, f64, Candidate)> {
        let scene = self.scene;
        if scene.indexes.is_empty() || !scene.declared.names_rows() {
            return None;
        }
        let at = self.random.below(scene.indexes.len());
        let index = &scene.indexes[at];
        let threshold = self.threshold().max(index.threshold);
        index.valid.then(|| (index, threshold, self.candidate(at)))
    }

    /// The clusters of all rows, each found by lookups that start from it.
    pub(super) fn cluster_of(&mut self) -> Option<Question> {
        let (index, threshold, asked) = self.audited()?;
        let scene = self.scene;
        let wanted = |row: usize| !index.partial || self.is_even(row);
        let reading = self.reading(asked.how, &asked.options, threshold, &asked.scopes, &wanted);
        let pairs = &reading.pairs;
        if self.surely(&asked, pairs, threshold).len() < pairs.len() {
            return None;
        }
        let names = clusters(scene.rows.len(), pairs, &self.facts.rank);
        let mut rows = Vec::new();
        for a in (0..names.len()).filter(|row| wanted(*row)) {
            for b in (0..names.len()).filter(|b| names[*b] == names[a]) {
                if names.iter().filter(|name| **name == names[a]).count() > 1 {
                    rows.push(format!("{} | {}", self.facts.keys[a], self.facts.keys[b]));
                }
            }
        }
        let key = if self.random.below(3) == 0 { "::text" } else { "" };
        let sql = format!(
            "SELECT d.{name}::text, c.doc_id::text FROM {} AS d, \
             near_duplicate_cluster_of(d.{name}{key}, {threshold}, '{}') AS c{}",
            scene.table,
            index.name,
            if index.partial { " WHERE flag % 2 = 0" } else { "" },
            name = scene.key
        );
        let mut question = Question::new("cluster of a row", sql, Expected::OneOf(vec![rows]));
        self.forced(&mut question);
        Some(question)
    }

    /// An audit of an index, which samples all documents.
    pub(super) fn recall(&mut self) -> Option<Question> {
        let (index, threshold, asked) = self.audited()?;
        let wanted = |row: usize| !index.partial || self.is_even(row);
        let reading = self.reading(asked.how, &asked.options, threshold, &asked.scopes, &wanted);
        let least = self.surely(&asked, &reading.pairs, threshold);
        let copies = |pairs: &[Pair]| 2 * pairs.iter().filter(|pair| pair.similarity == 1.0).count();
        let others = |pairs: &[Pair]| 2 * pairs.len() - copies(pairs);
        let most = &reading.pairs;
        let found = others(&least)..=others(most);
        let rows = found.map(|found| vec![format!("{} | {found} | {c} | {c}", others(most), c = copies(most))]);
        let sql = format!(
            "SELECT pairs, pairs_found, copies, copies_found FROM minlsh_recall('{}', {threshold}) LIMIT 1",
            index.name
        );
        let mut question = Question::new("recall by index", sql, Expected::OneOf(rows.collect()));
        self.forced(&mut question);
        Some(question)
    }
}
