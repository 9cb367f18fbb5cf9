//! Questions about passages: joins and searches by `~>`, coverages, and jobs of a whole corpus. Nothing may be
//! missed, so each has one answer.

use std::collections::{HashMap, HashSet};

use minlsh_integration::Random;

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

/// A document of a job.
struct Document {
    key: String,
    /// True if it is in the second source of a job that reads two.
    is_even: bool,
    scope: Vec<Option<usize>>,
    text: Vec<char>,
}

impl Document {
    /// True if only the keys differ.
    fn is_copy_of(&self, other: &Self) -> bool {
        (&self.scope, &self.text) == (&other.scope, &other.text)
    }

    /// The first place of a passage, if it has it.
    fn find(&self, passage: &[char]) -> Option<usize> {
        self.text.windows(passage.len()).position(|part| part == passage)
    }
}

/// The documents of a job.
struct Corpus {
    /// A query.
    sql: String,
    /// The same, of some of the rows.
    even: String,
    /// The name of the column of texts.
    body: String,
    /// The name of the column of keys.
    key: String,
    /// The arguments that follow, each after a comma.
    arguments: String,
    min_match: usize,
    /// In the order of keys.
    documents: Vec<Document>,
}

impl Corpus {
    /// The documents without copies: the first of equal ones is left.
    fn different(&self) -> Vec<&Document> {
        let mut different: Vec<&Document> = Vec::new();
        for one in &self.documents {
            if different.iter().all(|other| !other.is_copy_of(one)) {
                different.push(one);
            }
        }
        different
    }

    /// The number of documents that have each window, copies counted once.
    fn counts(&self) -> HashMap<(&[Option<usize>], &[char]), usize> {
        let mut counts = HashMap::new();
        for one in self.different() {
            for window in one.text.windows(self.min_match).collect::<HashSet<_>>() {
                *counts.entry((&one.scope[..], window)).or_default() += 1;
            }
        }
        counts
    }
}

impl Asker<'_> {
    pub(super) fn passages(&mut self) -> Option<Question> {
        if !matches!(self.scene.kind, Kind::Text(_)) {
            return None;
        }
        match self.random.below(13) {
            11 | 12 => Some(self.common()),
            10 => Some(self.stripped()),
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
        let row = self.random.below(scene.filled);
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
        let mut question = Question::new("prepared search for a passage", sql, Expected::OneOf(vec![rows]));
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
        if self.random.below(2) == 0 {
            return self.made_up_corpus();
        }
        let scene = self.scene;
        let cut = Cut { normalization: "none", ..Cut::random(self.random) };
        let mut columns = vec![scene.key.clone(), scene.body.clone()];
        let mut arguments =
            format!(", min_match => {}, normalization => 'none', body => {}", cut.min_match, quoted(&scene.body));
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
        let rows = |condition: &str| format!("SELECT {} FROM {}{condition}", columns.join(", "), scene.table);
        let documents = order.into_iter().filter(wanted).filter_map(|row| {
            Some(Document {
                key: self.facts.keys[row].clone(),
                is_even: self.is_even(row),
                scope: in_scopes[row].clone()?,
                text: texts[row].clone()?,
            })
        });
        Corpus {
            documents: documents.collect(),
            sql: rows(condition),
            even: rows(EVEN),
            body: scene.body.clone(),
            key: scene.key.clone(),
            arguments,
            min_match: cut.min_match,
        }
    }

    /// Texts made of parts of a few sentences that overlap, so that passages are next to others, within others, and
    /// cut off, here in one way and there in another.
    fn made_up_corpus(&mut self) -> Corpus {
        let random = &mut *self.random;
        let word = |random: &mut Random| {
            let letter = ["a", "b", "c", "Ä", "漢"][random.below(5)];
            letter.repeat(1 + random.below(8))
        };
        let sentences: Vec<Vec<String>> =
            (0..1 + random.below(3)).map(|_| (0..4 + random.below(6)).map(|_| word(random)).collect()).collect();
        let mut documents = Vec::new();
        for key in 1..=2 + random.below(11) {
            let mut text = String::new();
            for _ in 0..1 + random.below(3) {
                let sentence = &sentences[random.below(sentences.len())];
                let from = random.below(sentence.len());
                let to = from + 1 + random.below(sentence.len() - from);
                text.push_str(&sentence[from..to].join(" "));
                text.push_str([" ", " ", "", ". "][random.below(4)]);
            }
            // A quarter of the texts are made of the sentences alone.
            if random.below(4) > 0 {
                text.push_str(&format!("{:x}", random.seed()));
            }
            let copies = if random.below(8) == 0 { 2 } else { 1 };
            for copy in 0..copies {
                documents.push((key * 10 + copy, text.clone()));
            }
        }
        let min_match = 16 + random.below(5);
        let values = documents.iter().map(|(key, text)| format!("({key}, {})", quoted(text)));
        let values = values.collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT * FROM (VALUES {values}) AS made (id, body)");
        let documents = documents.into_iter().map(|(key, text)| Document {
            key: key.to_string(),
            is_even: key % 20 < 10,
            scope: Vec::new(),
            text: text.chars().collect(),
        });
        Corpus {
            documents: documents.collect(),
            even: format!("{sql} WHERE id % 20 < 10"),
            sql,
            body: "body".into(),
            key: "id".into(),
            arguments: format!(", min_match => {min_match}, normalization => 'none'"),
            min_match,
        }
    }

    /// The runs of each document that an earlier one has, with the first place of them.
    fn repeated(&mut self) -> Question {
        let Corpus { sql, arguments, min_match, documents, .. } = self.corpus();
        let mut first: HashMap<_, (usize, usize)> = HashMap::new();
        let mut rows = Vec::new();
        for (number, Document { key, scope, text, .. }) in documents.iter().enumerate() {
            // Its first window, the number of its windows, and the place of the first one.
            let mut runs: Vec<(usize, usize, (usize, usize))> = Vec::new();
            for (at, window) in text.windows(min_match).enumerate() {
                let of = *first.entry((scope, window)).or_insert((number, at));
                if of.0 == number {
                    continue;
                }
                match runs.last_mut() {
                    Some((from, count, (document, place)))
                        if *from + *count == at && (*document, *place + *count) == of =>
                    {
                        *count += 1;
                    }
                    _ => runs.push((at, 1, of)),
                }
            }
            for (at, count, (document, place)) in runs {
                let (length, of) = (count + min_match - 1, &documents[document].key);
                rows.push(format!("{key} | {} | {length} | {of} | {}", at + 1, place + 1));
            }
        }
        let sql = format!("SELECT * FROM repeated_passages({}{arguments})", quoted(&sql));
        Question::new("repeated passages", sql, Expected::OneOf(vec![rows]))
    }

    /// The windows that documents have in common with the even ones.
    fn passages_between(&mut self) -> Question {
        let Corpus { sql, even, body, key, arguments, min_match, documents } = self.corpus();
        let coverage = [None, Some(0.05), Some(0.5), Some(1.0)][self.random.below(4)];
        let most = [1, 2, 3, 100][self.random.below(4)];
        let others: Vec<_> = documents.iter().filter(|other| other.is_even).collect();
        let mut count = HashMap::new();
        for Document { scope, text, .. } in &others {
            for window in text.windows(min_match).collect::<HashSet<_>>() {
                *count.entry((scope, window)).or_insert(0) += 1;
            }
        }
        let mut rows = Vec::new();
        for a in documents.iter().filter(|one| one.text.len() >= min_match) {
            for b in others.iter().filter(|other| other.scope == a.scope) {
                if coverage.is_some_and(|share| !contains(&a.text, &b.text, min_match, share)) {
                    continue;
                }
                let has: HashSet<_> = b.text.windows(min_match).collect();
                for (at, window) in a.text.windows(min_match).enumerate() {
                    if has.contains(window) && count[&(&a.scope, window)] <= most {
                        rows.push(format!("{} | {} | {} | t | t", a.key, b.key, at + 1));
                    }
                }
            }
        }
        let coverage = coverage.map_or_else(|| "NULL".to_owned(), |share| share.to_string());
        let is_there = |source: &str, side: &str| {
            format!(
                "EXISTS (SELECT FROM ({source}) AS source WHERE {key}::text = {side}_id::text \
                 AND substr({body}::text, {side}_from, {side}_length) = passage)"
            )
        };
        let sql = format!(
            "SELECT DISTINCT a_id, b_id, generate_series(a_from, a_from + a_length - {min_match}), {}, {} \
             FROM passages_between({}, {}, coverage => {coverage}, max_documents => {most}{arguments})",
            is_there(&sql, "a"),
            is_there(&even, "b"),
            quoted(&sql),
            quoted(&even)
        );
        Question::new("passages between", sql, Expected::OneOf(vec![rows]))
    }

    /// Asks which documents others have a share of: the longest of these, and how many there are.
    fn contained(&mut self) -> Question {
        let corpus = self.corpus();
        let min_match = corpus.min_match;
        let coverage = [1.0, 0.9, 0.8, 0.5, 0.3, 0.05][self.random.below(6)];
        let mut different = corpus.different();
        different.retain(|one| one.text.len() >= min_match);
        let mut rows = Vec::new();
        for one in &different {
            let has = |other: &&&Document| {
                other.key != one.key
                    && other.scope == one.scope
                    && contains(&one.text, &other.text, min_match, coverage)
            };
            let containers: Vec<_> = different.iter().filter(has).collect();
            // The first of the longest.
            let longest = containers.iter().rev().max_by_key(|other| other.text.len());
            if let Some(container) = longest {
                let covered = covered(&one.text, &container.text, min_match);
                let share = rounded(covered as f64 / one.text.len() as f64);
                let count = containers.len();
                rows.push(format!("{} | {} | {share} | {count}", one.key, container.key));
            }
        }
        let sql = format!(
            "SELECT doc_id, container_id, round(coverage::numeric, 9), containers \
             FROM contained_documents({}, {coverage}{})",
            quoted(&corpus.sql),
            corpus.arguments
        );
        Question::new("contained documents", sql, Expected::OneOf(vec![rows]))
    }

    /// The passages that enough different documents have, each with the first document that has it.
    fn common(&mut self) -> Question {
        let corpus = self.corpus();
        let (min_match, counts) = (corpus.min_match, corpus.counts());
        let least = 2 + self.random.below(3);
        let different = corpus.different();
        let mut listed = HashSet::new();
        let mut rows = Vec::new();
        for one in &different {
            let (scope, text) = (&one.scope[..], &one.text[..]);
            let mut runs: Vec<(std::ops::Range<usize>, usize)> = Vec::new();
            let mut before = 0;
            for (at, window) in text.windows(min_match).enumerate() {
                let documents = counts[&(scope, window)];
                if documents < least {
                    continue;
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
                let mut is_listed = vec![false; text.len()];
                for (at, window) in text.windows(min_match).enumerate() {
                    if listed.contains(&(scope, window)) {
                        is_listed[at..at + min_match].fill(true);
                    }
                }
                let passage = &text[run.clone()];
                if run.filter(|at| !is_listed[*at]).count() < min_match {
                    continue;
                }
                listed.extend(passage.windows(min_match).map(|window| (scope, window)));
                let mut having = different.iter().filter(|other| other.scope == scope);
                let first = having.find(|other| other.find(passage).is_some()).expect("itself");
                let passage: String = passage.iter().collect();
                rows.push(format!("{passage} | {documents} | {} | t", first.key));
            }
        }
        let Corpus { sql, body, key, arguments, .. } = &corpus;
        let sql = format!(
            "SELECT passage, documents, doc_id, EXISTS (SELECT FROM ({sql}) AS source \
             WHERE {key}::text = doc_id::text \
             AND substr({body}::text, passage_from, passage_length) = passage) \
             FROM common_passages({}, {least}{arguments})",
            quoted(sql)
        );
        Question::new("common passages", sql, Expected::OneOf(vec![rows]))
    }

    /// The texts without the windows that enough different documents have, where words stay whole.
    fn stripped(&mut self) -> Question {
        let corpus = self.corpus();
        let (min_match, counts) = (corpus.min_match, corpus.counts());
        let least = 2 + self.random.below(3);
        let mut rows = Vec::new();
        for Document { key, scope, text, .. } in &corpus.documents {
            let mut is_common = vec![false; text.len()];
            for (at, window) in text.windows(min_match).enumerate() {
                if counts[&(&scope[..], window)] >= least {
                    is_common[at..at + min_match].fill(true);
                }
            }
            let (mut left, mut removed, mut at) = (String::new(), 0, 0);
            while at < text.len() {
                let is_word = |at: usize| text.get(at).is_some_and(|c| c.is_alphanumeric());
                let length = is_common[at..].iter().take_while(|common| **common).count();
                let (mut from, mut to) = (at, at + length);
                if at > 0 && is_word(at - 1) {
                    from += (at..to).take_while(|at| is_word(*at)).count();
                }
                if is_word(to) {
                    to -= (from..to).rev().take_while(|at| is_word(*at)).count();
                }
                left.extend(&text[at..from]);
                if from < to {
                    left.push(' ');
                }
                removed += to - from;
                let end = (at + length).max(at + 1);
                left.extend(&text[to.max(from)..end]);
                at = end;
            }
            rows.push(format!("{key} | {left} | {removed}"));
        }
        let sql = format!("SELECT * FROM strip_passages({}, {least}{})", quoted(&corpus.sql), corpus.arguments);
        Question::new("stripped texts", sql, Expected::OneOf(vec![rows]))
    }
}
