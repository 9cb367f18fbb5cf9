//! Documents on their way to their band hashes, a batch at a time.

use std::sync::Arc;

use super::BatchWork;
use crate::boilerplate::{Boilerplate, Shingled, counted};
use crate::passage::{Characters, Fingerprints};
use crate::scheme::Scheme;
use crate::shingle::saturated;
use crate::signature::{Banding, Sketcher, signature_hash};
use crate::stored::{Packing, StoredBytes, text};
use crate::{Check, Config, Result, memory};

/// Bytes of a text for which room is kept.
const LONG: usize = 1 << 20;

/// Bytes of documents for which an empty batch has room: there may be many batches.
const KEPT: usize = 256 << 10;

/// Copies of documents, and then their band hashes.
#[derive(Default)]
pub struct SignerBatch {
    /// Texts as they are stored, and the number of bytes that they have then and once they are unpacked.
    texts: Vec<u8>,
    text_bytes: usize,
    numbers: Vec<u64>,
    documents: Vec<DocumentEnd>,
    /// For each document the boilerplate of its source, where that is left out.
    boilerplates: Vec<Option<Arc<Boilerplate>>>,
    hashes: Vec<i64>,
    /// For each document the number of its hashes.
    counts: Vec<u32>,
    /// For each document the number of shingles that count, with repeats, where boilerplate is left out.
    pub counted: Vec<u32>,
    /// The `shingle_size` that would do for each text which is too long for its shingles, where the signer looks at
    /// that.
    pub saturated: Vec<usize>,
}

/// The place of a document: its end among all texts, or among all numbers.
#[derive(Clone, Copy)]
enum DocumentEnd {
    Text(Packing, usize),
    Elements(usize),
    Signature(usize),
}

enum CopiedDocument<'a> {
    Text(StoredBytes<'a>),
    Elements(&'a [u64]),
    /// Each slot is a number.
    Signature(&'a [u64]),
}

impl SignerBatch {
    /// Forgets all documents, but not the memory for them, unless one was long.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.texts.shrink_to(KEPT);
        self.text_bytes = 0;
        self.numbers.clear();
        self.numbers.shrink_to(KEPT / size_of::<u64>());
        self.documents.clear();
        self.boilerplates.clear();
    }

    /// The number of its documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// True if it has no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of bytes of its documents, and of what is unpacked of them.
    pub fn bytes(&self) -> usize {
        self.text_bytes + size_of_val(&*self.numbers) + size_of_val(&*self.documents)
    }

    /// Adds a text.
    pub fn push_text(&mut self, text: StoredBytes) -> Result<()> {
        memory::extend(&mut self.texts, text.bytes)?;
        let unpacked = if text.packing == Packing::PLAIN { 0 } else { text.size() };
        self.text_bytes += text.bytes.len() + unpacked;
        memory::push(&mut self.documents, DocumentEnd::Text(text.packing, self.texts.len()))
    }

    /// Adds a set, by the hashes of its elements.
    pub fn push_elements(&mut self, hashes: &[u64]) -> Result<()> {
        memory::extend(&mut self.numbers, hashes)?;
        memory::push(&mut self.documents, DocumentEnd::Elements(self.numbers.len()))
    }

    /// Adds a signature, which must be as long as the banding needs; an empty one is left out.
    pub fn push_signature(&mut self, slots: &[i32]) -> Result<()> {
        memory::reserve(&mut self.numbers, slots.len())?;
        self.numbers.extend(slots.iter().map(|&slot| slot as u64));
        memory::push(&mut self.documents, DocumentEnd::Signature(self.numbers.len()))
    }

    /// Says what does not count of the document that was added last, for a signer that leaves it out.
    pub fn without(&mut self, boilerplate: Option<Arc<Boilerplate>>) -> Result<()> {
        memory::push(&mut self.boilerplates, boilerplate)
    }

    /// The hashes of each document, in order: none of one without shingles.
    pub fn hashes(&self) -> impl Iterator<Item = &[i64]> {
        let mut rest = &self.hashes[..];
        self.counts.iter().map(move |&count| {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            own
        })
    }
}

fn copied<'a>(
    documents: &'a [DocumentEnd],
    texts: &'a [u8],
    numbers: &'a [u64],
) -> impl Iterator<Item = CopiedDocument<'a>> {
    let (mut text, mut number) = (0, 0);
    let from = |start: &mut usize, end| std::mem::replace(start, end)..end;
    documents.iter().map(move |&document| match document {
        DocumentEnd::Text(packing, end) => {
            CopiedDocument::Text(StoredBytes { bytes: &texts[from(&mut text, end)], packing })
        }
        DocumentEnd::Elements(end) => CopiedDocument::Elements(&numbers[from(&mut number, end)]),
        DocumentEnd::Signature(end) => CopiedDocument::Signature(&numbers[from(&mut number, end)]),
    })
}

/// Signs documents.
pub struct Signer {
    sketcher: Sketcher,
    banding: Banding,
    /// True to add a hash of the whole signature.
    whole: bool,
    /// True to look for texts that are too long for their shingles.
    looks: bool,
    bands: Vec<i64>,
    slots: Vec<i32>,
    room: Vec<u8>,
    /// Makes fingerprints of texts instead.
    passages: Option<Passages>,
    /// Leaves out boilerplate.
    counting: Option<Counting>,
}

/// Finds out what counts of documents.
struct Counting {
    /// True to sign what counts, false to make the fingerprint of the whole document.
    signs: bool,
    /// With a scheme that hashes to 64 bits.
    config: Config,
    counted: Vec<u64>,
}

struct Passages {
    min_match: usize,
    fingerprints: Fingerprints,
    found: Vec<u64>,
}

impl Signer {
    /// Makes band hashes. What a sketcher allocates once is allocated here, so that no thread has to.
    pub fn new(mut sketcher: Sketcher, banding: Banding) -> Self {
        // If there is no memory, the first text of a batch is refused.
        let _ = sketcher.sketch("a text of a few shingles", &mut || ());
        Self {
            sketcher,
            banding,
            whole: false,
            looks: false,
            bands: Vec::new(),
            slots: Vec::new(),
            room: Vec::new(),
            passages: None,
            counting: None,
        }
    }

    /// Adds the [`signature_hash`] behind the band hashes of each document.
    #[must_use]
    pub fn with_signature_hash(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Makes the fingerprints of passages of `min_match` characters instead of band hashes.
    pub fn of_passages(self, min_match: usize) -> Result<Self> {
        let passages =
            Passages { min_match, fingerprints: Fingerprints::new()?, found: Vec::new() };
        Ok(Self { passages: Some(passages), ..self })
    }

    /// Makes the fingerprint of each document instead of band hashes.
    #[must_use]
    pub fn of_fingerprints(self) -> Self {
        self.counting(false)
    }

    /// Signs what counts of each document, without the boilerplate that its batch says. Shingles are hashed to 64
    /// bits, whatever the scheme.
    #[must_use]
    pub fn without_boilerplate(self) -> Self {
        self.counting(true)
    }

    fn counting(self, signs: bool) -> Self {
        let config = self.sketcher.config().with_scheme(Scheme::Fss);
        Self { counting: Some(Counting { signs, config, counted: Vec::new() }), ..self }
    }

    /// Looks for texts that are too long for their shingles, as [`saturated`] does.
    #[must_use]
    pub fn looking_for_saturated(self) -> Self {
        Self { looks: true, ..self }
    }

    /// Makes the hashes of a document, `self.bands`.
    fn sign(
        &mut self,
        document: CopiedDocument,
        saturations: &mut Vec<usize>,
        check: Check,
    ) -> Result<()> {
        self.bands.clear();
        let signature = match document {
            CopiedDocument::Text(stored) => {
                let text = &*text(stored.unpacked(&mut self.room)?)?;
                let config = self.sketcher.config();
                if self.looks
                    && let Some(better) = saturated(config, text, check)?
                {
                    memory::push(saturations, better)?;
                }
                if let Some(Passages { min_match, fingerprints, found }) = &mut self.passages {
                    let text = Characters::of(config.normalization(), text, check)?;
                    found.clear();
                    fingerprints.append(&text, *min_match, found, check)?;
                    memory::reserve(&mut self.bands, found.len())?;
                    self.bands.extend(found.iter().map(|&entry| entry as i64));
                    return Ok(());
                }
                self.sketcher.sketch(text, check)?
            }
            CopiedDocument::Elements(hashes) => self.sketcher.sketch_hashes(hashes, check)?,
            CopiedDocument::Signature(slots) => {
                self.slots.clear();
                memory::reserve(&mut self.slots, slots.len())?;
                self.slots.extend(slots.iter().map(|&slot| slot as i32));
                (!self.slots.is_empty()).then_some(&self.slots[..])
            }
        };
        band(signature, self.banding, self.whole, &mut self.bands)
    }

    /// Makes the hashes of what counts of a document, or its fingerprint, `self.bands`. Returns how many shingles
    /// count, with repeats.
    fn sign_counted(
        &mut self,
        document: CopiedDocument,
        boilerplate: Option<&Boilerplate>,
        check: Check,
    ) -> Result<usize> {
        self.bands.clear();
        let Some(Counting { signs, config, counted: hashes }) = &mut self.counting else {
            return Ok(0);
        };
        let unpacked;
        let content = match document {
            CopiedDocument::Text(stored) => {
                unpacked = text(stored.unpacked(&mut self.room)?)?;
                Shingled::Text(config, &unpacked)
            }
            CopiedDocument::Elements(numbers) | CopiedDocument::Signature(numbers) => {
                Shingled::Elements(numbers)
            }
        };
        if !*signs {
            let fingerprint = content.fingerprint(check)?;
            self.bands.extend(fingerprint.map(|hash| hash as i64));
            return Ok(0);
        }
        counted(boilerplate, content, hashes, check)?;
        let signature = self.sketcher.sketch_hashes(hashes, check)?;
        band(signature, self.banding, self.whole, &mut self.bands)?;
        let count = hashes.len();
        // One long text is no reason to keep so much room.
        hashes.clear();
        hashes.shrink_to(LONG);
        Ok(count)
    }
}

/// Makes the hashes of a signature, if there is one.
fn band(
    signature: Option<&[i32]>,
    banding: Banding,
    whole: bool,
    bands: &mut Vec<i64>,
) -> Result<()> {
    let Some(signature) = signature else { return Ok(()) };
    banding.hashes(signature, bands)?;
    if whole {
        memory::push(bands, signature_hash(signature) as i64)?;
    }
    Ok(())
}

impl BatchWork for Signer {
    type Batch = SignerBatch;
    // A text of 10 MB takes as long as 80 batches of others.
    const EARLY: usize = 128;

    fn work(&mut self, batch: &mut SignerBatch, check: Check) -> Result<()> {
        batch.hashes.clear();
        batch.counts.clear();
        batch.saturated.clear();
        batch.counted.clear();
        let mut boilerplates = batch.boilerplates.iter();
        for document in copied(&batch.documents, &batch.texts, &batch.numbers) {
            check();
            if self.counting.is_some() {
                let boilerplate = boilerplates.next().and_then(Option::as_deref);
                let count = self.sign_counted(document, boilerplate, check)?;
                memory::push(&mut batch.counted, u32::try_from(count).unwrap_or(u32::MAX))?;
            } else {
                self.sign(document, &mut batch.saturated, check)?;
            }
            memory::extend(&mut batch.hashes, &self.bands)?;
            memory::push(&mut batch.counts, self.bands.len() as u32)?;
        }
        // One long text is no reason to keep so much room.
        self.room.truncate(LONG);
        self.room.shrink_to(LONG);
        Ok(())
    }
}
