-- A statement that heeds its timeout too late, and one that is not refused.

-- as attacker:
-- refused within 1 s: 57014
DO $$ BEGIN PERFORM pg_sleep(1.5); RAISE SQLSTATE '57014'; END $$;
-- refused
SELECT 1;
