//! The text and binary forms that all types of the extension share. A value is bytes, which are checked when they are
//! read. Its text form is a JSON object that begins with a member that is specific to the type. Any other text stands
//! for the default options. The binary form of the protocol is a version byte and the text form.
//!
//! JSON is read as bytes in the database's encoding. `serde_json` reads UTF-8 only, and would copy a text that is
//! stored unchanged.

use std::borrow::Cow;

use crate::prelude::*;

/// The version of the binary form, its first byte.
const SENT: u8 = 1;

/// A type of the extension, with its text form.
pub struct TypeForm {
    pub name: &'static str,
    /// The first member of its JSON object.
    pub start: &'static str,
    /// Describes a value, for a HINT.
    pub meaning: &'static str,
    /// Reads a value from its text form.
    pub read: fn(&[u8]) -> Read<Datum>,
    /// Writes the text form of a value.
    pub write: fn(&[u8]) -> Result<Vec<u8>>,
}

impl TypeForm {
    /// `..._in(cstring) → type`
    pub fn input(&self, call: &Call) -> Result<Option<Datum>> {
        call.cstring(0).map(|literal| self.value(literal)).transpose()
    }

    /// `..._out(type) → cstring`
    pub fn output(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(value) = call.bytes(0) else { return Ok(None) };
        Ok(Some(text::write_cstring(&(self.write)(value)?)))
    }

    /// `..._recv(internal) → type`
    pub fn receive(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(message) = call.datum(0) else { return Ok(None) };
        // SAFETY: PostgreSQL calls receive functions with a message. It checks the length, and converts the text to the
        // database's encoding.
        let (version, literal) = unsafe {
            let message = message.cast_mut_ptr::<pg_sys::StringInfoData>();
            let version = pg_sys::pq_getmsgbyte(message);
            let (mut length, rest) = (0, (*message).len - (*message).cursor);
            let start = pg_sys::pq_getmsgtext(message, rest, &mut length);
            (version, std::slice::from_raw_parts(start.cast::<u8>(), length as usize))
        };
        if version != i32::from(SENT) {
            let message = format!("unsupported version {version} of the binary form of {}", self.name);
            return Err(error(PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION, message)
                .set_hint("Send a byte 1, followed by the text form."));
        }
        self.value(literal).map(Some)
    }

    /// `..._send(type) → bytea`
    pub fn send(&self, call: &Call) -> Result<Option<Datum>> {
        let Some(value) = call.bytes(0) else { return Ok(None) };
        let literal = (self.write)(value)?;
        Ok(Some(bytes::concatenate(&[&[SENT], text::to_client(&literal)])))
    }

    /// True if a literal is a JSON object of the type, and not another text.
    pub fn is_object(&self, literal: &[u8]) -> bool {
        literal.starts_with(self.start.as_bytes())
    }

    fn value(&self, literal: &[u8]) -> Result<Datum> {
        (self.read)(literal).map_err(|refusal| match refusal {
            Refusal::Meaning(report) => report,
            Refusal::Syntax(detail) => {
                let message = format!("invalid input syntax for type {}", self.name);
                error(PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION, message).set_detail(detail).set_hint(
                    format!(
                        "Cast it to text if it is a text. A literal that begins with {} is {} with its options.",
                        self.start, self.meaning
                    ),
                )
            }
        })
    }
}

/// The error for bytes that are not a value of the type `name`.
pub fn damaged(name: &str) -> SqlError {
    error(PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION, format!("invalid value of type {name}"))
        .set_hint("Create the value again. Its page is damaged, or another version wrote it.")
}

/// The reasons why a text is not a value of a type.
pub enum Refusal {
    /// It has the wrong form; with what was expected.
    Syntax(String),
    /// It has the form, but a member has an invalid value.
    Meaning(SqlError),
}

impl<E: Into<SqlError>> From<E> for Refusal {
    fn from(cause: E) -> Self {
        Self::Meaning(cause.into())
    }
}

/// Refuses a text with the wrong form.
pub fn syntax<T>(detail: impl Into<String>) -> Read<T> {
    Err(Refusal::Syntax(detail.into()))
}

/// The result of reading a part.
pub type Read<T> = Result<T, Refusal>;

/// A reader of the unread part of a text.
pub struct JsonReader<'a> {
    rest: &'a [u8],
}

impl<'a> JsonReader<'a> {
    /// Reads `rest`, to its end.
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Reads `token` if it is next.
    fn next_is(&mut self, token: u8) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(&[token]) else { return false };
        self.rest = rest;
        true
    }

    /// Reads `token`, which must be next.
    fn token(&mut self, token: u8) -> Read<()> {
        if self.next_is(token) { Ok(()) } else { syntax(format!("\"{}\" is missing.", char::from(token))) }
    }

    /// Reads an object, after which the text must end. `read` takes the name of each member and reads its value; it
    /// returns false for an unknown name.
    pub fn object(&mut self, mut read: impl FnMut(&[u8], &mut Self) -> Read<bool>) -> Read<()> {
        self.token(b'{')?;
        let mut names = Vec::new();
        let mut is_done = self.next_is(b'}');
        while !is_done {
            let name = self.string()?;
            self.token(b':')?;
            if names.contains(&name) || !read(&name, self)? {
                return syntax("A member is unknown or repeated.");
            }
            // At most as many as there are known names.
            names.push(name);
            is_done = self.next_is(b'}');
            if !is_done {
                self.token(b',')?;
            }
        }
        self.end()
    }

    /// Checks that the text ends here.
    fn end(&mut self) -> Read<()> {
        self.skip_space();
        if self.rest.is_empty() { Ok(()) } else { syntax("There is text after the closing brace.") }
    }

    /// Reads a number, or what stands in its place.
    fn word(&mut self) -> &'a str {
        self.skip_space();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.rest.iter().take_while(|byte| is_part(byte)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        std::str::from_utf8(word).unwrap_or_default()
    }

    /// Reads a number.
    pub fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        self.word().parse().or_else(|_| syntax("A number is missing or out of range."))
    }

    /// Reads `true` or `false`, for `bag`.
    pub fn boolean(&mut self) -> Read<bool> {
        self.word().parse().or_else(|_| syntax("\"bag\" must be true or false."))
    }

    /// Reads an array of numbers.
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
            let number = self.number()?;
            memory::push(&mut numbers, number)?;
            if self.next_is(b']') {
                return Ok(numbers);
            }
            self.token(b',')?;
        }
    }

    /// Reads an option, as UTF-8.
    pub fn utf8(&mut self) -> Read<Cow<'a, str>> {
        Ok(match self.string()? {
            Cow::Borrowed(bytes) => lossless::decode(bytes)?,
            Cow::Owned(bytes) => lossless::decode(&bytes)?.into_owned().into(),
        })
    }

    /// Reads a string in the database's encoding. Copies it only if it has escapes.
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
            memory::extend(string.to_mut(), plain)?;
            match end {
                b'"' => return Ok(string),
                b'\\' => self.escaped(string.to_mut())?,
                _ => return syntax("A control character in a string must be escaped."),
            }
        }
    }

    /// Reads the rest of an escape, after the backslash.
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
                return Ok(memory::extend(string, text::encode(character))?);
            }
            _ => return syntax("A string contains an unknown escape sequence."),
        };
        Ok(memory::extend(string, &[byte])?)
    }

    /// Reads the character of `\u` and four digits, or of two such escapes beyond U+FFFF.
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

/// Appends a member with a string in the database's encoding. It is not the first member.
pub fn write_member(out: &mut Vec<u8>, name: &str, string: &[u8]) -> Result<()> {
    memory::extend(out, format!(", \"{name}\": \"").as_bytes())?;
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    for part in string.split_inclusive(special) {
        check_interrupts();
        match part.split_last() {
            Some((last, plain)) if special(last) => {
                memory::extend(out, plain)?;
                match last {
                    b'"' | b'\\' => memory::extend(out, &[b'\\', *last])?,
                    b'\n' => memory::extend(out, b"\\n")?,
                    b'\r' => memory::extend(out, b"\\r")?,
                    b'\t' => memory::extend(out, b"\\t")?,
                    control => memory::extend(out, format!("\\u{control:04x}").as_bytes())?,
                }
            }
            _ => memory::extend(out, part)?,
        }
    }
    Ok(memory::extend(out, b"\"")?)
}
