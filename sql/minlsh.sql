-- minlsh: the whole SQL interface, in the order: texts and shingles, signatures, measures, bands,
-- registry, index, queries. The source of truth: C functions are declared here, and PostgreSQL
-- checks at CREATE EXTENSION that each exists.

-- texts and shingles

CREATE FUNCTION normalize_text(body text, normalization text DEFAULT 'plain', stop_words text DEFAULT 'english') RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_normalize_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION normalize_text(text, text, text) IS
	'a text after normalization: by the name of a preset, or by its steps';

CREATE FUNCTION tokens(body text, unit text DEFAULT 'word', normalization text DEFAULT 'auto', stop_words text DEFAULT 'english') RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_tokens' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION tokens(text, text, text, text) IS
	'what shingles are windows of: the words, or characters, of a text after normalization';

CREATE FUNCTION shingles(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION shingles(text, integer, text, text, text, boolean) IS
	'distinct shingles of a text (windows of characters or words), in order of first occurrence';

CREATE FUNCTION shingle_hashes(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_shingle_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION shingle_hashes(text, integer, text, text, text, boolean) IS
	'64-bit hashes of the distinct shingles of a text, in the order of shingles()';

-- signatures

CREATE FUNCTION minhash(body text, num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text, integer, integer, text, text, bigint, text, text, boolean) IS
	'MinHash signature of a text''s shingles; NULL if it has none';

CREATE FUNCTION minhash(elements text[], num_perm integer DEFAULT 128, scheme text DEFAULT 'fss', seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_elements' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text[], integer, text, bigint) IS
	'MinHash signature of a ready-made set; nulls do not count; NULL if it is empty';

-- measures

CREATE FUNCTION jaccard(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION jaccard(text, text, integer, text, text, text, boolean) IS
	'exact Jaccard similarity of the shingle sets of two texts; NULL if both are empty';

CREATE FUNCTION jaccard(a anyarray, b anyarray) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(anyarray, anyarray) IS
	'exact Jaccard similarity of two sets given as arrays; nulls and repeats do not count; NULL if both are empty';

CREATE FUNCTION containment(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_containment_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION containment(text, text, integer, text, text, text, boolean) IS
	'share of the first text''s shingles that the second one has too; NULL if the first has none';

CREATE FUNCTION containment(a anyarray, b anyarray) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_containment_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION containment(anyarray, anyarray) IS
	'share of the first set''s elements that the second one has too; NULL if the first is empty';

CREATE FUNCTION minhash_jaccard(a integer[], b integer[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_jaccard(integer[], integer[]) IS
	'Jaccard similarity estimated from two signatures of the same configuration: the share of equal slots';

CREATE FUNCTION minhash_pack(signature integer[], slot_bits integer) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_pack' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_pack(integer[], integer) IS
	'16 or 8 bits of each slot of a signature: what an index with slot_bits stores';

CREATE FUNCTION minhash_jaccard(a integer[], b integer[], slot_bits integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_jaccard_packed' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_jaccard(integer[], integer[], integer) IS
	'Jaccard similarity estimated from two packed signatures, corrected for slots that are equal by chance';

CREATE FUNCTION minhash_error(num_perm integer, jaccard double precision) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_error_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_error(integer, double precision) IS
	'standard error of minhash_jaccard(): sqrt(J (1 - J) / num_perm)';

-- sets

CREATE FUNCTION minhash(hashes bigint[], num_perm integer DEFAULT 128, scheme text DEFAULT 'fss', seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bigint[], integer, text, bigint) IS
	'MinHash signature of a set of which the elements'' 64-bit hashes are given, as by shingle_hashes(); nulls do not count; NULL if it is empty';

CREATE FUNCTION minhash_union(a integer[], b integer[], scheme text DEFAULT 'fss') RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union(integer[], integer[], text) IS
	'signature of the union of two sets, from their signatures of the same configuration; exact';

-- The state of the aggregates that follow is a set so far, in memory of the aggregate. Aggregates
-- take neither defaults nor names: there is one for each number of options.

CREATE FUNCTION minlsh_set_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minlsh_set_combine(internal, internal) IS 'aggregate support: unites two sets';

CREATE FUNCTION minlsh_set_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_set_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_serialize(internal) IS 'aggregate support: a set as bytes for another process';

CREATE FUNCTION minlsh_set_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_deserialize(bytea, internal) IS 'aggregate support: a set from bytes of another process';

CREATE FUNCTION minlsh_set_signature(internal) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_set_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minlsh_set_signature(internal) IS 'aggregate support: the signature of a set';

CREATE FUNCTION minlsh_set_add(internal, "any") RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any") IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer, text) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer, text) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer, text, bigint) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer, text, bigint) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[]) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[]) IS 'aggregate support: adds the elements of another set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[], text) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[], text) IS 'aggregate support: adds the elements of another set';

CREATE AGGREGATE minhash_agg(element text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element text, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element text, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer, text) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element text, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer, text) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer, text) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer, text) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_union_agg(signature integer[]) (SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_union_agg(integer[]) IS
	'signature of the union of all rows'' sets, from their signatures of the same configuration; nulls do not count';

CREATE AGGREGATE minhash_union_agg(signature integer[], scheme text) (SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_union_agg(integer[], text) IS
	'signature of the union of all rows'' sets, from their signatures of the same configuration; nulls do not count';

CREATE FUNCTION minhash_cardinality(signature integer[], scheme text DEFAULT 'fss', OUT cardinality double precision, OUT error double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION minhash_cardinality(integer[], text) IS
	'number of distinct elements of a set, estimated from its signature, and the standard error of the estimate';

CREATE FUNCTION minhash_containment(a integer[], b integer[], scheme text DEFAULT 'fss', OUT containment_a double precision, OUT containment_b double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_containment(integer[], integer[], text) IS
	'share of the first set''s elements that the second has too, and of the second''s that the first has, estimated from their signatures';

CREATE FUNCTION minhash_weighted(elements text[], weights double precision[], num_perm integer DEFAULT 128, seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_weighted' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION minhash_weighted(text[], double precision[], integer, bigint) IS
	'signature of a weighted set, of which minhash_jaccard() estimates the weighted Jaccard similarity; NULL if it is empty';

CREATE FUNCTION weighted_jaccard(a text[], a_weights double precision[], b text[], b_weights double precision[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_weighted_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION weighted_jaccard(text[], double precision[], text[], double precision[]) IS
	'exact weighted Jaccard similarity: the sum of each element''s lesser weight over that of its greater; NULL if both sets are empty';

CREATE FUNCTION text_profile(body text, min_token_len integer DEFAULT 2, quant_rate double precision DEFAULT 0.01,
		OUT token text, OUT count integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_text_profile' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100;
COMMENT ON FUNCTION text_profile(text, integer, double precision) IS
	'frequent words of a text and how often they come, rounded down, the most frequent first: what text_profile_signature() digests';

CREATE FUNCTION text_profile_signature(body text, min_token_len integer DEFAULT 2, quant_rate double precision DEFAULT 0.01) RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_text_profile_signature' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION text_profile_signature(text, integer, double precision) IS
	'MD5 of the frequent words of a text, as Apache Nutch''s TextProfileSignature; NULL if it has none';

CREATE FUNCTION minhash_from_lean(lean bytea, OUT signature integer[], OUT seed bigint, OUT scheme text) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_from_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_lean(bytea) IS
	'reads what LeanMinHash.serialize() of the Python library datasketch wrote; no signature if the set was empty';

CREATE FUNCTION minhash_to_lean(signature integer[], scheme text DEFAULT 'datasketch_affine32', seed bigint DEFAULT 1, byte_order text DEFAULT '@') RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_minhash_to_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_to_lean(integer[], text, bigint, text) IS
	'a signature as bytes that LeanMinHash.deserialize() of the Python library datasketch reads';

-- bands

CREATE FUNCTION band_hashes(signature integer[], bands integer, rows integer) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_band_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION band_hashes(integer[], integer, integer) IS
	'one 64-bit hash for each band of a signature; the band''s number is part of it';

CREATE FUNCTION lsh_probability(jaccard double precision, bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_probability_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_probability(double precision, integer, integer) IS
	'probability that two documents share a band: 1 - (1 - J^rows)^bands, the S-curve';

CREATE FUNCTION lsh_threshold(bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_threshold_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_threshold(integer, integer) IS
	'where the S-curve rises: (1 / bands)^(1 / rows)';

CREATE FUNCTION lsh_params(threshold double precision, num_perm integer DEFAULT 128, recall double precision DEFAULT 0.99,
		OUT bands integer, OUT rows integer, OUT recall_at_threshold double precision, OUT probes integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_lsh_params_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION lsh_params(double precision, integer, double precision) IS
	'bands and rows with the fewest false candidates that reach the recall at the threshold; probes: how many of the bands suffice there';

-- textbook

CREATE FUNCTION minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_with' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_with(bigint[], bigint[], bigint[], bigint) IS
	'MinHash signature of a set of row numbers under the given functions (a x + b) mod p; nulls do not count; NULL if it is empty';

CREATE FUNCTION minlsh_version() RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_version_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_version() IS 'version of the minlsh library that is loaded';

-- registry

CREATE TABLE minlsh_registry (
	relation regclass NOT NULL,
	name name NOT NULL,
	storage regclass NOT NULL UNIQUE,
	scheme text NOT NULL,
	num_perm integer NOT NULL,
	unit text NOT NULL,
	shingle_size integer NOT NULL,
	seed bigint NOT NULL,
	version integer NOT NULL,
	threshold double precision NOT NULL,
	recall double precision NOT NULL,
	bands integer NOT NULL,
	rows integer NOT NULL,
	slot_bits integer NOT NULL DEFAULT 32,
	valid boolean NOT NULL DEFAULT true,
	normalization text NOT NULL DEFAULT 'none',
	stop_words text NOT NULL DEFAULT 'english',
	bag boolean NOT NULL DEFAULT false,
	unicode text NOT NULL DEFAULT '',
	PRIMARY KEY (relation, name),
	-- Everybody may write about their own tables, but nothing that queries of others would stumble over.
	CONSTRAINT minlsh_registry_config CHECK (minhash(''::text, num_perm, shingle_size, unit, scheme, seed, normalization, stop_words, bag) IS NULL),
	CONSTRAINT minlsh_registry_bands CHECK (lsh_probability(threshold, bands, rows) >= 0 AND bands::bigint * rows <= num_perm),
	CONSTRAINT minlsh_registry_threshold CHECK (threshold > 0 AND threshold <= 1 AND recall > 0 AND recall < 1),
	CONSTRAINT minlsh_registry_slot_bits CHECK (slot_bits IN (8, 16, 32) AND num_perm::bigint * slot_bits % 32 = 0)
);
COMMENT ON TABLE minlsh_registry IS 'all minlsh indexes of the database; read it through the view minlsh_indexes';

CREATE FUNCTION minlsh_registry_guard() RETURNS trigger
	AS 'MODULE_PATHNAME', 'minlsh_registry_guard' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_registry_guard() IS 'trigger: only the owner of a table may register an index of it';

CREATE TRIGGER minlsh_registry_guard BEFORE INSERT OR UPDATE OR DELETE ON minlsh_registry
	FOR EACH ROW EXECUTE FUNCTION minlsh_registry_guard();

-- pg_restore, run by the owner of the tables, must be able to bring the rows back.
GRANT SELECT, INSERT ON minlsh_registry TO PUBLIC;

SELECT pg_catalog.pg_extension_config_dump('minlsh_registry',
	'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = relation AND c.relpersistence <> ''t'')'
	' AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = storage)');

-- index

CREATE FUNCTION minlsh_sync() RETURNS trigger
	AS 'MODULE_PATHNAME', 'minlsh_sync' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_sync() IS 'trigger: carries changes of a table into its minlsh index';

CREATE FUNCTION minlsh_triggers(relation regclass, name name,
		OUT oid oid, OUT tgname name, OUT tgenabled "char", OUT tgtype smallint, OUT tgattr int2vector) RETURNS SETOF record
	LANGUAGE SQL STABLE STRICT PARALLEL SAFE ROWS 4
BEGIN ATOMIC
	SELECT t.oid, t.tgname, t.tgenabled, t.tgtype, t.tgattr
	FROM pg_catalog.pg_trigger AS t
	WHERE t.tgrelid = relation
		AND t.tgparentid = 0 -- not one that a partition has for the index of a table above it
		AND t.tgfoid = 'minlsh_sync()'::pg_catalog.regprocedure
		AND t.tgargs = pg_catalog.convert_to(name::pg_catalog.text, pg_catalog.getdatabaseencoding()) || '\x00'::pg_catalog.bytea;
END;
COMMENT ON FUNCTION minlsh_triggers(regclass, name) IS 'triggers that keep the minlsh index of that name up to date';

CREATE FUNCTION minlsh_covered_columns(relation regclass, name name) RETURNS smallint[]
	LANGUAGE SQL STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- One column: a text that is its own key.
	SELECT ARRAY[t.tgattr[0], coalesce(t.tgattr[1], t.tgattr[0])]
	FROM minlsh_triggers(relation, name) AS t
	WHERE pg_catalog.cardinality(t.tgattr::smallint[]) IN (1, 2);
END;
COMMENT ON FUNCTION minlsh_covered_columns(regclass, name) IS 'attribute numbers of the key and the text column of a minlsh index';

CREATE FUNCTION minlsh_create_index(relation regclass, body name, key name DEFAULT NULL,
		threshold double precision DEFAULT 0.8, recall double precision DEFAULT 0.99,
		num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0, name name DEFAULT NULL, triggers text DEFAULT 'auto', slot_bits integer DEFAULT 32,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS regclass
	AS 'MODULE_PATHNAME', 'minlsh_create_index' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_create_index(regclass, name, name, double precision, double precision, integer, integer, text, text, bigint, name, text, integer, text, text, boolean) IS
	'builds a near-duplicate index on a text column and keeps it up to date; returns its side table';

CREATE PROCEDURE minlsh_create_index_concurrently(relation regclass, body name, key name DEFAULT NULL,
		threshold double precision DEFAULT 0.8, recall double precision DEFAULT 0.99,
		num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0, name name DEFAULT NULL, triggers text DEFAULT 'auto', slot_bits integer DEFAULT 32,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false, batch integer DEFAULT 1000)
	AS 'MODULE_PATHNAME', 'minlsh_create_index_concurrently' LANGUAGE C;
COMMENT ON PROCEDURE minlsh_create_index_concurrently(regclass, name, name, double precision, double precision, integer, integer, text, text, bigint, name, text, integer, text, text, boolean, integer) IS
	'builds a near-duplicate index while others write the table, committing batch by batch; called again after it was stopped, it goes on';

CREATE TABLE minlsh_builds (
	relation regclass PRIMARY KEY,
	storage regclass,
	phase text NOT NULL,
	pid integer NOT NULL,
	started timestamptz NOT NULL,
	updated timestamptz,
	before bigint NOT NULL DEFAULT 0,
	done bigint NOT NULL DEFAULT 0,
	total bigint
);
COMMENT ON TABLE minlsh_builds IS 'concurrent builds of minlsh indexes; read it through the view minlsh_progress';

CREATE VIEW minlsh_progress AS
	SELECT coalesce(r.relation, b.relation) AS relation, r.storage AS index,
		CASE WHEN b.running THEN b.phase ELSE 'stopped' END AS phase,
		b.done, greatest(b.total, b.done) AS total, s.rate,
		pg_catalog.make_interval(secs => pg_catalog.round(greatest(b.total - b.done, 0) / s.rate)) AS time_left,
		CASE WHEN b.running THEN b.pid END AS pid
	FROM (SELECT * FROM minlsh_registry WHERE NOT valid) AS r
		FULL JOIN (SELECT *, EXISTS (SELECT FROM pg_catalog.pg_locks AS l
				WHERE l.locktype = 'relation' AND l.relation = w.relation AND l.pid = w.pid
				AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
				AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted) AS running
			FROM minlsh_builds AS w) AS b ON b.storage = r.storage
		LEFT JOIN LATERAL (SELECT CASE WHEN b.running THEN pg_catalog.round((b.done - b.before)
			/ nullif(extract(epoch FROM b.updated - b.started), 0)) END) AS s(rate) ON true
	WHERE r.storage IS NOT NULL OR b.running;
COMMENT ON VIEW minlsh_progress IS 'near-duplicate indexes that are not finished: documents done, documents a second, time left';
GRANT SELECT ON minlsh_progress TO PUBLIC;

CREATE FUNCTION minlsh_drop_index(index regclass) RETURNS void
	AS 'MODULE_PATHNAME', 'minlsh_drop_index' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_drop_index(regclass) IS
	'drops a near-duplicate index, named by itself or, if it has one, by its table';

CREATE FUNCTION minlsh_reindex(index regclass) RETURNS regclass
	AS 'MODULE_PATHNAME', 'minlsh_reindex' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_reindex(regclass) IS
	'builds a near-duplicate index anew from the table as it is now, with the same options';

CREATE FUNCTION minlsh_check(index regclass DEFAULT NULL, OUT doc_id text, OUT problem text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_check' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_check(regclass) IS
	'every difference between a near-duplicate index and its table; no rows: they agree';

CREATE FUNCTION minlsh_documents(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'minlsh_documents' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION minlsh_documents(regclass) IS
	'number of documents in a near-duplicate index; NULL if the caller may not read its table';

CREATE VIEW minlsh_indexes AS
	SELECT r.storage AS index, r.relation, k.attname AS key, b.attname AS body,
		r.threshold, r.recall, r.bands, r.rows, lsh_probability(r.threshold, r.bands, r.rows) AS recall_at_threshold,
		r.scheme, r.num_perm, r.slot_bits, r.unit, r.shingle_size, r.seed, r.normalization, r.stop_words, r.bag, r.version, r.unicode,
		r.valid, minlsh_documents(r.storage) AS documents, pg_catalog.pg_total_relation_size(r.storage) AS size
	FROM minlsh_registry AS r
		JOIN pg_catalog.pg_class AS c ON c.oid = r.relation
		JOIN pg_catalog.pg_class AS s ON s.oid = r.storage
		LEFT JOIN LATERAL minlsh_covered_columns(r.relation, r.name) AS covered(columns) ON true
		LEFT JOIN pg_catalog.pg_attribute AS k ON k.attrelid = r.relation AND k.attnum = covered.columns[1]
		LEFT JOIN pg_catalog.pg_attribute AS b ON b.attrelid = r.relation AND b.attnum = covered.columns[2]
	WHERE NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace);
COMMENT ON VIEW minlsh_indexes IS 'near-duplicate indexes: options, whether they are finished, documents, size in bytes';
GRANT SELECT ON minlsh_indexes TO PUBLIC;

-- queries

-- One function for each kind of key: an integer literal reaches a key of any integer type, a
-- string literal a key of any type, anything else must be of the key's own type. Their COST is a
-- tenth of what a lookup takes: told all of it, PostgreSQL would compile (JIT) a join with a few
-- thousand rows, which takes longer than to run it.

CREATE FUNCTION near_duplicates(key smallint, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates(smallint, double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

CREATE FUNCTION near_duplicates(key integer, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates(integer, double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

CREATE FUNCTION near_duplicates(key bigint, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates(bigint, double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

CREATE FUNCTION near_duplicates(key text, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates(text, double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

-- Without one of its own a "char" would fit text and anyelement alike.
CREATE FUNCTION near_duplicates(key "char", threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id "char", OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates("char", double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

CREATE FUNCTION near_duplicates(key anyelement, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id anyelement, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates(anyelement, double precision, regclass, text) IS
	'documents at least as similar to a stored one as the threshold, most similar first';

CREATE FUNCTION near_duplicates_of(body text, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION near_duplicates_of(text, double precision, regclass, text) IS
	'stored documents at least as similar to a text as the threshold, most similar first; keys as text';

CREATE FUNCTION nearest_documents(key smallint, k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents(smallint, integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key integer, k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents(integer, integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key bigint, k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents(bigint, integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key text, k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents(text, integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key "char", k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id "char", OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents("char", integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key anyelement, k integer DEFAULT 10, index regclass DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id anyelement, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10 SET enable_seqscan = off;
COMMENT ON FUNCTION nearest_documents(anyelement, integer, regclass, text) IS
	'the k documents most similar to a stored one, of those that reach the threshold of the index';

CREATE FUNCTION near_duplicate_pairs(index regclass DEFAULT NULL, threshold double precision DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_a text, OUT doc_b text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_pairs' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_pairs(regclass, double precision, text) IS
	'all pairs of stored documents at least as similar as the threshold, each once, the lesser key first; keys as text';

CREATE FUNCTION near_duplicate_clusters(index regclass DEFAULT NULL, threshold double precision DEFAULT NULL, verify text DEFAULT 'signature',
		linkage text DEFAULT 'single',
		OUT doc_id text, OUT cluster_id text, OUT similarity double precision, OUT size bigint, OUT weakest_link double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_clusters' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_clusters(regclass, double precision, text, text) IS
	'clusters of near-duplicates: verified pairs put together, named by their least key, with each member''s similarity to it';

CREATE FUNCTION near_duplicate_plan(index regclass DEFAULT NULL, threshold double precision DEFAULT NULL, keep text DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_id text, OUT kept_id text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_plan' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_plan(regclass, double precision, text, text) IS
	'documents to remove so that no near-duplicates remain, and which is kept instead: the first in the order of keep, an ORDER BY list; removes nothing';

CREATE FUNCTION near_duplicates_between(index_a regclass, index_b regclass, threshold double precision DEFAULT NULL, verify text DEFAULT 'signature',
		OUT doc_a text, OUT doc_b text, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_between' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicates_between(regclass, regclass, double precision, text) IS
	'all pairs of a document of one index and a document of another that are at least as similar as the threshold; keys as text';

CREATE FUNCTION minlsh_explain(index regclass, a text, b text, threshold double precision DEFAULT NULL,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1 SET enable_seqscan = off;
COMMENT ON FUNCTION minlsh_explain(regclass, text, text, double precision) IS
	'why two stored documents are found to be near-duplicates, or not: exact and estimated similarity, shingles, the bands they share';

CREATE FUNCTION minlsh_explain(index regclass, a anycompatible, b anycompatible, threshold double precision DEFAULT NULL,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1 SET enable_seqscan = off;
COMMENT ON FUNCTION minlsh_explain(regclass, anycompatible, anycompatible, double precision) IS
	'why two stored documents are found to be near-duplicates, or not: exact and estimated similarity, shingles, the bands they share';

CREATE FUNCTION minlsh_recall(index regclass DEFAULT NULL, threshold double precision DEFAULT NULL, sample integer DEFAULT 1000,
		verify text DEFAULT 'signature', seed bigint DEFAULT 0,
		OUT sampled bigint, OUT documents bigint, OUT pairs bigint, OUT pairs_found bigint,
		OUT recall double precision, OUT recall_low double precision, OUT recall_high double precision,
		OUT returned bigint,
		OUT "precision" double precision, OUT precision_low double precision, OUT precision_high double precision,
		OUT copies bigint, OUT copies_found bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_recall' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1;
COMMENT ON FUNCTION minlsh_recall(regclass, double precision, integer, text, bigint) IS
	'audit of near_duplicates(): a sample of documents compared exactly with all others; recall and precision with 95 % Wilson intervals';
