//! Progress bars of long commands: drawn on a terminal, silent elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar with a count of items and a word for what is going on.
pub(crate) fn bar(n_items: u64) -> ProgressBar {
    let bar = ProgressBar::new(n_items);
    let template = "{msg:<12} [{bar:30}] {human_pos}/{human_len} items, {per_sec}, {eta} left";
    // A template that does not parse would be a mistake of ours; the plain style is then as good.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Shows a phase and how far it is; more items than expected make the bar longer.
pub(crate) fn show(bar: &ProgressBar, phase: &str, n_done: u64) {
    if bar.message() != phase {
        bar.set_message(phase.to_owned());
    }
    if bar.length().is_some_and(|it| n_done > it) {
        bar.set_length(n_done);
    }
    bar.set_position(n_done);
}
