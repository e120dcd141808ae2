//! Checkpoints and rollbacks, with real git in temporary folders. The tests never rely on git's view of a tree alone:
//! they compare every path with its bytes, mode and target, which they read themselves.

mod cut_off;
mod hostile;
mod index;
mod kinds;
mod random_histories;
mod rejections;
mod repositories;
mod tree;
