//! How far a concurrent build is: the rows behind the view `minlsh_progress`.

use pgrx::pg_sys::Oid;

use crate::error::Result;
use crate::index::home::{Home, borrow_rights};
use crate::pg::spi::{Access, Parameter, Session};

/// The progress of one build, written in the transactions of the build itself.
pub struct Progress<'a> {
    home: &'a Home,
    relation: Oid,
}

impl<'a> Progress<'a> {
    /// Starts to tell of a build of an index of `relation`, in place of an earlier one.
    pub fn start(home: &'a Home, relation: Oid) -> Result<Self> {
        let progress = Self { home, relation };
        progress.write(
            "INSERT INTO $builds AS b (relation, phase, pid, started) \
             VALUES ($1::regclass, 'waiting for writers', pg_backend_pid(), clock_timestamp()) \
             ON CONFLICT (relation) DO UPDATE SET storage = NULL, phase = excluded.phase, \
             pid = excluded.pid, started = excluded.started, updated = NULL, \
             before = 0, done = 0, total = NULL",
            &[],
        )?;
        Ok(progress)
    }

    /// Filling begins, with `done` of `total` documents there from before.
    pub fn filling(&self, storage: Oid, done: i64, total: i64) -> Result<()> {
        self.write(
            "UPDATE $builds SET storage = $2::regclass, phase = 'filling', before = $3, done = $3, \
             total = $4, started = clock_timestamp(), updated = clock_timestamp() \
             WHERE relation = $1::regclass",
            &[Parameter::oid(storage), Parameter::int8(done), Parameter::int8(total)],
        )
    }

    /// A batch of so many documents is done.
    pub fn advance(&self, documents: i64) -> Result<()> {
        self.write(
            "UPDATE $builds SET done = done + $2, updated = clock_timestamp() \
             WHERE relation = $1::regclass",
            &[Parameter::int8(documents)],
        )
    }

    /// There is nothing more to tell.
    pub fn end(&self) -> Result<()> {
        self.write("DELETE FROM $builds WHERE relation = $1::regclass", &[])
    }

    /// Runs `sql` on the table of builds, with `relation` as $1.
    fn write(&self, sql: &str, more: &[Parameter]) -> Result<()> {
        let _rights = borrow_rights(self.home.registry_owner);
        let builds = format!("{}.minlsh_builds", self.home.schema);
        let mut parameters = vec![Parameter::oid(self.relation)];
        parameters.extend_from_slice(more);
        Session::open().query(&sql.replace("$builds", &builds), &parameters, Access::Write)?;
        Ok(())
    }
}
