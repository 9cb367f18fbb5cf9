//! The steps on characters by definition: what the quick paths must equal.

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

/// Repeats the steps until nothing changes. White space becomes spaces; runs of them are not collapsed here.
pub(super) fn settle(steps: CharacterSteps, text: &str, check: Check) -> Result<String> {
    /// No text is known that needs more than three rounds.
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

/// The plain letters that stand for `c`.
fn plain_letters(c: char) -> impl Iterator<Item = char> {
    let found = LETTERS.binary_search_by_key(&c, |(letter, _)| *letter);
    let plain = found.ok().map(|at| LETTERS[at].1.chars());
    let same = plain.is_none().then_some(c);
    plain.into_iter().flatten().chain(same)
}

/// Applies the steps after the normal form to a character by itself.
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

/// True of characters that show nothing, which are lost or gained unseen when a text is copied.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        // Soft hyphen; zero-width spaces, joiners and operators; byte order mark.
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        // Marks, embeddings, overrides and isolates of direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Variation selectors.
        | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
        // Tatweel, which only stretches a word.
        | '\u{640}'
    )
}

/// Characters between two calls of `check`.
const STRETCH: usize = 16 * 1024;

/// A decomposed text of any length: its characters in canonical order.
///
/// The crate unicode-normalization keeps all the marks of a letter in memory that it allocates by itself, and some
/// texts are nothing but marks. So only its tables are used here: of what a character decomposes to, of combining
/// classes, and of what two characters compose to (Unicode Standard Annex 15, section 1.2 and definition D117 of
/// chapter 3).
struct Decomposed(Vec<char>);

impl Decomposed {
    /// The compatibility decomposition of a form that is one, NFKD; else the canonical one, NFD.
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

    /// The composed text: NFC of a canonical decomposition, NFKC of a compatible one.
    fn composed(mut self, check: Check) -> Result<String> {
        let chars = &mut self.0;
        let mut starter: Option<usize> = None;
        let mut end = 0;
        for i in checked(0..chars.len(), check) {
            let c = chars[i];
            if let Some(start) = starter {
                // Not blocked: next to the starter, or behind marks of lower classes.
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

/// Sorts marks by class, those of one class as they stand.
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
