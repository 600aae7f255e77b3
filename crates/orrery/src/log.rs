//! Where log lines go: standard error, filtered by `--log`.

use anyhow::{Context as _, Result, bail};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts logging. Call once, before anything that may log.
pub(crate) fn start(filter: &str) -> Result<()> {
    let targets = parse(filter)?;
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr).compact())
        .with(targets)
        .try_init()
        .context("cannot start logging")
}

fn parse(filter: &str) -> Result<Targets> {
    let words = || {
        format!(
            "bad --log {filter:?}: use a level such as info, or parts such as warn,gateway=debug"
        )
    };
    // A bare word that is no level would be taken for a part and hide everything else.
    let is_level = |it: &str| it.trim().parse::<LevelFilter>().is_ok();
    if !filter.split(',').all(|it| it.contains('=') || is_level(it)) {
        bail!(words());
    }
    filter.parse().with_context(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_levels_or_parts() {
        for good in ["info", "off", "warn,gateway=debug", "store=trace"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in ["loud", "gateway=loud", "a=b=c"] {
            assert!(format!("{:#}", parse(bad).unwrap_err()).contains("--log"), "{bad}");
        }
    }
}
