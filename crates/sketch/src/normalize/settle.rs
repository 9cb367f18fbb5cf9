//! The steps on characters by definition: what the quick paths must equal.

use caseless::Caseless;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::{Characters, Form, Punctuation};

/// Repeats the steps until nothing changes. White space becomes spaces; runs of
/// them are not collapsed here.
pub(super) fn settle(steps: Characters, text: &str) -> String {
    /// No text is known that needs more than three rounds.
    const ROUNDS: usize = 16;
    let mut settled = text.to_owned();
    for _ in 0..ROUNDS {
        let next = once(steps, &settled);
        if next == settled {
            break;
        }
        settled = next;
    }
    settled
}

/// Each step once.
fn once(steps: Characters, text: &str) -> String {
    let mut text = formed(steps.form, text.to_owned());
    if steps.casefold {
        text = formed(steps.form, text.chars().default_case_fold().collect());
    }
    if steps.diacritics {
        let kept = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
        text = match steps.form {
            Form::Nfkc => text.nfkd().filter(kept).nfkc().collect(),
            Form::AsWritten | Form::Nfc => text.nfd().filter(kept).nfc().collect(),
        };
    }
    text.chars().filter_map(|c| mapped(steps, c)).collect()
}

/// `text` in normal form.
fn formed(form: Form, text: String) -> String {
    match form {
        Form::AsWritten => text,
        Form::Nfc if is_nfc_quick(text.chars()) == IsNormalized::Yes => text,
        Form::Nfc => text.nfc().collect(),
        Form::Nfkc if is_nfkc_quick(text.chars()) == IsNormalized::Yes => text,
        Form::Nfkc => text.nfkc().collect(),
    }
}

/// What the steps after the normal form make of a character by itself.
fn mapped(steps: Characters, c: char) -> Option<char> {
    use GeneralCategoryGroup as Group;
    let punctuation = || matches!(c.general_category_group(), Group::Punctuation | Group::Symbol);
    match steps.punctuation {
        Punctuation::Removed if punctuation() => return None,
        Punctuation::Space if punctuation() => return Some(' '),
        Punctuation::BasicRemoved if matches!(c, '.' | ',' | ':' | ';' | '\'') => return None,
        _ => (),
    }
    Some(match c {
        _ if steps.digits && c.general_category() == GeneralCategory::DecimalNumber => '0',
        _ if steps.whitespace && c.is_whitespace() => ' ',
        _ => c,
    })
}
