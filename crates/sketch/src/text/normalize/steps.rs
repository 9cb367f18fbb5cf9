//! The steps of normalisation, the presets of several steps, and their notation.

use std::fmt;
use std::str::FromStr;

use crate::error::excerpt;
use crate::limits::in_range;
use crate::text::stop_words::StopWords;
use crate::{Error, MAX_MIN_LENGTH, Result};

/// The optional steps that are applied to a text before it is split, in a fixed order.
///
/// They are parsed from a text that lists steps or presets, separated by spaces or commas, in any order. They are
/// always applied in this order:
///
/// | step | effect |
/// |---|---|
/// | `html` | tags, comments, and elements `script` and `style` become spaces, character references their characters |
/// | `nfc` or `nfkc` | Unicode Normalization Form C or KC |
/// | `letters` | letters with a stroke or without their dot, and variants of Arabic letters, become the plain letter: `ł` is `l`, `أ` is `ا` |
/// | `casefold` | full case folding, as for caseless matching: `ß` is `ss` |
/// | `diacritics` | marks (general category Mn) dropped from the decomposed text, which is then composed |
/// | `invisible` | invisible characters removed: soft hyphen, zero-width, bidirectional controls, variation selectors, tatweel |
/// | `punctuation`, `punctuation_space`, `punctuation_basic` | general category P* and S* removed, or spaces; or only `. , : ; '` removed |
/// | `digits` | each decimal digit (Nd) of any script becomes `0` |
/// | `numbers` | each run of decimal digits becomes one `0`, and so does a word of hexadecimal digits with a decimal one |
/// | `whitespace` | runs of white space (White_Space) become one space, none at the ends |
/// | `split_whitespace` | words are separated by white space only, instead of by the rules of Annex 29 |
/// | `min_length=N` | tokens of fewer than `N` characters dropped, `N` in `1..=`[`MAX_MIN_LENGTH`](crate::MAX_MIN_LENGTH) |
/// | `stop_words` | tokens on the configuration's list dropped; `stop_words=a+the` has its own list |
///
/// | preset | steps |
/// |---|---|
/// | `none` | |
/// | `plain` | `nfkc casefold whitespace` |
/// | `aggressive` | `nfkc letters casefold diacritics invisible punctuation_space digits whitespace` |
/// | `classic` | `casefold punctuation_basic split_whitespace min_length=3 stop_words=the` |
///
/// The steps up to `whitespace` change characters. They are repeated until nothing changes, so normalising twice is the
/// same as normalising once. This matters for few texts, such as `&amp;lt;`, or a mark after a full stop that is
/// removed, which then composes with the letter before. A text whose markup contains escaped markup is read at most 16
/// times.
///
/// The last three work on tokens. With units of words these are words. With units of characters they are separated by
/// white space, and the remaining tokens are joined by one space.
///
/// Effects on scripts: `diacritics` drops the points of Hebrew and the vowel marks of Arabic, which few texts use. It
/// also drops vowel signs of Thai and of Indic scripts and the voicing marks of Japanese (`が` becomes `か`), which
/// distinguish words. Korean is unchanged. `punctuation` also removes emoji and currency signs, which are symbols.
/// Zero-width characters (joiners, soft hyphens; category Cf) are neither white space nor punctuation: only `invisible`
/// removes them, including the joiners of Persian and of Indic scripts. `digits` makes numbers of the same length
/// equal, as in CCNet: copies may differ in dates and prices.
///
/// ```
/// use minlsh_sketch::Normalization;
///
/// let steps: Normalization = "whitespace, casefold".parse()?;
/// assert_eq!(steps.to_string(), "casefold whitespace");
/// assert_eq!(steps.normalize(" Straße\n42 ", &mut || ())?, "strasse 42");
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Normalization {
    pub(crate) html: bool,
    pub(crate) characters: CharacterSteps,
    pub(super) numbers: bool,
    pub(crate) split_whitespace: bool,
    /// In characters; 0 and 1 drop nothing.
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
    /// The configuration's stop words.
    Configured,
    These(StopWords),
}

impl Normalization {
    /// The preset `none`: a text is compared unchanged.
    pub fn none() -> Self {
        Self::default()
    }

    /// The preset `plain`, which suits words.
    pub fn plain() -> Self {
        "plain".parse().unwrap_or_else(|_| unreachable!("it is a preset"))
    }

    /// True if there are no steps.
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

/// The steps of the preset `name`.
fn preset(name: &str) -> Option<&'static str> {
    match name {
        "none" => Some(""),
        "plain" => Some("nfkc casefold whitespace"),
        "aggressive" => Some("nfkc letters casefold diacritics invisible punctuation_space digits whitespace"),
        "classic" => Some("casefold punctuation_basic split_whitespace min_length=3 stop_words=the"),
        _ => None,
    }
}

/// A step without a value: the name, the setting that it belongs to, and the function that sets it.
type NamedStep = (&'static str, &'static str, fn(&mut Normalization));

/// These steps in the order of application, before those with a value.
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
    /// The steps in their original notation, each after its setting.
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
        // No token is shorter than one character: there is no step.
        Some(1) => Ok(0),
        Some(number) => Ok(number),
        None => Err(Error::MinLength(excerpt(value))),
    }
}

/// The steps in the order of application, or `none`; [`FromStr`] parses it.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = |set: fn(&mut Self)| {
            let mut with = self.clone();
            set(&mut with);
            with == *self
        };
        let steps = NAMED_STEPS.iter().filter(|(.., set)| is_done(*set));
        // Written one by one, because a list of stop words may be long.
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
