//! Checkpoints and the way back, with real git in temporary folders. What is compared is never what git says of a
//! tree alone but every path with its bytes, mode and target, read by the test itself.

mod chance;
mod cut_off;
mod hostile;
mod index;
mod kinds;
mod places;
mod refusals;
mod tree;
