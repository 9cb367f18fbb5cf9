//! `near_duplicate_cluster_of()`: the current cluster of a row, computed without any state.

use std::collections::HashMap;

use ahash::RandomState;

use crate::document::kind::Kind;
use crate::lookup::find;
use crate::lookup::search::Asked;
use crate::prelude::*;
use crate::row_key::{self, STORED};

set_function!(minlsh_near_duplicate_cluster_of, near_duplicate_cluster_of);

/// Positions of the arguments.
const OF: usize = 0;
const THRESHOLD: usize = 1;
const INDEX: usize = 2;
const MAX_MEMBERS: usize = 3;

/// Default maximum number of members in a cluster.
const DEFAULT_MAX_MEMBERS: i32 = 10_000;

/// `near_duplicate_cluster_of(key, threshold, index, max_members) → (doc_id)`
fn near_duplicate_cluster_of(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let threshold = find::threshold(call, THRESHOLD, &target)?;
    let most = call.int4(MAX_MEMBERS).unwrap_or(DEFAULT_MAX_MEMBERS);
    let most = usize::try_from(most).ok().filter(|most| *most > 0).ok_or_else(|| {
        invalid_parameter(format!("max_members must be at least 1, not {most}"))
            .set_hint("Pass the number of members beyond which the search stops.")
    })?;
    let asked = Asked::new(&target, threshold, None, None)?;
    let key_type = target.key()?.base_type;
    let Some(key) = row_key::argument(call, OF, key_type, target.name())? else { return Ok(()) };
    let mut members = FoundMembers::new(key_type, target.key()?.collation(), most)?;
    let wanted = result.column_type(0);
    let session = Session::open();
    // By the key as it was passed the row would be found twice, if an equal key is stored in another form.
    let row = target.stored_key(&session, key)?;
    let Some(key) = row.as_ref().and_then(|row| row.get(1)) else { return Ok(()) };
    // Rows of the same set have the same near-duplicates, unless each row has its own threshold.
    members.find(&session, &asked, target.info.kind != Kind::Document, key)?;
    // A single row is not a cluster.
    if members.keys.len() > 1 {
        for member in members.keys.sorted()? {
            check_interrupts();
            result.push(&[Some(members.keys.key(member).as_result(wanted))]);
        }
    }
    Ok(())
}

/// The members found so far. Keys with different texts are different.
struct FoundMembers {
    keys: DocumentKeys,
    key_type: Oid,
    known: HashMap<String, u32, RandomState>,
    /// Marks members whose near-duplicates are known: their own or a copy's were looked up.
    done: Vec<bool>,
    most: usize,
}

impl FoundMembers {
    fn new(key_type: Oid, collation: Oid, most: usize) -> Result<Self> {
        let keys = DocumentKeys::new(key_type, collation)?;
        Ok(Self { keys, key_type, known: HashMap::default(), done: Vec::new(), most })
    }

    /// Finds all members, breadth-first.
    fn find(&mut self, session: &Session, asked: &Asked, has_copies: bool, key: TypedValue) -> Result<()> {
        let _exact_text = LocalSettings::of_exact_text();
        key.with_text(|name| self.add(name))?;
        let mut next = 0;
        while next < self.keys.len() {
            check_interrupts();
            if !self.done[next] {
                // A copy, as the list of keys grows meanwhile.
                let memory = Memory::scratch(c"minlsh member");
                let key = self.keys.key(next as u32).copied(&memory);
                let mut visit = |name: &str, similarity: f64| {
                    let member = self.add(name)?;
                    if has_copies && similarity == 1.0 {
                        self.done[member as usize] = true;
                    }
                    Ok(())
                };
                memory.run(|| asked.each_of_row(session, key, &mut visit))?;
            }
            next += 1;
        }
        Ok(())
    }

    /// Returns the number of a member, after adding it if it is new.
    fn add(&mut self, name: &str) -> Result<u32> {
        if let Some(&member) = self.known.get(name) {
            return Ok(member);
        }
        if self.keys.len() == self.most {
            let message = format!("the cluster has more than {} members", self.most);
            return Err(limit_exceeded(message).set_hint(
                "Raise max_members, pass a higher threshold, or use near_duplicate_clusters(), which finds all \
                 clusters of a table at once.",
            ));
        }
        let member = self.keys.len() as u32;
        self.keys.push(row_key::converted(TypedValue::text(name), self.key_type, row_key::KEY, STORED)?)?;
        memory::push(&mut self.done, false)?;
        let name = memory::owned(name)?;
        memory::insert_at(&mut self.known, name, member)?;
        Ok(member)
    }
}
