//! A picture that is drawn anew each second, for commands that watch a running server.
//!
//! In a terminal it has a screen of its own until `q` or Ctrl-C; elsewhere (a pipe, a file) each look is plain text below
//! the one before. However it ends, the terminal is as it was.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::Result;
use tokio::sync::oneshot;

use crate::output;

const INTERVAL: Duration = Duration::from_secs(1);

/// Screens as all terminals since the VT100 know them: an own screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\r\n";
const CLEAR_BELOW: &str = "\x1b[J";

/// Draws what `look` says each second, `times` times if that is given.
pub(crate) async fn watch(
    times: Option<u32>,
    mut look: impl AsyncFnMut() -> Result<String>,
) -> Result<()> {
    let screen = Screen::take()?;
    let mut quit = screen.as_ref().map(|_| quit_key());
    let mut n_looks = 0;
    loop {
        let text = look().await?;
        let is_read = match &screen {
            Some(_) => output::print_while_read(&framed(&text, screen_lines()))?,
            None => output::print_while_read(&text)?,
        };
        n_looks += 1;
        if !is_read || times.is_some_and(|times| n_looks >= times) {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
            () = pressed(&mut quit) => return Ok(()),
        }
    }
}

/// Waits for the key that ends the picture; for ever where there are no keys.
async fn pressed(quit: &mut Option<oneshot::Receiver<()>>) {
    let is_pressed = match quit {
        Some(receiver) => receiver.await.is_ok(),
        None => false,
    };
    if !is_pressed {
        // Input that has ended presses nothing.
        *quit = None;
        std::future::pending::<()>().await;
    }
}

/// Reads keys on a thread of its own, which ends with the program.
fn quit_key() -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut key = [0];
        while matches!(std::io::stdin().read(&mut key), Ok(1)) {
            if key[0].eq_ignore_ascii_case(&b'q') {
                let _ = sender.send(());
                return;
            }
        }
    });
    receiver
}

/// The text over what was there before, as much as fits.
fn framed(text: &str, n_lines: usize) -> String {
    let mut shown = HOME.to_owned();
    for line in text.lines().take(n_lines.saturating_sub(1)) {
        shown.push_str(line);
        shown.push_str(CLEAR_LINE);
    }
    shown.push_str(CLEAR_BELOW);
    shown
}

// Limit: lines of a terminal whose height nobody knows.
const LINES_UNKNOWN: usize = 24;

#[cfg(target_os = "linux")]
fn screen_lines() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.map_or(LINES_UNKNOWN, |size| usize::from(size.ws_row).max(2))
}

#[cfg(not(target_os = "linux"))]
fn screen_lines() -> usize {
    LINES_UNKNOWN
}

/// The terminal while the picture has it.
struct Screen {
    /// How keys were read before.
    #[cfg(target_os = "linux")]
    before: Option<rustix::termios::Termios>,
}

impl Screen {
    /// Takes the terminal, if there is one.
    fn take() -> Result<Option<Screen>> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return Ok(None);
        }
        let screen = Screen {
            #[cfg(target_os = "linux")]
            before: keys_at_once(),
        };
        output::print(ENTER)?;
        Ok(Some(screen))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nobody left to tell that this failed.
        let _ = output::print(LEAVE);
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(std::io::stdin(), now, before);
        }
    }
}

/// Has keys come one by one, without the line that they would make. Elsewhere `q` needs the Enter key.
#[cfg(target_os = "linux")]
fn keys_at_once() -> Option<rustix::termios::Termios> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut once = before.clone();
    once.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(std::io::stdin(), OptionalActions::Now, &once).ok()?;
    Some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_fits_the_screen() {
        assert_eq!(framed("a\nb\nc\n", 3), "\x1b[Ha\x1b[K\r\nb\x1b[K\r\n\x1b[J");
        assert_eq!(framed("", 24), "\x1b[H\x1b[J");
    }

    #[tokio::test]
    async fn it_is_drawn_as_often_as_asked() {
        let mut n_looks = 0;
        watch(Some(1), async || {
            n_looks += 1;
            Ok(String::new())
        })
        .await
        .unwrap();
        assert_eq!(n_looks, 1);
    }
}
