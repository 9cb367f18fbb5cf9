//! Questions about passages: joins and searches by `~>`, coverages, and jobs of a whole corpus. Nothing may be
//! missed, so each has one answer.

use std::collections::{HashMap, HashSet};

use super::operators::WAYS;
use super::{As, Asker, Expected, Question, rounded};
use crate::documents::{Kind, Value, quoted};
use crate::passages::{Cut, contains, covered};
use crate::scene::{Of, TAIL};

/// The part of another text that a text must have.
struct Sought {
    of: Of,
    cut: Cut,
    coverage: f64,
}

impl Sought {
    /// A passage as SQL has it, of a text.
    fn sql(&self, text: &str) -> String {
        let Cut { min_match, normalization } = self.cut;
        format!("minlsh_passage({text}, {}, {min_match}, '{normalization}')", self.coverage)
    }
}

const EVEN: &str = " WHERE flag % 2 = 0";

/// A row, the values of its scopes, and its text.
type Document = (usize, Vec<Option<usize>>, Vec<char>);

/// The documents of a job.
struct Corpus {
    sql: String,
    /// The same, of some of the rows.
    even: String,
    /// The arguments that follow, each after a comma.
    arguments: String,
    min_match: usize,
    /// In the order of keys: its row, its scope and its characters.
    documents: Vec<Document>,
}

impl Asker<'_> {
    pub(super) fn passages(&mut self) -> Option<Question> {
        if !matches!(self.scene.kind, Kind::Text(_)) {
            return None;
        }
        match self.random.below(10) {
            9 => Some(self.passages_between()),
            8 => Some(self.contained()),
            0 => Some(self.coverages()),
            1 => Some(self.repeated()),
            2 => Some(self.common()),
            3 | 4 => self.prepared_passage(),
            _ => Some(self.passage_join()),
        }
    }

    /// Chooses a passage that an index serves, or nearly serves, or that no index serves.
    fn sought(&mut self) -> Sought {
        let indexes = &self.scene.passages;
        let coverage = [1.0, 0.9, 0.8, 0.5, 0.3, 0.05][self.random.below(6)];
        let Some(index) = indexes.get(self.random.below(indexes.len() + 1)) else {
            return Sought { of: Of::Column, cut: Cut::random(self.random), coverage };
        };
        let mut cut = index.cut;
        match self.random.below(6) {
            0 => cut.min_match += 5,
            1 => cut.min_match = 16,
            2 => cut.normalization = "plain",
            _ => {}
        }
        Sought { of: index.of, cut, coverage }
    }

    /// The characters of each row's text.
    fn characters(&self, of: Of, cut: Cut) -> Vec<Option<Vec<char>>> {
        let values = self.values(As::Itself(of), &|_| true);
        let read = |value: Option<Value>| match value {
            Some(Value::Text(text)) => Some(cut.characters(&text)),
            _ => None,
        };
        values.into_iter().map(read).collect()
    }

    fn text_of(&self, of: Of, row: &str) -> String {
        let column = format!("{row}.{}", self.scene.body);
        match of {
            Of::Longer => format!("({column}::text || '{TAIL}')"),
            Of::Column => column,
        }
    }

    fn passage_join(&mut self) -> Question {
        let (scene, sought) = (self.scene, self.sought());
        let texts = self.characters(sought.of, sought.cut);
        let (scopes, only_even, more) = self.joined();
        let in_scopes = self.scopes(&scopes, false);
        let mut rows = Vec::new();
        for (a, passage) in texts.iter().enumerate() {
            for (b, body) in texts.iter().enumerate() {
                let (Some(passage), Some(body)) = (passage, body) else { continue };
                let is_asked = in_scopes[a].is_some() && in_scopes[a] == in_scopes[b];
                if is_asked
                    && (!only_even || self.is_even(b))
                    && contains(passage, body, sought.cut.min_match, sought.coverage)
                {
                    rows.push(format!("{} | {}", self.facts.keys[a], self.facts.keys[b]));
                }
            }
        }
        let body = self.text_of(sought.of, "b");
        let passage = sought.sql(&format!("{}::text", self.text_of(sought.of, "a")));
        let condition = match self.random.below(4) {
            0 => format!("{passage} <~ {body}"),
            _ => format!("{body} ~> {passage}"),
        };
        let sql = format!(
            "SELECT a.{key}::text, b.{key}::text FROM {table} AS a JOIN {table} AS b ON {condition}{more}",
            key = scene.key,
            table = scene.table
        );
        let (settings, _) = WAYS[self.random.below(WAYS.len())];
        let mut question = Question::new("join by passages", sql, Expected::OneOf(vec![rows]));
        question.settings.extend(settings.iter().map(|one| (*one).to_owned()));
        question
    }

    fn prepared_passage(&mut self) -> Option<Question> {
        let (scene, sought) = (self.scene, self.sought());
        let texts = self.characters(sought.of, sought.cut);
        let row = self.random.below(scene.rows.len());
        let Some(Value::Text(text)) = &scene.rows[row].document else { return None };
        // A part of a text is sought, or all of it.
        let characters: Vec<char> = text.chars().collect();
        let from = self.random.below(characters.len() + 1);
        let end = from + self.random.below(characters.len() + 1 - from);
        let part: String = match self.random.below(2) {
            0 => text.clone(),
            _ => characters[from..end].iter().collect(),
        };
        let passage = sought.cut.characters(&part);
        let found = |(_, body): &(usize, &Option<Vec<char>>)| {
            let body = body.as_ref();
            body.is_some_and(|body| contains(&passage, body, sought.cut.min_match, sought.coverage))
        };
        let rows = texts.iter().enumerate().filter(found);
        let rows = rows.map(|(row, _)| self.facts.keys[row].clone()).collect();
        let (parameter, right, argument) = match self.random.below(3) {
            0 => ("text", sought.sql("$1"), quoted(&part)),
            1 => ("minlsh_passage", "$1".to_owned(), sought.sql(&quoted(&part))),
            _ => ("text", format!("ANY (ARRAY[{}])", sought.sql("$1")), quoted(&part)),
        };
        let sql = format!("EXECUTE p ({argument})");
        let mut question =
            Question::new("prepared search for a passage", sql, Expected::OneOf(vec![rows]));
        question.before.push(format!(
            "PREPARE p ({parameter}) AS SELECT {}::text FROM {} AS b WHERE {} ~> {right}",
            scene.key,
            scene.table,
            self.text_of(sought.of, "b")
        ));
        let times = [0, 0, 6][self.random.below(3)];
        question.before.extend((0..times).map(|_| format!("EXECUTE p ({argument})")));
        let (settings, _) = WAYS[self.random.below(WAYS.len())];
        question.settings.extend(settings.iter().map(|one| (*one).to_owned()));
        let mode = ["force_generic_plan", "force_custom_plan", "auto"][self.random.below(3)];
        question.settings.push(format!("plan_cache_mode = {mode}"));
        Some(question)
    }

    /// The pure functions, which agree with each other.
    fn coverages(&mut self) -> Question {
        let (scene, cut) = (self.scene, Cut::random(self.random));
        let texts = self.characters(Of::Column, cut);
        let mut rows = Vec::new();
        for (a, passage) in texts.iter().enumerate() {
            for (b, body) in texts.iter().enumerate() {
                let (Some(passage), Some(body)) = (passage, body) else { continue };
                if !passage.is_empty() {
                    let share = covered(passage, body, cut.min_match) as f64 / passage.len() as f64;
                    let keys = &self.facts.keys;
                    rows.push(format!("{} | {} | {}", keys[a], keys[b], rounded(share)));
                }
            }
        }
        let Cut { min_match, normalization } = cut;
        let sql = format!(
            "SELECT a.{key}::text, b.{key}::text, round(c::numeric, 9) FROM {table} AS a, {table} AS b, \
             passage_coverage(a.{body}, b.{body}, {min_match}, '{normalization}') AS c WHERE c IS NOT NULL",
            key = scene.key,
            body = scene.body,
            table = scene.table
        );
        Question::new("coverage", sql, Expected::OneOf(vec![rows]))
    }

    /// A query as the source of a job, whose passages are characters as they are stored.
    fn corpus(&mut self) -> Corpus {
        let scene = self.scene;
        let cut = Cut { normalization: "none", ..Cut::random(self.random) };
        let mut columns = vec![scene.key.clone(), scene.body.clone()];
        let mut arguments = format!(
            ", min_match => {}, normalization => 'none', body => {}",
            cut.min_match,
            quoted(&scene.body)
        );
        let mut scopes = Vec::new();
        if !scene.scopes.is_empty() && self.random.below(2) == 0 {
            let at = self.random.below(scene.scopes.len());
            columns.push(scene.scopes[at].name.clone());
            arguments.push_str(&format!(", scope => {}", quoted(&scene.scopes[at].name)));
            scopes.push(at);
        }
        let only_even = self.random.below(3) == 0;
        let condition = if only_even { EVEN } else { "" };
        let in_scopes = self.scopes(&scopes, false);
        let texts = self.characters(Of::Column, cut);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|row| self.facts.rank[*row]);
        let wanted = |row: &usize| !only_even || self.is_even(*row);
        let rows = |condition: &str| {
            quoted(&format!("SELECT {} FROM {}{condition}", columns.join(", "), scene.table))
        };
        let documents = order.into_iter().filter(wanted).filter_map(|row| {
            let scope = in_scopes[row].clone()?;
            Some((row, scope, texts[row].clone()?))
        });
        Corpus {
            documents: documents.collect(),
            sql: rows(condition),
            even: rows(EVEN),
            arguments,
            min_match: cut.min_match,
        }
    }

    /// The windows of each document that an earlier one has.
    fn repeated(&mut self) -> Question {
        let Corpus { sql, arguments, min_match, documents, .. } = self.corpus();
        let mut seen = HashSet::new();
        let mut rows = Vec::new();
        for (row, scope, text) in &documents {
            for (at, window) in text.windows(min_match).enumerate() {
                if seen.contains(&(scope, window)) {
                    rows.push(format!("{} | {}", self.facts.keys[*row], at + 1));
                }
            }
            seen.extend(text.windows(min_match).map(|window| (scope, window)));
        }
        let sql = format!(
            "SELECT DISTINCT doc_id, generate_series(passage_from, passage_from + passage_length - {min_match}) \
             FROM repeated_passages({sql}{arguments})"
        );
        Question::new("repeated passages", sql, Expected::OneOf(vec![rows]))
    }

    /// The windows that documents have in common with the even ones.
    fn passages_between(&mut self) -> Question {
        let Corpus { sql, even, arguments, min_match, documents } = self.corpus();
        let coverage = [None, Some(0.05), Some(0.5), Some(1.0)][self.random.below(4)];
        let most = [1, 2, 3, 100][self.random.below(4)];
        let others: Vec<_> = documents.iter().filter(|other| self.is_even(other.0)).collect();
        let mut count = HashMap::new();
        for (_, scope, text) in &others {
            for window in text.windows(min_match).collect::<HashSet<_>>() {
                *count.entry((scope, window)).or_insert(0) += 1;
            }
        }
        let mut rows = Vec::new();
        for (a, scope, text) in documents.iter().filter(|one| one.2.len() >= min_match) {
            for (b, _, other) in others.iter().filter(|other| other.1 == *scope) {
                if coverage.is_some_and(|share| !contains(text, other, min_match, share)) {
                    continue;
                }
                let has: HashSet<_> = other.windows(min_match).collect();
                for (at, window) in text.windows(min_match).enumerate() {
                    if has.contains(window) && count[&(scope, window)] <= most {
                        let keys = &self.facts.keys;
                        rows.push(format!("{} | {} | {}", keys[*a], keys[*b], at + 1));
                    }
                }
            }
        }
        let coverage = coverage.map_or_else(|| "NULL".to_owned(), |share| share.to_string());
        let sql = format!(
            "SELECT DISTINCT a_id, b_id, generate_series(a_from, a_from + a_length - {min_match}) \
             FROM passages_between({sql}, {even}, coverage => {coverage}, max_documents => {most}{arguments})"
        );
        Question::new("passages between", sql, Expected::OneOf(vec![rows]))
    }

    /// Asks which documents others have a share of: the longest of these, and how many there are.
    fn contained(&mut self) -> Question {
        let Corpus { sql, arguments, min_match, documents, .. } = self.corpus();
        let coverage = [1.0, 0.9, 0.8, 0.5, 0.3, 0.05][self.random.below(6)];
        let mut different: Vec<&Document> = Vec::new();
        for one in documents.iter().filter(|one| one.2.len() >= min_match) {
            if different.iter().all(|other| (&other.1, &other.2) != (&one.1, &one.2)) {
                different.push(one);
            }
        }
        let mut rows = Vec::new();
        for (document, scope, text) in &different {
            let has = |other: &&&Document| {
                other.0 != *document
                    && other.1 == *scope
                    && contains(text, &other.2, min_match, coverage)
            };
            let containers: Vec<_> = different.iter().filter(has).collect();
            // The first of the longest.
            let longest = containers.iter().rev().max_by_key(|other| other.2.len());
            if let Some((container, _, body)) = longest.map(|longest| **longest) {
                let share = covered(text, body, min_match) as f64 / text.len() as f64;
                let (keys, count) = (&self.facts.keys, containers.len());
                let (document, container) = (&keys[*document], &keys[*container]);
                rows.push(format!("{document} | {container} | {} | {count}", rounded(share)));
            }
        }
        let sql = format!(
            "SELECT doc_id, container_id, round(coverage::numeric, 9), containers \
             FROM contained_documents({sql}, {coverage}{arguments})"
        );
        Question::new("contained documents", sql, Expected::OneOf(vec![rows]))
    }

    /// The passages that enough different documents have, each of the first document that has most of it.
    fn common(&mut self) -> Question {
        let Corpus { sql, arguments, min_match, documents, .. } = self.corpus();
        let least = 2 + self.random.below(3);
        let mut different: Vec<&Document> = Vec::new();
        let mut count: HashMap<_, usize> = HashMap::new();
        for one in &documents {
            if different.iter().all(|other| (&other.1, &other.2) != (&one.1, &one.2)) {
                different.push(one);
                for window in one.2.windows(min_match).collect::<HashSet<_>>() {
                    *count.entry((&one.1, window)).or_default() += 1;
                }
            }
        }
        let mut listed = HashSet::new();
        let mut rows = Vec::new();
        for (row, scope, text) in different {
            let mut runs: Vec<(std::ops::Range<usize>, usize)> = Vec::new();
            let mut is_listed = vec![false; text.len()];
            let mut before = 0;
            for (at, window) in text.windows(min_match).enumerate() {
                let documents = count[&(scope, window)];
                if documents < least {
                    continue;
                }
                if listed.contains(&(scope, window)) {
                    is_listed[at..at + min_match].fill(true);
                }
                let is_alike = documents < 2 * before && before < 2 * documents;
                before = documents;
                match runs.last_mut() {
                    Some((run, of)) if is_alike && run.end == at + min_match - 1 => {
                        (run.end, *of) = (at + min_match, documents.min(*of));
                    }
                    _ => runs.push((at..at + min_match, documents)),
                }
            }
            runs.sort_by_key(|(_, documents)| std::cmp::Reverse(*documents));
            for (run, documents) in runs {
                let new = run.clone().filter(|at| !is_listed[*at]).count();
                if new >= min_match {
                    is_listed[run.clone()].fill(true);
                    listed.extend(text[run.clone()].windows(min_match).map(|one| (scope, one)));
                    let passage: String = text[run.clone()].iter().collect();
                    let key = &self.facts.keys[*row];
                    rows.push(format!("{passage} | {documents} | {key} | {}", run.start + 1));
                }
            }
        }
        let sql = format!(
            "SELECT passage, documents, doc_id, passage_from FROM common_passages({sql}, {least}{arguments})"
        );
        Question::new("common passages", sql, Expected::OneOf(vec![rows]))
    }
}
