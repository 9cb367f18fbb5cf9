//! Questions about a whole corpus: pairs, clusters, bridges, plans, between, and the window function.

use sketch::Banding;

use super::{As, Asker, Expected, Facts, Question, Reading, rounded};
use crate::documents::{Kind, Options, quoted};
use crate::errors::Refusal;
use crate::oracle::{Documents, Pair, bridges, clusters, first_copies, removed};
use crate::scene::{Of, Row, TAIL};

/// A source, its arguments, and what it must be read as.
struct Source {
    label: &'static str,
    sql: String,
    arguments: Vec<String>,
    how: As,
    options: Options,
    threshold: f64,
    /// True if the threshold is left to the default.
    by_default: bool,
    scopes: Vec<usize>,
    /// True if rows with an odd flag are left out.
    only_even: bool,
    /// The bands by which documents may meet.
    bandings: Vec<Banding>,
    refusals: Vec<Refusal>,
    must_fail: bool,
    /// True if there is a column `flag` that `keep` may name.
    has_flag: bool,
}

impl Source {
    /// One that is read as the document column, with no arguments.
    fn new(label: &'static str, sql: &str, options: Options, threshold: f64) -> Self {
        Self {
            label,
            sql: sql.to_owned(),
            arguments: Vec::new(),
            how: As::Itself(Of::Column),
            options,
            threshold,
            by_default: false,
            scopes: Vec::new(),
            only_even: false,
            bandings: vec![options.banding(threshold)],
            refusals: Vec::new(),
            must_fail: false,
            has_flag: true,
        }
    }

    /// It must be refused, for one of some reasons.
    fn fails(&mut self, refusals: &[Refusal]) {
        self.refusals.extend_from_slice(refusals);
        self.must_fail = true;
    }
}

/// Gives the origin of a row.
type OriginOf = Box<dyn Fn(&Row) -> Option<usize>>;

impl Asker<'_> {
    pub(super) fn job(&mut self) -> Option<Question> {
        let source = match self.random.below(8) {
            0 | 1 => self.by_table(),
            2..5 if !self.scene.indexes.is_empty() => self.by_index()?,
            5 if self.scene.side.is_some() => self.by_side_table()?,
            6 => self.by_view(),
            _ => self.by_query(),
        };
        let (mut source, origins) = self.boilerplate_given(source);
        let wanted = |row: usize| !source.only_even || self.is_even(row);
        let Source { how, options, threshold, scopes, .. } = &source;
        let reading = self.reading_without(origins.as_deref(), *how, options, *threshold, scopes, &wanted);
        let rows = (0..self.scene.rows.len()).filter(|row| wanted(*row)).count();
        let mut found: Vec<Vec<Pair>> =
            source.bandings.iter().map(|banding| reading.meeting(*banding, |_| rows)).collect();
        let mut asked = self.random.below(6);
        if self.scene.are_cautious && matches!(asked, 1 | 3) {
            // Copies with different thresholds are no longer one document, either.
            asked += 1;
        }
        // Copies that are apart are no longer one document, which the oracle of bridges takes them for.
        let mut listed = Vec::new();
        let apart = if asked != 1 && self.random.below(3) == 0 {
            let (pairs, argument) = self.apart_given(&mut found);
            source.arguments.push(argument);
            listed = pairs.into_flattened();
            ", apart"
        } else {
            ""
        };
        let mut agree = "";
        if source.has_flag && !source.must_fail && self.random.below(3) == 0 {
            // For bridges and for `copies => 'once'`, copies must be one document, or no pair.
            source.arguments.push(self.agree_given(matches!(asked, 1 | 3), &mut found));
            agree = ", agree";
        }
        let mut question = match asked {
            0 => self.cluster_question(&source, &found),
            1 => self.bridge_question(&source, &found),
            2 => self.plan_question(&source, &found),
            3 => self.once_question(&mut source, &found, &listed),
            _ => pair_question(&source, self.facts, &found),
        };
        let without = if origins.is_some() { ", without boilerplate" } else { "" };
        question.label = format!("{} by {}{without}{apart}{agree}", question.label, source.label);
        question.refusals = source.refusals.clone();
        // A column that is not used may be what `keep` is for.
        let may_be_kept = source.label == "query of more columns" && question.sql.contains("keep =>");
        if source.must_fail && !may_be_kept {
            question.expected = Expected::Refused;
        }
        Some(question)
    }

    /// Some of the pairs as the argument `apart`, in either order, beside others. Takes them from what is found.
    fn apart_given(&mut self, found: &mut [Vec<Pair>]) -> (Vec<[usize; 2]>, String) {
        let keys = &self.facts.keys;
        let some = found.iter().flatten().map(|pair| [pair.a, pair.b]);
        let mut apart: Vec<[usize; 2]> = some.filter(|_| self.random.below(3) == 0).collect();
        apart.extend((keys.len() > 1).then(|| [self.random.below(keys.len()), 0]));
        for pairs in found {
            pairs.retain(|pair| !apart.contains(&[pair.a, pair.b]) && !apart.contains(&[pair.b, pair.a]));
        }
        let mut rows = vec!["(NULL, NULL)".to_owned()];
        for &[a, b] in &apart {
            let (a, b) = if self.random.below(2) == 0 { (a, b) } else { (b, a) };
            rows.push(format!("({}, {})", quoted(&keys[a]), quoted(&keys[b])));
        }
        (apart, format!("apart => {}", quoted(&format!("VALUES {}", rows.join(", ")))))
    }

    /// Arrays by the flags of rows as the argument `agree`. Takes the pairs that do not agree from what is found.
    fn agree_given(&mut self, by_equal: bool, found: &mut [Vec<Pair>]) -> String {
        let flag = |row: usize| self.scene.rows[row].flag;
        // The sets of flags 1, 2 and 3 are {1}, {1, 2} and {2}. Other flags have an empty set or none.
        let differ = |a: usize, b: usize| matches!((a, b), (1, 3) | (3, 1));
        for pairs in found {
            pairs.retain(|pair| {
                let (a, b) = (flag(pair.a), flag(pair.b));
                if by_equal { a == b } else { !differ(a, b) }
            });
        }
        const SETS: &str = "CASE flag WHEN 1 THEN ARRAY[1.0] WHEN 2 THEN ARRAY[NULL, 1.00, 2] \
             WHEN 3 THEN ARRAY[2.0, 2] WHEN 0 THEN NULLIF(ARRAY[]::numeric[], '{}') END";
        let expression = match (by_equal, self.random.below(3)) {
            (true, _) => "ARRAY[flag]".to_owned(),
            (false, 0) => format!("({SETS})::bigint[]"),
            (false, 1) => format!("coalesce({SETS}, '{{}}') -- of the flag"),
            (false, _) => SETS.to_owned(),
        };
        format!("agree => {}", quoted(&expression))
    }

    /// Options as arguments of a source that has no index of its own.
    fn options_given(&mut self) -> (Options, Vec<String>) {
        let mut options = Options::default();
        match self.scene.kind {
            Kind::Document => return (self.scene.own.1, Vec::new()),
            Kind::Text(_) if self.random.below(3) == 0 => {
                options = Options::random(self.random, true);
            }
            Kind::Set(_) if self.random.below(3) == 0 => {
                options = Options::random(self.random, false);
            }
            _ => {}
        }
        let given = options.arguments();
        let given: Vec<_> = given.split(", ").filter(|s| !s.is_empty()).map(str::to_owned).collect();
        (options, given)
    }

    fn threshold_given(&mut self) -> (f64, bool) {
        if self.scene.kind != Kind::Document && self.random.below(8) == 0 {
            return (0.8, true);
        }
        (self.threshold(), false)
    }

    /// One scope by the argument, now and then.
    fn scope_given(&mut self, arguments: &mut Vec<String>) -> Vec<usize> {
        let count = self.scene.scopes.len();
        if count == 0 || self.random.below(2) == 0 {
            return Vec::new();
        }
        let at = self.random.below(count);
        arguments.push(format!("scope => {}", quoted(&self.scene.scopes[at].name)));
        vec![at]
    }

    /// Now and then, the origin of each row, whose boilerplate is left out.
    fn boilerplate_given(&mut self, mut source: Source) -> (Source, Option<Vec<Option<usize>>>) {
        let scene = self.scene;
        let is_of_rows = !source.label.starts_with("query");
        if source.how == As::Signature || self.random.below(3) > 0 {
            return (source, None);
        }
        let (name, of): (String, OriginOf) = match self.random.below(4) {
            0 if source.has_flag => ("flag".into(), Box::new(|row| Some(row.flag))),
            1 if is_of_rows && !scene.scopes.is_empty() => {
                let at = self.random.below(scene.scopes.len());
                if source.label == "table" && scene.scopes[at].is_text() {
                    // The document may be the only text that is left.
                    source.must_fail = false;
                }
                let of = move |row: &Row| row.scopes[at].map(|value| value.0);
                (scene.scopes[at].name.clone(), Box::new(of))
            }
            _ => ("*".into(), Box::new(|_| Some(0))),
        };
        source.arguments.push(format!("boilerplate => {}", quoted(&name)));
        // Indexes have the bands of whole documents.
        source.bandings.truncate(1);
        (source, Some(scene.rows.iter().map(of).collect()))
    }

    fn by_table(&mut self) -> Source {
        let scene = self.scene;
        let (options, mut arguments) = self.options_given();
        let (threshold, by_default) = self.threshold_given();
        let scopes = self.scope_given(&mut arguments);
        let mut source = Source::new("table", &scene.table, options, threshold);
        let text_scopes = (0..scene.scopes.len()).filter(|at| scene.scopes[*at].is_text());
        let (named, others): (Vec<_>, Vec<_>) = text_scopes.partition(|at| scopes.contains(at));
        let others = others.len() + usize::from(scene.title);
        let is_text = matches!(scene.kind, Kind::Text(_));
        let is_needed = !is_text && others + named.len() > 0;
        if is_needed || self.random.below(3) > 0 {
            arguments.push(format!("body => {}", quoted(&scene.body)));
        } else if is_text && others > 0 {
            source.fails(&[Refusal::NoBody]);
        } else if !is_text || !named.is_empty() {
            source.refusals.push(Refusal::NoBody);
        }
        if self.random.below(4) == 0 {
            arguments.push(format!("key_column => {}", quoted(&scene.key)));
        } else if !scene.declared.names_rows() {
            source.fails(&[Refusal::NoKey, Refusal::NoBody]);
        }
        let same = |at: &usize| {
            let index = &scene.indexes[*at];
            index.options.num_perm == options.num_perm && index.options.recall >= options.recall
        };
        let indexes = (0..scene.indexes.len()).filter(same);
        source.bandings.extend(indexes.filter_map(|at| {
            let banding = self.serves(at, source.how, &options, threshold, &scopes)?;
            Some(banding.trimmed(threshold, options.recall))
        }));
        Source { arguments, by_default, scopes, ..source }
    }

    fn by_index(&mut self) -> Option<Source> {
        let scene = self.scene;
        let at = self.random.below(scene.indexes.len());
        let index = &scene.indexes[at];
        let (mut threshold, mut by_default) = self.threshold_given();
        if by_default {
            threshold = index.threshold;
        } else if self.random.below(4) > 0 {
            threshold = threshold.max(index.threshold);
        }
        if scene.kind == Kind::Document && by_default {
            (threshold, by_default) = (1.0, false);
        }
        let options = index.options;
        let label = if index.scopes.is_empty() { "index" } else { "scoped index" };
        let mut source = Source::new(label, &index.name, options, threshold);
        if !index.valid {
            source.fails(&[Refusal::NotValid]);
        }
        if index.of == Of::Column && self.random.below(10) == 0 {
            source.arguments.push(format!("body => {}", quoted(&scene.body)));
            source.fails(&[Refusal::NoBody]);
        }
        if self.random.below(6) == 0 {
            source.arguments.push(format!("key_column => {}", quoted(&scene.key)));
        } else if !scene.declared.names_rows() {
            source.fails(&[Refusal::NoKey]);
        }
        if threshold < index.threshold {
            source.fails(&[Refusal::BelowThreshold]);
        }
        Some(Source {
            how: self.read_by(at),
            by_default,
            scopes: index.scopes.clone(),
            only_even: index.partial,
            bandings: vec![options.banding(index.threshold).trimmed(threshold, options.recall)],
            ..source
        })
    }

    fn by_side_table(&mut self) -> Option<Source> {
        let (least, options) = self.scene.side?;
        let threshold = self.threshold();
        Some(Source {
            bandings: vec![options.banding(least).trimmed(threshold, options.recall)],
            refusals: vec![Refusal::BelowThreshold],
            must_fail: threshold < least,
            ..Source::new("side table", "aside", options, threshold)
        })
    }

    fn by_view(&mut self) -> Source {
        let mut source = self.by_table();
        let (body, key) = (&self.scene.body, &self.scene.key);
        source.arguments.retain(|one| !one.starts_with("body") && !one.starts_with("key_column"));
        source.arguments.push(format!("body => {}", quoted(body)));
        source.arguments.push(format!("key_column => {}", quoted(key)));
        source.bandings.truncate(1);
        Source { label: "view", sql: "v".into(), refusals: Vec::new(), must_fail: false, ..source }
    }

    fn by_query(&mut self) -> Source {
        let scene = self.scene;
        let (mut options, mut arguments) = self.options_given();
        let (threshold, mut by_default) = self.threshold_given();
        let scopes = self.scope_given(&mut arguments);
        let (mut refusals, mut must_fail) = (Vec::new(), false);
        let mut how = As::Itself(Of::Column);
        let mut body = scene.body.clone();
        let mut label = "query";
        match scene.kind {
            Kind::Signature if self.random.below(2) == 0 => {
                how = As::Signature;
                body = format!("minlsh_signature({body}, 0.1)");
                options.num_perm = scene.slots;
                if scene.slots != 128 {
                    arguments.push(format!("num_perm => {}", scene.slots));
                }
                label = "query of signatures";
            }
            Kind::Text(_) if self.random.below(6) == 0 => {
                how = As::Itself(Of::Longer);
                body = format!("{body}::text || '{TAIL}'");
            }
            Kind::Text(_) if self.random.below(6) == 0 => {
                // Documents of their own options, which hold rather than the defaults.
                arguments.retain(|one| one.starts_with("scope"));
                options = Options { recall: 0.99, num_perm: 128, ..Options::random(self.random, true) };
                body = format!("minlsh_document({body}::text, 0.1{})", options.of_document());
                label = "query of documents";
            }
            Kind::Set(_) if self.random.below(6) == 0 => {
                arguments.retain(|one| one.starts_with("scope"));
                options = Options::default();
                body = format!("minlsh_document({body}, 0.1)");
                label = "query of documents";
            }
            _ => {}
        }
        // Documents have thresholds of their own to go by.
        by_default &= label == "query";
        let scope = scopes.first().map(|at| scene.scopes[*at].name.clone());
        let mut columns = vec![scene.key.clone(), format!("{body} AS {}", scene.body)];
        columns.extend(scope);
        let mut has_flag = false;
        match self.random.below(8) {
            0 if scopes.is_empty() => {
                columns.push(if scene.title { "title".into() } else { "flag".into() });
                refusals.push(Refusal::MoreColumns);
                must_fail = true;
                label = "query of more columns";
            }
            1 if !scopes.is_empty() => {
                columns.swap(1, 2);
                arguments.push(format!("body => {}", quoted(&scene.body)));
                label = "query with body";
            }
            2 => {
                columns.push("flag".into());
                has_flag = true;
                refusals.push(Refusal::MoreColumns);
            }
            _ => {}
        }
        let only_even = self.random.below(3) == 0;
        let condition = if only_even { " WHERE flag % 2 = 0" } else { "" };
        let sql = format!("SELECT {} FROM {}{condition}", columns.join(", "), scene.table);
        let source = Source::new(label, &sql, options, threshold);
        Source { arguments, how, by_default, scopes, only_even, refusals, must_fail, has_flag, ..source }
    }

    /// Pairs, with each further copy in one pair only: with the first of its copies.
    fn once_question(&mut self, source: &mut Source, found: &[Vec<Pair>], listed: &[usize]) -> Question {
        let Facts { rank, .. } = self.facts;
        let once = |pairs: &Vec<Pair>| {
            let firsts = first_copies(rank.len(), pairs, listed, rank);
            let is_first = |row: usize| firsts[row] == row;
            let is_listed = |pair: &&Pair| {
                let are_copies = firsts[pair.a] == firsts[pair.b];
                let (a, b) = (is_first(pair.a), is_first(pair.b));
                (a && b) || (are_copies && (a || b))
            };
            pairs.iter().filter(is_listed).copied().collect()
        };
        let found: Vec<Vec<Pair>> = found.iter().map(once).collect();
        source.arguments.push("copies => 'once'".into());
        let question = pair_question(source, self.facts, &found);
        Question { label: "pairs once".into(), ..question }
    }

    fn cluster_question(&mut self, source: &Source, found: &[Vec<Pair>]) -> Question {
        let answer = |pairs: &Vec<Pair>| cluster_rows(pairs, self.facts);
        let columns = "doc_id::text, cluster_id::text, size::text";
        let sql = call("near_duplicate_clusters", source, "", columns);
        Question::new("clusters", sql, Expected::OneOf(found.iter().map(answer).collect()))
    }

    fn bridge_question(&mut self, source: &Source, found: &[Vec<Pair>]) -> Question {
        let keys = self.facts;
        let answer = |pairs: &Vec<Pair>| {
            let bridges = bridges(keys.keys.len(), pairs, &keys.rank);
            let rows = bridges.iter().map(|bridge| {
                let Pair { a, b, similarity } = bridge.pair;
                let [x, y] = bridge.sizes;
                format!("{} | {} | {x} | {y}", keys.keys[bridge.cluster], line(keys, a, b, similarity))
            });
            rows.collect()
        };
        let columns = "cluster_id::text, doc_a::text, doc_b::text, round(similarity::numeric, 9), size_a, size_b";
        let sql = call("near_duplicate_bridges", source, "", columns);
        Question::new("bridges", sql, Expected::OneOf(found.iter().map(answer).collect()))
    }

    fn plan_question(&mut self, source: &Source, found: &[Vec<Pair>]) -> Question {
        let keys = self.facts;
        let scene = self.scene;
        let mut rank = keys.rank.clone();
        let mut keep = String::new();
        match self.random.below(3) {
            0 => {
                rank = keys.rank.iter().map(|place| usize::MAX - place).collect();
                keep = format!(", keep => {}", quoted(&format!("{} DESC", scene.key)));
            }
            1 if source.has_flag => {
                let by = |row: usize| (usize::MAX - scene.rows[row].flag, self.facts.rank[row]);
                let mut order: Vec<usize> = (0..rank.len()).collect();
                order.sort_by_key(|row| by(*row));
                order.iter().enumerate().for_each(|(place, row)| rank[*row] = place);
                keep = ", keep => 'flag DESC'".into();
            }
            _ => {}
        }
        let label = if keep.is_empty() { "plan" } else { "plan with keep" };
        let answer = |pairs: &Vec<Pair>| {
            let removed = removed(rank.len(), pairs, &rank);
            let mut may = Vec::new();
            for pair in pairs {
                for (a, b) in [(pair.a, pair.b), (pair.b, pair.a)] {
                    if removed.contains(&a) && !removed.contains(&b) {
                        may.push(line(keys, a, b, pair.similarity));
                    }
                }
            }
            (removed.iter().map(|row| keys.keys[*row].clone()).collect(), may)
        };
        let columns = "doc_id::text, kept_id::text, round(similarity::numeric, 9)";
        let sql = call("near_duplicate_plan", source, &keep, columns);
        Question::new(label, sql, Expected::Plan(found.iter().map(answer).collect()))
    }

    /// Documents of the rows with an even flag, or all, beside those with an odd one.
    pub(super) fn between(&mut self) -> Option<Question> {
        let scene = self.scene;
        let (options, mut arguments) = self.options_given();
        let threshold = self.threshold();
        let by_name = scene.declared.names_rows() && matches!(scene.kind, Kind::Text(_)) && {
            !scene.title && scene.scopes.iter().all(|scope| !scope.is_text())
        };
        let by_name = by_name && self.random.below(2) == 0;
        let mut scopes = Vec::new();
        if !scene.scopes.is_empty() && self.random.below(2) == 0 {
            scopes.push(0);
            arguments.push(format!("scope => {}", quoted(&scene.scopes[0].name)));
        }
        let mut scope: String = scopes.iter().map(|at| format!(", {}", scene.scopes[*at].name)).collect();
        let once = !self.scene.are_cautious && self.random.below(3) == 0;
        let agrees = !once && self.random.below(3) == 0;
        if agrees {
            scope.push_str(", flag");
        }
        let part = |condition: &str| {
            format!("SELECT {}, {}{scope} FROM {} WHERE {condition}", scene.key, scene.body, scene.table)
        };
        let origins = (self.random.below(3) == 0).then(|| vec![Some(0); scene.rows.len()]);
        arguments.extend(origins.as_ref().map(|_| "boilerplate => '*'".to_owned()));
        let a = if by_name { scene.table.clone() } else { part("flag % 2 = 0") };
        let b = part("flag % 2 = 1");
        let reading: Reading =
            self.reading_without(origins.as_deref(), As::Itself(Of::Column), &options, threshold, &scopes, &|_| true);
        let rows = if by_name { (0..scene.rows.len()).filter(|row| !self.is_even(*row)).count() } else { 0 };
        let mut shared = [reading.meeting(options.banding(threshold), |_| scene.rows.len() + rows)];
        let mut apart = Vec::new();
        if self.random.below(3) == 0 {
            let argument;
            (apart, argument) = self.apart_given(&mut shared);
            arguments.push(argument);
        }
        if agrees {
            arguments.push(self.agree_given(false, &mut shared));
        }
        let in_a = |row: usize| by_name || self.is_even(row);
        let in_b = |row: usize| !self.is_even(row);
        let mut across = Vec::new();
        for pair in shared.iter().flatten() {
            for (a, b) in [(pair.a, pair.b), (pair.b, pair.a)] {
                if in_a(a) && in_b(b) {
                    across.push(Pair { a, b, similarity: pair.similarity });
                }
            }
        }
        let known = self.scopes(&scopes, false);
        for (row, scope) in known.iter().enumerate() {
            let is_in_both = in_a(row) && in_b(row) && reading.documents.is_document(row);
            if is_in_both && scope.is_some() && !apart.contains(&[row, row]) {
                across.push(Pair { a: row, b: row, similarity: 1.0 });
            }
        }
        if once {
            arguments.push("copies => 'once'".into());
            let listed = apart.concat();
            let firsts = first_copies(scene.rows.len(), &shared[0], &listed, &self.facts.rank);
            across = across_once(across, &firsts, &self.facts.rank, [&in_a, &in_b]);
        }
        let rows = across.iter().map(|pair| line(self.facts, pair.a, pair.b, pair.similarity));
        let rows = rows.collect();
        let arguments: String = arguments.iter().map(|one| format!(", {one}")).collect();
        let sql = format!(
            "SELECT doc_a::text, doc_b::text, round(similarity::numeric, 9) FROM \
             near_duplicates_between({}, {}, {threshold}{arguments})",
            quoted(&a),
            quoted(&b)
        );
        let label = format!(
            "between{}{}{}",
            if once { " once" } else { "" },
            if apart.is_empty() { "" } else { ", apart" },
            if agrees { ", agree" } else { "" }
        );
        Some(Question::new(label, sql, Expected::OneOf(vec![rows])))
    }

    /// The window function. NULLs are one part of PARTITION BY.
    pub(super) fn window(&mut self) -> Option<Question> {
        let scene = self.scene;
        if scene.kind == Kind::Document {
            return None;
        }
        let (options, arguments) = self.options_given();
        let threshold = self.threshold();
        let scopes: Vec<usize> = (0..scene.scopes.len()).take(self.random.below(3)).collect();
        let values = self.values(As::Itself(Of::Column), &|_| true);
        let in_scopes = self.scopes(&scopes, true);
        let documents = Documents::new(&values, self.own_thresholds(), in_scopes.clone(), &options.config());
        let pairs = documents.pairs(threshold);
        let in_partition = |row: usize| in_scopes.iter().filter(|scopes| **scopes == in_scopes[row]).count();
        let pairs = Reading { documents, pairs }.meeting(options.banding(threshold), in_partition);
        let names = clusters(scene.rows.len(), &pairs, &self.facts.rank);
        let number = |row: usize| {
            let before =
                |other: &usize| in_scopes[*other] == in_scopes[row] && self.facts.rank[*other] <= self.facts.rank[row];
            (0..scene.rows.len()).filter(before).count()
        };
        let rows = (0..scene.rows.len())
            .map(|row| {
                let is_null = values[row].is_none();
                let cluster = if is_null { "NULL".into() } else { number(names[row]).to_string() };
                format!("{} | {cluster}", self.facts.keys[row])
            })
            .collect();
        let columns: Vec<_> = scopes.iter().map(|at| scene.scopes[*at].name.clone()).collect();
        let partition =
            if columns.is_empty() { String::new() } else { format!("PARTITION BY {} ", columns.join(", ")) };
        let arguments: String = arguments.iter().map(|one| format!(", {one}")).collect();
        let sql = format!(
            "SELECT {key}::text, near_duplicate_cluster({}, {threshold}{arguments}) \
             OVER ({partition}ORDER BY {key}) FROM {}",
            scene.body,
            scene.table,
            key = scene.key
        );
        Some(Question::new("window", sql, Expected::OneOf(vec![rows])))
    }
}

/// Keeps the pairs of the first copies in each of two sources, and for each further copy its pair with the most similar
/// first copy in the other source, the least by `rank`. `is_in` says which rows a source has.
fn across_once(across: Vec<Pair>, firsts: &[usize], rank: &[usize], is_in: [&dyn Fn(usize) -> bool; 2]) -> Vec<Pair> {
    let is_first = |side: usize, row: usize| {
        let before = |other: &usize| firsts[*other] == firsts[row] && is_in[side](*other) && rank[*other] < rank[row];
        !(0..rank.len()).any(|other| before(&other))
    };
    let ends = |pair: &Pair| [pair.a, pair.b];
    let mut once: Vec<Pair> =
        across.iter().filter(|pair| is_first(0, pair.a) && is_first(1, pair.b)).copied().collect();
    for side in 0..2 {
        for row in (0..rank.len()).filter(|row| is_in[side](*row) && !is_first(side, *row)) {
            let own = across.iter().filter(|pair| ends(pair)[side] == row);
            let own = own.filter(|pair| is_first(1 - side, ends(pair)[1 - side]));
            once.extend(own.min_by(|x, y| {
                let by_rank = rank[ends(x)[1 - side]].cmp(&rank[ends(y)[1 - side]]);
                y.similarity.total_cmp(&x.similarity).then(by_rank)
            }));
        }
    }
    once
}

fn line(keys: &Facts, a: usize, b: usize, similarity: f64) -> String {
    format!("{} | {} | {}", keys.keys[a], keys.keys[b], rounded(similarity))
}

fn pair_question(source: &Source, keys: &Facts, found: &[Vec<Pair>]) -> Question {
    let answer = |pairs: &Vec<Pair>| {
        let rows = pairs.iter().map(|pair| {
            let (mut a, mut b) = (pair.a, pair.b);
            if keys.rank[a] > keys.rank[b] {
                (a, b) = (b, a);
            }
            line(keys, a, b, pair.similarity)
        });
        rows.collect()
    };
    let columns = "doc_a::text, doc_b::text, round(similarity::numeric, 9)";
    let sql = call("near_duplicate_pairs", source, "", columns);
    Question::new("pairs", sql, Expected::OneOf(found.iter().map(answer).collect()))
}

fn cluster_rows(pairs: &[Pair], keys: &Facts) -> Vec<String> {
    let count = keys.keys.len();
    let names = clusters(count, pairs, &keys.rank);
    let size = |name: usize| names.iter().filter(|other| **other == name).count();
    let members = (0..count).filter(|row| size(names[*row]) > 1);
    members.map(|row| format!("{} | {} | {}", keys.keys[row], keys.keys[names[row]], size(names[row]))).collect()
}

/// A call of a whole-corpus function.
fn call(function: &str, source: &Source, keep: &str, columns: &str) -> String {
    let threshold = if source.by_default { String::new() } else { format!(", {}", source.threshold) };
    let arguments: String = source.arguments.iter().map(|one| format!(", {one}")).collect();
    format!("SELECT {columns} FROM {function}({}{threshold}{keep}{arguments})", quoted(&source.sql))
}
