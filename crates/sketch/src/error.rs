//! Errors that callers cause.
//!
//! A message is in lower case, without a full stop, and names the offending value and the allowed range. A hint is a
//! sentence that says what to do.

use thiserror::Error as Messages;

use crate::{
    MAX_DIFF_WORDS, MAX_MIN_LENGTH, MAX_MIN_MATCH, MAX_NUM_PERM, MAX_SHINGLE_SIZE, MAX_STOP_WORDS, MAX_WEIGHT,
    MIN_MIN_MATCH, MIN_WEIGHT,
};

/// The result of an operation that can fail; `E` may be an error of the caller's, which is passed on.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Maximum number of characters of a refused text in an error.
const EXCERPT: usize = 64;

/// A refused argument, or a lack of memory. Every public function of the crate that can fail returns this.
#[derive(Clone, Debug, Messages, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There is not enough memory for something that grows with the input.
    #[error("out of memory")]
    OutOfMemory {
        /// Approximate number of bytes requested.
        bytes: usize,
    },
    /// Bytes that are not a possible result of compression.
    #[error("compressed data is corrupt")]
    Damaged,
    /// A temporary file cannot be made, written or read.
    #[error("temporary file: {0}")]
    File(std::io::ErrorKind),
    /// A callback asked to stop; it knows why.
    #[error("stopped")]
    Stopped,
    /// A text of more than [`MAX_DIFF_WORDS`] words in a word-by-word comparison.
    #[error("text has more than {MAX_DIFF_WORDS} words, which is too many to compare word by word")]
    DiffWords,
    /// A list of stop words of more than `MAX_STOP_WORDS` bytes.
    #[error("stop words must have at most {MAX_STOP_WORDS} bytes, not {0}")]
    StopWords(usize),
    /// A name that is not a [`Scheme`](crate::Scheme).
    #[error("unknown scheme \"{name}\"")]
    UnknownScheme {
        /// The unknown name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A shingle unit other than `char`, `word` and `anchored`.
    #[error("unknown shingle unit \"{0}\"")]
    UnknownUnit(String),
    /// `num_perm` outside `1..=MAX_NUM_PERM`.
    #[error("num_perm must be between 1 and {MAX_NUM_PERM}, not {0}")]
    NumPerm(i64),
    /// `shingle_size` outside `1..=MAX_SHINGLE_SIZE`.
    #[error("shingle_size must be between 1 and {MAX_SHINGLE_SIZE}, not {0}")]
    ShingleSize(i64),
    /// The seed of a datasketch scheme outside `0..=u32::MAX`.
    #[error("seed must be between 0 and {max}, not {0}", max = u32::MAX)]
    Seed(i64),
    /// LeanMinHash bytes of a scheme without that format, by its name.
    #[error("signatures of scheme \"{0}\" have no LeanMinHash format")]
    LeanScheme(&'static str),
    /// A byte order that Python's `struct` does not know.
    #[error("unknown byte order \"{0}\"")]
    LeanByteOrder(String),
    /// LeanMinHash bytes that end within their header.
    #[error("LeanMinHash must have at least 12 bytes, not {0}")]
    LeanHeader(usize),
    /// LeanMinHash bytes whose length does not match their count of values.
    #[error("LeanMinHash of count {count} cannot have {bytes} bytes")]
    LeanLength {
        /// Number of bytes.
        bytes: usize,
        /// The count of hash values in the header, negated in the format of datasketch 2.
        count: i32,
    },
    /// LeanMinHash bytes with a scheme code other than 1, affine32.
    #[error("{}", lean_code(*.0))]
    LeanCode(u8),
    /// Too few slots to estimate the number of elements with a known error.
    #[error("a signature must have at least 3 slots to count elements, not {0}")]
    CardinalitySlots(usize),
    /// More elements than the slots can count.
    #[error("a signature of this length can count at most {most:.0} elements, not about {estimate:.0}")]
    CardinalityTooLarge {
        /// The estimate.
        estimate: f64,
        /// Maximum number of elements for these slots.
        most: f64,
    },
    /// `min_token_len` below 0.
    #[error("min_token_len must be at least 0, not {0}")]
    MinTokenLen(i64),
    /// `quant_rate` outside `[0, 1]`.
    #[error("quant_rate must be between 0 and 1, not {0}")]
    QuantRate(f64),
    /// A weight that is neither 0 nor in `MIN_WEIGHT..=MAX_WEIGHT`.
    #[error("a weight must be 0 or between {MIN_WEIGHT:e} and {MAX_WEIGHT:e}, not {0}")]
    Weight(f64),
    /// An unknown step of normalisation.
    #[error("unknown normalization step \"{0}\"")]
    UnknownStep(String),
    /// A step of normalisation that is written twice.
    #[error("normalization step \"{0}\" is specified more than once")]
    RepeatedStep(String),
    /// Two steps of normalisation that exclude each other.
    #[error("normalization steps \"{0}\" and \"{1}\" contradict each other")]
    ContradictorySteps(String, String),
    /// A `min_length` outside `1..=MAX_MIN_LENGTH`.
    #[error("min_length must be between 1 and {MAX_MIN_LENGTH}, not \"{0}\"")]
    MinLength(String),
    /// A `min_length` of codes below 1.
    #[error("min_length must be at least 1, not {0}")]
    CodeLength(i64),
    /// Anchored shingles with a normalisation that drops stop words.
    #[error("normalization step \"stop_words\" contradicts the shingle unit \"anchored\"")]
    AnchorsDropped,
    /// `slot_bits` other than 8, 16 and 32.
    #[error("slot_bits must be 8, 16 or 32, not {0}")]
    SlotBits(i64),
    /// `num_perm` slots of `slot_bits` bits do not fill whole integers.
    #[error(
        "num_perm must be a multiple of {} for slot_bits {slot_bits}, not {num_perm}", u32::BITS / slot_bits
    )]
    SlotsDoNotFill {
        /// The slots of a signature.
        num_perm: usize,
        /// The bits kept for each slot.
        slot_bits: u32,
    },
    /// Two signatures of different lengths in a comparison or union.
    #[error("signatures of different lengths cannot be compared: {left} and {right} slots")]
    LengthMismatch {
        /// Slots of the first signature.
        left: usize,
        /// Slots of the second signature.
        right: usize,
    },
    /// A signature without slots.
    #[error("a signature must have at least 1 slot, not 0")]
    EmptySignature,
    /// A Jaccard similarity outside `[0, 1]`.
    #[error("jaccard must be between 0 and 1, not {0}")]
    Jaccard(f64),
    /// A similarity threshold outside `(0, 1]`.
    #[error("threshold must be greater than 0 and at most 1, not {0}")]
    Threshold(f64),
    /// A recall outside `(0, 1)`.
    #[error("recall must be greater than 0 and less than 1, not {0}")]
    Recall(f64),
    /// `bands` below 1.
    #[error("bands must be between 1 and {MAX_NUM_PERM}, not {0}")]
    Bands(i64),
    /// `rows` below 1.
    #[error("rows must be between 1 and {MAX_NUM_PERM}, not {0}")]
    Rows(i64),
    /// A banding with more slots than any signature has.
    #[error("bands * rows must be at most {MAX_NUM_PERM}, not {bands} * {rows}")]
    BandingTooLarge {
        /// Requested bands.
        bands: i64,
        /// Requested rows per band.
        rows: i64,
    },
    /// A signature with fewer slots than the banding uses.
    #[error("{}, not {slots}", needed(*bands, *rows))]
    SignatureTooShort {
        /// Slots of the signature.
        slots: usize,
        /// Bands of the banding.
        bands: usize,
        /// Rows per band of the banding.
        rows: usize,
    },
    /// Not even `num_perm` bands of one row reach the recall.
    #[error(
        "recall {recall} cannot be reached at threshold {threshold} with num_perm {num_perm}: at most {:.4}",
        rounded_down(*attainable)
    )]
    RecallUnattainable {
        /// Requested recall.
        recall: f64,
        /// Similarity threshold of the recall.
        threshold: f64,
        /// Number of slots.
        num_perm: usize,
        /// Recall with one row per band.
        attainable: f64,
    },
    /// Linear hash functions with different numbers of a and b.
    #[error("a and b must have the same number of elements, not {a} and {b}")]
    Coefficients {
        /// Number of multipliers.
        a: usize,
        /// Number of summands.
        b: usize,
    },
    /// A modulus outside `1..2^31`.
    #[error("p must be between 1 and {max}, not {0}", max = i32::MAX)]
    Modulus(i64),
    /// A `min_match` outside `MIN_MIN_MATCH..=MAX_MIN_MATCH`.
    #[error("min_match must be between {MIN_MIN_MATCH} and {MAX_MIN_MATCH}, not {0}")]
    MinMatch(i64),
    /// A coverage outside `(0, 1]`.
    #[error("coverage must be greater than 0 and at most 1, not {0}")]
    Coverage(f64),
    /// A normalisation of passages that drops tokens.
    #[error("the normalization of passages must not drop tokens")]
    PassageTokens,
    /// A key that an [`Lsh`](crate::Lsh) has already.
    #[error("key already exists")]
    KeyExists,
    /// The step `html` in a normalisation of single words.
    #[error("normalization step \"html\" cannot be applied to single words")]
    MarkupOfWords,
}

impl Error {
    /// A sentence that says what to do.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::OutOfMemory { bytes } => {
                return format!(
                    "Compare shorter texts or smaller sets, or provide about {bytes} more bytes of memory."
                );
            }
            Self::Damaged => "Restore the damaged row from a backup, or delete it.",
            Self::File(_) => "Free space for temporary files, or allow more memory.",
            Self::Stopped => "Retry.",
            Self::DiffWords => "Compare parts of the text, such as its paragraphs.",
            Self::StopWords(_) => "Pass only the most frequent words.",
            Self::UnknownScheme { known, .. } => {
                return format!("Use one of \"{}\".", known.join("\", \""));
            }
            Self::UnknownUnit(_) => "Use \"char\", \"word\" or \"anchored\".",
            Self::NumPerm(_) => {
                "Use 128 unless you need smaller errors. The error of an estimate falls with the square root of \
                 num_perm."
            }
            Self::ShingleSize(_) => "Use 5 for characters, and 2 or 3 for words.",
            Self::Seed(_) => "Use the seed that datasketch used, which is 1 by default.",
            Self::LeanScheme(_) => "Use scheme \"datasketch_affine32\" or \"datasketch_legacy\".",
            Self::LeanByteOrder(_) => "Use a byte order of Python's struct: \"@\", \"=\", \"<\", \">\" or \"!\".",
            Self::LeanHeader(_) | Self::LeanLength { .. } => {
                "Pass exactly the bytes that LeanMinHash.serialize() wrote."
            }
            Self::LeanCode(_) => "Use scheme \"affine32\" or \"legacy\" in Python, whose hash values have 32 bits.",
            Self::CardinalitySlots(_) => "Use 128 slots for a standard error of 9 % of the number of elements.",
            Self::CardinalityTooLarge { .. } => "Use scheme \"fss\" with more slots, or count exactly.",
            Self::MinTokenLen(_) => "Use 2 to drop tokens of up to 2 characters.",
            Self::QuantRate(_) => "Use a fraction, such as 0.01.",
            Self::Weight(_) => "Pass 0 for an element that is not in the set, or leave it out.",
            Self::UnknownStep(_) => {
                "Use the steps nfc, nfkc, casefold, diacritics, punctuation, punctuation_space, punctuation_basic, \
                 digits, invisible, whitespace, split_whitespace, min_length=N, stop_words and stop_words=word+word, \
                 or the presets none, plain, aggressive and classic."
            }
            Self::RepeatedStep(_) => "Specify each step once. Steps are applied in a fixed order.",
            Self::ContradictorySteps(..) => "Keep one of the two.",
            Self::MinLength(_) => "Use min_length=3 to drop tokens of one and two characters.",
            Self::CodeLength(_) => "Use 4 to leave out codes of up to 3 characters.",
            Self::AnchorsDropped => "Leave out the step, because anchored shingles start with stop words.",
            Self::SlotBits(_) => "Use 32 to keep whole slots, or 16 or 8 for a half or a quarter of the space.",
            Self::SlotsDoNotFill { .. } => "Use 128, which suits every slot_bits.",
            Self::LengthMismatch { .. } => "Compute both signatures with the same num_perm.",
            Self::Jaccard(_) => "Use a fraction, such as 0.8.",
            Self::Threshold(_) => "Use the lowest similarity of a near-duplicate, such as 0.8.",
            Self::Recall(_) => "Use the fraction of near-duplicates to find, such as 0.99.",
            Self::Bands(_) | Self::Rows(_) | Self::BandingTooLarge { .. } => {
                "Choose bands and rows so that bands * rows is at most num_perm."
            }
            Self::SignatureTooShort { slots, rows, .. } if *slots > 0 => {
                let fewer = match slots / rows {
                    0 => counted(*slots, "row"),
                    bands => format!("{} of {}", counted(bands, "band"), counted(*rows, "row")),
                };
                return format!("Use at most {fewer}, or a larger num_perm.");
            }
            Self::EmptySignature | Self::SignatureTooShort { .. } => {
                "Leave out texts without shingles, which have no signature."
            }
            Self::RecallUnattainable { .. } => "Raise the threshold or num_perm, or lower the recall.",
            Self::Coefficients { .. } => "Pass one a and one b for each hash function (a * x + b) mod p.",
            Self::MinMatch(_) => "Use 50 characters for sentences and 200 for paragraphs.",
            Self::Coverage(_) => "Use the share of the passage that must be there, such as 0.8.",
            Self::KeyExists => "Remove the key first to replace its text.",
            Self::MarkupOfWords => "Use normalize_text(body, 'html') for both texts first.",
            Self::PassageTokens => "Use steps other than \"min_length\" and \"stop_words\", such as \"plain\".",
            Self::Modulus(_) => {
                "Use a prime that is at least the number of rows. Each function whose a is not divisible by p is then \
                 a permutation."
            }
        };
        hint.to_owned()
    }
}

/// The message for a scheme code; datasketch knows code 2.
fn lean_code(code: u8) -> String {
    match code {
        2 => "LeanMinHash has datasketch's scheme affine64, which is not supported".to_owned(),
        _ => format!("unknown LeanMinHash scheme code {code}"),
    }
}

/// Describes the slots that a banding needs.
fn needed(bands: usize, rows: usize) -> String {
    let need = if bands == 1 { "needs" } else { "need" };
    let (bands, rows, slots) = (counted(bands, "band"), counted(rows, "row"), counted(bands * rows, "slot"));
    format!("{bands} of {rows} {need} a signature of at least {slots}")
}

/// Rounds down to four decimals, so that the printed recall is attainable.
fn rounded_down(recall: f64) -> f64 {
    (recall * 1e4).floor() / 1e4
}

/// The part of a user's text for an error, shortened if it is long.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// A count with its noun for messages: `1 band`, `2 bands`.
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
