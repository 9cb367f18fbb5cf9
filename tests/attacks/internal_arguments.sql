-- Functions that take `internal`, called from SQL with what looks like a pointer.
-- Attacker: an ordinary user. Must not: anything be called with it.

-- as attacker:
DO $$
DECLARE
	f record;
	argument text;
BEGIN
	FOR f IN SELECT p.oid::regprocedure AS name, p.proname, p.proargtypes::oid[] AS types FROM pg_proc p
		JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
			JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minlsh'
			WHERE 'internal'::regtype = ANY (p.proargtypes::oid[]) LOOP
		FOREACH argument IN ARRAY ARRAY['1', '''x''', '''4702111234474983745''', '''\xffff''::bytea'] LOOP
			BEGIN
				EXECUTE format('SELECT %I(%s)', f.proname, (SELECT string_agg(argument, ', ') FROM unnest(f.types)));
				RAISE EXCEPTION 'it was called: %', f.name;
			EXCEPTION WHEN undefined_function OR feature_not_supported OR ambiguous_function OR datatype_mismatch
				OR indeterminate_datatype THEN NULL;
			END;
		END LOOP;
	END LOOP;
END $$;
-- tried
CREATE FUNCTION evil.forged(int) RETURNS internal LANGUAGE internal AS 'int4in';
-- tried
CREATE AGGREGATE evil.forged(int) (SFUNC = public.minlsh_set_add, STYPE = internal);
