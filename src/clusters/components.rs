//! Finds the documents that belong together now: the corpus job, without the links and ranks that
//! `near_duplicate_clusters()` shows.

use pgrx::pg_sys::{Datum, Oid};
use sketch::corpus::{Connected, Hashes, Identical, LeftOut, connect};
use sketch::{Error, memory};

use crate::clusters::tables::Tables;
use crate::clusters::tracked::Tracked;
use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::apart::ApartKeys;
use crate::corpus::jobs::{Question, Work};
use crate::corpus::reading::keys::Members;
use crate::corpus::source::arguments::{Arguments, Criteria, Positions};
use crate::error::{Result, wrong_state};
use crate::pg::call::float8_datum;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::names;
use crate::pg::relation::{Lock, lock};
use crate::pg::row::Continue;
use crate::pg::spi::Session;
use crate::pg::text;

const POSITIONS: Positions = Positions { threshold: 1, verify: 2, options: 6 };

/// Arguments of the corpus job.
const ARGUMENTS: usize = 15;

/// A hash of 128 bits of a normalised text: texts with the same one are copies, for they have the same shingles.
pub type Fingerprint = [u8; 16];

/// Documents in components of two or more.
pub struct FoundComponents {
    members: Members,
    /// Of each its name among the members, its component, and its fingerprint.
    pub documents: Vec<(u32, u32, Fingerprint)>,
    /// The number of documents that were read to find them.
    pub read: u32,
}

impl FoundComponents {
    /// The key of the document of that name.
    pub fn key(&self, name: u32) -> Datum {
        self.members.stored(name)
    }
}

/// The documents of an index, to be compared as `near_duplicate_clusters()` compares them, but for pairs that somebody
/// decided are not copies. Their keys are those of the tracked column, also where the table has another key by now.
pub fn question<'a>(
    session: &'a Session,
    tables: &Tables,
    index: Oid,
    tracked: &Tracked,
    threshold: f64,
) -> Result<Question<'a>> {
    if !lock(index, Lock::Read) {
        return Err(wrong_state("the index of the tracked clusters was dropped meanwhile")
            .set_hint("Create it again, and track the clusters again."));
    }
    let mut values = vec![None; ARGUMENTS];
    values[0] = Some(text::write(&names::qualified(index)));
    values[POSITIONS.threshold] = Some(float8_datum(threshold));
    // There is no column of the empty name.
    let key = tracked.documents.column(tracked.key.column);
    let key = key.map(|column| names::quoted(&column.name)).unwrap_or_default();
    values[POSITIONS.options - 2] = Some(text::write(&key));
    let arguments = Arguments::new(values, POSITIONS);
    let mut apart = DocumentKeys::new(tables.key, tracked.key.collation())?;
    tables.each("SELECT a, b FROM {apart}", &[], |rows, row| {
        for column in [1, 2] {
            if let Some(key) = rows.value(row, column, tables.key)? {
                // SAFETY: `apart` was made for keys of `tables.key`, which `value` has found this one to be of.
                unsafe { apart.push(key)? };
            }
        }
        Ok(Continue::Yes)
    })?;
    Ok(Question::new(session, &arguments, false)?.with_apart(ApartKeys::new(apart)?))
}

/// The components of the documents of a job, be they all or some.
pub fn find(work: Work) -> Result<FoundComponents> {
    let Work { members, mut batches, read } = work;
    let criteria = batches.criteria().clone();
    let (mut documents, mut components) = (Vec::new(), 0);
    batches.each(
        &|group: &mut Group, emit: &mut Emit<ComponentMembers>| of_group(group, &criteria, emit),
        &mut |component: ComponentMembers| {
            for (document, print) in component {
                memory::push(&mut documents, (document, components, print))?;
            }
            components += 1;
            Ok(())
        },
    )?;
    Ok(FoundComponents { members, documents, read })
}

/// The documents of a component by name, with their fingerprints.
type ComponentMembers = Vec<(u32, Fingerprint)>;

/// Gives out the components of a group.
fn of_group(
    group: &mut Group,
    criteria: &Criteria,
    emit: &mut Emit<ComponentMembers>,
) -> std::result::Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    // minlsh.bucket_limit would make the result depend on the order of rows.
    let Connected { components: mut joined, left_out, .. } =
        connect(group, &identical, usize::MAX)?;
    let all = 0..identical.documents();
    let by_root = all.map(|document| (joined.find(identical.leader(document)), document));
    let mut by_root = memory::collect(by_root)?;
    by_root.sort_unstable();
    for component in by_root.chunk_by(|a, b| a.0 == b.0).filter(|component| component.len() > 1) {
        let mut found = memory::with_capacity(component.len())?;
        for &(_, document) in component {
            group.check_interrupts()?;
            let print = |bytes: &[u8], check: &mut dyn FnMut()| fingerprint(criteria, bytes, check);
            found.push((group.name(document), group.with_bytes(document, print)?));
        }
        emit(found)?;
    }
    Ok(left_out)
}

/// The fingerprint of what is compared of a document.
pub fn fingerprint(
    criteria: &Criteria,
    bytes: &[u8],
    check: &mut dyn FnMut(),
) -> std::result::Result<Fingerprint, Error> {
    let print = criteria.reader.fingerprint(&criteria.config, bytes, check)?;
    Ok(print.to_be_bytes())
}
