//! Texts are normalised as the tables of Unicode say, which are asked plainly here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::common::{cases, is_thorough};
use caseless::Caseless;
use minlsh_sketch::Normalization;
use minlsh_sketch::passage::Characters;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The steps, one after the other on the whole text, until nothing changes.
pub fn defined(steps: &str, text: &str) -> String {
    let has = |step: &str| steps.split(' ').any(|written| written == step);
    let until_same = |stage: &dyn Fn(&str) -> String, text: &str| {
        let mut text = text.to_owned();
        loop {
            let next = stage(&text);
            if next == text {
                return text;
            }
            text = next;
        }
    };
    let all = |text: &str| {
        let text = if has("html") { until_same(&without_markup, text) } else { text.to_owned() };
        let text = until_same(&|text| characters(&has, text), &text);
        if has("numbers") { until_same(&without_numbers, &text) } else { text }
    };
    let text = until_same(&all, text);
    if has("whitespace") { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { text }
}

fn characters(has: &dyn Fn(&str) -> bool, text: &str) -> String {
    let formed = |text: String| -> String {
        match () {
            () if has("nfkc") => text.nfkc().collect(),
            () if has("nfc") => text.nfc().collect(),
            () => text,
        }
    };
    let mut next = formed(text.to_owned());
    if has("letters") {
        next = formed(next.chars().map(plain_letters).collect());
    }
    if has("casefold") {
        next = formed(next.chars().default_case_fold().collect());
    }
    if has("diacritics") {
        let kept = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
        next = match has("nfkc") {
            true => next.nfkd().filter(kept).nfkc().collect(),
            false => next.nfd().filter(kept).nfc().collect(),
        };
    }
    next.chars().filter_map(|c| mapped(has, c)).collect()
}

/// The plain letter for `c` in the table, which is read as a text.
fn plain_letters(c: char) -> String {
    static LETTERS: LazyLock<HashMap<char, String>> = LazyLock::new(|| {
        let table = include_str!("../../src/text/normalize/letters.rs");
        let entries = table.lines().filter_map(|line| line.trim().strip_prefix("('"));
        let read = |entry: &str| {
            let (letter, rest) = entry.split_once("', \"").unwrap();
            let (plain, _) = rest.split_once('"').unwrap();
            (unescaped(letter).chars().next().unwrap(), unescaped(plain))
        };
        entries.map(read).collect()
    });
    LETTERS.get(&c).cloned().unwrap_or(c.into())
}

/// A text in which each character beyond ASCII is written by its code.
fn unescaped(written: &str) -> String {
    let parts = written.split("\\u{").map(|part| match part.split_once('}') {
        Some((code, rest)) => {
            let code = u32::from_str_radix(code, 16).unwrap();
            format!("{}{rest}", char::from_u32(code).unwrap())
        }
        None => part.to_owned(),
    });
    parts.collect()
}

/// The text without markup: what stands between is read by the crate as a whole.
fn without_markup(text: &str) -> String {
    let (mut out, mut at, mut from, mut quotes) = (String::new(), 0, 0, true);
    while let Some(place) = text[at..].find('<').map(|place| at + place) {
        at = place + 1;
        if let Some(end) = markup_end(text, place, &mut quotes) {
            out += &htmlize::unescape(&text[from..place]);
            out += " ";
            (at, from) = (end, end);
        }
    }
    out + &htmlize::unescape(&text[from..])
}

fn markup_end(text: &str, place: usize, quotes: &mut bool) -> Option<usize> {
    let rest = &text[place..];
    let first = || rest.find('>').map(|end| place + end + 1);
    if rest.starts_with("<!--") {
        let end = rest[2..].find("-->").map(|end| place + 2 + end + 3);
        return end.or_else(first);
    }
    if rest.starts_with("<!") || rest.starts_with("<?") {
        return first();
    }
    let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return if rest.starts_with("</") { first() } else { None };
    }
    let mut quoted = None;
    if *quotes {
        let (mut quote, mut expected) = (None, false);
        quoted = rest.char_indices().find_map(|(at, c)| {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (Some(_), _) => (),
                (None, '>') => return Some(place + at + 1),
                (None, '"' | '\'') if expected => quote = Some(c),
                _ => (),
            }
            expected = quote.is_none() && (c == '=' || expected && c.is_ascii_whitespace());
            None
        });
        *quotes = quoted.is_some();
    }
    let end = quoted.or_else(first)?;
    let is_name = |at: usize, element: &str| {
        let mut rest = text[at..].chars();
        let name: String = rest.by_ref().take(element.len()).collect();
        let ends = rest.next().is_some_and(|c| c.is_ascii_whitespace() || c == '/' || c == '>');
        name.eq_ignore_ascii_case(element) && ends
    };
    for element in ["script", "style"] {
        if is_name(place + 1, element) {
            let tags = text[end..].match_indices("</").map(|(at, _)| end + at);
            let closing = tags.into_iter().find(|at| is_name(at + 2, element));
            let behind = closing.and_then(|at| text[at..].find('>').map(|end| at + end + 1));
            return Some(behind.unwrap_or(end));
        }
    }
    Some(end)
}

fn without_numbers(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_part = |c: &char| {
        use GeneralCategoryGroup::{Letter, Mark, Number};
        matches!(c.general_category_group(), Letter | Mark | Number)
    };
    let is_digit = |c: &char| c.general_category() == GeneralCategory::DecimalNumber;
    let words = chars.chunk_by(|a, b| is_part(a) == is_part(b));
    let one_zero = |word: &[char]| -> String {
        let written: String = word.iter().collect();
        let hex = written.strip_prefix("0x").or(written.strip_prefix("0X"));
        let hex = hex.filter(|rest| !rest.is_empty());
        let digits = hex.unwrap_or(&written);
        let has_digit = hex.is_some() || written.contains(|c: char| c.is_ascii_digit());
        if has_digit && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return "0".into();
        }
        let runs = word.chunk_by(|a, b| is_digit(a) == is_digit(b));
        let replaced = runs.map(|run| if is_digit(&run[0]) { "0".into() } else { run.iter().collect::<String>() });
        replaced.collect()
    };
    words.map(one_zero).collect()
}

/// Applies the steps after the normal form to a character.
fn mapped(has: &dyn Fn(&str) -> bool, c: char) -> Option<char> {
    use GeneralCategoryGroup::{Punctuation, Symbol};
    let punctuation = matches!(c.general_category_group(), Punctuation | Symbol);
    match c {
        _ if has("punctuation") && punctuation => None,
        _ if has("punctuation_space") && punctuation => Some(' '),
        '.' | ',' | ':' | ';' | '\'' if has("punctuation_basic") => None,
        // Soft hyphen, tatweel, zero-width characters, controls of direction, variation selectors.
        '\u{ad}'
        | '\u{640}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}'
            if has("invisible") =>
        {
            None
        }
        _ if has("digits") && c.general_category() == GeneralCategory::DecimalNumber => Some('0'),
        _ if has("whitespace") && c.is_whitespace() => Some(' '),
        _ => Some(c),
    }
}

/// All that the steps on characters can be.
fn steps() -> impl Strategy<Value = String> {
    let form = prop::sample::select(vec!["", "nfc", "nfkc"]);
    let punctuation = ["", "punctuation", "punctuation_space", "punctuation_basic"];
    let punctuation = prop::sample::select(punctuation.to_vec());
    let switches = vec!["html", "letters", "casefold", "diacritics", "invisible", "digits", "numbers", "whitespace"];
    (form, punctuation, prop::sample::subsequence(switches, 0..=8))
        .prop_map(|(form, punctuation, switches)| [&[form, punctuation], &switches[..]].concat().join(" "))
}

/// Texts in which neighbours act on each other: marks, jamo, ligatures, signs, spaces of every kind, long runs of
/// ASCII between, and marks of all classes in runs far beyond what people write.
fn texts() -> impl Strategy<Value = String> {
    let hard = "([aeiouE .!'\u{301}\u{323}\u{345}\u{308}\u{300}éÉßẞİıΐΣςﬁ½²Å\u{212b}가\u{1100}\u{1161}\
        \u{11a8}\u{ffa1}\u{ffc2}がか\u{3099}\u{ff76}\u{ff9e}٣५Ａ１！“”…—€😀\u{fe0f}\u{200d}\u{200b}\u{ad}\u{a0}\u{3000}\
        क\u{93c}\u{94d}\u{95c}न\u{e48}\u{e38}\u{64b}Ⱥ，½…\
        \u{a8}\u{b4}\u{37e}\u{1fee}\u{2000}\u{2029}\u{f900}\u{2f800}\u{1d400}ﷺǆ\u{640}\u{202e}\u{180b}]{0,4}\
        [a-zA-Z0-9 ,.]{0,2}){0,12}";
    let forms = "[a-cé\u{300}-\u{345}\u{5b0}-\u{5c7}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가ﬁ㎏]{0,40}";
    let markup = "(<p>|</p>|<b |< |=\"|='|= '|\"|'|>|<!--|-->|<!|<\\?|</|<script>|</script>|<STYLE \
        |</style >|&amp;|&lt;|&gt|&#60;|&#x3C|&nbsp;|&notit;|&#0;|&|;|#|/|script|amp|x|é|＜|＆|0x1f|[a-c ]|12|\u{301}){0,24}";
    let marks = "[a\u{300}-\u{345}\u{5b0}-\u{5c7}\u{64b}-\u{652}\u{1161}\u{1d165}-\u{1d172}]{1,30}";
    prop_oneof![
        2 => hard,
        1 => forms,
        1 => "\\PC{0,40}",
        1 => "[ -~\n\r\t]{0,300}",
        2 => markup,
        1 => "([0-9a-gxX]{1,3}|0x|[٣éø\u{301}_. -]){0,12}",
        1 => "[øđłıİIǿÐæאأآإٱةىیکـ\u{301}\u{307}\u{323}\u{653}\u{654}a ]{0,24}",
        1 => "([A-Za-z ,.]{60,140}[é\u{301}漢。 ]{1,3}){0,4}",
        1 => prop::collection::vec(any::<char>(), 0..30).prop_map(|chars| chars.into_iter().collect()),
        1 => (marks, 1_usize..200).prop_map(|(marks, times)| marks.repeat(times)),
    ]
}

fn normalized(steps: &str, text: &str) -> String {
    let steps: Normalization = steps.parse().unwrap();
    steps.normalize(text, &mut || ()).unwrap().into_owned()
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn texts_are_normalised_as_the_tables_say(steps in steps(), text in texts()) {
        let parsed: Normalization = steps.parse().unwrap();
        let found = parsed.normalize(&text, &mut || ()).unwrap();
        prop_assert_eq!(&*found, defined(&steps, &text));
        prop_assert_eq!(matches!(found, Cow::Borrowed(_)), found == text);
        let twice = parsed.normalize(&found, &mut || ()).unwrap();
        prop_assert_eq!(&twice, &found);
        prop_assert!(matches!(twice, Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_step_removes_does_not_matter(text in texts()) {
        prop_assert_eq!(
            normalized("nfc", &text.nfd().collect::<String>()), normalized("nfc", &text));
        prop_assert_eq!(
            normalized("nfkc", &text.nfkd().collect::<String>()), normalized("nfkc", &text));
        prop_assert_eq!(
            normalized("whitespace", &text.replace(' ', "\u{2003}\n ")),
            normalized("whitespace", &text));
        prop_assert_eq!(
            normalized("punctuation", &text.replace(' ', " ;")), normalized("punctuation", &text));
        prop_assert_eq!(
            normalized("digits", &text.replace(['1', '2'], "\u{661}")), normalized("digits", &text));
        prop_assert_eq!(
            normalized("casefold", &text.to_ascii_uppercase()), normalized("casefold", &text));
        // A mark on a space does not compose with it, but moves among others.
        let marked: String = text.nfd().flat_map(|c| [c, '\u{302}']).collect();
        prop_assert_eq!(normalized("diacritics", &marked), normalized("diacritics", &text));
    }
}

#[test]
fn every_character_between_letters_is_as_defined() {
    // All that have another form than themselves are here.
    let chars = || ('\u{80}'..'\u{32000}').chain('\u{e0000}'..'\u{e0200}');
    let all = [
        "nfc",
        "nfkc",
        "nfc casefold",
        "diacritics",
        "nfkc casefold whitespace",
        "nfkc letters casefold diacritics invisible punctuation_space digits whitespace",
        "nfkc casefold punctuation",
        "letters",
        "nfc html letters numbers",
    ];
    for (at, written) in all.into_iter().enumerate() {
        let steps: Normalization = written.parse().unwrap();
        // Each by all of them, or by one in turn.
        let turn = |c: &char| is_thorough() || *c as usize % all.len() == at;
        for c in chars().filter(turn) {
            for text in [
                format!("o{c}"),
                format!("o{c}\u{301}{c}"),
                format!("\u{1100}{c}"),
                format!("か{c}\u{3099}x"),
                format!("क{c}\u{94d}{c}\u{e48}\u{e38}{c}\u{93c} {c}"),
            ] {
                let found = steps.normalize(&text, &mut || ()).unwrap();
                assert_eq!(found, defined(written, &text), "{c:?}");
                assert_eq!(steps.normalize(&found, &mut || ()).unwrap(), found, "{c:?}");
            }
        }
    }
}

#[test]
fn scripts_become_what_the_documentation_says() {
    let plain = |text| normalized("plain", text);
    assert_eq!(plain("  Ｆｕｌｌ\u{3000}Width ﬁ ①  "), "full width fi 1");
    assert_eq!(plain("STRASSE Straße"), "strasse strasse");
    assert_eq!(plain("ΌΣΟΣ όσος"), "όσοσ όσοσ");
    assert_eq!(plain("İstanbul"), "i\u{307}stanbul");
    assert_eq!(plain("ΐ \u{3b9}\u{308}\u{301}"), "ΐ ΐ");
    assert_eq!(plain("ｶﾞ 한글 \u{1112}\u{1161}\u{11ab}"), "ガ 한글 한");
    let aggressive = |text| normalized("aggressive", text);
    assert_eq!(aggressive("Café—naïve, №42 (Ünïcödé)!"), "cafe naive no00 unicode");
    assert_eq!(aggressive("12.5 € ١٢ १२ 😀👍🏽"), "00 0 00 00");
    assert_eq!(aggressive("שָׁלוֹם مَرْحَبًا"), "שלום مرحبا");
    assert_eq!(aggressive("が ガ 한글 漢字。"), "か カ 한글 漢字");
    assert_eq!(aggressive("Tiếng Việt Đà Nẵng"), "tieng viet da nang");
    assert_eq!(aggressive("Ёлка й"), "елка и");
    // Zero-width characters are neither white space nor punctuation.
    let zero = "a\u{200b}b\u{200d}c\u{ad}d\u{feff}e";
    assert_eq!(normalized("plain", zero), zero);
    assert_eq!(aggressive(zero), "abcde");
    assert_eq!(normalized("invisible", "\u{2067}مـر\u{2069}\u{fe0e}!\u{e0101}"), "مر!");
    // What they separated composes, and is one run of white space.
    assert_eq!(normalized("nfc invisible", "e\u{200d}\u{301}"), "\u{e9}");
    assert_eq!(normalized("invisible whitespace", "a \u{200b} b"), "a b");
    // Marks without a letter, before anything and after a space.
    assert_eq!(normalized("nfc", "\u{301}a \u{301}"), "\u{301}a \u{301}");
    assert_eq!(aggressive("\u{301}a \u{301} \u{20dd}"), "a \u{20dd}");
    // What is removed makes neighbours.
    assert_eq!(normalized("nfc punctuation", "e.\u{301}"), "é");
    assert_eq!(normalized("nfc punctuation_space", "e.\u{301}"), "e \u{301}");
    assert_eq!(normalized("punctuation_basic", "a.b,c:d;e'f!g\"h’"), "abcdef!g\"h’");
}

/// Copies typed without marks, with other Arabic letters, or without markup, are equal to the text.
#[test]
fn what_people_leave_out_does_not_count() {
    let aggressive = |text| normalized("aggressive", text);
    for (text, typed) in [
        ("Đường phố Đà Nẵng ở bên bờ sông Hàn", "Duong pho Da Nang o ben bo song Han"),
        ("Zażółć gęślą jaźń, Łódź i Śląsk", "Zazolc gesla jazn, Lodz i Slask"),
        ("Rødgrød med fløde på Ærø og Ålborg", "Rodgrod med flode pa Aero og Alborg"),
        ("Đurđevac, čvarci i žganci", "Durdevac, cvarci i zganci"),
        ("IĞDIR'dan İstanbul'a ılık çay", "Igdir'dan Istanbul'a ilik cay"),
        ("ذهبَ أحمدُ إلى المدرسةِ آملًا، والفتى مـعه", "ذهب احمد الي المدرسه املا، والفتي معه"),
        ("می\u{200c}خواهم کتاب‌های قدیمی را", "ميخواهم كتابهاي قديمي را"),
    ] {
        assert_eq!(aggressive(text), aggressive(typed));
        assert_ne!(normalized("plain", text), normalized("plain", typed));
    }
    let letters = |text| normalized("letters", text);
    assert_eq!(letters("Łódź İğdır ǿ ÆØ ŧħ ɉ"), "Lódź Iğdir ó AEO th j");
    assert_eq!(normalized("nfc letters", "o\u{338} I\u{307} ø\u{323}"), "o\u{338} I ọ");
    let plain = |text| normalized("html plain", text);
    assert_eq!(plain("<p>The <b>committee</b>&nbsp;approved"), "the committee approved");
    assert_eq!(plain("a<br/>b &lt; c &amp;lt; d, 2 < 3 & 4 > 3 R&D"), "a b < c < d, 2 < 3 & 4 > 3 r&d");
    assert_eq!(plain("<a title='5 > 4' href=x>y</a><script>if (a<b) '</b>'</script>z"), "y z");
    assert_eq!(plain("<!-- <p>no --> <!DOCTYPE html><?xml?>yes<STYLE>b{}</STYLE\n>"), "yes");
    assert_eq!(plain("&lt;b&gt;bold"), plain("<b>bold"));
    assert_eq!(plain("never <closed, <!--open, <script>x"), "never x");
    let numbers = |text| normalized("numbers", text);
    assert_eq!(
        numbers("2026-11-28 07:15:02.123 worker12 took 99 ms for 0x7ffe12ab at 3e8a9c"),
        "0-0-0 0:0:0.0 worker0 took 0 ms for 0 at 0"
    );
    assert_eq!(numbers("fade cafe 12cafés ٣٤ १२٣ x1 1x e3 no. 7½ b_52"), "fade cafe 0cafés 0 0 x0 0x 0 no. 0½ b_0");
}

#[test]
fn places_go_back_through_all_stages() {
    let steps: Normalization = "html nfkc letters casefold numbers whitespace".parse().unwrap();
    let text = "<p>Ｄie &quot;ﬁnale&quot; N&#x26;amp;R 2026<br>  Łódź</p>";
    let read = Characters::with_places(&steps, text, &mut || ()).unwrap();
    assert_eq!(read.text(), "die \"finale\" n&r 0 lódź");
    let original = |part: &str| {
        let start = read.text().find(part).map(|at| read.text()[..at].chars().count()).unwrap();
        let range = read.original(start..start + part.chars().count());
        text.chars().skip(range.start).take(range.len()).collect::<String>()
    };
    assert_eq!(original("die"), "Ｄie");
    assert_eq!(original("\"fi"), "&quot;ﬁ");
    assert_eq!(original("nale"), "nale");
    assert_eq!(original("n&r"), "N&#x26;amp;R");
    assert_eq!(original("0 l"), "2026<br>  Ł");
    assert_eq!(original("lódź"), "Łódź");
}

/// Each has parts that could each be read to the end of the text.
#[test]
fn hostile_markup_takes_no_longer_than_other_text() {
    let steps: Normalization = "html numbers plain".parse().unwrap();
    for unit in [
        "<",
        "<a",
        "<a ",
        "<a =\"",
        "<a ='",
        "<!--",
        "<!-- ->",
        "</",
        "<script>",
        "<style></",
        "<script></script",
        "&",
        "&#",
        "&amp",
        "&amp;amp;lt;",
        "&#38;",
        "&lt;!--",
        "<a b='>",
        "0x",
        "9a",
        "a9g",
        "١",
        "<p>x</p>",
    ] {
        for text in [unit.repeat(3_000_000 / unit.len()), unit.repeat(3_000_000 / unit.len()) + "=\">"] {
            let (start, mut calls) = (Instant::now(), 0);
            let found = steps.normalize(&text, &mut || calls += 1).unwrap();
            println!("{unit:?}: {} bytes, {:?}, {calls} calls", found.len(), start.elapsed());
            assert!(start.elapsed() < Duration::from_secs(20), "{unit:?}");
            assert!(calls >= text.len() / (64 * 1024), "{unit:?}: {calls} calls");
        }
    }
}

#[test]
fn a_text_that_changes_nothing_is_borrowed() {
    let text = "plain words, in one line 0\u{e9}\u{6f22}. ".repeat(3000);
    let text = text.trim_end();
    for steps in ["nfc", "nfkc casefold", "plain", "digits", "none", "classic"] {
        let parsed: Normalization = steps.parse().unwrap();
        let borrowed = matches!(parsed.normalize(text, &mut || ()).unwrap(), Cow::Borrowed(_));
        assert_eq!(borrowed, steps != "classic", "{steps}");
    }
}

#[test]
fn long_texts_take_no_longer_than_many_short_ones_and_can_be_cancelled() {
    let steps: Normalization = "aggressive".parse().unwrap();
    for unit in ["a", "É", "漢", "\u{1f600}", "e\u{301}", "\u{1100}\u{1161}", ".", "\u{a0}", "ﬁ"] {
        let text = unit.repeat(10_000_000 / unit.len());
        let mut calls = 0;
        let start = Instant::now();
        let found = steps.normalize(&text, &mut || calls += 1).unwrap();
        let short = steps.normalize(unit, &mut || ()).unwrap().len();
        assert!(found.len() <= short * text.len() / unit.len(), "{unit:?}");
        println!("{unit:?}: {:?}, {calls} calls", start.elapsed());
        assert!(calls >= text.len() / (64 * 1024), "{unit:?}: {calls} calls");
    }
    // A letter with ten million bytes of marks: one step, but not a long one.
    let text = format!("a{}", "\u{301}\u{323}".repeat(2_500_000));
    let start = Instant::now();
    assert_eq!(steps.normalize(&text, &mut || ()).unwrap(), "a");
    assert!(Normalization::plain().normalize(&text, &mut || ()).unwrap().len() > 9_000_000);
    println!("marks: {:?}", start.elapsed());
}

/// docs/signatures.md has the number.
#[test]
fn the_normal_form_after_case_folding_changes_26_characters() {
    let changes = |c: &char| {
        let folded: String = c.nfkc().default_case_fold().collect();
        let formed: String = folded.nfkc().collect();
        if formed != folded {
            assert_eq!(normalized("plain", &c.to_string()), formed, "{c:?}");
        }
        formed != folded
    };
    let changed: Vec<char> = ('\0'..=char::MAX).filter(changes).collect();
    assert_eq!(changed.len(), 26, "{changed:?}");
    assert!(changed.contains(&'ǰ') && changed.contains(&'ΐ'));
}

/// One letter with all its marks is a step of the work, but not one without a look at interrupts.
#[test]
fn a_long_run_of_marks_can_be_cancelled() {
    let text = "\u{323}\u{301}\u{345}".repeat(1 << 20);
    for steps in ["nfc", "plain", "aggressive"] {
        let (mut last, mut longest, mut looks) = (Instant::now(), Duration::ZERO, 0);
        let steps: Normalization = steps.parse().unwrap();
        let mut check = || {
            looks += 1;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        };
        steps.normalize(&text, &mut check).unwrap();
        assert!(looks > 500, "{looks}");
        // Ten times what it is on a loaded machine, and a tenth of what the whole takes without a look.
        assert!(longest < Duration::from_secs(1), "{steps}: {longest:?}");
    }
}
