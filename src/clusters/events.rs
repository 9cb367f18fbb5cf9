//! The events of an update, in the order of the log. Before them come the fingerprints of members that have changed.

use sketch::clusters::{ClusterEvent, ClusterId, ClusterIds};

use crate::clusters::corpus::Fingerprint;
use crate::clusters::places::{ClusterPlaces, UpdatePlace, print_of};
use crate::memory::of_sort;
use crate::pg::sorted_rows::{INT8, SortedRows, UUID};
use crate::prelude::*;
use crate::row_key::Key;

/// An event as it is read again, or the change of a fingerprint.
pub struct LoggedEvent {
    /// None for a change of a fingerprint, which is not logged.
    pub event: Option<ClusterEvent>,
    pub cluster: ClusterId,
    /// The key of the document that it is about, if it is about one, valid until the next event is read; and the
    /// fingerprint of that document now.
    pub key: Option<Datum>,
    pub print: Option<Fingerprint>,
}

/// The step of changes of fingerprints, before those of events.
const BEFORE_ALL: i64 = -1;

/// Events. PostgreSQL sorts them, so that memory holds as many as it may.
pub struct Events {
    /// The place of each in the log, as [`ClusterEvent::place`] has it, then its size, and its document's key and
    /// fingerprint.
    rows: SortedRows,
    key: Oid,
}

impl Events {
    /// All that the ids do to the documents, whose keys are such, and to clusters.
    pub fn of(places: &mut ClusterPlaces, ids: &ClusterIds, key: &Key) -> Result<Self> {
        let key = (key.base_type, key.collation());
        let rows = SortedRows::new(&[INT8, INT8, INT8, INT8, INT8, key, UUID], 4, of_sort())?;
        let mut events = Self { rows, key: key.0 };
        for event in ids.events()? {
            check_interrupts();
            events.push(event, None)?;
        }
        places.each(&mut |rank, place| {
            if let (Some((cluster, old)), Some(print)) = (place.old, place.print())
                && old != Some(print)
            {
                events.push_at([BEFORE_ALL, cluster, 0, rank.into(), 0], Some(place))?;
            }
            let event = ids.event_of(rank, place.ranked());
            event.map_or(Ok(()), |event| events.push(event, Some(place)))
        })?;
        Ok(events)
    }

    fn push(&mut self, event: ClusterEvent, place: Option<&UpdatePlace>) -> Result<()> {
        let (step, cluster, other, document) = event.place();
        let size = event.size.map_or(-1, |size| size as i64);
        self.push_at([step.into(), cluster, other, document.map_or(-1, i64::from), size], place)
    }

    fn push_at(&mut self, numbers: [i64; 5], place: Option<&UpdatePlace>) -> Result<()> {
        let print = place.and_then(UpdatePlace::print);
        let print = print.as_ref().map(|print| Datum::from(print.as_ptr()));
        // SAFETY: a key of the documents, whose type `of` was given, and a uuid, which is passed as a pointer to its
        // bytes. Both live until the row is copied.
        let (key, print) = unsafe {
            let key = Parameter::new(self.key, place.map(|place| place.key));
            (key, Parameter::new(pg_sys::UUIDOID, print))
        };
        let [step, cluster, other, document, size] = numbers.map(Parameter::int8);
        self.rows.push(&[step, cluster, other, document, size, key, print])
    }

    /// Calls `visit` with each event, in the order of the log.
    pub fn each(&mut self, visit: &mut dyn FnMut(LoggedEvent) -> Result<()>) -> Result<()> {
        let key = self.key;
        self.rows.each(&mut |row| {
            check_interrupts();
            let int = |column| Ok::<_, SqlError>(row.int8(column)?.unwrap_or_default());
            let (cluster, other, document) = (int(2)?, int(3)?, u32::try_from(int(4)?).ok());
            let place = u8::try_from(int(1)?).map(|step| (step, cluster, other, document));
            let size = u64::try_from(int(5)?).ok();
            let event = place.ok().and_then(|place| ClusterEvent::at(place, size));
            let (key, print) = (row.typed(6, key)?, print_of(row, 7)?);
            visit(LoggedEvent { event, cluster, key, print })?;
            Ok(Continue::Yes)
        })
    }
}
