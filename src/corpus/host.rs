//! The host of the engine's jobs: reads the rows of sources, stores them, and reads documents again.

use std::cell::RefCell;
use std::rc::Rc;

use sketch::corpus::LeftOut;
use sketch::dedup::{
    Attributes, DocumentPass, Documents, Form, Groups, Host, JobStep, Judge, Little, NO_ORIGIN, Process, Scope,
    Shortfall, TakeResults, TakeStored, VisitDocument, append_bytes,
};
use sketch::stored::StoredBytes;
use sketch::{Sketcher, counted};

use crate::corpus::source::members::{KeyCheck, Members};
use crate::corpus::source::omitted::{Omitted, Reason};
use crate::corpus::source::reader::{Criteria, Reader};
use crate::corpus::source::rows::{RowSpool, RowSpools, SourceRow, SourceRows};
use crate::corpus::source::scopes::{ColumnValues, Scopes};
use crate::pg::job::{Counter, JobPhase, Progress};
use crate::pg::temp_file::TempFile;
use crate::pg::value_type::Output;
use crate::pg::worker_threads::setting;
use crate::prelude::*;

/// The stored rows of a job, and the keys of those that are compared.
pub struct StoredRows<'a> {
    spools: RowSpools<'a>,
    pub members: Members,
    /// Decided once: another session may extend a table meanwhile.
    can_fetch: bool,
    reading: RefCell<DocumentReader>,
}

/// Passes on the bytes of a row's document.
type ReadRow<'a> = dyn FnMut(&mut TakeStored<SqlError>) -> Result<()> + 'a;

/// Reads a document from a row.
struct DocumentReader {
    reader: Reader,
    sketcher: Sketcher,
    room: Vec<u8>,
    /// Memory for one document.
    context: Memory,
}

impl<'a> StoredRows<'a> {
    /// The rows in `spools`. No key of them is kept yet.
    pub fn new(spools: RowSpools<'a>, members: Members, criteria: &Criteria) -> Self {
        let reading = DocumentReader {
            reader: criteria.reader,
            sketcher: Sketcher::new(criteria.config.clone()),
            room: Vec::new(),
            context: Memory::scratch(c"minlsh document"),
        };
        Self { can_fetch: spools.can_fetch(), spools, members, reading: RefCell::new(reading) }
    }

    /// Calls `visit` with the number of each document, its key, and a way to read it.
    pub fn each_row(mut self, visit: &mut dyn FnMut(u32, TypedValue, &mut ReadRow) -> Result<()>) -> Result<()> {
        let Self { spools, reading, .. } = &mut self;
        let reading = reading.get_mut();
        let form = reading.reader.form();
        spools.each(&mut (0..), &mut |_, row| {
            visit(row.number, row.key, &mut |take| reading.read(row.document()?, form, take))
        })
    }
}

impl DocumentReader {
    /// Calls `take` with the bytes of a document.
    fn read(&mut self, document: TypedValue, form: Form, take: &mut TakeStored<SqlError>) -> Result<()> {
        let Self { reader, sketcher, room, context } = self;
        context.run_and_reset(|| {
            if form != Form::Signature {
                return reader.with_stored(document, room, take);
            }
            room.clear();
            reader.sketch(document, sketcher, |signature, _| Ok(append_bytes(signature, room)?))?;
            take(StoredBytes::plain(room))
        })
    }
}

impl Host for StoredRows<'_> {
    type Error = SqlError;

    fn each(
        &mut self,
        pass: DocumentPass,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument<SqlError>,
    ) -> Result<()> {
        let Self { spools, members, reading, .. } = self;
        let reading = reading.get_mut();
        spools.each(wanted, &mut |source, row| {
            check_interrupts();
            if pass == DocumentPass::Candidates {
                members.push(source, row.key)?;
            }
            visit(row.number, &mut |form, take| reading.read(row.document()?, form, take))
        })
    }

    fn can_fetch(&self) -> bool {
        self.can_fetch
    }

    fn fetch(&self, wanted: &mut dyn Iterator<Item = u32>, visit: &mut VisitDocument<SqlError>) -> Result<()> {
        let mut reading = self.reading.borrow_mut();
        self.spools.fetch(wanted, &mut |number, document| {
            check_interrupts();
            visit(number, &mut |form, take| reading.read(document, form, take))
        })
    }
}

/// The process of a job in this backend.
pub fn process(progress: Progress) -> Process {
    let threads = progress.threads();
    let step = move |step| match step {
        JobStep::Read(documents) => progress.set(Counter::Read, documents.into()),
        JobStep::Grouping => progress.enter(JobPhase::Grouping),
        JobStep::Fetched(0) => progress.enter(JobPhase::Fetching),
        JobStep::Fetched(documents) => progress.set(Counter::Candidates, documents.into()),
        JobStep::Compared(0) => progress.enter(JobPhase::Comparing),
        JobStep::Compared(documents) => progress.set(Counter::Compared, documents as u64),
    };
    Process { threads, setting, new_file: TempFile::new_file(), progress: Rc::new(step) }
}

/// The columns that say with which other documents a document is compared.
pub struct AttributeColumns {
    pub scopes: Scopes,
    pub origins: Option<OriginValues>,
    pub agreeing: Option<AgreeingSets>,
    /// Number of rows that were read, including those that take no part.
    pub read: u32,
}

/// The origins seen so far.
pub struct OriginValues {
    known: Scopes,
    /// Each origin as text, by number, with the output function of their type, if they are shown.
    shown: Vec<String>,
    output: Option<Output>,
    context: Memory,
}

impl OriginValues {
    /// No origins yet. A document's origin is the value of a column of this type and collation; without a column it is
    /// the same for all. Keeps origins as text if `shows`.
    pub fn new(criteria: &Criteria, column: &[(Oid, Oid)], shows: bool) -> Result<Self> {
        if criteria.reader.form() == Form::Signature {
            let message = "boilerplate cannot be left out of signatures";
            return Err(invalid_parameter(message)
                .set_hint("Use the texts that the signatures are of, or their sets of shingles."));
        }
        Ok(Self {
            known: Scopes::new("boilerplate", column)?,
            shown: Vec::new(),
            output: column.first().filter(|_| shows).map(|(type_oid, _)| Output::of(*type_oid)),
            context: Memory::scratch(c"minlsh origin"),
        })
    }

    /// The number of the origin in a value of the column.
    fn number<'v>(&mut self, value: impl Fn(usize) -> Option<TypedValue<'v>>) -> Result<u32> {
        let Some(number) = self.known.of(&value)?.map(Scope::number) else { return Ok(NO_ORIGIN) };
        if number as usize == self.shown.len()
            && let Some((output, value)) = self.output.as_ref().zip(value(0))
        {
            let shown = self.context.run_and_reset(|| output.shown(value));
            memory::push(&mut self.shown, shown)?;
        }
        Ok(number)
    }

    /// An origin as text, shortened if it is long.
    pub fn shown(&self, origin: u32) -> Option<&str> {
        self.shown.get(origin as usize).map(String::as_str)
    }
}

/// The elements of the arrays of `agree`. An element has 128 bits, and is equal for values that are equal by their
/// type, like a scope: a hash of the bytes if equal values have equal bytes, otherwise a number for each value.
pub struct AgreeingSets {
    values: ColumnValues,
    /// Memory for kept values.
    kept: Memory,
    /// Memory for one array.
    context: Memory,
    set: Vec<u128>,
}

impl AgreeingSets {
    /// No values yet, of this type and collation.
    pub fn new(element: (Oid, Oid)) -> Result<Self> {
        Ok(Self {
            values: ColumnValues::new("agree", element)?,
            kept: Memory::scratch(c"minlsh values of agree"),
            context: Memory::scratch(c"minlsh array of agree"),
            set: Vec::new(),
        })
    }

    /// The elements of an array, or of NULL.
    fn of(&mut self, array: Option<TypedValue>) -> Result<&[u128]> {
        let Self { values, kept, context, set } = self;
        set.clear();
        if let Some(array) = array {
            context.run_and_reset(|| {
                for element in array.elements().flatten() {
                    memory::push(set, values.element(element, kept)?)?;
                }
                Ok::<_, SqlError>(())
            })?;
        }
        Ok(set)
    }
}

/// Adds the rows of a source to `documents`, and stores the rows of documents in `spool`. Returns it with the positions
/// of its rows that are not documents. Counts rows that take no part in `omitted`.
pub fn read(
    documents: &mut Documents,
    criteria: &Criteria,
    columns: &mut AttributeColumns,
    (rows, keys): (&SourceRows, &KeyCheck),
    mut spool: RowSpool<'static>,
    omitted: &mut Omitted,
) -> Result<(RowSpool<'static>, Vec<u32>)> {
    let reader = criteria.reader;
    let AttributeColumns { scopes, origins, agreeing, read } = columns;
    let (mut context, mut hashes) = (Memory::scratch(c"minlsh document"), Vec::new());
    let mut sketcher = Sketcher::new(criteria.config.clone());
    let without = documents.take_in(|intake| {
        rows.each(&mut |row: &SourceRow| {
            check_interrupts();
            *read = read.saturating_add(1);
            let Some(document) = omitted.document(row) else { return Ok(()) };
            let Some(key) = row.key() else {
                let signed = context.run_and_reset(|| reader.sketch(document, &mut sketcher, |_, _| Ok(())));
                if signed?.is_some() {
                    return Err(keys.missing());
                }
                omitted.add(Reason::Empty, 1);
                return Ok(());
            };
            let Some(scope) = scopes.of(|place| row.scope(place))? else { return Ok(()) };
            // The column of origins follows the scopes.
            let origin = match origins {
                Some(origins) => origins.number(|_| row.scope(scopes.columns()))?,
                None => NO_ORIGIN,
            };
            let agreeing = match agreeing {
                Some(agreeing) => agreeing.of(row.agreeing())?,
                None => &[],
            };
            intake.add(Attributes { scope, origin, agreeing }, |config, batch| {
                context.run_and_reset(|| reader.copy(document, config, batch))
            })?;
            if let Some(hash) = keys.hash(key) {
                memory::push(&mut hashes, hash)?;
            }
            spool.push(row)
        })
    })?;
    omitted.add(Reason::Empty, without.len());
    let mut position = 0..;
    let mut empty = without.iter().peekable();
    hashes.retain(|_| empty.next_if(|empty| position.next() == Some(**empty)).is_none());
    keys.finish(hashes, |look| spool.each_key(look))?;
    Ok((spool, without))
}

/// Processes each group by `judge`, and passes the results to `taker`, always in the same order. Reports what a limit
/// has left out.
pub fn each_group<T: Send>(
    groups: &mut Groups,
    rows: &StoredRows,
    judge: &Judge<T>,
    taker: &mut dyn TakeResults<T, SqlError>,
) -> Result<()> {
    let limit = groups.terms().bucket_limit;
    let Shortfall { left_out, needed, floor } = groups.each(rows, judge, taker)?;
    report_left_out(left_out, limit);
    if let Some(needed) = needed {
        let megabytes = |bytes: usize| bytes.div_ceil(1 << 20);
        let report = notice("maintenance_work_mem does not hold the largest group of similar documents");
        let report = match floor {
            Some(floor) => report.set_detail(format!("Up to {} MB were taken for it instead.", megabytes(floor))),
            None => report,
        };
        report
            .set_hint(format!(
                "Set maintenance_work_mem to '{}MB' or more to compare it in less time.",
                megabytes(needed)
            ))
            .report();
    }
    Ok(())
}

/// Reports the comparisons that `limit`, of a bucket, has left out, as a WARNING if random pairs show that similar ones
/// are missing, otherwise as a NOTICE.
fn report_left_out(LeftOut { comparisons, documents, similar, missing }: LeftOut, limit: usize) {
    if comparisons == 0 {
        return;
    }
    let message = format!("{comparisons} pairs of documents that share a bucket were not compared there");
    let (report, found) = match similar {
        0 => (notice(message), "none of these was similar.".to_owned()),
        _ => {
            let were = if similar == 1 { "was" } else { "were" };
            let found = format!("{similar} of these {were} similar, so about {missing} similar pairs may be missing.");
            (warning(message), found)
        }
    };
    report
        .set_detail(format!(
            "In {documents} cases a document was compared with {limit} others of a bucket without success \
             (minlsh.bucket_limit), and of the rest only with one, picked at random: {found}"
        ))
        .set_hint(
            "Raise minlsh.bucket_limit, pass boilerplate => the column that says where a document comes from, or pass \
             a higher num_perm.",
        )
        .report();
}

/// Reports the numbers of documents with little counted text in a NOTICE, if there are any.
pub fn report_little(Little { by_equality, small }: Little) {
    let documents = |count: usize, how: &str| {
        let verb = if count == 1 { "is" } else { "are" };
        (count > 0).then(|| format!("{} {verb} compared {how}", counted(count, "document")))
    };
    let parts = [documents(by_equality, "for equality only"), documents(small, "by less than a third of their text")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        notice(parts.join(", "))
            .set_detail("The rest of their text is boilerplate, which does not count.")
            .set_hint("Use near_duplicate_boilerplate() to see how much of each document counts.")
            .report();
    }
}
