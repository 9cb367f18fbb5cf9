-- What the extension puts into the catalog.

CREATE TEMP VIEW members AS
SELECT p.* FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
JOIN pg_proc AS p ON p.oid = d.objid WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e';

-- Every function says what it is, how it may be planned, and what it costs.
SELECT oid::regprocedure AS function, provolatile AS volatile, proparallel AS parallel, proisstrict AS strict, procost AS cost
FROM members ORDER BY oid::regprocedure::text COLLATE "C";
SELECT oid::regprocedure AS uncommented FROM members WHERE obj_description(oid, 'pg_proc') IS NULL;

SELECT c.oid::regclass AS uncommented
FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh' JOIN pg_class AS c ON c.oid = d.objid
WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND obj_description(c.oid, 'pg_class') IS NULL;

-- What else belongs to it: no operator, cast or setting of its own, no type but those of its relations.
SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS member
FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
WHERE d.deptype = 'e' AND d.classid NOT IN ('pg_proc'::regclass, 'pg_type'::regclass) ORDER BY pg_describe_object(d.classid, d.objid, d.objsubid) COLLATE "C";
SELECT name FROM pg_settings WHERE name LIKE 'minlsh%';

-- Pure functions can be used in indexes and by parallel workers; queries see the statement's snapshot,
-- and what writes the index says so. (Aggregates, and the parts of them, see nulls and pass over them.)
SELECT oid::regprocedure AS wrong FROM members
WHERE NOT CASE provolatile
	WHEN 'i' THEN (proisstrict OR prokind = 'a' OR proargtypes[0] = 'internal'::regtype) AND proparallel = 's'
	WHEN 'v' THEN proparallel = 'u' ELSE true END;
SELECT aggfnoid::regprocedure AS not_parallel FROM pg_aggregate JOIN members ON oid = aggfnoid
WHERE aggcombinefn = 0 OR aggserialfn = 0 OR aggdeserialfn = 0;

-- What an application may pass by name.
\pset format unaligned
SELECT format('%s(%s) → %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) AS function
FROM members WHERE prorettype <> 'trigger'::regtype ORDER BY proname COLLATE "C", pg_get_function_arguments(oid) COLLATE "C";
\pset format aligned

-- None runs with the rights of its definer.
SELECT oid::regprocedure FROM members WHERE prosecdef;
SELECT oid::regprocedure AS function, proconfig FROM members WHERE proconfig IS NOT NULL AND proconfig <> '{enable_seqscan=off}';

-- Everybody may look; nobody may change what is there.
SELECT c.relname, r.grantee, r.privilege_type
FROM pg_class AS c, aclexplode(c.relacl) AS r WHERE c.relname IN ('minlsh_registry', 'minlsh_indexes') AND r.grantee = 0
ORDER BY 1, 3;

SELECT r.privilege_type, a.attname FROM pg_attribute AS a, aclexplode(a.attacl) AS r WHERE a.attrelid IN ('minlsh_registry'::regclass, 'minlsh_indexes'::regclass);
SELECT oid::regprocedure AS not_for_everybody FROM members WHERE NOT has_function_privilege('public', oid, 'EXECUTE');

-- A dump carries the registry, but not the rows of temporary tables.
SELECT extconfig::regclass[] AS dumped, cardinality(extcondition) AS conditions FROM pg_extension WHERE extname = 'minlsh';

-- The library that is loaded belongs to the scripts that were run.
SELECT minlsh_version() = extversion AS same_version, extrelocatable FROM pg_extension WHERE extname = 'minlsh';
DROP VIEW members;
