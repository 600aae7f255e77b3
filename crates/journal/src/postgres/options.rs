//! Where the engine is and how it is reached: the connection string, and what we add to it.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use super::tls::{Tls, Verification};
use crate::{Error, Result};

/// How an engine on PostgreSQL is reached and used.
#[derive(Clone)]
pub struct PostgresOptions {
    /// A connection string, `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?…`. It holds a password: never shown.
    pub url: String,
    /// Connections for appends.
    pub lanes: usize,
    /// Connections for everything else but beats.
    pub calls: usize,
    /// How long a statement may take before its outcome is unknown. More than a failover of a synchronous standby takes.
    pub timeout: Duration,
    /// How long a connection to one host may take.
    pub connect_timeout: Duration,
}

impl PostgresOptions {
    /// The options that servers use.
    pub fn new(url: impl Into<String>) -> PostgresOptions {
        PostgresOptions {
            url: url.into(),
            lanes: 3,
            calls: 4,
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
        }
    }

    /// Reads the connection string.
    pub(super) fn parse(&self) -> Result<(Config, Tls)> {
        let (text, verification) = split_verification(&self.url)?;
        // The text of the library's error does not show the string.
        let mut config: Config = text
            .parse()
            .map_err(|error| Error::Unfit(format!("the connection string: {error}")))?;
        if verification.is_some() {
            config.ssl_mode(SslMode::Require);
        }
        // A standby or a primary that was demoted must never be used.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.connect_timeout(self.connect_timeout);
        config.tcp_user_timeout(self.timeout);
        config.keepalives_idle(Duration::from_secs(5));
        if config.get_application_name().is_none() {
            config.application_name("orrery");
        }
        Ok((config, Tls::new(verification.unwrap_or_default())?))
    }
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("lanes", &self.lanes)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// Takes the parameters out that the library does not know: `sslmode=verify-full`, `sslmode=verify-ca` and `sslrootcert`.
fn split_verification(url: &str) -> Result<(String, Option<Verification>)> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Error::Unfit("the connection string does not begin with postgres://".into()));
    }
    let Some((head, parameters)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let mut kept = Vec::new();
    let mut is_verified = false;
    let mut roots = None;
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", "verify-full" | "verify-ca")) => is_verified = true,
            Some(("sslrootcert", file)) => roots = Some(file.to_owned()),
            _ => kept.push(parameter),
        }
    }
    let text = if kept.is_empty() { head.to_owned() } else { format!("{head}?{}", kept.join("&")) };
    let verification = match (is_verified, roots) {
        (_, Some(file)) => Some(Verification::Roots(file.into())),
        (true, None) => Some(Verification::System),
        (false, None) => None,
    };
    Ok((text, verification))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Config> {
        Ok(PostgresOptions::new(url).parse()?.0)
    }

    #[test]
    fn several_hosts_are_read_and_standbys_never_used() {
        let config = parse("postgres://u:p@a:1,b:2/orrery?target_session_attrs=any").unwrap();
        assert_eq!(config.get_hosts().len(), 2);
        assert_eq!(config.get_ports(), [1, 2]);
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn verification_is_ours_and_the_rest_is_the_librarys() {
        let config = parse("postgres://a/x?sslmode=verify-full&application_name=y").unwrap();
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
        assert_eq!(config.get_application_name(), Some("y"));
        assert_eq!(
            parse("postgres://a/x?sslmode=disable").unwrap().get_ssl_mode(),
            SslMode::Disable
        );
        assert_eq!(parse("postgres://a/x").unwrap().get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn what_cannot_be_read_is_said_without_the_password() {
        for url in ["host=a", "postgres://u:secret@a:x/y", "postgres://u:secret@a/y?no=1"] {
            let text = parse(url).unwrap_err().to_string();
            assert!(!text.contains("secret"), "{text}");
        }
        assert!(!format!("{:?}", PostgresOptions::new("postgres://u:secret@a")).contains("secret"));
    }
}
