//! What packages carry beside the binary, made from the definitions of its options: completions and the manual.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::Roff;

use crate::arguments::Arguments;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "orrery", &mut text);
    print(&text)
}

/// One page in roff: the options of the server, then those of each command.
pub(crate) fn manual() -> Result<()> {
    let mut command = Arguments::command();
    command.build();
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).context("cannot write the manual")?;
    for one in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        let mut heading = Roff::new();
        heading.control("SH", [format!("ORRERY {}", one.get_name().to_uppercase()).as_str()]);
        heading.to_writer(&mut text)?;
        if one.get_name() == "serve" {
            heading = Roff::new();
            heading.text([clap_mangen::roff::roman("Takes the options above.")]);
            heading.to_writer(&mut text)?;
            continue;
        }
        let page = Man::new(one.clone());
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
    }
    print(&text)
}

fn print(text: &[u8]) -> Result<()> {
    std::io::stdout().lock().write_all(text).context("cannot write to standard output")
}
