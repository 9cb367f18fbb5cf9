//! The steps of normalisation, the presets that name several of them, and both as a user writes them.

use std::fmt;
use std::str::FromStr;

use crate::error::excerpt;
use crate::limits::in_range;
use crate::text::stop_words::StopWords;
use crate::{Error, MAX_MIN_LENGTH, Result};

/// The optional steps that are applied to a text before it is cut, in a fixed order.
///
/// It is read from one text: steps, or names of presets that stand for theirs,
/// with spaces or commas between them, in any order. They are always done in this order:
///
/// | step | what it does |
/// |---|---|
/// | `html` | tags, comments and elements `script` and `style` become a space each, character references what they stand for |
/// | `nfc` or `nfkc` | Unicode Normalization Form C or KC |
/// | `letters` | letters with a stroke or without their dot, and variants of Arabic letters, become the plain letter: `ł` is `l`, `أ` is `ا` |
/// | `casefold` | full case folding, as for caseless matching: `ß` is `ss` |
/// | `diacritics` | marks (general category Mn) dropped from the decomposed text, which is then composed |
/// | `invisible` | what shows nothing by itself removed: soft hyphen, zero-width characters, bidirectional controls, variation selectors, tatweel |
/// | `punctuation`, `punctuation_space` or `punctuation_basic` | all of general category P* and S* removed, or turned into a space each; or only `. , : ; '` removed |
/// | `digits` | each decimal digit (Nd) of any script becomes `0` |
/// | `numbers` | each run of decimal digits becomes one `0`, and so does a word of hexadecimal digits with a decimal one |
/// | `whitespace` | runs of white space (White_Space) become one space, none at the ends |
/// | `split_whitespace` | words are what stands between white space, instead of what Annex 29 says |
/// | `min_length=N` | tokens of fewer than `N` characters dropped, `N` in `1..=`[`MAX_MIN_LENGTH`](crate::MAX_MIN_LENGTH) |
/// | `stop_words` | tokens on the list of the configuration dropped; `stop_words=a+the` names a list of its own |
///
/// | preset | steps |
/// |---|---|
/// | `none` | |
/// | `plain` | `nfkc casefold whitespace` |
/// | `aggressive` | `nfkc letters casefold diacritics invisible punctuation_space digits whitespace` |
/// | `classic` | `casefold punctuation_basic split_whitespace min_length=3 stop_words=the` |
///
/// The steps up to `whitespace` work on characters. They are repeated until nothing changes, which matters for few
/// texts (a mark that loses the full stop before it composes with the letter before that; `&amp;lt;`), so normalising
/// twice is the same as normalising once. A text whose markup hides other markup is read 16 times at most.
///
/// The last three work on tokens: words, if words are compared; with units of characters what stands between white
/// space, and what is kept is joined by one space.
///
/// What the steps do to scripts: `diacritics` drops the points of Hebrew and the vowel marks of Arabic, which few texts
/// write, but also vowel signs of Thai and of Indic scripts and the voicing marks of Japanese (`が` becomes `か`), which
/// distinguish words; Korean is untouched. `punctuation` takes emoji and currency signs, which are symbols, along.
/// Zero-width characters (joiners, soft hyphens; category Cf) are neither white space nor punctuation: only `invisible`
/// removes them, the joiners of Persian and of Indic scripts included. `digits` makes numbers of equal length equal, as
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
    pub(crate) html: bool,
    pub(crate) characters: CharacterSteps,
    pub(super) numbers: bool,
    pub(crate) split_whitespace: bool,
    /// In characters; at most 1 drops nothing.
    pub(crate) min_length: usize,
    pub(crate) stop_words: Dropped,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct CharacterSteps {
    pub(crate) form: NormalForm,
    pub(crate) letters: bool,
    pub(crate) casefold: bool,
    pub(crate) diacritics: bool,
    pub(crate) punctuation: Punctuation,
    pub(crate) invisible: bool,
    pub(crate) digits: bool,
    pub(crate) whitespace: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum NormalForm {
    #[default]
    AsWritten,
    Nfc,
    Nfkc,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Punctuation {
    #[default]
    Kept,
    Removed,
    Space,
    /// Only `. , : ; '` are removed.
    Basic,
}

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Dropped {
    #[default]
    Nothing,
    /// Those of the configuration.
    Configured,
    These(StopWords),
}

impl Normalization {
    /// The preset `none`: a text is compared as it is written.
    pub fn none() -> Self {
        Self::default()
    }

    /// The preset `plain`, which suits words.
    pub fn plain() -> Self {
        "plain".parse().unwrap_or_else(|_| unreachable!("it is a preset"))
    }

    /// True if there is no step at all.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn drops_tokens(&self) -> bool {
        self.min_length > 1 || self.stop_words != Dropped::Nothing
    }
}

/// Separates the words of `stop_words=a+the`.
const BETWEEN_WORDS: char = '+';

impl FromStr for Normalization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut read = StepReader::default();
        for word in text.split([' ', ',', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
            preset(word).unwrap_or(word).split_whitespace().try_for_each(|step| read.step(step))?;
        }
        Ok(read.normalization)
    }
}

/// The steps that the name of a preset stands for.
fn preset(name: &str) -> Option<&'static str> {
    match name {
        "none" => Some(""),
        "plain" => Some("nfkc casefold whitespace"),
        "aggressive" => Some("nfkc letters casefold diacritics invisible punctuation_space digits whitespace"),
        "classic" => Some("casefold punctuation_basic split_whitespace min_length=3 stop_words=the"),
        _ => None,
    }
}

/// A step that is a name alone: the name, what it sets, and how.
type NamedStep = (&'static str, &'static str, fn(&mut Normalization));

/// These steps in the order in which they are done, before those with a value.
static NAMED_STEPS: [NamedStep; 14] = [
    ("html", "html", |all| all.html = true),
    ("nfc", "form", |all| all.characters.form = NormalForm::Nfc),
    ("nfkc", "form", |all| all.characters.form = NormalForm::Nfkc),
    ("letters", "letters", |all| all.characters.letters = true),
    ("casefold", "casefold", |all| all.characters.casefold = true),
    ("diacritics", "diacritics", |all| all.characters.diacritics = true),
    ("invisible", "invisible", |all| all.characters.invisible = true),
    ("punctuation", "punctuation", |all| all.characters.punctuation = Punctuation::Removed),
    ("punctuation_space", "punctuation", |all| all.characters.punctuation = Punctuation::Space),
    ("punctuation_basic", "punctuation", |all| all.characters.punctuation = Punctuation::Basic),
    ("digits", "digits", |all| all.characters.digits = true),
    ("numbers", "numbers", |all| all.numbers = true),
    ("whitespace", "whitespace", |all| all.characters.whitespace = true),
    ("split_whitespace", "split_whitespace", |all| all.split_whitespace = true),
];

#[derive(Default)]
struct StepReader<'a> {
    normalization: Normalization,
    /// Each as it was written, after what it sets.
    seen: Vec<(&'static str, &'a str)>,
}

impl<'a> StepReader<'a> {
    fn step(&mut self, step: &'a str) -> Result<()> {
        let (name, value) = match step.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (step, None),
        };
        let all = &mut self.normalization;
        let sets = match (name, value) {
            ("min_length", value) => {
                all.min_length = length(value.unwrap_or_default())?;
                "min_length"
            }
            ("stop_words", list) => {
                all.stop_words = match list.map(|list| StopWords::new(list.split(BETWEEN_WORDS))) {
                    None => Dropped::Configured,
                    Some(list) => match list? {
                        list if list.is_empty() => return Err(Error::UnknownStep(excerpt(step))),
                        list => Dropped::These(list),
                    },
                };
                "stop_words"
            }
            _ => {
                let known = NAMED_STEPS.iter().find(|(known, ..)| *known == step);
                let (_, sets, set) = known.ok_or_else(|| Error::UnknownStep(excerpt(step)))?;
                set(all);
                sets
            }
        };
        match self.seen.iter().find(|(seen, _)| *seen == sets) {
            Some((_, before)) if *before == step => Err(Error::RepeatedStep(excerpt(step))),
            Some((_, before)) => Err(Error::ContradictorySteps(excerpt(before), excerpt(step))),
            None => {
                self.seen.push((sets, step));
                Ok(())
            }
        }
    }
}

fn length(value: &str) -> Result<usize> {
    let number = value.parse().ok().and_then(|number| in_range(number, MAX_MIN_LENGTH));
    match number {
        // Nothing is shorter than one character: the step is none.
        Some(1) => Ok(0),
        Some(number) => Ok(number),
        None => Err(Error::MinLength(excerpt(value))),
    }
}

/// The steps in the order in which they are done, or `none`; [`FromStr`] reads it back.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = |set: fn(&mut Self)| {
            let mut with = self.clone();
            set(&mut with);
            with == *self
        };
        let steps = NAMED_STEPS.iter().filter(|(.., set)| is_done(*set));
        // Written one by one: a list of stop words is long.
        let mut between = "";
        for (name, ..) in steps {
            write!(f, "{between}{name}")?;
            between = " ";
        }
        if self.min_length > 1 {
            write!(f, "{between}min_length={}", self.min_length)?;
            between = " ";
        }
        match &self.stop_words {
            Dropped::Nothing if between.is_empty() => f.write_str("none"),
            Dropped::Nothing => Ok(()),
            Dropped::Configured => write!(f, "{between}stop_words"),
            Dropped::These(list) => {
                write!(f, "{between}stop_words=")?;
                list.write(f, BETWEEN_WORDS)
            }
        }
    }
}
