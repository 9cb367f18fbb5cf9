//! The aggregates `minhash_agg()` and `minhash_union_agg()`, whose sets arrive row by row.
//!
//! The state is a signature and the hashes that are still to be added. It lies in PostgreSQL's memory, so that a hash
//! aggregate over many groups knows its size and spills. The signature of a set is the union of the signatures of its
//! parts, so neither the order of rows nor their distribution over workers matters.

use sketch::{Config, Scheme, Sketcher, unite};

use super::signatures::{config_of_sets, signature_of};
use crate::error::internal;
use crate::options::with_sketcher;
use crate::pg::aggregate::{Aggregate, Buffer, state};
use crate::prelude::*;

sql_function!(minlsh_set_add, add);
sql_function!(minlsh_set_add_signature, add_signature);
sql_function!(minlsh_set_combine, combine);
sql_function!(minlsh_set_serialize, serialize);
sql_function!(minlsh_set_deserialize, deserialize);
sql_function!(minlsh_set_signature, signature);

/// The options that comparable signatures share.
#[derive(Clone, Copy, PartialEq)]
struct SetOptions {
    scheme: Scheme,
    num_perm: usize,
    /// As a user passes it: 0 stands for the scheme's own.
    seed: i64,
}

impl SetOptions {
    /// Refuses different options: all rows of a group must have the same.
    fn require_same(self, other: Self) -> Result<()> {
        let (option, was, is) = if self.scheme != other.scheme {
            ("scheme", format!("\"{}\"", self.scheme), format!("\"{}\"", other.scheme))
        } else if self.num_perm != other.num_perm {
            ("num_perm", self.num_perm.to_string(), other.num_perm.to_string())
        } else if self.seed != other.seed {
            ("seed", self.seed.to_string(), other.seed.to_string())
        } else {
            return Ok(());
        };
        let (least, greatest) = if was < is { (was, is) } else { (is, was) };
        Err(invalid_parameter(format!("{option} must be the same for all rows of a group, not {least} and {greatest}"))
            .set_hint(format!("Pass {option} as a constant, or GROUP BY it.")))
    }

    fn config(self) -> Result<Config> {
        config_of_sets(self.scheme.as_str(), self.num_perm as i32, self.seed)
    }
}

/// The state of an aggregate: a partial set.
#[repr(C)]
struct SetState {
    /// Distinguishes it from the states of other aggregates.
    tag: u64,
    options: SetOptions,
    /// The signature of the elements that are not pending; empty without any.
    signature: Buffer<i32>,
    /// Hashes of pending elements. A batch costs far less than single elements.
    pending: Buffer<u64>,
}

impl SetState {
    const TAG: u64 = 0x6d69_6e6c_7368_2053;

    /// The state that an argument points to.
    fn of<'a>(datum: Datum) -> Result<&'a mut Self> {
        // SAFETY: `sql/minlsh.sql` declares the argument as internal, so it is the state of an aggregate, which only
        // superusers declare. The state of another aggregate is a chunk of memory too, of at least 8 bytes, and is
        // refused unless it begins with the tag. There is no other reference, and this one ends with the call.
        unsafe {
            if datum.cast_mut_ptr::<u64>().read() == Self::TAG {
                return Ok(state(datum));
            }
        }
        Err(type_mismatch("state of the aggregate is not a minlsh set")
            .set_hint("Use the support functions of minlsh only together in one aggregate."))
    }

    const fn new(options: SetOptions) -> Self {
        Self { tag: Self::TAG, options, signature: Buffer::new(), pending: Buffer::new() }
    }

    fn add(&mut self, hash: u64, aggregate: Aggregate) -> Result<()> {
        self.pending.extend(&[hash], aggregate);
        let batch = Sketcher::batch(self.options.num_perm);
        if self.pending.as_slice().len() >= batch { self.flush(aggregate) } else { Ok(()) }
    }

    /// Adds the elements of a set by its signature; an empty set has none.
    fn unite(&mut self, other: &[i32], aggregate: Aggregate) -> Result<(), sketch::Error> {
        if self.signature.as_slice().is_empty() || other.is_empty() {
            self.signature.extend(other, aggregate);
            return Ok(());
        }
        unite(self.signature.as_mut_slice(), other)
    }

    fn flush(&mut self, aggregate: Aggregate) -> Result<()> {
        if self.pending.as_slice().is_empty() {
            return Ok(());
        }
        with_sketcher(&self.options.config()?, |sketcher| {
            let batch = sketcher.sketch_hashes(self.pending.as_slice(), &mut check_interrupts)?;
            self.unite(batch.unwrap_or_default(), aggregate)
        })?;
        self.pending.clear();
        Ok(())
    }

    fn merge(&mut self, other: &Self, aggregate: Aggregate) -> Result<()> {
        self.options.require_same(other.options)?;
        self.unite(other.signature.as_slice(), aggregate)?;
        other.pending.as_slice().iter().try_for_each(|&hash| self.add(hash, aggregate))
    }
}

/// The result of a transition function: the group's state, or a new one for its first row.
fn state_datum(call: &Call, aggregate: Aggregate, options: SetOptions) -> Datum {
    call.datum(0).unwrap_or_else(|| aggregate.put(SetState::new(options)))
}

/// `minlsh_set_add(internal, element [, num_perm [, scheme, seed]]) → internal`
fn add(call: &Call) -> Result<Option<Datum>> {
    let aggregate = Aggregate::of(call)?;
    let options = options(call)?;
    let datum = state_datum(call, aggregate, options);
    let set = SetState::of(datum)?;
    set.options.require_same(options)?;
    if let Some(element) = call.datum(1) {
        let (of, hash) = (call.argument_type(1), options.scheme.element_hash());
        // SAFETY: the call has the type of its argument.
        set.add(unsafe { element::hash(element, of, hash) }?, aggregate)?;
    }
    Ok(Some(datum))
}

/// The options of `minhash_agg()`, with the defaults of `minhash()`.
fn options(call: &Call) -> Result<SetOptions> {
    let default = Config::default();
    let (mut num_perm, mut scheme, mut seed) = (default.num_perm() as i32, default.scheme(), 0);
    if call.count() > 2 {
        let hint = "Leave num_perm out to use its default.";
        num_perm = call.int4(2).ok_or_else(|| missing("num_perm", hint))?;
    }
    if call.count() > 3 {
        scheme = read_scheme(call, 3)?;
        seed = call.int8(4).ok_or_else(|| missing("seed", "Use 0 for the scheme's own seed."))?;
    }
    if call.datum(0).is_none() {
        config_of_sets(scheme.as_str(), num_perm, seed)?;
    }
    Ok(SetOptions { scheme, num_perm: usize::try_from(num_perm).unwrap_or(0), seed })
}

/// The argument `scheme`.
fn read_scheme(call: &Call, argument: usize) -> Result<Scheme> {
    let scheme = call.text(argument)?.ok_or_else(|| missing("scheme", "Use 'fss', which is the default."))?;
    scheme.parse().map_err(Into::into)
}

fn missing(option: &str, hint: &str) -> SqlError {
    null_not_allowed(format!("{option} must not be null")).set_hint(hint)
}

/// `minlsh_set_add_signature(internal, integer[], [scheme]) → internal`: adds the elements of a set that is known only
/// by its signature.
fn add_signature(call: &Call) -> Result<Option<Datum>> {
    let aggregate = Aggregate::of(call)?;
    let scheme = if call.count() > 2 { read_scheme(call, 2)? } else { Scheme::default() };
    let Some(signature) = call.array(1)? else { return Ok(call.datum(0)) };
    let signature = signature_of(scheme, signature)?;
    let options = SetOptions { scheme, num_perm: signature.len(), seed: 0 };
    let datum = state_datum(call, aggregate, options);
    let set = SetState::of(datum)?;
    if set.options.num_perm != signature.len() {
        let (left, right) = (set.options.num_perm, signature.len());
        return Err(sketch::Error::LengthMismatch { left, right }.into());
    }
    set.options.require_same(options)?;
    set.unite(signature, aggregate)?;
    Ok(Some(datum))
}

/// `minlsh_set_combine(internal, internal) → internal`
fn combine(call: &Call) -> Result<Option<Datum>> {
    let aggregate = Aggregate::of(call)?;
    let Some(other) = call.datum(1) else { return Ok(call.datum(0)) };
    let other = SetState::of(other)?;
    // The other state lives only as long as this call.
    let datum = state_datum(call, aggregate, other.options);
    let set = SetState::of(datum)?;
    set.merge(other, aggregate)?;
    Ok(Some(datum))
}

/// `minlsh_set_signature(internal) → integer[]`: NULL for an empty set.
fn signature(call: &Call) -> Result<Option<Datum>> {
    let aggregate = Aggregate::of(call)?;
    let Some(datum) = call.datum(0) else { return Ok(None) };
    let set = SetState::of(datum)?;
    // The state stays valid: a window aggregate may continue.
    set.flush(aggregate)?;
    let signature = set.signature.as_slice();
    Ok((!signature.is_empty()).then(|| array::write(signature)))
}

/// `minlsh_set_serialize(internal) → bytea`: passes a state between processes of a query, as numbers of eight bytes.
/// They are the scheme's position in `Scheme::ALL`, num_perm, the seed and the number of slots, then slots and pending
/// hashes.
fn serialize(call: &Call) -> Result<Option<Datum>> {
    Aggregate::of(call)?;
    let Some(datum) = call.datum(0) else { return Ok(None) };
    let set = SetState::of(datum)?;
    let SetOptions { scheme, num_perm, seed } = set.options;
    let scheme = Scheme::ALL.iter().position(|known| *known == scheme).unwrap_or(0);
    let (signature, pending) = (set.signature.as_slice(), set.pending.as_slice());
    let options = [scheme as u64, num_perm as u64, seed as u64, signature.len() as u64];
    let values = signature.iter().map(|slot| *slot as u64).chain(pending.iter().copied());
    let numbers = memory::collect(options.into_iter().chain(values).map(u64::to_ne_bytes))?;
    Ok(Some(bytes::write(numbers.as_flattened())))
}

/// `minlsh_set_deserialize(bytea, internal) → internal`
fn deserialize(call: &Call) -> Result<Option<Datum>> {
    let aggregate = Aggregate::of(call)?.short_lived();
    let Some(state) = call.bytes(0) else { return Ok(None) };
    let (numbers, rest) = state.as_chunks();
    let numbers = memory::collect(numbers.iter().map(|number| u64::from_ne_bytes(*number)))?;
    let set = read_state(&numbers, aggregate).filter(|_| rest.is_empty());
    let set = set.ok_or_else(|| internal("invalid state of a minlsh aggregate"))?;
    Ok(Some(aggregate.put(set)))
}

fn read_state(numbers: &[u64], aggregate: Aggregate) -> Option<SetState> {
    let [scheme, num_perm, seed, slots, values @ ..] = numbers else { return None };
    let (slots, pending) = values.split_at_checked(*slots as usize)?;
    let (scheme, num_perm) = (*Scheme::ALL.get(*scheme as usize)?, *num_perm as usize);
    if ![0, num_perm].contains(&slots.len()) {
        return None;
    }
    let mut set = SetState::new(SetOptions { scheme, num_perm, seed: *seed as i64 });
    slots.iter().for_each(|slot| set.signature.extend(&[*slot as i32], aggregate));
    set.pending.extend(pending, aggregate);
    Some(set)
}
