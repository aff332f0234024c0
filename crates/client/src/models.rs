//! Models.

use overnight_wire::native::models::{Model, ModelList};

use crate::send::Call;
use crate::{Client, Error};

impl Client {
    /// Lists the models that requests may name.
    pub async fn list_models(&self) -> Result<Vec<Model>, Error> {
        let list: ModelList = self.answer(Call::get(self.url(&["v1", "models"])?)).await?;
        Ok(list.data)
    }
}
