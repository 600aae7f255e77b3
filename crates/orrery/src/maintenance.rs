//! The small commands beside `serve`: `reset`, `cert`, `keys`.

use std::fs;
use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result, bail};
use model::Env;

use crate::arguments::{CertArguments, KeyArguments, ResetArguments};
use crate::data_folder::DataFolder;
use crate::keys::AccountKeys;
use crate::output;

/// Drops the store of a folder whose server is stopped. The lock proves that it is.
pub(crate) fn reset(arguments: &ResetArguments) -> Result<()> {
    let path = &arguments.data.folder;
    if !path.exists() {
        println!("nothing to reset: {} does not exist", path.display());
        return Ok(());
    }
    let folder = DataFolder::open(path)?;
    if !folder.store().exists() {
        println!("nothing to reset: {} holds no data", folder.path().display());
        return Ok(());
    }
    if !arguments.yes && !confirmed(&folder)? {
        bail!("nothing was changed");
    }
    fs::remove_dir_all(folder.store())
        .with_context(|| format!("cannot remove {}", folder.store().display()))?;
    println!("all databases in {} are gone; the certificate is kept", folder.path().display());
    Ok(())
}

fn confirmed(folder: &DataFolder) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("orrery reset drops all data in {}: say --yes", folder.path().display());
    }
    print!("Drop all databases in {}? [y/N] ", folder.path().display());
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Needs no lock: it only reads, or makes the files that the first start would make.
pub(crate) fn cert(arguments: &CertArguments) -> Result<()> {
    let folder = &arguments.data.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let certificate = gateway::certificate::load_or_create(folder, &[], &Env::system())?;
    match &arguments.output {
        None => output::print(certificate.pem())?,
        Some(file) => fs::write(file, certificate.pem())
            .with_context(|| format!("cannot write {}", file.display()))?,
    }
    Ok(())
}

pub(crate) fn keys(arguments: &KeyArguments) -> Result<()> {
    let keys = AccountKeys::resolve(arguments)?;
    output::print(&format!(
        "primary              {}\nsecondary            {}\nread-only            {}\nsecondary read-only  {}\n",
        keys.primary.as_str(),
        keys.secondary.as_str(),
        keys.read_only.as_str(),
        keys.secondary_read_only.as_str()
    ))
}
