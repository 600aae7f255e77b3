//! The environment variables of the official emulators, put into options that were not given.
//!
//! The command line wins, then `ORRERY_…`, then these. They are read with `--emulator` only: `PORT` and `PROTOCOL` are
//! too common to be obeyed on a host.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::mounts;
use crate::arguments::ServeArguments;

pub(crate) const HEALTH_PORT: u16 = 8080;
pub(crate) const EXPLORER_PORT: u16 = 1234;

/// Where volumes are mounted: of the vNext image, and of the classic one.
const DATA_FOLDER: &str = "/data";
const DATA_FOLDER_CLASSIC: &str = "/tmp/cosmos/appdata";

/// Limit: what the classic emulator accepts.
const PARTITION_COUNT_MAX: u32 = 250;

/// What the process was started with.
pub(crate) struct Surroundings<'a> {
    /// Says whether an option was given on the command line or by its `ORRERY_…` variable.
    pub(crate) is_given: &'a dyn Fn(&str) -> bool,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) is_mounted: &'a dyn Fn(&Path) -> bool,
}

/// Fills in what `--emulator` implies.
pub(crate) fn adopt(arguments: &mut ServeArguments, is_given: &dyn Fn(&str) -> bool) -> Result<()> {
    // An empty variable is one that was not set, as in shells and compose files.
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let around = Surroundings { is_given, variable: &variable, is_mounted: &mounts::is_mounted };
    around.adopt(arguments)
}

impl Surroundings<'_> {
    fn adopt(&self, arguments: &mut ServeArguments) -> Result<()> {
        self.adopt_network(arguments)?;
        self.adopt_key(arguments)?;
        self.adopt_certificate(arguments)?;
        self.adopt_storage(arguments)?;
        if let (Some(is_on), None) =
            (self.switch("ENABLE_EXPLORER")?, arguments.emulator.enable_explorer)
        {
            arguments.emulator.enable_explorer = Some(is_on);
        }
        // It has no counterpart here. A misspelt value is told, so that nobody believes it had an effect.
        self.switch("ENABLE_TELEMETRY")?;
        self.check_partition_count()
    }

    fn adopt_network(&self, arguments: &mut ServeArguments) -> Result<()> {
        if !(self.is_given)("host") {
            "0.0.0.0".clone_into(&mut arguments.host);
        }
        arguments.allow_well_known_key = true;
        if !(self.is_given)("port")
            && let Some(text) = (self.variable)("PORT")
        {
            arguments.port = text.parse().with_context(|| {
                format!("bad PORT {text:?}: give a number from 0 to 65535, such as 8081")
            })?;
        }
        if arguments.emulator.health_port.is_none() && arguments.port != HEALTH_PORT {
            arguments.emulator.health_port = Some(HEALTH_PORT);
        }
        if arguments.emulator.explorer_port.is_none() && arguments.port != EXPLORER_PORT {
            arguments.emulator.explorer_port = Some(EXPLORER_PORT);
        }
        self.protocol("EXPLORER_PROTOCOL")?;
        arguments.emulator.is_https = self.protocol("PROTOCOL")?.unwrap_or(false);
        // Both name the server as clients see it. The endpoint in answers follows the request anyway; what is left is
        // that requests for this name are served, and that the certificate covers it.
        for name in ["AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", "GATEWAY_PUBLIC_ENDPOINT"] {
            if let Some(host) = (self.variable)(name) {
                let is_name = !host.contains(['/', ':', ' ', '@', ',']);
                ensure!(is_name, "bad {name} {host:?}: give a host name or an IPv4 address");
                arguments.allow_host.push(host);
            }
        }
        Ok(())
    }

    fn adopt_key(&self, arguments: &mut ServeArguments) -> Result<()> {
        if (self.is_given)("key") || (self.is_given)("key_file") {
            return Ok(());
        }
        let key = (self.variable)("AZURE_COSMOS_EMULATOR_KEY");
        let file = (self.variable)("KEY_FILE");
        ensure!(
            key.is_none() || file.is_none(),
            "KEY_FILE and AZURE_COSMOS_EMULATOR_KEY are both set: remove one of them"
        );
        arguments.keys.key = key;
        arguments.keys.key_file = file.map(PathBuf::from);
        Ok(())
    }

    fn adopt_certificate(&self, arguments: &mut ServeArguments) -> Result<()> {
        if (self.is_given)("tls_cert") || (self.is_given)("tls_pfx") {
            return Ok(());
        }
        // The official image has a CERT_SECRET of its own, so that one alone means nothing.
        let Some(file) = (self.variable)("CERT_PATH") else { return Ok(()) };
        let file = PathBuf::from(file);
        ensure!(
            file.exists(),
            "there is no file {} as CERT_PATH says: mount it, or remove the variable",
            file.display()
        );
        arguments.tls_pfx = Some(file);
        arguments.tls_pfx_password = (self.variable)("CERT_SECRET");
        Ok(())
    }

    /// In memory, unless a folder is named, persistence is asked for, or a volume is mounted.
    fn adopt_storage(&self, arguments: &mut ServeArguments) -> Result<()> {
        let is_asked = self.switch("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE")?;
        if (self.is_given)("in_memory") || (self.is_given)("folder") {
            return Ok(());
        }
        let is_mounted = |folder: &str| (self.is_mounted)(Path::new(folder));
        let folder = match is_asked {
            Some(true) if is_mounted(DATA_FOLDER_CLASSIC) => Some(DATA_FOLDER_CLASSIC),
            Some(true) => Some(DATA_FOLDER),
            None if is_mounted(DATA_FOLDER) => Some(DATA_FOLDER),
            Some(false) | None => None,
        };
        match folder {
            Some(folder) => arguments.data.folder = PathBuf::from(folder),
            None => arguments.in_memory = true,
        }
        Ok(())
    }

    /// Here a container has as many partitions as it needs, and there is no limit to reserve them for.
    fn check_partition_count(&self) -> Result<()> {
        let name = "AZURE_COSMOS_EMULATOR_PARTITION_COUNT";
        // Testcontainers for Python sends the word if it was given no number.
        let Some(text) = (self.variable)(name).filter(|text| text != "None") else { return Ok(()) };
        let is_good = text.parse().is_ok_and(|n| (1..=PARTITION_COUNT_MAX).contains(&n));
        ensure!(
            is_good,
            "bad {name} {text:?}: give a number from 1 to {PARTITION_COUNT_MAX}, or remove it; \
             --min-partitions says how many partitions a container starts with"
        );
        Ok(())
    }

    fn switch(&self, name: &str) -> Result<Option<bool>> {
        let Some(text) = (self.variable)(name) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Some(true)),
            "false" | "0" | "no" | "off" => Ok(Some(false)),
            _ => bail!("bad {name} {text:?}: give true or false"),
        }
    }

    /// Says whether it is HTTPS.
    fn protocol(&self, name: &str) -> Result<Option<bool>> {
        let Some(text) = (self.variable)(name) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "http" => Ok(Some(false)),
            "https" | "https-insecure" => Ok(Some(true)),
            _ => bail!("bad {name} {text:?}: give http or https; one port serves both"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _, parser::ValueSource};

    use super::*;
    use crate::arguments::Arguments;

    /// Options, variables, mounted folders, and where data lies then.
    type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a [&'a str], Option<&'a str>);

    fn adopted(
        options: &[&str],
        variables: &[(&str, &str)],
        mounted: &[&str],
    ) -> Result<ServeArguments> {
        let words = ["orrery", "--emulator"].iter().chain(options);
        let matches = Arguments::command().try_get_matches_from(words).unwrap();
        let mut serve = Arguments::from_arg_matches(&matches).unwrap().serve;
        let is_default = |id: &str| matches.value_source(id) == Some(ValueSource::DefaultValue);
        let around = Surroundings {
            is_given: &|id| matches.value_source(id).is_some() && !is_default(id),
            variable: &|name| {
                variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
            },
            is_mounted: &|folder| mounted.iter().any(|it| Path::new(it) == folder),
        };
        around.adopt(&mut serve)?;
        Ok(serve)
    }

    #[test]
    fn alone_it_means_a_scratch_server_for_everybody() {
        let serve = adopted(&[], &[], &[]).unwrap();
        assert_eq!((serve.host.as_str(), serve.port), ("0.0.0.0", 8081));
        assert!(serve.allow_well_known_key && serve.in_memory);
        assert_eq!(serve.emulator.health_port, Some(8080));
        assert_eq!(serve.emulator.explorer_port, Some(1234));
    }

    #[test]
    fn variables_are_obeyed_and_options_win() {
        let variables = [("PORT", "9000"), ("PROTOCOL", "https"), ("KEY_FILE", "/run/key")];
        let serve = adopted(&[], &variables, &[]).unwrap();
        assert_eq!((serve.port, serve.emulator.is_https), (9000, true));
        assert_eq!(serve.keys.key_file.as_deref(), Some(Path::new("/run/key")));
        let options = ["--port", "1", "--host", "127.0.0.1", "--key", "k", "--health-port", "2"];
        let serve = adopted(&options, &variables, &[]).unwrap();
        assert_eq!((serve.host.as_str(), serve.port), ("127.0.0.1", 1));
        assert_eq!((serve.keys.key.as_deref(), serve.keys.key_file), (Some("k"), None));
        assert_eq!(serve.emulator.health_port, Some(2));
        // The main port answers probes, too.
        assert_eq!(adopted(&[], &[("PORT", "8080")], &[]).unwrap().emulator.health_port, None);
    }

    #[test]
    fn data_is_kept_when_somebody_asks_for_it() {
        let persistence = "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE";
        let folder = |options: &[&str], variables: &[(&str, &str)], mounted: &[&str]| {
            let serve = adopted(options, variables, mounted).unwrap();
            (!serve.in_memory).then(|| serve.data.folder.to_string_lossy().into_owned())
        };
        let classic = "/tmp/cosmos/appdata";
        #[rustfmt::skip]
        let table: [Row<'_>; 9] = [
            (&[], &[], &[], None),
            (&[], &[], &["/data"], Some("/data")),
            (&[], &[], &[classic], None),
            (&[], &[(persistence, "true")], &[classic], Some(classic)),
            (&[], &[(persistence, "True")], &[], Some("/data")),
            (&[], &[(persistence, "False")], &["/data"], None),
            (&["--data", "here"], &[], &[], Some("here")),
            (&["--data", "here"], &[(persistence, "false")], &[], Some("here")),
            (&["--in-memory"], &[(persistence, "true")], &["/data"], None),
        ];
        for (options, variables, mounted, expected) in table {
            let found = folder(options, variables, mounted);
            assert_eq!(found.as_deref(), expected, "{options:?} {variables:?} {mounted:?}");
        }
    }

    #[test]
    fn bad_values_are_told_with_what_to_do() {
        let partitions = "AZURE_COSMOS_EMULATOR_PARTITION_COUNT";
        for (name, value, part) in [
            ("PORT", "eighty", "8081"),
            ("PORT", "70000", "65535"),
            ("PROTOCOL", "ftp", "https"),
            ("EXPLORER_PROTOCOL", "x", "http"),
            ("ENABLE_EXPLORER", "maybe", "true or false"),
            ("ENABLE_TELEMETRY", "2", "true or false"),
            (partitions, "0", "1 to 250"),
            (partitions, "251", "--min-partitions"),
            ("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", "http://x", "IPv4"),
            ("CERT_PATH", "/nowhere/a.pfx", "/nowhere/a.pfx"),
        ] {
            let error = format!("{:#}", adopted(&[], &[(name, value)], &[]).unwrap_err());
            assert!(error.contains(name) && error.contains(part), "{name}: {error}");
        }
        for value in ["None", "1", "250"] {
            adopted(&[], &[(partitions, value)], &[]).unwrap();
        }
        let both = [("KEY_FILE", "a"), ("AZURE_COSMOS_EMULATOR_KEY", "b")];
        assert!(adopted(&[], &both, &[]).is_err());
    }

    #[test]
    fn names_of_the_server_are_allowed() {
        let variables = [
            ("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", "10.0.0.7"),
            ("GATEWAY_PUBLIC_ENDPOINT", "db.test"),
        ];
        let serve = adopted(&[], &variables, &[]).unwrap();
        assert_eq!(serve.allow_host, ["10.0.0.7", "db.test"]);
    }
}
