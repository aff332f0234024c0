//! Selects the files of a model in a repository.

use std::path::Path;

use crate::api::RemoteFile;
use crate::{HubError, HubName};

/// The default quantisations in order of preference: small, and close to the full quality.
const PREFERRED: [&str; 8] = ["Q4_K_M", "Q5_K_M", "Q4_K_S", "Q6_K", "Q8_0", "Q4_0", "BF16", "F16"];

/// Real models have about a dozen parts.
const PARTS_MAX: u32 = 200;

/// The files of the model that `name` means. The first is the one to load; a large model is split.
pub(crate) fn choose<'a>(name: &HubName, files: &'a [RemoteFile]) -> Result<Vec<&'a RemoteFile>, HubError> {
    let models: Vec<&RemoteFile> = files.iter().filter(|file| is_model(&file.path)).collect();
    let missing = |what: String| {
        let files = models.iter().map(|file| file.path.clone()).collect();
        HubError::NoFile { name: name.clone(), what, files }
    };
    let first = match name.selector() {
        Some(path) if path.to_ascii_lowercase().ends_with(".gguf") => {
            let file = files.iter().find(|file| file.path == path);
            file.ok_or_else(|| missing("has no such file".to_owned()))?
        }
        Some(quantisation) => only(&models, quantisation).map_err(&missing)?,
        None => match models[..] {
            [] => return Err(missing("has no GGUF file".to_owned())),
            [only] => only,
            _ => {
                let found = PREFERRED.iter().find_map(|quantisation| only(&models, quantisation).ok());
                found.ok_or_else(|| missing("has several GGUF files: name one behind a colon".to_owned()))?
            }
        },
    };
    parts(first, files).ok_or_else(|| missing(format!("lacks a part of {}", first.path)))
}

/// Whether the file is the default choice in any repository.
pub(crate) fn is_first_choice(path: &Path) -> bool {
    path.to_str().is_some_and(|path| has_quantisation(path, PREFERRED[0]))
}

/// The only file with this quantisation.
fn only<'a>(models: &[&'a RemoteFile], quantisation: &str) -> Result<&'a RemoteFile, String> {
    let mut found = models.iter().filter(|file| has_quantisation(&file.path, quantisation));
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        (Some(_), Some(_)) => Err(format!("has several files with {quantisation}: name one by its path")),
        (None, _) => Err(format!("has no file with {quantisation}")),
    }
}

/// Whether a GGUF file can be loaded: not an image projector, not a calibration matrix, and only the first part of a split model.
fn is_model(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_beside = ["mmproj", "imatrix"].iter().any(|word| name.contains(word));
    name.ends_with(".gguf") && !is_beside && split_of(path).is_none_or(|(_, number, _)| number == 1)
}

/// Whether a word of the path is this quantisation. Words end at `-`, `.` and `/`, and begin after `_` too.
fn has_quantisation(path: &str, quantisation: &str) -> bool {
    let (path, wanted) = (path.to_ascii_lowercase(), quantisation.to_ascii_lowercase());
    path.match_indices(&wanted).any(|(at, _)| {
        let before = path[..at].chars().next_back().is_none_or(|letter| "-._/".contains(letter));
        before && path[at + wanted.len()..].starts_with(['-', '.', '/'])
    })
}

/// All parts of a split model, or the file itself; `None` if a part is missing.
fn parts<'a>(first: &'a RemoteFile, files: &'a [RemoteFile]) -> Option<Vec<&'a RemoteFile>> {
    let Some((stem, _, count)) = split_of(&first.path) else { return Some(vec![first]) };
    let part = |number| {
        let path = format!("{stem}-{number:05}-of-{count:05}.gguf");
        files.iter().find(|file| file.path == path)
    };
    (1..=count.min(PARTS_MAX)).map(part).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// The stem, 2 and 3 for `stem-00002-of-00003.gguf`.
fn split_of(path: &str) -> Option<(&str, u32, u32)> {
    let (rest, count) = path.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let read = |text: &str| text.parse().ok().filter(|_| text.len() == 5);
    Some((stem, read(number)?, read(count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(selector: Option<&str>, paths: &[&str]) -> Result<Vec<String>, String> {
        let files: Vec<RemoteFile> = paths.iter().map(|path| RemoteFile::named(path)).collect();
        let name: HubName = "hf:a/b".parse().unwrap();
        let name = selector.map_or_else(|| name.clone(), |selector| name.with_selector(selector));
        let chosen = choose(&name, &files).map_err(|error| error.to_string())?;
        Ok(chosen.into_iter().map(|file| file.path.clone()).collect())
    }

    const MANY: [&str; 9] = [
        "README.md",
        "m-Q8_0.gguf",
        "m-Q4_K_M.gguf",
        "m-Q4_K.gguf",
        "m-IQ4_K.gguf",
        "mmproj-F16.gguf",
        "big/m-Q2_K-00001-of-00002.gguf",
        "big/m-Q2_K-00002-of-00002.gguf",
        "m.imatrix.gguf",
    ];

    #[test]
    fn the_file_that_is_named_is_taken() {
        for (selector, expected) in [
            (None, &["m-Q4_K_M.gguf"][..]),
            (Some("q4_k_m"), &["m-Q4_K_M.gguf"]),
            (Some("Q4_K"), &["m-Q4_K.gguf"]),
            (Some("m-Q8_0.gguf"), &["m-Q8_0.gguf"]),
            (Some("q2_k"), &["big/m-Q2_K-00001-of-00002.gguf", "big/m-Q2_K-00002-of-00002.gguf"]),
            (Some("mmproj-F16.gguf"), &["mmproj-F16.gguf"]),
        ] {
            assert_eq!(chosen(selector, &MANY).unwrap(), expected, "{selector:?}");
        }
        assert_eq!(chosen(None, &["x.txt", "only-IQ3_XS.gguf"]).unwrap(), ["only-IQ3_XS.gguf"]);
        assert_eq!(chosen(Some("q4_k_m"), &["m_q4_k_m.gguf"]).unwrap(), ["m_q4_k_m.gguf"]);
    }

    #[test]
    fn what_is_missing_or_unclear_is_said_with_what_there_is() {
        let missing = chosen(Some("Q5_0"), &MANY).unwrap_err();
        assert!(missing.contains("has no file with Q5_0") && missing.contains("m-Q8_0.gguf"), "{missing}");
        assert!(chosen(Some("nope.gguf"), &MANY).unwrap_err().contains("has no such file"));
        assert!(
            chosen(None, &["README.md"]).unwrap_err().ends_with("has no GGUF file; its GGUF files: none")
        );
        assert!(chosen(None, &["a-x.gguf", "b-y.gguf"]).unwrap_err().contains("several"));
        assert!(
            chosen(Some("Q8_0"), &["a-Q8_0.gguf", "b-Q8_0.gguf"])
                .unwrap_err()
                .contains("several files with Q8_0")
        );
        let lacks = chosen(None, &["m-00001-of-00002.gguf"]).unwrap_err();
        assert!(lacks.contains("lacks a part of m-00001-of-00002.gguf"), "{lacks}");
    }
}
