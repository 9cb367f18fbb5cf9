-- Triggers, checks and expressions of a table that refuses near-duplicates, which write to it, rebuild or drop its
-- constraint amid a statement, or read it through the index.
-- Attacker: the owner. Must not: a crash or an internal error, or two similar rows under a constraint that holds.

-- as attacker:
CREATE TABLE evil.docs (id int, body text);
CREATE FUNCTION evil.text_of(n int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(md5((n * 100 + i)::text), ' ') FROM generate_series(1, 8) i);
CREATE FUNCTION evil.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF pg_trigger_depth() > 3 THEN RETURN NEW; END IF;
	BEGIN EXECUTE TG_ARGV[0]; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END;
	IF TG_OP <> 'DELETE' AND TG_ARGV[1] <> '' THEN NEW.body := evil.text_of(TG_ARGV[1]::int); END IF;
	RETURN COALESCE(NEW, OLD);
END $$;
-- Similar rows that are left, and what minlsh_check finds; none of either where the constraint is left.
CREATE FUNCTION evil.wrong() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'evil.docs'::regclass AND contype = 'x') THEN
		RETURN 'no constraint';
	END IF;
	RETURN (SELECT count(*) FROM near_duplicate_pairs('SELECT row_number() OVER () AS id, body FROM evil.docs', 0.8))
		|| ' ' || (SELECT count(*) FROM minlsh_check('evil.near'));
END $$;
CREATE FUNCTION evil.try(what text, event text, body text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE statement text; result text; BEGIN
	DROP TABLE evil.docs;
	CREATE TABLE evil.docs (id int, body text);
	EXECUTE 'ALTER TABLE evil.docs ADD CONSTRAINT near EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=) ' || mode;
	INSERT INTO evil.docs SELECT i, evil.text_of(i) FROM generate_series(1, 10) i;
	EXECUTE format('CREATE TRIGGER aaa %s ON evil.docs FOR EACH ROW EXECUTE FUNCTION evil.meddle(%L, %L)',
		event, what, body);
	FOREACH statement IN ARRAY ARRAY[
		'INSERT INTO evil.docs VALUES (20, evil.text_of(20)), (21, evil.text_of(21)), (22, evil.text_of(20))',
		'INSERT INTO evil.docs VALUES (23, evil.text_of(23)), (1, evil.text_of(1)), (23, evil.text_of(23))
			ON CONFLICT DO NOTHING',
		'UPDATE evil.docs SET body = evil.text_of(30) WHERE id IN (2, 3)',
		'UPDATE evil.docs SET body = evil.text_of(id + 40) WHERE id < 6',
		'UPDATE evil.docs SET id = id + 1', 'DELETE FROM evil.docs WHERE id IN (5, 6)',
		'INSERT INTO evil.docs SELECT id, body FROM evil.docs ON CONFLICT DO NOTHING',
		'MERGE INTO evil.docs d USING (VALUES (7), (90)) v (id) ON d.id = v.id
			WHEN MATCHED THEN UPDATE SET body = evil.text_of(70)
			WHEN NOT MATCHED THEN INSERT VALUES (90, evil.text_of(90))']
	LOOP
		BEGIN
			EXECUTE statement;
			SET CONSTRAINTS ALL IMMEDIATE;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN
				RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = what || ' at ' || statement || ': ' || SQLERRM;
			END IF;
		END;
		SET CONSTRAINTS ALL IMMEDIATE;
		result := evil.wrong();
		IF result NOT IN ('0 0', 'no constraint') THEN
			RETURN format('%s %s %s at %s: %s', mode, event, what, statement, result);
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
-- gives: 0
SELECT count(wrong) FROM (SELECT evil.try(what, event, body, mode) AS wrong FROM unnest(ARRAY[
	'SELECT', 'INSERT INTO evil.docs VALUES (50, evil.text_of(50))', 'INSERT INTO evil.docs VALUES (60, evil.text_of(20))',
	'INSERT INTO evil.docs VALUES (61, evil.text_of(20)) ON CONFLICT DO NOTHING',
	'UPDATE evil.docs SET body = body || '' x'' WHERE id IN (1, 20, 21)', 'UPDATE evil.docs SET body = NULL WHERE id = 4',
	'DELETE FROM evil.docs', 'DELETE FROM evil.docs WHERE minlsh_document(body, 0.8) ~= evil.text_of(20)',
	'TRUNCATE evil.docs',
	'REINDEX INDEX evil.near', 'ALTER TABLE evil.docs DROP CONSTRAINT near', 'DROP TABLE evil.docs',
	'ALTER INDEX evil.near SET (fillfactor = 50)', 'SELECT near_duplicates(20, 0.8, ''evil.docs'')',
	'SELECT count(*) FROM near_duplicate_pairs(''evil.docs'', 0.8)', 'SET CONSTRAINTS ALL IMMEDIATE',
	'SELECT count(*) FROM evil.docs a JOIN evil.docs b ON minlsh_document(a.body, 0.8) ~= b.body']) AS what,
	unnest(ARRAY['BEFORE INSERT OR UPDATE', 'AFTER INSERT OR UPDATE OR DELETE']) AS event,
	unnest(ARRAY['', '20'], ARRAY['', 'DEFERRABLE INITIALLY DEFERRED']) AS given (body, mode)
	-- Updated amid its own update, a row meets an assertion of PostgreSQL's, under a constraint by its B-tree as well.
	WHERE NOT (what LIKE 'UPDATE%' AND event LIKE 'BEFORE%')) AS tried;

-- Code of the table itself: a generated column, a check and a predicate that read and write what is being written.
CREATE TABLE evil.own (id int PRIMARY KEY, body text);
CREATE FUNCTION evil.reads(body text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
	PERFORM count(*) FROM evil.own WHERE minlsh_document(own.body, 0.8) ~= reads.body;
	PERFORM near_duplicates_of(reads.body, 0.8, 'evil.own');
	RETURN true;
EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; RETURN true;
END $$;
CREATE FUNCTION evil.writes(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
	IF body NOT LIKE 'again %' THEN
		INSERT INTO evil.own VALUES ((random() * 1e9)::int, 'again ' || body) ON CONFLICT DO NOTHING;
	END IF;
	RETURN body;
EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; RETURN body;
END $$;
ALTER TABLE evil.own ADD CHECK (evil.reads(body));
ALTER TABLE evil.own ADD CONSTRAINT own_near EXCLUDE USING minlsh (minlsh_document(evil.writes(body), 0.8) WITH ~=)
	WHERE (evil.reads(body));
-- tried
INSERT INTO evil.own SELECT i, evil.text_of(i) FROM generate_series(1, 20) i ON CONFLICT DO NOTHING;
-- tried
INSERT INTO evil.own SELECT i, evil.text_of(i) FROM generate_series(15, 40) i;
-- tried
UPDATE evil.own SET body = evil.text_of(3);
-- tried
REINDEX INDEX evil.own_near;
-- tried
VACUUM evil.own;
