//! Rows that are read soon: the processor fetches them while others are looked at.
//!
//! Whoever reads rows here and there in a large table waits for memory several times at each: for its page, for where
//! it is in the page, for itself. But it is known which rows come next. So the pages of some of them are pinned
//! together, and while one is waited for, so are the others.

use pgrx::pg_sys;

use crate::error::Result;
use crate::index::pages::PinnedPage;
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;

/// Rows that are fetched together, at most.
const MOST: usize = 16;

/// One page is pinned for so many buffers of the server, and at least one.
const BUFFERS: usize = 1024;

/// Calls `visit` with places of rows of a table, which has as many pages, in their order.
pub fn each(
    table: &Open,
    mut places: impl Iterator<Item = u64>,
    visit: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    // SAFETY: a number that is set when the server starts.
    let buffers = usize::try_from(unsafe { pg_sys::NBuffers }).unwrap_or(0);
    let most = (buffers / BUFFERS).clamp(1, MOST);
    let mut together = Vec::with_capacity(MOST);
    loop {
        together.clear();
        together.extend(places.by_ref().take(most));
        if together.is_empty() {
            return Ok(());
        }
        let _pinned = pin(table, &together);
        for &place in &together {
            check_interrupts();
            visit(place)?;
        }
    }
}

/// Pins the pages of rows, and has the processor fetch these.
fn pin(table: &Open, places: &[u64]) -> Vec<PinnedPage> {
    let blocks = places.iter().map(|place| (place >> 16) as u32);
    // SAFETY: an open table.
    let pages: Vec<_> = unsafe { PinnedPage::each(table.raw(), blocks) }.collect();
    let rows = || pages.iter().zip(places.iter().map(|place| *place as u16));
    for (page, offset) in rows() {
        page.fetch_header();
        page.fetch_pointer(offset);
    }
    rows().for_each(|(page, offset)| page.fetch_whole_item(offset));
    pages
}
