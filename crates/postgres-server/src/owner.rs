//! Who runs the server: it refuses to run as root, so root lends it the package's own user.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

/// The user and group to become, if any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner(Option<(u32, u32)>);

impl Owner {
    pub(crate) fn of_server() -> Result<Owner> {
        let own = std::fs::metadata("/proc/self").context("no /proc")?;
        if std::os::unix::fs::MetadataExt::uid(&own) != 0 {
            return Ok(Owner(None));
        }
        let users = std::fs::read_to_string("/etc/passwd").context("no list of users")?;
        let user = users.lines().find(|line| line.starts_with("postgres:"));
        let mut fields = user.context("there is no user postgres")?.split(':').skip(2);
        let mut id = || fields.next().and_then(|it| it.parse().ok()).context("a user without ids");
        Ok(Owner(Some((id()?, id()?))))
    }

    pub(crate) fn give(self, folder: &Path) -> Result<()> {
        if let Some((user, group)) = self.0 {
            std::os::unix::fs::chown(folder, Some(user), Some(group))?;
        }
        Ok(())
    }

    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.0 {
            std::os::unix::process::CommandExt::uid(&mut command, user);
            std::os::unix::process::CommandExt::gid(&mut command, group);
        }
        // Somewhere that this user may be in.
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}
