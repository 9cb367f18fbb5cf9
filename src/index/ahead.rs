//! Leaf pages that a search comes to soon: the processor fetches what it will read there.
//!
//! To find a key in a page that nobody has read for a while is to wait for memory at each probe. But the pages of a
//! search are known before the first of them is read. So all of them are looked at together: at one item of each, about
//! where its key should be, then at one that is nearer. While one waits for memory, so do the others.
//!
//! Nobody keeps others from writing these pages meanwhile. So what is seen is but a guess of where to begin, and of
//! what to fetch; nothing else follows from it.

use std::ops::Range;

use crate::index::layout::Layout;
use crate::index::nbtree::{HIGH_KEY, NO_BLOCK};
use crate::index::pages::PinnedPage;

/// A range of keys. They are hashes, so how far a key is between two others says about where it stands.
#[derive(Clone, Copy)]
pub struct Span {
    pub low: u64,
    pub high: u64,
}

impl Span {
    /// All keys.
    pub const ALL: Self = Self { low: 0, high: u64::MAX };

    /// About where a key is among some items; perhaps behind them.
    pub fn place(self, key: u64, items: Range<u16>) -> u16 {
        let width = self.high.saturating_sub(self.low).max(1);
        let share = key.saturating_sub(self.low) as f64 / width as f64;
        // A number beyond the range of the type is its greatest.
        items.start.saturating_add((share * items.len() as f64) as u16)
    }
}

/// A leaf page, and a guess of where a key is.
pub struct Ahead {
    page: PinnedPage,
    key: u64,
    /// The items of the page.
    all: Range<u16>,
    /// Those among which the key should be, and the keys around them.
    items: Range<u16>,
    span: Span,
    place: u16,
}

impl Ahead {
    /// Nothing is known of the page yet but between which keys its items are.
    pub fn new(page: PinnedPage, key: u64, span: Span) -> Self {
        page.fetch_ends();
        Self { page, key, all: 0..0, items: 0..0, span, place: 0 }
    }

    /// The page, and about where the key is.
    pub fn into_parts(self) -> (PinnedPage, u16) {
        (self.page, self.place)
    }

    /// Looks at how many items there are.
    fn count(&mut self) {
        let (last, next) = self.page.glimpse_ends();
        let first = if next == NO_BLOCK { HIGH_KEY } else { HIGH_KEY + 1 };
        self.all = first..last.max(first) + 1;
        self.items = self.all.clone();
        self.guess();
    }

    fn guess(&mut self) {
        let place = self.span.place(self.key, self.items.clone());
        self.place = place.clamp(self.items.start, self.items.end.max(self.items.start + 1) - 1);
        self.page.fetch_pointer(self.place);
    }

    /// Looks at the item where the key should be.
    fn narrow(&mut self, layout: &Layout) {
        let Some(found) = self.page.glimpse(self.place).and_then(|item| layout.key(&item)) else {
            return;
        };
        if self.items.is_empty() {
            return;
        }
        if found < self.key {
            (self.items.start, self.span.low) = (self.place + 1, found);
        } else {
            (self.items.end, self.span.high) = (self.place, found);
        }
        self.guess();
    }

    /// Has the items around the key fetched.
    fn fetch_neighbours(&self) {
        for offset in self.place.saturating_sub(1)..=self.place + 1 {
            if self.all.contains(&offset) {
                self.page.fetch_item(offset);
            }
        }
    }
}

/// Looks at all of these pages.
pub fn look(layout: &Layout, pages: &mut [Ahead]) {
    /// Items of a page that are looked at: each next guess is off by about the root of the last one's error.
    const LOOKS: usize = 3;
    pages.iter_mut().for_each(Ahead::count);
    for _ in 0..LOOKS {
        pages.iter().for_each(|page| page.page.fetch_item(page.place));
        pages.iter_mut().for_each(|page| page.narrow(layout));
    }
    pages.iter().for_each(Ahead::fetch_neighbours);
}
