//! The files of `tests/attacks`: what is run, as whom, and what is expected.
//!
//! A file is SQL with a header of comments: what is attacked, who attacks, what must not happen.
//! Lines that the harness understands:
//!
//! - `-- as ROLE:` the statements that follow run in a session of this role: `superuser`, `dbowner`
//!   (owner of the database), `owner` (of schema `app`), `reader`, or `attacker` (who has schema `evil`).
//!   `-- as ROLE and ROLE:` first as the one, then as the other. `-- as ROLE, second session:`
//!   another session of the same role. `-- as ROLE, meanwhile:` do not wait for the statements: go on as soon as they
//!   wait for a lock.
//! - `-- refused: SQLSTATE...` the next statement fails, with one of these (none given: with any).
//!   `-- refused within N s: SQLSTATE...` so soon.
//! - `-- tried` the next statement may fail or succeed. All others must succeed.
//! - `-- gives: VALUE` the first column of the next statement's rows, joined by blanks.
//! - `-- encoding: NAME`, `-- no extension`: how the database is made.
//! - `-- may spring for: ROLE...` the trap may spring for these too, because a plain `SELECT` would do that.
//! - `-- only: VERSION...` versions of PostgreSQL on which this can be tried at all.
//!
//! A statement ends with a line that ends with `;` outside of `$$ $$`.

use std::path::Path;
use std::time::Duration;

/// The outcome that a statement must have.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Expected {
    #[default]
    Success,
    /// An error, with one of these SQLSTATEs if there are any.
    Refusal(Vec<String>),
    Anything,
    /// The first column of its rows.
    Values(String),
}

/// A statement and what it shall do.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    pub sql: String,
    pub expected: Expected,
    /// The time that it may take, if that matters.
    pub limit: Option<Duration>,
}

/// Statements that one session runs one after the other.
#[derive(Debug)]
pub struct Block {
    pub role: String,
    /// The session of the role.
    pub session: String,
    /// True if the script goes on while they run.
    pub meanwhile: bool,
    pub statements: Vec<Statement>,
}

/// One attack.
#[derive(Debug)]
pub struct Script {
    pub name: String,
    pub encoding: String,
    pub extension: bool,
    /// For whom the trap may spring.
    pub springs_for: Vec<String>,
    /// Versions of PostgreSQL; none: all.
    pub versions: Vec<u32>,
    pub blocks: Vec<Block>,
    /// The number of blocks, the last ones, that have the statements that follow.
    open: usize,
}

impl Script {
    /// Reads a file.
    pub fn read(file: &Path) -> Self {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("an attack in UTF-8");
        let mut script = Self {
            name,
            encoding: "UTF8".into(),
            extension: true,
            springs_for: vec!["attacker".into()],
            versions: Vec::new(),
            blocks: Vec::new(),
            open: 0,
        };
        let mut next = Statement::default();
        for line in text.lines() {
            if next.sql.is_empty() && (line.trim().is_empty() || line == "--") {
                continue;
            }
            if let Some(comment) = line.strip_prefix("-- ").filter(|_| next.sql.is_empty()) {
                script.heed(comment, &mut next);
                continue;
            }
            next.sql.push_str(line);
            next.sql.push('\n');
            if line.trim_end().ends_with(';') && next.sql.matches("$$").count() % 2 == 0 {
                assert_ne!(script.open, 0, "`-- as ROLE:` comes first");
                let statement = std::mem::take(&mut next);
                for block in script.blocks.iter_mut().rev().take(script.open) {
                    block.statements.push(statement.clone());
                }
            }
        }
        assert_eq!(next.sql, "", "{}: a statement without an end", script.name);
        script
    }

    /// A comment may be for us.
    fn heed(&mut self, comment: &str, next: &mut Statement) {
        let (word, rest) = comment.split_once(':').unwrap_or((comment, ""));
        let rest = rest.trim();
        let words = || rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match word {
            "refused" => next.expected = Expected::Refusal(words()),
            "tried" => next.expected = Expected::Anything,
            "gives" => next.expected = Expected::Values(rest.to_owned()),
            "encoding" => rest.clone_into(&mut self.encoding),
            "no extension" => self.extension = false,
            "may spring for" => self.springs_for.extend(words()),
            "only" => {
                self.versions = words().iter().map(|word| word.parse().expect("a version")).collect();
            }
            _ => {
                if let Some(limit) = word.strip_prefix("refused within ") {
                    let seconds = limit.trim_end_matches(" s").parse().expect("seconds");
                    next.limit = Some(Duration::from_secs(seconds));
                    next.expected = Expected::Refusal(words());
                }
                let Some(who) = word.strip_prefix("as ").filter(|_| comment.ends_with(':')) else {
                    return;
                };
                self.open = 0;
                for who in who.split(" and ") {
                    let (role, how) = who.split_once(", ").unwrap_or((who, ""));
                    self.open += 1;
                    self.blocks.push(Block {
                        role: role.to_owned(),
                        session: who.replace(", meanwhile", ""),
                        meanwhile: how.ends_with("meanwhile"),
                        statements: Vec::new(),
                    });
                }
            }
        }
    }
}
