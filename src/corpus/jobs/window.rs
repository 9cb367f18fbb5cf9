//! `near_duplicate_cluster() OVER (...)`: clusters as a window function. The first row of a cluster in the order of the
//! window names it.

use std::cell::Cell;

use sketch::corpus::{Connected, Identical, LeftOut, connect};
use sketch::dedup::{Attributes, Documents, Emit, Group, Groups};

use crate::corpus::host::{StoredRows, each_group, process};
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::members::Members;
use crate::corpus::source::reader::{Criteria, Own, Reader};
use crate::corpus::source::rows::{RowSpool, RowSpools};
use crate::document::kind::Kind;
use crate::memory::of_window;
use crate::pg::bytes::MAX_ALLOC_SIZE;
use crate::pg::job::Progress;
use crate::pg::window::Window;
use crate::prelude::*;

sql_function!(minlsh_near_duplicate_cluster, near_duplicate_cluster);

/// `near_duplicate_cluster(body, threshold, verify, shingle_size, ...) OVER (...) → bigint`
///
/// The clusters of a partition are found for its first row, and kept until its last. For each row this is the number of
/// the first row of its cluster, from 1.
fn near_duplicate_cluster(call: &Call) -> Result<Option<Datum>> {
    let window = Window::of(call)?;
    let rows = usize::try_from(window.rows()).unwrap_or(0);
    if rows > MAX_ALLOC_SIZE / size_of::<u32>() {
        return Err(not_supported(format!("a partition of {rows} rows is too large"))
            .set_hint("Use near_duplicate_clusters(), which has no such limit."));
    }
    let first = window.numbers(rows);
    let position = usize::try_from(window.position()).unwrap_or(0);
    let place = window.argument(0).and(first.get(position));
    if first.first().is_some_and(|first| first.get() == 0) {
        clusters(call, window, first)?;
    }
    Ok(place.map(|first| Datum::from(i64::from(first.get()))))
}

fn clusters(call: &Call, window: Window, first: &[Cell<u32>]) -> Result<()> {
    // The rows borrow the window for as long as it lives.
    let mut window = window;
    let arguments = Arguments::read(call, |argument| window.argument(argument));
    let kind = Kind::of_type(call.argument_type(0), arguments.extension.document).unwrap_or(Kind::Text);
    check_options(call, &mut window, first.len() as u32)?;
    let (mut own, mut context) = (None, Memory::scratch(c"minlsh row"));
    for row in (0..first.len() as u32).filter(|_| kind == Kind::Document) {
        check_interrupts();
        context.run_and_reset(|| match window.argument_at(0, row) {
            Some(document) => Own::add(&mut own, document, "the partition"),
            None => Ok(()),
        })?;
    }
    let reader = Reader::new(kind, own.as_ref());
    let criteria = Criteria::new(&arguments, reader, &[], own.as_slice())?;
    let mut documents = Documents::new(criteria.terms(), of_window(), process(Progress::start(None)))?;
    let mut places = Vec::new();
    let without = documents.take_in(|intake| {
        for place in 0..first.len() as u32 {
            check_interrupts();
            context.run_and_reset(|| {
                let Some(value) = window.argument_at(0, place) else { return Ok(()) };
                memory::push(&mut places, place)?;
                intake.add(Attributes::default(), |config, batch| reader.copy(value, config, batch))
            })?;
        }
        Ok::<_, SqlError>(())
    })?;
    if first.len() <= criteria.whole as usize {
        documents.compare_each_pair();
    }
    let spools = RowSpools(vec![(RowSpool::Partition(&mut window, places), without)]);
    // A row of a partition is identified by its position.
    let members = Members::new(&[(pg_sys::INT8OID, Oid::INVALID)])?;
    let mut rows = StoredRows::new(spools, members, &criteria);
    let mut groups = Groups::gather(documents, &mut rows, u32::MAX)?;
    let place = |name| rows.members.stored(name).integer().unwrap_or_default() as usize;
    let mut found = memory::collect(1..=first.len() as u32)?;
    each_group(&mut groups, &rows, &join, &mut |(document, first): (u32, u32)| {
        found[place(document)] = place(first) as u32 + 1;
        Ok(())
    })?;
    // All at once, so that an interrupted partition is processed again.
    first.iter().zip(found).for_each(|(place, first)| place.set(first));
    Ok(())
}

/// Refuses options that differ between rows of a partition.
fn check_options(call: &Call, window: &mut Window, rows: u32) -> Result<()> {
    let (kept, mut context) = (Memory::scratch(c"minlsh option"), Memory::scratch(c"minlsh row"));
    for argument in (1..call.count()).filter(|argument| !call.is_constant(*argument)) {
        let first = kept.run(|| window.argument_at(argument, 0).map(|value| value.copied(&kept)));
        for row in 1..rows {
            check_interrupts();
            let same = context.run_and_reset(|| match (first, window.argument_at(argument, row)) {
                (Some(a), Some(b)) => a.is_same(b),
                (a, b) => a.is_none() && b.is_none(),
            });
            if !same {
                return Err(invalid_parameter(
                    "the options of near_duplicate_cluster() must be the same in all rows of a partition",
                )
                .set_hint("Pass constants, or add what they depend on to PARTITION BY."));
            }
        }
    }
    Ok(())
}

/// Emits the documents of a group by name, each with the first one of its cluster.
fn join(group: &mut Group, emit: &mut Emit<(u32, u32)>) -> sketch::Result<LeftOut> {
    let identical = Identical::group(group)?;
    let Connected { mut components, left_out, .. } = connect(group, &identical, group.limit())?;
    for document in 0..identical.documents() {
        // The root of a component is its least document, and documents are in the order of rows.
        let root = components.find(identical.leader(document));
        emit((group.name(document), group.name(root)))?;
    }
    Ok(left_out)
}
