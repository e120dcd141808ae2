//! Snapshots of a work tree, with real git in temporary folders. Each case is an iteration: a snapshot, something an
//! agent does, another snapshot, and the comparison of the two.

mod history;
mod hostile;
mod limits;
mod paths;
mod random_histories;
mod repositories;
mod work_tree;
