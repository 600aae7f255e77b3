//! Whether somebody mounted a volume on a folder.

use std::path::Path;

const MOUNTS: &str = "/proc/self/mountinfo";

/// Says whether something is mounted right on `folder`; no where the system does not tell.
pub(crate) fn is_mounted(folder: &Path) -> bool {
    std::fs::read_to_string(MOUNTS).is_ok_and(|text| is_listed(&text, folder))
}

/// The fifth field of each line is the mount point.
fn is_listed(text: &str, folder: &Path) -> bool {
    let points = text.lines().filter_map(|line| line.split(' ').nth(4));
    points.into_iter().any(|point| Path::new(point) == folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_found() {
        let text = "21 1 0:20 / / rw - overlay overlay rw\n22 21 8:1 /v/_data /data rw,relatime - ext4 /dev/sda1 rw\n";
        for (folder, expected) in
            [("/data", true), ("/", true), ("/dat", false), ("/v/_data", false)]
        {
            assert_eq!(is_listed(text, Path::new(folder)), expected, "{folder}");
        }
        assert!(is_mounted(Path::new("/proc")) || cfg!(not(target_os = "linux")));
    }
}
