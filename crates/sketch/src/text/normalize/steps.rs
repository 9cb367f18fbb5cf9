//! The steps of normalisation, and the presets that name several of them.

use std::sync::Arc;

use crate::text::stop_words::StopWords;

/// The optional steps that are applied to a text before it is cut, in a fixed order.
///
/// It is read from one text: steps, or names of presets that stand for theirs,
/// with spaces or commas between them, in any order. They are always done in this order:
///
/// | step | what it does |
/// |---|---|
/// | `nfc` or `nfkc` | Unicode Normalization Form C or KC |
/// | `casefold` | full case folding, as for caseless matching: `ß` is `ss` |
/// | `diacritics` | marks (general category Mn) dropped from the decomposed text, which is then composed |
/// | `invisible` | what shows nothing by itself removed: soft hyphen, zero-width characters, bidirectional controls, variation selectors, tatweel |
/// | `punctuation`, `punctuation_space` or `punctuation_basic` | all of general category P* and S* removed, or turned into a space each; or only `. , : ; '` removed |
/// | `digits` | each decimal digit (Nd) of any script becomes `0` |
/// | `whitespace` | runs of white space (White_Space) become one space, none at the ends |
/// | `split_whitespace` | words are what stands between white space, instead of what Annex 29 says |
/// | `min_length=N` | tokens of fewer than `N` characters dropped, `N` in `1..=`[`MAX_MIN_LENGTH`](crate::MAX_MIN_LENGTH) |
/// | `stop_words` | tokens on the list of the configuration dropped; `stop_words=a+the` names a list of its own |
///
/// | preset | steps |
/// |---|---|
/// | `none` | |
/// | `plain` | `nfkc casefold whitespace` |
/// | `aggressive` | `nfkc casefold diacritics invisible punctuation_space digits whitespace` |
/// | `classic` | `casefold punctuation_basic split_whitespace min_length=3 stop_words=the` |
///
/// The steps up to `whitespace` work on characters. They are repeated until
/// nothing changes, which matters for few texts (a mark that loses the full
/// stop before it composes with the letter before that), so normalising twice
/// is the same as normalising once.
///
/// The last three work on tokens: words, if words are compared; with units of
/// characters what stands between white space, and what is kept is joined by
/// one space.
///
/// What the steps do to scripts: `diacritics` drops the points of Hebrew and
/// the vowel marks of Arabic, which few texts write, but also vowel signs of
/// Thai and of Indic scripts and the voicing marks of Japanese (`が` becomes
/// `か`), which distinguish words; Korean is untouched. `punctuation` takes
/// emoji and currency signs, which are symbols, along. Zero-width characters
/// (joiners, soft hyphens; category Cf) are neither white space nor punctuation:
/// only `invisible` removes them, the joiners of Persian and of Indic scripts
/// included. `digits` makes numbers of equal length equal, as
/// CCNet does it: dates and prices do not tell two copies apart.
///
/// ```
/// use sketch::Normalization;
///
/// let steps: Normalization = "whitespace, casefold".parse()?;
/// assert_eq!(steps.to_string(), "casefold whitespace");
/// assert_eq!(steps.normalize(" Straße\n42 ", &mut || ())?, "strasse 42");
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Normalization {
    pub(crate) characters: CharacterSteps,
    pub(crate) split_whitespace: bool,
    /// In characters; at most 1 drops nothing.
    pub(crate) min_length: usize,
    pub(crate) stop_words: Dropped,
}

/// The steps on characters.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct CharacterSteps {
    pub(crate) form: NormalForm,
    pub(crate) casefold: bool,
    pub(crate) diacritics: bool,
    pub(crate) punctuation: Punctuation,
    pub(crate) invisible: bool,
    pub(crate) digits: bool,
    pub(crate) whitespace: bool,
}

/// The normal form that a text gets.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum NormalForm {
    #[default]
    AsWritten,
    Nfc,
    Nfkc,
}

/// The treatment of punctuation.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Punctuation {
    #[default]
    Kept,
    Removed,
    Space,
    /// Only `. , : ; '` are removed.
    BasicRemoved,
}

/// The stop words that are dropped.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Dropped {
    #[default]
    Nothing,
    /// Those of the configuration.
    Configured,
    These(Arc<StopWords>),
}

impl Normalization {
    /// The preset `none`: a text is compared as it is written.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The preset `plain`, which suits words.
    #[must_use]
    pub fn plain() -> Self {
        let characters = CharacterSteps {
            form: NormalForm::Nfkc,
            casefold: true,
            whitespace: true,
            ..CharacterSteps::default()
        };
        Self { characters, ..Self::default() }
    }

    /// The preset `aggressive`: letters and digits without what decorates them.
    #[must_use]
    pub fn aggressive() -> Self {
        let characters = CharacterSteps {
            diacritics: true,
            invisible: true,
            punctuation: Punctuation::Space,
            digits: true,
            ..Self::plain().characters
        };
        Self { characters, ..Self::default() }
    }

    /// The preset `classic`, of a much-taught course system.
    #[must_use]
    pub fn classic() -> Self {
        let characters = CharacterSteps {
            casefold: true,
            punctuation: Punctuation::BasicRemoved,
            ..CharacterSteps::default()
        };
        Self {
            characters,
            split_whitespace: true,
            min_length: 3,
            stop_words: Dropped::These(Arc::new(StopWords::of(&["the"]))),
        }
    }

    /// True if there is no step at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// True if a step drops tokens.
    pub(crate) fn drops_tokens(&self) -> bool {
        self.min_length > 1 || self.stop_words != Dropped::Nothing
    }
}
