//! The steps on characters by definition: what the quick paths must equal.

use caseless::Caseless;
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::normal_forms::{Decomposed, checked};
use super::steps::{CharacterSteps, NormalForm, Punctuation};
use crate::error::Error;
use crate::limits::Check;
use crate::memory;

/// Repeats the steps until nothing changes. White space becomes spaces; runs of
/// them are not collapsed here.
pub(super) fn settle(steps: CharacterSteps, text: &str, check: Check) -> Result<String, Error> {
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

/// Each step once.
fn once(steps: CharacterSteps, text: &str, check: Check) -> Result<String, Error> {
    let mut text = formed(steps.form, memory::owned(text)?, check)?;
    if steps.casefold {
        let folded = memory::text(checked(&text, check).default_case_fold())?;
        text = formed(steps.form, folded, check)?;
    }
    if steps.diacritics {
        let kept = |c: char| c.general_category() != GeneralCategory::NonspacingMark;
        let decomposed = match steps.form {
            NormalForm::Nfkc => Decomposed::compatible(&text, check)?,
            NormalForm::AsWritten | NormalForm::Nfc => Decomposed::canonical(&text, check)?,
        };
        text = decomposed.retain(kept, check).composed(check)?;
    }
    memory::text(checked(&text, check).filter_map(|c| mapped(steps, c)))
}

/// `text` in normal form.
fn formed(form: NormalForm, text: String, check: Check) -> Result<String, Error> {
    let is_formed = match form {
        NormalForm::AsWritten => true,
        NormalForm::Nfc => is_nfc_quick(checked(&text, check)) == IsNormalized::Yes,
        NormalForm::Nfkc => is_nfkc_quick(checked(&text, check)) == IsNormalized::Yes,
    };
    if is_formed {
        return Ok(text);
    }
    let decomposed = match form {
        NormalForm::Nfkc => Decomposed::compatible(&text, check)?,
        NormalForm::AsWritten | NormalForm::Nfc => Decomposed::canonical(&text, check)?,
    };
    decomposed.composed(check)
}

/// Applies the steps after the normal form to a character by itself.
fn mapped(steps: CharacterSteps, c: char) -> Option<char> {
    use GeneralCategoryGroup as Group;
    let punctuation = || matches!(c.general_category_group(), Group::Punctuation | Group::Symbol);
    match steps.punctuation {
        Punctuation::Removed if punctuation() => return None,
        Punctuation::Space if punctuation() => return Some(' '),
        Punctuation::BasicRemoved if matches!(c, '.' | ',' | ':' | ';' | '\'') => return None,
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
