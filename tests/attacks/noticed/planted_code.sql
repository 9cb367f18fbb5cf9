-- A view of the attacker's, which a superuser reads.

-- as attacker:
CREATE VIEW evil.v AS SELECT trap.spring('a view');
-- as superuser:
TABLE evil.v;
