//! Tests of `config/`.

mod breaker_file;
