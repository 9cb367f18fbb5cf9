//! Windows that are in enough documents.

use std::sync::Arc;

use ahash::AHashMap;
use sketch::pipeline::{GivenText, Test, TextWindow, Windowing};

use crate::corpus::passages::texts::{Texts, TextsInOrder};
use crate::corpus::source::members::Members;
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::pg::job::JobPhase;
use crate::prelude::*;

/// Bytes of windows for each byte of a text, if all of them are wanted.
const WEIGHT: usize = 1 + size_of::<TextWindow>();

/// Length in bytes above which a text is processed alone.
const LARGE: usize = 1 << 20;

/// Calls a visitor with one window after another, until it fails.
pub type EachWindow<'a> = &'a mut dyn FnMut(&mut dyn FnMut(TextWindow) -> Result<()>) -> Result<()>;

/// Receives the windows of a text, in order, from [`EachWindow`].
pub type TakeWindows<'a> = dyn FnMut(&Members, GivenText, EachWindow<'_>) -> Result<()> + 'a;

/// Passes windows to `take`, text by text: those with frequent fingerprints and with hashes that `wanted` accepts.
pub fn look(texts: &mut Texts, phase: JobPhase, frequent: &Test, wanted: &Test, take: &mut TakeWindows) -> Result<()> {
    let cut = texts.cut.clone();
    let make = || Windowing::new(cut.clone(), frequent.clone(), wanted.clone());
    let mut alone = make()?;
    let make = || make().map(Windowing::finder);
    texts.each_by_hands(phase, false, WEIGHT, LARGE, &make, &mut |keys, texts| {
        let batch = match texts {
            TextsInOrder::Found(batch) => batch,
            TextsInOrder::Large(given) => {
                return take(keys, given, &mut |visit| alone.each(given, &mut check_interrupts, visit));
            }
        };
        let mut rest = &batch.found[..];
        for given in batch.texts() {
            check_interrupts();
            let own = rest.iter().take_while(|window| window.number == given.number).count();
            let (windows, others) = rest.split_at(own);
            rest = others;
            if !windows.is_empty() {
                take(keys, given, &mut |visit| windows.iter().try_for_each(|window| visit(*window)))?;
            }
        }
        Ok(())
    })
}

/// A position in a document, as a number in the order of documents and positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowPlace(pub u64);

impl WindowPlace {
    /// The place of a character.
    pub fn new(document: u32, character: usize) -> Self {
        Self(u64::from(document) << 32 | character as u64)
    }

    /// Number of the document.
    pub fn document(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Position of the character, from 0.
    pub fn character(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Sorts all windows with frequent fingerprints by hash, each with its [`WindowPlace`].
pub fn sorted(texts: &mut Texts, frequent: &Test) -> Result<Sorter> {
    let all: Test = Arc::new(|_| true);
    let mut sorter = Sorter::new(texts.share);
    look(texts, JobPhase::Counting, frequent, &all, &mut |_, _, each| {
        each(&mut |TextWindow { number, place, hash }| {
            sorter.push(Entry { key: hash, tid: WindowPlace::new(number, place as usize).0 })
        })
    })?;
    Ok(sorter)
}

/// For each window in enough documents, the number of documents, and the window's own number.
pub struct WindowCounts(AHashMap<u64, (u32, u32)>);

impl WindowCounts {
    /// Counts the documents of windows.
    pub fn of(texts: &mut Texts, frequent: &Test, min_documents: u32) -> Result<Arc<Self>> {
        /// Maximum bytes of a window in the table.
        const SIZE: usize = 40;
        let limit = texts.share / SIZE;
        let sorter = sorted(texts, frequent)?;
        let mut counts: AHashMap<u64, (u32, u32)> = AHashMap::new();
        let mut keep = |window: u64, documents: u32| {
            if documents < min_documents {
                return Ok(());
            }
            if counts.len() == limit {
                return Err(too_many());
            }
            let counted = (documents, counts.len() as u32);
            memory::insert_at(&mut counts, window, counted).map_err(Into::into).map(|_| ())
        };
        let (mut window, mut documents, mut last) = (0, 0, 0);
        sorter.finish(|Entry { key, tid }| {
            let document = WindowPlace(tid).document();
            if documents == 0 || key != window {
                keep(window, documents)?;
                (window, documents) = (key, 1);
            } else {
                documents += u32::from(document != last);
            }
            last = document;
            Ok(())
        })?;
        keep(window, documents)?;
        Ok(Arc::new(Self(counts)))
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of documents with a window, and its own number; `None` if there are not enough documents.
    pub fn get(&self, window: u64) -> Option<(u32, u32)> {
        self.0.get(&window).copied()
    }
}

fn too_many() -> SqlError {
    beyond_setting("the passages that documents have in common do not fit into maintenance_work_mem")
        .set_hint("Raise maintenance_work_mem or min_documents.")
}
