//! Fallible allocation.
//!
//! A database server must survive a text that is too large for it. Everything that grows with the input is allocated
//! here, and a failure becomes [`Error::OutOfMemory`]. Only memory that does not grow is allocated otherwise: up to 64
//! KiB of scratch memory of a [`Sketcher`](crate::Sketcher), the tables of a configuration, and short strings of an
//! error. No function here fails with another error.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use crate::{Error, Result};

/// The error for `count` values of a type that cannot be allocated.
pub fn refused<T>(count: usize) -> Error {
    Error::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) }
}

/// Bytes that must be free where a thread starts. The C library aborts the process if it cannot allocate thread-local
/// data of a library that was loaded later, and a thread's own heap takes some too.
pub const THREAD_HEADROOM: usize = 64 << 20;

/// Checks that `bytes` bytes can be allocated, and frees them: for code that cannot handle a failure.
pub fn spare(bytes: usize) -> Result<()> {
    let room = with_capacity::<u8>(bytes)?;
    // Keeps the compiler from removing the allocation.
    std::hint::black_box(room.as_ptr());
    Ok(())
}

/// Makes room for `additional` more values, and for further ones if it must reallocate.
pub fn reserve<T>(vec: &mut Vec<T>, additional: usize) -> Result<()> {
    vec.try_reserve(additional).map_err(|_| refused::<T>(vec.len().saturating_add(additional)))
}

/// Appends a value.
#[inline]
pub fn push<T>(vec: &mut Vec<T>, value: T) -> Result<()> {
    if vec.len() == vec.capacity() {
        reserve(vec, 1)?;
    }
    vec.push(value);
    Ok(())
}

/// Appends values.
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, values: &[T]) -> Result<()> {
    reserve(vec, values.len())?;
    vec.extend_from_slice(values);
    Ok(())
}

/// Appends a text to another.
pub fn push_str(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| refused::<u8>(text.len() + more.len()))?;
    text.push_str(more);
    Ok(())
}

/// An empty vector with capacity for exactly `count` values.
pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| refused::<T>(count))?;
    Ok(vec)
}

/// A vector with `count` copies of `value`.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut vec = with_capacity(count)?;
    vec.resize(count, value);
    Ok(vec)
}

/// Resizes a vector to `count` values, by truncating it or appending copies of `value`.
pub fn resize<T: Clone>(vec: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    reserve(vec, count.saturating_sub(vec.len()))?;
    vec.resize(count, value);
    Ok(())
}

/// A new vector with these values.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut vec = with_capacity(values.len())?;
    vec.extend_from_slice(values);
    Ok(vec)
}

/// A new string with this text.
pub fn owned(text: &str) -> Result<String> {
    let mut owned = String::new();
    push_str(&mut owned, text)?;
    Ok(owned)
}

/// A vector of all values of an iterator.
pub fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut vec = with_capacity(values.size_hint().0)?;
    values.into_iter().try_for_each(|value| push(&mut vec, value))?;
    Ok(vec)
}

/// A string of all characters of an iterator.
pub fn text(chars: impl Iterator<Item = char>) -> Result<String> {
    let mut text = String::new();
    for c in chars {
        push_str(&mut text, c.encode_utf8(&mut [0; 4]))?;
    }
    Ok(text)
}

/// Adds a value to a set; true if it is new.
pub fn insert<T: Eq + Hash, S: BuildHasher>(set: &mut HashSet<T, S>, value: T) -> Result<bool> {
    set.try_reserve(1).map_err(|_| refused::<T>(set.len() + 1))?;
    Ok(set.insert(value))
}

/// Sets the value of a key; returns the previous value.
pub fn insert_at<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>, key: K, value: V) -> Result<Option<V>> {
    map.try_reserve(1).map_err(|_| refused::<(K, V)>(map.len() + 1))?;
    Ok(map.insert(key, value))
}
