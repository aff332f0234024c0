//! What is said: the JSON shapes of the API and their conversions from the domain.
