//! Documents on their way to their band hashes, a batch at a time.

use super::Work;
use crate::error::Error;
use crate::memory;
use crate::passage::{Characters, Fingerprints};
use crate::shingle::saturated;
use crate::signature::{Banding, Sketcher, signature_hash};

/// Copies of documents, and then their band hashes.
#[derive(Default)]
pub struct Batch {
    text: String,
    numbers: Vec<u64>,
    documents: Vec<Document>,
    hashes: Vec<i64>,
    /// For each document the number of its hashes.
    counts: Vec<u32>,
    saturated: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Elements,
    Signature,
}

/// The kind of a document, and its end among those of its kind.
#[derive(Clone, Copy)]
struct Document {
    form: Form,
    end: usize,
}

impl Batch {
    /// Forgets all documents, but not the memory for them.
    pub fn clear(&mut self) {
        self.text.clear();
        self.numbers.clear();
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

    /// The number of bytes of its documents.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.numbers) + size_of_val(&*self.documents)
    }

    /// Adds a text.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn push_text(&mut self, text: &str) -> Result<(), Error> {
        memory::push_str(&mut self.text, text)?;
        self.place(Form::Text, self.text.len())
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
        let (bands, slots) = (Vec::new(), Vec::new());
        Self { sketcher, banding, whole: false, looks: false, bands, slots, passages: None }
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

    /// Makes the hashes of one document, `self.bands`.
    fn sign(
        &mut self,
        form: Form,
        text: &str,
        numbers: &[u64],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.bands.clear();
        if let (Some(passages), Form::Text) = (&mut self.passages, form) {
            let normalization = self.sketcher.config().normalization();
            let text = Characters::of(normalization, text, check_interrupts)?;
            let Passages { min_match, fingerprints, found } = passages;
            found.clear();
            fingerprints.append(&text, *min_match, found, check_interrupts)?;
            memory::reserve(&mut self.bands, found.len())?;
            self.bands.extend(found.iter().map(|&entry| entry as i64));
            return Ok(());
        }
        let signature = match form {
            Form::Text => self.sketcher.sketch(text, check_interrupts)?,
            Form::Elements => self.sketcher.sketch_hashes(numbers, check_interrupts)?,
            Form::Signature => {
                self.slots.clear();
                memory::reserve(&mut self.slots, numbers.len())?;
                self.slots.extend(numbers.iter().map(|&slot| slot as i32));
                (!self.slots.is_empty()).then_some(&self.slots[..])
            }
        };
        let Some(signature) = signature else { return Ok(()) };
        self.banding.hashes(signature, &mut self.bands)?;
        if self.whole {
            memory::push(&mut self.bands, signature_hash(signature) as i64)?;
        }
        Ok(())
    }
}

impl Work for Signer {
    type Batch = Batch;

    fn work(&mut self, batch: &mut Batch, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        batch.hashes.clear();
        batch.counts.clear();
        batch.saturated.clear();
        let (mut text_at, mut number_at) = (0, 0);
        for &Document { form, end } in &batch.documents {
            let (mut text, mut numbers) = ("", &[][..]);
            if let Form::Text = form {
                text = &batch.text[std::mem::replace(&mut text_at, end)..end];
            } else {
                numbers = &batch.numbers[std::mem::replace(&mut number_at, end)..end];
            }
            check_interrupts();
            if let (true, Form::Text) = (self.looks, form) {
                let better = saturated(self.sketcher.config(), text, check_interrupts)?;
                better.map_or(Ok(()), |size| memory::push(&mut batch.saturated, size))?;
            }
            self.sign(form, text, numbers, check_interrupts)?;
            memory::extend(&mut batch.hashes, &self.bands)?;
            memory::push(&mut batch.counts, self.bands.len() as u32)?;
        }
        Ok(())
    }
}
