//! Not published: what the tests of whole histories need. The test-only clock is `haltline-at`.
