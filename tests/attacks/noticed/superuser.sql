-- A role that is made a superuser.

-- as superuser:
ALTER ROLE attacker SUPERUSER;
