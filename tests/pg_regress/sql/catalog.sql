\pset footer off
-- What the extension puts into the catalog.

CREATE TEMP VIEW members AS
SELECT p.* FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
JOIN pg_proc AS p ON p.oid = d.objid WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e';

-- Every function says what it is, how it may be planned, and what it costs.
SELECT oid::regprocedure AS function, provolatile AS volatile, proparallel AS parallel, proisstrict AS strict,
	procost AS cost
FROM members ORDER BY oid::regprocedure::text COLLATE "C";
SELECT oid::regprocedure AS uncommented FROM members WHERE obj_description(oid, 'pg_proc') IS NULL;

SELECT c.oid::regclass AS uncommented
FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
	JOIN pg_class AS c ON c.oid = d.objid
WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND obj_description(c.oid, 'pg_class') IS NULL;

-- What else belongs to it: types, casts of keys, operators, an access method with operator classes, views; no table.
SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS member
FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
WHERE d.deptype = 'e' AND d.classid NOT IN ('pg_proc'::regclass, 'pg_type'::regclass)
ORDER BY pg_describe_object(d.classid, d.objid, d.objsubid) COLLATE "C";
SELECT amname FROM pg_am WHERE obj_description(oid, 'pg_am') IS NULL AND amname = 'minlsh';
SELECT o.oid::regoperator AS uncommented FROM pg_operator AS o JOIN pg_depend AS d ON d.objid = o.oid
	AND d.classid = 'pg_operator'::regclass
JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
WHERE obj_description(o.oid, 'pg_operator') IS NULL;
-- Operators say how they commute, how many rows they give, and that they tell nothing of what they see.
SELECT o.oid::regoperator AS operator, o.oprcom::regoperator AS commutator, o.oprrest, o.oprjoin,
	p.proleakproof AS leakproof
FROM pg_operator AS o JOIN members AS p ON p.oid = o.oprcode ORDER BY o.oid::regoperator::text COLLATE "C";
-- Operator classes, the default ones of their types among them, are sound.
SELECT c.opcname, c.opcintype::regtype AS type, c.opcdefault AS "default", amvalidate(c.oid) AS valid
FROM pg_opclass AS c JOIN pg_am AS m ON m.oid = c.opcmethod AND m.amname = 'minlsh' ORDER BY c.opcname COLLATE "C";

-- Pure functions can be used in indexes and by parallel workers; queries see the statement's snapshot, and what writes
-- says so. (Aggregates, their parts and unions see nulls and pass over them; PostgreSQL alone calls handlers.)
SELECT oid::regprocedure AS wrong FROM members
WHERE NOT CASE provolatile
	WHEN 'i' THEN proparallel = 's' AND (proisstrict OR prokind <> 'f' OR proname = 'minhash_union'
		OR proargtypes[0] = 'internal'::regtype)
	WHEN 'v' THEN proparallel = 'u' OR proargtypes[0] = 'internal'::regtype ELSE true END;
SELECT aggfnoid::regprocedure AS not_parallel FROM pg_aggregate JOIN members ON oid = aggfnoid
WHERE aggcombinefn = 0 OR (aggtranstype = 'internal'::regtype AND (aggserialfn = 0 OR aggdeserialfn = 0));

-- What an application may pass by name.
\pset format unaligned
SELECT format('%s(%s) → %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) AS function
FROM members WHERE prorettype <> 'trigger'::regtype
ORDER BY proname COLLATE "C", pg_get_function_arguments(oid) COLLATE "C";
\pset format aligned

-- None runs with the rights of its definer, or with settings of its own.
SELECT oid::regprocedure AS function, proconfig FROM members WHERE prosecdef OR proconfig IS NOT NULL;

-- Everybody may look; nobody may change what is there.
SELECT c.relname, c.relkind, r.grantee, r.privilege_type
FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
	JOIN pg_class AS c ON c.oid = d.objid
	CROSS JOIN LATERAL aclexplode(c.relacl) AS r
WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND r.grantee = 0 ORDER BY 1, 4;
SELECT oid::regprocedure AS not_for_everybody FROM members WHERE NOT has_function_privilege('public', oid, 'EXECUTE');

-- Nothing of its own goes into a dump: the options of indexes are in the indexes.
SELECT extconfig FROM pg_extension WHERE extname = 'minlsh';

-- The library that is loaded belongs to the scripts that were run.
-- The versions of library, extension, signatures and Unicode; and known signatures, with each set of instructions.
SELECT library = extension AS same_version, algorithm, unicode LIKE 'segmentation %' AS has_unicode
FROM minlsh_versions();
SELECT bool_and(passed) AS passed, count(DISTINCT options) AS kinds FROM minlsh_self_test();
SELECT minlsh_version() = extversion AS same_version, extrelocatable FROM pg_extension WHERE extname = 'minlsh';
SELECT name FROM pg_settings WHERE name LIKE 'minlsh%' ORDER BY name COLLATE "C";
DROP VIEW members;
