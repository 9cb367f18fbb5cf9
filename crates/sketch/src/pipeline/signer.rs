//! Documents on their way to their band hashes, a batch at a time.

use super::BatchWork;
use crate::error::Error;
use crate::memory;
use crate::passage::{Characters, Fingerprints};
use crate::shingle::saturated;
use crate::signature::{Banding, Sketcher, signature_hash};
use crate::stored::{Packing, StoredBytes, text};

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
    documents: Vec<Document>,
    hashes: Vec<i64>,
    /// For each document the number of its hashes.
    counts: Vec<u32>,
    saturated: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Form {
    Text(Packing),
    Elements,
    Signature,
}

/// The kind of a document, and its end among those of its kind.
#[derive(Clone, Copy)]
struct Document {
    form: Form,
    end: usize,
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
    }

    /// The number of its documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// True if it has no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of bytes of its documents, and of what is unpacked of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text_bytes + size_of_val(&*self.numbers) + size_of_val(&*self.documents)
    }

    /// Adds a text.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push_text(&mut self, text: StoredBytes) -> Result<(), Error> {
        memory::extend(&mut self.texts, text.bytes)?;
        let unpacked = if text.packing == Packing::PLAIN { 0 } else { text.size() };
        self.text_bytes += text.bytes.len() + unpacked;
        self.place(Form::Text(text.packing), self.texts.len())
    }

    /// Adds a set, by the hashes of its elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push_elements(&mut self, hashes: &[u64]) -> Result<(), Error> {
        memory::extend(&mut self.numbers, hashes)?;
        self.place(Form::Elements, self.numbers.len())
    }

    /// Adds a signature, which must be as long as the banding needs; an empty one is left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push_signature(&mut self, slots: &[i32]) -> Result<(), Error> {
        memory::reserve(&mut self.numbers, slots.len())?;
        self.numbers.extend(slots.iter().map(|&slot| slot as u64));
        self.place(Form::Signature, self.numbers.len())
    }

    fn place(&mut self, form: Form, end: usize) -> Result<(), Error> {
        memory::push(&mut self.documents, Document { form, end })
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

    /// The `shingle_size` that would do for each text which is too long for its shingles, where the
    /// signer looks at that.
    #[must_use]
    pub fn saturated(&self) -> &[usize] {
        &self.saturated
    }
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
    /// Room for a text that was compressed.
    room: Vec<u8>,
    /// Makes fingerprints of texts instead.
    passages: Option<Passages>,
}

/// Makes the fingerprints of texts.
struct Passages {
    min_match: usize,
    fingerprints: Fingerprints,
    found: Vec<u64>,
}

impl Signer {
    /// Makes the band hashes of a banding. What a sketcher allocates once is allocated here, so that
    /// no thread has to.
    #[must_use]
    pub fn new(mut sketcher: Sketcher, banding: Banding) -> Self {
        // Without memory, the first text is refused as this one.
        let _ = sketcher.sketch("a text of a few shingles", &mut || ());
        let (bands, slots, room) = (Vec::new(), Vec::new(), Vec::new());
        Self { sketcher, banding, whole: false, looks: false, bands, slots, room, passages: None }
    }

    /// Adds the [`signature_hash`] behind the band hashes of each document.
    #[must_use]
    pub fn with_signature_hash(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Makes the fingerprints of passages of `min_match` characters instead of band hashes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of_passages(self, min_match: usize) -> Result<Self, Error> {
        let passages =
            Passages { min_match, fingerprints: Fingerprints::new()?, found: Vec::new() };
        Ok(Self { passages: Some(passages), ..self })
    }

    /// Looks for texts that are too long for their shingles, as [`saturated`] does.
    #[must_use]
    pub fn looking_for_saturated(self) -> Self {
        Self { looks: true, ..self }
    }

    /// Makes the hashes of a text, `self.bands`; and notes if it is too long for its shingles.
    fn sign_text(
        &mut self,
        stored: StoredBytes,
        saturations: &mut Vec<usize>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let text = &*text(stored.unpacked(&mut self.room)?)?;
        let config = self.sketcher.config();
        if self.looks
            && let Some(better) = saturated(config, text, check_interrupts)?
        {
            memory::push(saturations, better)?;
        }
        self.bands.clear();
        if let Some(Passages { min_match, fingerprints, found }) = &mut self.passages {
            let text = Characters::of(config.normalization(), text, check_interrupts)?;
            found.clear();
            fingerprints.append(&text, *min_match, found, check_interrupts)?;
            memory::reserve(&mut self.bands, found.len())?;
            self.bands.extend(found.iter().map(|&entry| entry as i64));
            return Ok(());
        }
        let signature = self.sketcher.sketch(text, check_interrupts)?;
        band(signature, self.banding, self.whole, &mut self.bands)
    }

    /// Makes the hashes of a set or a signature, `self.bands`.
    fn sign_numbers(
        &mut self,
        form: Form,
        numbers: &[u64],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.bands.clear();
        let signature = if let Form::Signature = form {
            self.slots.clear();
            memory::reserve(&mut self.slots, numbers.len())?;
            self.slots.extend(numbers.iter().map(|&slot| slot as i32));
            (!self.slots.is_empty()).then_some(&self.slots[..])
        } else {
            self.sketcher.sketch_hashes(numbers, check_interrupts)?
        };
        band(signature, self.banding, self.whole, &mut self.bands)
    }
}

/// Makes the hashes of a signature, if there is one.
fn band(
    signature: Option<&[i32]>,
    banding: Banding,
    whole: bool,
    bands: &mut Vec<i64>,
) -> Result<(), Error> {
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

    fn work(
        &mut self,
        batch: &mut SignerBatch,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        batch.hashes.clear();
        batch.counts.clear();
        batch.saturated.clear();
        let (mut text_at, mut number_at) = (0, 0);
        for &Document { form, end } in &batch.documents {
            check_interrupts();
            if let Form::Text(packing) = form {
                let bytes = &batch.texts[std::mem::replace(&mut text_at, end)..end];
                let stored = StoredBytes { bytes, packing };
                self.sign_text(stored, &mut batch.saturated, check_interrupts)?;
            } else {
                let numbers = &batch.numbers[std::mem::replace(&mut number_at, end)..end];
                self.sign_numbers(form, numbers, check_interrupts)?;
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
