//! Views of the agent's memory folder.

use std::path::Path;

use haltline_engine::memory_protection::MemoryReport;
use serde::Serialize;

/// The result of `haltline memory`: what was found, or done, in each folder.
#[derive(Debug, Serialize)]
pub struct FoldersView<T> {
    pub schema: u32,
    pub folders: Vec<FolderView<T>>,
}

#[derive(Debug, Serialize)]
pub struct FolderView<T> {
    pub folder: String,
    #[serde(flatten)]
    pub content: T,
}

pub type MemoryView = FolderView<MemoryReport>;

impl<T> FolderView<T> {
    pub fn new(folder: &Path, content: T) -> Self {
        Self { folder: folder.display().to_string(), content }
    }
}
