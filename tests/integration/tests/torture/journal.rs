//! The journal of what a client knows to be committed.

use std::collections::BTreeMap;

/// One change: a table, a key, and the body that it has from now on; `None`: the row is gone.
pub type Change = (String, i64, Option<String>);

/// The rows of one client. Keys of different clients differ.
pub struct Journal {
    pub number: i64,
    /// Acknowledged rows.
    pub rows: BTreeMap<(String, i64), String>,
    /// The transaction that was under way when the connection was lost: it is there, or it is not.
    pub doubt: Option<Vec<Change>>,
    next: i64,
}

impl Journal {
    /// Of a new client.
    pub fn new(number: i64) -> Self {
        Self { number, rows: BTreeMap::new(), doubt: None, next: 0 }
    }

    /// A key that was not used yet.
    pub fn fresh_key(&mut self) -> i64 {
        self.next += 1;
        self.number * 1_000_000_000 + self.next
    }

    /// The keys that a table has of this client.
    pub fn keys(&self, table: &str) -> Vec<i64> {
        self.rows.keys().filter(|(of, _)| of == table).map(|(_, key)| *key).collect()
    }

    /// Takes note of an acknowledged transaction.
    pub fn commit(&mut self, changes: Vec<Change>) {
        apply(&mut self.rows, changes);
    }

    /// Compares with what is there now, and settles what was in doubt; the error is the difference.
    pub fn settle(&mut self, found: BTreeMap<(String, i64), String>) -> Result<(), String> {
        let doubt = self.doubt.take();
        if found == self.rows {
            return Ok(());
        }
        let mut with_doubt = self.rows.clone();
        apply(&mut with_doubt, doubt.unwrap_or_default());
        if found == with_doubt {
            self.rows = found;
            return Ok(());
        }
        let lost: Vec<_> = self.rows.iter().filter(|(key, body)| found.get(*key) != Some(*body)).take(5).collect();
        let extra: Vec<_> = found.iter().filter(|(key, body)| self.rows.get(*key) != Some(*body)).take(5).collect();
        Err(format!(
            "client {}: acknowledged but not there: {lost:?}; there but not acknowledged: {extra:?}",
            self.number
        ))
    }
}

fn apply(rows: &mut BTreeMap<(String, i64), String>, changes: Vec<Change>) {
    for (table, key, body) in changes {
        match body {
            Some(body) => rows.insert((table, key), body),
            None => rows.remove(&(table, key)),
        };
    }
}
