mod answers;
mod batches;
mod elements;
mod params;
mod refusals;
