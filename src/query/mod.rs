//! Questions to an index, a table or a query.
