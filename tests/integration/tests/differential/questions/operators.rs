//! Joins and searches by `~=`: by an index, by a scan of the table, in prepared statements.

use super::{As, Asker, Expected, Question};
use crate::documents::{Kind, Options, quoted};
use crate::oracle::Pair;
use crate::scene::{Of, Scene, TAIL};

/// A condition with `~=`, and what it means.
struct Condition {
    /// The left side, over the row that is found.
    left: String,
    /// The right side, over the row that is asked about.
    right: String,
    how: As,
    options: Options,
    threshold: f64,
    settings: Vec<String>,
}

/// Ways to run a plan: settings, and whether the table must be scanned then.
pub(super) const WAYS: [(&[&str], bool); 5] = [
    (&["enable_indexscan = off", "enable_bitmapscan = off"], true),
    (&["enable_seqscan = off", "enable_bitmapscan = off"], false),
    (&["enable_seqscan = off", "enable_indexscan = off"], false),
    (&["enable_seqscan = off"], false),
    (&[], false),
];

impl Asker<'_> {
    /// `~=` between the rows `b` and `a`, by options of an index or by the defaults.
    fn condition(&mut self) -> Condition {
        let scene = self.scene;
        let indexes = &scene.indexes;
        let at = (!indexes.is_empty()).then(|| self.random.below(indexes.len()));
        let index = at.map(|at| &indexes[at]);
        let mut options = Options::default();
        let mut of = Of::Column;
        if let Some(index) = index.filter(|_| self.random.below(3) > 0) {
            (options, of) = (index.options, index.of);
        }
        let threshold = self.threshold();
        let column = |row: &str| format!("{row}.{}", scene.body);
        let setting = || vec![format!("minlsh.threshold = {threshold}")];
        let bare = self.random.below(3) == 0;
        let (how, left, right, settings) = match scene.kind {
            Kind::Text(_) => {
                let text = |row: &str| match of {
                    Of::Longer => format!("({}::text || '{TAIL}')", column(row)),
                    Of::Column => column(row),
                };
                if bare && options.same_shingles(&Options::default()) {
                    (As::Itself(of), text("b"), format!("{}::text", text("a")), setting())
                } else {
                    let given = options.of_document();
                    let right = format!("minlsh_document({}::text, {threshold}{given})", text("a"));
                    (As::Itself(of), text("b"), right, Vec::new())
                }
            }
            Kind::Set(_) if bare => (As::Itself(of), column("b"), column("a"), setting()),
            Kind::Set(_) => {
                let right = format!("minlsh_document({}, {threshold})", column("a"));
                (As::Itself(of), column("b"), right, Vec::new())
            }
            Kind::Document => {
                options = scene.own.1;
                (As::Itself(of), column("b"), column("a"), Vec::new())
            }
            Kind::Signature if bare => {
                // Arrays beside arrays are sets, whatever the index is of.
                (As::Itself(of), column("b"), column("a"), setting())
            }
            Kind::Signature => {
                options.num_perm = scene.slots;
                let right = format!("minlsh_signature({}, {threshold})", column("a"));
                (As::Signature, column("b"), right, Vec::new())
            }
        };
        let threshold = if scene.kind == Kind::Document { scene.own.0 } else { threshold };
        Condition { left, right, how, options, threshold, settings }
    }

    /// The pairs that a plan may find: all of them; by an index at least those that share its bands.
    fn found(&self, condition: &Condition, scopes: &[usize], only_even: bool, scanned: bool) -> (Vec<Pair>, Vec<Pair>) {
        let Condition { how, options, threshold, .. } = condition;
        let wanted = |_: usize| true;
        let reading = self.reading(*how, options, *threshold, scopes, &wanted);
        let most: Vec<Pair> = reading.pairs.clone();
        let mut least = most.clone();
        for at in (0..self.scene.indexes.len()).filter(|_| !scanned) {
            let index = &self.scene.indexes[at];
            let usable = index.valid && (!index.partial || only_even) && index.threshold <= *threshold;
            let same = self.read_by(at) == *how && index.options.same_shingles(options);
            if usable && same && index.scopes.iter().all(|at| scopes.contains(at)) {
                least = self.sharing(&least, *how, &index.options, index.threshold, *threshold);
            }
        }
        (least, most)
    }

    pub(super) fn join(&mut self) -> Option<Question> {
        let scene = self.scene;
        let condition = self.condition();
        let (scopes, only_even, more) = self.joined();
        let (settings, scanned) = WAYS[self.random.below(WAYS.len())];
        let (least, most) = self.found(&condition, &scopes, only_even, scanned);
        let commuted = self.random.below(4) == 0;
        let (left, right) = (condition.left, condition.right);
        let (left, right) = if commuted { (right, left) } else { (left, right) };
        let sql = format!(
            "SELECT a.{key}::text, b.{key}::text FROM {table} AS a JOIN {table} AS b \
             ON {left} ~= {right}{more} WHERE a.{key} <> b.{key}",
            key = scene.key,
            table = scene.table
        );
        let rows = |pairs: &[Pair]| {
            let mut rows = Vec::new();
            for pair in pairs {
                for (a, b) in [(pair.a, pair.b), (pair.b, pair.a)] {
                    if !only_even || self.is_even(b) {
                        rows.push(format!("{} | {}", self.facts.keys[a], self.facts.keys[b]));
                    }
                }
            }
            rows
        };
        let expected = Expected::Between(rows(&least), rows(&most));
        let label = if scanned { "join, table scanned" } else { "join" };
        let mut question = Question::new(label, sql, expected);
        question.settings = condition.settings;
        question.settings.extend(settings.iter().map(|one| (*one).to_owned()));
        Some(question)
    }

    /// A prepared statement, asked about one row after another.
    pub(super) fn prepared(&mut self) -> Option<Question> {
        let scene = self.scene;
        if !matches!(scene.kind, Kind::Text(_)) {
            return None;
        }
        let bare = self.random.below(2) == 0;
        let options = match scene.indexes.first() {
            Some(index) if !bare && self.random.below(2) == 0 => index.options,
            _ => Options::default(),
        };
        let threshold = self.threshold();
        let row = self.random.below(scene.filled);
        let Some(crate::documents::Value::Text(text)) = &scene.rows[row].document else {
            return None;
        };
        let (parameters, right, settings) = match (bare, self.random.below(3)) {
            (true, _) => ("text", "$1".to_owned(), vec![format!("minlsh.threshold = {threshold}")]),
            (_, 0) => ("minlsh_document", "$1".to_owned(), Vec::new()),
            (_, 1) => {
                let right = format!("minlsh_document($1, {threshold}{})", options.of_document());
                ("text", right, Vec::new())
            }
            _ => {
                let right = format!("ANY (ARRAY[minlsh_document($1, {threshold}{})])", options.of_document());
                ("text", right, Vec::new())
            }
        };
        let argument = if parameters == "text" {
            quoted(text)
        } else {
            format!("minlsh_document({}, {threshold}{})", quoted(text), options.of_document())
        };
        let condition = Condition {
            left: String::new(),
            right: String::new(),
            how: As::Itself(Of::Column),
            options,
            threshold,
            settings: Vec::new(),
        };
        let (settings_of_way, scanned) = WAYS[self.random.below(WAYS.len())];
        let (least, most) = self.found(&condition, &[], false, scanned);
        let rows = |pairs: &[Pair]| {
            let of_row = pairs.iter().filter(|pair| pair.a == row || pair.b == row);
            of_row.map(|pair| self.facts.keys[pair.a + pair.b - row].clone()).collect()
        };
        let expected = Expected::Between(rows(&least), rows(&most));
        let sql = format!("EXECUTE p ({argument})");
        let mut question = Question::new("prepared statement", sql, expected);
        question.before.push(format!(
            "PREPARE p ({parameters}) AS SELECT {key}::text FROM {} AS b WHERE {} ~= {right} \
             AND {key} <> ({})::{}",
            scene.table,
            scene.body,
            scene.rows[row].key,
            scene.key_type,
            key = scene.key
        ));
        let times = [0, 0, 6][self.random.below(3)];
        question.before.extend((0..times).map(|_| format!("EXECUTE p ({argument})")));
        question.settings = settings;
        question.settings.extend(settings_of_way.iter().map(|one| (*one).to_owned()));
        let mode = ["force_generic_plan", "force_custom_plan", "auto"][self.random.below(3)];
        question.settings.push(format!("plan_cache_mode = {mode}"));
        Some(question)
    }

    /// Of several indexes, a plan takes one that serves; what is not known yet belongs to the lowest threshold.
    pub(super) fn planned(&mut self) -> Option<Question> {
        let scene = self.scene;
        if !matches!(scene.kind, Kind::Text("text")) || scene.indexes.len() < 2 || scene.partitioned {
            return None;
        }
        let whole = |at: &usize| {
            let index = &scene.indexes[*at];
            index.valid && !index.partial && index.scopes.is_empty() && index.of == Of::Column
        };
        let whole: Vec<usize> = (0..scene.indexes.len()).filter(whole).collect();
        let bare = self.random.below(2) == 0;
        let chosen = &scene.indexes[*whole.get(self.random.below(whole.len().max(1)))?];
        let options = if bare { Options::default() } else { chosen.options };
        let threshold = if self.random.below(2) == 0 { chosen.threshold } else { self.threshold() };
        let serving = |scene: &Scene| -> Vec<String> {
            let serving = whole.iter().map(|at| &scene.indexes[*at]);
            let serving = serving.filter(|index| index.options.same_shingles(&options) && index.threshold <= threshold);
            serving.map(|index| format!("{} ", index.name)).collect()
        };
        let serving = serving(scene);
        if serving.is_empty() {
            return None;
        }
        let document = format!("minlsh_document($1, {threshold}{})", options.of_document());
        let (form, right) = match (bare, self.random.below(2)) {
            (true, _) => ("bare text", "$1".to_owned()),
            (_, 0) => ("document", document),
            _ => ("any of an array", format!("ANY (ARRAY[{document}, {document}])")),
        };
        let sql = "EXPLAIN (COSTS OFF) EXECUTE p ('some text that is not there')".to_owned();
        let mut question =
            Question::new(format!("plan of a prepared statement, {form}"), sql, Expected::Using(serving));
        question.before.push(format!(
            "PREPARE p (text) AS SELECT {} FROM {} WHERE {} ~= {right}",
            scene.key, scene.table, scene.body
        ));
        if bare {
            question.settings.push(format!("minlsh.threshold = {threshold}"));
        }
        question.settings.push("enable_seqscan = off".into());
        let mode = ["force_generic_plan", "force_generic_plan", "force_custom_plan"][self.random.below(3)];
        question.settings.push(format!("plan_cache_mode = {mode}"));
        Some(question)
    }
}
