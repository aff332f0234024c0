//! `overnight vacuum`: rewrites the database of the data folder without free pages.

use overnight_app::store_options;
use overnight_store::operations::vacuum::{self, Vacuumed};

use super::model::size;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;

pub(crate) async fn run(globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let options = store_options(&globals.load_operator_config()?);
    let vacuumed = vacuum::vacuum(&options).await?;
    output.either(&vacuumed, || in_words(vacuumed))?;
    Ok(Exit::Done)
}

fn in_words(Vacuumed { bytes_before, bytes }: Vacuumed) -> String {
    format!("{}; it was {}", size(bytes), size(bytes_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_told_by_its_size_before_and_after() {
        let vacuumed = Vacuumed { bytes_before: 12_400_000_000, bytes: 31_000_000 };
        assert_eq!(in_words(vacuumed), "31 MB; it was 12.4 GB");
    }
}
