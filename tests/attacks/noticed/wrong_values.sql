-- An answer other than expected.

-- as owner:
-- gives: 2
SELECT 1;
