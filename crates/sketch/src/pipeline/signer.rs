//! Signs batches of documents: computes their band hashes.

use zerocopy::IntoBytes;

use super::BatchWork;
use crate::boilerplate::{CountedPart, Enough, Frame, Shingled, counted};
use crate::passage::{Characters, Fingerprints};
use crate::scheme::Scheme;
use crate::shingle::saturated;
use crate::signature::{Banding, Sketcher, signature_hash};
use crate::spool::numbers;
use crate::stored::{Form, Packing, StoredBytes, text};
use crate::{Check, Config, Result, memory};

/// Size of a text up to which its buffer is kept.
const LONG: usize = 1 << 20;

/// Bytes of documents for which an empty batch keeps memory: there may be many batches.
const KEPT: usize = 256 << 10;

/// Copies of documents, later with their band hashes.
#[derive(Default)]
pub struct SignerBatch {
    /// The documents as they are stored, one after another, and the size of the compressed ones after decompression.
    bytes: Vec<u8>,
    unpacked: usize,
    /// For each document its form, its packing and its size.
    documents: Vec<(Form, Packing, usize)>,
    /// For each document the shingles that do not count, if boilerplate is left out.
    frames: Vec<Frame>,
    hashes: Vec<i64>,
    /// For each document its number of hashes.
    counts: Vec<u32>,
    /// For each document how much of it counts, if boilerplate is left out.
    pub parts: Vec<CountedPart>,
    /// A sufficient `shingle_size` for each text that is too long for its shingles, if the signer checks that.
    pub saturated: Vec<usize>,
}

impl SignerBatch {
    /// Removes all documents, but keeps the memory for them, unless one was long.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.unpacked = 0;
        self.documents.clear();
        self.frames.clear();
    }

    /// Number of its documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// True if it has no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Size of its documents, including decompressed ones.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.unpacked + size_of_val(&*self.documents)
    }

    /// Appends a document. A signature must be long enough for the banding; an empty one is skipped.
    pub fn push(&mut self, form: Form, stored: StoredBytes) -> Result<()> {
        memory::extend(&mut self.bytes, stored.bytes)?;
        self.unpacked += if stored.packing == Packing::PLAIN { 0 } else { stored.size() };
        memory::push(&mut self.documents, (form, stored.packing, stored.bytes.len()))
    }

    /// Appends a text.
    pub fn push_text(&mut self, text: StoredBytes) -> Result<()> {
        self.push(Form::Text, text)
    }

    /// Appends a set, by the hashes of its elements.
    pub fn push_elements(&mut self, hashes: &[u64]) -> Result<()> {
        self.push(Form::Elements, StoredBytes::plain(hashes.as_bytes()))
    }

    /// Appends a signature.
    pub fn push_signature(&mut self, slots: &[i32]) -> Result<()> {
        self.push(Form::Signature, StoredBytes::plain(slots.as_bytes()))
    }

    /// Sets the shingles that do not count for the last document, for a signer that leaves them out.
    pub fn without(&mut self, frame: Frame) -> Result<()> {
        memory::push(&mut self.frames, frame)
    }

    /// The hashes of each document, in order; none if it has no shingles.
    pub fn hashes(&self) -> impl Iterator<Item = &[i64]> {
        let mut rest = &self.hashes[..];
        self.counts.iter().map(move |&count| {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            own
        })
    }
}

/// Signs documents.
pub struct Signer {
    sketcher: Sketcher,
    banding: Banding,
    making: Making,
    /// The sketcher's configuration, with a scheme that hashes shingles to 64 bits.
    shingling: Config,
    bands: Vec<i64>,
    slots: Vec<i32>,
    elements: Vec<u64>,
    /// Fingerprints, or the hashes of the counted part of a document.
    found: Vec<u64>,
    room: Vec<u8>,
}

/// The hashes that a [`Signer`] makes of documents.
pub enum Making {
    /// Band hashes. Texts that are too long for their shingles are noted, as [`saturated`] finds them.
    Bands,
    /// Band hashes, followed by the [`signature_hash`] of each document.
    BandsAndHash,
    /// Like [`Self::BandsAndHash`], for the counted part of each document: its batch has the frames that do not count.
    /// Shingles are hashed to 64 bits with any scheme.
    Counted(Enough),
    /// The fingerprint of each document.
    Fingerprint,
    /// The fingerprints of passages of this length in characters.
    Passages(usize, Fingerprints),
}

impl Signer {
    /// A signer that makes these hashes. It makes the sketcher's only allocations here, so that no thread must.
    pub fn new(mut sketcher: Sketcher, banding: Banding, making: Making) -> Self {
        // Without memory, the first text of a batch reports the error.
        let _ = sketcher.sketch("a text of a few shingles", &mut || ());
        Self {
            shingling: sketcher.config().with_scheme(Scheme::Fss),
            sketcher,
            banding,
            making,
            bands: Vec::new(),
            slots: Vec::new(),
            elements: Vec::new(),
            found: Vec::new(),
            room: Vec::new(),
        }
    }

    /// Makes the hashes of a document in `self.bands`. Adds to `saturations` if its text is too long for its shingles.
    /// Returns how much of it counts, if boilerplate is left out.
    fn sign(
        &mut self,
        form: Form,
        stored: StoredBytes,
        frame: &Frame,
        saturations: &mut Vec<usize>,
        check: Check,
    ) -> Result<CountedPart> {
        let Self { sketcher, banding, making, shingling, bands, slots, elements, found, room } = self;
        bands.clear();
        found.clear();
        let bytes = stored.unpacked(room)?;
        let own = if form == Form::Text { Some(text(bytes)?) } else { None };
        let own = own.as_deref();
        let elements = if form == Form::Elements { numbers(bytes, elements)? } else { &[] };
        let shingled = own.map_or(Shingled::Elements(elements), |text| Shingled::Text(shingling, text));
        let with_hash = matches!(making, Making::BandsAndHash | Making::Counted(_));
        let mut part = CountedPart::default();
        let signature = match (making, own) {
            (Making::Counted(enough), _) => {
                part = counted(frame, *enough, shingled, found, check)?;
                sketcher.sketch_hashes(found, check)?
            }
            (Making::Fingerprint, _) => {
                bands.extend(shingled.fingerprint(check)?.map(|hash| hash as i64));
                None
            }
            (Making::Passages(min_match, fingerprints), Some(text)) => {
                let text = Characters::of(sketcher.config().normalization(), text, check)?;
                fingerprints.append(&text, *min_match, found, check)?;
                memory::reserve(bands, found.len())?;
                bands.extend(found.iter().map(|&entry| entry as i64));
                None
            }
            (making, Some(text)) => {
                if let Making::Bands = making
                    && let Some(better) = saturated(sketcher.config(), text, check)?
                {
                    memory::push(saturations, better)?;
                }
                sketcher.sketch(text, check)?
            }
            (_, None) if form == Form::Signature => {
                let slots = numbers(bytes, slots)?;
                (!slots.is_empty()).then_some(slots)
            }
            (_, None) => sketcher.sketch_hashes(elements, check)?,
        };
        if let Some(signature) = signature {
            banding.hashes(signature, bands)?;
            if with_hash {
                memory::push(bands, signature_hash(signature) as i64)?;
            }
        }
        // Does not keep so much memory after one long text.
        found.truncate(LONG);
        found.shrink_to(LONG);
        Ok(part)
    }
}

impl BatchWork for Signer {
    type Batch = SignerBatch;
    // A text of 10 MB takes as long as 80 batches of others.
    const EARLY: usize = 128;

    fn work(&mut self, batch: &mut SignerBatch, check: Check) -> Result<()> {
        batch.hashes.clear();
        batch.counts.clear();
        batch.saturated.clear();
        batch.parts.clear();
        let mut rest = &batch.bytes[..];
        let (mut frames, none) = (batch.frames.iter(), Frame::default());
        for &(form, packing, size) in &batch.documents {
            check();
            let (bytes, others) = rest.split_at(size);
            rest = others;
            let frame = frames.next().unwrap_or(&none);
            let part = self.sign(form, StoredBytes { bytes, packing }, frame, &mut batch.saturated, check)?;
            if let Making::Counted(_) = self.making {
                memory::push(&mut batch.parts, part)?;
            }
            memory::extend(&mut batch.hashes, &self.bands)?;
            memory::push(&mut batch.counts, self.bands.len() as u32)?;
        }
        // Does not keep so much memory after one long text.
        self.room.truncate(LONG);
        self.room.shrink_to(LONG);
        Ok(())
    }
}
