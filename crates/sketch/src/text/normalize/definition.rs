//! The steps on characters by definition. The faster paths must give the same results.

use caseless::Caseless;
use unicode_normalization::char::{
    canonical_combining_class as class, compose, decompose_canonical, decompose_compatible,
};
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::letters::LETTERS;
use super::steps::{CharacterSteps, NormalForm, Punctuation};
use crate::hash::sort_by;
use crate::limits::checked;
use crate::{Check, Result, memory};

/// Repeats the steps until nothing changes. White space becomes spaces, whose runs are not collapsed here.
pub(super) fn settle(steps: CharacterSteps, text: &str, check: Check) -> Result<String> {
    /// No known text needs more than three rounds.
    const ROUNDS: usize = 16;
    let mut settled = memory::owned(text)?;
    for _ in 0..ROUNDS {
        let next = once(steps, &settled, check)?;
        if next == settled {
            break;
        }
        settled = next;
    }
    Ok(settled)
}

fn once(steps: CharacterSteps, text: &str, check: Check) -> Result<String> {
    let mut text = formed(steps.form, memory::owned(text)?, check)?;
    if steps.letters {
        let plain = memory::text(checked(text.chars(), check).flat_map(plain_letters))?;
        text = formed(steps.form, plain, check)?;
    }
    if steps.casefold {
        let folded = memory::text(checked(text.chars(), check).default_case_fold())?;
        text = formed(steps.form, folded, check)?;
    }
    if steps.diacritics {
        let kept = |c: char| c.general_category() != GeneralCategory::NonspacingMark;
        text = Decomposed::of(steps.form, &text, check)?.retain(kept, check).composed(check)?;
    }
    memory::text(checked(text.chars(), check).filter_map(|c| mapped(steps, c)))
}

fn formed(form: NormalForm, text: String, check: Check) -> Result<String> {
    let is_formed = match form {
        NormalForm::AsWritten => true,
        NormalForm::Nfc => is_nfc_quick(checked(text.chars(), check)) == IsNormalized::Yes,
        NormalForm::Nfkc => is_nfkc_quick(checked(text.chars(), check)) == IsNormalized::Yes,
    };
    if is_formed {
        return Ok(text);
    }
    Decomposed::of(form, &text, check)?.composed(check)
}

/// The plain letters that replace `c`.
fn plain_letters(c: char) -> impl Iterator<Item = char> {
    let found = LETTERS.binary_search_by_key(&c, |(letter, _)| *letter);
    let plain = found.ok().map(|at| LETTERS[at].1.chars());
    let same = plain.is_none().then_some(c);
    plain.into_iter().flatten().chain(same)
}

/// Applies the steps after the normal form to a single character.
fn mapped(steps: CharacterSteps, c: char) -> Option<char> {
    use GeneralCategoryGroup as Group;
    let punctuation = || matches!(c.general_category_group(), Group::Punctuation | Group::Symbol);
    match steps.punctuation {
        Punctuation::Removed if punctuation() => return None,
        Punctuation::Space if punctuation() => return Some(' '),
        Punctuation::Basic if matches!(c, '.' | ',' | ':' | ';' | '\'') => return None,
        _ => (),
    }
    if steps.invisible && is_invisible(c) {
        return None;
    }
    Some(match c {
        _ if steps.digits && c.general_category() == GeneralCategory::DecimalNumber => '0',
        _ if steps.whitespace && c.is_whitespace() => ' ',
        _ => c,
    })
}

/// True for characters that are not visible, and get lost or added unnoticed when a text is copied.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        // Soft hyphen; zero-width spaces, joiners and operators; byte order mark.
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        // Marks, embeddings, overrides and isolates of direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Variation selectors.
        | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
        // Tatweel, which only lengthens a word.
        | '\u{640}'
    )
}

/// Number of characters between two calls of `check`.
const STRETCH: usize = 16 * 1024;

/// A decomposed text of any length, with its characters in canonical order.
///
/// The crate unicode-normalization keeps all marks of a letter in memory that it allocates infallibly, and some texts
/// consist of marks. So only its tables are used here: decompositions, combining classes and compositions (Unicode
/// Standard Annex 15, section 1.2 and definition D117 of chapter 3).
struct Decomposed(Vec<char>);

impl Decomposed {
    /// The compatibility decomposition (NFKD) for a compatibility form, else the canonical one (NFD).
    fn of(form: NormalForm, text: &str, check: Check) -> Result<Self> {
        let mut chars = memory::with_capacity(text.chars().count())?;
        for c in checked(text.chars(), check) {
            let mut outcome = Ok(());
            let push = |part| {
                let pushed = memory::push(&mut chars, part);
                outcome = std::mem::replace(&mut outcome, Ok(())).and(pushed);
            };
            match form {
                NormalForm::Nfkc => decompose_compatible(c, push),
                NormalForm::AsWritten | NormalForm::Nfc => decompose_canonical(c, push),
            }
            outcome?;
        }
        let mut done = 0;
        for marks in chars.split_mut(|c| class(*c) == 0) {
            done += marks.len() + 1;
            if done >= STRETCH {
                done = 0;
                check();
            }
            order(marks, check)?;
        }
        Ok(Self(chars))
    }

    fn retain(mut self, kept: impl Fn(char) -> bool, check: Check) -> Self {
        let mut done = 0;
        self.0.retain(|c| {
            done += 1;
            if done % STRETCH == 0 {
                check();
            }
            kept(*c)
        });
        self
    }

    /// The composed text: NFC of a canonical decomposition, NFKC of a compatibility one.
    fn composed(mut self, check: Check) -> Result<String> {
        let chars = &mut self.0;
        let mut starter: Option<usize> = None;
        let mut end = 0;
        for i in checked(0..chars.len(), check) {
            let c = chars[i];
            if let Some(start) = starter {
                // Not blocked: adjacent to the starter, or after marks of lower classes.
                let reaches = end == start + 1 || class(chars[end - 1]) < class(c);
                let both = if reaches { compose(chars[start], c) } else { None };
                if let Some(both) = both {
                    chars[start] = both;
                    continue;
                }
            }
            if class(c) == 0 {
                starter = Some(end);
            }
            chars[end] = c;
            end += 1;
        }
        memory::text(checked(chars[..end].iter().copied(), check))
    }
}

/// Sorts marks by class; marks of the same class keep their order.
fn order(marks: &mut [char], check: Check) -> Result<()> {
    if marks.is_sorted_by_key(|mark| class(*mark)) {
        return Ok(());
    }
    let ranked = marks.iter().zip(0_u32..).map(|(mark, place)| (class(*mark), place, *mark));
    let mut ranked = memory::collect(ranked)?;
    sort_by(&mut ranked, Ord::cmp, check);
    marks.iter_mut().zip(ranked).for_each(|(mark, (.., ranked))| *mark = ranked);
    Ok(())
}
