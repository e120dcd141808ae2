//! What a look sees of a work tree, with real git in temporary folders. Each case is an iteration: a look, something
//! an agent does, another look, and what the two say.

mod chance;
mod history;
mod hostile;
mod limits;
mod paths;
mod places;
mod work_tree;
