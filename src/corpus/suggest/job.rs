//! The statements that a suggestion prints.

use sketch::Config;

use crate::corpus::source::Source;
use crate::corpus::source::arguments::{Arguments, label};
use crate::document::kind::Kind;
use crate::options::differing;
use crate::pg::names::{literal, quoted, visible_name};

/// The common parts of the printed statements: their source, and how it is read.
pub struct SuggestedJob {
    source: String,
    /// The source that it is compared with, if that is another one.
    other: Option<String>,
    /// The beginning of a query that reads only the long texts of a source; the minimum number of characters must
    /// follow. `None` for an index.
    pub long: Option<String>,
    /// Arguments that name the text and the key, and the argument that names the scope.
    columns: String,
    pub scope: String,
    /// Options for texts that are not the default.
    pub options: Vec<(&'static str, String)>,
    /// The threshold of an index, which serves no lower one.
    least: f64,
}

impl SuggestedJob {
    pub fn new(source: &Source, arguments: &Arguments, config: &Config) -> Self {
        let given = |name: &str| arguments.shown(name);
        let argument =
            |name: &str| given(name).map_or(String::new(), |value| format!(", {name} => {}", literal(&value)));
        let text = given("source").unwrap_or_default();
        let name = |place: usize| quoted(&label(&source.columns[place].name));
        let scope: String = source.scopes.iter().map(|place| format!(", {}", name(*place))).collect();
        let from = match source.relation {
            Some(table) => visible_name(table),
            None => format!("({}) AS docs", text.trim_end_matches([';', ' ', '\n'])),
        };
        let (key, body, named) = (name(source.key), name(source.body), source.named.as_ref());
        let long = format!("SELECT {key}, {body}{scope} FROM {from} WHERE length({body}) >= ");
        Self {
            source: literal(&text),
            other: given("other").map(|other| literal(&other)),
            long: (named.is_none() && source.kind == Kind::Text).then_some(long),
            columns: argument("body") + &argument("key_column"),
            scope: argument("scope"),
            options: if named.is_none() && source.kind == Kind::Text { differing(config) } else { Vec::new() },
            least: named.map_or(0.0, |named| named.options.threshold.get()),
        }
    }

    /// The statement that calls a function for the whole source from a threshold up, with further arguments.
    pub fn of(&self, function: &str, threshold: f64, more: &str) -> String {
        let Self { source, other, columns, scope, .. } = self;
        let other = other.as_ref().map_or(String::new(), |other| format!(", {other}"));
        let (options, threshold) = (self.options(), threshold.max(self.least));
        format!("SELECT * FROM {function}({source}{other}, {threshold}{columns}{scope}{more}{options});")
    }

    /// The statement that calls a function for another source, with the same options only.
    pub fn call(&self, function: &str, source: &str, threshold: f64, more: &str) -> String {
        let (options, threshold) = (self.options(), threshold.max(self.least));
        format!("SELECT * FROM {function}({source}, {threshold}{more}{options});")
    }

    /// The call of a function without a threshold.
    pub fn without_threshold(&self, function: &str, more: &str) -> String {
        let Self { source, other, columns, scope, .. } = self;
        let other = other.as_ref().map_or(String::new(), |other| format!(", other => {other}"));
        format!("{function}({source}{other}{columns}{scope}{more}{})", self.options())
    }

    fn options(&self) -> String {
        self.options.iter().map(|(name, value)| format!(", {name} => {value}")).collect()
    }
}
