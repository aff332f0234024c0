//! Paths as people write them.

use std::path::{Path, PathBuf};

/// The path with a leading `~` replaced by the home folder. A shell does that only at the beginning of a word, not in
/// `--config=~/overnight.toml`, a settings file or a variable. `~name` and `./~` are ordinary paths. Fails without a home folder.
pub fn expanded(path: impl AsRef<Path>) -> Result<PathBuf, String> {
    expanded_in(path.as_ref(), std::env::home_dir().as_deref())
}

fn expanded_in(path: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    let Ok(rest) = path.strip_prefix("~") else { return Ok(path.to_owned()) };
    let home = home.filter(|home| !home.as_os_str().is_empty());
    let home = home.ok_or("a whole path, because HOME is not set and `~` means nothing")?;
    // Joined with nothing, it would end in a slash.
    Ok(if rest.as_os_str().is_empty() { home.to_owned() } else { home.join(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_at_the_beginning_is_the_home_folder_and_nowhere_else() {
        let expanded = |path: &str| expanded_in(Path::new(path), Some(Path::new("/users/ada"))).unwrap();
        for (path, wanted) in [
            ("~", "/users/ada"),
            ("~/", "/users/ada"),
            ("~/a b/c", "/users/ada/a b/c"),
            ("~//x", "/users/ada/x"),
            ("~bob/x", "~bob/x"),
            ("./~", "./~"),
            ("/srv/~/x", "/srv/~/x"),
            ("a~", "a~"),
            ("-", "-"),
            ("", ""),
        ] {
            assert_eq!(expanded(path).as_os_str(), wanted, "{path}");
        }
    }

    #[test]
    fn without_a_home_folder_a_tilde_is_refused_and_other_paths_are_taken() {
        for home in [None, Some(Path::new(""))] {
            assert!(expanded_in(Path::new("~/x"), home).unwrap_err().contains("HOME"));
            assert_eq!(expanded_in(Path::new("/x"), home).unwrap(), Path::new("/x"));
        }
    }
}
