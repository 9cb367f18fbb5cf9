//! The description of an index of the access method, which lookups, whole-corpus jobs, audits, views and side tables
//! read. The operator class of a column, and never its position, decides which one is the document.

use std::rc::Rc;

use pgrx::direct_function_call_as_datum;

use crate::document::kind::Kind;
use crate::index::layout::{Role, SCOPE_HASH};
use crate::index::partitions::{Missing, missing};
use crate::index::stored_options;
use crate::options::{IndexOptions, Threshold, further_arguments};
use crate::pg::dependency;
use crate::pg::index::{Index, IndexColumn};
use crate::pg::relation::Column;
use crate::pg::rights;
use crate::prelude::*;

/// An index of the access method.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its description in the catalogs.
    pub index: Index,
    /// The kind of its documents.
    pub kind: Kind,
    /// Position of its document among its columns.
    place: usize,
}

/// A column of an index as SQL over its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A column of the table, by its number.
    Column(i16),
    /// An expression.
    Expression(Vec<u8>),
}

/// The document, scopes and predicate of an index, as SQL over its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The document.
    pub document: Part,
    /// The scopes.
    pub scopes: Vec<Part>,
    /// The predicate of a partial index.
    pub predicate: Option<Vec<u8>>,
}

impl Part {
    /// The SQL, over the table with its columns.
    pub fn sql(&self, table: Oid) -> Sql {
        match self {
            Self::Column(number) => Sql::default().column(table, *number),
            Self::Expression(sql) => Sql::new("(").text(sql).text(")"),
        }
    }
}

impl Info {
    /// Describes an index of the access method, after locking it as a SELECT does. Its state does not matter. `None` if
    /// there is no such index.
    pub fn open(oid: Oid) -> Option<Self> {
        Index::open(oid).and_then(Self::of)
    }

    /// The indexes of a table, in the order of their OIDs, without indexes of passages, which serve other searches.
    pub fn of_table(table: Oid) -> Vec<Self> {
        let all = Index::of_table(table).into_iter().filter_map(Self::of);
        all.filter(|info| info.kind != Kind::Passage).collect()
    }

    /// All indexes of this database in the order of their OIDs, in any state, without partitions of others and
    /// temporary ones of other sessions.
    pub fn oids_of_all() -> Vec<Oid> {
        let classes = catalog::classes_of_method(catalog::access_method(), |class| {
            (role(class.opcfamily, class.opcintype) == Role::Document).then_some(class.oid)
        });
        let mut indexes: Vec<Oid> = (classes.into_iter().flatten())
            .flat_map(dependency::indexes_of_class)
            .filter(|index| {
                let table = catalog::table_of_index(*index);
                let is_gone = table == Oid::INVALID || catalog::is_partition(*index);
                !is_gone && !catalog::is_of_other_session(catalog::relation_schema(table))
            })
            .collect();
        indexes.sort_unstable_by_key(|index| index.to_u32());
        indexes
    }

    /// Describes texts in a column whose signatures another relation has, such as a side table. The result looks as if
    /// the index `index` on the signatures were an index on the texts.
    pub fn of_texts(index: Oid, name: String, table: Oid, column: &Column) -> Self {
        let column = IndexColumn {
            attribute: column.number,
            family: Oid::INVALID,
            input_type: pg_sys::TEXTOID,
            collation: column.collation,
        };
        let (oid, columns) = (index, vec![column]);
        let index = Index { oid, name, table, valid: true, columns, ..Index::default() };
        Self { index, kind: Kind::Text, place: 0 }
    }

    fn of(index: Index) -> Option<Self> {
        let ours = index.method == catalog::access_method();
        let is_document = |column: &IndexColumn| role(column.family, column.input_type) == Role::Document;
        let place = index.columns.iter().position(is_document).filter(|_| ours)?;
        let IndexColumn { family, input_type, .. } = index.columns[place];
        Some(Self { kind: Kind::of_class(family, input_type), place, index })
    }

    /// True if it has an entry for each row of its table: it is valid, and not partial.
    pub fn has_all_rows(&self) -> bool {
        self.index.valid && !self.index.partial
    }

    /// Number of the table's column that is its document; 0 for an expression.
    pub fn document(&self) -> i16 {
        self.index.columns[self.place].attribute
    }

    /// Position of the document among its columns, from 1.
    pub fn document_place(&self) -> i16 {
        self.place as i16 + 1
    }

    /// The positions of its scopes among its columns.
    fn scope_places(&self) -> impl Iterator<Item = usize> {
        let columns = self.index.columns.iter().enumerate();
        columns.filter(|(_, of)| role(of.family, of.input_type) == Role::Scope).map(|(place, _)| place)
    }

    /// The columns that are scopes.
    pub fn scope_columns(&self) -> impl Iterator<Item = &IndexColumn> {
        self.scope_places().map(move |place| &self.index.columns[place])
    }

    /// The types of its scopes, read from the table.
    pub fn scope_types(&self) -> Vec<Oid> {
        let types = self.index.types();
        self.scope_places().map(|place| types[place]).collect()
    }

    /// The options by which its documents are split, signed and banded. For a partitioned index, the options that its
    /// next partition gets.
    pub fn options(&self) -> Result<Rc<IndexOptions>> {
        stored_options::built(self.index.oid)
    }

    /// [`Self::options`], or an error if another version of the library would make other entries.
    pub fn current_options(&self) -> Result<Rc<IndexOptions>> {
        let (options, name) = (self.options()?, &self.index.name);
        if options.is_current() {
            return Ok(options);
        }
        Err(wrong_state(format!("index \"{name}\" was built by another version of minlsh"))
            .set_detail("That version computes other signatures, or uses another version of Unicode.")
            .set_hint(format!("REINDEX INDEX {};", visible_name(self.index.oid))))
    }

    /// The error for an index of passages, which does not serve searches for whole documents.
    pub fn of_passages(&self) -> SqlError {
        let name = &self.index.name;
        wrong_object(format!("index \"{name}\" is an index of passages, not of whole documents"))
            .set_hint("Use the operator ~> to search it, as in WHERE body ~> minlsh_passage('...').")
    }

    /// Refuses a threshold below `least`, the index's.
    pub fn check_threshold(&self, threshold: Threshold, least: Threshold) -> Result<()> {
        if threshold >= least {
            return Ok(());
        }
        let name = &self.index.name;
        let refused =
            invalid_parameter(format!("threshold {threshold} is below that of index \"{name}\", which is {least}"));
        // Options set by ALTER INDEX wait for REINDEX.
        let wanted = stored_options::wanted(self.index.oid).ok();
        let set = wanted.map(|options| options.threshold).filter(|set| *set <= threshold);
        Err(match set {
            Some(set) => refused
                .set_detail(format!("ALTER INDEX has set the threshold to {set}, but the index has not been rebuilt."))
                .set_hint(format!("Use REINDEX INDEX {}, or a threshold of {least}.", quoted(name))),
            None => refused
                .set_detail("The bands of the index would miss pairs below its threshold.")
                .set_hint(format!("Use {least} or more, or create an index WITH (threshold = {threshold}).")),
        })
    }

    /// Refuses an index that is not valid, so that rows may be missing.
    pub fn check_valid(&self) -> Result<()> {
        if self.index.valid {
            return Ok(());
        }
        let refused = wrong_state(format!("index \"{}\" is not valid", self.index.name));
        if let Some((detail, hint)) = Missing::shown(&missing(&self.index)) {
            return Err(refused.set_detail(detail).set_hint(hint));
        }
        Err(refused
            .set_detail("CREATE INDEX CONCURRENTLY has not finished or has failed, so rows are missing.")
            .set_hint(format!("Wait for it, or REINDEX INDEX {}.", visible_name(self.index.oid))))
    }

    /// Its columns as SQL over its table, with names as the search path finds them.
    pub fn text(&self) -> Result<Text> {
        let Index { oid, table, .. } = self.index;
        let copied = |sql: Option<Datum>| {
            // SAFETY: PostgreSQL made the text below, in the current memory context.
            let sql = sql.map_or(&[][..], |sql| unsafe { bytes::read(sql) });
            memory::copied(sql).map_err(SqlError::from)
        };
        let part = |place: usize| match self.index.columns[place].attribute {
            0 => {
                let of = [Datum::from(oid), Datum::from(place as i32 + 1), Datum::from(false)];
                let of = of.map(Some);
                // SAFETY: `pg_get_indexdef(oid, integer, boolean)` takes any values.
                let sql = unsafe { direct_function_call_as_datum(pg_sys::pg_get_indexdef_ext, &of) };
                copied(sql).map(Part::Expression)
            }
            number => Ok(Part::Column(number)),
        };
        let predicate = |tree| {
            let of = [Some(tree), Some(Datum::from(table))];
            // SAFETY: `pg_get_expr(pg_node_tree, oid)` gets a tree from the catalog.
            copied(unsafe { direct_function_call_as_datum(pg_sys::pg_get_expr, &of) })
        };
        Ok(Text {
            document: part(self.place)?,
            scopes: self.scope_places().map(part).collect::<Result<_>>()?,
            predicate: self.index.predicate().map(predicate).transpose()?,
        })
    }

    /// Its scope columns and its document, for messages: names, or expressions in parentheses.
    fn shown(&self) -> Result<(Vec<String>, String)> {
        let Text { document, scopes, .. } = self.text()?;
        let table = self.index.table;
        let shown = |part: &Part| String::from_utf8_lossy(part.sql(table).as_ref()).into_owned();
        Ok((scopes.iter().map(shown).collect(), shown(&document)))
    }

    /// Its scope columns, for messages.
    pub fn scope_names(&self) -> Vec<String> {
        self.shown().map(|(scopes, _)| scopes).unwrap_or_default()
    }

    /// A HINT that shows a query of its table by the operator.
    pub fn query_instead(&self) -> String {
        let (Ok((scopes, document)), Ok(options)) = (self.shown(), self.options()) else {
            return "Query the table by the operator ~=.".to_owned();
        };
        let (table, threshold) = (visible_name(self.index.table), options.threshold);
        let sought = match self.kind {
            Kind::Set => format!("minlsh_document(ARRAY['a', 'b'], {threshold})"),
            Kind::Signature => format!("minlsh_signature(minhash('some text'), {threshold})"),
            _ => {
                let further = further_arguments(&options.config);
                format!("minlsh_document('some text', {threshold}{further})")
            }
        };
        let scopes: String = scopes.iter().map(|scope| format!("{scope} = ... AND ")).collect();
        format!("Query the table: SELECT * FROM {table} WHERE {scopes}{document} ~= {sought};")
    }

    /// True if it has no expression and no predicate.
    pub fn has_only_columns(&self) -> bool {
        !self.index.partial && self.index.columns.iter().all(|column| column.attribute != 0)
    }

    /// True if the caller may read all columns that it is made of.
    pub fn is_readable(&self) -> bool {
        rights::may_read(self.index.table, &self.index.columns_read())
    }

    /// Its document, for messages: the column, or `body` for an expression.
    pub fn body_name(&self) -> String {
        let table = Relation::open(self.index.table, Lock::Read);
        let column = table.as_ref().and_then(|table| table.column(self.document()));
        column.map_or_else(|| "body".into(), |column| quoted(&column.name))
    }
}

/// The role of a column whose operator class has this family and input type.
fn role(family: Oid, input: Oid) -> Role {
    Role::of_class(input, catalog::function_of_family(family, input, SCOPE_HASH as i16))
}
