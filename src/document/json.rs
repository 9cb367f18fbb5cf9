//! JSON, read from bytes in the database's encoding as far as a document needs it. `serde_json` reads UTF-8
//! only, and would copy a text that is to be stored as it is.

use std::borrow::Cow;

use crate::error::{Result, SqlError, out_of_memory};
use crate::pg::interrupts::check_interrupts;
use crate::pg::{lossless, text};

/// The reason why a text is not a value of a type.
pub enum Refusal {
    /// It has not the form of one; with what was expected.
    Syntax(String),
    /// It is, but what it says cannot be.
    Meaning(SqlError),
}

impl<E: Into<SqlError>> From<E> for Refusal {
    fn from(cause: E) -> Self {
        Self::Meaning(cause.into())
    }
}

/// Refuses what has not the form of a value.
pub fn syntax<T>(detail: impl Into<String>) -> Read<T> {
    Err(Refusal::Syntax(detail.into()))
}

/// The result of reading a part.
pub type Read<T> = std::result::Result<T, Refusal>;

/// A reader, with the part of the text that it has not read yet.
pub struct JsonReader<'a> {
    rest: &'a [u8],
}

impl<'a> JsonReader<'a> {
    /// Reads all of `rest`.
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Reads `token`, if it is next.
    fn next_is(&mut self, token: u8) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(&[token]) else { return false };
        self.rest = rest;
        true
    }

    /// Reads `token`, which must be next.
    fn token(&mut self, token: u8) -> Read<()> {
        if self.next_is(token) {
            Ok(())
        } else {
            syntax(format!("\"{}\" is missing.", char::from(token)))
        }
    }

    /// Reads an object, which must be all that is left: `read` takes the value of each member, by its name, and says
    /// whether that is known and new.
    pub fn object(&mut self, mut read: impl FnMut(&[u8], &mut Self) -> Read<bool>) -> Read<()> {
        self.token(b'{')?;
        let mut is_done = self.next_is(b'}');
        while !is_done {
            let name = self.string()?;
            self.token(b':')?;
            if !read(&name, self)? {
                return syntax("A member is unknown or repeated.");
            }
            is_done = self.next_is(b'}');
            if !is_done {
                self.token(b',')?;
            }
        }
        self.end()
    }

    /// Sees that nothing is left.
    fn end(&mut self) -> Read<()> {
        self.skip_space();
        if self.rest.is_empty() { Ok(()) } else { syntax("There is text after the closing brace.") }
    }

    /// A number, or what stands in its place.
    fn word(&mut self) -> &'a str {
        self.skip_space();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.rest.iter().take_while(|byte| is_part(byte)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        std::str::from_utf8(word).unwrap_or_default()
    }

    /// A number.
    pub fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        self.word().parse().or_else(|_| syntax("A number is missing or out of range."))
    }

    /// `true` or `false`, of the only member that is one.
    pub fn boolean(&mut self) -> Read<bool> {
        self.word().parse().or_else(|_| syntax("\"bag\" must be true or false."))
    }

    /// An array of numbers.
    pub fn numbers<T: std::str::FromStr>(&mut self) -> Read<Vec<T>> {
        self.token(b'[')?;
        let mut numbers = Vec::new();
        if self.next_is(b']') {
            return Ok(numbers);
        }
        loop {
            if numbers.len().is_multiple_of(4096) {
                check_interrupts();
            }
            numbers.try_reserve(1).map_err(|_| out_of_memory())?;
            numbers.push(self.number()?);
            if self.next_is(b']') {
                return Ok(numbers);
            }
            self.token(b',')?;
        }
    }

    /// An option, as UTF-8.
    pub fn utf8(&mut self) -> Read<Cow<'a, str>> {
        Ok(match self.string()? {
            Cow::Borrowed(bytes) => lossless::decode(bytes)?,
            Cow::Owned(bytes) => lossless::decode(&bytes)?.into_owned().into(),
        })
    }

    /// A string, in the database's encoding: where it lies, unless something in it is escaped.
    pub fn string(&mut self) -> Read<Cow<'a, [u8]>> {
        self.token(b'"')?;
        let mut string = Cow::Borrowed(&self.rest[..0]);
        loop {
            let length = self.rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let Some((plain, [end, rest @ ..])) = length.map(|at| self.rest.split_at(at)) else {
                return syntax("A string is not terminated.");
            };
            self.rest = rest;
            if string.is_empty() && *end == b'"' {
                return Ok(Cow::Borrowed(plain));
            }
            append(string.to_mut(), plain)?;
            match end {
                b'"' => return Ok(string),
                b'\\' => self.escaped(string.to_mut())?,
                _ => return syntax("A control character in a string must be escaped."),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self, string: &mut Vec<u8>) -> Read<()> {
        let Some((&kind, rest)) = self.rest.split_first() else {
            return syntax("A string is not terminated.");
        };
        self.rest = rest;
        let byte = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut utf8 = [0; 4];
                let character = self.unicode()?.encode_utf8(&mut utf8);
                return Ok(append(string, text::encode(character))?);
            }
            _ => return syntax("A string contains an unknown escape sequence."),
        };
        Ok(append(string, &[byte])?)
    }

    /// The character of `\u` and four digits, twice for those beyond U+FFFF.
    fn unicode(&mut self) -> Read<char> {
        let first = self.code_unit()?;
        let units = if matches!(first, 0xD800..0xDC00) {
            let Some(rest) = self.rest.strip_prefix(b"\\u") else {
                return syntax("Half of a surrogate pair is missing.");
            };
            self.rest = rest;
            [first, self.code_unit()?]
        } else {
            [first, 0]
        };
        match char::decode_utf16(units).next() {
            Some(Ok(character)) if character != '\0' => Ok(character),
            _ => syntax("An escape sequence in a string is not a valid character."),
        }
    }

    fn code_unit(&mut self) -> Read<u16> {
        let digits = self.rest.split_first_chunk::<4>().and_then(|(digits, rest)| {
            self.rest = rest;
            let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
        digits.map_or_else(|| syntax("\\u must be followed by four hexadecimal digits."), Ok)
    }
}

/// Appends bytes, in memory that may be refused.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.try_reserve(bytes.len()).map_err(|_| out_of_memory())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends bytes in the database's encoding as a string.
pub fn write_string(out: &mut Vec<u8>, string: &[u8]) -> Result<()> {
    append(out, b"\"")?;
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    for part in string.split_inclusive(special) {
        check_interrupts();
        match part.split_last() {
            Some((last, plain)) if special(last) => {
                append(out, plain)?;
                match last {
                    b'"' | b'\\' => append(out, &[b'\\', *last])?,
                    b'\n' => append(out, b"\\n")?,
                    b'\r' => append(out, b"\\r")?,
                    b'\t' => append(out, b"\\t")?,
                    control => append(out, format!("\\u{control:04x}").as_bytes())?,
                }
            }
            _ => append(out, part)?,
        }
    }
    append(out, b"\"")
}
