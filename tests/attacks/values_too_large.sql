-- Values that would have more than 1 GB, and long ones in messages.
-- Must not: an internal error, or a message as long as the value.

-- as attacker:
-- refused: 54000
SELECT length(minlsh_passage(repeat('x', 1073741800))::text);
-- refused: 54000
SELECT pg_column_size(minlsh_document(repeat('x', 1073741800)));
CREATE FUNCTION evil.longest(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	message text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN length(message) < 1200 AND length(hint) < 4000;
END $$;
-- gives: t t t t t t t t t
SELECT evil.longest(statement) FROM unnest(ARRAY[
	$q$SELECT contained_documents('SELECT repeat(''x'', 2000000), ''text'' FROM generate_series(1, 2)')$q$,
	$q$SELECT near_duplicate_pairs('SELECT repeat(''x'', 2000000), ''text'' FROM generate_series(1, 2)')$q$,
	$q$SELECT near_duplicate_pairs(repeat('x', 2000000))$q$,
	$q$SELECT near_duplicate_pairs('SELECT 1, ''text''', verify => repeat('x', 2000000))$q$,
	$q$SELECT near_duplicate_pairs('SELECT 1, ''text''', body => repeat('x', 2000000))$q$,
	$q$SELECT near_duplicate_clusters('SELECT 1, ''text''', linkage => repeat('x', 2000000))$q$,
	$q$SELECT near_duplicates(1, repeat('x', 2000000), 0.5)$q$,
	$q$SELECT minhash('x', unit => repeat('x', 2000000))$q$,
	$q$SELECT normalize_text('x', repeat('x', 2000000))$q$]) statement;
