//! A random table: its columns, keys, scopes, rows, indexes, and the statements that make it.

use minlsh_integration::Random;

use crate::documents::{Corpus, Kind, Options, Value, quoted};
use crate::passages::{Cut, PassageIndex};

/// The objects that every database of the test has before the first case.
pub const COMMON: &str = "CREATE DOMAIN public.dtext AS text;
    CREATE DOMAIN public.dint AS int; CREATE TYPE public.mood AS ENUM ('sad', 'ok', 'glad')";

/// The declaration of the key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// It is the primary key.
    Primary,
    /// It is the primary key, and another column is unique as well.
    PrimaryAndAnother,
    /// It is unique and NOT NULL; there is no primary key.
    Unique,
    /// The primary key is of two columns.
    Composite,
    /// The primary key is of two columns; the key is unique and NOT NULL.
    CompositeAndUnique,
    /// No column is unique.
    Nothing,
}

impl Declared {
    /// True if there is a key of one column that needs no name.
    pub fn names_rows(self) -> bool {
        !matches!(self, Self::Composite | Self::Nothing)
    }
}

/// A column within whose equal values documents are compared.
#[derive(Clone, Debug)]
pub struct Scope {
    /// As SQL writes it.
    pub name: String,
    pub type_name: &'static str,
    /// Lists of literals; the literals in a list are equal.
    pub values: &'static [&'static [&'static str]],
}

impl Scope {
    /// True if it counts as a column of text.
    pub fn is_text(&self) -> bool {
        matches!(self.type_name, "text" | "varchar" | "citext" | "dtext" | "char(6)")
    }

    /// Its operator class, if that must be named.
    fn class(&self) -> &'static str {
        if matches!(self.type_name, "text" | "varchar" | "citext" | "dtext") { " minlsh_text_scope_ops" } else { "" }
    }
}

const SCOPES: [(&str, &[&[&str]]); 11] = [
    ("int", &[&["1"], &["2"]]),
    ("bigint", &[&["10000000000"], &["-1"]]),
    ("text", &[&["'north'"], &["'south of the river, by the old bridge'"]]),
    ("varchar", &[&["'a'"], &["'A'"]]),
    ("citext", &[&["'Red'", "'red'", "'RED'"], &["'blue'"]]),
    ("dtext", &[&["'x'"], &["'y'"]]),
    ("dint", &[&["7"], &["8"]]),
    ("numeric", &[&["1.0", "1", "1.00"], &["2.5"]]),
    ("date", &[&["'2020-01-01'"], &["'2021-12-31'"]]),
    ("char(6)", &[&["'ab'", "'ab  '"], &["'cd'"]]),
    ("public.mood", &[&["'sad'"], &["'glad'"]]),
];

#[derive(Clone, Debug)]
pub struct Row {
    /// The literal of its key.
    pub key: String,
    /// A small number, for predicates.
    pub flag: usize,
    pub document: Option<Value>,
    /// For each scope which list of equal values its value is of, and which of the list.
    pub scopes: Vec<Option<(usize, usize)>>,
}

/// The document that an index is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The document column.
    Column,
    /// The document column, cast to text, and some words more.
    Longer,
}

/// The words that an index on an expression adds.
pub const TAIL: &str = " and so on and so on";

/// An index of the access method.
#[derive(Clone, Debug)]
pub struct Index {
    pub name: String,
    pub of: Of,
    /// Of an `integer[]`: whether by `minlsh_signature_ops`.
    pub signatures: bool,
    pub threshold: f64,
    pub options: Options,
    /// The scopes, in the order of the index.
    pub scopes: Vec<usize>,
    /// True if rows with an odd flag are left out.
    pub partial: bool,
    pub valid: bool,
    pub sql: String,
}

/// A random table.
#[derive(Clone, Debug)]
pub struct Scene {
    pub table: String,
    pub kind: Kind,
    pub body: String,
    pub key: String,
    pub key_type: &'static str,
    pub declared: Declared,
    /// True if there is a second column of text.
    pub title: bool,
    pub scopes: Vec<Scope>,
    pub rows: Vec<Row>,
    /// Number of rows before the ones that only make the source larger, which have no document.
    pub filled: usize,
    pub indexes: Vec<Index>,
    /// Indexes of passages, which serve no other question.
    pub passages: Vec<PassageIndex>,
    /// The threshold and options of the side table.
    pub side: Option<(f64, Options)>,
    pub partitioned: bool,
    /// Of a column of documents: what all of them have.
    pub own: (f64, Options),
    /// True if some of them have a higher threshold.
    pub are_cautious: bool,
    /// Slots of a column of signatures.
    pub slots: i64,
    /// Statements that make the table and its rows; `None` is where `indexes` may be made.
    pub statements: Vec<Option<String>>,
    /// Statements that come last.
    pub last: Vec<String>,
}

/// The key of row `number`.
fn key(type_name: &str, number: usize) -> String {
    match type_name {
        "smallint" | "int" | "dint" => format!("{}", number as i64 * 7 - 20),
        "bigint" => format!("{}", number as i64 * 10_000_000_019 - 5),
        "numeric" => format!("{}.{}", number / 2, 3 * (number % 2)),
        "uuid" => format!("'{:08x}-0000-4000-8000-000000000000'", (number * 2_654_435_761) as u32),
        "date" => format!("'2020-02-01'::date + {}", number * 5),
        "timestamptz" => {
            format!("'2020-02-01 10:00:00.5+02'::timestamptz + interval '1s' * {number}")
        }
        "char(8)" => format!("'k{number}'"),
        _ => quoted(&format!("{} {}'s", ["b", "A", "ä", "a"][number % 4], number * 3)),
    }
}

/// Number of rows up to which a job compares every pair of its documents.
pub const MOST_WHOLE: usize = 64;

const TEXTS: [&str; 6] = ["text", "text", "text", "varchar", "citext", "dtext"];

const SETS: [&str; 4] = ["integer[]", "bigint[]", "text[]", "uuid[]"];

/// Ranges and multiranges; some are NULL, empty or without bounds.
const RANGES: [&str; 3] = [
    "int4range(flag, flag + 2)",
    "(CASE WHEN flag > 0 THEN int8range(nullif(flag, 1), nullif(flag, 2), '()') END)",
    "nummultirange(numrange(flag, flag, '()'), numrange(flag - 1, flag))",
];

const THRESHOLDS: [f64; 5] = [0.5, 0.7, 0.8, 0.8, 0.95];

impl Scene {
    /// A table of a seed.
    pub fn random(random: &mut Random) -> Self {
        let kind = match random.below(12) {
            0..6 => Kind::Text(random.pick_static(&TEXTS)),
            6..10 => Kind::Set(random.pick_static(&SETS)),
            10 => Kind::Document,
            _ => Kind::Signature,
        };
        let slots = [128, 128, 64][random.below(3)];
        let keys = "smallint int int bigint bigint numeric text varchar char(8) uuid date timestamptz dint";
        let key_type = random.pick_static(&keys.split(' ').collect::<Vec<_>>());
        let declared = match random.below(12) {
            0 => Declared::PrimaryAndAnother,
            1 => Declared::Unique,
            2 => Declared::Composite,
            3 => Declared::CompositeAndUnique,
            4 => Declared::Nothing,
            _ => Declared::Primary,
        };
        let mut scopes = Vec::new();
        for name in ["tenant", "\"Lang\""].into_iter().take([0, 0, 1, 1, 2][random.below(5)]) {
            let (type_name, values) = SCOPES[random.below(SCOPES.len())];
            scopes.push(Scope { name: name.into(), type_name, values });
        }
        let own =
            ([0.5, 0.7][random.below(2)], Options { recall: 0.99, num_perm: 128, ..Options::random(random, true) });
        let mut scene = Self {
            table: random.pick(&["t", "t", "\"The Table\""]).into(),
            kind,
            body: random.pick(&["body", "body", "\"Body Text\"", "minlsh_body", "column2", "\"d\""]).into(),
            key: random.pick(&["id", "id", "\"Key\"", "doc_id"]).into(),
            key_type,
            declared,
            title: random.below(4) == 0,
            scopes,
            rows: Vec::new(),
            filled: 0,
            indexes: Vec::new(),
            passages: Vec::new(),
            side: None,
            partitioned: random.below(6) == 0,
            own,
            are_cautious: kind == Kind::Document && random.below(2) == 0,
            slots,
            statements: Vec::new(),
            last: Vec::new(),
        };
        scene.make_rows(random);
        scene.make_table(random);
        scene.make_indexes(random);
        scene
    }

    fn make_rows(&mut self, random: &mut Random) {
        let corpus = Corpus::new(random, self.kind, self.slots);
        // Now and then there are enough rows for shingles that are common to all origins.
        let is_large = random.below(10) == 0;
        self.filled = if is_large { 40 + random.below(25) } else { 3 + random.below(16) };
        // Bands decide which documents of a job meet only if there are many rows. About half have an even flag.
        let least = [0, 0, MOST_WHOLE, MOST_WHOLE + 1, 3 * MOST_WHOLE][random.below(5)];
        self.rows = (0..self.filled.max(least))
            .map(|number| Row {
                key: key(self.key_type, number),
                flag: random.below(if is_large { 6 } else { 4 }),
                document: corpus.value(random).filter(|_| number < self.filled),
                scopes: self
                    .scopes
                    .iter()
                    .map(|scope| {
                        let list = random.below(4).checked_sub(1)?.min(scope.values.len() - 1);
                        Some((list, random.below(scope.values[list].len())))
                    })
                    .collect(),
            })
            .collect();
    }

    fn body_type(&self) -> &'static str {
        match self.kind {
            Kind::Text(name) | Kind::Set(name) => name,
            Kind::Document => "minlsh_document",
            Kind::Signature => "integer[]",
        }
    }

    /// The columns, and for each whether it is dropped again.
    fn columns(&self, random: &mut Random) -> Vec<(String, bool)> {
        let not_null = if self.declared == Declared::Nothing { "" } else { " NOT NULL" };
        let mut columns = vec![
            (format!("{} {}{not_null}", self.key, self.key_type), false),
            (format!("{} {}", self.body, self.body_type()), false),
            ("flag int NOT NULL".into(), false),
        ];
        if self.title {
            columns.push(("title text".into(), false));
        }
        if self.declared == Declared::PrimaryAndAnother {
            columns.push(("other bigint NOT NULL".into(), false));
        }
        columns.extend(self.scopes.iter().map(|s| (format!("{} {}", s.name, s.type_name), false)));
        for number in 0..random.below(3) {
            columns.push((format!("gone{number} {}", random.pick(&["text", "int"])), true));
        }
        random.shuffle(&mut columns);
        columns
    }

    fn constraints(&self) -> Vec<String> {
        let key = &self.key;
        match self.declared {
            Declared::Primary => vec![format!("PRIMARY KEY ({key})")],
            Declared::PrimaryAndAnother => {
                let other = if self.partitioned { "other, " } else { "other" };
                let other = format!("UNIQUE ({other}{})", if self.partitioned { key } else { "" });
                vec![other, format!("PRIMARY KEY ({key})")]
            }
            Declared::Unique => vec![format!("UNIQUE ({key})")],
            Declared::Composite => vec![format!("PRIMARY KEY (flag, {key})")],
            Declared::CompositeAndUnique => {
                vec![format!("PRIMARY KEY (flag, {key})"), format!("UNIQUE ({key})")]
            }
            Declared::Nothing => Vec::new(),
        }
    }

    fn make_table(&mut self, random: &mut Random) {
        let (table, columns) = (self.table.clone(), self.columns(random));
        let dropped: Vec<_> = columns.iter().filter(|c| c.1).map(|c| c.0.clone()).collect();
        let mut all: Vec<_> = columns.iter().map(|c| c.0.clone()).collect();
        all.extend(self.constraints());
        let mut sql = vec![format!("CREATE TABLE {table} ({})", all.join(", "))];
        if self.partitioned {
            sql[0] += &format!(" PARTITION BY HASH ({})", self.key);
        }
        sql.extend(
            dropped
                .iter()
                .map(|column| format!("ALTER TABLE {table} DROP {}", column.split(' ').next().unwrap_or_default())),
        );
        if self.partitioned {
            for part in 0..2 {
                // Partitions with columns in another order, and with other columns that are gone.
                let mut columns: Vec<_> = columns.iter().filter(|c| !c.1).map(|c| c.0.clone()).collect();
                let by = random.below(columns.len());
                columns.rotate_left(by);
                columns.insert(by, "gone text".into());
                sql.push(format!("CREATE TABLE part{part} ({})", columns.join(", ")));
                sql.push(format!("ALTER TABLE part{part} DROP gone"));
                sql.push(format!(
                    "ALTER TABLE {table} ATTACH PARTITION part{part} \
                     FOR VALUES WITH (MODULUS 2, REMAINDER {part})"
                ));
            }
        }
        self.statements.extend(sql.into_iter().map(Some));
        self.statements.push(None);
        self.insert(random);
        self.statements.push(None);
        self.churn(random);
        self.statements.push(None);
    }

    /// The threshold that a row brings.
    pub fn own_threshold(&self, row: usize) -> f64 {
        match self.kind {
            Kind::Document if self.are_cautious && row % 3 == 1 => 0.9,
            Kind::Document => self.own.0,
            _ => 0.0,
        }
    }

    fn document(&self, random: &mut Random, number: usize, value: &Option<Value>) -> String {
        let sql = |value: &Value| value.sql(random, self.kind, self.own_threshold(number), &self.own.1);
        value.as_ref().map_or("NULL".into(), sql)
    }

    fn key_of(&self, row: &Row) -> String {
        format!("({})::{}", row.key, self.key_type)
    }

    /// A row as VALUES has it, with that document.
    fn values(&self, random: &mut Random, number: usize, row: &Row, document: &Option<Value>) -> String {
        let document = self.document(random, number, document);
        let mut values = vec![self.key_of(row), document, row.flag.to_string()];
        if self.title {
            values.push(quoted(&format!("the title of all, number {}", number / 3)));
        }
        if self.declared == Declared::PrimaryAndAnother {
            values.push((1000 - number).to_string());
        }
        values.extend(
            row.scopes
                .iter()
                .zip(&self.scopes)
                .map(|(value, scope)| value.map_or("NULL".into(), |(list, at)| scope.values[list][at].to_owned())),
        );
        format!("({})", values.join(", "))
    }

    fn insert_of(&self, values: &[String]) -> String {
        let mut names = vec![self.key.clone(), self.body.clone(), "flag".into()];
        names.extend(self.title.then(|| "title".to_owned()));
        names.extend((self.declared == Declared::PrimaryAndAnother).then(|| "other".to_owned()));
        names.extend(self.scopes.iter().map(|scope| scope.name.clone()));
        format!("INSERT INTO {} ({}) VALUES {}", self.table, names.join(", "), values.join(",\n  "))
    }

    /// Rows as they are before the churn: some with another document, and some that go again.
    fn insert(&mut self, random: &mut Random) {
        let corpus = Corpus::new(random, self.kind, self.slots);
        let mut updates = Vec::new();
        let mut values = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if random.below(4) == 0 {
                let other = corpus.value(random);
                values.push(self.values(random, number, row, &other));
                let document = self.document(random, number, &row.document);
                let (table, body, key) = (&self.table, &self.body, &self.key);
                let row = self.key_of(row);
                updates.push(format!("UPDATE {table} SET {body} = {document} WHERE {key} = {row}"));
            } else {
                values.push(self.values(random, number, row, &row.document));
            }
        }
        let mut deletes = Vec::new();
        for number in 0..random.below(4) {
            let number = self.rows.len() + number;
            let row = Row {
                key: key(self.key_type, number),
                document: corpus.value(random),
                ..self.rows[random.below(self.filled)].clone()
            };
            values.push(self.values(random, number, &row, &row.document));
            let (table, key) = (&self.table, &self.key);
            deletes.push(format!("DELETE FROM {table} WHERE {key} = {}", self.key_of(&row)));
        }
        random.shuffle(&mut values);
        self.statements.push(Some(self.insert_of(&values)));
        self.last = updates.into_iter().chain(deletes).collect();
    }

    fn churn(&mut self, random: &mut Random) {
        let last = std::mem::take(&mut self.last);
        self.statements.extend(last.into_iter().map(Some));
        if random.below(3) == 0 {
            self.statements.push(Some(format!("UPDATE {} SET flag = flag", self.table)));
        }
        match random.below(3) {
            0 => self.statements.push(Some(format!("VACUUM {}", self.table))),
            1 => self.statements.push(Some(format!("ANALYZE {}", self.table))),
            _ => {}
        }
    }

    fn make_indexes(&mut self, random: &mut Random) {
        let count = [0, 1, 1, 1, 2, 2, 3][random.below(7)];
        let mut shared = None;
        for number in 0..count {
            let index = self.index(random, number, shared);
            shared = (random.below(2) == 0).then_some(index.options);
            if !index.valid {
                self.last
                    .push(format!("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i{number}'::regclass"));
            }
            self.indexes.push(index);
        }
        let is_text = matches!(self.kind, Kind::Text(_));
        if is_text {
            let count = [0, 1, 1, 2][random.below(4)];
            self.passages = (0..count).map(|number| self.passage_index(random, number)).collect();
        }
        let has_key = matches!(self.declared, Declared::Primary | Declared::PrimaryAndAnother);
        if is_text && has_key && random.below(6) == 0 {
            self.side = Some((THRESHOLDS[random.below(5)], Options::random(random, true)));
        }
        let mut columns = vec![self.body.clone(), "flag".into(), self.key.clone()];
        columns.extend(self.scopes.iter().map(|scope| scope.name.clone()));
        columns.extend(self.title.then(|| "title".to_owned()));
        let by = random.below(columns.len());
        columns.rotate_left(by);
        let columns = columns.join(", ");
        self.last.push(format!("CREATE VIEW v AS SELECT {columns} FROM {}", self.table));
    }

    fn index(&self, random: &mut Random, number: usize, shared: Option<Options>) -> Index {
        let is_text = matches!(self.kind, Kind::Text(_));
        let mut options = shared.unwrap_or_else(|| Options::random(random, is_text));
        let signatures = self.kind == Kind::Signature && random.below(4) != 0;
        let mut threshold = THRESHOLDS[random.below(THRESHOLDS.len())];
        match self.kind {
            Kind::Document => {
                let signing = options;
                options = self.own.1;
                (options.num_perm, options.recall) = (signing.num_perm, signing.recall);
                threshold = [0.5, self.own.0][random.below(2)];
            }
            _ if signatures => options.num_perm = self.slots,
            _ => {}
        }
        let of = if is_text && random.below(5) == 0 { Of::Longer } else { Of::Column };
        let class = if signatures { " minlsh_signature_ops" } else { "" };
        let partial = random.below(6) == 0;
        let (scopes, columns) = self.index_columns(random, of, class);
        let concurrently = !self.partitioned && random.below(4) == 0;
        let valid = self.partitioned || random.below(8) != 0;
        let name = format!("i{number}");
        let sql = format!(
            "CREATE INDEX {}{name} ON {} USING minlsh ({}) WITH ({}){}",
            if concurrently { "CONCURRENTLY " } else { "" },
            self.table,
            columns.join(", "),
            options.parameters(threshold),
            if partial { " WHERE flag % 2 = 0" } else { "" }
        );
        Index { name, of, signatures, threshold, options, scopes, partial, valid, sql }
    }

    /// Some scopes, and the columns of an index that has them. A column of ranges changes no answer.
    fn index_columns(&self, random: &mut Random, of: Of, class: &str) -> (Vec<usize>, Vec<String>) {
        let scopes: Vec<usize> = match (self.scopes.len(), random.below(4)) {
            (0, _) | (_, 0) => Vec::new(),
            (2, 1) => vec![0, 1],
            (2, 2) => vec![1],
            (_, _) => vec![0],
        };
        let body = &self.body;
        let document = match of {
            Of::Longer => format!("(({body})::text || '{TAIL}'){class}"),
            Of::Column => format!("{body}{class}"),
        };
        let mut columns: Vec<_> =
            scopes.iter().map(|&at| format!("{}{}", self.scopes[at].name, self.scopes[at].class())).collect();
        columns.insert(random.below(columns.len() + 1), document);
        if random.below(4) == 0 {
            let range = random.pick(&RANGES).to_owned();
            columns.insert(random.below(columns.len() + 1), range);
        }
        (scopes, columns)
    }

    fn passage_index(&self, random: &mut Random, number: usize) -> PassageIndex {
        let of = if random.below(5) == 0 { Of::Longer } else { Of::Column };
        let cut = Cut::random(random);
        let (scopes, columns) = self.index_columns(random, of, " minlsh_passage_ops");
        let concurrently = !self.partitioned && random.below(4) == 0;
        let sql = format!(
            "CREATE INDEX {}q{number} ON {} USING minlsh ({}) \
             WITH (min_match = {}, normalization = '{}'){}",
            if concurrently { "CONCURRENTLY " } else { "" },
            self.table,
            columns.join(", "),
            cut.min_match,
            cut.normalization,
            if random.below(5) == 0 { " WHERE flag % 2 = 0" } else { "" }
        );
        PassageIndex { of, cut, scopes, gap: random.below(3), sql }
    }

    /// True if it takes the extension citext, which not every server has.
    pub fn needs_citext(&self) -> bool {
        self.kind == Kind::Text("citext") || self.scopes.iter().any(|s| s.type_name == "citext")
    }

    /// The statement that makes the side table.
    pub fn side_sql(&self) -> Option<String> {
        let (threshold, options) = self.side?;
        Some(format!(
            "SELECT minlsh_create_side_table({}, {}, threshold => {threshold}, name => 'aside'{})",
            quoted(&self.table),
            quoted(&unquoted(&self.body)),
            options.arguments()
        ))
    }
}

/// A name as it is, of one as SQL writes it.
pub fn unquoted(name: &str) -> String {
    name.trim_matches('"').to_owned()
}
